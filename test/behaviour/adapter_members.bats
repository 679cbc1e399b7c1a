#!/usr/bin/env bats
# Adapters: what their configs and headers say is applied, is known to have no effect, or is refused by name.
load helper

# refused STATUS MESSAGE ARGUMENT...: amn-remember fails with the message and writes nothing.
refused() {
    try "$1" amn-remember "${@:3}"
    is_empty out
    grep -qe "$2" err || { cat err; return 1; }
}

# base.safetensors and lora/, an adapter of rank 2 with alpha 6 for x.weight.
make_pair() {
    python3 - <<'END'
import json
from adapters import *
rows, cols, r = 3, 4, 2
write("base.safetensors", {"x.weight": ("F32", [rows, cols], values(rows * cols, 1)), "x.bias": ("F32", [rows], values(rows, 2))})
write("lora/adapter_model.safetensors", {"base_model.model.x.lora_A.weight": ("F32", [r, cols], values(r * cols, 3)),
                                         "base_model.model.x.lora_B.weight": ("F32", [rows, r], values(rows * r, 4))})
json.dump({"peft_type": "LORA", "r": r, "lora_alpha": 6}, open("lora/adapter_config.json", "w"))
END
    cp lora/adapter_config.json plain.json
}

# with JQ: gives the adapter a config.
with() { jq -c "$1" plain.json >lora/adapter_config.json; }

@test "the configs that peft writes are silent" {
    make_pair
    amn-remember --adapter lora -o want.out base.safetensors 2>err
    # every member of LoraConfig from 0.3 to 0.21, with the values of ordinary training
    with '. + {auto_mapping: {base_model_class: "Net", parent_library: "net", unsloth_fixed: true}, base_model_name_or_path: "org/base",
        alora_invocation_tokens: null, alpha_pattern: {}, arrow_config: null, bias: "none", corda_config: null, ensure_weight_tying: false,
        eva_config: {rho: 2.0, tau: 0.99}, exclude_modules: ["y"], fan_in_fan_out: false, inference_mode: true, init_lora_weights: "eva",
        kasa_config: null, layer_replication: null, layers_pattern: "layers", layers_to_transform: [0], loftq_config: {loftq_bits: 4},
        lora_bias: false, lora_dropout: 0.05, lora_ga_config: null, megatron_config: null, megatron_core: "megatron.core",
        modules_to_save: ["z"], monteclora_config: null, peft_version: "0.21.2", qalora_group_size: 16, rank_pattern: {}, revision: "main",
        runtime_config: {ephemeral_gpu_offload: false}, target_modules: ["x"], target_parameters: null, task_type: "CAUSAL_LM",
        trainable_token_indices: null, use_bdlora: null, use_dora: false, use_qalora: false, use_rslora: false,
        velora_config: {num_groups: 64}, lora_dtype: "float32", lorap_lr_ratio: 16.0, lorap_emb_lr: 1e-6, merge_weights: true}'
    try 0 amn-remember -o got.out --adapter lora base.safetensors
    cmp got.out want.out
    [ "$(grep -c warning err)" = 0 ]
    for word in true false '"gaussian"' '"orthogonal"' '"mica"'; do
        with ". + {init_lora_weights: $word}"
        amn-remember -q --adapter lora base.safetensors | cmp - want.out
    done
    try 0 amn-inspect lora
    [ "$(jq -c .refused out)" = '[]' ]
}

@test "a member that nobody knows is refused by name, unless it is empty" {
    make_pair
    amn-remember -q --adapter lora -o want.out base.safetensors
    for value in 0.5 '"words"' true '[1]' '{"a": 1}'; do
        with ". + {lora_gain: $value}"
        refused 69 'adapter_config.json: member lora_gain is unknown and could change the weights' --adapter lora base.safetensors
    done
    for value in 0 '""' false '[]' '{}' null; do
        with ". + {lora_gain: $value}"
        amn-remember -q --adapter lora base.safetensors | cmp - want.out
    done
    with '. + {lora_gain: 2}'
    try 0 amn-inspect lora
    [[ "$(jq -r '.refused[0]' out)" == *'member lora_gain is unknown'* ]]
    with '. + {init_lora_weights: "newest"}'
    refused 69 'init_lora_weights newest is unknown' --adapter lora base.safetensors
    with '. + {lora_B_layout: "newest"}'
    refused 69 'lora_B_layout newest is unknown: expected rank_major or grouped_by_expert' --adapter lora base.safetensors
    with '. + {use_rslora: "true"}'
    refused 65 'the value of use_rslora is not true or false' --adapter lora base.safetensors
    with '. + {alpha_pattern: ["x"]}'
    refused 65 'the value of alpha_pattern is not an object' --adapter lora base.safetensors
    with '. + {layer_replication: [[0, 1]]}'
    refused 69 'adapters with layer_replication are not merged' --adapter lora base.safetensors
}

