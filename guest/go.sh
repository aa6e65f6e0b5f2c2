# shellcheck shell=bash
# How what is written in Go is built: the guest agent and the netlink helper. To be sourced after lib.sh; it defines functions and
# does nothing.

# The first Go that fetches by itself the newer one that go.mod names.
OLDEST_GO=1.21

# use_build_environment: Go builds static binaries for the oldest processor that a host has, whatever the caller's environment says.
use_build_environment() {
  # Distributions may ship Go with the fetching switched off; a caller who sets the variable means it.
  export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}
  unset GOARCH
  export CGO_ENABLED=0 GOOS=linux GOAMD64=v2 GOFLAGS=
}

# find_go LABEL: prints the path of a usable Go, on PATH or where Debian's versioned packages put it; newest first.
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
  die "$1" "needs Go $OLDEST_GO or newer; on Debian 12, with bookworm-backports among the apt sources, install it with:" \
    "apt-get install --no-install-recommends -t bookworm-backports golang-1.23-go; elsewhere: apt-get install golang-go"
}
