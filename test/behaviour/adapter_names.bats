#!/usr/bin/env bats
# Adapters in single files: the names of image tools, parts of fused weights, and text encoders.
load helper

# merged BASE ADAPTER WANT: the base with the adapter has the values of WANT, in every way of making it.
merged() {
    amn-remember -q -o want.out "$3"
    amn-remember -q --adapter "$2" -o got.out "$1" && cmp got.out want.out
    AMN_CPU=scalar amn-remember -q -j 4 --adapter "$2" "$1" | cmp - want.out
    amn-remember -q --adapter "$2" <"$1" | cmp - want.out
    for part in 1/3 2/3 3/3; do amn-remember -q --part $part --adapter "$2" "$1"; done | cmp - want.out
}

@test "names of diffusers on files of LDM, and the other way round" {
    python3 - <<'END'
from adapters import *
pairs = {                               # diffusers, LDM, a convolution or not
    "down_blocks.1.attentions.0.transformer_blocks.0.attn1.to_q": "input_blocks.4.1.transformer_blocks.0.attn1.to_q",
    "down_blocks.1.attentions.0.transformer_blocks.0.attn1.to_out.0": "input_blocks.4.1.transformer_blocks.0.attn1.to_out.0",
    "down_blocks.2.attentions.1.proj_in": "input_blocks.8.1.proj_in",
    "mid_block.attentions.0.proj_out": "middle_block.1.proj_out",
    "up_blocks.1.attentions.2.proj_out": "output_blocks.5.1.proj_out",
    "time_embedding.linear_2": "time_embed.2",
    "add_embedding.linear_1": "label_emb.0.0",
    "down_blocks.0.resnets.1.conv1": "input_blocks.2.0.in_layers.2",
    "down_blocks.0.resnets.0.time_emb_proj": "input_blocks.1.0.emb_layers.1",
    "down_blocks.1.resnets.0.conv_shortcut": "input_blocks.4.0.skip_connection",
    "mid_block.resnets.1.conv2": "middle_block.2.out_layers.3",
    "up_blocks.2.resnets.1.conv2": "output_blocks.7.0.out_layers.3",
    "down_blocks.1.downsamplers.0.conv": "input_blocks.6.0.op",
    "up_blocks.0.upsamplers.0.conv": "output_blocks.2.2.conv",
    "conv_out": "out.2",
}
rows, cols, r = 4, 6, 2
base, ldm, dotted, flat, old, want, ldm_want, ldm_flat = {}, {}, {}, {}, {}, {}, {}, {}
for i, (a, b) in enumerate(pairs.items()):
    conv = "conv" in a
    shape = [rows, cols // 2, 2, 1] if conv else [rows, cols]
    w, down, up = values(rows * cols, i), values(r * cols, i + 100), values(rows * r, i + 200)
    s = add(w, product(up, down, rows, r, cols, 2.0))
    base[a + ".weight"] = ldm["model.diffusion_model." + b + ".weight"] = ("F32", shape, w)
    want[a + ".weight"] = ldm_want["model.diffusion_model." + b + ".weight"] = ("F32", shape, s)
    factors = (("F16", [r] + shape[1:], down), ("F16", [rows, r] + [1] * (len(shape) - 2), up), ("F32", [], [r * 2.0]))
    for out, name in ((flat, "lora_unet_" + a.replace(".", "_")), (ldm_flat, "lora_unet_" + b.replace(".", "_"))):
        out[name + ".lora_down.weight"], out[name + ".lora_up.weight"], out[name + ".alpha"] = factors
    dotted["unet." + a + ".lora.down.weight"], dotted["unet." + a + ".lora.up.weight"], dotted["unet." + a + ".alpha"] = factors
    p = a.replace(".to_", ".processor.to_")
    p = p[:-2] if p.endswith(".to_out.0") else p
    old[p + "_lora.down.weight"], old[p + "_lora.up.weight"], old[p + ".alpha"] = factors
for name, t in ("base", base), ("ldm", ldm), ("want", want), ("ldm_want", ldm_want), ("flat", flat), ("ldm_flat", ldm_flat), \
        ("dotted", dotted), ("old", {k: v for k, v in old.items()}):
    write(name + ".safetensors", t)
END
    for adapter in flat ldm_flat dotted old; do
        merged base.safetensors $adapter.safetensors want.safetensors
        merged ldm.safetensors $adapter.safetensors ldm_want.safetensors
    done
}

@test "Flux: parts of fused weights in both directions" {
    python3 - <<'END'
from adapters import *
d, ff, r = 4, 10, 2
split, fused, sw, fw, sa, fa = {}, {}, {}, {}, {}, {}
def weight(names, name, heights, cols, seed, swap=False):
    """Rows of several modules, stored one after the other as one; biases likewise."""
    W, S, B, C = [], [], [], []
    for i, (n, h) in enumerate(zip(names, heights)):
        w, down, up = values(h * cols, seed + i), values(r * cols, seed + 10), values(h * r, seed + 20 + i)
        b, db = values(h, seed + 30 + i), values(h, seed + 40 + i)
        s, c = add(w, product(up, down, h, r, cols)), add(b, db)
        split[n + ".weight"], split[n + ".bias"] = ("F32", [h, cols], w), ("F32", [h], b)
        sw[n + ".weight"], sw[n + ".bias"] = ("F32", [h, cols], s), ("F32", [h], c)
        sa["transformer." + n + ".lora_A.weight"] = ("F32", [r, cols], down)
        sa["transformer." + n + ".lora_B.weight"] = ("F32", [h, r], up)
        sa["transformer." + n + ".lora_B.bias"] = ("F32", [h], db)
        if swap:
            half = h // 2
            w, s, b, c = w[half * cols:] + w[:half * cols], s[half * cols:] + s[:half * cols], b[half:] + b[:half], c[half:] + c[:half]
            up, db = up[half * r:] + up[:half * r], db[half:] + db[:half]
        W, S, B, C = W + w, S + s, B + b, C + c
        fa.setdefault(name, [down, [], [], cols])
        fa[name][1] += up
        fa[name][2] += db
    h = sum(heights)
    fused[name + ".weight"], fused[name + ".bias"] = ("F32", [h, cols], W), ("F32", [h], B)
    fw[name + ".weight"], fw[name + ".bias"] = ("F32", [h, cols], S), ("F32", [h], C)
T, S = "transformer_blocks.0.", "single_transformer_blocks.1."
weight([T + "attn.to_" + x for x in "qkv"], "double_blocks.0.img_attn.qkv", [d] * 3, d, 0)
weight([T + "attn.add_%s_proj" % x for x in "qkv"], "double_blocks.0.txt_attn.qkv", [d] * 3, d, 50)
weight([S + "attn.to_" + x for x in "qkv"] + [S + "proj_mlp"], "single_blocks.1.linear1", [d] * 3 + [ff], d, 100)
weight([S + "proj_out"], "single_blocks.1.linear2", [d], d + ff, 150)
weight(["norm_out.linear"], "final_layer.adaLN_modulation.1", [2 * d], d, 200, True)
weight([T + "norm1_context.linear"], "double_blocks.0.txt_mod.lin", [6 * d], d, 250)
kohya = {}
for name, (down, up, db, cols) in fa.items():
    n = "lora_unet_" + name.replace(".", "_")
    kohya[n + ".lora_down.weight"] = ("F32", [r, cols], down)
    kohya[n + ".lora_up.weight"] = ("F32", [len(up) // r, r], up)
    kohya[n + ".diff_b"] = ("F32", [len(db)], db)
for name, t in ("split", split), ("fused", fused), ("split_want", sw), ("fused_want", fw), ("diffusers", sa), ("kohya", kohya):
    write(name + ".safetensors", t)
one = {k: v for k, v in kohya.items() if "qkv" in k and "img" in k}
write("one.safetensors", one)
write("no_v.safetensors", {k: v for k, v in split.items() if ".to_v." not in k})
dora = dict(sa)
dora["transformer." + T + "attn.to_q.dora_scale"] = ("F32", [d, 1], values(d, 9))
write("dora.safetensors", dora)
END
    for adapter in diffusers kohya; do
        merged split.safetensors $adapter.safetensors split_want.safetensors
        merged fused.safetensors $adapter.safetensors fused_want.safetensors
    done
    try 65 amn-remember --adapter one.safetensors no_v.safetensors
    grep -q 'does not fit its part' err
    try 69 amn-remember --adapter dora.safetensors fused.safetensors
    grep -q 'module transformer.transformer_blocks.0.attn.to_q: it is a part of a weight' err
    is_empty out
}

@test "text encoders: OpenCLIP's names, skipped models, and what is missing" {
    python3 - <<'END'
from adapters import *
d, r = 4, 2
P, L = "conditioner.embedders.1.model.", "text_model.encoder.layers.3."
base, want, adapter = {}, {}, {}
def pair(name, down, up, rows, cols):
    adapter[name + ".lora_down.weight"] = ("F32", [r, cols], down)
    adapter[name + ".lora_up.weight"] = ("F32", [rows, r], up)
W, S = [], []
for i, x in enumerate("qkv"):
    w, down, up = values(d * d, i), values(r * d, i + 10), values(d * r, i + 20)
    W, S = W + w, S + add(w, product(up, down, d, r, d))
    pair("lora_te2_" + (L + "self_attn.%s_proj" % x).replace(".", "_"), down, up, d, d)
base[P + "transformer.resblocks.3.attn.in_proj_weight"], want[P + "transformer.resblocks.3.attn.in_proj_weight"] = \
    ("F32", [3 * d, d], W), ("F32", [3 * d, d], S)
w, down, up = values(3 * d, 5), values(r * d, 15), values(3 * r, 25)
base[P + "text_projection"] = ("F32", [d, 3], w)
s = product(up, down, 3, r, d)
want[P + "text_projection"] = ("F32", [d, 3], add(w, [s[j * d + i] for i in range(d) for j in range(3)]))
pair("lora_te2_text_projection", down, up, 3, d)
w, down, up = values(8 * d, 6), values(r * d, 16), values(8 * r, 26)
base[P + "transformer.resblocks.3.mlp.c_fc.weight"] = ("F32", [8, d], w)
want[P + "transformer.resblocks.3.mlp.c_fc.weight"] = ("F32", [8, d], add(w, product(up, down, 8, r, d)))
pair("lora_te2_" + L.replace(".", "_") + "mlp_fc1", down, up, 8, d)
write("base.safetensors", base); write("want.safetensors", want); write("lora.safetensors", adapter)
more = dict(adapter)
adapter = more
pair("lora_te1_text_model_final_layer_norm", down, up, 8, d)
write("te1.safetensors", more)
pair("lora_te2_text_model_encoder_layers_4_mlp_fc1", down, up, 8, d)
write("layer4.safetensors", more)
write("other.safetensors", {"lora_unet_x.lora_down.weight": ("F32", [r, d], down), "lora_unet_x.lora_up.weight": ("F32", [8, r], up)})
write("twice.safetensors", {"a.b_c.weight": ("F32", [8, d], w), "a_b.c.weight": ("F32", [8, d], w)})
write("flat.safetensors", {"lora_unet_a_b_c.lora_down.weight": ("F32", [r, d], down), "lora_unet_a_b_c.lora_up.weight": ("F32", [8, r], up)})
END
    merged base.safetensors lora.safetensors want.safetensors
    try 0 amn-remember --adapter te1.safetensors -o got base.safetensors
    grep -q 'skipped 1 modules of the text 1 model' err
    cmp got want.out
    try 65 amn-remember --adapter layer4.safetensors base.safetensors
    grep -q '1 of 6 modules of the text 2 model, such as lora_te2_text_model_encoder_layers_4_mlp_fc1' err
    try 65 amn-remember --adapter other.safetensors base.safetensors
    grep -q '1 of 1 modules of the image model, such as lora_unet_x' err
    try 65 amn-remember --adapter flat.safetensors twice.safetensors
    grep -q 'lora_unet_a_b_c could be a' err
    is_empty out
}

@test "rank and alpha in the metadata of diffusers" {
    python3 - <<'END'
import json
from adapters import *
rows, cols = 4, 6
base, want, lora, bad = {}, {}, {}, {}
for i, (name, r, s) in enumerate((("blocks.0.to_q", 2, 2.0), ("blocks.0.to_k", 1, 8.0), ("blocks.1.to_q", 2, 0.5))):
    w, down, up = values(rows * cols, i), values(r * cols, i + 10), values(rows * r, i + 20)
    base[name + ".weight"] = ("F32", [rows, cols], w)
    want[name + ".weight"] = ("F32", [rows, cols], add(w, product(up, down, rows, r, cols, s)))
    lora["transformer." + name + ".lora_A.weight"] = ("F32", [r, cols], down)
    lora["transformer." + name + ".lora_B.weight"] = ("F32", [rows, r], up)
members = {"transformer.r": 2, "transformer.lora_alpha": 4, "transformer.rank_pattern": {"to_k": 1},
    "transformer.alpha_pattern": {"to_k": 8, "blocks.1.to_q": 1}, "transformer.use_rslora": False, "text_encoder.r": 99}
meta = {"format": "pt", "lora_adapter_metadata": json.dumps(members)}
write("base.safetensors", base); write("want.safetensors", want); write("lora.safetensors", lora, meta)
write("agrees.safetensors", dict(lora, **{"transformer.blocks.0.to_k.alpha": ("F32", [], [8.0])}), meta)
write("integer.safetensors", dict(lora, **{"transformer.blocks.0.to_k.alpha": ("I64", [], [8])}), meta)
write("wrong.safetensors", dict(lora, **{"transformer.blocks.0.to_k.dora_scale": ("I64", [], [8])}), meta)
write("differs.safetensors", dict(lora, **{"transformer.blocks.0.to_k.alpha": ("F32", [], [4.0])}), meta)
write("broken.safetensors", lora, {"lora_adapter_metadata": "{"})
members["transformer.rank_pattern"] = {}
write("rank.safetensors", lora, {"lora_adapter_metadata": json.dumps(members)})
END
    merged base.safetensors lora.safetensors want.safetensors
    merged base.safetensors agrees.safetensors want.safetensors
    merged base.safetensors integer.safetensors want.safetensors
    for adapter in differs broken rank wrong; do try 65 amn-remember --adapter $adapter.safetensors base.safetensors; done
    try 65 amn-remember --adapter differs.safetensors base.safetensors
    grep -q 'alpha tensor is 4, but lora_adapter_metadata declares 8' err
}
