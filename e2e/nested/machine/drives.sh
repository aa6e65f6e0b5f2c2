#!/usr/bin/env bash
# Builds the drives that go with the nested machine's disk, and prints their paths, a line each: the npm packages of the
# checkout, Node among them; what runs inside a sandbox (kernel, disk, agent), laid out as guest/build.sh keeps it; and, where
# files are named, one with these in it.
# Usage: e2e/nested/machine/drives.sh [FILE...]
set -euo pipefail
export LC_ALL=C
source "$(dirname "$0")/../../../host/lib.sh"
PATH=$PATH:/usr/sbin:/sbin

# drive LABEL SIZE TREE: leaves LABEL.ext4 in the work directory. Holes take no room.
drive() {
  truncate -s "$2" "$WORK_DIR/$1.ext4"
  mke2fs -q -F -t ext4 -L "$1" -m 0 -E root_owner=0:0,lazy_itable_init=0,assume_storage_prezeroed=1 \
    -d "$3" "$WORK_DIR/$1.ext4"
}

# guest_tree: prints a directory with the artefacts in use, and the links to them. As hard links, which take no room.
guest_tree() {
  local link artefact cache tree=$WORK_DIR/tree
  cache=$(cache_dir)
  mkdir -p "$tree/current"
  for link in "$cache"/current/*; do
    artefact=$(dirname -- "$(realpath -- "$link")")
    mkdir -p "$tree/${artefact#"$(realpath "$cache")"/}"
    cp -l "$artefact"/* "$tree/${artefact#"$(realpath "$cache")"/}/"
    cp -P "$link" "$tree/current/"
  done
  echo "$tree"
}

# files_tree FILE...: prints a directory with the files.
files_tree() {
  mkdir "$WORK_DIR/tree"
  cp -l -- "$@" "$WORK_DIR/tree/" 2>/dev/null || cp -f -- "$@" "$WORK_DIR/tree/"
  echo "$WORK_DIR/tree"
}

# make LABEL SIZE KEY TREE-COMMAND...: the drive from the cache, or anew.
make() (
  label=$1 size=$2
  claim "$label" "$3"
  if ! is_built "$label.ext4"; then
    begin_work
    with_progress "$label" drive "$label" "$size" "$("${@:4}")"
    publish "$WORK_DIR/$label.ext4"
  fi
  echo "$ARTEFACT_DIR/$label.ext4"
)

need nested mke2fs=e2fsprogs
make nested-modules 4G "$(input_key "$0" "$ROOT/package-lock.json")" echo "$ROOT/node_modules"
make nested-guest 16G "$(input_key "$0" -- "$(realpath "$(cache_dir)"/current/*)")" guest_tree
(($# == 0)) || make nested-files 8G "$(input_key "$0" -- "$(stat -c '%n %s %Y' -- "$@")")" files_tree "$@"
