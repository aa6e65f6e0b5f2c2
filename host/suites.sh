# shellcheck shell=bash
# The suites of check.sh and test.sh: what runs each. To be sourced after lib.sh, with the checkout as
# the working directory. With RESULTS_DIR set, each leaves its results there for tally.ts.

# vitest_suite PROJECT: a project of vitest.config.ts that takes no host of its own.
vitest_suite() {
  local -a json=()
  [[ -z ${RESULTS_DIR:-} ]] || json=(--reporter=json --outputFile.json="$RESULTS_DIR/$1.json")
  vitest run --project "$1" --reporter=default "${json[@]}"
}

# agent_suite: the tests of what is written in Go.
agent_suite() {
  local results=/dev/null
  [[ -z ${RESULTS_DIR:-} ]] || results=$RESULTS_DIR/agent.txt
  go_modules go test -v ./... | tee "$results"
  [[ -z ${ATOLL_FUZZ_SECONDS:-} ]] || agent_fuzz "$ATOLL_FUZZ_SECONDS"
}

# agent_fuzz SECONDS: lets each of the agent's parsers have that long of made-up input. What fails stays in its testdata/fuzz, where
# plain `go test` tries it from then on.
agent_fuzz() {
  local found file
  for found in $(cd guest/agent && grep -roE '^func Fuzz\w+' --include=fuzz_test.go . | sed 's/:func /:/' | sort); do
    file=${found%%:*}
    (cd guest/agent && CGO_ENABLED=0 go test -run '^$' -fuzz "^${found##*:}\$" -fuzztime "${1}s" -fuzzminimizetime 1s "${file%/*}")
  done
}

# go_modules COMMAND...: runs it in each Go module: the guest agent and the netlink helper. Neither has C in it, so no C compiler is
# asked for.
go_modules() {
  local module
  for module in guest/agent host/netlink; do (cd "$module" && CGO_ENABLED=0 "$@") || return; done
}
