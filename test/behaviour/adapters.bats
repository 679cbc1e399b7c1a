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

@test "one pass merges, converts to GGUF and quantizes, like two" {
    "$tests/make/examples" .
    try 0 amn-forget -q --scheme q4_k_m --adapter lora -o one.gguf model
    try 0 amn-convert -q --dtype f32 --adapter lora -o merged/ model
    try 0 amn-forget -q --scheme q4_k_m -o two.gguf merged
    [ "$(amn hash --stored one.gguf | sed 's/.* = //')" = "$(amn hash --stored two.gguf | sed 's/.* = //')" ]
    [ "$(amn hash one.gguf | sed 's/.* = //')" != "$(amn-forget -q --scheme q4_k_m -o plain.gguf model 2>&1; amn hash plain.gguf | sed 's/.* = //')" ]
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

# quantizable: writes base.safetensors, a model of random weights, and the adapters lora/ and dora/ for it.
quantizable() {
    python3 - <<'END'
import json, random, struct
from adapters import *
random.seed(1)
draw = lambda n, s: [random.gauss(0, s) for _ in range(n)]
base, lora, dora = {}, {}, {}
for i in range(2):
    for m, (rows, cols) in {"self_attn.q_proj": (256, 256), "mlp.down_proj": (256, 512)}.items():
        p = f"model.layers.{i}.{m}"
        base[p + ".weight"] = ("BF16", [rows, cols], draw(rows * cols, .03))
        lora[f"base_model.model.{p}.lora_A.weight"] = ("F32", [4, cols], draw(4 * cols, .1))
        lora[f"base_model.model.{p}.lora_B.weight"] = ("F32", [rows, 4], draw(4 * rows, .1))
        dora[f"base_model.model.{p}.lora_magnitude_vector"] = ("F32", [rows], draw(rows, 1))
write("base.safetensors", base)
for d, t in ("lora", lora), ("dora", {**lora, **dora}):
    write(d + "/adapter_model.safetensors", t)
    json.dump({"peft_type": "LORA", "r": 4, "lora_alpha": 8}, open(d + "/adapter_config.json", "w"))
END
}

# weights FILE: the tensors of a safetensors file, without its metadata, in order of their names.
weights() {
    python3 - "$1" <<'END'
import hashlib, json, struct, sys
b = open(sys.argv[1], "rb").read()
n = struct.unpack_from("<Q", b)[0]
for k, t in sorted(json.loads(b[8:8 + n]).items()):
    if k != "__metadata__":
        print(k, t["dtype"], t["shape"], hashlib.sha256(b[8 + n + t["data_offsets"][0]:8 + n + t["data_offsets"][1]]).hexdigest())
END
}

@test "a quantized base is merged as its decoded weights" {
    quantizable
    for scheme in fp8 fp8-ue8m0 fp8-per-channel fp8-per-tensor nf4 fp4-double-quant int8 int4-group gptq awq mxfp4 nvfp4 mlx-4bit q8_0 q4_k iq4_xs; do
        case $scheme in q* | iq*) base=base.gguf ;; *) base=quantized.safetensors ;; esac
        amn-forget -q -f --scheme $scheme -o $base base.safetensors
        amn-remember -q -f --to f32 -o plain.safetensors $base
        for adapter in lora dora lora:-1.5 dora:0.25; do
            amn-remember -q -f --to f32 --adapter $adapter -o want.out plain.safetensors
            amn-remember -q -f --to f32 --adapter $adapter -o got.out $base
            [ "$(weights got.out)" = "$(weights want.out)" ]
            ! [ "$(weights got.out)" = "$(weights plain.safetensors)" ]
            amn-remember -q --to f32 --adapter $adapter <$base | cmp - got.out
            for part in 1/3 2/3 3/3; do AMN_CPU=scalar amn-remember -q --part $part --to f32 --adapter $adapter $base; done | cmp - got.out
        done
    done
    amn-forget -q -f --scheme int8 -o quantized.safetensors base.safetensors        # the type that the base has already
    amn-remember -q -f --to f32 --adapter lora -o want.out quantized.safetensors
    amn-forget -q -f --scheme int8 --adapter lora -o got.out quantized.safetensors
    amn-forget -q -f --scheme int8 -o again.out want.out
    [ "$(weights got.out)" = "$(weights again.out)" ]
}

