#!/usr/bin/env bash
# Builds the guest agent and prints the path of the finished initramfs, which holds it as /init. Needs only Go.
# Usage: guest/agent/build.sh [--force]     --force builds even what the cache holds
set -euo pipefail
export LC_ALL=C

here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
# shellcheck source-path=SCRIPTDIR source=../lib.sh
source "$here/../lib.sh"

# The first Go that fetches by itself the newer one that go.mod names.
OLDEST_GO=1.21

# Distributions may ship Go with the fetching switched off; a caller who sets the variable means it.
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}
# A static binary for the oldest processor that a sandbox is given, whatever else the caller's environment says.
unset GOARCH
export CGO_ENABLED=0 GOOS=linux GOAMD64=v2 GOFLAGS=

# find_go: prints the path of a usable Go, on PATH or where Debian's versioned packages put it; newest first.
find_go() {
  local go version
  for go in "$(command -v go || true)" $(printf '%s\n' /usr/lib/go-1.*/bin/go | sort -rV); do
    [[ -x $go ]] || continue
    version=$(GOTOOLCHAIN=local "$go" version 2>/dev/null | sed -n 's/^go version go\([0-9.]*\).*/\1/p')
    if printf '%s\n' "$OLDEST_GO" "$version" | sort -VC; then
      echo "$go"
      return
    fi
  done
  die agent "needs Go $OLDEST_GO or newer; on Debian 12, with bookworm-backports among the apt sources, install it with:" \
    "apt-get install --no-install-recommends -t bookworm-backports golang-1.23-go; elsewhere: apt-get install golang-go"
}

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
  GO=$(find_go)
  say agent "asking Go for its version; it may fetch the one that go.mod names"
  version=$(go_tool env GOVERSION)
  mapfile -t sources < <(find "$here" -name '*.go' ! -name '*_test.go' | sort)
  key=$(input_key "${sources[@]}" "$here"/{go.mod,go.sum,build.sh} "$here/../lib.sh" -- "$version" "$(uname -m)")
  claim agent "$key"
  if [[ -n $force ]] || ! is_built initramfs.cpio; then
    begin_work
    with_progress "agent: compile" compile
    publish "$WORK_DIR/initramfs.cpio"
  fi
  echo "$ARTEFACT_DIR/initramfs.cpio"
}

main "$@"
