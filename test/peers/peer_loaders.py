"""peer_loaders.py BIN FOLDER: read model directories of amn-forget with their loaders: tiny models of transformers, every
scheme that has a loader on the CPU, the modules that it treats as quantized, and the weights that it makes, bit for bit."""
import json
import os
import re
import shutil
import subprocess
import sys

os.environ["TQDM_DISABLE"] = "1"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import bitsandbytes as bnb
import torch
import transformers
from safetensors import safe_open
from transformers import (AutoConfig, AutoModelForCausalLM, AwqConfig, FineGrainedFP8Config, GPT2Config, GPT2LMHeadModel,
                          LlamaConfig, LlamaForCausalLM, MixtralConfig, MixtralForCausalLM, Qwen2MoeConfig,
                          Qwen2MoeForCausalLM)
from transformers.integrations.finegrained_fp8 import FP8Experts, FP8Linear, replace_with_fp8_linear
from transformers.quantizers.base import HfQuantizer
from transformers.quantizers.quantizer_finegrained_fp8 import FineGrainedFP8HfQuantizer
from transformers.quantizers.quantizers_utils import should_convert_module

from peers import Tally, Tools, load, same_bits

transformers.logging.set_verbosity(transformers.logging.CRITICAL)
torch.set_num_threads(1)

TEXT = torch.arange(3, 19).view(1, 16)
BNB = "int8", "nf4", "fp4", "nf4-double-quant", "fp4-double-quant"
CT = "fp8-per-channel", "fp8-per-tensor", "int8-channel", "int4-group", "mxfp4", "mxfp8", "nvfp4"
FP8 = "fp8", "fp8-division", "fp8-ue8m0"
MLX = "mlx-2bit", "mlx-3bit", "mlx-4bit", "mlx-5bit", "mlx-6bit", "mlx-8bit"
# Experts that transformers joins from separate modules.
JOINED = FP8 + ("fp8-per-channel", "fp8-per-tensor", "int4-group", "mxfp4")
# With these it cannot read unquantized experts.
LOST = "int8-channel", "int4-group", "mxfp4", "nvfp4"
# Inputs are rounded too.
ROUGH = "int8", "fp8-per-channel", "fp8-per-tensor", "int8-channel"


# --- models

def make_models(tools):
    base = {"vocab_size": 160, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
            "max_position_embeddings": 64}
    moe = {"hidden_size": 128, "intermediate_size": 256, "num_experts_per_tok": 2, **base}
    models = {
        "biases": LlamaForCausalLM(LlamaConfig(hidden_size=128, intermediate_size=256, attention_bias=True, mlp_bias=True,
                                               tie_word_embeddings=False, **base)),
        "tied": LlamaForCausalLM(LlamaConfig(hidden_size=128, intermediate_size=256, tie_word_embeddings=True, **base)),
        "odd": LlamaForCausalLM(LlamaConfig(hidden_size=96, intermediate_size=160, tie_word_embeddings=False, **base)),
        # columns that no block divides, and a key that is too small
        "uneven": LlamaForCausalLM(LlamaConfig(hidden_size=136, intermediate_size=264, head_dim=8, tie_word_embeddings=True,
                                               **base)),
        "router": Qwen2MoeForCausalLM(Qwen2MoeConfig(moe_intermediate_size=128, shared_expert_intermediate_size=128,
                                                     num_experts=4, **moe)),
        "mixtral": MixtralForCausalLM(MixtralConfig(num_local_experts=4, **moe)),
        "turned": GPT2LMHeadModel(GPT2Config(vocab_size=160, n_embd=128, n_layer=2, n_head=4, n_positions=64)),
    }
    for name, model in models.items():
        model.to(torch.bfloat16).save_pretrained(tools.path(name))


# --- outputs

