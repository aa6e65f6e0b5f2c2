#!/usr/bin/env bash
# Makes what is made from something else: the types of the contract, and the plain code from that for asyncio. With
# --check it changes nothing, and fails when something differs. Takes the Python with the tools as PYTHON.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${PYTHON:?is not set; npm run python:generate sets it}"
export PYTHONDONTWRITEBYTECODE=1

ruff() { "$PYTHON" -m ruff "$1" --no-cache "${@:2}"; }

# generate DIR: makes it all inside of that copy of this folder.
generate() {
  "$PYTHON" scripts/generate_wire.py ../spec/openapi.json "$1/src/atoll"
  "$PYTHON" scripts/generate_sync.py "$1"
  # Names get shorter, and lines with them.
  (cd "$1" && ruff check --quiet --fix --select I,UP src tests && ruff format --quiet src tests)
}

if [[ ${1:-} != --check ]]; then
  generate .
  exit
fi
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -R pyproject.toml src tests "$copy"
generate "$copy"
if ! { diff -r --exclude=__pycache__ src "$copy/src" && diff -r --exclude=__pycache__ tests "$copy/tests"; }; then
  echo 'python/ differs from what it is made from: run "npm run python:generate" and commit the result' >&2
  exit 1
fi
