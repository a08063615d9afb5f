#!/usr/bin/env bash
# Runs all tests on a fresh Debian machine with Go and Node. It installs missing packages if it can,
# and lists the tests that it could not run. With CI=true, a test that could not run is a failure.
#
#   ./test.sh           everything that is fast enough for every change: lint, unit tests, the
#                       official conformance suite of MCP, real clients (also the command line
#                       clients of model vendors), a browser, SQLite, and a PostgreSQL and an S3
#                       store (versitygw) that the tests start and stop
#   ./test.sh --full    also the slow tests: more cases of some tests, the program with the race
#                       detector, fuzzing for 30 s per target, speed, other systems
#
# The lock files in e2e pin the npm packages. The tests that need them install them in node_modules
# there. Some packages need a newer Node than Debian has, which is installed with them (Linux on
# x86-64).
set -euo pipefail
cd "$(dirname "$0")"

full=false
case "${1:-}" in
  "") ;;
  --full) full=true ;;
  *) echo "usage: ./test.sh [--full]" >&2; exit 2 ;;
esac

# Tests write notes to REMIT_NOTES that should be seen even if all tests pass.
scratch=$(mktemp -d)
export REMIT_NOTES=$scratch/notes
touch "$REMIT_NOTES"
trap 'print_times; rm -rf "$scratch"' EXIT

skipped=()
# not_run records tests that could not run. In CI that is a failure.
not_run() {
  skipped+=("$1")
  printf '\n!!! NOT RUN: %s\n\n' "$1" >&2
}

# step ends the previous step, records its time and starts the next one. CPU time is that of all
# child processes that have exited.
steps=()
step() {
  local wall=$EPOCHREALTIME cpu
  times >"$scratch/times"
  cpu=$(awk 'NR == 2 { split($1 "m" $2, t, /[ms]+/); print t[1] * 60 + t[2] + t[3] * 60 + t[4] }' "$scratch/times")
  [ -z "${step_name:-}" ] || steps+=("$(awk -v name="$step_name" -v wall="$wall" -v cpu="$cpu" -v wall0="$step_wall" -v cpu0="$step_cpu" \
    'BEGIN { printf "%7.0f s  %7.0f s  %s", wall - wall0, cpu - cpu0, name }')")
  step_name=$*
  step_wall=$wall
  step_cpu=$cpu
  [ -z "$step_name" ] || printf '\n== %s\n' "$step_name"
}

# print_times prints the time of each step.
print_times() {
  step ""
  printf '\n== time of each step\n     wall        CPU\n'
  printf '%s\n' "${steps[@]}"
}
step "requirements"

# as_root runs a command as root, if that is possible without a password.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    command -v sudo >/dev/null && sudo -n "$@"
  fi
}

# install installs a Debian package.
install() {
  command -v apt-get >/dev/null || return 1
  echo "installing $1"
  as_root apt-get update -qq && as_root apt-get install -y -qq "$1" >/dev/null
}

# have finds a command, or installs the Debian package that contains it.
have() {
  local command=$1 package=$2
  command -v "$command" >/dev/null && return 0
  install "$package" && command -v "$command" >/dev/null
}

# postgres_programs finds the PostgreSQL server, which is not on the PATH in Debian.
postgres_programs() {
  compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command -v initdb >/dev/null
}

# have_postgres finds the PostgreSQL server, or installs it without the database that Debian would
# create and start: the tests start their own.
have_postgres() {
  postgres_programs && return 0
  install postgresql-common || return 1
  as_root pg_conftool /etc/postgresql-common/createcluster.conf set create_main_cluster off || return 1
  install postgresql && postgres_programs
}

have go golang-go || { echo "Go is needed: https://go.dev/dl" >&2; exit 1; }

# Everything that is compiled without the race detector uses the settings of a release, so that all
# steps share the build cache. With -trimpath, copies of the repository, which some tests make,
# share it too. The linter includes go vet.
export CGO_ENABLED=0
export GOFLAGS="${GOFLAGS:-} -trimpath"
race=()
if have gcc gcc && echo '#include <stdlib.h>' | gcc -fsyntax-only -x c - 2>/dev/null || have gcc build-essential; then
  race=(-race)
else
  not_run "the race detector: it needs gcc"
fi
have node nodejs && have npm npm || not_run "the conformance suite and the Node clients: they need Node and npm"
have_postgres || not_run "tests with PostgreSQL: they need the server, in /usr/lib/postgresql/*/bin or on the PATH"
have chromium chromium || not_run "tests of the console in a browser: they need chromium"
have groff groff || not_run "the format of the manual pages: it needs groff"
have git git || not_run "the comparison of contract versions with the last commit: it needs git"

# Tools are built from source once per version, into the user's cache. A missing tool is built while
# the packages are compiled and tested.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/remit
mkdir -p "$cache"
version_of() { awk -v module="$1" '$1 == module { print $2; exit }' tools/go.mod; }
linter=$cache/golangci-lint-$(version_of github.com/golangci/golangci-lint/v2)-$(go env GOVERSION)
builds=()
if [ ! -x "$linter" ]; then
  { go build -modfile=tools/go.mod -ldflags='-s -w' -o "$linter.$$" github.com/golangci/golangci-lint/v2/cmd/golangci-lint && mv "$linter.$$" "$linter"; } \
    >"$scratch/linter" 2>&1 &
  builds+=($!)
