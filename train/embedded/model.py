"""The network: a small decoder whose input embedding already sees three tokens.

Decoder with RMS norms without gain, rotary positions, normalised queries and keys,
grouped attention, squared ReLU, zero-initialised output projections and capped logits.
The input of a position is E0[token] + E1[token before] + E2[the one before that]: it
costs no state but two ids and lets one attention layer copy a number after its name.
"""

import dataclasses
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from kernels import cap, rms, rotate, squared_relu

#: Logits are LOGIT_CAP·tanh(x / LOGIT_CAP).
LOGIT_CAP = 15.0
#: Scores are q·k·ATTENTION_SCALE/√head_dim; q and k have mean square 1.
ATTENTION_SCALE = 2.4
ROPE_BASE = 10_000.0


@dataclasses.dataclass
class Config:
    """Sizes. vocab tokens, width d, layers, query heads, key/value heads, MLP factor, context tokens."""

    vocab: int
    d: int = 128
    layers: int = 4
    heads: int = 4
    kv_heads: int = 2
    mlp: int = 3
    context: int = 2048

    @property
    def head_dim(self):
        return self.d // self.heads


def rope_table(context, head_dim):
    """(cos, sin), each [context, head_dim], the two halves of a head alike."""
    frequency = ROPE_BASE ** (-torch.arange(0, head_dim, 2).float() / head_dim)
    angle = torch.arange(context).float()[:, None] * frequency
    angle = torch.cat([angle, angle], -1)
    return torch.cos(angle), torch.sin(angle)


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.qkv = nn.ModuleList([nn.Linear(c.d, n * c.head_dim, bias=False) for n in (c.heads, c.kv_heads, c.kv_heads)])
        self.out = nn.Linear(c.d, c.d, bias=False)
        self.up = nn.Linear(c.d, c.mlp * c.d, bias=False)
        self.down = nn.Linear(c.mlp * c.d, c.d, bias=False)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.down.weight)

    def forward(self, x, cos, sin):
        c, (batch, time, _) = self.c, x.shape
        # One product for the three projections; the parameters stay apart because the
        # optimiser orthogonalises each for itself.
        h = F.linear(rms(x), torch.cat([p.weight for p in self.qkv]))
        h = h.view(batch, time, c.heads + 2 * c.kv_heads, c.head_dim)
        qk, v = h.split([c.heads + c.kv_heads, c.kv_heads], 2)
        q, k = rotate(rms(qk), cos, sin).split([c.heads, c.kv_heads], 2)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)  # [B, heads, T, head_dim]
        group = c.heads // c.kv_heads
        y = F.scaled_dot_product_attention(
            q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1), is_causal=True,
            scale=ATTENTION_SCALE / math.sqrt(c.head_dim))
        x = x + self.out(y.transpose(1, 2).reshape(batch, time, c.d))
        return x + self.down(squared_relu(self.up(rms(x))))


class LM(nn.Module):
    """Token ids [B, T] to hidden states [B, T, d] and capped logits [B, T, vocab]."""

    def __init__(self, c):
        super().__init__()
        self.c = c
        self.embed = nn.ModuleList([nn.Embedding(c.vocab, c.d) for _ in range(3)])
        for e, std in zip(self.embed, (0.5, 0.3, 0.2)):
            nn.init.normal_(e.weight, std=std)
        self.blocks = nn.ModuleList([Block(c) for _ in range(c.layers)])
        self.head = nn.Linear(c.d, c.vocab, bias=False)
        nn.init.zeros_(self.head.weight)
        cos, sin = rope_table(c.context, c.head_dim)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def hidden(self, ids):
        """Normalised last hidden states; the sequence starts at position 0."""
        time = ids.shape[1]
        before = F.pad(ids, (2, 0))
        x = rms(sum(e(before[:, 2 - i:2 - i + time]) for i, e in enumerate(self.embed)))
        for block in self.blocks:
            x = block(x, self.cos[:time, None], self.sin[:time, None])
        return rms(x)

    def logits(self, hidden):
        return cap(self.head(hidden), LOGIT_CAP)

    def forward(self, ids):
        return self.logits(self.hidden(ids))
