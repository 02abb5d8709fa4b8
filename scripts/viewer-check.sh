#!/usr/bin/env bash
# Measures what the viewer promises and prints each figure beside its bar: the window under
# a virtual display, the browser, a GIF of 50 commands, a run of 10,000 episodes, hostile
# files and, with FUZZ=30s, fuzzing. A few minutes on an idle machine; figures of a busy one
# say little.
#
#   scripts/viewer-check.sh RUN [OUT]
#
# RUN must have a failed episode of FIND (default muse-best) with 50 commands, as the demo
# has. MUSE, VIEWER and WEB name the programs (default those in bin). Exit 1: a bar is missed.
set -uo pipefail
cd "$(dirname "$0")/.."
RUN=${1:?usage: scripts/viewer-check.sh RUN [OUT]} OUT=${2:-runs/viewer-check}
export MUSE=${MUSE:-bin/muse} VIEWER=${VIEWER:-bin/muse-viewer} WEB=${WEB:-bin/viewer-web} FIND=${FIND:-muse-best}
mkdir -p "$OUT"
failed=0
figure() { # name value bar(<=|>=) limit unit
  local ok=ok
  if [ -z "$2" ] || ! awk -v v="$2" -v l="$4" -v o="$3" 'BEGIN { exit !(o == "<=" ? v + 0 <= l + 0 : v + 0 >= l + 0) }'; then ok=MISSED failed=1; fi
  printf '%-44s %12s %s %s %s  %s\n' "$1" "${2:-none}" "$3" "$4" "$5" "$ok"
}
field() { sed -n "s/^ *\"$2\": *\([0-9.]*\).*/\1/p" "$1" 2>/dev/null | head -1; }
timed() { # file command…: seconds and peak memory in KB go to the file
  local f=$1; shift
  python3 - "$f" "$@" <<'PY'
import resource, subprocess, sys, time
t = time.monotonic()
rc = subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL).returncode
print("%.2f %d %d" % (time.monotonic() - t, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, rc), file=open(sys.argv[1], "w"))
PY
}
uptime

bash scripts/viewer-test.sh "$RUN" "$OUT/window" >"$OUT/window.log" 2>&1 || { tail -2 "$OUT/window.log"; failed=1; }
figure "window: first picture" "$(field "$OUT/window/report.json" first_frame_ms)" "<=" 2000 ms
figure "window: pictures a second while playing" "$(field "$OUT/window/report.json" playing_fps)" ">=" 30 /s

node --experimental-websocket scripts/viewer-browser-test.mjs "$RUN" "$OUT/browser" >"$OUT/browser.json" 2>"$OUT/browser.log" || { tail -2 "$OUT/browser.log"; failed=1; }
figure "browser: first picture" "$(field "$OUT/browser.json" ready_ms)" "<=" 5000 ms
figure "browser: program, compressed" "$(field "$OUT/browser.json" wasm_gz_bytes)" "<=" 6000000 bytes
figure "browser: pixels that differ from render" "$(field "$OUT/browser.json" pixels_that_differ)" "<=" 0 ""

timed "$OUT/gif" env -u DISPLAY "$MUSE" render "$RUN" --episode "failed $FIND" -o "$OUT/a.gif"
read -r s kb rc <"$OUT/gif"
figure "GIF of 50 commands, no display" "$s" "<=" 10 s
env -u DISPLAY "$MUSE" render "$RUN" --episode "failed $FIND" -o "$OUT/b.gif" >/dev/null
figure "GIF: bytes that differ from a second one" "$(cmp -l "$OUT/a.gif" "$OUT/b.gif" 2>/dev/null | wc -l)" "<=" 0 ""

big="$OUT/large"
rm -rf "$big"; mkdir -p "$big"
awk '{ l[NR] = $0 } END { for (i = 0; i < 10000; i++) { x = l[i % NR + 1]; sub(/"id":"/, sprintf("\"id\":\"%05d ", i), x); print x } }' viewer/testdata/run/episodes.jsonl >"$big/episodes.jsonl"
timed "$OUT/t" "$MUSE" render "$big" --screen list -o "$OUT/large.png" # writes the index
read -r s kb rc <"$OUT/t"
echo "10,000 episodes, $(($(stat -c %s "$big/episodes.jsonl") / 1000000)) MB: index rebuilt in $s s"
timed "$OUT/t" "$MUSE" render "$big" --screen list -o "$OUT/large.png"
read -r s kb rc <"$OUT/t"
figure "10,000 episodes: opened and drawn" "$s" "<=" 1 s
timed "$OUT/t" "$MUSE" render "$big" --episode 'failed muse-best' -o "$OUT/large.gif"
read -r s kb rc <"$OUT/t"
figure "10,000 episodes: memory of a GIF" "$((kb / 1024))" "<=" 300 MB
bash scripts/viewer-test.sh "$big" "$OUT/large-window" >"$OUT/large-window.log" 2>&1 || { tail -2 "$OUT/large-window.log"; failed=1; }
figure "10,000 episodes: window's first picture" "$(field "$OUT/large-window/report.json" first_frame_ms)" "<=" 2000 ms
figure "10,000 episodes: window's memory" "$(field "$OUT/large-window/report.json" peak_mb)" "<=" 300 MB
rm -rf "$big"

for f in viewer/testdata/hostile.jsonl "$0" "$MUSE"; do
  "$MUSE" render "$f" --screen list -o "$OUT/hostile.png" >"$OUT/hostile.log" 2>&1
  rc=$?
  figure "hostile $(basename "$f"): exit $rc, lines said" "$(grep -vc "indexing" "$OUT/hostile.log")" "<=" 1 ""
  grep -q 'panic\|goroutine' "$OUT/hostile.log" && { echo "panic: $f"; failed=1; }
done
if [ -n "${FUZZ:-}" ]; then
  for t in $(sed -n 's/^func \(Fuzz[A-Za-z]*\).*/\1/p' viewer/*_test.go); do
    if go test -run '^$' -fuzz "^$t\$" -fuzztime "$FUZZ" ./viewer >"$OUT/$t.log" 2>&1; then echo "fuzz $t $FUZZ: $(grep -o 'execs: [0-9]*' "$OUT/$t.log" | tail -1)"; else echo "fuzz $t failed: $OUT/$t.log"; failed=1; fi
  done
fi
exit $failed
