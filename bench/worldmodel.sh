#!/usr/bin/env bash
# A world-model update beside the same sizes in PyTorch, one thread each, in one run:
#
#   pip install torch
#   bench/worldmodel.sh [updates]
#
# Compare cpu-ns/op with cpu_ms: processor time is what a busy machine leaves alone.
# The build with OpenBLAS is skipped where libopenblas is not installed. PYTHON names
# another interpreter.
set -euo pipefail
cd "$(dirname "$0")/.."
n=${1:-30}
go_bench() { go test -tags "$1" -run '^$' -bench 'ModelUpdate|Act' -cpu 1 -benchtime "${n}x" ./worldmodel | grep Benchmark; }
echo "# gonum (default build)"
go_bench ""
echo "# PyTorch"
"${PYTHON:-python3}" bench/worldmodel_torch.py --updates "$n" --json
if echo '#include <cblas.h>' | ${CC:-cc} -E - >/dev/null 2>&1; then
  echo "# OpenBLAS (-tags openblas)"
  go_bench openblas
else
  echo "# OpenBLAS: cblas.h not found; install libopenblas-dev" >&2
fi
