"""Hand-built ONNX graph (opset 17) of the network, for decoding behind a shared prefix.

B rows continue one prefix of P tokens; each row has its own suffix of S tokens (the same
S for all rows) and is given n new ones. Keys are stored rotated, so the caller's buffers
are appended to and never rewritten.

inputs
    ids          int64   [B, n+2]        the two tokens before (0 at the start), then n new ones
    pos          int64   [1]             position of the first new token
    prefix_mask  float32 [P]             added to the scores: 0, or -1e9 for spare capacity
    suffix_mask  float32 [S]             the same for the suffix
    prefix_k_i, prefix_v_i  float32 [1, KV, P, hd]   per layer i
    suffix_k_i, suffix_v_i  float32 [B, KV, S, hd]
outputs
    logits       float32 [B, n, V]       capped
    hidden       float32 [B, n, d]       last hidden state, normalised
    new_k_i, new_v_i        float32 [B, KV, n, hd]   of the new tokens only

P and S may be 0. All rows meet the prefix in one product per key/value head, since a
product for every row would read the prefix B times. Weights are float16 initialisers
cast to float32, which the runtime folds when it loads the file: the network computes in
float32 with rounded weights. Everything that does not depend on the inputs is likewise
left to folding, so the file holds no table.
"""

import math

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from kernels import EPS
from model import ATTENTION_SCALE, LOGIT_CAP, ROPE_BASE

OPSET, IR_VERSION = 17, 8
F32, I64 = TensorProto.FLOAT, TensorProto.INT64


