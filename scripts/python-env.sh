#!/usr/bin/env bash
# A Python with gymnasium, tensorboard and openai, for the tests that ask the real packages:
# prints the path of its interpreter. The environment is made once a machine, in the
# cache folder, and has a name that says what is in it.
#
#   scripts/python-env.sh            makes it where it is missing
#   scripts/python-env.sh --if-made  prints nothing where it is missing, exit status 3
#
# Settings (environment): DEPS_CACHE (cache folder, as for scripts/deps.sh).
set -euo pipefail
shopt -s inherit_errexit

PINS='gymnasium==1.4.0
numpy==2.4.6
tensorboard==2.21.0
protobuf==7.36.2
grpcio==1.85.3
openai==3.57.0'

say() { printf 'python-env: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

command -v python3 >/dev/null || die "python3 is missing (3.11 or newer)"
version=$(python3 -c 'import platform; print(platform.python_version())')
CACHE=${DEPS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/native-deps}
dir="$CACHE/python-tests-$(printf '%s\n%s' "$version" "$PINS" | sha256sum | cut -c1-16)"
python="$dir/bin/python"
ready() { [ -e "$dir/ok" ] && [ -x "$python" ]; }

if ready; then
  printf '%s\n' "$python"
  exit 0
fi
[ "${1:-}" != --if-made ] || exit 3
mkdir -p "$CACHE" || die "can't write to $CACHE"
exec 8>"$CACHE/python-tests.lock" # two packages test at the same time
flock 8
if ! ready; then
  say "installing gymnasium, tensorboard and openai for Python $version into $dir (once a machine)"
  rm -rf "$dir"
  python3 -m venv "$dir" >&2 || die "python3 -m venv failed: install the package python3-venv"
  printf '%s\n' "$PINS" >"$dir/pins.txt"
  "$python" -m pip install -q --no-compile --disable-pip-version-check --only-binary :all: -r "$dir/pins.txt" >&2 ||
    die "pip could not install $(tr '\n' ' ' <<<"$PINS"): check the network and pip's configuration, then run this again"
  touch "$dir/ok"
fi
printf '%s\n' "$python"
