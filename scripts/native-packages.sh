#!/usr/bin/env bash
# Prints the packages whose test outcome depends on the build tag `native`: those
# with a file behind the tag, and those whose tests look at REQUIRE_NATIVE.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files -co --exclude-standard '*.go' | while read -r f; do
  [ -f "$f" ] || continue
  if head -5 "$f" | grep -q '^//go:build .*\bnative\b' ||
     { [[ $f == *_test.go ]] && grep -q REQUIRE_NATIVE "$f"; }; then
    echo "./$(dirname "$f")"
  fi
done | sort -u