class Output:
    """A directory that amn-forget made from a model, and its dequantized weights."""

    def __init__(self, tools, model, scheme, options):
        self.path, self.source = tools.path("out"), tools.path(model)
        for path in self.path, tools.path("plain"):
            shutil.rmtree(path, ignore_errors=True)
        done = subprocess.run([os.path.join(tools.bin, "amn-forget"), "--scheme", scheme, *options, self.source + "/", "-o",
                               self.path + "/"], stderr=subprocess.PIPE, text=True, check=False)
        self.ok, self.said = done.returncode == 0, done.stderr
        self.warnings = [line for line in self.said.splitlines() if "warning: " in line]
        if not self.ok:
            return
        with safe_open(os.path.join(self.path, "model.safetensors"), "pt") as f:
            self.names = set(f.keys())
        with open(os.path.join(self.path, "config.json"), encoding="utf-8") as f:
            self.quantization = json.load(f)["quantization_config"]
        self.plain = tools.path("plain")
        os.mkdir(self.plain)
        shutil.copy(os.path.join(self.source, "config.json"), self.plain)
        for dtype in "bf16", "f32":
            subprocess.run([os.path.join(tools.bin, "amn-remember"), "-q", "--to", dtype, "-o",
                            os.path.join(self.plain, f"{dtype}.safetensors"), self.path], check=True)
        self.weights = load(os.path.join(self.plain, "bf16.safetensors"))[0]
        self.exact = load(os.path.join(self.plain, "f32.safetensors"))[0]
        os.rename(os.path.join(self.plain, "bf16.safetensors"), os.path.join(self.plain, "model.safetensors"))
        os.remove(os.path.join(self.plain, "f32.safetensors"))
        original = load(os.path.join(self.source, "model.safetensors"))[0]
        kept = load(os.path.join(self.path, "model.safetensors"))[0]
        self.encoded = {name.removesuffix(".weight") for name, t in original.items()
                        if t.dim() == 2 and (name not in kept or kept[name].dtype != t.dtype or kept[name].shape != t.shape)}

    def skeleton(self):
        """Returns the model as transformers builds it, without weights."""
        with torch.device("meta"):
            return AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(self.source))

    def linear(self):
        """Returns encoded weights that are not experts, which are joined and not Linear."""
        return {name for name in self.encoded if ".experts." not in name}


def logits(model):
    with torch.no_grad():
        return model(TEXT).logits.float()


def is_near(got, want, much):
    return bool(got.isfinite().all()) and ((got - want).norm() / want.norm()).item() <= much


# --- transformers

def quantized_modules(model):
    return {name for name, m in model.named_modules()
            if isinstance(m, (bnb.nn.Linear4bit, bnb.nn.Linear8bitLt)) or getattr(m, "quantization_scheme", None) is not None}


def weight_of(module):
    """Returns the weights as the loader dequantizes them."""
    if isinstance(module, bnb.nn.Linear4bit):
        return bnb.functional.dequantize_4bit(module.weight.data, module.weight.quant_state)
    if isinstance(module, bnb.nn.Linear8bitLt):
        scales = module.weight.SCB if module.weight.SCB is not None else module.state.SCB
        return bnb.functional.int8_vectorwise_dequant(module.weight.data, scales)
    return module.weight.data


def joined(model, weights):
    """Returns experts as transformers joins them, by the names of its parameters."""
    got = dict(model.named_parameters())
    for name, t in got.items():
        if ".experts." not in name or t.dim() != 3:
            continue
        layer = re.search(r"layers\.(\d+)\.", name).group(1)
        own = {k: v for k, v in weights.items() if f"layers.{layer}." in k and ".experts." in k}
        experts = sorted({int(re.search(r"experts\.(\d+)\.", k).group(1)) for k in own})
        one = lambda e, *words: next(v for k, v in own.items() if f"experts.{e}." in k and k.split(".")[-2] in words)
        if name.endswith("gate_up_proj"):
            want = torch.stack([torch.cat([one(e, "gate_proj", "w1"), one(e, "up_proj", "w3")]) for e in experts])
        else:
            want = torch.stack([one(e, "down_proj", "w2") for e in experts])
        yield name, t, want


def check_transformers(tally, out, scheme, what, exact=True):
    try:
        model, info = AutoModelForCausalLM.from_pretrained(out.path, output_loading_info=True)
    except Exception as e:      # noqa: BLE001  whatever a loader raises is what is wrong
        tally.check(False, f"{what}: {type(e).__name__} {str(e)[:300]}")
        return
    for word in "missing_keys", "unexpected_keys", "mismatched_keys":
        tally.check(not info[word], f"{what}: {word} {sorted(info[word])[:4]}")
    if scheme not in FP8:       # which are dequantized without a GPU
        found = quantized_modules(model)
        tally.check(found == out.linear(), f"{what}: quantized are {sorted(found ^ out.linear())[:4]}")
    got = logits(model)         # compressed-tensors dequantizes at the first pass
    plain = AutoModelForCausalLM.from_pretrained(out.plain)
    tally.check(is_near(got, logits(plain), 0.15 if scheme in ROUGH else 1e-2), f"{what}: logits")
    if not exact:
        return
    for name in sorted(out.linear()):
        weight = weight_of(model.get_submodule(name))
        want = (out.exact if weight.dtype == torch.float32 else out.weights)[name + ".weight"]
        tally.check(same_bits(weight, want), f"{what}: {name}")
    for name, weight, want in joined(model, out.weights):
        tally.check(same_bits(weight.data, want), f"{what}: {name}")


