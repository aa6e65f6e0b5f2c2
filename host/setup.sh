#!/usr/bin/env bash
# Brings a host to where Atoll runs and its tests pass: system packages, npm packages, guest kernel and disk. Does only what
# is missing, so it may be run again at any time, also after it was interrupted.
# A release brings the guest with it, so that there is nothing to build.
# Usage: setup.sh [PURPOSE...]: with `check` and `tests`, what these need too (see packages.sh).
set -euo pipefail
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/packages.sh"
source "$(dirname "$0")/modules.sh"
source "$(dirname "$0")/python.sh"

start=$(now_ms)

# is_release: whether this is what pack.sh makes, and not a checkout.
is_release() { [[ -e $ROOT/guest/built ]]; }

# One waits for the network while the other unpacks. In a process group of its own, so that an interrupt ends all of it.
set -m
ensure_modules &
set +m
modules=$!
trap 'kill -- "-$modules" 2>/dev/null || true' EXIT
builds=(kernel rootfs agent)
! is_release || builds=()
ensure_packages run "${builds[@]}" "$@"
wait "$modules"
trap - EXIT
is_release || node "$ROOT/packages/daemon/build/build.ts"
go_is_ready

[[ " $* " != *' check '* ]] || ensure_python
bash "$ROOT/guest/build.sh" >/dev/null
ok "$start" 'host and guest are set up'
