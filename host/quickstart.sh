#!/usr/bin/env bash
# From a fresh clone to a Python program that has run in a sandbox: sets the host up, starts the daemon, shows one sandbox's
# life and says how to go on. Run again, it does only what is missing; a daemon that would not be the same any more, because
# the code, the guest or the settings changed, is started anew.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/daemon.sh"

ensure_daemon() {
  local pid
  lock_daemon
  if ! pid=$(daemon_pid); then
    start_daemon
  elif ! daemon_is_current "$pid"; then
    echo "The daemon (pid $pid) runs other code or settings than a start now would: restarting it."
    stop_daemon
    start_daemon
  elif ! daemon_answers; then
    echo "The daemon (pid $pid) does not answer: restarting it."
    stop_daemon
    start_daemon
  else
    echo "The daemon runs already (pid $pid)."
  fi
}

say_what_next() {
  local url curl=curl
  url=$(daemon_url)
  printf '\nNext:\n'
  if [[ -n ${SERVICE_AUTH_TOKEN:-} ]]; then
    # An argument would show the token to everyone who lists processes.
    echo "  auth() { printf 'header = \"Authorization: Bearer %s\"' \"\$SERVICE_AUTH_TOKEN\"; }"
    curl='curl -K <(auth)'
  fi
  cat <<END
  $curl $url/sandboxes -H 'content-type: application/json' -d '{"name": "demo"}'
  $curl $url/sandboxes/demo/exec -H 'content-type: application/json' -d '{"command": "uname", "args": ["-a"]}'
  $curl -X DELETE '$url/sandboxes/demo?keep=false'

  The API to read    $url/docs
  The daemon's log   $DAEMON_LOG
  To end it          npm run stop

END
}

((EUID == 0)) || fail "takes root, to set the host's network up; the daemon itself then runs as another user"
start=$(now_ms)
step 'Host and guest'
bash "$ROOT/host/setup.sh"
node "$ROOT/host/network/setup.ts"
step 'Daemon'
ensure_daemon
step 'A first sandbox'
node "$ROOT/host/first-sandbox.ts" "$(daemon_url)"
say_what_next
ok "$start" "Atoll is up at $(daemon_url)"
