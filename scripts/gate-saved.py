#!/usr/bin/env python3
"""Share of commands that an agent sent without assessing futures, from finished runs of
`muse eval`: what a gate saves. 95 % interval by bootstrap over games, fixed seed.

    python3 scripts/gate-saved.py muse-gated runs/gated-single
"""
import json, random, sys


def main(arm, folders):
    games = {}
    for folder in folders:  # pooled: the seeds of one gate may lie in several
        with open(folder + "/episodes.jsonl") as f:
            for line in f:
                e = json.loads(line)
                if e.get("arm", "").split("@")[0] != arm:
                    continue
                n = games.setdefault(e["task_id"], [0, 0, 0, 0])
                n[2] += 1
                n[3] += e["usage"]["completion_tokens"]
                for s in e["steps"]:
                    n[0] += 1
                    n[1] += not any("assessment" in c for c in s["trace"].get("candidates", []))
    if not games:
        sys.exit(f"no episode of {arm} in {folders}; name an agent of the run")
    rows = [games[g] for g in sorted(games)]
    rnd = random.Random(1)
    share = lambda rs: sum(r[1] for r in rs) / max(1, sum(r[0] for r in rs))
    draws = sorted(share(rnd.choices(rows, k=len(rows))) for _ in range(1000))
    episodes = sum(r[2] for r in rows)
    print(f"{arm}: {len(rows)} games, {episodes} episodes: {share(rows):.3f} [{draws[25]:.3f}, {draws[974]:.3f}] of the commands without assessments, {sum(r[3] for r in rows) / episodes:.0f} tokens an episode")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