@test "on a GGUF base: merged, then converted, and converted, then merged, are the same" {
    python3 - <<'END'
import json
from adapters import *
hidden, heads, kv, ff, V, r = 32, 4, 2, 48, 10, 2
state, pair, saved, scales = {}, {}, {}, {}
state["model.embed_tokens.weight"] = ("BF16", [V, hidden], values(V * hidden, 1))
state["model.norm.weight"] = ("BF16", [hidden], values(hidden, 2))
state["lm_head.weight"] = ("BF16", [V, hidden], values(V * hidden, 3))
P = "model.layers.0."
for i, (m, rows, cols) in enumerate([("self_attn.q_proj", 32, 32), ("self_attn.k_proj", 16, 32), ("self_attn.v_proj", 16, 32), ("self_attn.o_proj", 32, 32),
                                     ("mlp.gate_proj", ff, 32), ("mlp.up_proj", ff, 32), ("mlp.down_proj", 32, ff)]):
    state[P + m + ".weight"] = ("BF16", [rows, cols], values(rows * cols, 10 + i))
    pair["base_model.model." + P + m + ".lora_A.weight"] = ("F32", [r, cols], values(r * cols, 20 + i))
    pair["base_model.model." + P + m + ".lora_B.weight"] = ("F32", [rows, r], values(r * rows, 30 + i))
    if "self_attn" in m:
        state[P + m + ".bias"] = ("BF16", [rows], values(rows, 90 + i))
        pair["base_model.model." + P + m + ".lora_B.bias"] = ("F32", [rows], values(rows, 100 + i))
        scales["base_model.model." + P + m + ".ia3_l"] = ("F32", [rows, 1], values(rows, 110 + i))
    else:
        scales["base_model.model." + P + m + ".ia3_l"] = ("F32", [1, cols], values(cols, 110 + i))
for i, n in enumerate(["input_layernorm", "post_attention_layernorm"]):
    state[P + n + ".weight"] = ("BF16", [hidden], values(hidden, 40 + i))
    saved["base_model.model." + P + n + ".weight"] = ("F32", [hidden], values(hidden, 50 + i))
saved["base_model.model." + P + "self_attn.q_proj.weight"] = ("F32", [32, 32], values(1024, 60))
saved["base_model.model." + P + "self_attn.k_proj.bias"] = ("F32", [16], values(16, 61))
write("base/model.safetensors", state)
config = {"architectures": ["LlamaForCausalLM"], "hidden_size": hidden, "num_hidden_layers": 1, "num_attention_heads": heads, "num_key_value_heads": kv,
          "intermediate_size": ff, "vocab_size": V, "rms_norm_eps": 1e-5, "max_position_embeddings": 64, "rope_theta": 1e4, "model_type": "llama", "hidden_act": "silu",
          "attention_bias": True}
json.dump({**config, "tie_word_embeddings": False}, open("base/config.json", "w"))
del state["lm_head.weight"]
write("tied/model.safetensors", state)
json.dump({**config, "tie_word_embeddings": True}, open("tied/config.json", "w"))
embed = {"base_model.model.model.embed_tokens.lora_embedding_A": ("F32", [r, V], values(r * V, 80)),
         "base_model.model.model.embed_tokens.lora_embedding_B": ("F32", [hidden, r], values(hidden * r, 81))}
head = {"base_model.model.lm_head.lora_A.weight": ("F32", [r, hidden], values(hidden * r, 82)), "base_model.model.lm_head.lora_B.weight": ("F32", [V, r], values(V * r, 83))}
half = {"base_model.model.layers.0.self_attn.q_proj.lora_A.weight": ("F32", [r, 32], values(r * 32, 70)),
        "base_model.model.layers.0.self_attn.q_proj.lora_B.weight": ("F32", [32, r], values(r * 32, 71))}
for d, t in ("lora", pair), ("saved", saved), ("short", half), ("embed", embed), ("head", head), ("both", {**embed, **head}):
    write(d + "/adapter_model.safetensors", t)
    json.dump({"peft_type": "LORA", "r": r, "lora_alpha": r}, open(d + "/adapter_config.json", "w"))
write("ia3/adapter_model.safetensors", scales)
json.dump({"peft_type": "IA3", "feedforward_modules": ["gate_proj", "up_proj", "down_proj"]}, open("ia3/adapter_config.json", "w"))
END
    for adapter in "lora" "saved" "short" "ia3" "saved --adapter lora" "embed" "head" "both --adapter lora"; do
        case $adapter in embed | head | both*) from=tied ;; *) from=base ;; esac
        amn-convert -q -f --to gguf --no-tokenizer -o base.gguf $from
        amn-remember -q -f --to f32 -o plain.out base.gguf
        amn-convert -q -f --to gguf --no-tokenizer --adapter $adapter -o merged.gguf $from
        amn-remember -q -f --to f32 -o want.out merged.gguf
        amn-remember -q -f --to f32 --adapter $adapter -o got.out base.gguf
        [ "$(weights got.out)" = "$(weights want.out)" ]
        ! cmp -s want.out plain.out
        AMN_CPU=scalar amn-remember -q -j 3 --to f32 --adapter $adapter base.gguf | cmp - got.out
        amn-remember -q --to f32 --adapter $adapter <base.gguf | cmp - got.out
        for part in 1/3 2/3 3/3; do amn-remember -q --part $part --to f32 --adapter $adapter base.gguf; done | cmp - got.out
    done
}

