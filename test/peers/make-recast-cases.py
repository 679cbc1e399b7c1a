#!/usr/bin/env python3
"""make-recast-cases.py: tiny adapters for test/cases/recast, made by peft, and what convert_lora_to_gguf.py writes of them.

Needs torch, transformers, peft and gguf (requirements.txt), and the source of llama.cpp in $LLAMA_CPP (run.sh). Each folder gets
base.json, the config of the base model, and the folder of the adapter, whose name goes into the file. expected.json has the SHA-256
of the output for each type, or null where the converter fails. The folders are input to test/behaviour/adapter_recast.bats.
"""
import contextlib, hashlib, io, json, os, runpy, shutil, sys, tempfile

import torch
import transformers as T
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.join(here, "..", "cases", "recast")
sys.path.insert(0, os.environ["LLAMA_CPP"])
SIZES = dict(vocab_size=24, hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=64)
ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"]
CARD = """---
license: apache-2.0
language:
- en
- no
tags:
- lora
- "two words"
pipeline_tag: text-generation
base_model:
- org/Base-Model-1B-v0.1
- https://huggingface.co/other/Name-7b-chat
datasets: [a/b-c, "x/y z"]
author: Someone # not part of it
version: v7
widget:
- text: hello
---
text
"""


def make(case, name, family, dtype=None, tensors=None, config=None, card=None, **how):
    """Writes a case: `tensors` changes the state, `config` adds members of adapter_config.json."""
    torch.manual_seed(7)
    folder = os.path.join(root, case)
    shutil.rmtree(folder, ignore_errors=True)
    settings = getattr(T, family + "Config")(**{**SIZES, **how.pop("sizes", {})})
    class_ = getattr(T, family + "ForCausalLM")
    settings.architectures = [class_.__name__]
    model = class_(settings)
    model.name_or_path = model.config._name_or_path = "org/Tiny-Base-1B"
    peft = get_peft_model(model, LoraConfig(**{"r": 2, "lora_alpha": 4, **how}))
    for key, x in peft.named_parameters():
        if "lora" in key or "modules_to_save" in key:
            x.data = (torch.randn_like(x) * 0.1).to(dtype or x.dtype)
    lora = os.path.join(folder, name)
    peft.save_pretrained(lora, save_embedding_layers=False)
    if tensors:
        path = os.path.join(lora, "adapter_model.safetensors")
        state = load_file(path)
        tensors(state)
        save_file(state, path, metadata={"format": "pt"})
    if config:
        path = os.path.join(lora, "adapter_config.json")
        with open(path) as f:
            members = {**json.load(f), **config}
        with open(path, "w") as f:
            json.dump(members, f, indent=2)
    readme = os.path.join(lora, "README.md")
    with open(readme) as f:
        text = card or f.read().split("---")[1].join(["---", "---\n"])
    with open(readme, "w") as f:
        f.write(text)
    with open(os.path.join(folder, "base.json"), "w") as f:
        json.dump({**settings.to_dict(), "architectures": [class_.__name__]}, f, indent=1, sort_keys=True)
    return reference(folder, lora)


def reference(folder, lora):
    """Returns {outtype: SHA-256 or None} of the reference."""
    out = {}
    with tempfile.TemporaryDirectory() as work:
        shutil.copy(os.path.join(folder, "base.json"), os.path.join(work, "config.json"))
        for kind in "f32", "f16", "bf16":
            path = os.path.join(work, "out.gguf")
            sys.argv = ["convert", "--base", work, "--outtype", kind, "--outfile", path, lora]
            try:
                with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
                    runpy.run_path(os.path.join(os.environ["LLAMA_CPP"], "convert_lora_to_gguf.py"), run_name="__main__")
                with open(path, "rb") as f:
                    out[kind] = hashlib.sha256(f.read()).hexdigest()
            except (Exception, SystemExit):
                out[kind] = None
    return out


def experts(state):
    for x in range(2):
        for key, (rows, cols) in {"gate_proj": (8, 16), "up_proj": (8, 16), "down_proj": (16, 8)}.items():
            module = f"base_model.model.model.layers.0.mlp.experts.{x}.{key}"
            state[module + ".lora_A.weight"] = torch.randn(2, cols)
            state[module + ".lora_B.weight"] = torch.randn(rows, 2)


def half_of_them(state):
    for i, key in enumerate(sorted(state)):
        state[key] = state[key].to(torch.float16) if i % 3 == 0 else state[key]


def main():
    expected = {
        "llama": make("llama", "lora", "Llama", target_modules="all-linear"),
        "llama-types": make("llama-types", "my-llama-3-8B-instruct-lora-v1.2", "Llama", tensors=half_of_them, target_modules=ATTENTION),
        "llama-ranks": make("llama-ranks", "lora", "Llama", target_modules=ATTENTION, rank_pattern={"q_proj": 3}, lora_alpha=7),
        "llama-alora": make("llama-alora", "a", "Llama", target_modules=["q_proj"], config={"alora_invocation_tokens": [5, 7]}),
        "llama-norm": make("llama-norm", "lora", "Llama", target_modules=["k_proj"], modules_to_save=["input_layernorm"]),
        "llama-saved": make("llama-saved", "lora", "Llama", target_modules=["k_proj"], modules_to_save=["lm_head"]),
        "llama-dora": make("llama-dora", "lora", "Llama", target_modules=["k_proj"], use_dora=True),
        "llama-bias": make("llama-bias", "lora", "Llama", target_modules=["k_proj"], lora_bias=True),
        "qwen2": make("qwen2", "qwen-2.5-0_5b", "Qwen2", target_modules=["embed_tokens", "q_proj", "up_proj"]),
        "qwen3_moe": make("qwen3_moe", "lora", "Qwen3Moe", target_modules=["o_proj"], tensors=experts, card=CARD,
                          sizes=dict(num_experts=2, num_experts_per_tok=1, moe_intermediate_size=8, head_dim=8)),
        "gemma2": make("gemma2", "lora", "Gemma2", dtype=torch.bfloat16, target_modules=ATTENTION, modules_to_save=["input_layernorm"],
                       sizes=dict(head_dim=8)),
        "phi3": make("phi3", "lora", "Phi3", target_modules="all-linear", sizes=dict(pad_token_id=0, bos_token_id=1, eos_token_id=2)),
    }
    with open(os.path.join(root, "expected.json"), "w") as f:
        json.dump(expected, f, indent=1)
        f.write("\n")


main()
