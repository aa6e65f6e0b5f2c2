#!/usr/bin/env bash
# Every test: the fast gate, then the suites that boot sandboxes. A suite that fails does not keep the next from running.
# The last line counts the tests, for people and for CI.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/packages.sh"
source "$(dirname "$0")/suites.sh"
source "$(dirname "$0")/python.sh"

# run_suite NAME COMMAND...
run_suite() {
  step "$1"
  "${@:2}" </dev/null || failed+=("$1")
}

# nested_suite: waits for the nested machine's tests, and shows what they said.
nested_suite() {
  local code=0
  wait "$nested" || code=$?
  cat "$RESULTS_DIR/nested.log"
  return "$code"
}

cd "$ROOT"
start=$(now_ms)
RESULTS_DIR=$(mktemp -d)
trap 'rm -rf "$RESULTS_DIR"' EXIT
failed=()

step 'set-up'
bash host/setup.sh check tests
# One emulated processor, beside all that follows; what it says is shown at the end. In a process group of its own, so that an
# interrupt ends all of it.
set -m
bash e2e/nested/test.sh --results "$RESULTS_DIR/nested.json" </dev/null >"$RESULTS_DIR/nested.log" 2>&1 &
set +m
nested=$!
trap 'kill -- "-$nested" 2>/dev/null || true; rm -rf "$RESULTS_DIR"' EXIT
use_go
ensure_python
run_suite 'static checks' bash host/check.sh --static
run_suite 'unit tests' vitest_suite unit
run_suite 'guest agent: tests' agent_suite
run_suite 'python: tests' python_suite
run_suite 'contract tests' vitest_suite contract
run_suite 'end-to-end tests' bash e2e/test.sh --results "$RESULTS_DIR"
run_suite 'nested tests' nested_suite

step "summary ($(elapsed "$start"))"
((${#failed[@]} == 0)) || bad "failed: $(printf '%s\n' "${failed[@]}" | paste -sd,)"
# Says the last line; fails when a test failed or a suite ran none.
node host/tally.ts "$RESULTS_DIR" && ((${#failed[@]} == 0))
