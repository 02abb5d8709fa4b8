#!/usr/bin/env python3
"""Builds the ONNX graph of all-MiniLM-L6-v2 from its float32 weights.

    build_onnx.py model.safetensors model.onnx

Needs only `onnx` and `numpy`; equal inputs give equal bytes.

The graph takes up to SLOTS texts at once *without padding*: their tokens lie one
after the other in a single row of T tokens. All matrix products with weights run
over the T tokens together, so the weights (42 MB, more than a core's cache) are
read once for all texts; only attention, cheap at these lengths, runs text by
text. As no text is padded, its vector does not depend on its company.

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

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SLOTS = 6
HEADS, WIDTH, LAYERS, EPSILON = 12, 384, 6, 1e-12
MS = "com.microsoft"  # fused float32 kernels that ONNX Runtime carries for the CPU

nodes, weights = [], []


def read_safetensors(path):
    raw = open(path, "rb").read()
    n = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8 : 8 + n])
    out = {}
    for name, v in header.items():
        if name != "__metadata__" and v["dtype"] == "F32":
            begin, end = (8 + n + o for o in v["data_offsets"])
            out[name] = np.frombuffer(raw[begin:end], np.float32).reshape(v["shape"])
    return out


def const(name, array):
    weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
    return name


def op(kind, inputs, outputs=1, name=None, domain="", **attrs):
    stem = f"n{len(nodes)}_{kind}"
    outs = [name] if name else [f"{stem}_{i}" for i in range(outputs)]
    nodes.append(helper.make_node(kind, inputs, outs, name=stem, domain=domain, **attrs))
    return outs[0] if outputs == 1 else outs


def main(source, target):
    w = read_safetensors(source)
    linear = lambda x, name, weight: op("MatMul", [x, const(name + ".w", weight)])
    norm = lambda prefix: [const(prefix + ".weight", w[prefix + ".weight"]), const(prefix + ".bias", w[prefix + ".bias"])]

    # Embeddings: word + position + type (all texts are of type 0).
    e = "embeddings."
    place = w[e + "position_embeddings.weight"] + w[e + "token_type_embeddings.weight"][0]
    x = op("Add", [op("Gather", [const("word", w[e + "word_embeddings.weight"]), "ids"], axis=0),
                   op("Gather", [const("place", place), "pos"], axis=0)])
    x = op("LayerNormalization", [x, *norm(e + "LayerNorm")], axis=-1, epsilon=EPSILON)  # [T, 384]

    front = const("front", np.array([0], np.int64))
    for i in range(LAYERS):
        p = f"encoder.layer.{i}."
        a = p + "attention."
        qkv = [a + f"self.{z}" for z in ("query", "key", "value")]
        bias = const(f"qkv{i}.b", np.concatenate([w[z + ".bias"] for z in qkv]))
        parts = [op("Split", [op("Unsqueeze", [linear(x, z, w[z + ".weight"].T), front]), "lens"], SLOTS, axis=1)
                 for z in qkv]  # 3 × SLOTS × [1, len, 384]
        texts = [op("MultiHeadAttention", [*z, bias], domain=MS, num_heads=HEADS) for z in zip(*parts)]
        y = op("Squeeze", [op("Concat", texts, axis=1), front])  # [T, 384]
        y = linear(y, f"out{i}", w[a + "output.dense.weight"].T)
        x = op("SkipLayerNormalization", [y, x, *norm(a + "output.LayerNorm"), const(f"out{i}.b", w[a + "output.dense.bias"])],
               domain=MS, epsilon=EPSILON)
        y = linear(x, f"up{i}", w[p + "intermediate.dense.weight"].T)
        y = op("BiasGelu", [y, const(f"up{i}.b", w[p + "intermediate.dense.bias"])], domain=MS)
        y = linear(y, f"down{i}", w[p + "output.dense.weight"].T)
        x = op("SkipLayerNormalization", [y, x, *norm(p + "output.LayerNorm"), const(f"down{i}.b", w[p + "output.dense.bias"])],
               domain=MS, epsilon=EPSILON)
    op("Identity", [x], name="hidden")

    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "all-MiniLM-L6-v2",
        [info("ids", TensorProto.INT64, ["T"]), info("pos", TensorProto.INT64, ["T"]), info("lens", TensorProto.INT64, [SLOTS])],
        [info("hidden", TensorProto.FLOAT, ["T", WIDTH])], weights)
    model = helper.make_model(graph, producer_name="muse",
                              opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)])
    model.ir_version = 8
    onnx.save(model, target)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
