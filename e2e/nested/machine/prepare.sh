#!/bin/sh
# Runs in the bootstrap before the kernel is installed, with the machine's root directory as $1: keeps the initramfs to what
# finds the root disk, because unpacking the usual one takes an emulated processor half a minute.
set -eu
mkdir -p "$1/etc/initramfs-tools/conf.d" "$1/etc/initramfs-tools/hooks"
printf '%s\n' MODULES=list COMPRESS=zstd RESUME=none >"$1/etc/initramfs-tools/conf.d/atoll"
cat >"$1/etc/initramfs-tools/hooks/atoll" <<'HOOK'
#!/bin/sh
set -e
[ "$1" != prereqs ] || exit 0
. /usr/share/initramfs-tools/hook-functions
manual_add_modules virtio_pci virtio_blk ext4
HOOK
chmod 755 "$1/etc/initramfs-tools/hooks/atoll"
