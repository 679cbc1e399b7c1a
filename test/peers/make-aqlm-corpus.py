#!/usr/bin/env python3
r"""make-aqlm-corpus.py CORPUS: write CORPUS/safetensors-good/peer-aqlm-* and CORPUS/manifest-aqlm.ndjson.

Small AQLM models: the parameters of the package's own QuantizedLinear with random contents, its codes packed by
pack_int_data, and what its _dequantize_weight makes of them on a CPU. Run by hand when a case is added, in the
environment of requirements.txt with the package beside it:

    pip install --no-deps aqlm==1.1.7
    python test/peers/make-aqlm-corpus.py test/corpus
"""
import importlib.metadata
import sys

import torch
from aqlm.inference import QuantizedLinear
from aqlm.utils import _dequantize_weight, pack_int_data, unpack_int_data

from corpus_writer import Models


def layer(n_out, n_in, og, ig, books, bits, dtype):
    """Returns the tensors of a layer, and the dense weight."""
    q = QuantizedLinear(n_in, n_out, ig, og, books, bits, bias=False, dtype=dtype)
    q.codebooks.data = (torch.randn(q.codebooks.shape) * 10.0 ** torch.randint(-2, 1, (books, 1, 1, 1))).to(dtype)
    q.codebooks.data[torch.rand(q.codebooks.shape) < 0.05] = -0.0
    q.scales.data = (torch.randn(q.scales.shape) * 0.1).to(dtype)
    q.codes.data = pack_int_data(torch.randint(0, 2 ** bits, q.codes.shape), bits)
    dense = _dequantize_weight(unpack_int_data(q.codes.data, bits), q.codebooks.data, q.scales.data)
    return {name: value.data for name, value in q.named_parameters()}, dense


def large(stored):
    stored["codebooks"][0, :2] = 60000.0            # sums beyond F16
    stored["codebooks"][1, :2] = 60000.0
    stored["scales"][0] = 0.0


F16, BF16, F32 = torch.float16, torch.bfloat16, torch.float32
CASES = [
    ("one-16", "one codebook of 512 entries, named by I16, vectors of 8 and of 4", [(24, 40, 1, 4, 1, 9, F16), (6, 96, 1, 8, 1, 9, F16)]),
    ("two-8", "two codebooks of 256 entries, vectors of 8", [(24, 72, 1, 8, 2, 8, F16), (9, 2056, 1, 8, 2, 4, F16)]),
    ("many", "3 to 8 codebooks, whose F32 sums are rounded once", [(10, 48, 1, 8, n, 4, F16) for n in range(3, 9)]),
    ("tiles", "vectors of 2x4, 8x8 and 4x3: rows that share their codes", [
        (24, 56, 2, 4, 3, 6, F16), (32, 40, 8, 8, 2, 4, F16), (20, 33, 4, 3, 1, 3, F16)]),
    ("types", "BF16 of one codebook, and F32", [(12, 64, 1, 8, 1, 6, BF16), (12, 64, 1, 8, 4, 6, F32)]),
    ("sums-bf16", "sums of BF16, whose ties embedding_bag rounds away from zero", [
        (12, 64, 1, 8, 2, 6, BF16), (20, 72, 2, 4, 4, 4, BF16), (10, 48, 1, 8, 8, 4, BF16), (12, 33, 4, 3, 2, 4, BF16)]),
]


def main():
    models = Models(sys.argv[1], "aqlm", "aqlm %s, torch %s" % (importlib.metadata.version("aqlm"),
                                                               torch.__version__.split("+")[0]))
    for i, (name, note, layers) in enumerate(CASES):
        torch.manual_seed(i + 1)
        stored, expected = {}, {}
        for n, shape in enumerate(layers):
            parts, expected[f"l.{n}.weight"] = layer(*shape)
            stored |= {f"l.{n}.{part}": value for part, value in parts.items()}
        stored["l.0.bias"] = expected["l.0.bias"] = torch.randn(layers[0][0]).half()
        models.add(name, stored, expected, note, plain={"l.0.bias"})
    torch.manual_seed(99)
    stored, _ = layer(8, 16, 1, 8, 2, 2, F16)
    large(stored)
    dense = _dequantize_weight(unpack_int_data(stored["codes"], 2), stored["codebooks"], stored["scales"])
    models.add("edges", {"l." + k: v for k, v in stored.items()}, {"l.weight": dense}, "infinite sums, one of them times 0")
    models.done()


main()
