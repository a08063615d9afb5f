#!/usr/bin/env bash
set -eu

log() { echo "$1" >&2; }

function build {
  local x=${1#v}
  if [ -n "$x" ]; then
    cat <<EOT
fake() {
EOT
  fi
}

function deploy() {
	build "$@"
}

in_subshell() (
  cd /tmp
)

later ()
{
  :
}
array=(a b)
main "$@"
