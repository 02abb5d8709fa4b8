#!/usr/bin/env bash
# The pictures of README and docs: real frames of a real run, that of `make demo`.
#
#   scripts/pictures.sh [RUN]
#
# MUSE is the program (default bin/muse).
set -euo pipefail
cd "$(dirname "$0")/.."
RUN=${1:-runs/demo} MUSE=${MUSE:-bin/muse} OUT=docs/pictures
mkdir -p "$OUT"
draw() { "$MUSE" render "$RUN" "$@"; }
draw --episode 'failed but confident' -o $OUT/viewer-failed.png
draw --episode muse-best -o $OUT/viewer-dark.png --theme dark --at 1
draw --episode 'failed but confident' --screen compare -o $OUT/viewer-compare.png
draw --screen run -o $OUT/viewer-run.png
draw --screen list -o $OUT/viewer-list.png
# Small enough for a page: an episode that was solved.
"$MUSE" render "$RUN" --episode "${EPISODE:-solved but doubtful}" -o $OUT/viewer.gif --size 1120x700 --scale 0.8 --speed 0.8 2>/dev/null ||
  draw --episode solved -o $OUT/viewer.gif --size 1120x700 --scale 0.8 --speed 0.8
