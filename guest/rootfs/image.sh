#!/usr/bin/env bash
# Makes the ext4 file from rootfs.tar and npm.tgz. Run by build.sh, as root or as what fakeroot shows as root.
# Usage: image.sh WORK_DIR IMAGE
set -euo pipefail

WORK_DIR=$1
IMAGE=$2
TREE=$WORK_DIR/tree

SIZE=8G
LABEL=atoll-root
IMAGE_UUID=6f1c8a52-3d0e-4b7a-9e44-a7011a70115e
HASH_SEED=0d9b5f0e-64c3-4a86-8f7b-a7011a70115e
FEATURES=none,ext_attr,resize_inode,dir_index,filetype,extent,64bit,flex_bg,metadata_csum
FEATURES+=,sparse_super,large_file,huge_file,dir_nlink,extra_isize

# unpack_tree: the image's files, with owners, modes and capabilities, none newer than SOURCE_DATE_EPOCH.
unpack_tree() {
  mkdir "$TREE"
  # The kernel fills /dev.
  tar -xf "$WORK_DIR/rootfs.tar" -C "$TREE" --numeric-owner --same-owner --same-permissions \
    --xattrs --xattrs-include='*' --exclude='./dev/?*'
  install_npm
  # The bootstrap leaves it empty; the agent writes over it (customize.sh).
  echo 00000000000000000000000000000000 >"$TREE/etc/machine-id"
  chmod 444 "$TREE/etc/machine-id"
  find "$TREE" -newermt "@$SOURCE_DATE_EPOCH" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
}

# install_npm: in /usr/local, where it is no concern of dpkg.
install_npm() {
  local npm=$TREE/usr/local/lib/node_modules/npm
  mkdir -p "$npm"
  tar -xf "$WORK_DIR/npm.tgz" -C "$npm" --strip-components=1 --no-same-owner
  rm -rf "$npm/docs" "$npm/man"
  chmod -R u=rwX,go=rX "$npm"
  chmod 755 "$npm"/bin/*-cli.js
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$TREE/usr/local/bin/npm"
  ln -s ../lib/node_modules/npm/bin/npx-cli.js "$TREE/usr/local/bin/npx"
  # Debian's node lives in /usr, where packages installed with --global would mix with Debian's.
  printf '%s\n' prefix=/usr/local update-notifier=false >"$npm/npmrc"
}

# make_filesystem: everything that the host's defaults would decide is spelt out. The file's holes read as zeroes, so the
# inode tables need no zeroing, neither here nor, later, by a thread of the guest's kernel. There is no journal, and no file of
# orphans: nobody mounts a sandbox's disk a second time, and mounting it with them takes an emulated guest 140 ms, not 50 (ADR 34).
make_filesystem() {
  printf '%s\n' '[defaults]' '[fs_types]' 'ext4 = {' 'inode_size = 256' '}' >"$WORK_DIR/mke2fs.conf"
  truncate -s "$SIZE" "$IMAGE"
  MKE2FS_CONFIG=$WORK_DIR/mke2fs.conf E2FSPROGS_FAKE_TIME=$SOURCE_DATE_EPOCH mke2fs -q -F -t ext4 -d "$TREE" \
    -L "$LABEL" -U "$IMAGE_UUID" -b 4096 -I 256 -i 16384 -m 0 -O "$FEATURES" \
    -E "hash_seed=$HASH_SEED,root_owner=0:0,assume_storage_prezeroed=1" "$IMAGE"
}

# fix_times: mke2fs copies the times of access and change from the tree, where nobody can choose them.
fix_times() {
  local count free inode
  count=$(dumpe2fs -h "$IMAGE" 2>/dev/null | awk '/^Inode count:/ { print $3 }')
  free=$(dumpe2fs -h "$IMAGE" 2>/dev/null | awk '/^Free inodes:/ { print $3 }')
  # Inodes are handed out in order, so the first ones are those in use.
  for ((inode = 1; inode <= count - free; inode++)); do
    printf "sif <$inode> %s @$SOURCE_DATE_EPOCH\n" atime ctime crtime
  done >"$WORK_DIR/times"
  E2FSPROGS_FAKE_TIME=$SOURCE_DATE_EPOCH debugfs -w -f "$WORK_DIR/times" "$IMAGE" >/dev/null
}

unpack_tree
make_filesystem
fix_times
e2fsck -fn "$IMAGE"