def check_list(tally, out, what, converted):
    """Returns the modules of the model that a loader would convert if it could run here."""
    tally.check(converted == out.linear(), f"{what}: converted are {sorted(converted ^ out.linear())[:4]}")


def check_fp8_modules(tally, out, what):
    """Returns the result on a GPU: the modules that are made, and the shapes of their tensors."""
    config = FineGrainedFP8Config.from_dict(out.quantization)
    model = out.skeleton()
    quantizer = FineGrainedFP8HfQuantizer(config, pre_quantized=True)
    quantizer._normalize_modules_to_not_convert(model)
    skipped = HfQuantizer.get_modules_to_not_convert(model, config.modules_to_not_convert, model._keep_in_fp32_modules)
    replace_with_fp8_linear(model, skipped, config, pre_quantized=True)
    check_list(tally, out, what, {name for name, m in model.named_modules() if isinstance(m, FP8Linear)})
    experts = any(isinstance(m, FP8Experts) for m in model.modules())
    tally.check(experts == any(".experts." in name for name in out.encoded), f"{what}: experts")
    stored = load(os.path.join(out.path, "model.safetensors"))[0]
    for name in out.linear():
        module, scales = model.get_submodule(name), stored[name + ".weight_scale_inv"]
        tally.check(module.weight_scale_inv.shape == scales.shape and module.weight_scale_inv.dtype == scales.dtype
                    and module.weight.dtype == stored[name + ".weight"].dtype, f"{what}: {name}, shapes")


def check_awq(tally, out, what):
    config = AwqConfig.from_dict(out.quantization)
    model = out.skeleton()
    skipped = HfQuantizer.get_modules_to_not_convert(model, config.modules_to_not_convert, model._keep_in_fp32_modules,
                                                     add_default_skips=True)
    check_list(tally, out, what, {name for name, m in model.named_modules()
                                  if isinstance(m, torch.nn.Linear) and should_convert_module(name, skipped)})


def check_gptq(tally, out, what):
    """Follows optimum's convert_model, and the expressions as dynamic_get of GPTQModel evaluates them."""
    try:
        from optimum.gptq.utils import get_block_name_with_pattern, get_layers
    except ImportError:
        print(f"skipped {what}: optimum is not there")
        return
    model = out.skeleton()
    config = out.quantization
    layers = set(get_layers(model, prefix=get_block_name_with_pattern(model)))
    ends = config.get("modules_in_block_to_quantize")
    replaced = {n for n in layers if ends is None or any(n.endswith(end) for end in sum(ends, []))}
    check_list(tally, out, what + ", optimum", replaced)
    dynamic = config.get("dynamic", {})
    left = {n for n in layers if not any(p.startswith("-:") and re.match(p[2:], n) for p in dynamic)}
    check_list(tally, out, what + ", GPTQModel", left)


def check_mlx(tally, out, what):
    try:
        import mlx.core as mx
        from mlx.utils import tree_flatten
        from mlx_lm.utils import load_model
    except ImportError:
        print(f"skipped {what}: mlx-lm is not there")
        return
    from pathlib import Path
    mx.set_default_device(mx.cpu)
    try:
        model, _ = load_model(Path(out.path))
        plain, _ = load_model(Path(out.plain))
    except Exception as e:      # noqa: BLE001
        tally.check(False, f"{what}: {type(e).__name__} {str(e)[:300]}")
        return
    found = {name.removesuffix(".scales") for name, _ in tree_flatten(model.parameters()) if name.endswith(".scales")}
    want = {re.sub(r"experts\.\d+\.", "switch_mlp.", name) for name in out.encoded}
    tally.check(found == want, f"{what}: quantized are {sorted(found ^ want)[:4]}")
    for name, m in model.named_modules():
        if name in out.encoded:
            made = mx.dequantize(m.weight, m.scales, m.biases, group_size=m.group_size, bits=m.bits)
            made = torch.tensor(made.astype(mx.float32).tolist()).bfloat16()
            tally.check(same_bits(made, out.weights[name + ".weight"]), f"{what}: {name}")
    for m in model, plain:      # experts multiply F32 alone on the CPU
        m.set_dtype(mx.float32)
    text = mx.array(TEXT.tolist())
    got, plain = (torch.tensor(m(text).astype(mx.float32).tolist()) for m in (model, plain))
    tally.check(is_near(got, plain, 1e-2), f"{what}: logits")


# --- all