@test "each known member with a value of another kind is refused, or has no effect" {
    make_pair
    amn-remember -q --adapter lora -o want.out base.safetensors
    # those that change the result when they are valid: r, alpha, patterns and use_rslora have their own tests
    members=$(sed -n '/} known\[\] = {/,/^};/p' "$tests/../lib/common/adapter/members.c" | grep -o '{ "[A-Za-z_0-9]*"' | tr -d '{ "')
    [ "$(wc -w <<<"$members")" -gt 50 ]
    for member in $members; do
        for value in '"zzz"' 12345 '[7, "zzz"]' '{"zzz": 7}' true; do
            with ". + {$member: $value}"
            status=0
            amn-remember -q --adapter lora base.safetensors >got.out 2>err || status=$?
            case $status in
            65 | 69) is_empty got.out; grep -q "adapter_config.json\|$member\|module x\|peft_type\|is not merged\|init_lora" err ;;
            0) case $member:$value in
                lora_alpha:12345 | use_rslora:true | fan_in_fan_out:true) ! cmp -s got.out want.out ;;
                *) cmp got.out want.out || { echo "$member $value"; return 1; } ;;
                esac ;;
            *) echo "$member $value: $status"; return 1 ;;
            esac
        done
    done
}

@test "alpha in the header of a single file" {
    python3 - <<'END'
import json
from adapters import *
rows, cols, r = 3, 4, 2
w, a, b = values(rows * cols, 1), values(r * cols, 3), values(rows * r, 4)
write("base.safetensors", {"x.weight": ("F32", [rows, cols], w)})
write("half.safetensors", {"x.weight": ("F32", [rows, cols], add(w, product(b, a, rows, r, cols, .5)))})
write("one.safetensors", {"x.weight": ("F32", [rows, cols], add(w, product(b, a, rows, r, cols)))})
factors = {"diffusion_model.x.lora_A.weight": ("F32", [r, cols], a), "diffusion_model.x.lora_B.weight": ("F32", [rows, r], b)}
tower = lambda **m: {"lora_adapter_metadata": json.dumps({"transformer." + k: v for k, v in m.items()})}
for name, meta in {"alpha": {"alpha": "1"}, "lora_alpha": {"lora_alpha": "1.0"}, "network": {"network_alpha": "1", "network_dim": "2"},
                   "kohya": {"ss_network_alpha": "1", "ss_network_dim": "2"}, "both": {"alpha": "1", "lora_alpha": "1"},
                   "tower": tower(r=2, lora_alpha=1, lora_dropout=.1), "rankless": tower(lora_alpha=1),
                   "none": {"format": "pt", "ss_scale_weight_norms": "1.5", "modelspec.scale": "4", "lora_scale": "1.0", "use_rslora": "False", "alpha_note": "none",
                            "ss_network_alpha": "None"},
                   "differ": {"alpha": "1", "lora_alpha": "2"}, "rank": {"network_alpha": "1", "network_dim": "4"}, "scale": {"lora_scale": "0.5"},
                   "rslora": {"alpha": "1", "use_rslora": "True"}, "gain": tower(r=2, lora_alpha=1, gain=2), "patterns": tower(r=2, lora_alpha=1, use_bdlora={"nblocks": 2})}.items():
    write(name + ".safetensors", factors, meta)
write("tensor.safetensors", {**factors, "diffusion_model.x.alpha": ("F32", [], [2.0])}, {"alpha": "1", "strength": "3"})
write("towers.safetensors", {"x.lora_A.weight": ("F32", [r, cols], a), "x.lora_B.weight": ("F32", [rows, r], b)},
      {"lora_adapter_metadata": json.dumps({"text_encoder.r": 2, "text_encoder.lora_alpha": 7, "unet.r": 2, "unet.lora_alpha": 9})})
END
    for name in half one; do amn-remember -q -o $name.out $name.safetensors; done
    for name in alpha lora_alpha network kohya both tower rankless; do
        amn-remember -q --adapter $name.safetensors base.safetensors | cmp - half.out || { echo $name; return 1; }
    done
    for name in none tensor; do
        amn-remember -q --adapter $name.safetensors base.safetensors | cmp - one.out || { echo $name; return 1; }
    done
    try 0 amn-inspect alpha.safetensors
    [ "$(jq -c '.patterns[0] | [.rank, .alpha, .scale]' out)" = '[2,1,0.5]' ]
    refused 65 'the header declares alpha 1 and lora_alpha 2' --adapter differ.safetensors base.safetensors
    refused 69 'the header declares network_alpha 1 and another network_dim, but its factors have rank 2' --adapter rank.safetensors base.safetensors
    refused 69 'the header declares lora_scale, which could change the weights' --adapter scale.safetensors base.safetensors
    refused 69 'the header declares use_rslora' --adapter rslora.safetensors base.safetensors
    refused 69 'lora_adapter_metadata: member gain is unknown' --adapter gain.safetensors base.safetensors
    refused 69 'lora_adapter_metadata: adapters with use_bdlora are not merged' --adapter patterns.safetensors base.safetensors
}

