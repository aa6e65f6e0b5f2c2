#!/usr/bin/env bash
# Builds the netlink helper and prints its path. Needs only Go.
# Usage: host/netlink/build.sh [--force]     --force builds even what the cache holds
set -euo pipefail
export LC_ALL=C

here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
# shellcheck source-path=SCRIPTDIR source=../../guest/lib.sh
source "$here/../../guest/lib.sh"
# shellcheck source-path=SCRIPTDIR source=../../guest/go.sh
source "$here/../../guest/go.sh"

use_build_environment

# compile: leaves netlink in the work directory.
compile() {
  (cd "$here" && "$GO" build -trimpath -buildvcs=false -ldflags '-s -w -buildid=' -o "$WORK_DIR/netlink" .)
}

main() {
  local force=${1:-} key version sources
  [[ $# -le 1 && ($force == '' || $force == --force) ]] || die netlink "usage: ${0##*/} [--force]"
  GO=$(find_go netlink)
  version=$(cd "$here" && "$GO" env GOVERSION)
  mapfile -t sources < <(find "$here" -name '*.go' ! -name '*_test.go' | sort)
  key=$(input_key "${sources[@]}" "$here"/{go.mod,go.sum,build.sh} "$here"/../../guest/{lib,go}.sh -- "$version" "$(uname -m)")
  claim netlink "$key"
  if [[ -n $force ]] || ! is_built netlink; then
    begin_work
    with_progress "netlink: compile" compile
    publish "$WORK_DIR/netlink"
  fi
  echo "$ARTEFACT_DIR/netlink"
}

main "$@"
