# shellcheck shell=bash
# What Atoll takes from the distribution, by purpose, and how it gets here. To be sourced after lib.sh.

# The oldest Go that fetches the toolchain go.mod asks for.
GO_MINOR_MIN=21
GO_SOURCE=/etc/apt/sources.list.d/atoll-backports.sources
DEBIAN_KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

# Set when the agent is to be built, which takes Go.
WANTS_GO=

# packages_for PURPOSE...: prints the names of the packages. Go comes on top: see use_go.
packages_for() {
  local purpose
  for purpose in "$@"; do
    case $purpose in
      # curl is for the examples; the daemon does not need it.
      run) printf '%s\n' qemu-system-x86 qemu-utils nftables iproute2 dnsmasq-base procps e2fsprogs curl ;;
      kernel) printf '%s\n' linux-source-6.12 gcc libc6-dev make flex bison bc libelf-dev xz-utils patch ;;
      rootfs) printf '%s\n' mmdebstrap fakeroot e2fsprogs uidmap openssl debian-archive-keyring ;;
      check) printf '%s\n' shellcheck python3-venv ;;
      agent) ;; # Go, whose package's name differs from host to host: see use_go.
      tests) printf '%s\n' busybox-static conntrack jq openssh-client zstd python3 chromium-headless-shell postgresql tmux ;;
    esac
  done
}

# ensure_packages PURPOSE...: installs what is missing of these packages, and of Go for `agent`, with one apt-get.
ensure_packages() {
  local start wanted missing
  [[ " $* " != *' agent '* ]] || WANTS_GO=1
  start=$(now_ms)
  mapfile -t wanted < <(packages_for "$@")
  mapfile -t missing < <(missing_packages "${wanted[@]}")
  if ((${#missing[@]} == 0)) && go_is_ready; then return; fi
  command -v apt-get >/dev/null ||
    fail "this host has no apt-get: install ${WANTS_GO:+Go 1.$GO_MINOR_MIN or newer and }${wanted[*]}"
  if ((EUID != 0)); then
    ((${#missing[@]} == 0)) ||
      fail "packages are missing; as root: apt-get update && apt-get install --no-install-recommends ${missing[*]}"
    fail "Go 1.$GO_MINOR_MIN or newer is missing"
  fi
  install_packages "${wanted[@]}"
  go_is_ready || fail "Go 1.$GO_MINOR_MIN or newer is still missing after the installation"
  ok "$start" 'system packages'
}

# missing_packages NAME...: prints those of the packages that are not installed.
missing_packages() {
  local -A installed=()
  local name state
  while read -r name state; do
    [[ $state != installed ]] || installed[$name]=1
  done < <(dpkg-query --show --showformat='${Package} ${db:Status-Status}\n' "$@" 2>/dev/null)
  for name in "$@"; do [[ -n ${installed[$name]:-} ]] || echo "$name"; done
}

install_packages() (
  begin_install apt last_log_line
  # Asked again: another installation may have ended while this one waited for its turn.
  mapfile -t missing < <(missing_packages "$@")
  if ((${#missing[@]} == 0)) && go_is_ready; then exit; fi
  go_is_ready || ensure_go_source
  with_progress apt apt_update
  go_is_ready || missing+=("$(newest_go_package)")
  say apt "installing ${missing[*]}"
  # A run that was killed may have left packages unpacked, and apt-get does nothing until they are configured.
  with_progress apt dpkg --configure -a
  with_progress apt apt_get install --yes --no-install-recommends "${missing[@]}"
)

apt_get() { DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@"; }

apt_update() { apt_get update || { sleep 5 && apt_get update; } || undo_go_source; }

# go_is_ready: whether there is the Go that was asked for, or none was.
go_is_ready() { [[ -z $WANTS_GO ]] || use_go; }

# use_go: puts a Go that is new enough on PATH, and lets it fetch the toolchain that go.mod asks for.
use_go() {
  local dir
  # Debian keeps its versioned ones out of PATH. Newest first.
  for dir in '' $(printf '%s\n' /usr/lib/go-1.*/bin | sort --version-sort --reverse); do
    (($(go_minor "${dir:+$dir:}$PATH") >= GO_MINOR_MIN)) || continue
    export PATH="${dir:+$dir:}$PATH" GOTOOLCHAIN=${GOTOOLCHAIN:-auto}
    return 0
  done
  return 1
}

# go_minor PATH: prints N of the Go 1.N there, or 0. Asked in / for the toolchain at hand: a go.mod would make it fetch one.
go_minor() {
  local version
  version=$(cd / && PATH=$1 GOTOOLCHAIN=local go env GOVERSION 2>/dev/null) || true
  if [[ $version =~ ^go1\.([0-9]+) ]]; then echo "${BASH_REMATCH[1]}"; else echo 0; fi
}

# newest_go_package: prints the name of the newest Go that the configured sources have.
newest_go_package() {
  local name
  name=$(apt-cache search --names-only '^golang-1\.[0-9]+-go$' | cut -d' ' -f1 | sort --version-sort | tail -n 1)
  if [[ $name =~ ^golang-1\.([0-9]+)-go$ ]] && ((BASH_REMATCH[1] >= GO_MINOR_MIN)); then
    echo "$name"
  else
    die apt "no package source has Go 1.$GO_MINOR_MIN or newer: install it by hand and run this again"
  fi
}

# ensure_go_source: Debian 12's own Go is too old and its backports have a newer one; takes them from the mirror in use.
ensure_go_source() {
  local codename suite mirror
  codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  suite=$codename-backports
  [[ $codename == bookworm && -z $(apt_mirror "$suite") ]] || return 0
  mirror=$(apt_mirror "$codename")
  [[ -n $mirror ]] || die apt "no package source of $codename is configured, so that of $suite is unknown"
  say apt "adding the source of $suite, for Go: $GO_SOURCE"
  printf '%s\n' 'Types: deb' "URIs: $mirror" "Suites: $suite" 'Components: main' >"$GO_SOURCE"
  [[ ! -e $DEBIAN_KEYRING ]] || echo "Signed-By: $DEBIAN_KEYRING" >>"$GO_SOURCE"
}

# undo_go_source: fails, after taking back a source that may be why apt-get update does.
undo_go_source() {
  rm -f "$GO_SOURCE"
  return 1
}

# apt_mirror SUITE: prints the address apt has for it; works before the first `apt-get update`.
apt_mirror() {
  # shellcheck disable=SC2016 # apt-get replaces it
  apt-get indextargets --no-release-info --format '$(REPO_URI)' \
    'Created-By: Packages' "Release: $1" 'Component: main' | sed -n 1p
}
