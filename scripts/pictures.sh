#!/usr/bin/env bash
# The pictures of README and docs: real frames of real runs: of `make demo`, and of the arm
# where a run with imagined futures is named (muse eval --env gridarm --futures 8).
#
#   scripts/pictures.sh [RUN [ARMRUN]]
#
# MUSE is the program (default bin/muse); ARM is the arm's episode (number, part of an id or
# filter, default solved).
set -euo pipefail
cd "$(dirname "$0")/.."
RUN=${1:-runs/demo} ARMRUN=${2:-} MUSE=${MUSE:-bin/muse} OUT=docs/pictures
mkdir -p "$OUT"
draw() { "$MUSE" render "$RUN" "$@"; }
# Telling episodes of the demo; where a run went otherwise, the first that fits.
first() { "$MUSE" render "$RUN" --episode "$1" -o $OUT/viewer-failed.png >/dev/null 2>&1 && echo "$1" || echo "$2"; }
FAILED=$(first 'failed Bread-None-CounterTop-10/trial_T20190908_091747_866951#muse-best' 'failed muse-best')
SOLVED=$(first 'solved Bowl-None-Cabinet-10/trial_T20190909_061130_844814#muse-best' 'solved muse-best')
draw --episode "$FAILED" --at 1 -o $OUT/viewer-failed.png
draw --episode "$SOLVED" -o $OUT/viewer-dark.png --theme dark
draw --episode "$FAILED" --screen compare -o $OUT/viewer-compare.png
draw --screen run -o $OUT/viewer-run.png
draw --screen list -o $OUT/viewer-list.png
# Small enough for a page: an episode that was solved.
draw --episode "${EPISODE:-$SOLVED}" -o $OUT/viewer.gif --size 1120x700 --scale 0.8 --speed 0.8
if [ -n "$ARMRUN" ]; then
  "$MUSE" render "$ARMRUN" --episode "${ARM:-solved}" -o $OUT/viewer-arm.png ${ARMAT:+--at "$ARMAT"}
fi
