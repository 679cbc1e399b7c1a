"""peer_image_adapters.py BIN FOLDER: adapters of image models, merged by amn and by diffusers in float64.

A small UNet of Stable Diffusion gets random factors, as diffusers saves them and as its kohya converter writes them, and is merged by
diffusers' fuse_lora; amn merges both files into the UNet and into the same weights with the names of LDM, which diffusers' own converter
turns back. For Flux, diffusers' converter of kohya files says what fused factors mean for split weights. amn rounds once: within 0.51
units in the last place of F32."""
import copy
import json
import os
import re
import subprocess
import warnings

import numpy
import torch
from diffusers import UNet2DConditionModel
from diffusers.loaders import StableDiffusionLoraLoaderMixin
from diffusers.loaders.lora_conversion_utils import _convert_kohya_flux_lora_to_diffusers
from diffusers.loaders.single_file_utils import convert_ldm_unet_checkpoint
from diffusers.utils.state_dict_utils import convert_state_dict_to_kohya
from peft import LoraConfig
from peft.utils import get_peft_model_state_dict
from safetensors.torch import load_file, save_file

from tools import Tally, Tools

warnings.filterwarnings("ignore")
torch.manual_seed(29)
tools, tally = Tools(), Tally()
CONFIG = {"block_out_channels": (32, 32, 64, 64), "layers_per_block": 2, "cross_attention_dim": 24, "norm_num_groups": 8,
          "attention_head_dim": 8, "sample_size": 8}
TARGETS = ["to_q", "to_k", "to_v", "to_out.0", "proj_in", "proj_out", "ff.net.0.proj", "ff.net.2", "conv1", "conv2", "conv_shortcut",
           "time_emb_proj", "conv", "conv_in", "conv_out", "linear_1", "linear_2"]
INNER = {"norm1": "in_layers.0", "conv1": "in_layers.2", "time_emb_proj": "emb_layers.1", "norm2": "out_layers.0",
         "conv2": "out_layers.3", "conv_shortcut": "skip_connection"}
ENDS = {"conv_in": "input_blocks.0.0", "conv_norm_out": "out.0", "conv_out": "out.2", "time_embedding.linear_1": "time_embed.0",
        "time_embedding.linear_2": "time_embed.2"}


def ulps(got, exact):
    """The largest distance in units in the last place of F32 at the exact value."""
    exact = exact.numpy()
    unit = 2.0 ** (numpy.maximum(numpy.frexp(exact)[1] - 1, -126) - 23)
    return (numpy.abs(got.double().numpy() - exact) / unit).max()


def merged(base, adapter, what, exact, names=lambda x: x):
    out = tools.path("merged.safetensors")
    done = subprocess.run([os.path.join(tools.bin, "amn-convert"), "-q", "--dtype", "f32", "--adapter", adapter, "-o", out, base], check=False)
    if not tally.check(done.returncode == 0, f"{what}: status {done.returncode}"):
        return
    got = names(load_file(out))
    if tally.check(got.keys() == exact.keys(), f"{what}: other names: {sorted(got.keys() ^ exact.keys())[:4]}"):
        worst = max(exact, key=lambda n: ulps(got[n], exact[n]))
        tally.check(ulps(got[worst], exact[worst]) <= 0.51, f"{what}: {worst} differs by {ulps(got[worst], exact[worst]):.3g} ulp")


# ---- Stable Diffusion ----

def ldm_name(name, attends):
    """The name of LDM. convert_ldm_unet_checkpoint proves it."""
    module, tail = name.rsplit(".", 1)
    if module in ENDS:
        return f"{ENDS[module]}.{tail}"
    place = re.fullmatch(r"(down|up)_blocks\.(\d)\.(resnets|attentions|downsamplers|upsamplers)\.(\d)\.(.*)", name)
    if not place:
        _, kind, j, rest = re.fullmatch(r"(mid_block)\.(resnets|attentions)\.(\d)\.(.*)", name).groups()
        return f"middle_block.{1 if kind == 'attentions' else 2 * int(j)}.{inner(kind, rest)}"
    side, b, kind, j, rest = place.groups()
    b, j = int(b), int(j)
    if kind == "downsamplers":
        return f"input_blocks.{3 * b + 3}.0.op.{tail}"
    if kind == "upsamplers":
        return f"output_blocks.{3 * b + 2}.{2 if f'up_blocks.{b}.attentions' in attends else 1}.conv.{tail}"
    at = f"input_blocks.{3 * b + j + 1}" if side == "down" else f"output_blocks.{3 * b + j}"
    return f"{at}.{int(kind == 'attentions')}.{inner(kind, rest)}"


