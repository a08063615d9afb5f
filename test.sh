#!/usr/bin/env bash
# Passes all tests on a fresh Debian machine with Go and Node. It installs what is
# missing when it can, and says loudly what it could not run; with CI=true that is a
# failure.
#
#   ./test.sh           everything that is quick enough for every change: lint, unit
#                       tests, the official conformance suite of MCP, real clients
#   ./test.sh --full    also the slow proofs: the command lines of those who make
#                       models, fuzzing 30 s a target, speed, other systems
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

# have finds a command, or installs the Debian package that brings it.
have() {
  local command=$1 package=$2
  command -v "$command" >/dev/null && return 0
  command -v apt-get >/dev/null || return 1
  local run=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || return 1
    run=(sudo -n)
  fi
  echo "installing $package"
  "${run[@]}" apt-get update -qq && "${run[@]}" apt-get install -y -qq "$package" >/dev/null && command -v "$command" >/dev/null
}

have go golang-go || { echo "Go is needed: https://go.dev/dl" >&2; exit 1; }

race=()
export CGO_ENABLED=0
if have gcc gcc && echo '#include <stdlib.h>' | gcc -fsyntax-only -x c - 2>/dev/null || have gcc build-essential; then
  race=(-race)
  export CGO_ENABLED=1
else
  leave_out "the race detector: it needs gcc"
fi
have node nodejs && have npm npm || leave_out "the conformance suite and the clients that are programs of Node: they need Node and npm"
have git git || leave_out "the version gate against the last commit: it needs git"

step "format and lint"
if go tool -modfile=tools/go.mod golangci-lint version >/dev/null 2>&1; then
  go tool -modfile=tools/go.mod golangci-lint run ./...
else
  leave_out "golangci-lint: its modules could not be had"
  unformatted=$(gofmt -l cmd internal e2e bench)
  [ -z "$unformatted" ] || { echo "not formatted: $unformatted" >&2; exit 1; }
fi
go vet ./...

step "tests"
export REMIT_FULL=$full
go test "${race[@]}" -timeout 15m ./...
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
  CGO_ENABLED=0 go test -timeout 10m ./bench
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