@test "experts of peft: bare names, layouts of lora_B, and versions" {
    python3 - <<'END'
import json
from adapters import *
E, H, ff, r = 3, 4, 5, 2
P, M = "model.layers.0.mlp.experts", "base_model.model.model.layers.0."
def base(ff):
    t = {"model.layers.0.self_attn.q_proj.weight": ("F32", [H, H], values(H * H, 1)), "model.layers.0.mlp.gate.weight": ("F32", [E, H], values(E * H, 2))}
    for e in range(E):
        for i, (n, shape) in enumerate((("gate_proj", [ff, H]), ("up_proj", [ff, H]), ("down_proj", [H, ff]))):
            t[f"{P}.{e}.{n}.weight"] = ("F32", shape, values(ff * H, 10 + 3 * e + i))
    return t
def columns(blocks, rows, grouped):         # blocks[e] is [rows, r]
    return [blocks[e][i * r + k] for i in range(rows) for e, k in ([(e, k) for e in range(E) for k in range(r)] if grouped else [(e, k) for k in range(r) for e in range(E)])]
def turn(v, rows, cols): return [v[i * cols + j] for j in range(cols) for i in range(rows)]
def make(name, ff, grouped=False, old=False, router=False, **more):
    t, w = {}, base(ff)
    config = {"peft_type": "LORA", "r": r, "lora_alpha": 2 * r, "target_modules": ["q_proj"], "target_parameters": ["gate_up_proj", "down_proj"], **more}
    for key, out, cols, seed in ((P[len("model.layers.0."):] + ".base_layer", 2 * ff, H, 40), (P[len("model.layers.0."):], H, ff, 60)):
        A, B = [values(r * cols, seed + e) for e in range(E)], [values(out * r, seed + 10 + e) for e in range(E)]
        if old:
            A, B = [turn(b, out, r) for b in B], [turn(a, r, cols) for a in A]
        na, nb = (out, cols) if old else (cols, out)
        t[M + key + ".lora_A.weight"], t[M + key + ".lora_B.weight"] = ("F32", [E * r, na], sum(A, [])), ("F32", [nb, E * r], columns(B, nb, grouped))
        for e in range(E):
            a, b = values(r * cols, seed + e), values(out * r, seed + 10 + e)
            d = product(b, a, out, r, cols, 2)
            for i, n in enumerate(["gate_proj", "up_proj"] if out == 2 * ff and seed == 40 else ["down_proj"]):
                n = f"{P}.{e}.{n}.weight"
                rows = w[n][1][0]
                w[n] = ("F32", w[n][1], add(w[n][2], d[i * rows * cols:(i + 1) * rows * cols]))
    for module, weight, out, seed, scale in [("self_attn.q_proj", "self_attn.q_proj", H, 80, 2)] + ([("mlp.gate", "mlp.gate", E, 90, 4)] if router else []):
        a, b = values(r * H, seed), values(out * r, seed + 1)
        t[M + module + ".lora_A.weight"], t[M + module + ".lora_B.weight"] = ("F32", [r, H], a), ("F32", [out, r], b)
        n = f"model.layers.0.{weight}.weight"
        w[n] = ("F32", w[n][1], add(w[n][2], product(b, a, out, r, H, scale)))
    write(name + "/adapter_model.safetensors", t)
    json.dump({k: v for k, v in config.items() if v is not None}, open(name + "/adapter_config.json", "w"))
    write(name + "-want.safetensors", w)
write("base/model.safetensors", base(ff)); write("square/model.safetensors", base(H)); write("half/model.safetensors", base(H // 2))
for d in "base", "square", "half": json.dump({"model_type": "qwen3_moe"}, open(d + "/config.json", "w"))
make("bare", ff, peft_version="0.21.2")
make("expression", ff, target_modules="(?:.*?(?:attn).*?(?:q_proj))|(?:\\bmodel\\b)")
make("router", ff, router=True, target_parameters=["gate_up_proj", "down_proj", "gate.weight"], alpha_pattern={r".*\.gate\.weight": 4 * r})
make("grouped", ff, grouped=True, lora_B_layout="grouped_by_expert")
make("major", ff, lora_B_layout="rank_major")
make("old", ff, old=True, peft_version="0.18.1"); make("old-unknown", ff, old=True)
make("square-new", H, peft_version="0.19.0"); make("square-old", H, old=True, peft_version="0.18.1"); make("square-unknown", H)
make("square-dev", H, peft_version="0.18.2.dev0@1234"); make("square-word", H, peft_version="newest")
make("half-old", H // 2, old=True, peft_version="0.17.1"); make("half-new", H // 2, peft_version="1.0.0")
END
    for name in bare expression router grouped major old old-unknown half-old half-new square-new square-old square-unknown square-dev; do
        case $name in square*) from=square ;; half*) from=half ;; *) from=base ;; esac
        amn-remember -q -o want.out $name-want.safetensors
        amn-remember --adapter $name $from >got.out 2>err
        cmp got.out want.out || { echo $name; return 1; }
        case $name in square-unknown | square-dev) grep -q 'warning: .*its experts are square, and adapter_config.json' err ;; *) ! grep -q warning err ;; esac
    done
    refused 69 'peft_version newest is not a version' --adapter square-word square
    try 0 amn-inspect router
    [ "$(jq -c '.patterns[] | [.module, .rank, .alpha, .scale]' out)" = '["model.layers.*.mlp.experts.base_layer",2,4,2]
["model.layers.*.mlp.experts",2,4,2]
["model.layers.*.self_attn.q_proj",2,4,2]
["model.layers.*.mlp.gate",2,8,4]' ]
    [ "$(jq -c .refused out)" = '[]' ]
}

