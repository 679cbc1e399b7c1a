#!/usr/bin/env python3
r"""make-exl2-corpus.py CORPUS: write CORPUS/safetensors-good/peer-exl2-* and CORPUS/manifest-exl2.ndjson.

Small EXL2 models as the converter of exllamav2 writes them: its own conversion/adaptivegptq.py chooses the scales, rounds
them, orders the inputs and lays out the tensors. Four functions that it has for CUDA alone are stood in for here, with the
same arithmetic in torch's F16: the error of a candidate scale, rounding weights to codes, and packing. What a weight is
decoded to is what that rounding leaves of it, with the scale that the library's Python computed.

Run by hand when a case is added, in the environment of requirements.txt with the sources of exllamav2 0.3.2 beside it:

    pip install --no-deps exllamav2==0.3.2
    python test/peers/make-exl2-corpus.py test/corpus
"""
import importlib.metadata
import importlib.util
import os
import sys
import types

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from corpus_writer import Models


class OnCpu(TorchFunctionMode):
    """Ignores requests for a GPU."""

    def __torch_function__(self, func, _, args=(), kwargs=None):
        def here(x):
            return "cpu" if isinstance(x, (str, torch.device)) and str(x).startswith("cuda") else x
        return func(*map(here, args), **{k: here(v) for k, v in (kwargs or {}).items()})


def quantize_err(x, errors, scale, qzero, maxq, norm, min_p, max_p, steps):
    for i in range(steps + 1):
        s = scale * (min_p * (1 - i / steps) + max_p * i / steps)
        errors[i, 0] = ((x / s).round().clamp(-qzero, maxq - qzero) * s - x).abs().pow(norm).sum()


def quantize_range_inplace(weights, scale, codes, qzero, maxq, a, b):
    x = ((weights[a:b] / scale).round() + qzero).clamp(0, maxq)
    codes[a:b] = x.to(torch.short)
    weights[a:b] = ((x.half() - qzero) * scale.half()).float()


def to_words(bits):
    """Packs [..., 32*n] bits, the low one first, into n words each."""
    return torch.from_numpy(np.packbits(bits, axis=-1, bitorder="little").view("<i4").copy())


def pack_rows_4(scales, out):
    code = scales.numpy().astype(np.int32)[..., None] - 1
    out[:] = to_words((code >> np.arange(4) & 1).reshape(len(code), -1))


def pack_columns(codes, out, bits):
    code = codes.numpy().astype(np.int32).T[..., None]
    out[:] = to_words((code >> np.arange(bits) & 1).reshape(codes.shape[1], -1)).T


def converter():
    """Loads conversion/adaptivegptq.py without the rest of the package, which builds CUDA code when it is imported."""
    ext = types.ModuleType("exllamav2.ext")
    ext.exllamav2_ext = types.SimpleNamespace(quantize_err=quantize_err, quantize_range_inplace=quantize_range_inplace,
                                              pack_rows_4=pack_rows_4, pack_columns=pack_columns)
    ext.none_tensor = torch.empty((1, 1), device="meta")
    util = types.ModuleType("exllamav2.util")
    util.list_live_tensors = None
    sys.modules |= {"exllamav2": types.ModuleType("exllamav2"), "exllamav2.ext": ext, "exllamav2.util": util}
    files = importlib.metadata.files("exllamav2")
    path = next(f for f in files if str(f) == "exllamav2/conversion/adaptivegptq.py").locate()
    spec = importlib.util.spec_from_file_location("adaptivegptq", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.cuda.synchronize = lambda: None
    return module


def quantize(library, n_out, n_in, groups, bits, shares, std=0.05, change=None):
    """Returns the tensors of a layer, and the dense weight."""
    linear = torch.nn.Linear(n_in, n_out, bias=False)
    linear.weight.data = torch.randn(n_out, n_in) * std
    if change:
        change(linear.weight.data)
    with OnCpu(), torch.inference_mode():
        q = library.AdaptiveGPTQ(linear)
        q.configure(groups, bits, shares)
        x = torch.randn(64, n_in)
        q.hessian, q.num_batches = x.T @ x, 1
        q.prepare(no_h_inv=True)
        q.quantize_rtn_inplace(keep_qweight=True, apply=True)
        dense = linear.weight.data.clone()
        stored = q.pack("p", types.SimpleNamespace(scale_bits=4))
    stored["p.q_groups"] = q.qgroups
    return {name.removeprefix("p."): t.contiguous() for name, t in stored.items()}, dense


def large(weight):
    weight[3] *= 3e6                    # beyond F16 with some codes
    weight[:, 40:60] *= 1e-7            # scales among the subnormal ones


CASES = [
    {"name": "mixed", "note": "5 and 4 bits, 4 and 3 bits, and 3 and 2 bits, groups of 32 to 128, inputs in any order", "layers": [
        ("up", 64, 256, {5: 128, 4: 128}, [5, 4], [0.5, 0.5]), ("gate", 32, 320, {4: 128, 3: 32}, [4, 3], [0.25, 0.75]),
        ("down", 96, 224, {3: 64, 2: 32}, [3, 2], [0.3, 0.7])]},
    {"name": "wide-codes", "note": "8, 6 and 5 bits in one weight, and 8 bits alone", "layers": [
        ("up", 32, 288, {8: 32, 6: 64, 5: 96}, [8, 6, 5], [0.2, 0.3, 0.5]), ("down", 160, 64, {8: 32}, [8], [1])]},
    {"name": "edges", "note": "values beyond F16 and subnormal scales", "layers": [
        ("up", 32, 128, {4: 32}, [4], [1], 0.05, large), ("down", 64, 96, {6: 32, 2: 32}, [6, 2], [0.25, 0.75], 1e-6)]},
    {"name": "head", "note": "lm_head padded from 43 to 64 rows, as vocab_size tells", "layers": [
        ("lm_head", 43, 64, {6: 32}, [6], [1])], "config": {"model_type": "llama", "vocab_size": 43}},
    {"name": "short-index", "note": "q_invperm I16, as loaders make it; a last group of 32 behind groups of 64", "layers": [
        ("up", 32, 160, {4: 64}, [4], [1])], "short": True},
]


def main():
    library = converter()
    by = "exllamav2 %s, torch %s" % (importlib.metadata.version("exllamav2"), torch.__version__.split("+")[0])
    models = Models(sys.argv[1], "exl2", by)
    for i, case in enumerate(CASES):
        torch.manual_seed(i + 1)
        stored, expected = {}, {}
        for name, *layer in case["layers"]:
            name = name if name == "lm_head" else "model.layers.0.mlp.%s_proj" % name
            parts, expected[name + ".weight"] = quantize(library, *layer)
            if case.get("short"):
                parts["q_invperm"] = parts["q_invperm"].short()
            stored |= {f"{name}.{part}": value for part, value in parts.items()}
        stored["model.norm.weight"] = expected["model.norm.weight"] = torch.ones(16, dtype=torch.float16)
        models.add(case["name"], stored, expected, case["note"], case.get("config"), plain={"model.norm.weight"})
    models.done()


main()