def inner(kind, rest):
    if kind == "attentions":
        return rest
    part, tail = rest.rsplit(".", 1)
    return f"{INNER[part]}.{tail}"


unet = UNet2DConditionModel(**CONFIG)
plain = {n: t.clone() for n, t in unet.state_dict().items()}
attends = {n.rsplit(".attentions", 1)[0] + ".attentions" for n in plain if ".attentions" in n}
ldm = {"model.diffusion_model." + ldm_name(n, attends): t.contiguous() for n, t in plain.items()}


def back(tensors):
    return convert_ldm_unet_checkpoint(dict(tensors), {**unet.config, "class_embed_type": None, "addition_embed_type": None})


turned = back(ldm)
tally.check(turned.keys() == plain.keys() and all(torch.equal(turned[n], plain[n]) for n in plain), "the names of LDM are not diffusers'")
save_file(plain, tools.path("unet.safetensors"))
save_file(ldm, tools.path("ldm.safetensors"))

for alpha in 6, 4:
    model = UNet2DConditionModel(**CONFIG)
    model.load_state_dict(plain)
    model.add_adapter(LoraConfig(r=4, lora_alpha=alpha, target_modules=TARGETS, init_lora_weights=False))
    factors = get_peft_model_state_dict(model)
    for n in factors:
        factors[n].copy_(torch.randn(factors[n].shape) * 0.1)
    metadata = {"r": 4, "lora_alpha": alpha, "rank_pattern": {}, "alpha_pattern": {}, "use_rslora": False}
    folder = tools.path(f"saved-{alpha}")
    StableDiffusionLoraLoaderMixin.save_lora_weights(folder, unet_lora_layers={n: t.contiguous() for n, t in factors.items()},
                                                     unet_lora_adapter_metadata=metadata)
    model.double()
    model.fuse_lora()
    model.unload_lora()
    exact = {n: t.detach() for n, t in model.state_dict().items()}
    tally.check(sum(not torch.equal(exact[n], plain[n].double()) for n in plain) > 150, "the adapter changes few weights")
    merged(tools.path("unet.safetensors"), folder, f"UNet, diffusers' file, alpha {alpha}", exact)
    merged(tools.path("ldm.safetensors"), folder, f"LDM, diffusers' file, alpha {alpha}", exact, back)
    if alpha == 4:                                      # the converter writes alpha = rank
        kohya = {n.replace("lora_unet_base_model_model_", "lora_unet_"): t.contiguous() for n, t in
                 convert_state_dict_to_kohya({"unet." + n: t for n, t in factors.items()}).items()}
        kohya = {("lora_unet_" + n.split("unet_", 1)[1] if not n.startswith("lora_unet_") else n): t for n, t in kohya.items()}
        save_file(kohya, tools.path("kohya.safetensors"))
        merged(tools.path("unet.safetensors"), tools.path("kohya.safetensors"), "UNet, kohya's names", exact)
        merged(tools.path("ldm.safetensors"), tools.path("kohya.safetensors"), "LDM, kohya's names", exact, back)

# ---- Flux ----

WIDTH, MLP, R = 3072, 12288, 2                          # diffusers' converter knows only these
fused = {"double_blocks.0.img_attn.qkv": [WIDTH] * 3, "single_blocks.0.linear1": [WIDTH] * 3 + [MLP]}
kohya = {}
for name, heights in fused.items():
    n = "lora_unet_" + name.replace(".", "_")
    kohya[n + ".lora_down.weight"] = torch.randn(R, WIDTH)
    kohya[n + ".lora_up.weight"] = torch.randn(sum(heights), R)
    kohya[n + ".alpha"] = torch.tensor(R / 2.0)
save_file(kohya, tools.path("flux.safetensors"))
split = {n.removeprefix("transformer."): t for n, t in _convert_kohya_flux_lora_to_diffusers(copy.deepcopy(kohya)).items()}
modules = sorted({n.rsplit(".lora_", 1)[0] for n in split})
tally.check(len(modules) == 7, f"diffusers' converter made {len(modules)} modules of 7")
base = {m + ".weight": torch.randn(split[m + ".lora_B.weight"].shape[0], WIDTH).bfloat16() for m in modules}
save_file(base, tools.path("base.safetensors"))
exact = {m + ".weight": base[m + ".weight"].double() + split[m + ".lora_B.weight"].double() @ split[m + ".lora_A.weight"].double()
         for m in modules}
merged(tools.path("base.safetensors"), tools.path("flux.safetensors"), "Flux, kohya's fused factors on split weights", exact)
for name in "base", "merged", "flux":
    os.unlink(tools.path(name + ".safetensors"))
tally.finish()
