#!/usr/bin/env bash
# Builds the disk of the nested machine from Debian 12 packages, and prints the directory that holds rootfs.ext4, vmlinuz and
# initrd.img. Needs neither root nor loop devices. Cached under the hash of what it is made from.
# Usage: e2e/nested/machine/build.sh [--force]     --force builds even what the cache holds, to take in Debian's updates
set -euo pipefail
export LC_ALL=C
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
source "$here/../../../host/lib.sh"
source "$ROOT/host/packages.sh"
PATH=$PATH:/usr/sbin:/sbin

SUITE=bookworm
# Holes take no room. Sandboxes, snapshots and copies of both have to fit.
SIZE=24G

# sources: prints the apt lines of the suite at the mirrors this host uses; none leave the choice to mmdebstrap.
sources() {
  local suite mirror
  for suite in "$SUITE" "$SUITE-updates" "$SUITE-security"; do
    mirror=$(apt_mirror "$suite")
    [[ -z $mirror ]] || echo "deb $mirror $suite main"
  done
}

wanted_packages() {
  sed -e 's/#.*//' "$here/packages"
  packages_for run
}

# bootstrap: leaves root.tar in the work directory.
bootstrap() {
  local mode=auto lines=()
  ((EUID == 0)) && mode=root
  mapfile -t lines < <(sources)
  # Hooks as texts and TMPDIR for the same reason as in guest/rootfs/build.sh.
  TMPDIR=${TMPDIR:-/var/tmp} mmdebstrap --mode="$mode" --format=tar --variant=apt \
    --include="$(wanted_packages | xargs | tr ' ' ,)" \
    --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Languages "none"' \
    --dpkgopt='force-unsafe-io' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/info/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --essential-hook="$(cat "$here/prepare.sh")" --customize-hook="$(cat "$here/customize.sh")" \
    "$SUITE" - ${lines[@]+"${lines[@]}"} >"$WORK_DIR/root.tar"
}

# make_image: leaves rootfs.ext4, vmlinuz and initrd.img in the work directory. To anyone but root, fakeroot remembers the
# files' owners.
make_image() {
  local -a as_root=()
  ((EUID == 0)) || as_root=(fakeroot --)
  mkdir "$WORK_DIR/tree"
  truncate -s "$SIZE" "$WORK_DIR/rootfs.ext4"
  # shellcheck disable=SC2016 # the inner shell expands these
  "${as_root[@]}" bash -euc '
    tar -xf "$1/root.tar" -C "$1/tree" --numeric-owner --same-owner --same-permissions --xattrs --xattrs-include="*" --exclude="./dev/?*"
    cp "$1"/tree/boot/vmlinuz-* "$1/vmlinuz"
    cp "$1"/tree/boot/initrd.img-* "$1/initrd.img"
    mke2fs -q -F -t ext4 -L nested-root -m 0 -E lazy_itable_init=0,assume_storage_prezeroed=1 -d "$1/tree" "$1/rootfs.ext4"
  ' - "$WORK_DIR"
}

main() {
  local force=${1:-} key
  [[ $# -le 1 && ($force == '' || $force == --force) ]] || die nested "usage: ${0##*/} [--force]"
  need nested mmdebstrap=mmdebstrap mke2fs=e2fsprogs fakeroot=fakeroot tar=tar \
    /usr/share/keyrings/debian-archive-$SUITE-stable.gpg=debian-archive-keyring
  key=$(input_key "$here"/{build.sh,customize.sh,packages,prepare.sh} -- "$(packages_for run)")
  claim nested "$key"
  if [[ -n $force ]] || ! is_built rootfs.ext4 vmlinuz initrd.img; then
    begin_work
    with_progress 'nested: packages' bootstrap
    with_progress 'nested: disk' make_image
    publish "$WORK_DIR"/{rootfs.ext4,vmlinuz,initrd.img}
  fi
  echo "$ARTEFACT_DIR"
}

main "$@"
