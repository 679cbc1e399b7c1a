#!/usr/bin/env bats
# Adapters merged into the weights of a model.
load helper

# make: writes ./base.safetensors, F32 and BF16, and the adapter ./lora/ of rank 3 and alpha 6, with small whole numbers, whose sums
# are exact; and ./want.safetensors, the sum.
make_models() {
    python3 - <<'END'
import json, os, struct
def write(path, tensors):
    head, data = {}, b""
    for name, (dtype, shape, raw) in tensors.items():
        head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)
f32 = lambda v: struct.pack("<%df" % len(v), *v)
bf16 = lambda v: b"".join(struct.pack("<f", x)[2:] for x in v)
rows, cols, r = 37, 301, 3
w = [(i * 7 % 11) - 5.0 for i in range(rows * cols)]
a = [(i * 5 % 7) - 3.0 for i in range(r * cols)]
b = [(i * 3 % 5) - 2.0 for i in range(rows * r)]
sum_ = [w[i * cols + j] + 2 * sum(b[i * r + k] * a[k * cols + j] for k in range(r)) for i in range(rows) for j in range(cols)]
os.makedirs("lora", exist_ok=True)
write("base.safetensors", {"x.weight": ("F32", [rows, cols], f32(w)), "y.weight": ("BF16", [rows, cols], bf16(w)), "z": ("I64", [1], bytes(8))})
write("want.safetensors", {"x.weight": ("F32", [rows, cols], f32(sum_)), "y.weight": ("BF16", [rows, cols], bf16(sum_)), "z": ("I64", [1], bytes(8))})
pair = {}
for m in "xy":
    pair["base_model.model.%s.lora_A.weight" % m] = ("F32", [r, cols], f32(a))
    pair["base_model.model.%s.lora_B.weight" % m] = ("F32", [rows, r], f32(b))
write("lora/adapter_model.safetensors", pair)
json.dump({"peft_type": "LORA", "r": r, "lora_alpha": 6}, open("lora/adapter_config.json", "w"))
half = dict(pair); del half["base_model.model.x.lora_B.weight"]
os.makedirs("half", exist_ok=True)
write("half/adapter_model.safetensors", half)
json.dump({"peft_type": "LORA", "r": r, "lora_alpha": 6}, open("half/adapter_config.json", "w"))
END
}

@test "the sum is added to each weight" {
    make_models
    try 0 amn-remember -q -o want want.safetensors
    try 0 amn-remember --adapter lora -o got base.safetensors
    grep -q '2 weights changed by 1 adapter' err
    cmp got want
    AMN_CPU=scalar amn-remember -q -j 3 --adapter lora -o got base.safetensors
    cmp got want
    amn-remember -q --adapter lora <base.safetensors | cmp - want
    for part in 1/3 2/3 3/3; do amn-remember --part $part --adapter lora base.safetensors; done | cmp - want
    amn-remember -q --adapter lora --adapter lora:-1 base.safetensors 2>/dev/null | cmp - <(amn-remember base.safetensors)
    amn-convert -q --to npz --adapter lora base.safetensors | cmp - <(amn-convert -q --to npz want.safetensors)
    amn-forget -q --scheme int8 --adapter lora base.safetensors | cmp - <(amn-forget -q --scheme int8 want.safetensors)
}

@test "a scale of 0 changes nothing, and the plan lists the factors" {
    make_models
    amn-remember --adapter lora:0 base.safetensors | cmp - <(amn-remember base.safetensors)
    amn-remember --plan --adapter lora base.safetensors >plan
    [ "$(jq -r 'select(.name == "x.weight") | .inputs[].tensor' plan | sort | tr '\n' ' ')" = \
        "base_model.model.x.lora_A.weight base_model.model.x.lora_B.weight x.weight " ]
    [ "$(amn-remember --size --adapter lora base.safetensors)" = "$(amn-remember --size base.safetensors)" ]
}

@test "wrong adapters are refused before the first byte" {
    make_models
    for scale in nan 0x1 1e999 inf; do
        try 2 amn-remember --adapter lora:$scale base.safetensors
        is_empty out
    done
    try 2 amn-remember --adapter '' base.safetensors
    try 2 amn-remember --adapter - base.safetensors
    try 66 amn-remember --adapter nowhere base.safetensors
    try 65 amn-remember --adapter half base.safetensors
    grep -q 'module x: it has lora_A (down), but no lora_B (up)' err
    is_empty out
    jq -c '.r = 4' lora/adapter_config.json >c; cp c lora/adapter_config.json
    try 65 amn-remember --adapter lora base.safetensors
    jq -c '.r = 3 | .peft_type = "VERA"' c >lora/adapter_config.json
    try 69 amn-remember --adapter lora base.safetensors
    grep -q 'peft_type VERA is not merged' err
    rm lora/adapter_config.json
    try 65 amn-remember --adapter lora base.safetensors
    grep -q 'adapter_config.json is missing' err
    is_empty out
}
