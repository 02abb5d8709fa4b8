"""Judges a trained model on the held-out games of a corpus, without playing.

    python check.py --run runs/base --tokenizer tokenizer.json --corpus base.jsonl.gz

Prints JSON: loss by kind of line; AUROC of P("Nothing happens.") against what happened;
share of observations whose every token is the most likely one, by kind of command. Play
is the real test (`muse eval`): the one decision that counts, whether the thing sought is
in this list, is a small part of any loss.
"""

import argparse
import collections
import json
import os

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer

import corpus
from export import load_model
from tokenizer import NOTHING


def auroc(scores, labels):
    """Area under the ROC curve by ranks, ties counted half; NaN with one class only."""
    scores, labels = np.asarray(scores), np.asarray(labels, bool)
    if labels.all() or not labels.any():
        return float("nan")
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    positive = labels.sum()
    return float((ranks[labels].sum() - positive * (positive + 1) / 2) / (positive * (len(labels) - positive)))


def kind_of(command, observation, shown):
    """Row of the table for one observation; shown = places displayed earlier with the text they had."""
    verb = command.split()[0]
    if observation == NOTHING:
        return "nothing: " + verb
    if verb not in ("go", "open", "examine"):
        return verb
    place = " ".join(command.split()[-2:])
    if observation.endswith("is closed."):
        return verb + ": closed"
    look = observation[observation.index(". The") + 2:] if verb == "open" and ". The" in observation else observation
    if shown.get(place) == look:
        state = "seen, unchanged"
    elif place in shown:
        state = "seen, changed"
    else:
        state = "first look"
    shown[place] = look
    return f"{verb}: {state}"


@torch.no_grad()
def judge(model, tokenizer, path, max_episodes, max_length=1536):
    encoder = corpus.Encoder(tokenizer)
    nothing = tokenizer.token_to_id(NOTHING)
    loss, right, scores, labels = collections.defaultdict(list), collections.defaultdict(list), [], []
    seen = 0
    for record in corpus.read(path):
        if not corpus.held_out(record):
            continue
        seen += 1
        if seen > max_episodes:
            break
        ids, weights, kinds = encoder.encode(record, max_length)
        x = torch.from_numpy(ids.astype(np.int64))[None]
        logits = model(x[:, :-1])[0]
        each = F.cross_entropy(logits, x[0, 1:], reduction="none").numpy()
        best = logits.argmax(-1).numpy() == ids[1:]
        for i in np.nonzero(weights[1:])[0]:
            loss[corpus.KINDS[kinds[i + 1]]].append(each[i])
        at, command, shown = 1, "", {}
        for s in record["segments"]:
            length = len(encoder.ids(s["t"]))
            if at + length > len(ids):
                break
            if s["k"] == "act":
                command = s["t"].split("> ", 1)[1]
            elif s["k"] == "obs":
                body = s["t"][1:]
                # The token at `at` is the line break; the forecast stands behind it.
                scores.append(float(logits[at].softmax(-1)[nothing]))
                labels.append(body == NOTHING)
                right[kind_of(command, body, shown)].append(bool(best[at:at + length - 1].all()))
            at += length
    fixed = [k for k in right if k in ("take", "move", "clean", "heat", "cool", "use")]
    return {
        "episodes": min(seen, max_episodes),
        "loss": {k: round(float(np.mean(v)), 4) for k, v in loss.items()},
        "nothing_auroc": round(auroc(scores, labels), 4),
        "nothing_share": round(float(np.mean(labels)), 4),
        "exact_transitions": round(float(np.mean([v for k in fixed for v in right[k]])), 4),
        "exact": {k: [round(float(np.mean(v)), 3), len(v)] for k, v in sorted(right.items())},
    }


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--run", required=True)
    ap.add_argument("--tokenizer", required=True)
    ap.add_argument("--corpus", required=True)
    ap.add_argument("--episodes", type=int, default=300)
    a = ap.parse_args()
    torch.set_num_threads(1)
    model, saved = load_model(os.path.join(a.run, "checkpoint.pt"))
    result = judge(model, Tokenizer.from_file(a.tokenizer), a.corpus, a.episodes)
    print(json.dumps({"tokens": saved["tokens"], **result}, indent=1))


if __name__ == "__main__":
    main()
