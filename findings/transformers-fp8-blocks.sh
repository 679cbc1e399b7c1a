#!/bin/sh
# transformers 5.24.0 with torch 2.15.0: FineGrainedFP8Config(dequantize=True) divides the rows of a weight by the rows of its
# scales, and ignores weight_block_size in config.json. With blocks of 128, a weight of 192 rows has two scales, for 128 and
# 64 rows. It is read as if both covered 96: 32 rows have the wrong scale, without a warning. A weight of 320 rows is refused.
#
#     rows 0, 95, 96, 127, 128
#     stored: [1.0, 1.0, 1.0, 1.0, 2.0]
#     loaded: [1.0, 1.0, 2.0, 2.0, 2.0]
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work"
"$work/bin/pip" install --quiet transformers==5.24.0 torch==2.15.0 safetensors==0.8.0 accelerate==1.15.0
cd "$work"
"$work/bin/python" - <<'E'
import json

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, FineGrainedFP8Config, LlamaConfig, LlamaForCausalLM

config = LlamaConfig(vocab_size=32, hidden_size=128, intermediate_size=192, num_hidden_layers=1, num_attention_heads=2,
                     num_key_value_heads=2, tie_word_embeddings=False, dtype="bfloat16")
LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained("model")
tensors = load_file("model/model.safetensors")
for name in [name for name in tensors if "_proj.weight" in name]:
    rows, columns = tensors[name].shape
    blocks = -(-rows // 128), -(-columns // 128)
    tensors[name] = torch.ones(rows, columns).to(torch.float8_e4m3fn)
    tensors[name + "_scale_inv"] = torch.arange(1.0, 1 + blocks[0] * blocks[1]).reshape(blocks)
save_file(tensors, "model/model.safetensors", metadata={"format": "pt"})
with open("model/config.json") as f:
    declared = json.load(f)
declared["quantization_config"] = {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}
with open("model/config.json", "w") as f:
    json.dump(declared, f)
how = FineGrainedFP8Config(dequantize=True)
model = AutoModelForCausalLM.from_pretrained("model", quantization_config=how, dtype=torch.bfloat16)
rows = [0, 95, 96, 127, 128]
stored = tensors["model.layers.0.mlp.up_proj.weight_scale_inv"].repeat_interleave(128, 0)[rows, 0].tolist()
loaded = model.state_dict()["model.layers.0.mlp.up_proj.weight"].float()[rows, 0].tolist()
print("rows %s\nstored: %s\nloaded: %s" % (", ".join(map(str, rows)), stored, loaded))
assert stored == [1, 1, 1, 1, 2] and loaded == [1, 1, 2, 2, 2], "the behaviour has changed"
E
