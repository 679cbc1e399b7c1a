#!/usr/bin/env bats
# Adapters of every form, on weights of small whole numbers, whose results are exact in every order.
load helper

# merged BASE ADAPTER WANT: the base with the adapter has the values of WANT, in every way of making it.
merged() {
    amn-remember -q -o want.out "$3"
    amn-remember -q --adapter "$2" -o got.out "$1" && cmp got.out want.out
    AMN_CPU=scalar amn-remember -q -j 3 --adapter "$2" "$1" | cmp - want.out
    amn-remember -q --adapter "$2" <"$1" | cmp - want.out
    for part in 1/3 2/3 3/3; do amn-remember -q --part $part --adapter "$2" "$1"; done | cmp - want.out
}

# refused STATUS MESSAGE ARGUMENT...: amn-remember fails with the message and writes nothing.
refused() {
    try "$1" amn-remember "${@:3}"
    is_empty out
    grep -qe "$2" err || { cat err; return 1; }
}

@test "DoRA: rows and columns get the norms of the adapter" {
    python3 - <<'END'
from adapters import *
import json
rows, cols, r = 6, 4099, 2
# W + 2 B A has rows of norm 5, 13 or 25 at the ends of a long row of zeros; the magnitudes are multiples of that.
norms = [(3, 4, 5), (5, 12, 13), (7, 24, 25)]
a = [0.0] * (r * cols); a[1] = 1.0; a[cols + cols - 1] = 1.0
b = values(rows * r, 1)
total = [0.0] * (rows * cols)
for i in range(rows):
    total[i * cols + 1], total[i * cols + cols - 1] = norms[i % 3][0] * 1.0, norms[i % 3][1] * -1.0
w = add(total, [-x for x in product(b, a, rows, r, cols, 2.0)])
times = [3.0, 0.5, -2.0, 4.0, 1.0, 8.0]
m = [times[i] * norms[i % 3][2] for i in range(rows)]
y = [total[i * cols + j] * times[i] for i in range(rows) for j in range(cols)]
write("base.safetensors", {"x.weight": ("F32", [rows, cols], w)})
write("want.safetensors", {"x.weight": ("F32", [rows, cols], y)})
write("half.safetensors", {"x.weight": ("F32", [rows, cols], [p + (q - p) / 2 for p, q in zip(w, y)])})
pair = {"base_model.model.x.lora_A.weight": ("F32", [r, cols], a), "base_model.model.x.lora_B.weight": ("F32", [rows, r], b)}
write("dora/adapter_model.safetensors", {**pair, "base_model.model.x.lora_magnitude_vector": ("F32", [rows], m)})
write("none/adapter_model.safetensors", pair)
for d in "dora", "none":
    json.dump({"peft_type": "LORA", "r": r, "lora_alpha": 2 * r, "use_dora": True}, open(d + "/adapter_config.json", "w"))
# The same as columns: an embedding [cols, rows].
t = lambda v: [v[i * cols + j] for j in range(cols) for i in range(rows)]
write("table.safetensors", {"x.weight": ("F32", [cols, rows], t(w))})
write("table-want.safetensors", {"x.weight": ("F32", [cols, rows], t(y))})
write("embed/adapter_model.safetensors", {"base_model.model.x.lora_embedding_A": ("F32", [r, cols], a), "base_model.model.x.lora_embedding_B":
    ("F32", [rows, r], b), "base_model.model.x.lora_magnitude_vector": ("F32", [rows], m)})
json.dump({"peft_type": "LORA", "r": r, "lora_alpha": 2 * r, "use_dora": True}, open("embed/adapter_config.json", "w"))
END
    merged base.safetensors dora want.safetensors
    merged base.safetensors dora:0.5 half.safetensors
    merged table.safetensors embed table-want.safetensors
    refused 65 'use_dora, but the file has no lora_magnitude_vector' --adapter none base.safetensors
    jq '.use_dora = false' none/adapter_config.json >c; mv c none/adapter_config.json
    refused 69 'merge them in two runs' --adapter dora --adapter none base.safetensors
    refused 69 'merge them in two runs' --adapter none --adapter dora base.safetensors
}

