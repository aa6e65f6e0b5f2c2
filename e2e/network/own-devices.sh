#!/bin/sh
# Usage: own-devices.sh DIR COMMAND...: runs the command with a /dev of its own, whose devices only root may open; what is
# changed of them lasts from one command to the next with the same DIR. To be run in a mount namespace of its own.
set -eu
dir=$1
shift
if [ ! -d "$dir/dev" ]; then
  mkdir -p "$dir/dev/net"
  mknod -m 0666 "$dir/dev/null" c 1 3
  mknod -m 0666 "$dir/dev/urandom" c 1 9
  mknod -m 0600 "$dir/dev/net/tun" c 10 200
  mknod -m 0600 "$dir/dev/kvm" c 10 232
fi
mount --bind "$dir/dev" /dev
exec "$@"
