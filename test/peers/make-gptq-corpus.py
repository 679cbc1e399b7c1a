#!/usr/bin/env python3
r"""make-gptq-corpus.py CORPUS: write CORPUS/safetensors-good/gptqmodel-* and CORPUS/manifest-gptq.ndjson.

Small GPTQ models, most of 4 bits, packed by GPTQModel's own code, and the SHA-256 of the dense BF16 weights that it makes of
them: nothing here knows the formula. Where its two readers agree, the converter of files (utils/model_dequant.py) and
the layer (nn_modules/qlinear), one value is expected; the file whose zero points they read differently says so.

Run by hand when a case is added, in the environment of requirements.txt with GPTQModel 7.7.0 beside it (its other
requirements compile for CUDA, or are not looked at by what is imported here):

    pip install --no-deps gptqmodel==7.7.0 threadpoolctl device-smi pypcre tokenicer logbar accelerate defuser dill \
        pillow
    python test/peers/make-gptq-corpus.py test/corpus
"""
import json
import sys
import tempfile
from pathlib import Path

import torch
from gptqmodel.nn_modules.qlinear.torch import TorchLinear
from gptqmodel.quantization import QuantizeConfig
from gptqmodel.quantization.quantizer import Quantizer
from gptqmodel.utils.backend import BACKEND
from gptqmodel.utils.model import convert_gptq_v1_to_v2_format_module, convert_gptq_v2_to_v1_format_module
from gptqmodel.utils.model_dequant import convert_gptq_file
from gptqmodel.version import __version__
from safetensors.torch import save_file

from corpus import Corpus, expectation

KEPT = ("bits", "group_size", "desc_act", "sym", "quant_method", "checkpoint_format", "pack_dtype")


def config_of(case):
    config = QuantizeConfig(bits=case.get("bits", 4), group_size=case.get("group", 32), sym=case.get("sym", False),
                            desc_act=case.get("shuffled", False), format=case.get("format", "gptq"))
    config.meta_set_versionable(key="quantizer", value=[f"gptqmodel:{__version__}"])
    return config


def stored_config(config):
    """Returns the quantization config for config.json, without machine-specific members."""
    said = json.loads(json.dumps(config.to_dict()))
    return {key: said[key] for key in KEPT} | {"meta": {"quantizer": said["meta"]["quantizer"]}}


def empty_layer(config, n_in, n_out):
    return TorchLinear(bits=config.bits, group_size=config.group_size, sym=config.sym, desc_act=config.desc_act,
                       in_features=n_in, out_features=n_out, bias=False, pack_dtype=torch.int32, register_buffers=True,
                       backend=BACKEND.AUTO, format=config.format)


def find_params(config, weight, group):
    """Returns the library's scales and zero points of the groups of columns: [out, groups]."""
    scales, zeros = [], []
    for part in weight.split(group, dim=1):
        quantizer = Quantizer(qcfg=config)
        quantizer.configure(perchannel=True)
        quantizer.find_params(part, weight=True)
        scales.append(quantizer.scale)
        zeros.append(quantizer.zero)
    return torch.cat(scales, dim=1), torch.cat(zeros, dim=1)