@test "DoRA on a base from a pipe: rows in one pass, columns from a copy" {
    python3 - <<'END'
from adapters import *
import json
rows, cols = 512, 4096                  # rows of ones have a norm of 64
for name, shape in ("rows", [rows, cols]), ("columns", [cols, rows]):
    for folder, x in ("base", 1.0), ("want", 2.0):
        write(f"{folder}-{name}.safetensors", {"x.weight": ("F32", shape, [x] * (rows * cols))})
B = "base_model.model.x."
m = {B + "lora_magnitude_vector": ("F32", [rows], [128.0] * rows)}
write("rows/adapter_model.safetensors", {**m, B + "lora_A.weight": ("F32", [1, cols], [1.0] * cols), B + "lora_B.weight": ("F32", [rows, 1], [0.0] * rows)})
write("columns/adapter_model.safetensors", {**m, B + "lora_embedding_A": ("F32", [1, cols], [1.0] * cols), B + "lora_embedding_B": ("F32", [rows, 1], [0.0] * rows)})
for d in "rows", "columns":
    json.dump({"peft_type": "LORA", "r": 1, "lora_alpha": 1}, open(d + "/adapter_config.json", "w"))
END
    cat base-rows.safetensors | amn-remember -q --no-spool --adapter rows | cmp - <(amn-remember -q want-rows.safetensors)
    cat base-columns.safetensors | amn-remember -q --adapter columns | cmp - <(amn-remember -q want-columns.safetensors)
    cat base-columns.safetensors | try 75 amn-remember -q --no-spool --adapter columns
    grep -q spool err
}