@test "factors of experts with three dimensions, and modules of single slices" {
    python3 - <<'END'
import json
from adapters import *
E, H, ff, r = 3, 4, 5, 2
P = "model.layers.0.mlp.experts."
config = {"peft_type": "LORA", "r": r, "lora_alpha": 2 * r}
gate, down = values(E * 2 * ff * H, 1), values(E * H * ff, 2)
stacked = {P + "gate_up_proj": ("F32", [E, 2 * ff, H], gate), P + "down_proj": ("F32", [E, H, ff], down)}
def apart(t):
    g, d, o = t[P + "gate_up_proj"][2], t[P + "down_proj"][2], {}
    for e in range(E):
        for i, n in enumerate(("gate_proj", "up_proj")):
            at = (2 * e + i) * ff * H
            o[f"{P}{e}.{n}.weight"] = ("F32", [ff, H], g[at:at + ff * H])
        o[f"{P}{e}.down_proj.weight"] = ("F32", [H, ff], d[e * H * ff:(e + 1) * H * ff])
    return o
for name, (ga, gb, da, db) in {"full": (E, E, E, E), "shared": (1, E, E, 1)}.items():
    t, want = {}, {}
    for n, out, cols, ea, eb, seed in (("gate_up_proj", 2 * ff, H, ga, gb, 10), ("down_proj", H, ff, da, db, 20)):
        a, b = values(ea * r * cols, seed), values(eb * out * r, seed + 1)
        t["base_model.model." + P + n + ".lora_A.weight"], t["base_model.model." + P + n + ".lora_B.weight"] = ("F32", [ea, r, cols], a), ("F32", [eb, out, r], b)
        d = sum((product(b[e * out * r:][:out * r] if eb > 1 else b, a[e * r * cols:][:r * cols] if ea > 1 else a, out, r, cols, 2) for e in range(E)), [])
        want[P + n] = ("F32", stacked[P + n][1], add(stacked[P + n][2], d))
    write(name + "/adapter_model.safetensors", t); json.dump(config, open(name + "/adapter_config.json", "w"))
    write(name + "-stacked.safetensors", want); write(name + "-apart.safetensors", apart(want))
write("stacked.safetensors", stacked); write("apart.safetensors", apart(stacked))
# gpt-oss: [experts, in, out], a module for each expert
stored = {P + "gate_up_proj": ("F32", [E, H, 2 * ff], values(E * 2 * ff * H, 30)), P + "down_proj": ("F32", [E, ff, H], values(E * ff * H, 31))}
t, want = {}, {k: ("F32", s, list(v)) for k, (_, s, v) in stored.items()}
for n, out, cols, seed in (("gate_up_proj", 2 * ff, H, 40), ("down_proj", H, ff, 50)):
    for e in range(E):
        a, b = values(r * cols, seed + e), values(out * r, seed + 5 + e)
        m = f"base_model.model.{P}{n}s.{e}"
        t[m + ".lora_A.weight"], t[m + ".lora_B.weight"] = ("F32", [r, cols], a), ("F32", [out, r], b)
        d = product(b, a, out, r, cols, 2)
        for i in range(out):
            for j in range(cols):
                want[P + n][2][e * out * cols + j * out + i] += d[i * cols + j]
write("slices/adapter_model.safetensors", t); json.dump(config, open("slices/adapter_config.json", "w"))
write("gptoss/model.safetensors", stored); json.dump({"model_type": "gpt_oss"}, open("gptoss/config.json", "w")); write("gptoss-want.safetensors", want)
END
    for name in full shared; do
        for base in stacked apart; do
            amn-remember -q -o want.out $name-$base.safetensors
            amn-remember -q --adapter $name $base.safetensors | cmp - want.out
        done
    done
    amn-remember -q -o want.out gptoss-want.safetensors
    amn-remember -q --adapter slices gptoss | cmp - want.out
    try 0 amn-inspect shared
    [ "$(jq -c '.refused, (.patterns[0] | [.rank, .scale])' out)" = '[]
[2,2]' ]
}

@test "adapters of GGUF: types and keys" {
    python3 - <<'END'
from adapters import *
from modelfile import gguf
r, cols, out = 1, 32, 3
arch, kind = ("general.architecture", "str", "llama"), (("general.type", "str", "adapter"), ("adapter.type", "str", "lora"))
name = "blk.0.ffn_up.weight"
a, b = (name + ".lora_a", "F32", [r, cols], f32(values(cols, 1))), (name + ".lora_b", "F32", [out, r], f32(values(out, 2)))
write_ = lambda path, keys, tensors: open(path, "wb").write(gguf((arch,) + keys, tensors))
write_("base.gguf", (), [(name, "F32", [out, cols], f32(values(out * cols, 3)))])
write_("good.gguf", kind + (("adapter.lora.alpha", "f32", 1.0), ("adapter.lora.task_name", "str", "t")), [a, b])
write_("key.gguf", kind + (("adapter.lora.gain", "f32", 2.0),), [a, b])
write_("type.gguf", kind, [(name + ".lora_a", 144, [r, 256], bytes(140)), b])        # IQ4_KS, of a fork: decoded by the row only
write_("alpha.gguf", kind + (("adapter.lora.alpha", "u32", 2),), [a, b])
END
    try 0 amn-remember -q --adapter good.gguf base.gguf
    refused 69 'key adapter.lora.gain is unknown and could change the weights' --adapter key.gguf base.gguf
    refused 65 'adapter.lora.alpha is not a floating-point number' --adapter alpha.gguf base.gguf
    try 69 amn-remember --adapter type.gguf base.gguf
    is_empty out
    grep -q 'lora_a: factors of type IQ4_KS are not supported' err
}

@test "adapters of MLX: what their loaders read" {
    python3 - <<'END'
import json, os
from adapters import *
r, cols, rows = 2, 4, 3
write("base.safetensors", {"x.weight": ("F32", [rows, cols], values(rows * cols, 1))})
os.makedirs("mlx"); os.makedirs("vlm")
write("mlx/adapters.safetensors", {"x.lora_a": ("F32", [cols, r], values(r * cols, 2)), "x.lora_b": ("F32", [r, rows], values(r * rows, 3))})
write("vlm/adapters.safetensors", {"x.A": ("F32", [cols, r], values(r * cols, 2)), "x.B": ("F32", [r, rows], values(r * rows, 3))})
json.dump({"rank": 2, "alpha": 16, "dropout": 0.1}, open("vlm/adapter_config.json", "w"))
json.dump({"fine_tune_type": "lora", "lora_parameters": {"rank": r, "scale": 2.0, "dropout": 0.0}, "iters": 100, "reward_scaling": 3}, open("plain.json", "w"))
END
    mlx() { jq -c "$1" plain.json >mlx/adapter_config.json; }
    mlx .
    try 0 amn-remember -o want.out --adapter mlx base.safetensors
    mlx '.lora_parameters.alpha = 2'
    amn-remember -q --adapter mlx base.safetensors | cmp - want.out
    mlx '.lora_parameters.alpha = 16'
    refused 69 'lora_parameters has alpha' --adapter mlx base.safetensors
    mlx '.lora_parameters.gain = 2'
    refused 69 'member gain of lora_parameters is unknown' --adapter mlx base.safetensors
    mlx '.fine_tune_type = "newest"'
    refused 69 'fine_tune_type newest is unknown: expected lora, dora or full' --adapter mlx base.safetensors
    refused 69 'an adapter of mlx-vlm (rank and alpha, factors .A and .B) is not merged' --adapter vlm base.safetensors
}

@test "names of FLUX.2 and Z-Image" {
    python3 - <<'END'
from adapters import *
D, r = 4, 1
S, T = "single_transformer_blocks.0.attn.", "transformer_blocks.0."
def pair(name, table, fused, parts):
    """table: module of diffusers, rows, columns, module of the authors, first row."""
    base, want, split, lora = {}, {}, {}, {}
    for i, (n, rows, cols) in enumerate(fused):
        base[n + ".weight"] = ("F32", [rows, cols], values(rows * cols, i))
        want[n + ".weight"] = ("F32", [rows, cols], list(base[n + ".weight"][2]))
    for i, (m, rows, cols, to, at) in enumerate(table):
        a, b = values(r * cols, 40 + i), values(rows * r, 70 + i)
        lora["transformer." + m + ".lora_A.weight"], lora["transformer." + m + ".lora_B.weight"] = ("F32", [r, cols], a), ("F32", [rows, r], b)
        for j, x in enumerate(product(b, a, rows, r, cols)):
            want[to + ".weight"][2][at * cols + j] += x
    write(name + ".safetensors", base); write(name + "-want.safetensors", want); write(name + "-lora.safetensors", lora)
B = "double_blocks.0."
table = [(S + "to_qkv_mlp_proj", 9 * D, D, "single_blocks.0.linear1", 0), (S + "to_out", D, 4 * D, "single_blocks.0.linear2", 0),
         ("single_stream_modulation.linear", 3 * D, D, "single_stream_modulation.lin", 0)]
fused = [("single_blocks.0.linear1", 9 * D, D), ("single_blocks.0.linear2", D, 4 * D), ("single_stream_modulation.lin", 3 * D, D)]
for side, n in ("img", ["attn.to_q", "attn.to_k", "attn.to_v", "attn.to_out.0", "ff.linear_in", "ff.linear_out"]), \
        ("txt", ["attn.add_q_proj", "attn.add_k_proj", "attn.add_v_proj", "attn.to_add_out", "ff_context.linear_in", "ff_context.linear_out"]):
    P = B + side + "_"
    table += [(T + n[i], D, D, P + "attn.qkv", i * D) for i in range(3)] + [(T + n[3], D, D, P + "attn.proj", 0), (T + n[4], 6 * D, D, P + "mlp.0", 0),
                                                                         (T + n[5], D, 3 * D, P + "mlp.2", 0)]
    fused += [(P + "attn.qkv", 3 * D, D), (P + "attn.proj", D, D), (P + "mlp.0", 6 * D, D), (P + "mlp.2", D, 3 * D)]
pair("flux2", table, fused, None)
table, fused = [], []
for g in "layers", "noise_refiner", "context_refiner":
    table += [(g + ".0.attention." + n, D, D, g + ".0.attention.qkv", i * D) for i, n in enumerate(("to_q", "to_k", "to_v"))]
    table += [(g + ".0.attention.to_out.0", D, D, g + ".0.attention.out", 0), (g + ".0.feed_forward.w1", D, D, g + ".0.feed_forward.w1", 0)]
    fused += [(g + ".0.attention.qkv", 3 * D, D), (g + ".0.attention.out", D, D), (g + ".0.feed_forward.w1", D, D)]
pair("zimage", table, fused, None)
END
    for name in flux2 zimage; do
        amn-remember -q -o want.out $name-want.safetensors
        amn-remember -q --adapter $name-lora.safetensors $name.safetensors | cmp - want.out
        amn-remember -q --adapter $name-lora.safetensors <$name.safetensors | cmp - want.out
    done
}