fi
if [ ! -x "$cache/versitygw-$(version_of github.com/versity/versitygw)" ]; then
  go test -count=1 -timeout 20m ./internal/stores/blob/s3test >"$scratch/versitygw" 2>&1 &
  builds+=($!)
fi

# Our code that is not part of the product is in separate modules.
modules=(tools/generate tools/trainembed bench/peers)

failed=false
linted=false
lint() {
  linted=true
  step "format and lint"
  if [ -x "$linter" ]; then
    for module in . "${modules[@]}"; do
      (cd "$module" && "$linter" run --allow-parallel-runners ./...) || failed=true # includes go vet
    done
  else
    cat "$scratch/linter"
    not_run "golangci-lint: it could not be built"
    unformatted=$(gofmt -l cmd internal e2e bench tools)
    [ -z "$unformatted" ] || { echo "not formatted: $unformatted" >&2; failed=true; }
    for module in . "${modules[@]}"; do
      go -C "$module" vet ./... || failed=true
    done
  fi
}
[ ! -x "$linter" ] || lint

export REMIT_FULL=$full
# The race detector makes tests 4 to 9 times as slow, so it only runs where it can find something:
# in packages that start goroutines, and in tests that do.
goroutines='(^|[^[:alnum:]_"`/])go (func\(|[[:alnum:]_.]+\()|\.Go\(|AfterFunc\('
support=$( # test support that starts goroutines, for the tests that use it
  for folder in $(go list -f '{{.Dir}}' ./... | grep 'test$'); do
    ! grep -qE "$goroutines" "$folder"/*.go || basename "$folder"
  done | paste -sd'|'
)
plain=() concurrent=() with_concurrent_tests=() names=()
while read -r package folder; do
  tests=$(grep -lE "$goroutines|/($support)\"" "$folder"/*_test.go 2>/dev/null || true)
  case $package in */e2e | */bench) continue ;; esac
  if ls "$folder"/*.go | grep -v _test.go | xargs -r grep -qE "$goroutines" && ls "$folder"/*_test.go >/dev/null 2>&1; then
    concurrent+=("$package")
    continue
  fi
  plain+=("$package")
  if [ -n "$tests" ]; then
    with_concurrent_tests+=("$package")
    mapfile -t -O ${#names[@]} names < <(sed -n 's/^func \(Test[A-Za-z0-9_]*\).*/\1/p' $tests)
  fi
done < <(go list -f '{{.ImportPath}} {{.Dir}}' ./...)

step "tests of packages without goroutines"
go test -vet=off -timeout 45m -p 3 -parallel 4 "${plain[@]}" || failed=true
for module in "${modules[@]}"; do
  go -C "$module" test -timeout 45m ./... || failed=true
done

# test_with_race tests packages with the race detector, if it is available. It excludes SQLite,
# which is C translated to Go: the detector cannot find anything there, and would make every test
# that stores something slower by a quarter.
test_with_race() {
  if [ ${#race[@]} -gt 0 ]; then
    CGO_ENABLED=1 GOFLAGS="$GOFLAGS -gcflags=modernc.org/...=-race=false" go test -vet=off -race "$@"
  else
    go test -vet=off "$@"
  fi
}
step "tests of packages with goroutines, with the race detector"
# The longest packages start first, so that none of them is the last one to finish. They often wait,
# so more of them run at once than there are cores.
longest=(remit/internal/{stores/sqlstore,stores/blob,toolsets/books,frontends/mcp,app})
mapfile -t concurrent < <(printf '%s\n' "${longest[@]}" "${concurrent[@]}" | awk '!seen[$0]++')
test_with_race -timeout 45m -p 4 -parallel 4 "${concurrent[@]}" || failed=true
step "tests with goroutines of other packages, with the race detector"
test_with_race -timeout 45m -p 3 -parallel 4 -run "^($(IFS='|'; echo "${names[*]}"))\$" "${with_concurrent_tests[@]}" || failed=true

step "end-to-end tests"
# Many of them wait for a server, a browser or a fault to end.
go test -vet=off -timeout 60m -parallel 6 ./e2e || failed=true
step "start time and many clients, while nothing else runs"
go test -vet=off -short -timeout 20m ./bench || failed=true

for build in "${builds[@]}"; do
  wait "$build" || true # the tests that need it report a failure
done
$linted || lint
! $failed || { echo "Some tests failed: see above." >&2; exit 1; }
step "notes"
while read -r line; do
  case $line in
    "NOT RUN: "*) not_run "${line#NOT RUN: }" ;;
    *) echo "$line" ;;
  esac
done < <(sort -u "$REMIT_NOTES")

if $full; then
  step "the program with the race detector"
  test_with_race -timeout 60m -parallel 4 ./e2e
  step "fuzzing, 30 s per target"
  for file in $(grep -rl --include='*_test.go' '^func Fuzz' internal); do
    for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$file"); do
      go test -run '^$' -fuzz "^$target\$" -fuzztime 30s "./$(dirname "$file")"
    done
  done
  step "speed compared with peers"
  have fdfind fd-find && have zip zip && have unzip unzip || not_run "the comparisons with fd and zip: they need fd-find, zip and unzip"
  go test -timeout 15m ./bench
  step "other systems"
  for system in darwin windows; do
    GOOS=$system go build ./...
  done
fi

echo
if [ ${#skipped[@]} -gt 0 ]; then
  echo "Passed, but these ${#skipped[@]} could not run here:"
  printf '  - %s\n' "${skipped[@]}"
  [ "${CI:-}" != true ] || exit 1
else
  echo "All passed."
fi
