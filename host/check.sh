#!/usr/bin/env bash
# The fast gate: everything that can be said about the code without booting a sandbox. One line a step; a step's output is
# shown when it fails. `--static` leaves out the tests, for who runs them another way.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/packages.sh"
source "$(dirname "$0")/modules.sh"
source "$(dirname "$0")/suites.sh"
source "$(dirname "$0")/python.sh"

# Slowest first: the steps share the processors.
STEPS=(
  'lint|eslint .'
  'python: types|python_tool mypy'
  'types|tsc --noEmit'
  'Go: vet|go_modules go vet ./...'
  'unused code|knip'
  'floors|depcruise packages'
  'format|prettier --check --log-level warn .'
  'OpenAPI document|node packages/daemon/src/openapi.ts --check'
  'types from it|node packages/sdk/build/generate.ts --check'
  'reference from it|node docs/build/reference.ts --check'
  'command reference|node --conditions=@atoll/source packages/cli/build/reference.ts --check'
  'shell scripts|shell_scripts'
  'Go: format|go_format'
  'python: generated code|python_generate --check'
  'python: lint|python_lint'
)
[[ ${1:-} == --static ]] || STEPS=('unit tests|vitest_suite unit' 'Go: tests|agent_suite' 'python: tests|python_suite' "${STEPS[@]}")

shell_scripts() {
  find . -name node_modules -prune -o \( -name '*.sh' -o -path ./.ci/run \) -print0 |
    xargs -0 shellcheck --external-sources --source-path=SCRIPTDIR
}

go_format() {
  local files
  files=$(go_modules gofmt -l .) || return
  [[ -z $files ]] || { echo 'gofmt would change:' "$files" && return 1; }
}

python_lint() { python_tool ruff check --no-cache && python_tool ruff format --no-cache --check; }

# run_step NAME COMMAND...: runs it and says how it went. Its output goes to a file: two steps at once would mix theirs.
run_step() {
  local name=$1 began output=$OUT/$1.log
  shift
  began=$(now_ms)
  if "$@" >"$output" 2>&1 </dev/null; then
    ok "$began" "$name"
  else
    bad "$name ($(elapsed "$began"))"
    sed 's/^/    /' "$output" >&2
    touch "$OUT/failed"
  fi
}

# wait_until_below N: waits until fewer steps run, and says now and then that some do.
wait_until_below() {
  local said=$SECONDS
  while (($(jobs -rp | wc -l) >= $1)); do
    sleep 0.1
    ((SECONDS - said >= PROGRESS_INTERVAL)) || continue
    said=$SECONDS
    say check "$(elapsed "$start")"
  done
}

cd "$ROOT"
start=$(now_ms)
OUT=$(mktemp -d)
trap 'rm -rf "$OUT"' EXIT
ensure_packages check agent
ensure_modules
ensure_python
use_go
for entry in "${STEPS[@]}"; do
  wait_until_below "$(nproc)"
  read -ra command <<<"${entry#*|}"
  run_step "${entry%%|*}" "${command[@]}" &
done
wait_until_below 1

[[ ! -e $OUT/failed ]] || fail "check failed ($(elapsed "$start"))"
ok "$start" 'check passed'
