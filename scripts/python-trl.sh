#!/usr/bin/env bash
# A Python with datasets and trl, for the test that has them read what `muse export`
# writes: prints the path of its interpreter. Made once a machine, in the cache folder.
# trl is installed without its dependency torch (hundreds of megabytes): the functions
# for data formats don't need it.
#
#   scripts/python-trl.sh            makes it where it is missing
#   scripts/python-trl.sh --if-made  prints nothing where it is missing, exit status 3
#
# Settings (environment): DEPS_CACHE (cache folder, as for scripts/deps.sh).
set -euo pipefail
shopt -s inherit_errexit

PINS='datasets==5.2.0
numpy==2.4.6
pandas==3.1.1
pyarrow==26.0.1
transformers==5.24.0
tokenizers==0.23.3
huggingface_hub==2.4.0
safetensors==0.8.0
Jinja2==3.1.6'
ALONE='trl==1.16.0' # without what it depends on

say() { printf 'python-trl: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

command -v python3 >/dev/null || die "python3 is missing (3.11 or newer)"
version=$(python3 -c 'import platform; print(platform.python_version())')
CACHE=${DEPS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/native-deps}
dir="$CACHE/python-trl-$(printf '%s\n%s\n%s' "$version" "$PINS" "$ALONE" | sha256sum | cut -c1-16)"
python="$dir/bin/python"
ready() { [ -e "$dir/ok" ] && [ -x "$python" ]; }

if ready; then
  printf '%s\n' "$python"
  exit 0
fi
[ "${1:-}" != --if-made ] || exit 3
mkdir -p "$CACHE" || die "can't write to $CACHE"
exec 8>"$CACHE/python-trl.lock" # two packages test at the same time
flock 8
if ! ready; then
  say "installing datasets and trl for Python $version into $dir (once a machine)"
  rm -rf "$dir"
  python3 -m venv "$dir" >&2 || die "python3 -m venv failed: install the package python3-venv"
  printf '%s\n' "$PINS" >"$dir/pins.txt"
  pip() { "$python" -m pip install -q --no-compile --disable-pip-version-check --only-binary :all: "$@" >&2; }
  pip -r "$dir/pins.txt" && pip --no-deps "$ALONE" ||
    die "pip could not install $(tr '\n' ' ' <<<"$PINS")$ALONE: check the network and pip's configuration, then run this again"
  touch "$dir/ok"
fi
printf '%s\n' "$python"
