# shellcheck shell=bash
# The Python that the SDK in python/ is checked, built and tested with: what requirements.txt pins, and nothing else. To be
# sourced after lib.sh.

PYTHON_SDK=$ROOT/python
# The distribution's own: another one first on PATH may have no venv module.
SYSTEM_PYTHON=/usr/bin/python3
[[ -x $SYSTEM_PYTHON ]] || SYSTEM_PYTHON=python3

# ensure_python: makes it unless it is in the cache, and sets PYTHON_HOME: `venv` has it installed, `wheels` has the same as
# files, for an installation without network.
ensure_python() {
  PYTHON_HOME=$(build_venv python-sdk "$PYTHON_SDK/requirements.txt")
  export PYTHON_HOME
}

# build_venv NAME REQUIREMENTS: makes a venv of what is pinned there and of nothing whose hash is not, unless it is in the cache, and
# prints where it is. In a subshell, since it takes a claim, and its traps are those of a script.
build_venv() (
  set -e
  need "$1" "$SYSTEM_PYTHON=python3"
  claim "$1" "$(input_key "$2" -- "$("$SYSTEM_PYTHON" -VV)" "$(uname -m)")"
  if ! is_built venv wheels; then
    begin_work
    with_progress "$1: venv" "$SYSTEM_PYTHON" -m venv "$WORK_DIR/venv"
    with_progress "$1: fetch" venv_pip "$2" download --retries 5 --only-binary :all: --dest "$WORK_DIR/wheels"
    with_progress "$1: install" venv_pip "$2" install --no-index --find-links "$WORK_DIR/wheels"
    publish "$WORK_DIR/venv" "$WORK_DIR/wheels"
  fi
  echo "$ARTEFACT_DIR"
)

# venv_pip REQUIREMENTS COMMAND OPTION...: does that in the venv that is being made.
venv_pip() {
  "$WORK_DIR/venv/bin/python" -m pip "${@:2}" --quiet --require-hashes --requirement "$1"
}

# python_tool MODULE ARG...: runs one of the tools in python/. After ensure_python.
python_tool() {
  (cd "$PYTHON_SDK" && PYTHONDONTWRITEBYTECODE=1 MYPY_CACHE_DIR=$ROOT/node_modules/.cache/mypy \
    "$PYTHON_HOME/venv/bin/python" -m "$@")
}

# python_generate ARG...: makes anew what is made from something else; --check only looks whether it would differ.
python_generate() { PYTHON=$PYTHON_HOME/venv/bin/python bash "$PYTHON_SDK/scripts/generate.sh" "$@"; }

# python_suite: the SDK's pure parts. With RESULTS_DIR set, it leaves its results there, as the other suites do.
python_suite() {
  local results=/dev/null
  [[ -z ${RESULTS_DIR:-} ]] || results=$RESULTS_DIR/python.txt
  PYTHONPATH=src python_tool pytest -rA --no-header --show-capture=no --tb=short tests/unit | tee "$results"
}
