#!/usr/bin/env python3
"""The peer of `go test -bench ModelUpdate ./worldmodel`: one world-model update of the
same sizes in PyTorch on one CPU thread.

    pip install torch
    python3 bench/worldmodel_torch.py --json

The model is written the way a PyTorch user would write it: nn.Linear layers, a Python
loop over the recurrence, everything else batched over time, autograd, and LaProp with
adaptive gradient clipping. Sizes, losses and batch are those of the Go presets; the
number of parameters is checked. Wall-clock and processor time are both reported,
since only the second is meaningful on a busy machine.
"""
import argparse
import json
import math
import time

import torch
from torch import nn
from torch.nn import functional as F

PRESETS = {  # deter, hidden = units, latents, classes; expected parameters of the trained world model
    "tiny": dict(deter=128, units=64, stoch=8, classes=8),
    "small": dict(deter=192, units=96, stoch=12, classes=8),
}
OBS, ACTION, QUANTILES, UNIMIX = 50, 4, 5, 0.01


class RMS(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-4) * self.scale


def normed(i, o):
    return nn.Sequential(nn.Linear(i, o), RMS(o), nn.SiLU())


def stack(i, units, layers, out=None):
    mods = []
    for _ in range(layers):
        mods.append(normed(i, units))
        i = units
    if out is not None:
        mods.append(nn.Linear(units, out))
    return nn.Sequential(*mods)


class WorldModel(nn.Module):
    def __init__(self, deter, units, stoch, classes):
        super().__init__()
        self.d, self.s, self.c = deter, stoch, classes
        z, feat = stoch * classes, deter + stoch * classes
        self.enc = stack(OBS, units, 3)
        self.in_h, self.in_z, self.in_a = normed(deter, units), normed(z, units), normed(ACTION, units)
        self.hid, self.gru = normed(deter + 3 * units, deter), nn.Linear(deter, 3 * deter)
        self.post, self.post_out = normed(deter + units, units), nn.Linear(units, z)
        self.prior = stack(deter, units, 2, z)
        self.dec = stack(feat, units, 3, OBS)
        self.rew, self.con = stack(feat, units, 1, 1), stack(feat, units, 1, 1)
        self.psi = stack(feat, units, 1, QUANTILES)

    def probs(self, logits):
        p = F.softmax(logits.unflatten(-1, (self.s, self.c)), -1)
        return (1 - UNIMIX) * p + UNIMIX / self.c

    def step(self, h, z, xa, tok):
        x = self.hid(torch.cat([h, self.in_h(h), self.in_z(z), xa], -1))
        r, c, u = self.gru(x).chunk(3, -1)
        u = torch.sigmoid(u - 1)
        h = u * torch.tanh(torch.sigmoid(r) * c) + (1 - u) * h
        logits = self.post_out(self.post(torch.cat([h, tok], -1)))
        p = self.probs(logits)
        with torch.no_grad():
            one = F.one_hot(torch.multinomial(p.flatten(0, 1), 1).view(p.shape[:-1]), self.c).float()
        return h, (one + p - p.detach()).flatten(-2), logits

    def loss(self, b):
        keep = 1 - b["first"]  # (T, B, 1)
        tok = self.enc(b["obs"])
        act = b["action"] * keep
        xa = self.in_a(act / act.abs().clamp(min=1))
        h, z = b["h0"], b["z0"]
        hs, zs, ls = [], [], []
        for t in range(tok.shape[0]):
            h, z, l = self.step(h * keep[t], z * keep[t], xa[t], tok[t])
            hs.append(h), zs.append(z), ls.append(l)
        hs, zs, ls = torch.stack(hs), torch.stack(zs), torch.stack(ls)
        feat = torch.cat([hs, zs], -1)
        prior = self.prior(hs)
        lp, lq = self.probs(ls).log(), self.probs(prior).log()

        def kl(lp, lq):
            return (lp.exp() * (lp - lq)).sum((-1, -2)).clamp(min=1).mean()

        loss = kl(lp.detach(), lq) + 0.1 * kl(lp, lq.detach())
        loss = loss + (self.dec(feat) - b["obs"]).square().sum(-1).mean()
        loss = loss + (self.rew(feat) - b["reward"]).square().sum(-1).mean()
        loss = loss + F.binary_cross_entropy_with_logits(self.con(feat), b["cont"])
        psi = F.binary_cross_entropy_with_logits(self.psi(feat), b["labels"], reduction="none")
        return loss + (psi * b["mask"]).sum(-1).mean()


class LaProp:
    def __init__(self, params, lr=3e-4, agc=0.3):
        self.p, self.lr, self.agc, self.n = list(params), lr, agc, 0
        self.m = [torch.zeros_like(p) for p in self.p]
        self.v = [torch.zeros_like(p) for p in self.p]

    @torch.no_grad()
    def step(self):
        self.n += 1
        g = [p.grad for p in self.p]
        norms, limits = torch._foreach_norm(g), torch._foreach_norm(self.p)
        clip = [(self.agc * w.clamp(min=1e-3) / n.clamp(min=1e-30)).clamp(max=1) for n, w in zip(norms, limits)]
        g = torch._foreach_mul(g, clip)
        torch._foreach_mul_(self.v, 0.999)
        torch._foreach_addcmul_(self.v, g, g, 0.001)
        root = torch._foreach_sqrt(torch._foreach_div(self.v, 1 - 0.999**self.n))
        torch._foreach_add_(root, 1e-20)
        torch._foreach_mul_(self.m, 0.9)
        torch._foreach_addcdiv_(self.m, g, root, 0.1)
        torch._foreach_add_(self.p, self.m, alpha=-self.lr / (1 - 0.9**self.n))
        for p in self.p:
            p.grad = None


def batch(model, b, t):
    torch.manual_seed(1)
    z = F.one_hot(torch.randint(model.c, (b, model.s)), model.c).float().flatten(1)
    bern = lambda *s: torch.randint(2, s).float()
    first = torch.zeros(t, b, 1)
    first[t // 2, 1] = 1
    return dict(obs=torch.randn(t, b, OBS), action=torch.randn(t, b, ACTION), first=first, h0=torch.randn(b, model.d) / 2, z0=z,
                reward=torch.randn(t, b, 1), cont=0.9 * bern(t, b, 1), labels=bern(t, b, QUANTILES), mask=bern(t, b, QUANTILES))


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--presets", default="tiny,small")
    ap.add_argument("--batch", type=int, default=16)
    ap.add_argument("--length", type=int, default=32)
    ap.add_argument("--updates", type=int, default=30)
    ap.add_argument("--warmup", type=int, default=5)
    ap.add_argument("--json", action="store_true")
    a = ap.parse_args()
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    for name in a.presets.split(","):
        model = WorldModel(**PRESETS[name])
        opt = LaProp(model.parameters())
        data = batch(model, a.batch, a.length)
        for i in range(a.warmup + a.updates):
            if i == a.warmup:
                wall, cpu = time.perf_counter(), time.process_time()
            loss = model.loss(data)
            loss.backward()
            opt.step()
        assert math.isfinite(loss.item())
        out = dict(preset=name, parameters=sum(p.numel() for p in model.parameters()), batch=a.batch, length=a.length, torch=torch.__version__,
                   wall_ms=round((time.perf_counter() - wall) / a.updates * 1e3, 2), cpu_ms=round((time.process_time() - cpu) / a.updates * 1e3, 2))
        print(json.dumps(out) if a.json else "{preset}: {wall_ms} ms wall, {cpu_ms} ms processor time an update ({parameters} parameters, B{batch} T{length}, torch {torch})".format(**out))


if __name__ == "__main__":
    main()