def check(tally, tools, model, scheme, options=(), warns=None, n=1):
    what = " ".join([model, scheme, *options])
    out = Output(tools, model, scheme, options)
    if not tally.check(out.ok, f"{what}: {out.said}"):
        return
    said = [w for w in out.warnings if "128 does not divide" not in w]
    tally.check(len(said) == (n if warns else 0) and (not warns or warns in said[0]), f"{what}: {out.warnings}")
    ragged = len(said) != len(out.warnings)
    if scheme in MLX:
        check_mlx(tally, out, what)
    elif scheme == "awq":
        check_awq(tally, out, what)
    elif scheme.startswith("gptq"):
        check_gptq(tally, out, what)
    elif warns is None:
        if not ragged:
            check_transformers(tally, out, scheme, what)
        if scheme in FP8:
            check_fp8_modules(tally, out, what)
    else:
        check_refused(tally, out, what)


def check_refused(tally, out, what):
    """Checks that the warning is true: the loader fails, or leaves tensors, or has other logits."""
    try:
        model, info = AutoModelForCausalLM.from_pretrained(out.path, output_loading_info=True)
        reads = not any(info[w] for w in ("missing_keys", "unexpected_keys", "mismatched_keys")) and is_near(
            logits(model), logits(AutoModelForCausalLM.from_pretrained(out.plain)), 0.15)
    except Exception:           # noqa: BLE001
        reads = False
    tally.check(not reads, f"{what}: it is read after all")


def main():
    tally, tools = Tally(), Tools()
    make_models(tools)
    groups = {"int4-group": ["--group-size", "32"], "gptq": ["--group-size", "32"], "gptq-8bit": ["--group-size", "32"],
              "awq": ["--group-size", "32"], **{scheme: ["--group-size", "32"] for scheme in MLX}}
    for model in "biases", "tied", "odd", "uneven":
        for scheme in (*FP8, *CT, *BNB, "gptq", "gptq-8bit", "awq", *MLX):
            if model != "uneven" or not scheme.startswith(("gptq", "awq")):     # has nothing to encode there
                check(tally, tools, model, scheme, groups.get(scheme, []))
    for model in "router", "mixtral":
        for scheme in (*FP8, *CT, *BNB):
            check(tally, tools, model, scheme, groups.get(scheme, []),
                  None if scheme in JOINED else "merges experts, and cannot read them")
            check(tally, tools, model, scheme, [*groups.get(scheme, []), "--exclude", "*.experts.*"],
                  "cannot read unquantized ones" if scheme in LOST else None)
        for scheme in "gptq", "awq":
            check(tally, tools, model, scheme, [*groups[scheme], "--exclude", "*.experts.*"])
    check(tally, tools, "router", "mlx-4bit", groups["mlx-4bit"])
    check(tally, tools, "mixtral", "int4-group", ["--group-size", "32", "--asymmetric"], "merges experts, and cannot read them", 2)
    check(tally, tools, "mixtral", "mxfp4", ["--exclude", "*.experts.1.*"], "only some of these experts")
    check(tally, tools, "biases", "int4-group", ["--asymmetric"], "reads zero points of groups only with")
    for scheme in (*FP8, *CT, *BNB, "gptq", "awq"):
        check(tally, tools, "biases", scheme, ["--exclude", "*.layers.1.self_attn.[qk]_proj.*"])
    check(tally, tools, "biases", "mlx-4bit", ["--exclude", "*.layers.1.self_attn.[qk]_proj.*"])
    for scheme in (*FP8, *CT, *BNB):
        check(tally, tools, "biases", scheme, ["--tensor-type", f"lm_head={scheme}", "--tensor-type", "layers.0.*q_proj=bf16"])
    # mixes that one config can describe
    check(tally, tools, "biases", "int8-channel", ["--tensor-type", "q_proj=nvfp4", "--tensor-type", "down_proj=fp8-per-tensor"])
    check(tally, tools, "biases", "mxfp4", ["--tensor-type", "layers.1=mxfp8"])
    check(tally, tools, "mixtral", "fp8-per-channel", ["--tensor-type", "experts.[0-9]=mxfp4"])
    check(tally, tools, "biases", "nf4", ["--tensor-type", "q_proj=fp4", "--tensor-type", "up_proj=nf4-double-quant"])
    check(tally, tools, "biases", "fp8", ["--tensor-type", "q_proj=fp8-division"])
    check(tally, tools, "biases", "mlx-4bit", ["--tensor-type", "q_proj=mlx-8bit"])
    # and mixes that none can
    check(tally, tools, "biases", "nf4", ["--tensor-type", "q_proj=int8"], "can declare only bitsandbytes NF4")
    check(tally, tools, "biases", "fp8-per-channel", ["--tensor-type", "q_proj=nf4"], "can declare only")
    check(tally, tools, "turned", "nf4", (), "are transposed")
    check(tally, tools, "turned", "int4-group", (), "are transposed")
    tally.finish()


if __name__ == "__main__":
    sys.exit(main())
