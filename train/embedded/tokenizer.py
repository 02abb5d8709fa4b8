"""Builds tokenizer.json from corpora: whole phrases, words and numbers, without loss.

The vocabulary is closed and small (some hundreds of pieces), because the text is: the
game's sentences, the players' short thoughts, types of things and their numbers. Every
piece is a literal stretch of text, blanks included, so that the surfaces of a sequence,
put together, are the text itself. The file is an ordinary Hugging Face tokenizer: one
splitting expression and a WordLevel vocabulary.

    python tokenizer.py --out tokenizer.json weak.jsonl.gz base.jsonl.gz strong.jsonl.gz
"""

import argparse
import collections
import json
import re

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

from corpus import BOS, PAD, read, text

#: Line openings. Each is one token and is never merged with what follows it.
TAGS = ["\nthink:", "\n>", "\nplan:", "\nreflection:", "\n[end: won]", "\n[end: lost]"]
#: Must be exactly one token: its probability is the forecast that a command fails.
NOTHING = "Nothing happens."
SPECIAL = ["<pad>", "<bos>", "<unk>"]
NUMBERS = range(61)

#: Every type of thing and place in ALFWorld's rooms (train and both valid splits).
TYPES = """alarmclock apple armchair baseballbat basketball bathtub bathtubbasin bed blinds book boots bowl box
bread butterknife cabinet candle cart cd cellphone chair cloth coffeemachine coffeetable countertop creditcard cup
curtains desk desklamp diningtable dishsponge drawer dresser egg faucet floorlamp footstool fork fridge garbagecan
glassbottle handtowel handtowelholder houseplant kettle keychain knife ladle laptop laundryhamper laundryhamperlid
lettuce lightswitch microwave mirror mug newspaper ottoman painting pan papertowelroll pen pencil peppershaker
pillow plate plunger poster pot potato remotecontrol safe saltshaker scrubbrush shelf showercurtain showerdoor
showerglass showerhead sidetable sink sinkbasin soapbar soapbottle sofa spatula spoon spraybottle statue
stoveburner stoveknob teddybear television tennisracket tissuebox toaster toilet toiletpaper toiletpaperhanger
tomato towel towelholder tvstand vase watch wateringcan window winebottle""".split()

#: Pieces of the game's answers that the players of the corpus never provoke, so that no
#: text of the game is lost; their meaning is not learnt.
GAME_WORDS = [w for line in (
    "You are facing the. Next to it, you see nothing.", "You are carrying: a.", "You are not carrying anything.", "You close the.",
    "There's nothing special about.", "This is a hot and clean.", "This is a normal.", "This is a cool.", "You sliced the with the.",
    "You put the in/on the.", "You arrive at loc.", "In it, you see.", "You won!", "OK.", "Available commands:", " slice inventory help close", " look!?-()",
) for w in re.findall(r" ?[A-Za-z']+|[^\sA-Za-z0-9]", line)]

#: A piece of a phrase or of free text: a word, a number or a sign, with the blank before it.
PIECE = r" ?[A-Za-z']+| ?[0-9]+| ?[^\sA-Za-z0-9]|\s"
TAG_OR_BREAK = re.compile("|".join(map(re.escape, TAGS)) + r"|\n")


def phrases_of(line, types):
    """The runs of pieces between types and numbers, in one line without its tag."""
    run, start = [], True
    for piece in re.findall(PIECE, line):
        word = piece.strip()
        if word in types or word.isdigit():
            if run:
                yield "".join(run)
            run = []
        else:
            run.append(piece)
    if run:
        yield "".join(run)


def vocabulary(paths, max_phrases, min_share, limit=None):
    """(phrases, words), counted over the corpora; deterministic.

    A run becomes a phrase when it makes up at least min_share of all runs; the most
    frequent max_phrases are kept. Words are all pieces that occur at least 20 times
    (or at all, in a small corpus), and all pieces of phrases."""
    types, runs, words, seen = set(TYPES), collections.Counter(), collections.Counter(), collections.Counter()
    for path in paths:
        for record in read(path, limit):
            for line in TAG_OR_BREAK.split(text(record)):
                seen[line] += 1
    for line, n in seen.items():
        for run in phrases_of(line, types):
            runs[run] += n
        for piece in re.findall(PIECE, line):
            words[piece] += n
    total = sum(runs.values())
    often = sorted((r for r, n in runs.items() if n >= min_share * total and len(re.findall(PIECE, r)) > 1),
                   key=lambda r: (-runs[r], r))[:max_phrases]
    phrases = {p for p in often if not p.startswith(NOTHING)} | {NOTHING}
    floor = 20 if total > 100_000 else 1
    kept = {w for w, n in words.items() if n >= floor} | set(GAME_WORDS)
    for phrase in phrases:
        kept.update(re.findall(PIECE, phrase))
    return sorted(phrases, key=lambda p: (-len(p), p)), kept


def build(paths, max_phrases=200, min_share=5e-5, limit=None):
    """The tokenizer, and its phrases longest first."""
    phrases, kept = vocabulary(paths, max_phrases, min_share, limit)
    vocab = SPECIAL + TAGS + ["\n"]
    vocab += [f" {n}" for n in NUMBERS] + [f" {t}" for t in sorted(TYPES)] + sorted(phrases)
    have = set(vocab)
    vocab += sorted(w for w in kept if w not in have and not w.strip().isdigit() and w != "\n")
    assert len(set(vocab)) == len(vocab) and vocab[PAD] == "<pad>" and vocab[BOS] == "<bos>"

    def literal(s):
        return re.sub(r"([.^$*+?{}\[\]\\|()])", r"\\\1", s).replace("\n", "\\n")

    # A phrase must not end inside a word; a tag needs no guard.
    parts = [literal(t) for t in TAGS] + [literal(p) + "(?![A-Za-z0-9])" for p in phrases] + ["\\n", PIECE]
    tok = Tokenizer(models.WordLevel({v: i for i, v in enumerate(vocab)}, unk_token="<unk>"))
    tok.pre_tokenizer = pre_tokenizers.Split(Regex("|".join(parts)), "isolated")
    tok.decoder = decoders.Fuse()
    return tok, phrases


def verify(tok, paths, limit):
    """Share of unknown tokens and mean length; raises when a text is not reproduced exactly."""
    names = {i: v for v, i in tok.get_vocab().items()}
    unknown = tokens = episodes = longest = 0
    for path in paths:
        for record in read(path, limit):
            whole = text(record)
            ids = tok.encode(whole, add_special_tokens=False).ids
            missing = ids.count(2)
            if not missing and "".join(names[i] for i in ids) != whole:
                raise ValueError(f"{path}: episode {record['id']}: the tokens do not give the text back")
            unknown, tokens, episodes, longest = unknown + missing, tokens + len(ids), episodes + 1, max(longest, len(ids))
    return {"episodes": episodes, "tokens": tokens, "mean": round(tokens / max(1, episodes), 1), "longest": longest, "unknown": unknown}


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("corpora", nargs="+")
    ap.add_argument("--out", required=True)
    ap.add_argument("--max-phrases", type=int, default=200)
    ap.add_argument("--min-share", type=float, default=5e-5)
    ap.add_argument("--limit", type=int, help="read only so many episodes of each corpus")
    a = ap.parse_args()
    tok, phrases = build(a.corpora, a.max_phrases, a.min_share, a.limit)
    tok.save(a.out)
    print(json.dumps({"vocab": tok.get_vocab_size(), "phrases": len(phrases), **verify(tok, a.corpora, 1000)}))


if __name__ == "__main__":
    main()
