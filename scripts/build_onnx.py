#!/usr/bin/env python3
"""Builds the ONNX graph of all-MiniLM-L6-v2 from its float32 weights.

    build_onnx.py model.safetensors model.onnx

Plain Python without packages; equal inputs give equal bytes.

The graph takes SLOTS texts at once *without padding*: their tokens lie one after
the other in a single row of T tokens. All matrix products with weights run over
the T tokens together, so the weights (42 MB, more than a core's cache) are read
once for all texts; only attention, cheap at these lengths, runs text by text. As
no text is padded, its vector does not depend on its company.

inputs   ids     int64 [T]      token ids of all texts, one after the other
         pos     int64 [T]      position of each token inside its text, from 0
         lens    int64 [SLOTS]  tokens of each text, at least 1 (an unused slot takes
                                one dummy token: the attention kernel divides by the
                                length); sum = T
output   hidden  float32 [T, 384]  last hidden states; pooling is the caller's
"""
import json
import struct
import sys
from array import array

SLOTS = 6
HEADS, WIDTH, LAYERS, EPSILON = 12, 384, 6, 1e-12
MS = "com.microsoft"  # fused float32 kernels that ONNX Runtime carries for the CPU
FLOAT, INT64 = 1, 7  # ONNX's numbers of element types


# ---- protobuf, as far as ONNX needs it; field numbers are those of onnx.proto ----

def varint(v):
    out = bytearray()
    while v > 127:
        out.append(v & 127 | 128)
        v >>= 7
    out.append(v)
    return bytes(out)


def number(field, v):
    return varint(field << 3) + varint(v)


def data(field, b):
    b = b.encode() if isinstance(b, str) else bytes(b)
    return varint(field << 3 | 2) + varint(len(b)) + b


def attribute(name, v):
    if isinstance(v, float):
        return data(1, name) + varint(2 << 3 | 5) + struct.pack("<f", v) + number(20, 1)
    return data(1, name) + varint(3 << 3) + varint(v % (1 << 64)) + number(20, 2)


def tensor(name, shape, kind, raw):
    return b"".join(number(1, d) for d in shape) + number(2, kind) + data(8, name) + data(9, raw)


def value(name, kind, dims):
    shape = b"".join(data(1, data(2, d) if isinstance(d, str) else number(1, d)) for d in dims)
    return data(1, name) + data(2, data(1, number(1, kind) + data(2, shape)))


# ---- weights: a matrix is its shape and an array of float32, row by row ----

def floats(raw=b""):
    a = array("f")
    assert a.itemsize == 4 and sys.byteorder == "little"
    a.frombytes(raw)
    return a


def read_safetensors(path):
    with open(path, "rb") as f:
        raw = memoryview(f.read())
    n = struct.unpack("<Q", raw[:8])[0]
    out = {}
    for name, v in json.loads(bytes(raw[8 : 8 + n])).items():
        if name != "__metadata__" and v["dtype"] == "F32":
            begin, end = (8 + n + o for o in v["data_offsets"])
            out[name] = v["shape"], floats(raw[begin:end])
    return out


def transpose(shape, a):
    rows, columns = shape
    out = floats()
    for j in range(columns):
        out.extend(a[j::columns])
    return [columns, rows], out


# ---- the graph ----

nodes, weights = [], []


def const(name, shape, a, kind=FLOAT):
    weights.append(tensor(name, shape, kind, a.tobytes()))
    return name


def op(kind, inputs, outputs=1, name=None, domain="", **attributes):
    stem = f"n{len(nodes)}_{kind}"
    outs = [name] if name else [f"{stem}_{i}" for i in range(outputs)]
    nodes.append(b"".join(data(1, s) for s in inputs) + b"".join(data(2, s) for s in outs) + data(3, stem) + data(4, kind)
                 + b"".join(data(5, attribute(k, v)) for k, v in attributes.items()) + (data(7, domain) if domain else b""))
    return outs[0] if outputs == 1 else outs


def main(source, target):
    w = read_safetensors(source)
    param = lambda name: const(name, *w[name])
    linear = lambda x, name: op("MatMul", [x, const(name + ".weight", *transpose(*w[name + ".weight"]))])  # bias is added later
    norm = lambda name: [param(name + ".weight"), param(name + ".bias")]

    # Embeddings: word + position + type. All texts are of type 0, so its row joins the positions.
    e = "embeddings."
    shape, place = w[e + "position_embeddings.weight"]
    kind = w[e + "token_type_embeddings.weight"][1][:WIDTH] * shape[0]
    place = array("f", (a + b for a, b in zip(place, kind)))
    x = op("Add", [op("Gather", [param(e + "word_embeddings.weight"), "ids"], axis=0),
                   op("Gather", [const("place", shape, place), "pos"], axis=0)])
    x = op("LayerNormalization", [x, *norm(e + "LayerNorm")], axis=-1, epsilon=EPSILON)  # [T, 384]

    front = const("front", [1], array("q", [0]), INT64)
    skip = lambda y, x, name, bias: op("SkipLayerNormalization", [y, x, *norm(name), param(bias)], domain=MS, epsilon=EPSILON)
    for i in range(LAYERS):
        p = f"encoder.layer.{i}."
        a = p + "attention."
        qkv = [a + f"self.{z}" for z in ("query", "key", "value")]
        bias = sum((w[z + ".bias"][1] for z in qkv), floats())
        bias = const(a + "bias", [3 * WIDTH], bias)
        parts = [op("Split", [op("Unsqueeze", [linear(x, z), front]), "lens"], SLOTS, axis=1) for z in qkv]
        texts = [op("MultiHeadAttention", [*z, bias], domain=MS, num_heads=HEADS) for z in zip(*parts)]  # SLOTS × [1, len, 384]
        y = op("Squeeze", [op("Concat", texts, axis=1), front])  # [T, 384]
        x = skip(linear(y, a + "output.dense"), x, a + "output.LayerNorm", a + "output.dense.bias")
        y = op("BiasGelu", [linear(x, p + "intermediate.dense"), param(p + "intermediate.dense.bias")], domain=MS)  # [T, 1536]
        x = skip(linear(y, p + "output.dense"), x, p + "output.LayerNorm", p + "output.dense.bias")
    op("Identity", [x], name="hidden")

    graph = b"".join(data(1, n) for n in nodes) + data(2, "all-MiniLM-L6-v2") + b"".join(data(5, t) for t in weights)
    graph += b"".join(data(11, value(n, INT64, [d])) for n, d in (("ids", "T"), ("pos", "T"), ("lens", SLOTS)))
    graph += data(12, value("hidden", FLOAT, ["T", WIDTH]))
    opsets = data(8, number(2, 17)) + data(8, data(1, MS) + number(2, 1))
    with open(target, "wb") as f:
        f.write(number(1, 8) + data(2, "muse") + data(7, graph) + opsets)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
