#!/usr/bin/env bash
# Looks into a root file system before, or after, it is registered as an image: whether its file system is sound, and whether
# what a sandbox needs of it is there. Reads the file and changes nothing. As root, since a registered image is the daemon's own.
# Usage: host/preflight.sh IMAGE
set -euo pipefail
source "$(dirname "$0")/lib.sh"
export LC_ALL=C PATH=$PATH:/usr/sbin:/sbin

# The machine number in the head of a program, little-endian, of the processor that guests run on (elf.h: EM_X86_64).
GUEST_MACHINE=3e00
FAULTS=0

found() { printf '%s %s\n' "$(paint 32 ✓)" "$*"; }
fault() {
  bad "$*"
  FAULTS=$((FAULTS + 1))
}

# inside PATH: prints the path of what a path of the image leads to, links followed; fails when nothing is there.
inside() {
  local path=$1 info target steps=0
  while ((steps++ < 20)); do
    # A directory on the way may be a link as well: /bin is one to usr/bin on most.
    path=$(real_parent "$path") || return
    info=$(debugfs -R "stat $path" "$IMAGE" 2>/dev/null)
    [[ $info == *'Type: '* ]] || return
    [[ $info == *'Type: symlink'* ]] || { echo "$path" && return; }
    target=$(link_target "$info") || return
    if [[ $target == /* ]]; then path=$target; else path=${path%/*}/$target; fi
  done
  return 1
}

# real_parent PATH: prints the path with its first directory, where that is a link, followed.
real_parent() {
  local top=/${1#/} info target
  top=/$(cut -d/ -f2 <<<"$top")
  [[ $1 == "$top"/* ]] || { echo "$1" && return; }
  info=$(debugfs -R "stat $top" "$IMAGE" 2>/dev/null)
  [[ $info == *'Type: symlink'* ]] || { echo "$1" && return; }
  target=$(link_target "$info") || return
  echo "/${target#/}${1#"$top"}"
}

link_target() { sed -n 's/.*Fast link dest: "\(.*\)".*/\1/p' <<<"$1" | grep .; }

# check_program PATH WHAT-FOR REQUIRED: whether a program is there, and of the guest's processor.
check_program() {
  local path machine
  if ! path=$(inside "$1"); then
    if [[ $3 == required ]]; then fault "$1 is missing: $2"; else printf -- '- %s is missing: %s\n' "$1" "$2"; fi
    return
  fi
  debugfs -R "dump $path $WORK/program" "$IMAGE" >/dev/null 2>&1
  if [[ $(head -c 4 "$WORK/program" | tr -d '\0') != $'\x7fELF' ]]; then
    found "$1 is there, a script"
    return
  fi
  machine=$(od -An -tx1 -j18 -N2 "$WORK/program" | tr -d ' ')
  if [[ $machine == "$GUEST_MACHINE" ]]; then found "$1"; else fault "$1 is a program of another processor architecture"; fi
}

(($# == 1)) || fail 'usage: host/preflight.sh IMAGE'
IMAGE=$1
need preflight debugfs=e2fsprogs e2fsck=e2fsprogs
[[ -f $IMAGE && ! -L $IMAGE ]] || fail "$IMAGE is not a regular file"
[[ -r $IMAGE ]] || fail "$IMAGE cannot be read: run this as root"
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

if e2fsck -fn "$IMAGE" >"$WORK/e2fsck" 2>&1; then
  found 'the file system is sound'
else
  fault "the file system is damaged, or was not unmounted; e2fsck says: $(grep -v '^e2fsck ' "$WORK/e2fsck" | head -n 3 | paste -sd' ')"
fi
found 'the guest agent need not be in it: it comes with the kernel'
check_program /bin/sh 'commands that are shell scripts do not run' required
check_program /usr/bin/rclone 'object stores cannot be mounted' optional
check_program /usr/bin/fusermount3 'object stores cannot be mounted' optional
((FAULTS == 0)) || fail "$FAULTS found: a sandbox of this image is of little use"
