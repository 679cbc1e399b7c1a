#!/usr/bin/env python3
"""make-names-cases.py: tiny adapters for test/cases/names, saved by diffusers, and what diffusers and peft make of them.

Needs torch, transformers, diffusers and peft (requirements.txt). Writes sd/pytorch_lora_weights.safetensors, as
save_lora_weights() has it, flux-kohya.safetensors, in the names of sd-scripts, one/ and two/, adapters of PEFT for one model, and
expected.json: the names and shapes of the base models, and name, type, shape and SHA-256 of each tensor that

    kohya       convert_state_dict_to_kohya() makes of sd
    flux        FluxPipeline.lora_state_dict() makes of flux-kohya
    joined      add_weighted_adapter(combination_type="cat") makes of one, times 0.5, and two, times 2

They are input to test/behaviour/adapter_single.bats.
"""
import hashlib, json, os, shutil, sys, tempfile

import torch
from diffusers import FluxPipeline, FluxTransformer2DModel, StableDiffusionPipeline, UNet2DConditionModel
from diffusers.training_utils import _collate_lora_metadata
from diffusers.utils.state_dict_utils import convert_state_dict_to_kohya
from peft import LoraConfig, PeftModel, get_peft_model, get_peft_model_state_dict
from safetensors.torch import load_file, save_file
from transformers import CLIPTextConfig, CLIPTextModel, LlamaConfig, LlamaForCausalLM

root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cases", "names")
TYPES = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64"}


def listed(state):
    return sorted([k, TYPES[x.dtype], list(x.shape), hashlib.sha256(x.contiguous().numpy().tobytes()).hexdigest()]
                  for k, x in state.items())


def shapes(model):
    return {k: list(x.shape) for k, x in model.state_dict().items()}


def fill(model):
    for key, x in sorted(model.named_parameters()):
        if "lora_" in key:
            x.data = torch.randn_like(x) * 0.1


def stable_diffusion(expected):
    unet = UNet2DConditionModel(sample_size=8, layers_per_block=1, block_out_channels=(4, 8), norm_num_groups=2, cross_attention_dim=4,
                                attention_head_dim=2, down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
                                up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"))
    text = CLIPTextModel(CLIPTextConfig(vocab_size=24, hidden_size=4, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2,
                                        max_position_embeddings=8))
    expected["bases"]["sd"] = {"unet": shapes(unet), "text_encoder": shapes(text)}
    unet.add_adapter(LoraConfig(r=2, lora_alpha=2, target_modules=["to_k", "to_q", "to_v", "to_out.0", "conv1"]))
    text.add_adapter(LoraConfig(r=3, lora_alpha=3, target_modules=["q_proj", "v_proj", "fc1"]))
    fill(unet)
    fill(text)
    StableDiffusionPipeline.save_lora_weights(
        os.path.join(root, "sd"), get_peft_model_state_dict(unet), get_peft_model_state_dict(text),
        **_collate_lora_metadata({"unet": unet, "text_encoder": text}))
    expected["kohya"] = listed(convert_state_dict_to_kohya(load_file(os.path.join(root, "sd", "pytorch_lora_weights.safetensors"))))


def flux(expected):
    model = FluxTransformer2DModel(in_channels=4, num_layers=1, num_single_layers=1, attention_head_dim=4, num_attention_heads=2,
                                   joint_attention_dim=4, pooled_projection_dim=4, axes_dims_rope=(0, 2, 2))
    expected["bases"]["flux"] = {"transformer": shapes(model)}
    state = {}
    for module, (rows, cols) in {"double_blocks_0_img_attn_qkv": (24, 8), "double_blocks_0_img_attn_proj": (8, 8),
                                 "double_blocks_0_txt_attn_qkv": (24, 8), "double_blocks_0_img_mlp_0": (32, 8),
                                 "double_blocks_0_img_mod_lin": (48, 8), "single_blocks_0_linear2": (8, 40), "single_blocks_0_modulation_lin": (24, 8)}.items():
        state[f"lora_unet_{module}.alpha"] = torch.tensor(2.0)
        state[f"lora_unet_{module}.lora_down.weight"] = torch.randn(2, cols)
        state[f"lora_unet_{module}.lora_up.weight"] = torch.randn(rows, 2)
    save_file(state, os.path.join(root, "flux-kohya.safetensors"), metadata={"ss_network_module": "networks.lora_flux"})
    expected["flux"] = listed(FluxPipeline.lora_state_dict(dict(state)))


def joined(expected):
    torch.manual_seed(3)
    base = LlamaForCausalLM(LlamaConfig(vocab_size=16, hidden_size=8, intermediate_size=12, num_hidden_layers=1, num_attention_heads=2))
    for name, how in ("one", dict(r=2, lora_alpha=3, target_modules=["q_proj", "up_proj"])), \
                     ("two", dict(r=3, lora_alpha=4, target_modules=["q_proj", "o_proj"], use_rslora=True)):
        model = get_peft_model(base, LoraConfig(task_type="CAUSAL_LM", **how))
        fill(model)
        model.save_pretrained(os.path.join(root, name))
        os.remove(os.path.join(root, name, "README.md"))
        base = model.unload()
    model = PeftModel.from_pretrained(base, os.path.join(root, "one"), adapter_name="one")
    model.load_adapter(os.path.join(root, "two"), adapter_name="two")
    model.add_weighted_adapter(["one", "two"], [0.5, 2.0], "both", combination_type="cat")
    with tempfile.TemporaryDirectory() as work:
        model.save_pretrained(work, selected_adapters=["both"])
        state = load_file(os.path.join(work, "both", "adapter_model.safetensors"))
        expected["joined"] = listed({k: x + 0.0 for k, x in state.items()})     # no negative zeros


def main():
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(root)
    torch.manual_seed(7)
    expected = {"bases": {}}
    stable_diffusion(expected)
    flux(expected)
    joined(expected)
    with open(os.path.join(root, "expected.json"), "w") as f:
        json.dump(expected, f, separators=(",", ":"), sort_keys=True)
        f.write("\n")


main()
