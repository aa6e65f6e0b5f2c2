#!/usr/bin/env bash
# Builds the initramfs with the agent that lies (guest/agent/internal/hostile) and the true one, and prints its path. Needs only Go.
set -euo pipefail
source "$(dirname "$0")/../../guest/lib.sh"
source "$(dirname "$0")/../../host/packages.sh"

AGENT=$(readlink -f "$(dirname "$0")/../../guest/agent")
export CGO_ENABLED=0 GOAMD64=v2 GOFLAGS=-buildvcs=false

compile() {
  cd "$AGENT"
  go build -trimpath -ldflags '-s -w' -o "$WORK_DIR/hostile" ./internal/hostile
  go build -trimpath -ldflags '-s -w' -o "$WORK_DIR/real" .
  go run ./internal/mkinitramfs "$WORK_DIR/hostile" real "$WORK_DIR/real" >"$WORK_DIR/hostile.cpio"
}

use_go || die hostile "needs Go 1.$GO_MINOR_MIN or newer: npm run setup installs it"
mapfile -t sources < <(find "$AGENT" -name '*.go' ! -name '*_test.go' | sort)
claim hostile "$(input_key "${sources[@]}" "$AGENT"/go.{mod,sum} -- "$(uname -m)")"
if ! is_built hostile.cpio; then
  begin_work
  with_progress 'hostile: compile' compile
  publish "$WORK_DIR/hostile.cpio"
fi
echo "$ARTEFACT_DIR/hostile.cpio"
