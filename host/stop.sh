#!/usr/bin/env bash
# Ends the daemon that quickstart.sh started, and its sandboxes with it. To do nothing is success too.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/daemon.sh"

[[ ! -e $SERVICE_STATE_DIR ]] || lock_daemon
stop_daemon
