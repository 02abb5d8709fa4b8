#!/usr/bin/env bash
# Runs every fuzz target of the module for the given time (default 20s).
set -euo pipefail
cd "$(dirname "$0")/.."
t=${1:-20s}
git ls-files -co --exclude-standard '*_test.go' | while read -r f; do
  grep -oE '^func (Fuzz[A-Za-z0-9_]*)' "$f" 2>/dev/null | awk '{print $2}' | while read -r name; do
    echo "fuzz: $name in $(dirname "$f")" >&2
    go test -run '^$' -fuzz "^$name\$" -fuzztime "$t" "./$(dirname "$f")"
  done
done
