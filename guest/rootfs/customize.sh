#!/bin/sh
# Runs at the end of the bootstrap, with the image's root directory as $1 and as root of at least a user namespace.
# Whatever would differ from build to build, or is of no use in a sandbox, ends here.
set -eu
root=$1

# Root keeps Debian's locked password; the agent, not a login, is the way in.
chroot "$root" useradd --create-home --user-group --uid 1000 --shell /bin/bash user

# The agent writes these, and /etc/machine-id, before anything runs. It writes over a file of the same length, which takes an emulated guest
# less than a new one: so each is as long as it is in a sandbox without a name, on the default network.
rm -f "$root/etc/resolv.conf" "$root/etc/hostname" "$root/etc/hosts"
echo 00000000 >"$root/etc/hostname"
cat >"$root/etc/hosts" <<'HOSTS'
127.0.0.1 localhost
::1       localhost ip6-localhost ip6-loopback
127.0.1.1	00000000
HOSTS
echo 'nameserver 10.213.0.1' >"$root/etc/resolv.conf"
chmod 644 "$root/etc/hostname" "$root/etc/hosts" "$root/etc/resolv.conf"
echo LANG=C.UTF-8 >"$root/etc/environment"
echo LANG=C.UTF-8 >"$root/etc/default/locale"
# No init system gives ordinary users ping sockets here, so ping has to be set-user-id.
chroot "$root" dpkg-statoverride --update --add root root 4755 /usr/bin/ping
# The whole machine is disposable: pip may install next to Debian's packages without a virtual environment.
printf '[global]\nbreak-system-packages = true\n' >"$root/etc/pip.conf"

# The bootstrap's apt settings, but not those that exclude documentation from later installations too.
rm -f "$root/etc/apt/apt.conf.d/99mmdebstrap"
echo 'Acquire::Languages "none";' >"$root/etc/apt/apt.conf.d/90atoll"

rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*.bin "$root"/var/cache/apt/archives/*.deb
rm -rf "$root"/var/cache/ldconfig "$root"/var/cache/debconf/*-old "$root"/var/lib/dpkg/*-old
rm -rf "$root"/etc/passwd- "$root"/etc/group- "$root"/etc/shadow- "$root"/etc/gshadow- "$root"/etc/.pwd.lock
rm -rf "$root"/etc/subuid- "$root"/etc/subgid- "$root"/root/.cache "$root"/root/.npm
find "$root/var/log" -type f -delete

# Bytecode records the time of its source, so the times have to be final before it is written.
find "$root/usr/lib" -newermt "@$SOURCE_DATE_EPOCH" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
find "$root/usr" -name __pycache__ -prune -exec rm -rf {} +
PYTHONHASHSEED=0 chroot "$root" sh -c \
  'python3 -m compileall -q -j 2 --invalidation-mode timestamp -x "/tests?/" /usr/lib/python3 /usr/lib/python3.*'
