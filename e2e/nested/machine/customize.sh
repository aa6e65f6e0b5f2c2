#!/bin/sh
# Runs at the end of the bootstrap, with the machine's root directory as $1.
set -eu
root=$1

echo nested >"$root/etc/hostname"
printf '%s\n' '127.0.0.1 localhost nested' '::1 localhost' >"$root/etc/hosts"
: >"$root/etc/machine-id"
echo 'nameserver 10.0.2.3' >"$root/etc/resolv.conf"

# The drives of machine.ts: the packages of the checkout, and the guest's kernel, disk and agent.
mkdir -p "$root/opt/atoll/node_modules" "$root/var/cache/atoll"
cat >"$root/etc/fstab" <<'FSTAB'
LABEL=nested-root     /                       ext4 rw,noatime 0 0
LABEL=nested-modules  /opt/atoll/node_modules ext4 rw,noatime 0 0
LABEL=nested-guest    /var/cache/atoll        ext4 rw,noatime 0 0
FSTAB

cat >"$root/etc/systemd/network/uplink.network" <<'NETWORK'
[Match]
Name=en* eth*

[Network]
Address=10.0.2.15/24
Gateway=10.0.2.2
NETWORK
printf '%s\n' kvm kvm-amd tun >"$root/etc/modules-load.d/nested.conf"

# Whoever booted the machine has the key, whose public half is on the kernel's command line.
cat >"$root/usr/local/sbin/nested-key" <<'KEY'
#!/bin/sh
sed -n 's/.*nested\.key=\([^ ]*\).*/ssh-ed25519 \1/p' /proc/cmdline
KEY
chmod 755 "$root/usr/local/sbin/nested-key"
cat >"$root/etc/ssh/sshd_config.d/nested.conf" <<'SSHD'
PermitRootLogin prohibit-password
AuthorizedKeysCommand /usr/local/sbin/nested-key
AuthorizedKeysCommandUser nobody
UsePAM no
UseDNS no
MaxSessions 50
SSHD

chroot "$root" systemctl enable --quiet systemd-networkd ssh
chroot "$root" systemctl mask --quiet apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer \
  e2scrub_reap.service fstrim.timer systemd-networkd-wait-online.service getty@tty1.service \
  serial-getty@ttyS0.service systemd-timesyncd.service
rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*.bin "$root"/var/cache/apt/archives/*.deb
