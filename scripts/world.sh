#!/usr/bin/env bash
# Everything measured of the world-model agent on the arm, from nothing. Resumable: start it
# again after an interrupt. About 3 hours of one core a pre-training seed with OpenBLAS
# (libopenblas-dev), and as much for the adaptations.
#
#   scripts/world.sh [FOLDER]
#
# SEEDS (default "0 1"), ROUNDS and WORKERS choose how much.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-runs/world}
seeds=${SEEDS:-0 1}
tags=
if echo '#include <cblas.h>' | ${CC:-cc} -E - >/dev/null 2>&1; then tags=openblas; fi
mkdir -p "$out"
go build -tags "$tags" -o "$out/muse" ./cmd/muse
muse() { "$out/muse" "$@"; }
recipe=(train worldmodel --env gridarm --tasks mt10 --preset small --lr 6e-4 --starts 64
  --scripted 50 --corrupted 100 --pretrain 5000 --rounds "${ROUNDS:-1500}" --save-every 20)
muse=() dreamer=()
for s in $seeds; do
  # MUSE, the same without ψ (Dreamer), and MUSE with labels that tell actions apart.
  muse "${recipe[@]}" --seed "$s" --out "$out/muse-s$s"
  muse "${recipe[@]}" --quantiles 0 --seed "$s" --out "$out/dreamer-s$s"
  muse "${recipe[@]}" --siblings 1 --seed "$s" --out "$out/siblings-s$s"
  muse+=("muse-s$s=$out/muse-s$s") dreamer+=("dreamer-s$s=$out/dreamer-s$s")
done
# Own play alone: no scripts, no imitation.
muse train worldmodel --env gridarm --tasks mt10 --preset small --lr 6e-4 --starts 64 --imitate 0 --scripted 0 --corrupted 0 --pretrain 0 \
  --rounds "${ROUNDS:-1500}" --save-every 20 --seed 0 --out "$out/alone-s0"
join() { local IFS=,; echo "$*"; }
for s in $seeds; do
  muse check-model dynamics --checkpoint "$out/muse-s$s" --tasks mt10 --out "$out/dynamics-s$s.json" --plot "$out/dynamics-s$s.svg"
  muse check-model siblings --checkpoint "$out/muse-s$s" --tasks mt10 --out "$out/lift-s$s.json"
  muse check-model siblings --checkpoint "$out/siblings-s$s" --tasks mt10 --out "$out/lift-siblings-s$s.json"
done
muse eval --env gridarm --tasks mt10 --checkpoint "$(join "${muse[@]}")" --workers "${WORKERS:-2}" --out "$out/eval-mt10"
muse eval --env gridarm --tasks novel --checkpoint "$(join "${muse[@]}")" --workers "${WORKERS:-2}" --out "$out/eval-novel"
muse adapt --env gridarm --tasks novel --adaptations 3 --checkpoint "$(join "${muse[@]}")" --workers "${WORKERS:-2}" --out "$out/adapt-muse"
muse adapt --env gridarm --tasks novel --adaptations 3 --agent off --checkpoint "$(join "${dreamer[@]}")" --workers "${WORKERS:-2}" --out "$out/adapt-dreamer"
