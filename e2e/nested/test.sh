#!/usr/bin/env bash
# Runs the tests of vitest's project `nested` in the nested machine, all of them or the files whose path holds one of the words.
# Usage: e2e/nested/test.sh [--results FILE] [WORD...]     --results: where vitest's JSON goes
set -euo pipefail
source "$(dirname "$0")/../../host/lib.sh"

# How many times as long as on the host a test may take in there.
PATIENCE=20
MINUTES=60
JSON=/var/tmp/nested.json

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$ROOT"
machine=(--minutes "$MINUTES")
if [[ ${1:-} == --results ]]; then
  machine+=(--fetch "$JSON=$2")
  shift 2
fi
# Only its own test takes a packed release.
[[ $# != 0 && " $* " != *' release '* ]] || machine+=(--file "$(bash host/pack.sh "$work")")
node e2e/nested/run.ts "${machine[@]}" -- env SERVICE_ACCEL=kvm ATOLL_TEST_PATIENCE=$PATIENCE \
  vitest run --project nested --reporter=default --reporter=json --outputFile.json="$JSON" "$@"
