#!/usr/bin/env bash
# Builds the S3 server that the tests of mounts talk to, and prints its path. Needs only Go.
set -euo pipefail
source "$(dirname "$0")/../../guest/lib.sh"
source "$(dirname "$0")/../../host/packages.sh"

MODULE=github.com/versity/versitygw/cmd/versitygw@v1.8.0

compile() { GOBIN=$WORK_DIR CGO_ENABLED=0 GOFLAGS=-modcacherw go install -trimpath -ldflags '-s -w' "$MODULE"; }

use_go || die s3-server "needs Go 1.$GO_MINOR_MIN or newer: npm run setup installs it"
claim s3-server "$(input_key -- "$MODULE" "$(uname -m)")"
if ! is_built versitygw; then
  begin_work
  with_progress 's3-server: compile' compile
  publish "$WORK_DIR/versitygw"
fi
echo "$ARTEFACT_DIR/versitygw"