@test "LoHa, LoKr and LoCon: products of two, three and four factors" {
    python3 - <<'END'
from adapters import *
import json
base, want, loha, lokr, image = {}, {}, {}, {}, {}
def put(name, shape, delta, s):
    n = 1
    for d in shape: n *= d
    w = values(n, len(base))
    base[name + ".weight"] = ("F32", shape, w)
    want[name + ".weight"] = ("F32", shape, add(w, [s * x for x in delta]))
r, s = 2, 2.0
one, two = [values(n, k) for n, k in ((12 * r, 3), (r * 70, 4))], [values(n, k) for n, k in ((12 * r, 5), (r * 70, 6))]
t = [a * b for a, b in zip(product(*one, 12, r, 70), product(*two, 12, r, 70))]
put("loha", [12, 70], t, s)
for k, f, shape in (("hada_w1_a", one[0], [12, r]), ("hada_w1_b", one[1], [r, 70]), ("hada_w2_a", two[0], [12, r]), ("hada_w2_b", two[1], [r, 70])):
    image["loha." + k] = ("F32", shape, f)
image["loha.alpha"] = ("F32", [], [s * r])
# LoKr: w1 [3, 5] and w2 [4, 6], each whole or of two factors
def kron(w1, o1, i1, w2, o2, i2):
    return [w1[i // o2 * i1 + j // i2] * w2[i % o2 * i2 + j % i2] for i in range(o1 * o2) for j in range(i1 * i2)]
w1, w2 = values(15, 7), values(24, 8)
a1, b1, a2, b2 = values(3 * r, 9), values(r * 5, 10), values(4 * r, 11), values(r * 6, 12)
put("kr", [12, 30], kron(w1, 3, 5, w2, 4, 6), 1.0)               # both whole: alpha is ignored
image.update({"kr.lokr_w1": ("F32", [3, 5], w1), "kr.lokr_w2": ("F32", [4, 6], w2), "kr.alpha": ("F32", [], [7.0])})
put("kr2", [12, 30], kron(w1, 3, 5, product(a2, b2, 4, r, 6), 4, 6), s)
image.update({"kr2.lokr_w1": ("F32", [3, 5], w1), "kr2.lokr_w2_a": ("F32", [4, r], a2), "kr2.lokr_w2_b": ("F32", [r, 6], b2), "kr2.alpha": ("F32", [], [s * r])})
put("kr3", [12, 30], kron(product(a1, b1, 3, r, 5), 3, 5, product(a2, b2, 4, r, 6), 4, 6), s)
image.update({"kr3.lokr_w1_a": ("F32", [3, r], a1), "kr3.lokr_w1_b": ("F32", [r, 5], b1), "kr3.lokr_w2_a": ("F32", [4, r], a2),
              "kr3.lokr_w2_b": ("F32", [r, 6], b2), "kr3.alpha": ("F32", [], [s * r])})
# Three factors: a core [r, r, 2, 3] and b [r, in]
core, nx = values(r * r * 6, 13), 6
def cored(core, b, inner): return [sum(core[(k * r + j) * nx + x] * b[j * inner + q] for j in range(r)) for k in range(r) for q in range(inner) for x in range(nx)]
up, down = values(8 * r, 14), values(r * 5, 15)
put("con", [8, 5, 2, 3], product(up, cored(core, down, 5), 8, r, 30), s)
image.update({"con.lora_up.weight": ("F32", [8, r, 1, 1], up), "con.lora_mid.weight": ("F32", [r, r, 2, 3], core), "con.lora_down.weight": ("F32", [r, 5, 1, 1], down),
              "con.alpha": ("F32", [], [s * r])})
turned = [up[i * r + k] for k in range(r) for i in range(8)]
t = product(up, cored(core, down, 5), 8, r, 30)
put("tucker", [8, 5, 2, 3], [x * x for x in t], s)
for k in "12":
    image.update({"tucker.hada_t" + k: ("F32", [r, r, 2, 3], core), f"tucker.hada_w{k}_a": ("F32", [r, 8], turned), f"tucker.hada_w{k}_b": ("F32", [r, 5], down)})
image["tucker.alpha"] = ("F32", [], [s * r])
put("krt", [24, 15, 2, 3], kron(w1, 3, 5, product(up, cored(core, values(r * 3, 16), 3), 8, r, 18), 8, 18), s)
image.update({"krt.lokr_w1": ("F32", [3, 5], w1), "krt.lokr_t2": ("F32", [r, r, 2, 3], core), "krt.lokr_w2_a": ("F32", [r, 8], turned),
              "krt.lokr_w2_b": ("F32", [r, 3], values(r * 3, 16)), "krt.alpha": ("F32", [], [s * r])})
write("base.safetensors", base); write("want.safetensors", want); write("image.safetensors", image)
del image["tucker.hada_t2"]
write("half.safetensors", image)
END
    merged base.safetensors image.safetensors want.safetensors
    refused 65 'hada_t1, but no hada_t2' --adapter half.safetensors base.safetensors
    refused 75 'limit' --max-alloc 1K --adapter image.safetensors base.safetensors
}

@test "IA3 multiplies rows, columns and biases; rows of tokens come last" {
    python3 - <<'END'
from adapters import *
import json
rows, cols = 7, 900
w, bias, l, f = values(rows * cols, 1), values(rows, 2), values(rows, 3), values(cols, 4)
state = {"a.weight": ("F32", [rows, cols], w), "a.bias": ("F32", [rows], bias), "ff.weight": ("F32", [rows, cols], w), "ff.bias": ("F32", [rows], bias),
         "embed_tokens.weight": ("F32", [rows, cols], w)}
want, twice = dict(state), dict(state)
for out, c in (want, 1.0), (twice, 2.0):
    g = lambda x: 1 + c * (x - 1)
    out["a.weight"] = ("F32", [rows, cols], [x * g(l[i // cols]) for i, x in enumerate(w)])
    out["a.bias"] = ("F32", [rows], [x * g(y) for x, y in zip(bias, l)])
    out["ff.weight"] = ("F32", [rows, cols], [x * g(f[i % cols]) for i, x in enumerate(w)])
write("base.safetensors", state); write("want.safetensors", want); write("twice.safetensors", twice)
write("ia3/adapter_model.safetensors", {"base_model.model.a.ia3_l": ("F32", [rows, 1], l), "base_model.model.ff.ia3_l": ("F32", [1, cols], f)})
json.dump({"peft_type": "IA3", "target_modules": ["a", "ff"], "feedforward_modules": ["ff"]}, open("ia3/adapter_config.json", "w"))
saved, index = values(3 * cols, 5), [5, 0, 3]
def tokens(folder, index):
    write(folder + "/adapter_model.safetensors", {"base_model.model.embed_tokens.token_adapter.trainable_tokens_delta": ("F32", [3, cols], saved)})
    json.dump({"peft_type": "TRAINABLE_TOKENS", "token_indices": index}, open(folder + "/adapter_config.json", "w"))
tokens("tokens", index); tokens("beyond", [5, 0, 7]); tokens("again", [5, 0, 5]); tokens("few", [5, 0])
a, b = values(cols, 6), values(rows, 7)
write("lora/adapter_model.safetensors", {"base_model.model.embed_tokens.lora_A.weight": ("F32", [1, cols], a), "base_model.model.embed_tokens.lora_B.weight": ("F32", [rows, 1], b)})
json.dump({"peft_type": "LORA", "r": 1, "lora_alpha": 1}, open("lora/adapter_config.json", "w"))
def rowed(v):
    v = list(v)
    for n, i in enumerate(index): v[i * cols:i * cols + cols] = saved[n * cols:n * cols + cols]
    return ("F32", [rows, cols], v)
write("rows.safetensors", {**state, "embed_tokens.weight": rowed(w)})
write("both.safetensors", {**state, "embed_tokens.weight": rowed(add(w, product(b, a, rows, 1, cols)))})
END
    merged base.safetensors ia3 want.safetensors
    merged base.safetensors ia3:2 twice.safetensors
    merged base.safetensors tokens rows.safetensors
    amn-remember -q -o want.out both.safetensors
    amn-remember -q --adapter tokens --adapter lora base.safetensors | cmp - want.out
    amn-remember -q --adapter lora --adapter tokens base.safetensors | cmp - want.out
    refused 65 'two adapters replace one row' --adapter tokens --adapter tokens base.safetensors
    refused 65 "a token index that is not one of the base's 7 rows" --adapter beyond base.safetensors
    refused 65 'lists token index 5 twice' --adapter again base.safetensors
    refused 65 'does not fit' --adapter few base.safetensors
}

@test "experts: joined, stacked either way, apart, and by other names" {
    python3 - <<'END'
from adapters import *
import json
E, ff, width, r, s = 3, 5, 7, 2, 3.0
apart, stacked, turned, wants = {}, {}, {}, [{}, {}, {}]
adapter, linear, switch = {}, {}, {}
P, K = "model.layers.0.mlp.experts", "base_model.model.model.layers.0.mlp.experts"
def transpose(v, n, m): return [v[i * m + j] for j in range(m) for i in range(n)]
def stack(name, out, cols, parts, key, seed):
    w, a, b = [values(out * cols, seed + e) for e in range(E)], values(r * E * cols, seed + 50), values(out * r * E, seed + 60)
    L = [[b[i * r * E + k * E + e] for i in range(out) for k in range(r)] for e in range(E)]
    R = [a[e * r * cols:(e + 1) * r * cols] for e in range(E)]
    v = [add(w[e], product(L[e], R[e], out, r, cols, s)) for e in range(E)]
    for source, i in (w, None), (v, 0):
        one, two, three = (apart, stacked, turned) if i is None else wants
        two[f"{P}.{name}"] = ("F32", [E, out, cols], sum(source, []))
        three[f"{P}.{name}"] = ("F32", [E, cols, out], sum((transpose(x, out, cols) for x in source), []))
        for e in range(E):
            for k, part in enumerate(parts):
                one[f"{P}.{e}.{part}.weight"] = ("F32", [ff if len(parts) == 2 else out, cols], source[e][k * ff * cols:(k + 1) * ff * cols] if len(parts) == 2 else source[e])
    adapter[key + ".lora_A.weight"], adapter[key + ".lora_B.weight"] = ("F32", [r * E, cols], a), ("F32", [out, r * E], b)
    n = out // len(parts)
    for k, part in enumerate(parts):
        for e in range(E):
            linear[f"{K}.{e}.{part}.lora_A.weight"], linear[f"{K}.{e}.{part}.lora_B.weight"] = ("F32", [r, cols], R[e]), ("F32", [n, r], L[e][k * n * r:(k + 1) * n * r])
        if len(parts) == 1:
            m = f"model.layers.0.mlp.switch_mlp.{part}"
            switch[m + ".lora_a"], switch[m + ".lora_b"] = ("F32", [E, r, cols], a), ("F32", [E, out, r], sum(L, []))
stack("gate_up_proj", 2 * ff, width, ["gate_proj", "up_proj"], K + ".base_layer", 1)
stack("down_proj", width, ff, ["down_proj"], K, 20)
names = ["model.layers.0.mlp.experts.gate_up_proj", "mlp.experts.down_proj"]
for d, t, config in ("joined", adapter, {"peft_type": "LORA", "r": 9, "lora_alpha": r * s, "target_parameters": names, "rank_pattern": {"experts.gate_up_proj": r, "experts.down_proj": r}}), \
        ("linear", linear, {"peft_type": "LORA", "r": r, "lora_alpha": r * s}):
    write(d + "/adapter_model.safetensors", t)
    json.dump(config, open(d + "/adapter_config.json", "w"))
for name, t, want in ("apart", apart, wants[0]), ("stacked", stacked, wants[1]), ("turned", turned, wants[2]):
    write(name + ".safetensors", t); write(name + "-want.safetensors", want)
write("switch/adapters.safetensors", switch)
json.dump({"fine_tune_type": "lora", "lora_parameters": {"rank": r, "scale": s}}, open("switch/adapter_config.json", "w"))
write("switch-want.safetensors", {k: (wants[0] if "down_proj" in k else apart)[k] for k in apart})
more = dict(apart); more[f"{P}.{E}.down_proj.weight"] = apart[f"{P}.0.down_proj.weight"]
write("more.safetensors", more)
# Square experts: only the model can tell.
q, a, b = values(E * 4, 80), values(r * E * 2, 81), values(2 * r * E, 82)
write("square/adapter_model.safetensors", {K + ".lora_A.weight": ("F32", [r * E, 2], a), K + ".lora_B.weight": ("F32", [2, r * E], b)})
json.dump({"peft_type": "LORA", "r": r, "lora_alpha": r, "target_parameters": ["experts.down_proj"]}, open("square/adapter_config.json", "w"))
write("plain/model.safetensors", {P + ".down_proj": ("F32", [E, 2, 2], q)})
write("gptoss/model.safetensors", {P + ".down_proj": ("F32", [E, 2, 2], sum((transpose(q[e * 4:e * 4 + 4], 2, 2) for e in range(E)), []))})
json.dump({"model_type": "qwen3_moe"}, open("plain/config.json", "w")); json.dump({"model_type": "gpt_oss"}, open("gptoss/config.json", "w"))
END
    for base in apart stacked turned; do
        for adapter in joined linear; do merged $base.safetensors $adapter $base-want.safetensors; done
    done
    merged apart.safetensors switch switch-want.safetensors
    [ "$(amn-remember --plan --adapter joined stacked.safetensors | jq -s '[.[] | select(.name == "model.layers.0.mlp.experts.down_proj").inputs[]] | length')" = 3 ]
    refused 65 'factors are for 3 experts, but the base has more' --adapter joined more.safetensors
    refused 69 'without config.json' --adapter square plain/model.safetensors --config none
    amn-remember -q --adapter square plain | tail -c 48 >plain.out
    amn-remember -q --adapter square gptoss | tail -c 48 >gptoss.out
    python3 -c 'import struct
p, g = (struct.unpack("<12f", open(n, "rb").read()) for n in ("plain.out", "gptoss.out"))
assert all(p[e * 4 + i * 2 + j] == g[e * 4 + j * 2 + i] for e in range(3) for i in range(2) for j in range(2))'
}

# language ARGUMENT...: writes base/, a small language model with a tied head, and adapters for it. Arguments are Python's.
language() {
    python3 - <<'END'
from adapters import *
import json
V, d, r = 9, 4, 2
e = values(V * d, 1)
write("base/model.safetensors", {"model.embed_tokens.weight": ("F32", [V, d], e), "model.norm.weight": ("F32", [d], values(d, 2))})
json.dump({"architectures": ["LlamaForCausalLM"], "tie_word_embeddings": True, "text_config": {"vocab_size": V}, "vocab_size": V}, open("base/config.json", "w"))
for name in "tokenizer.json", "tokenizer_config.json", "merges.txt", "generation_config.json":
    open("base/" + name, "w").write('"base"')
B = "base_model.model."
a, b = values(r * V, 3), values(d * r, 4)
embed = {B + "model.embed_tokens.lora_embedding_A": ("F32", [r, V], a), B + "model.embed_tokens.lora_embedding_B": ("F32", [d, r], b)}
t = lambda v, n, m: [v[i * m + j] for j in range(m) for i in range(n)]
head = {B + "lm_head.lora_A.weight": ("F32", [r, d], t(b, d, r)), B + "lm_head.lora_B.weight": ("F32", [V, r], t(a, r, V))}
other = {B + "lm_head.lora_A.weight": ("F32", [r, d], values(r * d, 5)), B + "lm_head.lora_B.weight": head[B + "lm_head.lora_B.weight"]}
def adapter(folder, tensors, **more):
    write(folder + "/adapter_model.safetensors", tensors)
    json.dump({"peft_type": "LORA", "r": r, "lora_alpha": r, **more}, open(folder + "/adapter_config.json", "w"))
adapter("embed", embed); adapter("head", head); adapter("same", {**embed, **head}); adapter("both", {**embed, **other})
adapter("tying", embed, ensure_weight_tying=True)
adapter("norms", {**head, B + "lm_head.lora_magnitude_vector": ("F32", [V], values(V, 6))})
adapter("larger", {B + "model.embed_tokens.weight": ("F32", [V + 2, d], values(V * d + 2 * d, 7)), B + "lm_head.weight": ("F32", [V + 2, d], values(V * d + 2 * d, 7))})
adapter("headless", {B + "model.embed_tokens.weight": ("F32", [V + 2, d], values(V * d + 2 * d, 7))})
adapter("rows", {**other, B + "model.embed_tokens.token_adapter.trainable_tokens_delta": ("F32", [1, d], [9.0] * d)}, trainable_token_indices={"embed_tokens": [4]})
for name in "tokenizer_config.json", "special_tokens_map.json", "README.md":
    open("larger/" + name, "w").write('"adapter"')
merged = add(e, product(t(a, r, V), t(b, d, r), V, r, d))
write("merged.safetensors", {"e": ("F32", [V, d], merged), "o": ("F32", [V, d], e)})
END
}

# tensor FILE NAME: prints the values.
tensor() { amn-convert -q --to raw --tensor "$2" -o - "$1" | od -An -tf4 -v -w16; }

@test "a head that is tied to the embedding stays tied, or becomes a tensor of its own" {
    language
    tensor merged.safetensors e >e
    tensor merged.safetensors o >o
    for a in embed head both; do
        refused 2 'directory with -o DIR/' --adapter $a base
        amn-remember -q --adapter $a -o $a.out/ base
        [ "$(jq .tie_word_embeddings $a.out/config.json)" = false ]
        [ "$(amn-parse $a.out | jq -rs '.[-1].name')" = lm_head.weight ]
    done
    tensor embed.out model.embed_tokens.weight | cmp - e
    tensor embed.out lm_head.weight | cmp - o
    tensor head.out model.embed_tokens.weight | cmp - o
    tensor head.out lm_head.weight | cmp - e
    for a in same tying; do
        amn-remember -q --adapter $a -o $a.out/ base
        cmp base/config.json $a.out/config.json
        ! amn-parse $a.out | grep lm_head
        tensor $a.out model.embed_tokens.weight | cmp - e
    done
    amn-remember -q --adapter rows -o rows.out/ base       # rows of tokens are those of both
    for w in model.embed_tokens lm_head; do [ "$(tensor rows.out $w.weight | sed -n 5p | tr -s ' ')" = "$(printf ' 9%.0s' 1 2 3 4)" ]; done
    refused 65 'an embedding of 11 rows, but no head' --adapter headless -o headless.out/ base
    refused 69 'tied to the embedding' --adapter norms -o norms.out/ base
    amn-remember -q --adapter embed:0 -o zero.out/ base
    cmp base/config.json zero.out/config.json
}

@test "a resized vocabulary and a tokenizer of the adapter" {
    language
    amn-remember -q --adapter larger -o out.dir/ base
    [ "$(jq -c '[.vocab_size, .text_config.vocab_size, .tie_word_embeddings]' out.dir/config.json)" = '[11,11,true]' ]
    [ "$(ls out.dir | tr '\n' ' ')" = 'config.json generation_config.json model.safetensors special_tokens_map.json tokenizer_config.json ' ]
    cmp out.dir/tokenizer_config.json larger/tokenizer_config.json
    cmp out.dir/generation_config.json base/generation_config.json
    [ "$(amn-parse out.dir | jq -c 'select(.name == "model.embed_tokens.weight").shape')" = '[11,4]' ]
}

@test "adapters of llama.cpp: matrices, embeddings, experts, norms" {
    python3 - <<'END'
from adapters import *
from modelfile import gguf
E, out, cols, V, r, s = 3, 6, 32, 9, 2, 3.0
w = {"token_embd.weight": ([V, cols], values(V * cols, 1)), "output.weight": ([V, cols], values(V * cols, 2)), "blk.0.ffn_up.weight": ([out, cols], values(out * cols, 3)),
     "blk.0.ffn_up_exps.weight": ([E, out, cols], values(E * out * cols, 4)), "blk.0.ffn_norm.weight": ([cols], values(cols, 5))}
want, t = dict(w), {}
def pair(name, shape_a, shape_b, a, b, delta):
    t[name + ".lora_a"], t[name + ".lora_b"] = (shape_a, a), (shape_b, b)
    want[name] = (w[name][0], add(w[name][1], delta))
a, b = values(r * cols, 6), values(out * r, 7)
pair("blk.0.ffn_up.weight", [r, cols], [out, r], a, b, product(b, a, out, r, cols, s))
a, b = values(V * r, 8), values(cols * r, 9)
pair("token_embd.weight", [V, r], [cols, r], a, b, product(a, [b[j * r + k] for k in range(r) for j in range(cols)], V, r, cols, s))
a, b = values(E * r * cols, 10), values(E * out * r, 11)
pair("blk.0.ffn_up_exps.weight", [E, r, cols], [E, out, r], a, b, sum((product(b[e * out * r:(e + 1) * out * r], a[e * r * cols:(e + 1) * r * cols], out, r, cols, s) for e in range(E)), []))
t["blk.0.ffn_norm.weight"] = want["blk.0.ffn_norm.weight"] = ([cols], values(cols, 12))
def save(path, tensors, *keys):
    keys = (("general.architecture", "str", "llama"),) + keys
    open(path, "wb").write(gguf(keys, [(n, "F32", shape, f32(v)) for n, (shape, v) in tensors.items()]))
kind = (("general.type", "str", "adapter"), ("adapter.type", "str", "lora"))
save("base.gguf", w); save("want.gguf", want); save("lora.gguf", t, *kind, ("adapter.lora.alpha", "f32", r * s))
save("other.gguf", t, ("general.type", "str", "model"))
save("kind.gguf", t, kind[0], ("adapter.type", "str", "control"))
save("alora.gguf", t, *kind, ("adapter.alora.invocation_tokens", "arr", ("u32", [1])))
open("arch.gguf", "wb").write(gguf((("general.architecture", "str", "qwen2"),) + kind, [(n, "F32", shape, f32(v)) for n, (shape, v) in t.items()]))
write("plain.safetensors", {"x.weight": ("F32", [2, 2], values(4, 1))})
END
    merged base.gguf lora.gguf want.gguf
    refused 65 'general.type is not "adapter"' --adapter other.gguf base.gguf
    refused 69 'of type lora' --adapter kind.gguf base.gguf
    refused 69 'of type lora' --adapter alora.gguf base.gguf
    refused 65 'another general.architecture, qwen2' --adapter arch.gguf base.gguf
    refused 69 'needs a GGUF base' --adapter lora.gguf plain.safetensors
}

@test "adapters of MLX: low rank, norms, embeddings, full" {
    python3 - <<'END'
from adapters import *
import json
rows, cols, r, s = 4, 8, 2, 3.0
w, e = values(rows * cols, 1), values(8 * 8, 2)
a, b = values(cols * r, 3), values(r * rows, 4)
t = lambda v, n, m: [v[i * m + j] for j in range(m) for i in range(n)]
base = {"x.weight": ("F32", [rows, cols], w), "model.embed_tokens.weight": ("F32", [8, 8], e), "lin.weight": ("F32", [8, 8], e)}
ea, eb = values(8 * r, 5), values(r * 8, 6)
want = {"x.weight": ("F32", [rows, cols], add(w, product(t(b, r, rows), t(a, cols, r), rows, r, cols, s))),
        "model.embed_tokens.weight": ("F32", [8, 8], add(e, product(ea, eb, 8, r, 8, s))),        # square: an embedding by its name
        "lin.weight": ("F32", [8, 8], add(e, product(t(eb, r, 8), t(ea, 8, r), 8, r, 8, s)))}
write("base.safetensors", base); write("want.safetensors", want)
def adapter(folder, tensors, **config):
    write(folder + "/adapters.safetensors", tensors)
    json.dump(config, open(folder + "/adapter_config.json", "w"))
adapter("lora", {"x.lora_a": ("F32", [cols, r], a), "x.lora_b": ("F32", [r, rows], b), "model.embed_tokens.lora_a": ("F32", [8, r], ea), "model.embed_tokens.lora_b": ("F32", [r, 8], eb),
                 "lin.lora_a": ("F32", [8, r], ea), "lin.lora_b": ("F32", [r, 8], eb)}, fine_tune_type="lora", lora_parameters={"rank": r, "scale": s, "dropout": 0})
adapter("full", {"x.weight": want["x.weight"]}, fine_tune_type="full")
adapter("none", {"x.lora_a": ("F32", [cols, r], a), "x.lora_b": ("F32", [r, rows], b)}, fine_tune_type="lora", lora_parameters={"rank": r})
write("full-want.safetensors", {**base, "x.weight": want["x.weight"]})
END
    merged base.safetensors lora want.safetensors
    merged base.safetensors full full-want.safetensors
    refused 65 'has no scale' --adapter none base.safetensors
}

@test "names inside adapters: saved modules with parts, untrained copies, other forms" {
    python3 - <<'END'
from adapters import *
import json
v = values(12, 1)
B = "base_model.model."
write("base.safetensors", {"head.dense.weight": ("F32", [3, 4], values(12, 2)), "head.dense.bias": ("F32", [3], values(3, 3)), "head.out.weight": ("F32", [3, 4], values(12, 4))})
write("want.safetensors", {"head.dense.weight": ("F32", [3, 4], v), "head.dense.bias": ("F32", [3], values(3, 5)), "head.out.weight": ("F32", [3, 4], values(12, 6))})
good = {B + "head.modules_to_save.default.dense.weight": ("F32", [3, 4], v), B + "head.modules_to_save.default.dense.bias": ("F32", [3], values(3, 5)),
        B + "head.original_module.dense.weight": ("F32", [3, 4], values(12, 7)), B + "head.out.modules_to_save.default.weight": ("F32", [3, 4], values(12, 6)),
        B + "head.out.original_module.weight": ("F32", [3, 4], values(12, 8))}
def adapter(folder, tensors):
    write(folder + "/adapter_model.safetensors", tensors)
    json.dump({"peft_type": "LORA", "r": 1, "lora_alpha": 1}, open(folder + "/adapter_config.json", "w"))
adapter("good", good)
adapter("names", {**good, B + "head.out.lora_A.second.weight": ("F32", [1, 4], values(4, 9)), B + "head.out.lora_B.second.weight": ("F32", [3, 1], values(3, 9))})
for i, k in enumerate(["vera_lambda_b", "oft_r", "boft_R", "hada_w3", "lokr_w3", "lora_E"]):
    adapter("other%d" % i, {**good, B + "head.out." + k + ".weight": ("F32", [1], [1.0])})
END
    merged base.safetensors good want.safetensors
    refused 69 'several adapters, default and second' --adapter names base.safetensors
    for i in 0 1 2 3 4 5; do refused 69 'this form of adapter is not merged' --adapter other$i base.safetensors; done
}
