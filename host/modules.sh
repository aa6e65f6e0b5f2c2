# shellcheck shell=bash
# The npm packages of the checkout, Node 24 among them. To be sourced after lib.sh.

# Inside node_modules, so that who deletes it deletes the stamp too.
MODULES_STAMP=$ROOT/node_modules/.atoll-lockfile

# ensure_modules: installs them unless they are those of package-lock.json.
ensure_modules() {
  local start
  modules_are_current && return
  start=$(now_ms)
  command -v npm >/dev/null || fail 'npm is missing; any Node from 20 on brings it'
  install_modules
  ok "$start" 'npm packages'
}

modules_are_current() { [[ $(cat "$MODULES_STAMP" 2>/dev/null) == "$(modules_key)" ]]; }

modules_key() { sha256sum <"$ROOT/package-lock.json"; }

install_modules() (
  begin_install npm
  modules_are_current && exit
  with_progress npm npm_ci
  modules_key >"$MODULES_STAMP"
)

# npm_ci: deletes node_modules first, so it must not run on the Node that lives there.
npm_ci() {
  PATH=$(tr : '\n' <<<"$PATH" | grep -v '/node_modules/\.bin$' | paste -sd:) npm ci --prefix "$ROOT"
}