def pack(case, config):
    """Returns the four buffers of a layer of random weights."""
    n_in, n_out = case["in"], case["out"]
    group = n_in if config.group_size == -1 else config.group_size
    linear = torch.nn.Linear(n_in, n_out, bias=False)
    linear.weight.data = torch.randn(n_out, n_in) * 0.05 + case.get("mean", 0.0)
    order = torch.randperm(n_in) if config.desc_act else torch.arange(n_in)
    g_idx = torch.empty(n_in, dtype=torch.int32)
    g_idx[order] = (torch.arange(n_in) // group).to(torch.int32)
    scales, zeros = find_params(config, linear.weight.data[:, order], group)
    if "zeros" in case:
        zeros = case["zeros"](zeros)
    layer = empty_layer(config, n_in, n_out)
    layer.pack_original(linear, scales, zeros, g_idx)
    if case.get("format", "gptq") == "gptq":
        convert_gptq_v2_to_v1_format_module(layer, config)
    return {name: getattr(layer, name).clone() for name in ("qweight", "qzeros", "scales", "g_idx")}


def by_layer(config, buffers):
    """Returns the weights that the layer computes with; F32 scales, so that nothing is rounded before the end."""
    n_in, n_out = len(buffers["g_idx"]), buffers["qweight"].shape[1]
    layer = empty_layer(config, n_in, n_out)
    for name, value in buffers.items():
        layer.register_buffer(name, value.float() if name == "scales" else value.clone())
    if config.format == "gptq":
        convert_gptq_v1_to_v2_format_module(layer, config.bits, torch.int32)
    layer.enable_wf_unsqueeze = True
    return layer.dequantize_weight().T.to(torch.bfloat16).contiguous()


def by_file(config, buffers):
    """Returns the weights that the library writes when it converts the model to a dense one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.safetensors")
        save_file({"x." + name: value.contiguous() for name, value in buffers.items()}, str(path))
        return convert_gptq_file(path, torch.bfloat16, stored_config(config), "cpu")["x.weight"]


def same(a, b):
    return a.shape == b.shape and bool(((a == b) | (a.isnan() & b.isnan())).all())


def layer_of(case, name):
    """Returns (stored, expected) of one layer."""
    config = config_of(case)
    buffers = pack(case, config)
    for change in case.get("changes", []):
        change(buffers)
    whole, file = by_layer(config, buffers), by_file(config, buffers)
    expected = expectation(f"{name}.weight", whole)
    if case.get("differs"):
        assert not same(whole, file), name
        expected["alternatives"] = [expectation(f"{name}.weight", file)]
    else:
        assert same(whole, file), name
    stored = {f"{name}.{part}": value for part, value in buffers.items() if part not in case.get("without", ())}
    return stored, expected


def write(corpus, case):
    torch.manual_seed(case["file"])
    layers = case.get("layers", [{}])
    stored, tensors = {}, []
    for layer, name in zip(layers, ("model.layers.0.mlp.up_proj", "model.layers.0.mlp.down_proj")):
        part, expected = layer_of({**case, **layer}, name)
        stored |= part
        tensors.append(expected)
    for name, value in (("model.layers.0.mlp.up_proj.bias", torch.randn(case["out"]).half()),
                        ("model.norm.weight", torch.ones(16, dtype=torch.bfloat16))):
        stored[name] = value
        tensors.append(expectation(name, value))
    config = None
    if "config" in case:
        said = stored_config(config_of({**case, **layers[0]})) | case["config"]
        config = {"model_type": "llama", "quantization_config": said}
    corpus.add("gptqmodel-" + case["name"], stored, tensors,
               f"GPTQModel {__version__}, torch {torch.__version__.split('+')[0]}", case["note"], config)


def scales_as(dtype):
    def change(buffers):
        buffers["scales"] = buffers["scales"].to(dtype)
    return change


def scales_at_edges(buffers):
    edges = torch.tensor([0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x7BFF, 0x7C00, -0x400, 0x7E00, 0x3C01],
                         dtype=torch.int32).to(torch.int16).view(torch.float16)
    buffers["scales"].view(-1)[:len(edges)] = edges


def negative_groups(buffers):
    groups = len(buffers["scales"])
    buffers["g_idx"][1::2] -= groups


def some_zero(zeros):
    zeros = zeros.clamp(1, 15)
    zeros[2, 0], zeros[3, 0] = 0, 5         # a zero, followed by something that lends it a bit
    zeros[7, -1] = 0                        # the highest field of a word
    return zeros


def some_zero_of(largest):
    def change(zeros):
        zeros = zeros.clamp(1, largest)
        zeros[2, 0] = zeros[7, -1] = zeros[9, 0] = 0
        return zeros
    return change


def all_fields(zeros):
    return (torch.arange(zeros.numel()) % 16).reshape(zeros.shape).float()


def up_to_15(zeros):
    return zeros.clamp(1, 15)


CASES = [
    {"name": "sym-g32", "in": 128, "out": 24, "sym": True, "note": "symmetric"},
    {"name": "asym-g32", "in": 128, "out": 24, "zeros": up_to_15, "note": "asymmetric, no zero point is 0"},
    {"name": "asym-g128-wide", "in": 384, "out": 8, "group": 128, "zeros": up_to_15, "note": "one word of zero points"},
    {"name": "asym-g32-tall", "in": 32, "out": 136, "zeros": up_to_15,
     "note": "one group, 136 output rows: no multiple of 16 or 64"},
    {"name": "sym-whole-column", "in": 160, "out": 40, "group": -1, "sym": True, "note": "group_size -1: one group"},
    {"name": "asym-shuffled-g32", "in": 160, "out": 24, "shuffled": True, "zeros": up_to_15,
     "note": "desc_act: g_idx in any order"},
    {"name": "sym-shuffled-g128-short", "in": 320, "out": 16, "group": 128, "shuffled": True, "sym": True,
     "note": "desc_act, and the last group has 64 elements"},
    {"name": "asym-g32-short", "in": 80, "out": 16, "zeros": up_to_15, "note": "the last group has 16 elements"},
    {"name": "asym-negative-g-idx", "in": 96, "out": 16, "shuffled": True, "zeros": up_to_15,
     "changes": [negative_groups], "note": "g_idx counts from the end in places, as torch indexes"},
    {"name": "sym-scales-f32", "in": 64, "out": 16, "sym": True, "changes": [scales_as(torch.float32)],
     "note": "F32 scales: AutoGPTQ 0.7.1 writes them in the dtype of the weight"},
    {"name": "asym-scales-bf16", "in": 64, "out": 16, "zeros": up_to_15, "changes": [scales_as(torch.bfloat16)],
     "note": "BF16 scales, for the same reason"},
    {"name": "asym-scales-edges", "in": 64, "out": 16, "zeros": up_to_15, "changes": [scales_at_edges],
     "note": "zero, subnormal, largest, infinite and NaN scales"},
    {"name": "sym-no-g-idx", "in": 128, "out": 16, "sym": True, "without": ["g_idx"],
     "note": "no g_idx in the file, as AutoRound leaves it out; expected with the one a new layer has"},
    {"name": "asym-no-g-idx-short", "in": 80, "out": 16, "zeros": up_to_15, "without": ["g_idx"], "config": {},
     "note": "no g_idx, and groups of 32, 32 and 16: only config.json tells 32 from 27"},
    {"name": "v2-asym", "in": 128, "out": 24, "format": "gptq_v2", "zeros": all_fields, "config": {},
     "note": "checkpoint_format gptq_v2: zero points 0 to 15 as they are"},
    {"name": "v2-sym", "in": 64, "out": 16, "format": "gptq_v2", "sym": True, "config": {},
     "note": "checkpoint_format gptq_v2, symmetric"},
    {"name": "two-groups", "in": 128, "out": 16, "sym": True, "layers": [{}, {"group": 64}],
     "config": {"dynamic": {"+:.*down_proj": {"group_size": 64}}},
     "note": "a group size of its own for one layer; its scales show it"},
    {"name": "v1-asym-zero", "in": 64, "out": 16, "zeros": some_zero, "config": {}, "differs": True,
     "note": "v1 and zero points of 0: the writer takes 1 off each field with one subtraction a word, so 0 becomes 15 "
             "and the field behind it loses another 1. Expected is what the layer makes of it, adding to whole words, "
             "which is what was encoded; the alternative is the converter of files, adding to each field modulo 16"},
    {"name": "planar-3bit", "bits": 3, "in": 96, "out": 32, "format": "gptq_p", "config": {},
     "note": "checkpoint_format gptq_p: planes of 2 and 1 bits, zero points as they are"},
    {"name": "planar-5bit", "bits": 5, "in": 96, "out": 32, "format": "gptq_p", "config": {}, "note": "planes of 4 and 1 bits"},
    {"name": "planar-6bit-shuffled", "bits": 6, "in": 160, "out": 64, "format": "gptq_p", "shuffled": True, "config": {},
     "note": "planes of 4 and 2 bits, g_idx in any order"},
    {"name": "planar-7bit", "bits": 7, "in": 64, "out": 32, "format": "gptq_p", "sym": True, "config": {},
     "note": "planes of 4, 2 and 1 bits, symmetric"},
    {"name": "v1-asym-zero-2bit", "bits": 2, "in": 64, "out": 32, "zeros": some_zero_of(3), "config": {}, "differs": True,
     "note": "v1 and zero points of 0, as in v1-asym-zero"},
    {"name": "v1-asym-zero-8bit", "bits": 8, "in": 64, "out": 32, "zeros": some_zero_of(255), "config": {}, "differs": True,
     "note": "v1 and zero points of 0, as in v1-asym-zero"},
    {"name": "v1-asym-zero-3bit", "bits": 3, "in": 64, "out": 32, "zeros": some_zero_of(7), "config": {},
     "note": "v1 and zero points of 0: the writer takes 1 off each field of 3 bits, which wraps alone"},
]


def main():
    corpus = Corpus(sys.argv[1], "manifest-gptq.ndjson", "gptqmodel-")
    for i, case in enumerate(CASES):
        write(corpus, {**case, "file": i + 1})
    corpus.finish()


main()
