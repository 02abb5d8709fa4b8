#!/usr/bin/env bash
# Builds the viewer: bin/muse-viewer, the window, and bin/viewer-web, what
# `muse watch --http` sends to the browser. Either can fail without the other.
#
#   scripts/viewer.sh [LDFLAGS]
set -euo pipefail
cd "$(dirname "$0")/.."
GO=${GO:-go} LDFLAGS=${1:--s -w}
rc=0
mkdir -p bin/viewer-web
if [ "$(uname -s)" = Linux ] && ! printf '#include <X11/Xlib.h>\n#include <X11/Xcursor/Xcursor.h>\n#include <X11/extensions/Xrandr.h>\n#include <X11/extensions/XInput2.h>\n#include <X11/extensions/Xinerama.h>\n#include <X11/extensions/xf86vmode.h>\n#include <GL/gl.h>\n' | "${CC:-cc}" -E -xc - >/dev/null 2>&1; then
  echo "viewer: the window needs X11 and OpenGL headers: apt-get install libx11-dev libxcursor-dev libxi-dev libxinerama-dev libxrandr-dev libxxf86vm-dev libgl1-mesa-dev" >&2
  rc=1
else
  $GO build -tags viewer -trimpath -ldflags "$LDFLAGS" -o bin/muse-viewer ./cmd/muse-viewer
  echo "viewer: bin/muse-viewer" >&2
fi
GOOS=js GOARCH=wasm CGO_ENABLED=0 $GO build -trimpath -ldflags "$LDFLAGS" -o bin/viewer-web/viewer.wasm ./cmd/muse-viewer
gzip -9nf bin/viewer-web/viewer.wasm
cp "$($GO env GOROOT)/lib/wasm/wasm_exec.js" bin/viewer-web/
echo "viewer: bin/viewer-web ($(du -k bin/viewer-web/viewer.wasm.gz | cut -f1) KB compressed)" >&2
exit $rc
