"""Exports a checkpoint: ONNX file, check against the training network, entry in models.json.

    python export.py --run runs/base --name base --mixture base --tokenizer tokenizer.json \\
        --out ../../internal/llm/embedded/models

Same checkpoint, same bytes. `--check` re-examines the exported files without writing.
"""

import argparse
import hashlib
import json
import os
import shutil
import time

import numpy as np
import onnxruntime
import torch

from graph import build
from model import LM, Config

#: Largest difference of logits allowed between ONNX and torch with the same rounded weights.
TOLERANCE = 1e-3
CONTEXT = 2048


def rounded(state):
    """The weights as the file holds them: through float16 and back."""
    return {k: v.detach().half().float() for k, v in state.items()}


def load_model(checkpoint):
    """(network with rounded weights, the checkpoint)."""
    saved = torch.load(checkpoint, weights_only=False, map_location="cpu")
    model = LM(Config(**saved["config"]))
    model.load_state_dict(rounded(saved["model"]))
    return model.eval(), saved


class Decoder:
    """onnxruntime over an exported graph; the reference for callers in other languages."""

    def __init__(self, model_bytes, c, threads=1):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = threads
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(model_bytes, options, providers=["CPUExecutionProvider"])
        self.c, self.names = c, [o.name for o in self.session.get_outputs()]

    def empty(self, rows, length=0):
        """Cache buffers of one side: per layer (k, v), filled with a value that must stay masked."""
        c = self.c
        return [tuple(np.full((rows, c.kv_heads, length, c.head_dim), 3, np.float32) for _ in "kv") for _ in range(c.layers)]

    def run(self, ids, pos, prefix, prefix_mask, suffix, suffix_mask):
        """ids [B, n+2]; returns a dict of outputs."""
        feed = {"ids": ids, "pos": np.array([pos]), "prefix_mask": prefix_mask, "suffix_mask": suffix_mask}
        for i in range(self.c.layers):
            feed[f"prefix_k_{i}"], feed[f"prefix_v_{i}"] = prefix[i]
            feed[f"suffix_k_{i}"], feed[f"suffix_v_{i}"] = suffix[i]
        return dict(zip(self.names, self.session.run(None, feed)))

    def split(self, ids, prefix, suffix, spare=0):
        """Logits [B, T, V] of rows that share `prefix` tokens, got in three calls: the shared
        prefix once, then `suffix` tokens a row, then the rest; `spare` masked slots a buffer."""
        rows = ids.shape[0]
        x = np.concatenate([np.zeros((rows, 2), np.int64), ids], 1)
        none = np.zeros(0, np.float32)
        one, many, one_mask, many_mask = self.empty(1), self.empty(rows), none, none
        parts = []
        if prefix:
            out = self.run(x[:1, :prefix + 2], 0, one, none, self.empty(1), none)
            parts.append(np.repeat(out["logits"], rows, 0))
            one, one_mask = self.filled(out, 1, prefix, spare)
        if suffix:
            out = self.run(x[:, prefix:prefix + suffix + 2], prefix, one, one_mask, many, many_mask)
            parts.append(out["logits"])
            many, many_mask = self.filled(out, rows, suffix, spare)
        parts.append(self.run(x[:, prefix + suffix:], prefix + suffix, one, one_mask, many, many_mask)["logits"])
        return np.concatenate(parts, 1)

    def filled(self, out, rows, length, spare):
        buffers = self.empty(rows, length + spare)
        for i, (k, v) in enumerate(buffers):
            k[:, :, :length], v[:, :, :length] = out[f"new_k_{i}"], out[f"new_v_{i}"]
        mask = np.zeros(length + spare, np.float32)
        mask[length:] = -1e9
        return buffers, mask


def difference(decoder, model, seed=0):
    """Largest difference of logits between the graph and torch, over prefix/suffix splits, up to 700 positions."""
    rng = np.random.default_rng(seed)
    worst = 0.0
    for rows, total, prefix, suffix, spare in ((1, 700, 0, 0, 0), (3, 90, 30, 0, 34), (5, 120, 64, 20, 12), (5, 70, 0, 30, 2), (2, 40, 39, 0, 0)):
        ids = rng.integers(3, model.c.vocab, (rows, total))
        ids[:, :prefix] = ids[0, :prefix]
        with torch.no_grad():
            want = model(torch.from_numpy(ids)).numpy()
        worst = max(worst, float(np.abs(decoder.split(ids, prefix, suffix, spare) - want).max()))
    return worst


