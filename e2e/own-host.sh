#!/bin/sh
# Usage: own-host.sh COMMAND...: runs the command, as root, on a host of its own as far as Atoll can tell: in a network namespace
# that the set-up has prepared for the user `daemon`, with /dev/net/tun, /dev/kvm, /etc/resolv.conf and subordinate ids of its own. Nothing of the
# machine's network, devices or users is changed.
set -eu
if [ "${1-}" = --inside ]; then
  shift
  # What a test mounts reaches a daemon with mounts of its own, as it does where systemd shares them.
  mount --make-rshared /
  # A sysfs of this network namespace hides what is mounted below the other one.
  if [ -e /sys/fs/cgroup/cgroup.controllers ]; then unified=yes; else unified=; fi
  mount -t sysfs sysfs /sys
  if [ "$unified" ]; then mount -t cgroup2 cgroup2 /sys/fs/cgroup; fi
  for file in subuid subgid; do
    if [ -e "/etc/$file" ]; then mount --bind "$ATOLL_RUN_DIR/subids" "/etc/$file"; fi
  done
  for device in net/tun kvm; do
    if [ -e "/dev/$device" ]; then mount --bind "$ATOLL_RUN_DIR/dev/$device" "/dev/$device"; fi
  done
  if [ -e /etc/resolv.conf ]; then mount --bind "$ATOLL_RUN_DIR/resolv.conf" /etc/resolv.conf; fi
  ip link set dev lo up
  node "$(dirname "$0")/../host/network/setup.ts" >&2
  exec "$@"
fi

if [ "$(id -u)" != 0 ]; then
  echo 'own-host.sh: takes root, to make a network namespace' >&2
  exit 1
fi
# Not below /tmp, which on many hosts allows no devices.
ATOLL_RUN_DIR=$(mktemp -d /var/tmp/atoll-test-XXXXXX)
export ATOLL_RUN_DIR SERVICE_USER=daemon
trap 'rm -rf "$ATOLL_RUN_DIR"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
chmod 0755 "$ATOLL_RUN_DIR"
mkdir -p "$ATOLL_RUN_DIR/dev/net"
: >"$ATOLL_RUN_DIR/resolv.conf"
echo 'daemon:2000000:65536' >"$ATOLL_RUN_DIR/subids"
mknod -m 0600 "$ATOLL_RUN_DIR/dev/net/tun" c 10 200
mknod -m 0600 "$ATOLL_RUN_DIR/dev/kvm" c 10 232
node "$(dirname "$0")/../packages/daemon/build/build.ts"
unshare --net --mount --propagation slave "$0" --inside "$@"
