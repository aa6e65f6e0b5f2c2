#!/usr/bin/env bash
# Builds the base image of a sandbox, an ext4 file, and prints its path. Needs neither root nor loop devices.
# Usage: guest/rootfs/build.sh [--force]     --force builds even what the cache holds, to take in Debian's updates
set -euo pipefail
export LC_ALL=C PATH=$PATH:/usr/sbin:/sbin

here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
# shellcheck source-path=SCRIPTDIR source=../lib.sh
source "$here/../lib.sh"

SUITE=trixie
# Fixed, because equal packages are to give equal images. Files newer than this carry this date in the image.
export SOURCE_DATE_EPOCH=1767225600

# debian_sources: prints the apt lines of the suite, at the mirrors this host uses for its own Debian. Prints nothing if
# the host names none, which leaves the choice to mmdebstrap.
debian_sources() {
  local targets main security
  # shellcheck disable=SC2016 # apt expands these.
  targets=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 2>/dev/null || true)
  main=$(awk '$1 == "Debian" { print $2; exit }' <<<"$targets")
  security=$(awk '$1 == "Debian-Security" { print $2; exit }' <<<"$targets")
  [[ -n $main ]] || return 0
  printf 'deb %s %s main\n' "$main" "$SUITE" "$main" "$SUITE-updates"
  [[ -z $security ]] || printf 'deb %s %s main\n' "$security" "$SUITE-security"
}

# bootstrap: leaves rootfs.tar in the work directory.
bootstrap() {
  local mode=auto packages sources=()
  ((EUID == 0)) && mode=root
  packages=$(sed -e 's/#.*//' "$here/packages" | xargs | tr ' ' ,)
  mapfile -t sources < <(debian_sources)
  # mmdebstrap may work as a subordinate user id, which cannot enter a home directory: hence its own TMPDIR, and the hook
  # as a text and not as a path.
  TMPDIR=${TMPDIR:-/var/tmp} mmdebstrap --mode="$mode" --format=tar --variant=apt --include="$packages" \
    --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Languages "none"' \
    --dpkgopt='force-unsafe-io' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/info/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --customize-hook="$(cat "$here/customize.sh")" \
    "$SUITE" - ${sources[@]+"${sources[@]}"} >"$WORK_DIR/rootfs.tar"
}

# fetch_npm: leaves npm.tgz, checked, in the work directory.
fetch_npm() {
  local version integrity
  read -r version integrity <"$here/npm.lock"
  (cd "$WORK_DIR" && npm pack --silent --ignore-scripts --pack-destination . "npm@$version")
  mv "$WORK_DIR/npm-$version.tgz" "$WORK_DIR/npm.tgz"
  [[ sha512-$(openssl dgst -sha512 -binary "$WORK_DIR/npm.tgz" | base64 -w 0) == "$integrity" ]] || {
    echo "npm $version is not what npm.lock says"
    return 1
  }
}

# make_image: leaves rootfs.ext4 in the work directory. To anyone but root, fakeroot remembers the files' owners.
make_image() {
  local -a as_root=()
  ((EUID == 0)) || as_root=(fakeroot --)
  "${as_root[@]}" "$here/image.sh" "$WORK_DIR" "$WORK_DIR/rootfs.ext4"
}

main() {
  local force=${1:-} key
  [[ $# -le 1 && ($force == '' || $force == --force) ]] || die rootfs "usage: ${0##*/} [--force]"
  need rootfs mmdebstrap=mmdebstrap mke2fs=e2fsprogs fakeroot=fakeroot openssl=openssl npm=npm tar=tar \
    /usr/share/keyrings/debian-archive-$SUITE-stable.gpg=debian-archive-keyring
  key=$(input_key "$here"/{build.sh,customize.sh,image.sh,packages,npm.lock} "$here/../lib.sh" -- "$(uname -m)")
  claim rootfs "$key"
  if [[ -n $force ]] || ! is_built rootfs.ext4; then
    begin_work
    with_progress "rootfs: npm" fetch_npm
    with_progress "rootfs: packages" bootstrap
    with_progress "rootfs: image" make_image
    publish "$WORK_DIR/rootfs.ext4"
  fi
  echo "$ARTEFACT_DIR/rootfs.ext4"
}

main "$@"
