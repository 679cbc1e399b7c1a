"""peer_image_loaders.py BIN FOLDER: GGUF files of image and video models, loaded by diffusers' from_single_file.

A small Wan and one block of each kind of FLUX, whose width diffusers' converter fixes, are written under the names of their single files
with random weights. diffusers loads that file as the reference, and what amn makes of it in BF16, Q8_0 and Q4_K_M: the same parameters,
and after a forward pass an output whose distance from the reference is that of the types."""
import json
import os
import subprocess
import warnings

import torch
from diffusers import FluxTransformer2DModel, GGUFQuantizationConfig, WanTransformer3DModel
from safetensors.torch import save_file

from tools import Tally, Tools

warnings.filterwarnings("ignore")
torch.manual_seed(48)
tools, tally = Tools(), Tally()


def weights(shapes):
    """Random BF16 tensors; norms are near 1. The scale keeps activations near 1."""
    out = {}
    for name, shape in shapes.items():
        t = torch.randn(shape) * (0.02 if len(shape) < 2 else (t_in(shape)) ** -0.5)
        out[name] = (1 + t if "norm" in name and name.endswith(("weight", "scale")) else t).to(torch.bfloat16)
    return out


def t_in(shape):
    n = 1
    for d in shape[1:]:
        n *= d
    return n


def linear(shapes, name, rows, columns):
    shapes[name + ".weight"], shapes[name + ".bias"] = (rows, columns), (rows,)


def wan():
    d, f, text, freq = 256, 512, 256, 256
    s = {"patch_embedding.weight": (d, 16, 1, 2, 2), "patch_embedding.bias": (d,), "head.modulation": (1, 2, d)}
    for name, rows, columns in (("text_embedding.0", d, text), ("text_embedding.2", d, d), ("time_embedding.0", d, freq),
                                ("time_embedding.2", d, d), ("time_projection.1", 6 * d, d), ("head.head", 64, d)):
        linear(s, name, rows, columns)
    for i in range(2):
        b = f"blocks.{i}."
        s[b + "modulation"] = (1, 6, d)
        s[b + "norm3.weight"] = s[b + "norm3.bias"] = (d,)
        linear(s, b + "ffn.0", f, d)
        linear(s, b + "ffn.2", d, f)
        for attn in ("self_attn", "cross_attn"):
            for part in "qkvo":
                linear(s, f"{b}{attn}.{part}", d, d)
            s[f"{b}{attn}.norm_q.weight"] = s[f"{b}{attn}.norm_k.weight"] = (d,)
    config = {"_class_name": "WanTransformer3DModel", "patch_size": [1, 2, 2], "num_attention_heads": 2, "attention_head_dim": 128,
              "in_channels": 16, "out_channels": 16, "text_dim": text, "freq_dim": freq, "ffn_dim": f, "num_layers": 2,
              "cross_attn_norm": True, "qk_norm": "rms_norm_across_heads", "eps": 1e-06}
    inputs = {"hidden_states": torch.randn(1, 16, 2, 8, 8), "timestep": torch.tensor([500]), "encoder_hidden_states": torch.randn(1, 8, text)}
    return WanTransformer3DModel, s, config, inputs


def flux():
    d, mlp, context, pooled = 3072, 12288, 256, 256
    s = {}
    for name, rows, columns in (("img_in", d, 64), ("txt_in", d, context), ("time_in.in_layer", d, 256), ("time_in.out_layer", d, d),
                                ("vector_in.in_layer", d, pooled), ("vector_in.out_layer", d, d), ("final_layer.linear", 64, d),
                                ("final_layer.adaLN_modulation.1", 2 * d, d), ("single_blocks.0.linear1", 3 * d + mlp, d),
                                ("single_blocks.0.linear2", d, d + mlp), ("single_blocks.0.modulation.lin", 3 * d, d)):
        linear(s, name, rows, columns)
    for side in ("img", "txt"):
        b = f"double_blocks.0.{side}_"
        linear(s, b + "mod.lin", 6 * d, d)
        linear(s, b + "attn.qkv", 3 * d, d)
        linear(s, b + "attn.proj", d, d)
        linear(s, b + "mlp.0", mlp, d)
        linear(s, b + "mlp.2", d, mlp)
        s[b + "attn.norm.query_norm.scale"] = s[b + "attn.norm.key_norm.scale"] = (128,)
    s["single_blocks.0.norm.query_norm.scale"] = s["single_blocks.0.norm.key_norm.scale"] = (128,)
    config = {"_class_name": "FluxTransformer2DModel", "patch_size": 1, "in_channels": 64, "num_layers": 1, "num_single_layers": 1,
              "attention_head_dim": 128, "num_attention_heads": 24, "joint_attention_dim": context, "pooled_projection_dim": pooled,
              "guidance_embeds": False, "axes_dims_rope": [16, 56, 56]}
    inputs = {"hidden_states": torch.randn(1, 16, 64), "encoder_hidden_states": torch.randn(1, 8, context),
              "pooled_projections": torch.randn(1, pooled), "timestep": torch.tensor([0.5]), "img_ids": torch.zeros(16, 3),
              "txt_ids": torch.zeros(8, 3)}
    return FluxTransformer2DModel, s, config, inputs


def forward(model, inputs):
    with torch.no_grad():
        inputs = {k: v.to(torch.bfloat16) if v.is_floating_point() and k != "timestep" else v for k, v in inputs.items()}
        return model(**inputs, return_dict=False)[0].float()


def compare(name, made, bounds):
    kind, shapes, config, inputs = made
    source, folder = tools.path(f"{name}.safetensors"), tools.path(f"{name}-config")
    os.makedirs(os.path.join(folder, "transformer"), exist_ok=True)
    with open(os.path.join(folder, "transformer", "config.json"), "w", encoding="utf-8") as f:
        json.dump(config, f)
    save_file(weights(shapes), source)

    def load(path, **more):
        return kind.from_single_file(path, config=folder, subfolder="transformer", torch_dtype=torch.bfloat16, **more).eval()

    model = load(source)
    want, names = forward(model, inputs), {n: tuple(p.shape) for n, p in model.named_parameters()}
    del model
    for scheme, bound in bounds.items():
        out = tools.path(f"{name}.gguf")
        job = ["amn-convert"] if scheme == "bf16" else ["amn-forget", "--scheme", scheme]
        done = subprocess.run([os.path.join(tools.bin, job[0]), "-q", *job[1:], "-o", out, source], check=False)
        if not tally.check(done.returncode == 0, f"{name} {scheme}: status {done.returncode}"):
            continue
        model = load(out, quantization_config=GGUFQuantizationConfig(compute_dtype=torch.bfloat16))
        tally.check({n for n, _ in model.named_parameters()} == names.keys(), f"{name} {scheme}: other parameters")
        got = forward(model, inputs)
        far = ((got - want).norm() / want.norm()).item()
        tally.check(far <= bound and got.shape == want.shape, f"{name} {scheme}: the output differs by {far:.4g} of the reference")
        print(f"{name} {scheme}: relative distance {far:.4g}, at most {bound}")
        del model
        os.remove(out)
    os.remove(source)


compare("wan", wan(), {"bf16": 0.015, "q8_0": 0.02, "q4_k_m": 0.1})
compare("flux", flux(), {"bf16": 0.0, "q8_0": 0.015, "q4_k_m": 0.1})
tally.finish()
