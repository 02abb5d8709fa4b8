#!/usr/bin/env bash
# Prints the packages whose test outcome depends on the build tag `native`: those
# that contain a file with the tag, in code or in tests.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files -co --exclude-standard '*.go' | while read -r f; do
  [ -f "$f" ] && head -5 "$f" | grep -q '^//go:build .*\bnative\b' && dirname "./$f"
done | sort -u
