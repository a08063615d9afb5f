#!/usr/bin/env bash
# Writes the manual pages and completions for the packages to bin/extras, or to the folder that OUT
# names. The same commit gives the same bytes.
#
#   packaging/extras.sh [VERSION]    rejects a version that is not the program's
set -euo pipefail
cd "$(dirname "$0")/.."

out=${OUT:-bin/extras}
rm -rf "$out"
mkdir -p "$out/man" "$out/completions"
program=$(mktemp -d)
trap 'rm -rf "$program"' EXIT
CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags="-s -w" -o "$program/remit" ./cmd/remit

says=$("$program/remit" version)
if [ -n "${1:-}" ] && [ "$says" != "remit $1" ]; then
  echo "the tag says $1, the program says \"$says\"; change Version in internal/app, or the tag" >&2
  exit 1
fi

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
"$program/remit" man --dir "$out/man"
gzip -9n "$out"/man/*.1
"$program/remit" completion bash >"$out/completions/remit.bash"
"$program/remit" completion zsh >"$out/completions/_remit"
"$program/remit" completion fish >"$out/completions/remit.fish"
"$program/remit" completion powershell >"$out/completions/remit.ps1"
