"""A small real model server for tests and for trying things out: llama.cpp's own, in this process.

    .deps/llm/bin/python scripts/llm_server.py .deps/models/SmolLM2-135M-Instruct.Q4_1.gguf [PORT]

scripts/deps.sh llm gets both. It prints its address (OpenAI-compatible below /v1, on this
machine only, a free port by default) and ends with its standard input: a test that dies
takes its server along.
"""
import os
import sys

import xllamacpp

p = xllamacpp.CommonParams()
p.model.path = sys.argv[1]
p.model_alias = {"smol"}
p.port = int(sys.argv[2]) if len(sys.argv) > 2 else 0
p.n_parallel = 2
p.n_ctx = 4096 * 2  # shared by the slots
p.kv_unified = False
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 1  # more would spin at a barrier on a busy machine
p.verbosity = 1
server = xllamacpp.Server(p)
print(server.listening_address, flush=True)
sys.stdin.read()
os._exit(0)  # the server's threads are not waited for
