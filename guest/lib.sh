# shellcheck shell=bash
# Helpers that the guest builds share. To be sourced, after `set -euo pipefail`; it defines functions and does nothing.
#
# A build script takes these steps:
#   1. key=$(input_key FILE... -- STRING...)          what the artefact depends on
#   2. claim KIND "$key"                              waits until no other build makes the same kind
#   3. is_built FILE...                               if so, the rest is skipped
#   4. begin_work                                     a work directory that goes away whatever happens
#   5. with_progress LABEL COMMAND...                 each long step
#   6. publish FILE...                                rename into <cache>/KIND/<key>, drop the oldest artefacts
#
# Standard output belongs to the artefact's path; everything said to people goes to standard error.

# The keys of each kind that stay in the cache besides the newest one.
KEEP_OLD_ARTEFACTS=2
# Seconds between two lines of progress; nobody should have to wonder for longer than twice this.
PROGRESS_INTERVAL=8

# say LABEL TEXT...: one line for people, in a form that stays readable when several builds speak at once.
say() {
  local label=$1
  shift
  printf '%-17s | %s\n' "$label" "$*" >&2
}

# die LABEL TEXT...: says what is wrong and ends the script.
die() {
  say "$@"
  exit 1
}

# cache_dir: prints the directory that holds the artefacts.
cache_dir() {
  if [[ -n ${ATOLL_CACHE_DIR:-} ]]; then
    realpath -ms -- "$ATOLL_CACHE_DIR"
  elif ((EUID == 0)); then
    echo /var/cache/atoll
  else
    echo "${XDG_CACHE_HOME:-$HOME/.cache}/atoll"
  fi
}

