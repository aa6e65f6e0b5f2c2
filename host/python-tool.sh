#!/usr/bin/env bash
# Usage: python-tool.sh [generate|format]: makes what the Python SDK needs, if it is missing, and prints where it is; or
# makes its generated code anew; or formats it.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/python.sh"

ensure_python
case ${1:-} in
  generate) python_generate "${@:2}" ;;
  format) python_tool ruff format --quiet --no-cache ;;
  *) echo "$PYTHON_HOME" ;;
esac
