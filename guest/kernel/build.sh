#!/usr/bin/env bash
# Builds the guest kernel from Debian's kernel source package and prints the path of the finished ELF file, `vmlinux`.
# Beside it lie `config`, the complete configuration, and `version`.
# Usage: guest/kernel/build.sh [--force]     --force builds even what the cache holds
set -euo pipefail
export LC_ALL=C

here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
# shellcheck source-path=SCRIPTDIR source=../lib.sh
source "$here/../lib.sh"

PACKAGE=linux-source-6.12
SOURCE=/usr/src/$PACKAGE.tar.xz
ARCHITECTURE=$(uname -m)
FRAGMENTS=("$here/config.fragment" "$here/config.$ARCHITECTURE.fragment")
ADDITIONS=("$here/lapic_timer_khz.c")
PATCHES=("$here/keep_initmem.patch")

# unpack: the source, with Atoll's own additions, to the work directory.
unpack() {
  mkdir "$WORK_DIR/linux"
  # The graphics headers are a fifth of the source, and no configuration of ours reads them.
  tar -xf "$SOURCE" -C "$WORK_DIR/linux" --strip-components=1 --exclude='*/drivers/gpu/drm/amd/include'
  if [[ $ARCHITECTURE == x86_64 ]]; then
    cp -- "${ADDITIONS[@]}" "$WORK_DIR/linux/arch/x86/kernel/"
    echo 'obj-y += lapic_timer_khz.o' >>"$WORK_DIR/linux/arch/x86/kernel/Makefile"
    cat -- "${PATCHES[@]}" | patch -d "$WORK_DIR/linux" -p1 --fuzz=0
  fi
}

# configure: everything off, but for the fragments and what they imply. Kconfig drops in silence what it cannot grant,
# so each line is looked up in the result.
configure() {
  local wanted=$WORK_DIR/wanted line symbol unmet=0
  cat -- "${FRAGMENTS[@]}" >"$wanted"
  make -C "$WORK_DIR/linux" KCONFIG_ALLCONFIG="$wanted" allnoconfig
  while IFS= read -r line; do
    case $line in
      CONFIG_*=*)
        symbol=${line%%=*}
        grep -qxF -- "$line" "$WORK_DIR/linux/.config" && continue
        ;;
      '# CONFIG_'*' is not set')
        symbol=${line#\# } symbol=${symbol%% *}
        grep -q "^$symbol=" "$WORK_DIR/linux/.config" || continue
        ;;
      *) continue ;;
    esac
    echo "the fragments ask for \"$line\", the kernel's configuration says" \
      "\"$(grep -wm1 -- "$symbol" "$WORK_DIR/linux/.config" || echo "$symbol does not exist")\""
    unmet=1
  done <"$wanted"
  return "$unmet"
}

# compile: leaves vmlinux, config and version in the work directory. What would differ from build to build is fixed.
compile() {
  local tree=$WORK_DIR/linux
  export KBUILD_BUILD_TIMESTAMP KBUILD_BUILD_USER=atoll KBUILD_BUILD_HOST=atoll KBUILD_BUILD_VERSION=1
  # The date of the source stands for the date of the build.
  KBUILD_BUILD_TIMESTAMP=$(date -u -d "@$(stat -c %Y "$SOURCE")")
  make -C "$tree" -j"$(nproc)" vmlinux
  strip -o "$WORK_DIR/vmlinux" "$tree/vmlinux"
  cp "$tree/.config" "$WORK_DIR/config"
  echo "$(make -s -C "$tree" kernelrelease) ($PACKAGE $SOURCE_VERSION)" >"$WORK_DIR/version"
}

# objects_done: a detail for the line of progress.
objects_done() {
  echo "$(grep -cE '^  (CC|AS|AR|LD) ' "$LOG_FILE") files made"
}

main() {
  local force=${1:-} key
  [[ $# -le 1 && ($force == '' || $force == --force) ]] || die kernel "usage: ${0##*/} [--force]"
  [[ -e ${FRAGMENTS[1]} ]] || die kernel "no configuration for $ARCHITECTURE: ${FRAGMENTS[1]} does not exist"
  need kernel "$SOURCE=$PACKAGE" flex=flex bison=bison bc=bc make=make gcc=gcc ld=binutils xz=xz-utils patch=patch \
    /usr/include/libelf.h=libelf-dev
  SOURCE_VERSION=$(dpkg-query -W -f '${Version}' "$PACKAGE")
  key=$(input_key "$here/build.sh" "${FRAGMENTS[@]}" "${ADDITIONS[@]}" "${PATCHES[@]}" -- \
    "$SOURCE_VERSION" "$(gcc --version | head -n 1)" "$(ld --version | head -n 1)")
  claim kernel "$key"
  if [[ -n $force ]] || ! is_built vmlinux config version; then
    begin_work
    with_progress "kernel: unpack" unpack
    with_progress "kernel: configure" configure
    PROGRESS_DETAIL=objects_done with_progress "kernel: compile" compile
    publish "$WORK_DIR/vmlinux" "$WORK_DIR/config" "$WORK_DIR/version"
  fi
  echo "$ARTEFACT_DIR/vmlinux"
}

main "$@"
