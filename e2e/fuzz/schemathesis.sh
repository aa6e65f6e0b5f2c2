#!/usr/bin/env bash
# Installs what the API is fuzzed with, and prints the path of the Python that has it.
set -euo pipefail
source "$(dirname "$0")/../../host/lib.sh"
source "$(dirname "$0")/../../host/python.sh"

echo "$(build_venv schemathesis "$(dirname "$(readlink -f "$0")")/requirements.txt")/venv/bin/python"
