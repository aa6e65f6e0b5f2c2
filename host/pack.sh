#!/usr/bin/env bash
# Packs a release: what `npm run quickstart` needs on a Debian 12 host that has the packages of host/packages.sh (`run`), and
# no network: the daemon, its npm packages with Node among them, and the guest's kernel, disk and agent. Prints its path.
# Usage: host/pack.sh [DIRECTORY]     where the archive goes, `release` in the checkout when not given
set -euo pipefail
source "$(dirname "$0")/lib.sh"

# What of the checkout is for those who run it. Tests stay behind.
PARTS=(package.json package-lock.json .npmrc LICENSE README.md CHANGELOG.md SECURITY.md docs
  host guest/build.sh guest/lib.sh packages/daemon packages/contract)
LEFT_OUT=(node_modules packages/daemon/build host/netlink '*.test.ts' '*.contract.ts' testing host/check.sh host/test.sh host/suites.sh host/tally.ts host/pack.sh
  host/python-tool.sh docs/build)
SCRIPTS=(quickstart stop doctor host:setup host:teardown)

# copy_parts STAGE
copy_parts() {
  node "$ROOT/packages/daemon/build/build.ts"
  tar -C "$ROOT" -cf - "${LEFT_OUT[@]/#/--exclude=}" "${PARTS[@]}" | tar -C "$1" -xf - --no-same-owner
}

# install_modules STAGE: what runs, and nothing that builds or tests. The lock file names every workspace, so npm wants them.
install_modules() {
  local stage=$1 workspace
  for workspace in cli sdk; do
    mkdir "$stage/packages/$workspace"
    cp "$ROOT/packages/$workspace/package.json" "$stage/packages/$workspace/"
  done
  PATH=$(tr : '\n' <<<"$PATH" | grep -v '/node_modules/\.bin$' | paste -sd:) \
    npm ci --prefix "$stage" --omit=dev --prefer-offline
  rm -r "$stage"/packages/{cli,sdk} "$stage"/node_modules/@atoll/{cli,sdk}
  # So that the set-up finds them installed (modules.sh).
  sha256sum <"$stage/package-lock.json" >"$stage/node_modules/.atoll-lockfile"
  trim_modules "$stage/node_modules"
}

# trim_modules DIRECTORY: takes away what nothing that runs reads: most of the files, so that a release unpacks sooner.
trim_modules() {
  rm -rf "$1"/node/node_modules/*/{include,share}
  find "$1" -type f -regex '.*\.\([cm]?ts\|map\)' -delete
  find "$1" -type d \( -name test -o -name tests -o -name benchmark -o -name benchmarks -o -name .github \) -prune -exec rm -r {} +
  find "$1" -type d -empty -delete
}

# keep_scripts STAGE: those whose programs are in the release.
keep_scripts() {
  node -e '
    const [file, ...names] = process.argv.slice(1);
    const manifest = JSON.parse(fs.readFileSync(file));
    manifest.scripts = Object.fromEntries(names.map((name) => [name, manifest.scripts[name]]));
    delete manifest.devDependencies;
    fs.writeFileSync(file, JSON.stringify(manifest, null, 2) + "\n");
  ' "$1/package.json" "${SCRIPTS[@]}"
}

# take_guest STAGE: the guest in use, and what each part of it was built from.
take_guest() {
  local name artefact
  mkdir "$1/guest/built"
  for artefact in "$(cache_dir)"/current/*; do
    name=${artefact##*/}
    artefact=$(realpath -- "$artefact")
    cp --sparse=always --reflink=auto -- "$artefact" "$1/guest/built/$name"
    echo "$name $(basename -- "$(dirname -- "$artefact")")" >>"$1/guest/built/keys"
  done
}

pack() {
  local stage=$1
  mkdir -p "$stage"
  copy_parts "$stage"
  install_modules "$stage"
  keep_scripts "$stage"
  take_guest "$stage"
  tar -C "${stage%/*}" --sparse --owner=0 --group=0 --numeric-owner --use-compress-program='zstd -T0 -3' \
    -cf "$WORK_DIR/$NAME.tar.zst" "${stage##*/}"
}

main() {
  local out=${1:-$ROOT/release}
  NAME=atoll-$(node -p "require('$ROOT/package.json').version")-linux-x64
  need release npm=npm zstd=zstd tar=tar
  claim releases "$NAME"
  begin_work
  with_progress release pack "$WORK_DIR/$NAME"
  mkdir -p "$out"
  mv -f -- "$WORK_DIR/$NAME.tar.zst" "$out/"
  echo "$out/$NAME.tar.zst"
}

main "$@"
