#!/usr/bin/env bash
# Prints the path of a Python that has the packages of scripts/python.txt (openai,
# gymnasium, tensorboard), for tests with real clients. The first run on a machine makes
# it, in the cache folder (half a minute and the network); later runs cost nothing.
#
# DEPS_CACHE is the cache folder, as in scripts/deps.sh.
set -euo pipefail
cd "$(dirname "$0")"
say() { printf 'python: %s\n' "$*" >&2; }
command -v python3 >/dev/null || { say "missing tool: python3, 3.11 or newer"; exit 1; }
python3 -c 'import venv, ensurepip' 2>/dev/null || { say "missing: venv for python3 (package python3-venv)"; exit 1; }

CACHE=${DEPS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/native-deps}
key=$( (python3 -VV; cat python.txt) | sha256sum | cut -c1-16)
dir="$CACHE/python-$key"
if [ ! -e "$dir/ok" ]; then
  mkdir -p "$CACHE" || { say "can't write to $CACHE"; exit 1; }
  exec 9>"$CACHE/python.lock"
  flock 9 # tests of several packages may ask at once
  if [ ! -e "$dir/ok" ]; then
    say "installing the packages of scripts/python.txt into $dir"
    rm -rf "$dir"
    python3 -m venv "$dir" >&2
    "$dir/bin/python" -m pip install -q --disable-pip-version-check --no-deps --only-binary :all: -r python.txt >&2 ||
      { say "pip could not install them: check the network and pip's configuration, then run scripts/python.sh again"; exit 1; }
    "$dir/bin/python" -c 'import gymnasium, openai' || { say "the packages can't be imported"; exit 1; }
    touch "$dir/ok"
  fi
fi
printf '%s\n' "$dir/bin/python"