# input_key FILE... [-- STRING...]: prints a short key that changes when any file's content or name, or any string, does.
input_key() {
  local -a files=()
  while (($#)) && [[ $1 != -- ]]; do
    files+=("$1")
    shift
  done
  (($# == 0)) || shift
  {
    local file
    for file in "${files[@]}"; do
      printf 'file %s %s\n' "${file##*/}" "$(sha256sum <"$file")"
    done
    (($# == 0)) || printf 'string %q\n' "$@"
  } | sha256sum | cut -c1-16
}

# need LABEL COMMAND-OR-PATH=PACKAGE...: ends the script, naming the apt-get command, when a tool or a file is missing.
need() {
  local label=$1 pair missing=()
  shift
  for pair in "$@"; do
    case ${pair%%=*} in
      /*) [[ -e ${pair%%=*} ]] || missing+=("${pair#*=}") ;;
      *) command -v "${pair%%=*}" >/dev/null || missing+=("${pair#*=}") ;;
    esac
  done
  ((${#missing[@]} == 0)) && return
  die "$label" "missing tools; install them with: apt-get install --no-install-recommends" \
    "$(printf '%s\n' "${missing[@]}" | sort -u | paste -sd' ')"
}

# duration SECONDS: prints it as people write it.
duration() {
  if (($1 < 60)); then echo "$1 s"; else echo "$(($1 / 60)) min $(($1 % 60)) s"; fi
}

# claim KIND KEY: waits for its turn, and sets ARTEFACT_DIR, where the result belongs. The claim ends with the script.
claim() {
  local kind=$1 key=$2 home
  home=$(cache_dir)/$kind
  mkdir -p "$home" "$(cache_dir)/logs"
  ARTEFACT_DIR=$home/$key
  LOG_FILE=$(cache_dir)/logs/$kind.log
  exec {LOCK_FD}>"$home/.lock"
  until flock --timeout "$PROGRESS_INTERVAL" "$LOCK_FD"; do
    say "$kind" "waiting for another build of it to end"
  done
}

# is_built FILE...: whether the artefact is in the cache, complete. Marks it as used, for prune_artefacts.
is_built() {
  local file
  for file in "$@"; do [[ -e $ARTEFACT_DIR/$file ]] || return 1; done
  touch "$ARTEFACT_DIR"
}

# begin_work: sets WORK_DIR, an empty directory that is removed at the end of the script, however it ends.
begin_work() {
  local home=${ARTEFACT_DIR%/*} stale
  # Whoever holds the claim is alone here, so what lies about is from a build that was killed.
  for stale in "$home"/.work.*; do
    [[ ! -e $stale ]] || remove_tree "$stale"
  done
  CHILD_GROUP=
  WORK_DIR=
  trap end_work EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  WORK_DIR=$(mktemp -d "$home/.work.XXXXXX")
  : >"$LOG_FILE"
}

# end_work: the exit trap of begin_work. The running step goes first, because it still writes to the work directory.
end_work() {
  local patience=100
  trap '' INT TERM HUP
  if [[ -n $CHILD_GROUP ]]; then
    kill -TERM -- "-$CHILD_GROUP" 2>/dev/null || true
    while kill -0 -- "-$CHILD_GROUP" 2>/dev/null; do
      ((patience-- > 0)) || kill -KILL -- "-$CHILD_GROUP" 2>/dev/null || true
      sleep 0.1
    done
  fi
  [[ -z $WORK_DIR ]] || remove_tree "$WORK_DIR"
}

# remove_tree DIR: deletes it, also when a user namespace gave its files to subordinate user ids. It never leaves the
# filesystem that DIR is on, because a build root may still have something mounted in it.
remove_tree() {
  rm -rf --one-file-system -- "$1" 2>/dev/null && return
  unshare --map-root-user --map-auto rm -rf --one-file-system -- "$1" 2>/dev/null || say clean "cannot remove $1"
}

# with_progress LABEL COMMAND...: runs it with its output in LOG_FILE, and says every few seconds that it is still at work.
# PROGRESS_DETAIL may name a function that prints a detail for that line. If the command fails, so does the script.
with_progress() {
  local label=$1 start=$SECONDS said=$SECONDS status=0
  shift
  # A job of its own process group can be ended with everything it has started.
  set -m
  ("$@") >>"$LOG_FILE" 2>&1 </dev/null {LOCK_FD}>&- &
  CHILD_GROUP=$!
  set +m
  while kill -0 "$CHILD_GROUP" 2>/dev/null; do
    sleep 0.2
    ((SECONDS - said < PROGRESS_INTERVAL)) && continue
    said=$SECONDS
    say "$label" "$(duration $((SECONDS - start)))$(progress_detail)"
  done
  wait "$CHILD_GROUP" || status=$?
  CHILD_GROUP=
  ((status == 0)) && return
  tail -n 30 "$LOG_FILE" >&2
  die "$label" "failed with status $status after $(duration $((SECONDS - start))); the log is $LOG_FILE"
}

# progress_detail: what PROGRESS_DETAIL has to add to a line of progress.
progress_detail() {
  [[ -z ${PROGRESS_DETAIL:-} ]] || echo ", $("$PROGRESS_DETAIL" 2>/dev/null || true)"
}

# publish FILE...: moves the files from the work directory to ARTEFACT_DIR, all at once, and prunes the cache.
publish() {
  local staged=$WORK_DIR/publish
  mkdir "$staged"
  mv -- "$@" "$staged"
  [[ ! -e $ARTEFACT_DIR ]] || mv -T -- "$ARTEFACT_DIR" "$WORK_DIR/replaced"
  mv -T -- "$staged" "$ARTEFACT_DIR"
  prune_artefacts "${ARTEFACT_DIR%/*}" "${ARTEFACT_DIR##*/}"
}

# prune_artefacts HOME KEY: deletes all but KEY and the most recently used others.
prune_artefacts() {
  local old
  find "$1" -mindepth 1 -maxdepth 1 -type d ! -name '.*' ! -name "$2" -printf '%T@ %p\n' | sort -rn |
    tail -n +$((KEEP_OLD_ARTEFACTS + 1)) | cut -d' ' -f2- |
    while IFS= read -r old; do remove_tree "$old"; done
}
