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
draw --episode 'failed muse-best' -o $OUT/viewer-failed.png
draw --episode 'solved muse-best' -o $OUT/viewer-dark.png --theme dark
draw --episode 'failed muse-best' --screen compare -o $OUT/viewer-compare.png
draw --screen run -o $OUT/viewer-run.png
draw --screen list -o $OUT/viewer-list.png
# Small enough for a page: an episode that was solved.
draw --episode "${EPISODE:-solved muse-best}" -o $OUT/viewer.gif --size 1120x700 --scale 0.8 --speed 0.8
if [ -n "$ARMRUN" ]; then
  "$MUSE" render "$ARMRUN" --episode "${ARM:-solved}" -o $OUT/viewer-arm.png ${ARMAT:+--at "$ARMAT"}
fi