@test "what contradicts the base or itself is refused before the first byte" {
    make_models
    python3 - <<'END'
import json
from adapters import *
rows, cols, r = 37, 301, 3
a, b = values(r * cols, 1), values(rows * r, 2)
A, B, M = ".lora_A.weight", ".lora_B.weight", "base_model.model."
good = {M + "x" + A: ("F32", [r, cols], a), M + "x" + B: ("F32", [rows, r], b)}
def adapter(folder, tensors, file="adapter_model.safetensors", text=None, **more):
    write(folder + "/" + file, tensors)
    config = {"peft_type": "LORA", "r": r, "lora_alpha": 6, **more}
    open(folder + "/adapter_config.json", "w").write(json.dumps(config) if text is None else text)
adapter("empty", {M + "x" + A: ("F32", [0, cols], []), M + "x" + B: ("F32", [rows, 0], [])})
adapter("flat", {M + "x" + A: ("F32", [r * cols], a), M + "x" + B: ("F32", [rows * r], b)})
adapter("ranks", {M + "x" + A: ("F32", [r, cols], a), M + "x" + B: ("F32", [rows, 2], values(rows * 2, 3))})
adapter("shape", {M + "x" + A: ("F32", [r, cols - 1], values(r * cols - r, 4)), M + "x" + B: ("F32", [rows, r], b)})
adapter("missing", {**good, M + "w" + A: good[M + "x" + A], M + "w" + B: good[M + "x" + B]})
adapter("other", {M + "w" + A: good[M + "x" + A], M + "w" + B: good[M + "x" + B]})
adapter("saved", {**good, M + "y.weight": ("F32", [rows, cols - 1], values(rows * cols - rows, 5))})
adapter("twice", {M + "y.weight": ("F32", [rows, cols], values(rows * cols, 6))})
adapter("differs", {M + "y.weight": ("F32", [rows, cols], values(rows * cols, 6)), M + "y.modules_to_save.weight": ("F32", [rows, cols], values(rows * cols, 7))})
adapter("bias", {**good, M + "x.lora_B.bias": ("F32", [rows], values(rows, 8))})
adapter("bias2", {**good, M + "x.bias": ("F32", [rows], values(rows, 8))})
adapter("text", good, text="{")
adapter("list", good, text="[]")
adapter("alphaless", good, lora_alpha=None)
adapter("negative", good, r=-1)
adapter("words", good, r="3")
adapter("pattern", good, rank_pattern={"(?i)x": 3})
adapter("olora", good, init_lora_weights="olora")
adapter("kasa", good, kasa_config={"beta": 1})
adapter("unknown", {**good, M + "x.lora_C.weight": ("F32", [r, cols], a)})
adapter("stranger", {**good, M + "x.other": ("F32", [r, cols], a)})
adapter("names", {M + "x.lora_A.one.weight": ("F32", [r, cols], a), M + "x.lora_B.two.weight": ("F32", [rows, r], b)})
adapter("whole", {M + "z" + A: ("F32", [r, cols], a), M + "z" + B: ("F32", [rows, r], b)})
write("single.safetensors", {"x.lora_down.weight": ("F32", [r, cols], a), "x.lora_up.weight": ("F32", [rows, r], b), "x.alpha": ("F32", [], [3.0]), "x.strange": ("F32", [1], [0.0])})
write("alone.safetensors", {"x.alpha": ("F32", [], [3.0])})
write("several/one.safetensors", good); write("several/two.safetensors", good)
write("many.safetensors", {"p.x.weight": ("F32", [rows, cols], values(rows * cols, 9)), "q.x.weight": ("F32", [rows, cols], values(rows * cols, 9))})
END
    mkdir -p nothing
    while read -r status adapter message; do
        try "$status" amn-remember --adapter "$adapter" base.safetensors
        is_empty out
        grep -qe "$message" err || { echo "$adapter: $(cat err)"; return 1; }
    done <<'END'
65 empty empty or has one dimension
65 flat ZeRO-3
65 ranks rank 3 and 2
65 shape does not fit
65 missing module w: the base has no weight
65 other belongs to another model
65 saved shape \[37, 300\] cannot replace one of shape \[37, 301\]
65 differs two tensors replace it, and they differ
65 bias a bias, but the base has none
65 bias2 a bias, but the base has none
65 text adapter_config.json
65 list adapter_config.json
65 alphaless lora_alpha is missing
65 negative r is not a positive integer
65 words r is not a positive integer
69 pattern (?i)x
69 olora olora
69 kasa kasa
69 unknown lora_C
65 stranger not a part of an adapter
69 names several adapters, one and two
65 whole the base has no weight
65 single.safetensors not a part of an adapter
65 alone.safetensors alpha
2 several 2 files
66 nothing contains no adapter
END
    try 65 amn-remember --adapter twice --adapter twice base.safetensors
    grep -q 'two adapters replace it' err
    try 65 amn-remember --adapter lora many.safetensors
    grep -q 'could be p.x.weight or q.x.weight' err
    try 75 amn-remember --max-alloc 2K --adapter lora base.safetensors
    gzip -k lora/adapter_model.safetensors
    try 69 amn-remember --adapter lora/adapter_model.safetensors.gz base.safetensors
    mkfifo pipe
    try 2 amn-remember --adapter pipe base.safetensors
}

