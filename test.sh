#!/usr/bin/env bash
# Passes all tests on a fresh Debian machine with Go and Node. It installs what is
# missing when it can, and says loudly what it could not run; with CI=true that is a
# failure.
#
#   ./test.sh           everything that is quick enough for every change: lint, unit
#                       tests, the official conformance suite of MCP, real clients
#                       (also the command lines of those who make models), a browser,
#                       SQLite, and a PostgreSQL and an S3 store (versitygw) that the
#                       tests start and end
#   ./test.sh --full    also the slow proofs: fuzzing 30 s a target, speed, other systems
#
# What comes from npm is pinned by the lock files under e2e, lies there in
# node_modules, and is installed by the tests that need it. Some of it needs a newer
# Node than Debian has, and brings it along (Linux on x86-64).
set -euo pipefail
cd "$(dirname "$0")"

full=false
case "${1:-}" in
  "") ;;
  --full) full=true ;;
  *) echo "usage: ./test.sh [--full]" >&2; exit 2 ;;
esac

# The tests tell here what should be seen even if all of them pass.
REMIT_NOTES=$(mktemp)
export REMIT_NOTES
trap 'rm -f "$REMIT_NOTES"' EXIT

left_out=()
# leave_out notes what could not run. In CI that is a failure.
leave_out() {
  left_out+=("$1")
  printf '\n!!! NOT RUN: %s\n\n' "$1" >&2
}

step() { printf '\n== %s\n' "$*"; }

# as_root runs a command that changes the machine, if we may.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    command -v sudo >/dev/null && sudo -n "$@"
  fi
}

# install brings in a Debian package.
install() {
  command -v apt-get >/dev/null || return 1
  echo "installing $1"
  as_root apt-get update -qq && as_root apt-get install -y -qq "$1" >/dev/null
}

# have finds a command, or installs the Debian package that brings it.
have() {
  local command=$1 package=$2
  command -v "$command" >/dev/null && return 0
  install "$package" && command -v "$command" >/dev/null
}

# postgres_programs finds the server of PostgreSQL, which Debian keeps off the PATH.
postgres_programs() {
  compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command -v initdb >/dev/null
}

# have_postgres finds it, or installs it without the database that Debian would
# make and start: the tests start their own, and nothing else should run.
have_postgres() {
  postgres_programs && return 0
  install postgresql-common || return 1
  as_root pg_conftool /etc/postgresql-common/createcluster.conf set create_main_cluster off || return 1
  install postgresql && postgres_programs
}

have go golang-go || { echo "Go is needed: https://go.dev/dl" >&2; exit 1; }

# All that is compiled without the race detector is compiled as it is shipped, and so once
# for all who need it. Without paths a copy of the repository, which some tests make,
# shares it too.
export CGO_ENABLED=0
export GOFLAGS="${GOFLAGS:-} -trimpath"
race=()
if have gcc gcc && echo '#include <stdlib.h>' | gcc -fsyntax-only -x c - 2>/dev/null || have gcc build-essential; then
  race=(-race)
else
  leave_out "the race detector: it needs gcc"
fi
have node nodejs && have npm npm || leave_out "the conformance suite and the clients that are programs of Node: they need Node and npm"
have_postgres || leave_out "all that runs on PostgreSQL: it needs the server, in /usr/lib/postgresql/*/bin or on the PATH"
have chromium chromium || leave_out "all that looks at the console with a browser: it needs chromium"
have groff groff || leave_out "what the manual pages look like: it needs groff"
have git git || leave_out "the version gate against the last commit: it needs git"

step "format and lint"
if go tool -modfile=tools/go.mod golangci-lint version >/dev/null 2>&1; then
  go tool -modfile=tools/go.mod golangci-lint run ./... # which vets too
else
  leave_out "golangci-lint: its modules could not be had"
  unformatted=$(gofmt -l cmd internal e2e bench)
  [ -z "$unformatted" ] || { echo "not formatted: $unformatted" >&2; exit 1; }
  go vet ./...
fi

step "the S3 store that the tests start"
# It is built once a machine, which takes minutes: before the tests, which would wait for it.
go test -count=1 -timeout 20m ./internal/stores/blob/s3test

step "tests"
export REMIT_FULL=$full
if [ ${#race[@]} -gt 0 ]; then
  export CGO_ENABLED=1
  # SQLite is C made into Go: the race detector has nothing to find in it, and would
  # slow down all that stores something by a quarter.
  export GOFLAGS="$GOFLAGS -gcflags=modernc.org/...=-race=false"
fi
longest=remit/internal/stores/sqlstore # begins first: it mostly waits, and nothing should wait for it alone
packages=$(go list ./... | grep -v -e '/bench$' -e '/e2e$' -e "^$longest\$")
mapfile -t packages <<<"$packages"
failed=false
go test "${race[@]}" -timeout 45m -p 3 -parallel 4 "$longest" "${packages[@]}" || failed=true
step "the program, as its users and their clients meet it"
go test "${race[@]}" -timeout 60m -parallel 4 ./e2e || failed=true
step "a start, while nothing else runs"
go test "${race[@]}" -timeout 20m ./bench || failed=true
! $failed || { echo "Some tests failed: see above." >&2; exit 1; }
step "seen"
while read -r line; do
  case $line in
    "NOT RUN: "*) leave_out "${line#NOT RUN: }" ;;
    *) echo "$line" ;;
  esac
done < <(sort -u "$REMIT_NOTES")

if $full; then
  step "fuzzing, 30 s a target"
  for file in $(grep -rl --include='*_test.go' '^func Fuzz' internal); do
    for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$file"); do
      go test -run '^$' -fuzz "^$target\$" -fuzztime 30s "./$(dirname "$file")"
    done
  done
  step "speed, against peers in one run"
  have fdfind fd-find && have zip zip && have unzip unzip || leave_out "the comparisons with fd and zip: they need fd-find, zip and unzip"
  CGO_ENABLED=0 go test -timeout 15m ./bench
  step "other systems"
  for system in darwin windows; do
    CGO_ENABLED=0 GOOS=$system go build ./...
  done
fi

echo
if [ ${#left_out[@]} -gt 0 ]; then
  echo "Passed, but ${#left_out[@]} could not run here:"
  printf '  - %s\n' "${left_out[@]}"
  [ "${CI:-}" != true ] || exit 1
else
  echo "All passed."
fi
