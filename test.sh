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
#   ./test.sh --full    also the slow proofs: the program with the race detector, fuzzing 30 s a
#                       target, speed, other systems
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

# The tests tell in REMIT_NOTES what should be seen even if all of them pass.
scratch=$(mktemp -d)
export REMIT_NOTES=$scratch/notes
touch "$REMIT_NOTES"
trap 'tell_steps; rm -rf "$scratch"' EXIT

left_out=()
# leave_out notes what could not run. In CI that is a failure.
leave_out() {
  left_out+=("$1")
  printf '\n!!! NOT RUN: %s\n\n' "$1" >&2
}

# step begins a step, and ends the one before: what it took is told at the end. Processor time
# is that of all processes that have ended and been waited for.
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

# tell_steps prints what each step took.
tell_steps() {
  step ""
  printf '\n== what it took\n     wall  processor\n'
  printf '%s\n' "${steps[@]}"
}
step "what is needed"

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
# shares it too. The linter vets.
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

# Tools that are built from source are built once for each version of theirs, into the user's
# cache. If one is missing it is built while the packages are compiled and tested.
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

# What is ours but not the product is in modules of its own.
modules=(tools/generate tools/trainembed bench/peers)

failed=false
linted=false
lint() {
  linted=true
  step "format and lint"
  if [ -x "$linter" ]; then
    for module in . "${modules[@]}"; do
      (cd "$module" && "$linter" run ./...) || failed=true # which vets too
    done
  else
    cat "$scratch/linter"
    leave_out "golangci-lint: it could not be built"
    unformatted=$(gofmt -l cmd internal e2e bench tools)
    [ -z "$unformatted" ] || { echo "not formatted: $unformatted" >&2; failed=true; }
    for module in . "${modules[@]}"; do
      go -C "$module" vet ./... || failed=true
    done
  fi
}
[ ! -x "$linter" ] || lint

export REMIT_FULL=$full
# The race detector slows tests down by 4 to 9 times, so it runs where it can find something: in
# packages that start goroutines, and in the tests that do.
goroutines='(^|[^[:alnum:]_"`/])go (func\(|[[:alnum:]_.]+\()|\.Go\(|AfterFunc\('
support=$( # test support that starts goroutines, for the tests that use it
  for folder in $(go list -f '{{.Dir}}' ./... | grep 'test$'); do
    ! grep -qE "$goroutines" "$folder"/*.go || basename "$folder"
  done | paste -sd'|'
)
plain=() concurrent=() tried=() names=()
while read -r package folder; do
  tests=$(grep -lE "$goroutines|/($support)\"" "$folder"/*_test.go 2>/dev/null || true)
  case $package in */e2e | */bench) continue ;; esac
  if ls "$folder"/*.go | grep -v _test.go | xargs -r grep -qE "$goroutines" && ls "$folder"/*_test.go >/dev/null 2>&1; then
    concurrent+=("$package")
    continue
  fi
  plain+=("$package")
  if [ -n "$tests" ]; then
    tried+=("$package")
    mapfile -t -O ${#names[@]} names < <(sed -n 's/^func \(Test[A-Za-z0-9_]*\).*/\1/p' $tests)
  fi
done < <(go list -f '{{.ImportPath}} {{.Dir}}' ./...)

step "tests of packages without goroutines"
go test -vet=off -timeout 45m -p 3 -parallel 4 "${plain[@]}" || failed=true
for module in "${modules[@]}"; do
  go -C "$module" test -timeout 45m ./... || failed=true
done

# raced tests packages with the race detector, if there is one. SQLite is C made into Go: the
# detector has nothing to find in it, and would slow down all that stores something by a quarter.
raced() {
  if [ ${#race[@]} -gt 0 ]; then
    CGO_ENABLED=1 GOFLAGS="$GOFLAGS -gcflags=modernc.org/...=-race=false" go test -vet=off -race "$@"
  else
    go test -vet=off "$@"
  fi
}
step "tests of packages with goroutines, with the race detector"
longest=remit/internal/stores/sqlstore # begins first: it mostly waits, and nothing should wait for it alone
mapfile -t concurrent < <(printf '%s\n' "$longest" "${concurrent[@]}" | awk '!seen[$0]++')
raced -timeout 45m -p 3 -parallel 4 "${concurrent[@]}" || failed=true
step "tests with goroutines of other packages, with the race detector"
raced -timeout 45m -p 3 -parallel 4 -run "^($(IFS='|'; echo "${names[*]}"))\$" "${tried[@]}" || failed=true

step "the program, as its users and their clients meet it"
go test -vet=off -timeout 60m -parallel 4 ./e2e || failed=true
step "a start and a crowd, while nothing else runs"
go test -vet=off -short -timeout 20m ./bench || failed=true

for build in "${builds[@]}"; do
  wait "$build" || true # what needs it says so
done
$linted || lint
! $failed || { echo "Some tests failed: see above." >&2; exit 1; }
step "seen"
while read -r line; do
  case $line in
    "NOT RUN: "*) leave_out "${line#NOT RUN: }" ;;
    *) echo "$line" ;;
  esac
done < <(sort -u "$REMIT_NOTES")

if $full; then
  step "the program with the race detector"
  raced -timeout 60m -parallel 4 ./e2e
  step "fuzzing, 30 s a target"
  for file in $(grep -rl --include='*_test.go' '^func Fuzz' internal); do
    for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$file"); do
      go test -run '^$' -fuzz "^$target\$" -fuzztime 30s "./$(dirname "$file")"
    done
  done
  step "speed, against peers in one run"
  have fdfind fd-find && have zip zip && have unzip unzip || leave_out "the comparisons with fd and zip: they need fd-find, zip and unzip"
  go test -timeout 15m ./bench
  step "other systems"
  for system in darwin windows; do
    GOOS=$system go build ./...
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
