"""Muon for the matrices of the blocks, AdamW for embeddings and head, one schedule for both."""

import torch

MATRIX_LR, MOMENTUM, MATRIX_DECAY = 0.02, 0.95, 1e-3
TABLE_LR, TABLE_BETAS = 4e-3, (0.9, 0.98)
WARMUP_STEPS = 40


def rate(step, tokens, total):
    """Factor of the learning rate: warm-up by steps, constant, linear to 0 over the last half of the tokens."""
    return min(1.0, (step + 1) / WARMUP_STEPS) * min(1.0, max(0.0, 1 - tokens / total) / 0.5)


def orthogonalise(g):
    """The nearest semi-orthogonal matrix, roughly: five Newton-Schulz steps of Muon's quintic. g [..., rows, cols]."""
    x = g / (g.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    tall = x.shape[-2] > x.shape[-1]
    if tall:
        x = x.mT
    for _ in range(5):
        a = x @ x.mT
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x.mT if tall else x


class Optimiser:
    def __init__(self, model):
        self.matrices = [p for b in model.blocks for p in b.parameters()]
        self.momentum = [torch.zeros_like(p) for p in self.matrices]
        tables = [e.weight for e in model.embed] + [model.head.weight]
        self.adam = torch.optim.AdamW(tables, lr=TABLE_LR, betas=TABLE_BETAS, weight_decay=0.0, foreach=True)
        # Matrices of one shape are orthogonalised together, as one batch.
        self.groups = {}
        for i, p in enumerate(self.matrices):
            self.groups.setdefault(tuple(p.shape), []).append(i)

    @torch.no_grad()
    def step(self, factor):
        for shape, group in self.groups.items():
            grads = torch.stack([self.matrices[i].grad for i in group])
            for g, i in zip(grads, group):
                self.momentum[i].lerp_(g, 1 - MOMENTUM)
            buffers = torch.stack([self.momentum[i] for i in group])
            update = orthogonalise(grads.lerp(buffers, MOMENTUM))
            scale = MATRIX_LR * factor * max(1.0, shape[0] / shape[1]) ** 0.5
            for u, i in zip(update, group):
                self.matrices[i].mul_(1 - MATRIX_LR * factor * MATRIX_DECAY).add_(u, alpha=-scale)
        self.adam.param_groups[0]["lr"] = TABLE_LR * factor
        self.adam.step()

    def zero_grad(self):
        for p in self.matrices + self.adam.param_groups[0]["params"]:
            p.grad = None

    def state_dict(self):
        return {"momentum": self.momentum, "adam": self.adam.state_dict()}

    def load_state_dict(self, state):
        for mine, saved in zip(self.momentum, state["momentum"]):
            mine.copy_(saved)
        self.adam.load_state_dict(state["adam"])
