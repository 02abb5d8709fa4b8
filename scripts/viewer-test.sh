#!/usr/bin/env bash
# Walks through the window as a person would, under a virtual display: list, play, scrub,
# compare, help, close. Leaves a picture of each screen and the window's own report:
# first_frame_ms from the start of the program, playing_fps while a whole episode is played
# as fast as it goes (each picture drawn anew).
#
#   scripts/viewer-test.sh RUN [OUT]
#
# The first failed episode whose id has FIND (default muse-best) is watched; it should have
# 50 commands with five futures each. VIEWER is the program (default bin/muse-viewer). Needs Xvfb, xdotool and ImageMagick's
# import (apt-get install xvfb xauth xdotool imagemagick). Exit 77: one of them is missing.
set -euo pipefail
RUN=${1:?usage: scripts/viewer-test.sh RUN [OUT]} OUT=${2:-runs/viewer-test}
VIEWER=${VIEWER:-bin/muse-viewer} FIND=${FIND:-muse-best}
for p in Xvfb xdotool import; do
  command -v $p >/dev/null || { echo "viewer-test: $p is not installed (apt-get install xvfb xauth xdotool imagemagick)" >&2; exit 77; }
done
mkdir -p "$OUT"
rm -f "$OUT"/*.png "$OUT/report.json"
# A free display: Xvfb chooses the number and says it.
mkfifo "$OUT/display"; trap 'rm -f "$OUT/display"' EXIT
Xvfb -displayfd 4 -screen 0 1280x800x24 -nolisten tcp 4>"$OUT/display" 2>/dev/null &
server=$!
trap 'kill $server 2>/dev/null || true; rm -f "$OUT/display"' EXIT
read -r number <"$OUT/display"
export DISPLAY=:$number
"$VIEWER" --report "$OUT/report.json" "$RUN" &
viewer=$!
window=$(timeout 120 xdotool search --sync --onlyvisible --name '^muse' | head -1)
xdotool windowfocus "$window" 2>/dev/null || true
# The window's title says where it is: steps wait for it, however slow the machine.
want() { # part of the title
  for _ in $(seq "${TRIES:-600}"); do
    case "$(xdotool getwindowname "$window" 2>/dev/null)" in *"$1"*) return ;; esac
    sleep 0.1
  done
  echo "viewer-test: the window doesn't come to \"$1\", it is at \"$(xdotool getwindowname "$window")\"" >&2
  exit 1
}
tap() { xdotool key "$1"; want "$2"; }
shot() { sleep "${SETTLE:-1}"; import -window root "$OUT/$1.png"; }
xdotool mousemove 640 400
want 'list, all'
shot 1-list
tap 3 'list, failed'
tap slash 'searching ""'
for ((i = 0; i < ${#FIND}; i++)); do
  c=${FIND:i:1}
  case $c in -) c=minus ;; ' ') c=space ;; esac
  tap "$c" "searching \"${FIND:0:i+1}"
done
tap Return 'search "'
tap Return 'command 1'
shot 2-episode
tap space 'command 4'; xdotool key space # plays two commands a second
shot 3-played
for _ in 1 2 3 4; do xdotool key bracketright; sleep "${KEY:-0.3}"; done # 32 a second
tap Home 'command 1'
tap space 'command 50'
xdotool mousemove 300 680 mousedown 1; sleep 0.5; xdotool mousemove 420 680; want 'command 36'; xdotool mouseup 1
shot 4-scrubbed
tap c 'episodes'
shot 5-compared
tap Escape 'list'
tap r 'as a whole'
shot 6-run
tap question 'all keys'
shot 7-help
tap Escape 'as a whole'
xdotool key q
for _ in $(seq 600); do kill -0 $viewer 2>/dev/null || break; sleep 0.1; done
if kill -0 $viewer 2>/dev/null; then
  kill $viewer; echo "viewer-test: q doesn't close the window" >&2; exit 1
fi
wait $viewer || { echo "viewer-test: the window ended with $?" >&2; exit 1; }
# Each step must have changed the picture.
before=
for f in "$OUT"/[1-7]-*.png; do
  now=$(convert "$f" rgb:- | sha256sum)
  [ "$now" != "$before" ] || { echo "viewer-test: $f shows the same as the screen before" >&2; exit 1; }
  before=$now
done
cat "$OUT/report.json"
