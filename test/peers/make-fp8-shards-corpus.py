#!/usr/bin/env python3
r"""make-fp8-shards-corpus.py CORPUS: write CORPUS/safetensors-good/peer-fp8-shards-* and CORPUS/manifest-fp8-shards.ndjson.

An FP8 table in several tensors that share one scale of the module above, as in Qwen3.8-Flash-Next. The values are torch's, in F32.
Run by hand, in the environment of requirements.txt:

    python test/peers/make-fp8-shards-corpus.py test/corpus
"""
import sys

import torch
from corpus_writer import Models

TABLE = "model.layers.1.ple.ple_embedding.ngram_embedding."


def main():
    torch.manual_seed(9)
    models = Models(sys.argv[1], "fp8-shards", "torch " + torch.__version__)
    scale = torch.tensor([0.0098], dtype=torch.bfloat16)
    stored, expected = {TABLE + "weight_scale": scale}, {}
    for shard in (0, 1, 10):
        name = TABLE + f"shard_{shard}.weight"
        stored[name] = (torch.randn(5, 24) * 100).to(torch.float8_e4m3fn)
        expected[name] = stored[name].float() * scale.float()
    models.add("table", stored, expected, "three tensors, one scale of the module above", {
        "model_type": "qwen4_exp", "quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic",
                                                           "weight_block_size": [128, 128]}})
    models.done()


main()
