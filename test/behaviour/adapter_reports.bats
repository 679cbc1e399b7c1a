#!/usr/bin/env bats
# amn-inspect and amn-parse of adapters.
load helper

make_lora() {
    python3 - <<'END'
import json
from adapters import *
r, cols, rows = 2, 4, 3
lora = {}
for layer in 0, 1:
    for name in "q_proj", "k_proj":
        m = "base_model.model.model.layers.%d.self_attn.%s" % (layer, name)
        lora[m + ".lora_A.weight"] = ("F32", [r, cols], values(r * cols, 1))
        lora[m + ".lora_B.weight"] = ("F32", [rows, r], values(r * rows, 2))
lora["base_model.model.score.weight"] = ("F32", [2, cols], values(2 * cols, 3))
write("lora/adapter_model.safetensors", lora)
config = {"peft_type": "LORA", "r": r, "lora_alpha": 6, "alpha_pattern": {"k_proj": 1}, "base_model_name_or_path": "org/base\u202e"}
json.dump(config, open("lora/adapter_config.json", "w"))
open("lora/tokenizer_config.json", "w").write("{}")
image = {"lora_unet_x_%d_y.%s" % (i, k): v for i in (0, 1) for k, v in (("lora_down.weight", ("F16", [r, cols], values(r * cols, 4))),
    ("lora_up.weight", ("F16", [rows, r], values(rows * r, 5))), ("alpha", ("F16", [], [1.0])))}
image["lora_unet_z.hada_w1_a"] = image["lora_unet_x_0_y.lora_up.weight"]
image["lora_unet_n.w_norm"] = ("F16", [4], values(4, 6))
image["lora_unet_q.oft_blocks"] = ("F16", [4], values(4, 6))
image["step"] = ("F16", [], [1.0])
write("image.safetensors", image, {"ss_sd_model_name": "sd-v1-5"})
END
}

@test "an adapter of PEFT" {
    make_lora
    try 0 amn-inspect lora
    [ "$(jq -c 'del(.patterns)' out)" = '{"report":1,"file":"lora","adapter":"peft","type":"LORA","base_model":"org/base\\u{202e}","format":"safetensors","tensors":9,"parameters":64,"bytes":256,"modules":5,"forms":{"lora":4,"replacement":1},"refused":[],"tokenizer":true}' ]
    [ "$(jq -c '.patterns[] | [.module, .modules, .form, .rank, .alpha, .scale]' out)" = '["model.layers.*.self_attn.q_proj",2,"lora",2,6,3]
["model.layers.*.self_attn.k_proj",2,"lora",2,1,0.5]
["score",1,"replacement",null,null,null]' ]
    try 0 amn-inspect lora/adapter_model.safetensors
    try 0 amn-inspect --human lora
    grep -q '^Base model    org/base' out
    grep -q '2 x model.layers.\*.self_attn.q_proj: LoRA, rank 2, alpha 6, scale 3$' out
    grep -q '^Tokenizer     beside it' out
    try 0 amn-parse lora
    [ "$(jq -r 'select(.module == "model.layers.1.self_attn.k_proj") | .role' out | sort | tr '\n' ' ')" = 'lora_a lora_b ' ]
    [ "$(jq -r 'select(.module == "score") | .role' out)" = replacement ]
    try 0 amn-parse --human lora
    grep -q ' lora_b$' out
    grep -q ' 5 modules$' out
    try 0 amn-inspect --metadata lora
    [ "$(jq .quantized out)" = 0 ]
}

@test "what would be refused" {
    make_lora
    try 0 amn-inspect image.safetensors
    [ "$(jq -c '[.adapter, .base_model, .modules, .forms]' out)" = '["single","sd-v1-5",4,{"lora":2,"loha":1,"difference":1}]' ]
    [ "$(jq -r '.refused[]' out | sort)" = 'module lora_unet_z: it has hada_w1_a, but no hada_w1_b
tensor lora_unet_q.oft_blocks: this form of adapter is not merged
tensor step: not a part of an adapter' ]
    try 0 amn-inspect --human image.safetensors
    [ "$(grep -c 'Refused' out)" = 1 ]
    try 0 amn-parse image.safetensors
    [ "$(jq -c 'select(.role == null) | [.name, .module]' out | sort)" = '["lora_unet_q.oft_blocks",null]
["step",null]' ]
    jq -c '.peft_type = "VERA" | .r = 3' lora/adapter_config.json >c; cp c lora/adapter_config.json
    try 0 amn-inspect lora
    [ "$(jq '.refused | length' out)" = 5 ]
    [[ "$(jq -r '.refused[0]' out)" == 'peft_type VERA is not merged'* ]]
    echo '{' >lora/adapter_config.json
    try 65 amn-inspect lora
}

@test "a model is not taken for an adapter" {
    make_lora
    python3 - <<'END'
from adapters import *
write("model/model.safetensors", {"a.weight": ("F32", [2, 2], values(4, 1)), "a.lora_A.weight": ("F32", [2, 2], values(4, 1)), "b": ("F32", [1], [1.0])})
END
    cp lora/* model
    try 0 amn-inspect model
    jq -e '.passthrough == 3' out
    try 0 amn-inspect - <lora/adapter_model.safetensors
    jq -e .dtypes out
    amn-inspect $fx/*.safetensors 2>/dev/null | jq -e 'has("dtypes")' >kinds
    ! grep -q false kinds
}

@test "all members are in the manual" {
    make_lora
    python3 - <<'END'
from adapters import *
write("only.safetensors", {"x.lora_A.weight": ("F32", [1, 1], [1.0]), "x.lora_B.weight": ("F32", [1, 1], [1.0])})
END
    (amn-inspect lora image.safetensors only.safetensors) | "$helpers/json-keys" 'AMN-INSPECT ADAPTER'
    (amn-parse lora image.safetensors; amn-parse lora) | "$helpers/json-keys" 'AMN-PARSE ADAPTER'
}
