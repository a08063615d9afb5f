#!/usr/bin/env bash
# Builds MCP bundles (.mcpb) in bin/mcpb. Claude Desktop and other clients install them with a
# click. It needs Node 20 or later.
#
#   packaging/mcpb/build.sh                 for this machine
#   packaging/mcpb/build.sh linux/arm64     for another
#   packaging/mcpb/build.sh --all           for all
#   packaging/mcpb/build.sh --manifest      only updates the version and the tools in manifest.json
#
# MCPB sets another command than that of npm to pack with; OUT sets another folder.
set -euo pipefail
cd "$(dirname "$0")/../.."

mcpb=${MCPB:-npx --yes @anthropic-ai/mcpb@2.1.2}
out=${OUT:-bin/mcpb}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir "$stage/empty"

# program builds Remit for a system and a processor.
program() {
  CGO_ENABLED=0 GOOS=$1 GOARCH=$2 go build -trimpath -buildvcs=false -ldflags="-s -w" -o "$3" ./cmd/remit
}

# manifest prints the manifest for the program of this commit.
manifest() {
  program "$(go env GOHOSTOS)" "$(go env GOHOSTARCH)" "$stage/host"
  node packaging/mcpb/manifest.mjs "$stage/host" "$stage/empty" "$@"
}

# bundle makes the bundle for one system and processor. A manifest cannot name a processor.
bundle() {
  local system=${1%/*} processor=${1#*/} suffix=
  [ "$system" != windows ] || suffix=.exe
  local folder="$stage/$system-$processor"
  mkdir -p "$folder/server" "$out"
  manifest "$system" >"$folder/manifest.json"
  program "$system" "$processor" "$folder/server/remit$suffix"
  cp LICENSE README.md "$folder"
  $mcpb pack "$folder" "$out/remit-$system-$processor.mcpb"
}

case "${1:-}" in
  "") bundle "$(go env GOOS)/$(go env GOARCH)" ;;
  --manifest)
    manifest >"$stage/manifest.json"
    cp "$stage/manifest.json" packaging/mcpb/manifest.json
    ;;
  --all)
    for target in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64; do
      bundle "$target"
    done
    ;;
  */*) bundle "$1" ;;
  *) echo "usage: packaging/mcpb/build.sh [--all | --manifest | SYSTEM/PROCESSOR]" >&2; exit 2 ;;
esac
