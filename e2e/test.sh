#!/usr/bin/env bash
# Runs the end-to-end tests in two lanes at once, each on a host of its own (own-host.sh): much of a lane's time is spent waiting.
# lanes.ts deals the files. What the lanes say is told apart by a number in front.
# Usage: e2e/test.sh [--results DIR]     --results: where each lane's JSON goes, for host/tally.ts
set -euo pipefail
source "$(dirname "$0")/../host/lib.sh"

LANES=2

results=
[[ ${1:-} != --results ]] || results=$2

# lane N
lane() {
  local -a json=()
  [[ -z $results ]] || json=(--reporter=json --outputFile.json="$results/e2e-$1.json")
  e2e/own-host.sh vitest run --project e2e --shard="$1/$LANES" --reporter=default "${json[@]}" 2>&1 | sed -u "s/^/$1| /"
}

cd "$ROOT"
bash e2e/storage/s3-server.sh
bash e2e/guests/hostile.sh
bash e2e/fuzz/schemathesis.sh
bash host/python-tool.sh
running=()
for ((n = 1; n <= LANES; n++)); do
  lane "$n" </dev/null &
  running+=($!)
done
failed=0
for pid in "${running[@]}"; do wait "$pid" || failed=1; done
exit "$failed"
