#!/usr/bin/env bash
# Builds everything that runs inside a sandbox (kernel, base image, agent) and the daemon's netlink helper, or finds them in the
# cache, and points the links <cache>/current/{vmlinux,rootfs.ext4,initramfs.cpio,netlink} at them. A release has all of them in
# guest/built, and builds nothing.
# Usage: guest/build.sh
set -euo pipefail

here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$here/lib.sh"

PARTS=(kernel rootfs agent netlink)
declare -A BUILDS=(
  [kernel]=$here/kernel [rootfs]=$here/rootfs [agent]=$here/agent [netlink]=$here/../host/netlink
)
declare -A JOBS=()
RESULTS=

# stop_all: the exit trap. Each build cleans up after itself when it is told to end.
stop_all() {
  local part
  trap '' INT TERM HUP
  for part in "${!JOBS[@]}"; do kill -TERM -- "-${JOBS[$part]}" 2>/dev/null || true; done
  wait
  rm -rf -- "$RESULTS"
}

# start PART: runs its build in the background, in a process group of its own. Leaves PATH and SECONDS in RESULTS.
start() {
  local part=$1
  set -m
  {
    local began=$SECONDS
    "${BUILDS[$part]}/build.sh" >"$RESULTS/$part" && echo "$((SECONDS - began))" >"$RESULTS/$part.seconds"
  } </dev/null &
  JOBS[$part]=$!
  set +m
}

# link_current ARTEFACT: points <cache>/current/<its name> at it, in one step.
link_current() {
  local current name=${1##*/}
  current=$(cache_dir)/current
  mkdir -p "$current"
  ln -s "$(realpath --relative-to="$current" -- "$1")" "$current/.$name.$$"
  mv -T -- "$current/.$name.$$" "$current/$name"
}

# report PART BEGAN: links its artefact and says a line about it. One that is older than this run was in the cache.
report() {
  local part=$1 began=$2 artefact how=built
  artefact=$(<"$RESULTS/$part")
  (($(stat -c %Y -- "$artefact") >= began)) || how='in the cache'
  link_current "$artefact"
  say "$part" "$(du -h --apparent-size -- "$artefact" | cut -f1) ($(du -h -- "$artefact" | cut -f1) on disk)," \
    "$how, $(duration "$(<"$RESULTS/$part.seconds")"): $artefact"
}

# place_built: takes what a release brings into the cache, which outlives the release's own directory.
place_built() (
  local artefact
  claim release "$(input_key "$here/built/keys")"
  if ! is_built keys; then
    begin_work
    with_progress guest cp -r --sparse=always --reflink=auto -- "$here/built" "$WORK_DIR/built"
    publish "$WORK_DIR"/built/*
  fi
  for artefact in "$ARTEFACT_DIR"/*; do [[ $artefact == */keys ]] || link_current "$artefact"; done
)

main() {
  (($# == 0)) || die guest "usage: ${0##*/}"
  local part began status=0
  if [[ -e $here/built ]]; then
    place_built
    return
  fi
  began=$(date +%s)
  RESULTS=$(mktemp -d)
  trap stop_all EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  # The image waits for downloads and disks, the kernel for processors: together they take little longer than the kernel.
  for part in "${PARTS[@]}"; do start "$part"; done
  for part in "${PARTS[@]}"; do
    wait "${JOBS[$part]}" || status=1
    unset "JOBS[$part]"
    if [[ -e $RESULTS/$part.seconds ]]; then report "$part" "$began"; else say "$part" "failed"; fi
  done
  return "$status"
}

main "$@"
