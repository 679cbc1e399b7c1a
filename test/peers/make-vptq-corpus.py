#!/usr/bin/env python3
r"""make-vptq-corpus.py CORPUS: write CORPUS/safetensors-good/peer-vptq-* and CORPUS/manifest-vptq.ndjson.

Small VPTQ models: random centroids and indices in the parameters of the package's own VQuantLinear, packed by its
pack_index, and what its dequant makes of them in torch. Run by hand when a case is added, in the environment of
requirements.txt with the package beside it:

    pip install --no-deps vptq==0.0.5.post1
    python test/peers/make-vptq-corpus.py test/corpus
"""
import importlib.metadata
import sys
import types

import torch

words = types.ModuleType("sentence_transformers.SentenceTransformer")       # which the packer only compares a type with
words.SentenceTransformer = type("SentenceTransformer", (), {})
sys.modules |= {"sentence_transformers": types.ModuleType("sentence_transformers"), words.__name__: words}

from vptq.layers.vqlinear import VQuantLinear
from vptq.ops.quant_gemm import dequant
from vptq.utils.pack import pack_index

from corpus_writer import Models


def layer(n_out, n_in, length, bits, res_bits, perm, norm, dtype):
    """Returns the tensors of a layer, its config, and the dense weight."""
    config = {"in_features": n_in, "out_features": n_out, "vector_lens": [-1, length], "num_centroids": [-1, 2 ** bits],
              "num_res_centroids": [-1, 2 ** res_bits if res_bits else -1], "group_num": 1, "group_size": n_in,
              "outlier_size": 0, "indices_as_float": False, "enable_norm": norm, "enable_perm": perm,
              "is_indice_packed": True, "bias": False, "vector_quant_dim": "out"}
    q = VQuantLinear(**config, dtype=dtype, enable_proxy_error=False)
    shape = (1, q.num_indices, n_in)
    index = torch.randint(0, 2 ** bits, shape).to(torch.uint16)
    residual = torch.randint(0, 2 ** res_bits, shape).to(torch.uint16) if res_bits else None
    q.indices.data = pack_index(index, bits, residual, res_bits)
    q.centroids.weight.data = torch.randn(1, 2 ** bits * length).to(dtype)
    if res_bits:
        q.res_centroids.weight.data = (torch.randn(1, 2 ** res_bits * length) * 0.1).to(dtype)
    if perm:
        q.perm.data = torch.randperm(n_in).to(torch.int16)
    if norm:
        q.weight_scale.data, q.weight_bias.data = torch.rand(n_in).to(dtype), (torch.randn(n_in) * 0.1).to(dtype)
    dense = dequant(
        indices=q.indices.data, centroids=q.centroids.weight.data.view(1, -1, length), outlier_indices=None,
        outlier_centroids=None, res_indices=None, res_centroids=q.res_centroids.weight.data if res_bits else None,
        perm=q.perm.data if perm else None, weight_scale=q.weight_scale, weight_bias=q.weight_bias, is_indice_packed=True,
        enable_outlier=False, enable_residual=bool(res_bits), enable_perm=perm, enable_norm=norm, num_centroids=2 ** bits,
        num_outlier_centroids=-1, num_res_centroids=2 ** res_bits, padding=q.padding, outlier_padding=0, num_codebooks=1,
        group_size=n_in, outlier_size=0, vector_len=length, outlier_vector_len=-1)
    return {k: v.data for k, v in q.named_parameters()}, config, dense.detach()


F16, BF16, F32 = torch.float16, torch.bfloat16, torch.float32
CASES = [
    ("residual", "two codebooks, columns in any order, scales and biases", [
        (24, 80, 8, 8, 6, True, True, F16), (20, 97, 6, 7, 7, True, True, BF16)]),
    ("plain", "one codebook, and two, without scales; 29 rows of vectors of 4", [
        (29, 48, 4, 9, 0, False, False, F16), (32, 40, 16, 5, 2, True, False, F16)]),
    ("norm", "scales and biases, columns in order; F32", [
        (16, 72, 8, 6, 0, False, True, F16), (12, 33, 12, 4, 3, False, True, F32)]),
    ("shared", "one entry of shared_layer_config", [(16, 600, 8, 5, 5, True, True, BF16)]),
]


def main():
    models = Models(sys.argv[1], "vptq", "vptq %s, torch %s" % (importlib.metadata.version("vptq"),
                                                               torch.__version__.split("+")[0]))
    for i, (name, note, layers) in enumerate(CASES):
        torch.manual_seed(i + 1)
        stored, expected, configs = {}, {}, {}
        for n, shape in enumerate(layers):
            module = f"model.layers.{n}.mlp.up_proj"
            parts, configs[module], expected[module + ".weight"] = layer(*shape)
            stored |= {f"{module}.{part}": value for part, value in parts.items()}
        stored["model.norm.weight"] = expected["model.norm.weight"] = torch.ones(8, dtype=torch.float16)
        said = {"config_for_layers": configs}
        if name == "shared":
            said = {"config_for_layers": {}, "shared_layer_config": {"up_proj": configs[module]}}
        models.add(name, stored, expected, note, {"quantization_config": {"quant_method": "vptq"} | said},
                   plain={"model.norm.weight"})
    models.done()


main()
