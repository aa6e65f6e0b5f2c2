# shellcheck shell=bash
# What the scripts of host/ share: where things are, how they speak, how they take turns. To be sourced, after
# `set -euo pipefail`; it defines functions and puts the checkout's own Node first on PATH.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR source=../guest/lib.sh
source "$ROOT/guest/lib.sh"

# `npm run` does this too; a plain `bash host/….sh` does not.
export PATH="$ROOT/node_modules/.bin:$PATH"

COLOUR=
[[ ! -t 1 || -n ${NO_COLOR:-} || ${TERM:-dumb} == dumb ]] || COLOUR=1

# paint CODE TEXT...: prints the text, coloured where a terminal shows it and nobody asked for plain text.
paint() {
  if [[ -n $COLOUR ]]; then printf '\e[%sm%s\e[0m' "$1" "${*:2}"; else printf '%s' "${*:2}"; fi
}

# step TEXT...: says what comes next.
step() { printf '%s\n' "$(paint 1 "$*")"; }

# ok START TEXT...: says what is done, and how long it took since START (of now_ms).
ok() { printf '%s %s %s\n' "$(paint 32 ✓)" "${*:2}" "$(paint 2 "($(elapsed "$1"))")"; }

# bad TEXT...: says what went wrong.
bad() { printf '✗ %s\n' "$*" >&2; }

# fail TEXT...: says what went wrong and ends the script.
fail() {
  bad "$@"
  exit 1
}

# now_ms: prints the time in milliseconds. The separator of EPOCHREALTIME depends on the locale.
now_ms() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }

# elapsed START: prints the time since START as people write it.
elapsed() {
  local ms=$(($(now_ms) - $1))
  if ((ms < 60000)); then printf '%d.%d s' $((ms / 1000)) $((ms % 1000 / 100)); else duration $((ms / 1000)); fi
}

# begin_install KIND [DETAIL]: waits for its turn to install that kind of thing and prepares for with_progress, whose
# running command then ends with the shell. To be called in a subshell: the lock goes with it.
begin_install() {
  LOG_FILE=$(cache_dir)/logs/$1.log
  mkdir -p "${LOG_FILE%/*}"
  exec {LOCK_FD}>"$(cache_dir)/.$1.lock"
  until flock --timeout "$PROGRESS_INTERVAL" "$LOCK_FD"; do say "$1" 'waiting for another installation to end'; done
  PROGRESS_DETAIL=${2:-}
  WORK_DIR=
  CHILD_GROUP=
  trap end_work EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  : >"$LOG_FILE"
}

# last_log_line: a DETAIL for commands that say what they do.
last_log_line() { tail -n 1 "$LOG_FILE" | cut -c1-90; }
