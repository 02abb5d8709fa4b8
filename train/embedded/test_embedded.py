"""Tests of the recipe on the invented household; about a minute on one core: python -m pytest"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

import check
import corpus
import kernels
import synthetic
import tokenizer as pieces
from export import Decoder, difference, rounded, sha256
from graph import build
from model import LM, Config, rope_table
from optim import Optimiser, orthogonalise, rate

torch.set_num_threads(1)  # more threads than free cores make everything many times slower

HERE = os.path.dirname(os.path.abspath(__file__))
SHIPPED = os.path.join(HERE, "..", "..", "internal", "llm", "embedded", "models")


@pytest.fixture(scope="session")
def household(tmp_path_factory):
    """(corpus path, tokenizer path) of 400 invented episodes."""
    folder = tmp_path_factory.mktemp("household")
    path, tok = str(folder / "corpus.jsonl.gz"), str(folder / "tokenizer.json")
    synthetic.write(path, 400, seed=3)
    pieces.build([path])[0].save(tok)
    return path, tok


def random_model(vocab=40, seed=0):
    """A network in which no weight is zero, so that every path is tested."""
    torch.manual_seed(seed)
    model = LM(Config(vocab))
    for p in model.parameters():
        if not p.any():
            torch.nn.init.normal_(p, std=0.08)
    return model


def test_tokens_give_the_text_back(household):
    path, tok = household
    t = Tokenizer.from_file(tok)
    names = {i: v for v, i in t.get_vocab().items()}
    for record in corpus.read(path, 100):
        whole = corpus.text(record)
        ids = t.encode(whole).ids
        assert "".join(names[i] for i in ids) == whole == t.decode(ids)
        # Segment by segment gives the same tokens: this is what decoding by prefix relies on.
        assert ids == [i for s in record["segments"] for i in t.encode(s["t"]).ids]


def test_tags_and_failure_are_single_tokens(household):
    t = Tokenizer.from_file(household[1])
    for tag in pieces.TAGS:
        assert t.encode(tag).tokens == [tag]
        assert t.encode(tag + " find mug").tokens[0] == tag
    assert t.encode("\n" + pieces.NOTHING).tokens == ["\n", pieces.NOTHING]
    assert t.token_to_id("<pad>") == corpus.PAD and t.token_to_id("<bos>") == corpus.BOS
    assert t.encode("\n> go to drawer 12").tokens == ["\n>", " go to", " drawer", " 12"]


def test_phrases_never_split_words(household):
    t = Tokenizer.from_file(household[1])
    assert t.encode("On themes").tokens != ["On the", "<unk>"]
    assert t.encode(" go tomato 1").tokens == [" go", " tomato", " 1"]


def test_text_cannot_forge_special_tokens(household):
    t = Tokenizer.from_file(household[1])
    assert not {0, 1} & set(t.encode("<pad> <bos> a <bos>").ids)


def test_every_type_and_number_is_known(household):
    t = Tokenizer.from_file(household[1])
    for name in pieces.TYPES:
        assert t.encode(f" {name} 60").tokens == [f" {name}", " 60"]


def test_weights_follow_segments(household):
    t = Tokenizer.from_file(household[1])
    record = {"id": "x", "won": False, "segments": [
        {"k": "task", "t": "Your task is to: put a mug in shelf.", "w": 0}, {"k": "act", "t": "\n> go to shelf 1", "w": 0},
        {"k": "obs", "t": "\nNothing happens.", "w": 0.4}]}
    ids, weights, kinds = corpus.Encoder(t).encode(record, 100)
    assert ids[0] == corpus.BOS
    # The tags count in full although the action itself has no weight.
    assert [round(float(w), 1) for w in weights[-6:]] == [1, 0, 0, 0, 1, 0.4]
    assert corpus.KINDS[kinds[-1]] == "obs"
    assert len(corpus.Encoder(t).encode(record, 4)[0]) == 4
    # Of a watched episode nothing is learnt but what has a weight.
    record.update(watched=True)
    assert [round(float(w), 1) for w in corpus.Encoder(t).encode(record, 100)[1][-6:]] == [0, 0, 0, 0, 0.4, 0.4]


def test_batches_cover_a_pass_once(household):
    path, tok = household
    episodes = corpus.load([path], Tokenizer.from_file(tok), 1536)
    stream, seen = corpus.batches(episodes, 2048, seed=5), []
    while len(seen) < len(episodes):
        seen += next(stream)
    assert sorted(seen) == list(range(len(episodes)))
    held = corpus.load([path], Tokenizer.from_file(tok), 1536, want_held_out=True)
    assert len(held) + len(episodes) == 400 and held
    # A mixture: the first 50 episodes again, after all of the file.
    first = corpus.load([path + ":50"], Tokenizer.from_file(tok), 1536)
    mixed = corpus.load([path, path + ":50"], Tokenizer.from_file(tok), 1536)
    assert 0 < len(first) <= 50 and len(mixed) == len(episodes) + len(first)


def test_broken_corpus_is_named(tmp_path):
    path = tmp_path / "broken.jsonl"
    path.write_text('{"id": "a", "segments": []}\n')
    with pytest.raises(ValueError, match="broken.jsonl:1"):
        list(corpus.read(path))


@pytest.mark.parametrize("name", ["rms", "rotate", "squared_relu", "cap"])
def test_gradients_of_kernels(name):
    torch.manual_seed(0)
    x = torch.randn(2, 3, 5, 8, dtype=torch.float64, requires_grad=True)
    table = [t.double() for t in rope_table(5, 8)]
    extra = {"rotate": table, "cap": [2.0]}.get(name, [])
    ours, want = getattr(kernels, name)(x, *extra), getattr(kernels.plain, name)(x, *extra)
    g = torch.randn_like(ours)
    assert torch.allclose(ours, want, atol=1e-12)
    assert torch.allclose(torch.autograd.grad(ours, x, g)[0], torch.autograd.grad(want, x, g)[0], atol=1e-12)


def test_causal():
    model = random_model().eval()
    a = torch.randint(3, 40, (1, 30))
    b = a.clone()
    b[0, 20:] = 3
    with torch.no_grad():
        assert torch.allclose(model(a)[:, :20], model(b)[:, :20], atol=1e-5)
        assert not torch.allclose(model(a)[:, 20:], model(b)[:, 20:], atol=1e-2)


def test_orthogonalise():
    torch.manual_seed(0)
    for shape in ((3, 16, 16), (2, 48, 16), (2, 16, 48)):
        values = torch.linalg.svdvals(orthogonalise(torch.randn(shape)))
        assert 0.3 < values.min() and values.max() < 1.4


def test_schedule():
    assert rate(0, 0, 100) == 1 / 40 and rate(99, 40, 100) == 1
    assert abs(rate(99, 75, 100) - 0.5) < 1e-12 and rate(99, 100, 100) == 0


def test_optimiser_learns():
    torch.manual_seed(0)
    model = random_model()
    optimiser = Optimiser(model)
    ids = torch.randint(3, 40, (2, 20))
    losses = []
    for step in range(30):
        loss = torch.nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        optimiser.step(1.0)
        optimiser.zero_grad()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.3 * losses[0]


def test_graph_equals_network():
    model = random_model(60)
    weights = rounded(model.state_dict())
    model.load_state_dict(weights)
    data = build(model.c, {k: v.numpy() for k, v in weights.items()}).SerializeToString(deterministic=True)
    assert difference(Decoder(data, model.eval().c), model) < 1e-4


def test_masked_slots_do_not_matter():
    """Spare capacity of any content behind the masks changes nothing."""
    model = random_model(60).eval()
    data = build(model.c, {k: v.numpy() for k, v in model.state_dict().items()}).SerializeToString()
    decoder = Decoder(data, model.c)
    ids = np.random.default_rng(1).integers(3, 60, (3, 50))
    ids[:, :20] = ids[0, :20]
    assert np.abs(decoder.split(ids, 20, 10, 0) - decoder.split(ids, 20, 10, 44)).max() < 1e-4


def train(household, out, tokens, *more):
    path, tok = household
    command = [sys.executable, os.path.join(HERE, "train.py"), "--corpus", path, "--tokenizer", tok, "--tokens", str(tokens), "--out", str(out),
               "--checkpoint-every", "4", *more]
    return subprocess.run(command, capture_output=True, text=True, cwd=HERE, timeout=300)


def test_training_resumes_exactly(household, tmp_path):
    """A run that is killed continues to the same weights as one that is not."""
    assert train(household, tmp_path / "straight", 20_000).returncode == 0
    script = ("import sys, os, train; sys.argv[0] = 'train.py'; keep = train.save\n"
              "def save(path, payload):\n"
              "    keep(path, payload)\n"
              "    os._exit(9) if payload['step'] == 4 else None\n"
              "train.save = save; train.main()")
    path, tok = household
    arguments = ["--corpus", path, "--tokenizer", tok, "--tokens", "20000", "--out", str(tmp_path / "cut"), "--checkpoint-every", "4"]
    assert subprocess.run([sys.executable, "-c", script, *arguments], cwd=HERE).returncode == 9
    assert train(household, tmp_path / "cut", 20_000).returncode == 0
    a, b = (torch.load(tmp_path / n / "checkpoint.pt", weights_only=False) for n in ("straight", "cut"))
    assert a["step"] == b["step"] and a["tokens"] == b["tokens"]
    assert all(torch.equal(a["model"][k], b["model"][k]) for k in a["model"])
    refused = train(household, tmp_path / "cut", 30_000)
    assert refused.returncode != 0 and "other settings (tokens)" in refused.stderr


def test_second_stage_starts_from_the_first(household, tmp_path):
    """With --init a run starts from given weights and counts their tokens."""
    assert train(household, tmp_path / "one", 6_000).returncode == 0
    assert train(household, tmp_path / "two", 2_000, "--init", str(tmp_path / "one" / "checkpoint.pt"), "--rate", "0").returncode == 0
    a, b = (torch.load(tmp_path / n / "checkpoint.pt", weights_only=False) for n in ("one", "two"))
    assert all(torch.equal(a["model"][k], b["model"][k]) for k in a["model"])  # at rate 0 nothing moves
    assert b["tokens_before"] == a["tokens"]


def test_auroc():
    assert check.auroc([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]) == 0.75
    assert check.auroc([0.5, 0.5], [0, 1]) == 0.5


def test_shipped_models_are_what_the_index_says():
    index = json.load(open(os.path.join(SHIPPED, "models.json")))
    for m in index:
        assert sha256(os.path.join(SHIPPED, m["file"])) == m["sha256"]
        assert sha256(os.path.join(SHIPPED, m["tokenizer"])) == m["tokenizer_sha256"]
        c = Config(m["vocab"], m["d"], m["layers"], m["heads"], m["kv_heads"], context=m["context"])
        out = Decoder(open(os.path.join(SHIPPED, m["file"]), "rb").read(), c).split(np.full((2, 9), 5), 4, 2)
        assert out.shape == (2, 9, m["vocab"]) and np.isfinite(out).all()
