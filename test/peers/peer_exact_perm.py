"""peer_exact_perm.py BIN FOLDER: --exact of weights whose groups of columns are not neighbours: GPTQ with desc_act, packed and decoded by
GPTQModel, and compressed-tensors with weight_g_idx, by the last version of it that has them. The values of an output are those of
its source, bit by bit, and its g_idx is that of the source.

compressed-tensors goes into FOLDER. Without GPTQModel (make-gptq-corpus.py says how to install it) its pairs are skipped by name.

AMN_EXACT_MODELS is the number of weights of a source (40)."""
import contextlib
import json
import os
import shutil
import subprocess
import sys

OLD = os.path.join(sys.argv[2], "compressed-tensors")
subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", OLD, "compressed-tensors==0.18.0"], check=True)
sys.path.insert(0, OLD)

import torch
from compressed_tensors.compressors.pack_quantized import PackedQuantizationCompressor
from compressed_tensors.quantization import QuantizationConfig
from safetensors.torch import load_file, save_file

from peers import Tally, Tools, same_bits

try:
    from gptqmodel.nn_modules.qlinear.torch import TorchLinear
    from gptqmodel.quantization import QuantizeConfig
    from gptqmodel.utils.backend import BACKEND
    from gptqmodel.utils.model import convert_gptq_v1_to_v2_format_module, convert_gptq_v2_to_v1_format_module
except ImportError:
    TorchLinear = None

MODELS = int(os.environ.get("AMN_EXACT_MODELS", "40"))
SHAPES = [(32, 128), (64, 256), (32, 1024), (96, 512)]


def module(i):
    return f"model.layers.{i}.mlp.down_proj"


