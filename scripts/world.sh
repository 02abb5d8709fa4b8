#!/usr/bin/env bash
# Everything measured of the world-model agent on the arm, from nothing, and the page of
# docs/results/arm. Resumable: start it again after an interrupt. With OpenBLAS
# (libopenblas-dev) a training takes about half an hour of one core, an adaptation about 20 seconds.
#
#   scripts/world.sh [FOLDER [RESULTS]]
#
# FOLDER (default runs/world) gets the run folders, RESULTS (default docs/results/arm) the small
# files. SEEDS (default "0 1") are trained side by side, one core each.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-runs/world}
results=${2:-docs/results/arm}
read -ra seeds <<<"${SEEDS:-0 1}"
tags=
if echo '#include <cblas.h>' | ${CC:-cc} -E - >/dev/null 2>&1; then tags=openblas; fi
mkdir -p "$out" "$results"
go build -tags "$tags" -o "$out/muse" ./cmd/muse
muse() { "$out/muse" "$@"; }

shared=(train worldmodel --env gridarm --tasks mt10 --preset small --lr 6e-4 --decay 15500 --starts 64 --hide-task 0.3 --save-every 25)
recipe=("${shared[@]}" --scripted 50 --corrupted 100 --pretrain 6000 --rounds 150)
alone=("${shared[@]}" --scripted 0 --corrupted 0 --pretrain 0 --imitate 0 --rounds 246) # as many updates

# one SEED trains MUSE, the same without ψ (Dreamer) and with labels that tell actions apart.
one() {
  local s=$1
  GOMAXPROCS=1 muse "${recipe[@]}" --seed "$s" --out "$out/muse-s$s"
  GOMAXPROCS=1 muse "${recipe[@]}" --quantiles 0 --seed "$s" --out "$out/dreamer-s$s"
  GOMAXPROCS=1 muse "${recipe[@]}" --siblings 1 --seed "$s" --out "$out/siblings-s$s"
}
pids=()
for s in "${seeds[@]}"; do
  one "$s" &
  pids+=($!)
done
for p in "${pids[@]}"; do wait "$p"; done
muse "${alone[@]}" --seed 0 --out "$out/alone-s0" # own play: no scripts, no imitation

names=() with=()
for s in "${seeds[@]}"; do
  names+=("muse-s$s" "dreamer-s$s" "siblings-s$s")
  with+=("muse-s$s=$out/muse-s$s" "siblings-s$s=$out/siblings-s$s")
done
for n in "${names[@]}" alone-s0; do
  cp "$out/$n/report.json" "$results/train-$n.json"
  cp "$out/$n/curve.svg" "$results/train-$n.svg"
  muse check-model dynamics --checkpoint "$out/$n" --tasks mt10 --out "$results/dynamics-$n.json" --plot "$results/dynamics-$n.svg"
done
for x in "${with[@]}"; do
  muse check-model siblings --checkpoint "$x" --tasks mt10 --limit 12 --episodes 20 --workers 2 --out "$results/siblings-${x%%=*}.json"
done

join() { local IFS=,; echo "$*"; }
models=()
for n in "${names[@]}"; do models+=("$n=$out/$n"); done
all=$(join "${models[@]}")
agents=off,psi/literal,none/literal,random/literal,psi/in-place,random/in-place,value/in-place,noise/in-place,rollouts/best,rollouts/random
muse eval --env gridarm --tasks mt10 --checkpoint "$all" --agent "$agents,script,uniform" --workers 2 --out "$out/eval-mt10"
muse eval --env gridarm --tasks novel --checkpoint "$all" --agent "$agents,script,uniform" --workers 2 --out "$out/eval-novel"
muse results arm --out "$results" --from "$out/eval-mt10" --table eval-mt10.json
muse results arm --out "$results" --from "$out/eval-novel" --table eval-novel.json

# Equal budgets: 20 episodes, updates by the train ratio (6 an episode), 3 adaptations a model.
adapt() { # NAME MODELS AGENTS
  muse adapt --env gridarm --tasks novel --adaptations 3 --updates 0 --checkpoint "$2" --agent "$3" --workers 2 --out "$out/$1"
}
main=() muse=() siblings=()
for s in "${seeds[@]}"; do
  main+=("muse-s$s=$out/muse-s$s" "dreamer-s$s=$out/dreamer-s$s")
  muse+=("muse-s$s=$out/muse-s$s")
  siblings+=("siblings-s$s=$out/siblings-s$s")
done
adapt adapt "$(join "${main[@]}")" "$agents"
# Mends of the regulation by gradient: longer steps that leave the carried state alone, z taken back
# to probabilities, a falling β of unit steps; and ψ trained with labels that tell actions apart.
adapt adapt-mends "$(join "${muse[@]}")" off,psi/in-place+beta=0.3+keep,random/in-place+beta=0.3+keep,psi/in-place+beta=0.3+project,psi/in-place+beta=0.5+anneal=0.7+unit+keep
adapt adapt-siblings "$(join "${siblings[@]}")" off,psi/literal,psi/in-place,rollouts/best,rollouts/random
for phase in adapt test; do
  muse results arm --out "$results" --phase $phase --from "$out/adapt" --table $phase-novel.json --against off@muse,off@dreamer,random/in-place@muse,random/literal@muse,rollouts/random@muse
  muse results arm --out "$results" --phase $phase --from "$out/adapt-mends" --table $phase-mends.json --against off@muse,random/in-place+beta=0.3+keep@muse
  muse results arm --out "$results" --phase $phase --from "$out/adapt-siblings" --table $phase-siblings.json --against off@siblings,rollouts/random@siblings
done
