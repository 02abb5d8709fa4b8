"""The network's element-wise steps with hand-written gradients.

On a CPU the training time of so small a network is mostly spent in passes over
memory; each of these needs about half of the passes that automatic differentiation
of the plain formula takes. `plain` holds the formulas, which the tests compare with.
"""

import torch

EPS = 1e-6


class plain:
    """The definitions."""

    @staticmethod
    def rms(x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPS)

    @staticmethod
    def rotate(x, cos, sin):
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    @staticmethod
    def squared_relu(x):
        return torch.relu(x).square()

    @staticmethod
    def cap(x, limit):
        return limit * torch.tanh(x / limit)


class _Rms(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        n = x.shape[-1]
        scale = torch.linalg.vector_norm(x, dim=-1, keepdim=True).square_().div_(n).add_(EPS).rsqrt_()
        y = x * scale
        ctx.save_for_backward(y, scale)
        return y

    @staticmethod
    def backward(ctx, g):
        y, scale = ctx.saved_tensors
        # dy/dx = scale·(1 - y·yᵀ/n)
        along = torch.linalg.vecdot(g, y).unsqueeze(-1).div_(y.shape[-1])
        return torch.addcmul(g, y, along, value=-1).mul_(scale)


class _Rotate(torch.autograd.Function):
    @staticmethod
    def turn(x, cos, sin):
        half = x.shape[-1] // 2
        y = x * cos
        y[..., :half].addcmul_(x[..., half:], sin[..., :half], value=-1)
        y[..., half:].addcmul_(x[..., :half], sin[..., half:])
        return y

    @staticmethod
    def forward(ctx, x, cos, sin):
        ctx.save_for_backward(cos, sin)
        return _Rotate.turn(x, cos, sin)

    @staticmethod
    def backward(ctx, g):
        cos, sin = ctx.saved_tensors
        return _Rotate.turn(g, cos, -sin), None, None


class _SquaredRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        a = torch.relu(x)
        ctx.save_for_backward(a)
        return a * a

    @staticmethod
    def backward(ctx, g):
        (a,) = ctx.saved_tensors
        return (g * a).mul_(2)


class _Cap(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, limit):
        t = (x / limit).tanh_()
        ctx.save_for_backward(t)
        return t * limit

    @staticmethod
    def backward(ctx, g):
        (t,) = ctx.saved_tensors
        return torch.addcmul(g, g * t, t, value=-1), None


rms, rotate, squared_relu, cap = _Rms.apply, _Rotate.apply, _SquaredRelu.apply, _Cap.apply
