# shellcheck shell=bash
# The test suites: what runs each, in one place for check.sh and test.sh. To be sourced after lib.sh, with the checkout as
# the working directory. With RESULTS_DIR set, each leaves its results there for tally.ts.

# vitest_suite PROJECT: a project of vitest.config.ts.
vitest_suite() {
  local -a json=()
  [[ -z ${RESULTS_DIR:-} ]] || json=(--reporter=json --outputFile.json="$RESULTS_DIR/$1.json")
  local -a place=()
  [[ $1 != e2e ]] || place=(e2e/own-host.sh)
  "${place[@]}" vitest run --project "$1" --reporter=default "${json[@]}"
}

# agent_suite: the guest agent's own tests.
agent_suite() {
  local results=/dev/null
  [[ -z ${RESULTS_DIR:-} ]] || results=$RESULTS_DIR/agent.txt
  agent go test -v ./... | tee "$results"
}

# agent COMMAND...: runs it in the agent's module. The agent has no C in it, so no C compiler is asked for.
agent() { (cd guest/agent && CGO_ENABLED=0 "$@"); }
