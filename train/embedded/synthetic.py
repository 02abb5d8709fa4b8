"""A small invented household that writes episodes in the corpus format.

The real corpus is written by `muse corpus` from ALFWorld's games. This stand-in has
the same kinds of lines and the same weights, so that the tokenizer, the training and
the export can be tried and tested in seconds, without the Go program:

    python synthetic.py out.jsonl.gz --episodes 500 --seed 1
"""

import argparse
import gzip
import json
import random

OBSERVATION_WEIGHT = 0.4

PLACES = {"shelf": 3, "desk": 1, "drawer": 4, "sidetable": 2, "bed": 1, "safe": 1, "garbagecan": 1}
CLOSED = {"drawer", "safe"}
THINGS = ["mug", "cd", "pen", "book", "alarmclock", "cellphone", "keychain", "pillow", "vase", "watch"]


def listing(names):
    """Names as the game lists them: `a bowl 1, a cup 2, and a pan 1`."""
    if not names:
        return "nothing"
    if len(names) == 1:
        return "a " + names[0]
    return ", ".join("a " + n for n in names[:-1]) + ", and a " + names[-1]


class House:
    """One room: places, what lies in them, and the player's hand."""

    def __init__(self, rng):
        self.places = [f"{t} {i}" for t, n in sorted(PLACES.items()) for i in range(rng.randint(1, n), 0, -1)]
        self.inside = {p: [] for p in self.places}
        self.closed = {p for p in self.places if p.split()[0] in CLOSED}
        self.at, self.hand = None, None
        for thing in THINGS:
            for number in range(1, rng.randint(1, 3) + 1):
                self.inside[rng.choice(self.places)].append(f"{thing} {number}")
        for names in self.inside.values():
            names.sort()

    def describe(self, place):
        if place in self.closed:
            return f"The {place} is closed."
        names = listing(self.inside[place])
        if place.split()[0] in CLOSED:
            return f"The {place} is open. In it, you see {names}."
        return f"On the {place}, you see {names}."

    def do(self, command):
        """The observation that follows a command; `Nothing happens.` when it has no effect."""
        words = command.split()
        if command.startswith("go to ") and command[6:] in self.inside and command[6:] != self.at:
            self.at = command[6:]
            return self.describe(self.at)
        if command.startswith("open ") and command[5:] == self.at and self.at in self.closed:
            self.closed.discard(self.at)
            return f"You open the {self.at}. {self.describe(self.at)}"
        if words[0] == "take" and self.hand is None:
            thing, place = command[5:].split(" from ")
            if place == self.at and place not in self.closed and thing in self.inside[place]:
                self.inside[place].remove(thing)
                self.hand = thing
                return f"You pick up the {thing} from the {place}."
        if words[0] == "move" and self.hand:
            thing, place = command[5:].split(" to ")
            if thing == self.hand and place == self.at and place not in self.closed:
                self.inside[place] = sorted(self.inside[place] + [thing])
                self.hand = None
                return f"You move the {thing} to the {place}."
        return "Nothing happens."


def episode(number, rng, limit=25):
    """One episode as a corpus record; about a third of the players are confused and may lose."""
    house = House(rng)
    thing = rng.choice(THINGS)
    goal = rng.choice(["shelf", "desk", "sidetable", "bed"])
    confused = rng.random() < 0.35
    segments = [
        ("task", f"Your task is to: put a {thing} in {goal}.", 0),
        ("room", "\nYou are in the middle of a room. Looking quickly around you, you see " + listing(house.places) + ".", 0),
    ]
    where = [p for p, names in house.inside.items() if any(n.split()[0] == thing for n in names)]
    if where and rng.random() < 0.4:
        segments.append(("reflection", f"\nreflection: the {thing} was in {where[0]}, go there first.", 0))
        order = where[:1] + [p for p in house.places if p != where[0]]
    else:
        order = rng.sample(house.places, len(house.places))
    kinds = list(dict.fromkeys(p.split()[0] for p in order))
    segments.append(("plan", f"\nplan: find {thing} in {', '.join(kinds[:4])}; put it in {goal} 1.", 1))
    won, looked = False, []
    for _ in range(limit):
        target = f"{goal} 1"
        visible = [] if house.at in (None, *house.closed) else [n for n in house.inside[house.at] if n.split()[0] == thing]
        if confused and rng.random() < 0.5:
            think, act = f"i see {thing} 1 in {house.at or target}.", f"take {thing} 1 from {house.at or target}"
        elif house.hand:
            think = f"i have {house.hand}. next put it in {target}."
            act = f"move {house.hand} to {target}" if house.at == target else f"go to {target}"
        elif visible:
            think, act = f"find {thing}: i see {visible[0]} in {house.at}.", f"take {visible[0]} from {house.at}"
        elif house.at in house.closed:
            think, act = f"find {thing}: {house.at} is closed.", f"open {house.at}"
        else:
            left = [p for p in order if p not in looked] or house.places
            think, act = f"find {thing}: not here. next {left[0]}.", f"go to {left[0]}"
            looked.append(left[0])
        seen = house.do(act)
        segments += [("think", "\nthink: " + think, 1), ("act", "\n> " + act, 1), ("obs", "\n" + seen, OBSERVATION_WEIGHT)]
        if act.startswith("move") and seen != "Nothing happens.":
            won = True
            break
    segments.append(("end", "\n[end: won]" if won else "\n[end: lost]", 1))
    if not won:
        segments.append(("reflection", f"\nreflection: the {thing} is not in {', '.join(looked[:6]) or house.places[0]}.", 1))
    return {"id": f"synthetic-{number}", "won": won, "mix": "synthetic",
            "segments": [{"k": k, "t": t, "w": w} for k, t, w in segments]}


def write(path, episodes, seed):
    """Write a gzip corpus of the given number of episodes; equal seeds give equal episodes."""
    rng = random.Random(seed)
    with gzip.open(path, "wt", encoding="utf-8") as out:
        for number in range(episodes):
            out.write(json.dumps(episode(number, rng)) + "\n")


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("out")
    ap.add_argument("--episodes", type=int, default=500)
    ap.add_argument("--seed", type=int, default=1)
    a = ap.parse_args()
    write(a.out, a.episodes, a.seed)
