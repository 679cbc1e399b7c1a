#!/usr/bin/env python3
r"""make-eetq-corpus.py CORPUS: write CORPUS/safetensors-good/peer-eetq-* and CORPUS/manifest-eetq.ndjson.

EETQ packs and computes on GPUs alone. The four steps of its preprocessor, by which it packs for sm75 to sm89, are taken
here one after the other; nothing here knows where a code ends up. Run by hand when a case is added, in the environment
of requirements.txt:

    python test/peers/make-eetq-corpus.py test/corpus
"""
import sys

import numpy as np
import torch
from corpus_writer import Models


def permute_rows(codes):
    """Step 1: of each 16 rows of [in, out], those that one matrix instruction reads are adjacent."""
    order = [8 * (t % 4 // 2) + t % 2 + 2 * (t // 4) for t in range(16)]
    return codes.reshape(-1, 16, codes.shape[1])[:, order].reshape(codes.shape)


def interleave_columns(turned):
    """Step 3, for [out, in]: two columns of the kernel's matrix, alternating every 64 codes."""
    n_out, n_in = turned.shape
    return turned.reshape(n_out // 2, 2, n_in // 64, 64).transpose(0, 2, 1, 3).reshape(-1)


def bias_and_swap(flat):
    """Step 4: unsigned codes; the two middle bytes of each word are swapped."""
    return (flat.astype(np.int16) + 128).astype(np.uint8).reshape(-1, 4)[:, [0, 2, 1, 3]].reshape(-1)


def pack(codes):
    """Returns [in, out] as it is stored; step 2 transposes it."""
    flat = bias_and_swap(interleave_columns(permute_rows(codes).T))
    return torch.from_numpy(flat.view(np.int8).reshape(codes.shape).copy())


def main():
    rng = np.random.default_rng(0)
    models = Models(sys.argv[1], "eetq", f"hand-made, torch {torch.__version__.split('+')[0]}")
    stored, expected = {}, {}
    for i, (n_in, n_out, dtype) in enumerate(((64, 2, np.float16), (192, 6, np.float16), (128, 14, np.float16))):
        codes = rng.integers(-128, 128, (n_in, n_out), dtype=np.int8)
        scales = (rng.random(n_out) * 0.01).astype(dtype)
        stored |= {f"l.{i}.weight": pack(codes), f"l.{i}.weight_scales": torch.from_numpy(scales)}
        expected[f"l.{i}.weight"] = torch.from_numpy(codes.T.astype(np.float32) * scales.astype(np.float32)[:, None])
    stored["l.0.bias"] = expected["l.0.bias"] = torch.ones(2, dtype=torch.float16)
    models.add("layers", stored, expected, "the order of sm75 to sm89", plain={"l.0.bias"})
    models.done()


main()
