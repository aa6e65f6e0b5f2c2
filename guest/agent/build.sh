#!/usr/bin/env bash
# Builds the guest agent and prints the path of the finished initramfs, which holds it as /init. Needs only Go.
# Usage: guest/agent/build.sh [--force]     --force builds even what the cache holds
set -euo pipefail
export LC_ALL=C

here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
# shellcheck source-path=SCRIPTDIR source=../lib.sh
source "$here/../lib.sh"
# shellcheck source-path=SCRIPTDIR source=../go.sh
source "$here/../go.sh"

use_build_environment

# go_tool ARGUMENT...: runs Go in the module, and by go.mod's choice a newer Go, which it fetches.
go_tool() {
  (cd "$here" && "$GO" "$@")
}

# compile: leaves agent and initramfs.cpio in the work directory.
compile() {
  go_tool build -trimpath -buildvcs=false -ldflags '-s -w -buildid=' -o "$WORK_DIR/agent" .
  go_tool run -buildvcs=false ./internal/mkinitramfs "$WORK_DIR/agent" >"$WORK_DIR/initramfs.cpio"
}

main() {
  local force=${1:-} key version sources
  [[ $# -le 1 && ($force == '' || $force == --force) ]] || die agent "usage: ${0##*/} [--force]"
  GO=$(find_go agent)
  say agent "asking Go for its version; it may fetch the one that go.mod names"
  version=$(go_tool env GOVERSION)
  mapfile -t sources < <(find "$here" -name '*.go' ! -name '*_test.go' ! -path '*/hostile/*' | sort)
  key=$(input_key "${sources[@]}" "$here"/{go.mod,go.sum,build.sh} "$here"/../{lib,go}.sh -- "$version" "$(uname -m)")
  claim agent "$key"
  if [[ -n $force ]] || ! is_built initramfs.cpio; then
    begin_work
    with_progress "agent: compile" compile
    publish "$WORK_DIR/initramfs.cpio"
  fi
  echo "$ARTEFACT_DIR/initramfs.cpio"
}

main "$@"