@test "excluded weights are not merged and not missed; a scale does not concern what is replaced" {
    make_models
    amn-remember -q --drop 'x*' --adapter lora -o got base.safetensors
    amn-remember -q --drop 'x*' want.safetensors | cmp - got
    python3 - <<'END'
import json
from adapters import *
write("saved/adapter_model.safetensors", {"base_model.model.x.weight": ("F32", [37, 301], values(37 * 301, 6))})
json.dump({"peft_type": "LORA", "r": 1, "lora_alpha": 1}, open("saved/adapter_config.json", "w"))
write("fresh/adapter_model.safetensors", {"base_model.model.score.modules_to_save.weight": ("BF16", [2, 3], values(6, 6)), "base_model.model.x.weight": ("F32", [37, 301], values(37 * 301, 6))})
json.dump({"peft_type": "LORA", "r": 1, "lora_alpha": 1}, open("fresh/adapter_config.json", "w"))
END
    amn-remember -q --adapter saved -o one base.safetensors
    amn-remember --adapter saved:0.5 -o two base.safetensors 2>err
    cmp one two
    grep -q 'warning: .*the scale of the adapter has no effect on it' err
    amn-remember --adapter saved:0 base.safetensors 2>err | cmp - <(amn-remember -q base.safetensors)
    amn-remember --adapter fresh -o three base.safetensors 2>err
    grep -q 'warning: .*score.weight: a new tensor' err
    [ "$(amn-parse three | jq -rs '.[-1] | "\(.name) \(.dtype)"')" = 'score.weight BF16' ]
    amn-remember --adapter lora --adapter lora base.safetensors 2>err >/dev/null
    grep -q 'warning: .*this adapter is given twice' err
    python3 - <<'END'
from adapters import *
write("narrow.safetensors", {"p.weight": ("F32", [2, 5], values(10, 1))})
write("wide.safetensors", {"p.lora_A.weight": ("F32", [3, 5], values(15, 2)), "p.lora_B.weight": ("F32", [2, 3], values(6, 3))})
END
    amn-remember -v --adapter wide.safetensors narrow.safetensors 2>err >/dev/null
    grep -q 'p: rank 3 exceeds the smaller dimension of its weight, 2' err
    amn-remember --adapter wide.safetensors narrow.safetensors 2>err >/dev/null
    ! grep -q 'rank 3' err
}

