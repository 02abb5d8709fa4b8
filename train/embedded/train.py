"""Trains one embedded model on one corpus; stops and resumes at any moment.

    python train.py --corpus base.jsonl.gz --tokenizer tokenizer.json --tokens 7e6 --out runs/base

The run depends on the corpus, the arguments and the seed only: the schedule follows the
tokens seen, never the clock. `--out` holds log.jsonl (one line every 25 steps) and
checkpoint.pt; the same command continues from the checkpoint.
"""

import argparse
import hashlib
import itertools
import json
import os
import time

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer

import corpus
from model import LM, Config
from optim import Optimiser, rate

LOG_EVERY = 25


def loss_of(model, ids, weights):
    """(weighted mean cross-entropy of the next token, each token's loss, their places in the flattened batch).

    Only tokens with a weight meet the head."""
    w = weights[:, 1:].flatten()
    places = w.nonzero()[:, 0]
    logits = model.logits(model.hidden(ids[:, :-1]).flatten(0, 1).index_select(0, places))
    each = F.cross_entropy(logits, ids[:, 1:].flatten()[places], reduction="none")
    w = w[places]
    return (each * w).sum() / w.sum(), each.detach(), places


def save(path, payload):
    """Write a checkpoint atomically."""
    torch.save(payload, path + ".tmp")
    os.replace(path + ".tmp", path)


def open_log(path, step):
    """The log, cut back to the step that the run continues from."""
    lines = [x for x in open(path) if json.loads(x)["step"] <= step] if os.path.exists(path) else []
    log = open(path, "w")
    log.writelines(lines)
    return log


def arguments():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--corpus", nargs="+", required=True, metavar="FILE[:N]", help="corpora; N = only the first N episodes")
    ap.add_argument("--tokenizer", required=True)
    ap.add_argument("--out", required=True)
    ap.add_argument("--tokens", type=float, required=True, help="tokens to train on, padding not counted")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--d", type=int, default=128)
    ap.add_argument("--layers", type=int, default=4)
    ap.add_argument("--heads", type=int, default=4)
    ap.add_argument("--kv-heads", type=int, default=2)
    ap.add_argument("--batch-tokens", type=int, default=2048)
    ap.add_argument("--max-length", type=int, default=1536)
    ap.add_argument("--init", default="", help="checkpoint to start from instead of random weights")
    ap.add_argument("--rate", type=float, default=1.0, help="factor of all learning rates")
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--checkpoint-every", type=int, default=200, help="steps")
    return ap.parse_args()


def main():
    a = arguments()
    torch.set_num_threads(a.threads)
    torch.manual_seed(a.seed)
    tokenizer = Tokenizer.from_file(a.tokenizer)
    settings = {k: v for k, v in vars(a).items() if k not in ("out", "threads", "checkpoint_every")}
    settings["tokenizer_sha256"] = hashlib.sha256(open(a.tokenizer, "rb").read()).hexdigest()
    model = LM(Config(tokenizer.get_vocab_size(), a.d, a.layers, a.heads, a.kv_heads))
    optimiser = Optimiser(model)
    os.makedirs(a.out, exist_ok=True)
    path = os.path.join(a.out, "checkpoint.pt")
    step = tokens = before = 0
    seconds = 0.0
    if os.path.exists(path):
        saved = torch.load(path, weights_only=False)
        # A checkpoint from before a setting existed was made with its default.
        old = {"init": "", "rate": 1.0, **saved["settings"]}
        if old != settings:
            differing = sorted(k for k in settings if old.get(k) != settings[k])
            raise SystemExit(f"{path}: made with other settings ({', '.join(differing)}); use another --out or the old settings")
        model.load_state_dict(saved["model"])
        optimiser.load_state_dict(saved["optimiser"])
        step, tokens, seconds, before = saved["step"], saved["tokens"], saved["seconds"], saved.get("tokens_before", 0)
    elif a.init:
        start = torch.load(a.init, weights_only=False)
        if start["settings"]["tokenizer_sha256"] != settings["tokenizer_sha256"]:
            raise SystemExit(f"{a.init}: trained with another tokenizer; pass that one")
        model.load_state_dict(start["model"])
        before = start["tokens"] + start.get("tokens_before", 0)
    episodes = corpus.load(a.corpus, tokenizer, a.max_length)
    have = sum(len(e[0]) for e in episodes)
    print(json.dumps({"episodes": len(episodes), "corpus_tokens": have, "vocab": model.c.vocab, "resumed_at_step": step,
                      "parameters": sum(p.numel() for p in model.parameters())}), flush=True)
    order = itertools.islice(corpus.batches(episodes, a.batch_tokens, a.seed), step, None)
    log = open_log(os.path.join(a.out, "log.jsonl"), step)
    sums, counts = np.zeros(len(corpus.KINDS)), np.zeros(len(corpus.KINDS))
    started = time.time() - seconds
    while tokens < a.tokens:
        ids, weights, kinds = corpus.pad(episodes, next(order))
        loss, each, places = loss_of(model, torch.from_numpy(ids), torch.from_numpy(weights))
        loss.backward()
        optimiser.step(a.rate * rate(step, tokens, a.tokens))
        optimiser.zero_grad()
        k = kinds[:, 1:].flatten()[places.numpy()]
        sums += np.bincount(k, each.numpy(), len(sums))
        counts += np.bincount(k, minlength=len(counts))
        step, tokens = step + 1, tokens + int((ids > 0).sum())
        done = tokens >= a.tokens
        if step % LOG_EVERY == 0 or done:
            losses = {corpus.KINDS[i]: round(sums[i] / counts[i], 4) for i in range(len(sums)) if counts[i]}
            line = {"step": step, "tokens": tokens, "seconds": round(time.time() - started, 1),
                    "tokens_per_s": round(tokens / (time.time() - started)), "loss": losses}
            print(json.dumps(line), file=log, flush=True)
            sums[:], counts[:] = 0, 0
        if step % a.checkpoint_every == 0 or done:
            save(path, {"settings": settings, "config": vars(model.c), "model": model.state_dict(), "optimiser": optimiser.state_dict(),
                        "step": step, "tokens": tokens, "tokens_before": before, "seconds": time.time() - started})
    print(json.dumps({"done": True, "steps": step, "tokens": tokens, "seconds": round(time.time() - started, 1)}))


if __name__ == "__main__":
    main()
