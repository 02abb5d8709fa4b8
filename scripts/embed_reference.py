#!/usr/bin/env python3
"""Records reference vectors of all-MiniLM-L6-v2 by an independent route.

    python3 -m venv venv && venv/bin/pip install sentence-transformers==6.2.0 transformers==5.24.0
    venv/bin/python scripts/embed_reference.py .deps-model-folder > testdata/minilm/reference.jsonl

The folder is a sentence-transformers model folder with the original weights
(model.safetensors, config.json, modules.json, tokenizer.json, 1_Pooling, ...).
One line a text: the text, its token ids, and the vector as base64 of 384
little-endian float32. The test in internal/embed compares with these.
"""
import base64
import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

TEXTS = [
    "",
    " ",
    "a",
    "hello world",
    "Your task is to: put a clean mug in shelf.",
    "Your task is to: put two soapbar in garbagecan.",
    "> go to desk 1\nOn the desk 1, you see nothing.\n> go to shelf 2\nOn the shelf 2, you see a book 1, and a mug 2.\n"
    "> take mug 2 from shelf 2\nYou pick up the mug 2 from the shelf 2.\n> go to sinkbasin 1\nOn the sinkbasin 1, you see nothing.",
    "plan: find a mug, clean it with sinkbasin 1, put it in shelf 1.",
    "think: find mug: not here. next desk 1.",
    "> open drawer 12\nNothing happens.\n> open drawer 12\nNothing happens.\n> open drawer 12\nNothing happens.\n[end: lost]",
    "You are in the middle of a room. Looking quickly around you, you see a bed 1, a cabinet 4, a cabinet 3, a cabinet 2, a cabinet 1, "
    "a countertop 1, a garbagecan 1, a handtowelholder 2, a handtowelholder 1, a sinkbasin 2, a sinkbasin 1, a toilet 1, "
    "a toiletpaperhanger 1, and a towelholder 1.",
    "The quick brown fox jumps over the lazy dog.",
    "THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG!!!",
    "Die Katze saß gemütlich auf dem warmen Ofen und schlief; übermäßig müde war sie nicht.",
    "Le garçon a déjà mangé une pêche à l'école.",
    "Кошка спит на тёплой печке.",
    "猫は暖かいストーブの上で眠っています。",
    "고양이가 따뜻한 난로 위에서 자고 있어요.",
    "القطة تنام على الموقد الدافئ.",
    "बिल्ली गर्म चूल्हे पर सो रही है।",
    "🐈 on a 🔥 stove — naïve façade, 50 % off, π ≈ 3.14159…",
    "for i := range xs { sum += float64(xs[i]) * w[i] } // dot product",
    "see https://example.org/a/b?c=d&e=f#g or write to someone@example.org",
    "x" * 100,
    "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "[CLS] special [SEP] tokens [MASK] inside [PAD] the text [UNK]",
    "tab\tand\r\nnewlines\n\nand\x07bell\x1bescape\u00a0nbsp\u200bzero width",
    "a cut\x00off text must be read to its end",
    " ".join(f"go to cabinet {i} and open drawer {i + 1}." for i in range(60)),
]


def main(folder):
    torch.set_num_threads(1)
    model = SentenceTransformer(folder, device="cpu")
    assert model.max_seq_length == 256
    for text in TEXTS:
        vec = model.encode([text], normalize_embeddings=True, convert_to_numpy=True)[0].astype("<f4")
        ids = model.tokenize([text])["input_ids"][0].tolist()
        assert vec.shape == (384,) and abs(np.linalg.norm(vec) - 1) < 1e-5
        print(json.dumps({"text": text, "ids": ids, "vec": base64.b64encode(vec.tobytes()).decode()}, ensure_ascii=False))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
