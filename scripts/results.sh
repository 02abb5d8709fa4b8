#!/usr/bin/env bash
# Everything behind docs/results, in pieces: each step continues where it ended, and
# finished rows are kept in docs/results/parts, so the script can be stopped and
# started again at will. Some hours on two cores in all.
#
#   scripts/results.sh             all steps
#   scripts/results.sh base play1  some steps, in that order
#
# MUSE is the program, RUNS the folder of its run folders.
set -euo pipefail
cd "$(dirname "$0")/.."
MUSE=${MUSE:-bin/muse} RUNS=${RUNS:-runs} WORKERS=${WORKERS:-2}
PARTS=docs/results/parts
mkdir -p "$RUNS" "$PARTS"
say() { printf 'results: %s\n' "$*" >&2; }
muse() { say "muse $*"; "$MUSE" "$@"; }

# Data and self-assessments of one actor. The futures of the sibling states are
# drawn at T .7, between the two temperatures that val decides between.
train() { # actor
  muse collect --model "$1" --split seen --workers "$WORKERS" --out "$RUNS/collect-$1"
  muse siblings --model "$1" --split seen --temperature 0.7 --hidden --episodes 4 --workers "$WORKERS" --out "$RUNS/siblings-$1"
  muse train selfassess --collect "$RUNS/collect-$1" --siblings "$RUNS/siblings-$1" --out "$RUNS/default-$1"
  muse train selfassess --collect "$RUNS/collect-$1" --paper --out "$RUNS/paper-$1"
  mkdir -p docs/results/msa
  cp "$RUNS/default-$1/msa.safetensors" "docs/results/msa/default-$1.safetensors"
  cp "$RUNS/paper-$1/msa.safetensors" "docs/results/msa/paper-$1.safetensors"
}

# All settings of the self-assessment, ranked by sibling lift on held-out tasks: the
# default is the winner with base. Half an hour.
choose() { # actor
  muse train selfassess --collect "$RUNS/collect-$1" --siblings "$RUNS/siblings-$1" --choose --json --out "$RUNS/choose-$1" > "$RUNS/choose-$1.json"
}

# The temperature is chosen on val, games that nothing else uses.
val() { # actor
  for t in 0.5 1.0; do
    muse eval --agent muse-best --model "$1" --msa "default=$RUNS/default-$1" --split val --sample 60 \
      --temperature $t --workers "$WORKERS" --parts docs/results/val --out "$RUNS/val-$1-$t"
  done
}

# Choice among futures on unseen games: default and paper's self-assessment.
play() { # actor temperature sample seeds
  muse eval --agent muse-random,muse-lowest,muse-best --model "$1" --msa "default=$RUNS/default-$1" --split unseen --sample "$3" --seeds "$4" \
    --temperature "$2" --workers "$WORKERS" --parts $PARTS --out "$RUNS/play-$1-$2-$3-$4"
  muse eval --agent muse-lowest,muse-best --model "$1" --msa "paper=$RUNS/paper-$1" --split unseen --sample "$3" --seeds "$4" \
    --temperature "$2" --workers "$WORKERS" --parts $PARTS --out "$RUNS/paper-$1-$2-$3-$4"
  muse eval --agent muse-off --model "$1" --split unseen --sample "$3" --seeds "$4" \
    --temperature "$2" --workers "$WORKERS" --parts $PARTS --out "$RUNS/off-$1-$2-$3-$4"
}

# How good the self-assessments are on unseen tasks: before adaptation, after five
# episodes of the task, and adapted to another task. Plain agents play.
adapt() { # actor
  muse adapt --agent reflexion --by plain --model "$1" --msa "$RUNS/paper-$1" --collect "$RUNS/collect-$1" --split unseen \
    --workers "$WORKERS" --out "$RUNS/adapt-$1"
  mkdir -p docs/results/assess
  local m
  for m in default paper; do
    muse assess --run "$RUNS/adapt-$1" --msa "$RUNS/$m-$1" --collect "$RUNS/collect-$1" --json > "docs/results/assess/$1-$m.json.tmp"
    mv "docs/results/assess/$1-$m.json.tmp" "docs/results/assess/$1-$m.json"
  done
}

# Two trials with the model's own reflection between them, against a plain repeat.
trials() { # actor
  muse eval --agent reflexion,repeat --trials 2 --model "$1" --split unseen --against repeat --workers "$WORKERS" \
    --parts $PARTS --out "$RUNS/trials-$1"
}

