"""Reading the corpus and turning episodes into weighted token sequences and batches.

A corpus is JSON lines (plain or .gz): {"id", "won", "mix", "segments": [{"k", "t", "w"}]}.
The texts of the segments, put together, are the episode's exact text; w is the weight
of the segment in the loss.
"""

import gzip
import hashlib
import json
import random

import numpy as np

PAD, BOS = 0, 1
#: Kinds whose first token (the tag that opens the line) is always learnt: it is the
#: decision what to write next. For an observation that token is the bare newline,
#: which ends the command. (Not in "watched" episodes: there the weights are all.)
TAG_WEIGHT = {"plan": 1.0, "think": 1.0, "act": 1.0, "end": 1.0, "obs": 1.0}
#: Index of each kind in the per-token kind array of `encode`.
KINDS = ["task", "room", "reflection", "plan", "think", "act", "obs", "end"]
#: One game in HELD_OUT is kept out of training, to measure on.
HELD_OUT = 40


def read(path, limit=None):
    """Yield the episodes of a corpus file; errors name the file and the line."""
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            if limit is not None and number > limit:
                return
            try:
                record = json.loads(line)
                if not record["segments"]:
                    raise ValueError("no segments")
            except (ValueError, KeyError) as e:
                raise ValueError(f"{path}:{number}: not a corpus episode ({e}); write the corpus again with `muse corpus`") from e
            yield record


def text(record):
    """The episode's exact text."""
    return "".join(s["t"] for s in record["segments"])


def held_out(record):
    """Whether the episode's game is kept out of training (decided by the game's id alone)."""
    return int.from_bytes(hashlib.sha256(record["id"].encode()).digest()[:4], "big") % HELD_OUT == 0


class Encoder:
    """Episodes to token ids; remembers segments already seen, since most lines recur."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.cache = {}

    def ids(self, segment_text):
        found = self.cache.get(segment_text)
        if found is None:
            found = self.tokenizer.encode(segment_text, add_special_tokens=False).ids
            if len(segment_text) < 80:
                self.cache[segment_text] = found
        return found

    def encode(self, record, max_length):
        """(ids int16, weights float16, kinds int8) of at most max_length tokens.

        Segments start at a line break, where a token always starts too, so encoding
        them one by one equals encoding the whole text.
        weights[i] is the weight of predicting ids[i]."""
        ids, weights, kinds = [BOS], [0.0], [0]
        for s in record["segments"]:
            e = self.ids(s["t"])
            w = [float(s["w"])] * len(e)
            if s["t"].startswith("\n") and s["k"] in TAG_WEIGHT and w and not record.get("watched"):
                w[0] = TAG_WEIGHT[s["k"]]
            ids += e
            weights += w
            kinds += [KINDS.index(s["k"])] * len(e)
        n = max_length
        return np.array(ids[:n], np.int16), np.array(weights[:n], np.float16), np.array(kinds[:n], np.int8)


def load(paths, tokenizer, max_length, want_held_out=False):
    """Encode all training (or held-out) episodes of the files, in file order.

    A path may be `FILE:N`: only the first N episodes, to mix corpora in a given ratio."""
    encoder, encoded = Encoder(tokenizer), []
    for path in paths:
        file, colon, count = str(path).rpartition(":")
        if colon and count.isdigit():
            path, limit = file, int(count)
        else:
            limit = None
        encoded += [encoder.encode(r, max_length) for r in read(path, limit) if held_out(r) == want_held_out]
    return encoded


def batches(episodes, tokens, seed, window=1500):
    """Yield index lists for ever: episodes in a seeded order, sorted by length inside
    windows, cut into batches of about `tokens` tokens with little padding.

    The order depends on the seed and the pass number only, so that a resumed run can
    skip to the batch where it was stopped."""
    passed = 0
    while True:
        order = list(range(len(episodes)))
        random.Random(f"{seed}/{passed}").shuffle(order)
        for start in range(0, len(order), window):
            part = sorted(order[start:start + window], key=lambda i: (len(episodes[i][0]), i))
            cut, current = [], []
            for i in part:
                if current and (len(current) + 1) * len(episodes[i][0]) > tokens:
                    cut.append(current)
                    current = []
                current.append(i)
            cut.append(current)
            random.Random(f"{seed}/{passed}/{start}").shuffle(cut)
            yield from cut
        passed += 1


def pad(episodes, indices):
    """One batch: ids int64 [B, T] (0 = padding), weights float32 [B, T], kinds int8 [B, T]."""
    rows = [episodes[i] for i in indices]
    width = max(len(r[0]) for r in rows)
    ids = np.zeros((len(rows), width), np.int64)
    weights = np.zeros((len(rows), width), np.float32)
    kinds = np.zeros((len(rows), width), np.int8)
    for k, (i, w, s) in enumerate(rows):
        ids[k, :len(i)], weights[k, :len(i)], kinds[k, :len(i)] = i, w, s
    return ids, weights, kinds