def milliseconds(decoder, rows, prefix, suffix, new, repeats=200):
    """Median time of one call; the tensors are prepared once, as a careful caller does."""
    rng = np.random.default_rng(0)
    feed = {"ids": np.full((rows, new + 2), 5), "pos": np.array([prefix + suffix]),
            "prefix_mask": np.zeros(prefix, np.float32), "suffix_mask": np.zeros(suffix, np.float32)}
    for i in range(decoder.c.layers):
        for side in "kv":
            feed[f"prefix_{side}_{i}"] = rng.standard_normal((1, decoder.c.kv_heads, prefix, decoder.c.head_dim)).astype(np.float32)
            feed[f"suffix_{side}_{i}"] = rng.standard_normal((rows, decoder.c.kv_heads, suffix, decoder.c.head_dim)).astype(np.float32)
    values = {k: onnxruntime.OrtValue.ortvalue_from_numpy(v) for k, v in feed.items()}
    spent = []
    for _ in range(repeats):
        start = time.perf_counter()
        decoder.session.run_with_ort_values(None, values)
        spent.append(time.perf_counter() - start)
    return 1000 * sorted(spent)[repeats // 2]


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def write(path, data):
    """Atomic write of bytes."""
    with open(path + ".tmp", "wb") as f:
        f.write(data)
    os.replace(path + ".tmp", path)


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--run", required=True, help="folder with checkpoint.pt")
    ap.add_argument("--name", required=True)
    ap.add_argument("--mixture", required=True, help="name of the corpus' mixture of players")
    ap.add_argument("--tokenizer", required=True)
    ap.add_argument("--out", required=True)
    ap.add_argument("--check", action="store_true", help="compare only, write nothing")
    ap.add_argument("--bench", action="store_true", help="time the graph on one thread, write nothing")
    a = ap.parse_args()
    model, saved = load_model(os.path.join(a.run, "checkpoint.pt"))
    c = model.c
    if saved["settings"]["tokenizer_sha256"] != sha256(a.tokenizer):
        raise SystemExit(f"{a.tokenizer}: {a.run} was trained with another tokenizer; pass that one")
    data = build(c, {k: v.numpy() for k, v in rounded(saved["model"]).items()}).SerializeToString(deterministic=True)
    apart = difference(Decoder(data, c), model)
    if apart > TOLERANCE:
        raise SystemExit(f"{a.name}: the graph differs from the network by {apart:.2e} (allowed {TOLERANCE})")
    print(f"{a.name}: {len(data)} bytes, largest difference of logits {apart:.1e}")
    if a.bench:
        for shape in ((1, 300, 64, 1), (5, 300, 64, 1), (5, 600, 64, 1), (1, 0, 0, 100), (1, 0, 0, 300), (1, 300, 0, 20)):
            print("rows {}, prefix {}, suffix {}, new {}: {:.3f} ms".format(*shape, milliseconds(Decoder(data, c), *shape)))
    if a.check or a.bench:
        return
    os.makedirs(a.out, exist_ok=True)
    file = a.name + ".onnx"
    write(os.path.join(a.out, file), data)
    shutil.copyfile(a.tokenizer, os.path.join(a.out, "tokenizer.json"))
    entry = {
        "name": a.name, "file": file, "sha256": sha256(os.path.join(a.out, file)), "tokenizer": "tokenizer.json",
        "tokenizer_sha256": sha256(a.tokenizer), "d": c.d, "layers": c.layers, "heads": c.heads, "kv_heads": c.kv_heads,
        "head_dim": c.head_dim, "vocab": c.vocab, "context": CONTEXT,
        "parameters": sum(p.numel() for p in model.parameters()), "mixture": a.mixture, "tokens": saved["tokens"] + saved.get("tokens_before", 0),
        "steps": saved["step"], "seed": saved["settings"]["seed"], "success_unseen_t05": None,
    }
    index = os.path.join(a.out, "models.json")
    models = json.load(open(index)) if os.path.exists(index) else []
    for old in models:
        if old["name"] == a.name and old["sha256"] == entry["sha256"]:
            entry["success_unseen_t05"] = old.get("success_unseen_t05")
    models = sorted([m for m in models if m["name"] != a.name] + [entry], key=lambda m: m["name"])
    write(index, (json.dumps(models, indent=2) + "\n").encode())


if __name__ == "__main__":
    main()