@test "NaN and infinity in the factors are merged and announced" {
    make_models
    python3 - <<'END'
from adapters import *
nan, inf = float("nan"), float("inf")
a = values(3 * 301, 1); a[5] = nan
b = [1.0] * (37 * 3); b[4] = inf
pair = {}
for m, f, g in ("x", a, [1.0] * 111), ("y", [1.0] * 903, b):
    pair[f"base_model.model.{m}.lora_A.weight"], pair[f"base_model.model.{m}.lora_B.weight"] = ("F32", [3, 301], f), ("F32", [37, 3], g)
write("lora/adapter_model.safetensors", pair)
END
    amn-remember --adapter lora -o got base.safetensors 2>err
    grep -q 'warning: 338 values of merged weights are NaN or infinite, the first in x.weight' err
    amn-remember --adapter lora -o dir/ base.safetensors 2>err
    grep -q 'warning: 338 values of merged weights' err
    try 0 amn-remember --test --adapter lora base.safetensors
    grep -q 'x.weight: 37 NaN and 0 infinite values' err
}

@test "a file of an adapter that cannot be read is not a missing one" {
    make_models
    ln -s nowhere lora/tokenizer_config.json
    try 0 amn-remember -q --adapter lora -o got base.safetensors
    try 66 amn-remember --adapter lora -o dir/ base.safetensors
    grep -q 'lora/tokenizer_config.json: cannot open: dangling symbolic link' err
    rm lora/tokenizer_config.json
    mv lora/adapter_config.json c
    ln -s nowhere lora/adapter_config.json
    try 66 amn-remember --adapter lora base.safetensors
    is_empty out
    grep -q 'lora/adapter_config.json: cannot open: dangling symbolic link' err
    try 66 amn-inspect lora
    mv c lora/adapter_config.json
    mv lora/adapter_model.safetensors lora/adapters.safetensors
    ln -s nowhere lora/adapter_model.safetensors            # does not give way to the next name
    try 66 amn-remember --adapter lora base.safetensors
    grep -q 'lora/adapter_model.safetensors: cannot open: dangling symbolic link' err
}