class Builder:
    """Nodes and initialisers with short names."""

    def __init__(self):
        self.nodes, self.initialisers, self.constants = [], [], {}

    def op(self, kind, *inputs, out=None, outputs=1, **attributes):
        names = [out] if out else [f"{kind.lower()}_{len(self.nodes)}" + (f"_{j}" if outputs > 1 else "") for j in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=f"n{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def const(self, value, dtype):
        value = np.asarray(value, dtype)
        key = (value.dtype.str, value.shape, value.tobytes())
        if key not in self.constants:
            self.constants[key] = f"c{len(self.constants)}"
            self.initialisers.append(numpy_helper.from_array(value, self.constants[key]))
        return self.constants[key]

    def i64(self, *values):
        return self.const(values, np.int64)

    def f32(self, value):
        return self.const(value, np.float32)

    def weight(self, name, array):
        """A float16 initialiser, as float32."""
        self.initialisers.append(numpy_helper.from_array(np.ascontiguousarray(array.astype(np.float16)), name))
        return self.op("Cast", name, to=F32)

    def rms(self, x, scale):
        """x·scale/√(mean(x²)+ε) over the last axis, in the form that runtimes fuse into one kernel."""
        square = self.op("Pow", x, self.f32(2.0))
        mean = self.op("ReduceMean", square, axes=[-1], keepdims=1)
        root = self.op("Sqrt", self.op("Add", mean, self.f32(EPS)))
        return self.op("Mul", self.op("Div", x, root), scale)


def half_turn(head_dim):
    """The matrix R with x·R = (-x_b, x_a) for the two halves a, b of a head."""
    half = head_dim // 2
    turn = np.zeros((head_dim, head_dim), np.float32)
    turn[np.arange(half) + half, np.arange(half)] = -1
    turn[np.arange(half), np.arange(half) + half] = 1
    return turn


def build(c, weights):
    """The model from a Config and a dict of float32 arrays named as in model.LM."""
    b = Builder()
    d, hd, kv, group = c.d, c.head_dim, c.kv_heads, c.heads // c.kv_heads
    both = c.heads + kv
    n = b.op("Sub", b.op("Shape", "ids", start=1, end=2), b.i64(2))  # [1]

    # Input embedding: three tables, looked up at shifted ids.
    x = None
    for shift in range(3):
        shifted = b.op("Slice", "ids", b.i64(2 - shift), b.op("Add", n, b.i64(2 - shift)), b.i64(1))
        row = b.op("Gather", b.weight(f"embed_{shift}", weights[f"embed.{shift}.weight"]), shifted)
        x = row if x is None else b.op("Add", x, row)
    ones = b.f32(np.ones(d))
    x = b.rms(x, ones)  # [B, n, d]

    # Rotation table [context, 2, 1, hd] (cos above sin), cut at the positions of the new tokens.
    position = b.op("Cast", b.op("Range", b.const(0, np.int64), b.const(c.context, np.int64), b.const(1, np.int64)), to=F32)
    frequency = ROPE_BASE ** (-np.arange(0, hd, 2, dtype=np.float32) / hd)
    angle = b.op("Mul", b.op("Reshape", position, b.i64(-1, 1)), b.f32(np.concatenate([frequency, frequency])))
    table = b.op("Concat", b.op("Cos", angle), b.op("Sin", angle), axis=1)
    table = b.op("Slice", b.op("Reshape", table, b.i64(-1, 2, 1, hd)), "pos", b.op("Add", "pos", n), b.i64(0))

    # Additive mask [group·n, P+S+n]: prefix, suffix, and causal among the new tokens.
    shape_nn = b.op("Concat", n, n, axis=0)
    square = b.op("ConstantOfShape", shape_nn, value=helper.make_tensor("v", F32, [1], [-1e9]))
    causal = b.op("Trilu", square, b.const(1, np.int64), upper=1)
    old = b.op("Unsqueeze", b.op("Concat", "prefix_mask", "suffix_mask", axis=0), b.i64(0))
    old = b.op("Expand", old, b.op("Concat", n, b.i64(1), axis=0))
    mask = b.op("Concat", old, causal, axis=1)
    mask = b.op("Concat", *([mask] * group), axis=0) if group > 1 else mask
    rows, prefix_length = b.op("Shape", "ids", start=0, end=1), b.op("Shape", "prefix_mask")
    cut = b.op("Concat", prefix_length, b.op("Add", b.op("Shape", "suffix_mask"), n), axis=0)
    group_n = b.op("Mul", n, b.i64(group))
    all_rows = b.op("Mul", rows, group_n)

    def shape(*parts):
        return b.op("Concat", *[p if isinstance(p, str) else b.i64(p) for p in parts], axis=0)

    qk_shape = shape(rows, n, 2, both, hd)
    rows_apart, rows_together = shape(kv, rows, group_n, hd), shape(1, kv, all_rows, hd)
    scores_apart, scores_together = shape(kv, rows, group_n, prefix_length), shape(1, kv, all_rows, prefix_length)
    heads_apart = shape(kv, rows, group, n, hd)

    # Both q and k carry the root of the scale, so that their product has the scores' scale.
    head_scale = b.f32(np.full(hd, math.sqrt(ATTENTION_SCALE / math.sqrt(hd))))
    turn = b.f32(half_turn(hd))
    last_two, first_two = [0, 1, 3, 2], [1, 0, 2, 3]
    for i in range(c.layers):
        def part(name):
            return weights[f"blocks.{i}.{name}.weight"].T

        # One product: q and k, the same turned by half a head (for the rotation), v.
        qk = b.weight(f"qk_{i}", np.concatenate([part("qkv.0"), part("qkv.1")], 1))
        turned = b.op("Reshape", b.op("MatMul", b.op("Reshape", qk, b.i64(d, both, hd)), turn), b.i64(d, both * hd))
        stacked = b.op("Concat", qk, turned, b.weight(f"v_{i}", part("qkv.2")), axis=1)
        h = b.op("MatMul", b.rms(x, ones), stacked)  # [B, n, (2·both+KV)·hd]
        qk, v = b.op("Split", h, b.i64(2 * both * hd, kv * hd), outputs=2, axis=2)
        # Turning keeps the length of a head, so one norm serves both copies.
        qk = b.rms(b.op("Reshape", qk, qk_shape), head_scale)  # [B, n, 2, both, hd]
        qk = b.op("ReduceSum", b.op("Mul", qk, table), b.i64(2), keepdims=0)  # [B, n, both, hd]
        q, k = b.op("Split", qk, b.i64(c.heads, kv), outputs=2, axis=2)
        k = b.op("Transpose", k, out=f"new_k_{i}", perm=[0, 2, 1, 3])
        v = b.op("Transpose", b.op("Reshape", v, b.i64(0, 0, kv, hd)), out=f"new_v_{i}", perm=[0, 2, 1, 3])
        rest_k = b.op("Concat", f"suffix_k_{i}", k, axis=2)  # [B, KV, S+n, hd]
        rest_v = b.op("Concat", f"suffix_v_{i}", v, axis=2)

        # Scores [KV, B, group·n, P+S+n]: all rows together against the prefix, row by row against the rest.
        q = b.op("Transpose", b.op("Reshape", q, b.i64(0, 0, kv, group, hd)), perm=[2, 0, 3, 1, 4])  # [KV, B, group, n, hd]
        q_prefix = b.op("Reshape", q, rows_together)
        q_rest = b.op("Transpose", b.op("Reshape", q, rows_apart), perm=first_two)
        s_prefix = b.op("MatMul", q_prefix, b.op("Transpose", f"prefix_k_{i}", perm=last_two))
        s_rest = b.op("MatMul", q_rest, b.op("Transpose", rest_k, perm=last_two))
        s = b.op("Concat", b.op("Reshape", s_prefix, scores_apart, allowzero=1), b.op("Transpose", s_rest, perm=first_two), axis=3)
        p = b.op("Softmax", b.op("Add", s, mask), axis=-1)
        p_prefix, p_rest = b.op("Split", p, cut, outputs=2, axis=3)
        y = b.op("MatMul", b.op("Reshape", p_prefix, scores_together, allowzero=1), f"prefix_v_{i}")
        y_rest = b.op("MatMul", b.op("Transpose", p_rest, perm=first_two), rest_v)
        y = b.op("Add", b.op("Reshape", y, rows_apart), b.op("Transpose", y_rest, perm=first_two))  # [KV, B, group·n, hd]
        y = b.op("Transpose", b.op("Reshape", y, heads_apart), perm=[1, 3, 0, 2, 4])  # [B, n, KV, group, hd]
        x = b.op("Add", x, b.op("MatMul", b.op("Reshape", y, b.i64(0, 0, d)), b.weight(f"out_{i}", part("out"))))

        h = b.op("Relu", b.op("MatMul", b.rms(x, ones), b.weight(f"up_{i}", part("up"))))
        x = b.op("Add", x, b.op("MatMul", b.op("Mul", h, h), b.weight(f"down_{i}", part("down"))))

    x = b.op("Identity", b.rms(x, ones), out="hidden")
    # The head's 1/cap folds into the weights.
    head = b.op("Mul", b.weight("head", weights["head.weight"].T), b.f32(1 / LOGIT_CAP))
    b.op("Mul", b.op("Tanh", b.op("MatMul", x, head)), b.f32(LOGIT_CAP), out="logits")
    return finish(b, c)


def finish(b, c):
    """The checked ModelProto with its named inputs and outputs."""
    def value(name, kind, *dims):
        return helper.make_tensor_value_info(name, kind, dims)

    kv, hd = c.kv_heads, c.head_dim
    inputs = [value("ids", I64, "B", "n_plus_2"), value("pos", I64, 1), value("prefix_mask", F32, "P"), value("suffix_mask", F32, "S")]
    outputs = [value("logits", F32, "B", "n", c.vocab), value("hidden", F32, "B", "n", c.d)]
    for i in range(c.layers):
        inputs += [value(f"prefix_{s}_{i}", F32, 1, kv, "P", hd) for s in "kv"]
        inputs += [value(f"suffix_{s}_{i}", F32, "B", kv, "S", hd) for s in "kv"]
        outputs += [value(f"new_{s}_{i}", F32, "B", kv, "n", hd) for s in "kv"]
    graph = helper.make_graph(b.nodes, "muse_embedded_lm", inputs, outputs, b.initialisers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="muse")
    onnx.checker.check_model(model, full_check=True)
    return model