# The plain skill of an actor, as it is quoted in docs/embedded-lm.md.
skill() { # actor
  muse eval --agent react --model "$1" --split unseen --workers "$WORKERS" --parts $PARTS --out "$RUNS/skill-$1"
}

# What of second thoughts brings what, on val games (docs/second-thoughts.md).
ablate() { # actor
  local a=$1 v="--model $1 --split val --sample 60 --workers $WORKERS --parts docs/results/val --against=" s="--foresee --rethink 3 --forget doubt" t
  muse train selfassess --collect "$RUNS/collect-$a" --siblings "$RUNS/siblings-$a" --labels counterfactual --out "$RUNS/counterfactual-$a"
  muse eval --agent react $v --forget always --out "$RUNS/ablate-forget-$a"
  muse eval --agent muse-random $v $s --doubt 0.15 --out "$RUNS/ablate-random-$a"
  for t in 0 0.15 0.3; do
    muse eval --agent muse-best --msa "$RUNS/default-$a" $v $s --doubt $t --out "$RUNS/ablate-best-$t-$a"
  done
  muse eval --agent muse-best --msa "$RUNS/default-$a" $v $s --doubt 0.15 --temperature 1 --out "$RUNS/ablate-warm-$a"
  muse eval --agent muse-best --msa "$RUNS/default-$a" $v --foresee --out "$RUNS/ablate-foresee-$a"
  muse eval --agent muse-best --msa "$RUNS/default-$a" $v --rethink 3 --doubt 0.15 --forget doubt --out "$RUNS/ablate-rethink-$a"
  muse eval --agent muse-best --msa "$RUNS/default-$a" $v --foresee --rethink 3 --doubt 0.15 --out "$RUNS/ablate-remember-$a"
  muse eval --agent muse-best --msa "$RUNS/counterfactual-$a" $v $s --doubt 0.15 --out "$RUNS/ablate-counterfactual-$a"
  for t in --reflect --reflect=false "--reflect=false --rooms" --notes "--notes --rooms" "--notes --rooms --update=false"; do
    muse adapt --agent muse-best --second-thoughts $t --model "$a" --split val --sample 30 --episodes 3 --tests 2 --workers "$WORKERS" \
      --msa "$RUNS/default-$a" --collect "$RUNS/collect-$a" --against= --out "$RUNS/ablate-adapt-$(tr -d ' =-' <<< "$t")-$a"
  done
}

# The full table in the paper's form (docs/results): agents as the paper has them and
# with second thoughts, without adaptation. ReAct that forgets its failures is the
# control of what second thoughts do without assessing anything. The controls of the
# choice are played with base only.
table() { # actor
  local a=$1 u="--model $1 --split unseen --workers $WORKERS --parts $PARTS"
  local second="--second-thoughts --msa default=$RUNS/default-$1 --against="
  muse eval --agent react,reflexion $u --seeds 2 --out "$RUNS/table-plain-$a"
  muse eval --agent react --forget always $u --seeds 2 --out "$RUNS/table-forget-$a"
  if [ "$a" = base ]; then
    muse eval --agent muse-random $u $second --out "$RUNS/table-random-$a"
    muse eval --agent muse-lowest $u $second --sample 67 --out "$RUNS/table-lowest-$a"
  fi
  if [ "$a" = base ]; then second+=" --seeds 2"; fi
  muse eval --agent muse-best $u $second --out "$RUNS/table-best-$a"
}

# The same after five adaptation episodes a game. weak, which is slow as it loses more,
# and the controls adapt on episodes of the plain agent that forgets its failures,
# which are cheap.
adapted() { # actor
  local a=$1 u="--model $1 --split unseen --workers $WORKERS --collect $RUNS/collect-$1 --msa $RUNS/default-$1 --against=" size="--tests 2" r
  muse adapt --agent reflexion --by plain $u --tests 2 --out "$RUNS/adapted-reflexion-$a"
  case $a in weak) size="--by plain --forget always --tests 1" ;; strong) size="--tests 1" ;; esac
  muse adapt --agent muse-best --second-thoughts $ADAPT $u $size --out "$RUNS/adapted-second-$a"
  if [ "$a" = base ]; then
    muse adapt --agent muse-lowest,muse-random --second-thoughts $ADAPT --by plain --forget always $u --sample 34 --tests 1 --out "$RUNS/adapted-controls-$a"
  fi
  for r in reflexion second controls; do
    if [ -e "$RUNS/adapted-$r-$a" ]; then muse results --import "$RUNS/adapted-$r-$a" --parts $PARTS --assess "$RUNS/assess"; fi
  done
}

