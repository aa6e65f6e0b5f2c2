#!/usr/bin/env bash
# Usage: network.sh doctor|setup|teardown: runs a program of host/network under the checkout's own Node.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

if [[ ! -x $ROOT/node_modules/.bin/node ]]; then
  [[ $1 == doctor ]] || fail 'the npm packages are not installed: npm ci'
  echo '!!  npm packages: are missing, Node 24 among them; mend it: npm ci'
  exit 1
fi
exec node "$ROOT/host/network/$1.ts"
