# shellcheck shell=bash
# The daemon as a background process: which one is ours, starting it, ending it. To be sourced after lib.sh.

# The daemon's own defaults, spelt out so that this script and the daemon it starts cannot read them differently.
if ((EUID == 0)); then DEFAULT_STATE_DIR=/var/lib/atoll; else DEFAULT_STATE_DIR=${XDG_STATE_HOME:-$HOME/.local/state}/atoll; fi
export SERVICE_STATE_DIR=${SERVICE_STATE_DIR:-$DEFAULT_STATE_DIR}
export SERVICE_LISTEN_ADDR=${SERVICE_LISTEN_ADDR:-127.0.0.1:7777}

PID_FILE=$SERVICE_STATE_DIR/daemon.pid
DAEMON_LOG=$SERVICE_STATE_DIR/daemon.log
# Longer than the daemon gives itself to start, of which a boot is a part; one that ends is noticed at once.
BOOT_SECS=${SERVICE_BOOT_TIMEOUT_SECS:-60}
# The daemon says what is wrong with it.
[[ $BOOT_SECS =~ ^[1-9][0-9]*$ ]] || BOOT_SECS=60
START_DEADLINE_MS=$(((BOOT_SECS + 60) * 1000))
# Longer than the daemon gives itself to end its sandboxes.
STOP_DEADLINE_MS=90000

# daemon_url: prints where a client on this host reaches the daemon.
daemon_url() {
  case ${SERVICE_LISTEN_ADDR%:*} in
    0.0.0.0) echo "http://127.0.0.1:${SERVICE_LISTEN_ADDR##*:}" ;;
    '[::]') echo "http://[::1]:${SERVICE_LISTEN_ADDR##*:}" ;;
    *) echo "http://$SERVICE_LISTEN_ADDR" ;;
  esac
}

# daemon_pid: prints the pid of the running daemon; fails when it is gone, also when another program has its number by now.
daemon_pid() {
  local pid argv
  read -r pid 2>/dev/null <"$PID_FILE" || return
  [[ $pid =~ ^[1-9][0-9]*$ ]] || return
  # Empty for a dead process that nobody has waited for.
  mapfile -d '' -t argv 2>/dev/null <"/proc/$pid/cmdline" || return
  [[ ${argv[1]:-} == */packages/daemon/dist/main.js ]] && echo "$pid"
}

# daemon_fingerprint: prints a hash of what a daemon started now would run: checkout, code, guest and settings. It goes with
# the daemon in its environment, where daemon_is_current reads it: so it always belongs to the process it is about.
daemon_fingerprint() {
  {
    echo "$ROOT"
    cat "$ROOT/package-lock.json"
    find "$ROOT/packages" -name node_modules -prune -o -type f ! -name '*.test.ts' ! -name '*.contract.ts' -print0 |
      sort -z | xargs -0 sha256sum
    realpath "$(cache_dir)"/current/*
    env -0 | grep -z '^SERVICE_' | sort -z
  } | sha256sum | cut -d' ' -f1
}

# daemon_is_current PID: whether a daemon started now would be the same.
daemon_is_current() { grep -qzx "ATOLL_FINGERPRINT=$(daemon_fingerprint)" "/proc/$1/environ"; }

daemon_answers() { [[ $(curl --silent --noproxy '*' --max-time 2 "$(daemon_url)/healthz") == ok ]]; }

# lock_daemon: waits for its turn to start or stop the daemon of this state directory.
lock_daemon() {
  (umask 077 && mkdir -p "$SERVICE_STATE_DIR")
  exec {DAEMON_LOCK}>"$SERVICE_STATE_DIR/.daemon.lock"
  until flock --timeout 10 "$DAEMON_LOCK"; do say daemon 'waiting for another start or stop to end'; done
}

# start_daemon: starts it, and waits until it answers.
start_daemon() {
  local start pid
  start=$(now_ms)
  require_free_address
  [[ ! -e $DAEMON_LOG ]] || mv -f "$DAEMON_LOG" "$DAEMON_LOG.1"
  # A session of its own outlives this terminal.
  ATOLL_FINGERPRINT=$(daemon_fingerprint) setsid node "$ROOT/packages/daemon/dist/main.js" \
    </dev/null >"$DAEMON_LOG" 2>&1 {DAEMON_LOCK}>&- &
  pid=$!
  echo "$pid" >"$PID_FILE"
  until daemon_answers; do
    kill -0 "$pid" 2>/dev/null || fail_start 'the daemon ended while it started'
    (($(now_ms) - start < START_DEADLINE_MS)) || fail_start "the daemon does not answer at $(daemon_url)"
    sleep 0.1
  done
  ok "$start" "daemon started (pid $pid)"
}

# fail_start TEXT: says why there is no daemon, and leaves none behind.
fail_start() {
  bad "$1; the end of $DAEMON_LOG:"
  tail -n 20 "$DAEMON_LOG" >&2
  stop_daemon >/dev/null
  exit 1
}

# require_free_address: the daemon itself would only say that the address is in use.
require_free_address() {
  local address
  address=$(daemon_url)
  address=${address#http://}
  (: <>"/dev/tcp/$(tr -d '[]' <<<"${address%:*}")/${address##*:}") 2>/dev/null || return 0
  fail "another program listens on $SERVICE_LISTEN_ADDR, or an Atoll with another state directory than $SERVICE_STATE_DIR:" \
    "stop it, or choose another address with SERVICE_LISTEN_ADDR"
}

# stop_daemon: ends it if it runs, with its sandboxes.
stop_daemon() {
  local start pid signalled=
  start=$(now_ms)
  while pid=$(daemon_pid); do
    if [[ -z $signalled ]]; then
      kill -TERM "$pid" 2>/dev/null || true
      signalled=TERM
    elif [[ $signalled == TERM ]] && (($(now_ms) - start > STOP_DEADLINE_MS)); then
      bad "the daemon (pid $pid) does not end: killing it; its next start clears what it leaves"
      kill -KILL "$pid" 2>/dev/null || true
      signalled=KILL
    fi
    sleep 0.1
  done
  rm -f "$PID_FILE"
  if [[ -n $signalled ]]; then ok "$start" 'daemon stopped'; else echo 'The daemon is not running.'; fi
}