# Tree search against best rollout at equal tokens (docs/search.md): the same games and
# seeds as play, so that best rollout of five futures stands beside it already.
search() { # actor sample
  local m
  for m in default paper; do
    muse eval --agent muse-mcts --model "$1" --msa "$m=$RUNS/$m-$1" --split unseen --sample "$2" --temperature 1.0 --horizon 2 \
      --against '' --workers "$WORKERS" --parts $PARTS --out "$RUNS/search-$1-$m-$2"
  done
  muse eval --agent muse-best --rollouts 9 --model "$1" --msa "default=$RUNS/default-$1" --split unseen --sample "$2" --temperature 1.0 --horizon 2 \
    --against '' --workers "$WORKERS" --parts $PARTS --out "$RUNS/search-$1-short-$2"
}

# Futures only where something is at stake (settings by val), and whole plans that are
# deliberated on, against one plan alone, and with more tokens spent on the first commands.
gate() { # actor temperature
  local g
  for g in stakes single changes; do
    muse eval --agent muse-gated --gate $g --model "$1" --msa "default=$RUNS/default-$1" --split val --sample 60 \
      --temperature "$2" --workers "$WORKERS" --parts docs/results/val --out "$RUNS/gate-val-$1-$g"
  done
  muse eval --agent muse-gated --gate single --model "$1" --msa "default=$RUNS/default-$1" --split unseen --seeds 2 \
    --temperature "$2" --workers "$WORKERS" --parts $PARTS --out "$RUNS/gate-$1"
  muse eval --agent muse-planned,muse-first --first 2 --model "$1" --msa "default=$RUNS/default-$1" --split unseen --seeds 2 \
    --against muse-first --temperature "$2" --workers "$WORKERS" --parts $PARTS --out "$RUNS/planned-$1"
}

# Reflexion with the adapters of docs/learning.md: the paper's Reflexion + SFT/DPO.
tuned() {
  local u="--model base --split unseen --workers $WORKERS --adapter docs/results/adapters/base-sft.safetensors"
  muse eval --agent reflexion $u --seeds 2 --parts $PARTS --out "$RUNS/table-sft-base"
  muse adapt --agent reflexion --by plain $u --reflector docs/results/adapters/base-dpo.safetensors --tests 2 --against= \
    --collect "$RUNS/collect-base" --msa "$RUNS/paper-base" --out "$RUNS/adapted-sft-base"
  muse results --import "$RUNS/adapted-sft-base" --parts $PARTS --assess "$RUNS/assess"
}

compile() { muse results --parts $PARTS --out docs/results; }

# How an agent with second thoughts adapts: what won on val games.
ADAPT=${ADAPT:-"--notes --rooms"}

# The temperature that val prefers, see docs/results/val.
T_BASE=${T_BASE:-1.0} T_WEAK=${T_WEAK:-1.0}

step() {
  case $1 in
    skill) for a in weak base strong; do skill $a; done ;;
    base) train base ;;
    choose) choose base ;;
    val) val base ;;
    play1) play base "$T_BASE" 0 1 ;;
    adapt) adapt base ;;
    trials) trials weak ;;
    weak) train weak ;;
    playweak) play weak "$T_WEAK" 67 1 ;;
    play2) play base "$T_BASE" 0 2 ;;
    ablate) ablate base ;;
    table) table base; table weak; table strong ;;
    adapted) adapted base; adapted weak; adapted strong ;;
    tuned) tuned ;;
    strong) train strong ;;
    search) search base 134 ;;
    gate) gate base "$T_BASE" ;;
    compile) compile ;;
    *) say "unknown step $1; there are skill base choose val play1 adapt trials weak playweak play2 ablate strong table adapted search gate compile"; exit 2 ;;
  esac
}
for s in "${@:-skill base choose val play1 adapt trials weak playweak play2 ablate strong table adapted search gate compile}"; do
  for t in $s; do step "$t"; done
done