def shuffled(n, group):
    """The group of each column: none for neighbours, or for whole groups of them in another order."""
    return (torch.randperm(n) // group if torch.rand(()) < .8 else torch.randperm(n // group).repeat_interleave(group)).to(torch.int32)


def scales(shape, dtype):
    """Usual ones; powers of two; subnormal ones of F16."""
    low, high = [(-12., -3.), (-9., -9.), (-24., -20.)][int(torch.randint(0, 3, ()))]
    return (2 ** torch.empty(shape).uniform_(low, high)).to(dtype)


# --- GPTQModel

def gptq_layer(bits, sym, n_in, n_out, group):
    with contextlib.redirect_stdout(sys.stderr):        # its log
        config = QuantizeConfig(bits=bits, group_size=group, sym=sym, desc_act=True, format="gptq")
        layer = TorchLinear(bits=bits, group_size=group, sym=sym, desc_act=True, in_features=n_in, out_features=n_out, bias=False,
                            pack_dtype=torch.int32, register_buffers=True, backend=BACKEND.AUTO, format="gptq")
    return config, layer


def gptq_source(bits, sym, group, folder):
    """Returns the values of each weight of a file in `folder`."""
    tensors, values = {}, {}
    for i in range(MODELS):
        n_out, n_in = SHAPES[i % len(SHAPES)]
        config, layer = gptq_layer(bits, sym, n_in, n_out, group)
        g_idx, scale = shuffled(n_in, group), scales((n_out, n_in // group), torch.float16).float()
        top = 2 ** bits - 1                     # version 1 of GPTQ has no zero point of 0 that its readers agree on
        zero = torch.full_like(scale, (top + 1) // 2) if sym else torch.randint(1, top + 1, scale.shape).float()
        linear = torch.nn.Linear(n_in, n_out, bias=False)
        q = torch.randint(0, top + 1, (n_out, n_in))
        linear.weight.data = (q - zero[:, g_idx.long()]) * scale[:, g_idx.long()]
        layer.pack_original(linear, scale, zero, g_idx)
        convert_gptq_v2_to_v1_format_module(layer, config)
        tensors |= {f"{module(i)}.{name}": getattr(layer, name).clone() for name in ("qweight", "qzeros", "scales", "g_idx")}
    write(folder, tensors, {"quant_method": "gptq", "bits": bits, "group_size": group, "desc_act": True, "sym": sym,
                            "checkpoint_format": "gptq"})
    for i in range(MODELS):
        values[i] = gptq_values(tensors, i, bits, sym, group)
    return values, {i: tensors[f"{module(i)}.g_idx"] for i in values}


def gptq_values(tensors, i, bits, sym, group):
    """Returns what the layer computes with; F32 scales, so that nothing is rounded."""
    parts = {name: tensors[f"{module(i)}.{name}"] for name in ("qweight", "qzeros", "scales", "g_idx")}
    config, layer = gptq_layer(bits, sym, len(parts["g_idx"]), parts["qweight"].shape[1], group)
    for name, value in parts.items():
        layer.register_buffer(name, value.float() if name == "scales" else value.clone())
    convert_gptq_v1_to_v2_format_module(layer, config.bits, torch.int32)
    layer.enable_wf_unsqueeze = True
    return layer.dequantize_weight().T.float().contiguous()


# --- compressed-tensors

def ct_config(sym, group):
    return {"quant_method": "compressed-tensors", "format": "pack-quantized", "quantization_status": "compressed", "config_groups": {
        "group_0": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "int", "symmetric": sym, "group_size": group,
                                                       "strategy": "group", "actorder": "group"}}}}


def scheme_of(config, i):
    """Returns the scheme of a module: a group that names it, or the group of its class."""
    groups = QuantizationConfig.model_validate(config).config_groups.values()
    named = [g for g in groups if module(i) in g.targets]
    return named[0] if named else next(g for g in groups if "Linear" in g.targets)


def ct_source(sym, group, dtype, folder):
    tensors, config = {}, ct_config(sym, group)
    for i in range(MODELS):
        n_out, n_in = SHAPES[i % len(SHAPES)]
        g_idx, scale = shuffled(n_in, group), scales((n_out, n_in // group), dtype)
        zero = torch.zeros_like(scale, dtype=torch.int8) if sym else torch.randint(-7, 8, scale.shape, dtype=torch.int8)
        q = torch.randint(-8, 8, (n_out, n_in))
        weight = (q - zero[:, g_idx.long()]) * scale[:, g_idx.long()]
        parts = {"weight": weight, "weight_scale": scale, "weight_zero_point": zero, "weight_g_idx": g_idx}
        tensors |= {f"{module(i)}.{k}": v for k, v in PackedQuantizationCompressor.compress(parts, scheme_of(config, i)).items()}
    write(folder, tensors, config)
    return {i: ct_values(tensors, i, config) for i in range(MODELS)}, {i: tensors[f"{module(i)}.weight_g_idx"] for i in range(MODELS)}


def ct_values(tensors, i, config):
    parts = {k.removeprefix(module(i) + "."): v for k, v in tensors.items() if k.startswith(module(i) + ".")}
    parts["weight_scale"] = parts["weight_scale"].float()
    return PackedQuantizationCompressor.decompress(parts, scheme_of(config, i))["weight"]


# --- pairs

def write(folder, tensors, config):
    os.makedirs(folder, exist_ok=True)
    save_file({k: v.contiguous() for k, v in tensors.items()}, os.path.join(folder, "model.safetensors"))
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as f:
        json.dump({"model_type": "llama", "quantization_config": config}, f)


def run(tools, folder, scheme, out):
    return subprocess.run([os.path.join(tools.bin, "amn-forget"), "-q", "--exact", "--scheme", scheme, "-o", out + "/", folder],
                          stderr=subprocess.PIPE, text=True, check=False)


def check(tally, tools, what, folder, source, scheme):
    values, orders = source
    out = tools.path(f"{scheme}.out")
    shutil.rmtree(out, ignore_errors=True)
    done = run(tools, folder, scheme, out)
    if not tally.check(done.returncode == 0, f"{what}: exit {done.returncode} {done.stderr[-300:]}"):
        return None
    tensors = load_file(os.path.join(out, "model.safetensors"))
    with open(os.path.join(out, "config.json"), encoding="utf-8") as f:
        config = json.load(f)["quantization_config"]
    ct = scheme == "int4-group"
    tally.check(ct or config["desc_act"] is True, f"{what}: {config}")
    for i, want in values.items():
        got = ct_values(tensors, i, config) if ct else gptq_values(tensors, i, config["bits"], config["sym"], config["group_size"])
        tally.check(same_bits(got + 0., want + 0.), f"{what}: {module(i)} has other values")
        g_idx = tensors.get(module(i) + (".weight_g_idx" if ct else ".g_idx"))
        sorted_ = torch.equal(orders[i], orders[i].sort().values)
        tally.check(ct and g_idx is None if ct and sorted_ else torch.equal(g_idx, orders[i]), f"{what}: {module(i)} has another g_idx")
    return out


def main():
    tally, tools = Tally(), Tools()
    torch.manual_seed(28)
    targets = ["int4-group", "gptq", "gptq-8bit"] if TorchLinear else ["int4-group"]
    sources = [(f"ct {str(dtype)[6:]} g{group}{' sym' * sym}", (lambda f, a=(sym, group, dtype): ct_source(*a, f)))
               for dtype in (torch.float16, torch.bfloat16) for group in (32, 128) for sym in (True, False)]
    if TorchLinear:
        sources += [(f"gptq {bits} bits g{group}{' sym' * sym}", (lambda f, a=(bits, sym, group): gptq_source(*a, f)))
                    for bits in (2, 4, 8) for group in (32, 64, 128) for sym in (True, False)]
    else:
        print("GPTQModel is not installed: its pairs are skipped")
    for name, make in sources:
        folder = tools.path("source")
        source = make(folder)
        for scheme in targets:
            wide = "8 bits" in name and scheme != "gptq-8bit"           # codes of 8 bits
            tiny = "bfloat16" in name and scheme != "int4-group"        # scales that F16 does not have
            if wide:
                done = run(tools, folder, scheme, tools.path("never"))
                tally.check(done.returncode == 69, f"{name} -> {scheme}: exit {done.returncode} {done.stderr[-300:]}")
            if wide or tiny:
                continue
            out = check(tally, tools, f"{name} -> {scheme}", folder, source, scheme)
            if out and scheme != "int4-group" and "8bit" not in scheme:         # and back
                check(tally, tools, f"{name} -> {scheme} -> int4-group", out, source, "int4-group")
        print(name, flush=True)
    tally.finish()


main()
