#!/usr/bin/env bats
# Adapters under the names of kohya and diffusers, and several adapters as one. The cases, with what diffusers and peft make of them,
# are made by test/peers/make-names-cases.py.
load helper

cases=$BATS_TEST_DIRNAME/../cases/names

# listed FILE: prints name, type, shape and digest of each tensor, sorted; a number, with its value, whatever its type.
listed() {
    python3 - "$1" <<'PYTHON'
import hashlib, json, struct, sys
raw = open(sys.argv[1], "rb").read()
n, = struct.unpack("<Q", raw[:8])
for name, t in sorted(json.loads(raw[8:8 + n]).items()):
    if name == "__metadata__":
        continue
    a, b = t["data_offsets"]
    data = raw[8 + n + a:8 + n + b]
    if t["shape"] == []:
        print(name, struct.unpack("<f" if t["dtype"] == "F32" else "<q", data)[0] + 0.0)
    else:
        print(name, t["dtype"], t["shape"], hashlib.sha256(data).hexdigest())
PYTHON
}

# expected WHAT [ALPHA...]: prints the same of the reference; NAME=VALUE for each alpha, whose digest does not show the value.
expected() {
    python3 - "$cases/expected.json" "$1" <<'PYTHON'
import hashlib, json, struct, sys
alphas = {hashlib.sha256(struct.pack("<q", i)).hexdigest(): i for i in range(99)}
for name, kind, shape, digest in json.load(open(sys.argv[1]))[sys.argv[2]]:
    if shape == []:
        print(name, alphas[digest] + 0.0)
    else:
        print(name, kind, shape, digest)
PYTHON
}

# base NAME DIR: makes the weights of a pipeline, all of them 0.
base() {
    mkdir "$2"
    echo '{}' >"$2/model_index.json"
    python3 - "$cases/expected.json" "$1" "$2" <<'PYTHON'
import json, math, os, sys
from modelfile import write
for folder, tensors in json.load(open(sys.argv[1]))["bases"][sys.argv[2]].items():
    os.mkdir(os.path.join(sys.argv[3], folder))
    write(os.path.join(sys.argv[3], folder, "model.safetensors"),
          [(k, "F32", shape, bytes(4 * math.prod(shape))) for k, shape in tensors.items()])
PYTHON
}

@test "diffusers to kohya, and back with the names of the base" {
    base sd pipe
    try 0 amn convert --to kohya -o k.safetensors "$cases/sd/pytorch_lora_weights.safetensors"
    is_empty err
    diff <(listed k.safetensors) <(expected kohya)
    try 0 amn convert --to kohya -o k2.safetensors --base pipe "$cases/sd"
    diff <(listed k2.safetensors) <(expected kohya)
    try 0 amn convert --to kohya -o k3.safetensors k.safetensors
    cmp k3.safetensors k.safetensors
    try 0 amn convert --to diffusers -o back --base pipe k.safetensors
    diff <(listed back/pytorch_lora_weights.safetensors) <(listed "$cases/sd/pytorch_lora_weights.safetensors")
    try 66 amn convert --to diffusers -o no --base pipe/none k.safetensors
    try 2 amn convert --to diffusers -o no k.safetensors
    grep -q 'underscores in place of dots: give the model that they are of, a pipeline or its file, with --base' err
    try 69 amn convert --to diffusers -o no --base pipe/unet k.safetensors
    grep -q 'module encoder_layers_0_mlp_fc1: the base has no weight of this name' err
    try 69 amn convert --to peft -o no "$cases/sd"
    grep -q 'a directory of PEFT or MLX has one model: --to diffusers writes both' err
    [ ! -e no ]
}

@test "kohya's FLUX to diffusers: joined weights are split" {
    base flux pipe
    try 0 amn convert --to diffusers --base pipe -o d.safetensors "$cases/flux-kohya.safetensors"
    diff <(listed d.safetensors) <(expected flux)
    try 0 amn convert --to peft --base pipe/transformer -o p "$cases/flux-kohya.safetensors"
    jq -e '.r == 2 and .lora_alpha == 2 and (.target_modules | index("to_out.0")) != null and .task_type == null' p/adapter_config.json
    [ "$(listed p/adapter_model.safetensors | sed 's/^base_model.model./transformer./')" = "$(listed d.safetensors)" ]
    try 0 amn convert --to kohya -o k.safetensors p
    try 0 amn convert --to diffusers --base pipe -o d2.safetensors k.safetensors
    diff <(listed d2.safetensors) <(listed d.safetensors)
    try 0 amn convert --to diffusers -o d3.safetensors p
    diff <(listed d3.safetensors) <(listed d.safetensors)
}

@test "ranks and alphas that differ are in the header" {
    base sd pipe
    python3 - "$cases/sd/pytorch_lora_weights.safetensors" <<'PYTHON'
import struct, sys
from modelfile import read, write
tensors = [(k, t[0], t[1], t[2]) for k, t in read(open(sys.argv[1], "rb").read()).items()]
write("plain.safetensors", tensors)
PYTHON
    amn convert -q --to kohya -o k.safetensors plain.safetensors
    python3 - <<'PYTHON'
import struct
from modelfile import read, write
out = []
for i, (k, t) in enumerate(read(open("k.safetensors", "rb").read()).items()):
    out.append((k, t[0], t[1], struct.pack("<f", 1 + i % 5) if k.endswith(".alpha") else t[2]))
write("a.safetensors", out)
PYTHON
    try 0 amn convert --to diffusers -o d.safetensors --base pipe a.safetensors
    grep -q 'lora_adapter_metadata: diffusers reads it from version 0.34 on' err
    try 0 amn convert -q --to kohya -o b.safetensors d.safetensors
    diff <(listed a.safetensors) <(listed b.safetensors)
}

@test "a language model has no names of kohya or diffusers" {
    try 69 amn convert --to kohya -o no.safetensors "$cases/one"
    grep -q 'it is of a language model, for which kohya and diffusers have no names' err
    try 2 amn convert --to kohya -o no.safetensors "$fx/good-plain.safetensors"
    [ ! -e no.safetensors ]
}

@test "several adapters become one, as PEFT joins them" {
    try 0 amn convert -o both/ "$cases/one:0.5" "$cases/two:2"
    python3 - "$cases/expected.json" <<'PYTHON'
import hashlib, json, sys
from modelfile import read
expected = {k: (shape, digest) for k, kind, shape, digest in json.load(open(sys.argv[1]))["joined"]}
got = read(open("both/adapter_model.safetensors", "rb").read())
assert set(got) == set(expected)
for k, t in got.items():
    kind, shape, data = t[0], list(t[1]), t[2]
    want, digest = expected[k]
    if shape != want:                   # PEFT gives all modules one rank, with zeros
        assert "up_proj" in k or "o_proj" in k, k
        rows = [data[i:i + 4 * shape[1]] for i in range(0, len(data), 4 * shape[1])]
        pad = 4 * (want[1] - shape[1])
        data = b"".join(row + bytes(pad) for row in rows) + bytes(4 * want[1] * (want[0] - shape[0]))
    assert hashlib.sha256(data).hexdigest() == digest, k
PYTHON
    jq -e '.lora_alpha as $a | .r as $r | $a == $r and .rank_pattern == .alpha_pattern' both/adapter_config.json
    jq -e '[.rank_pattern[], .r] | unique == [2, 3, 5]' both/adapter_config.json
    "$tests/make/examples" ex
    amn dequantize -q -o plain.safetensors ex/model
    try 0 amn convert -o twice/ ex/lora ex/lora:0.5
    amn convert -q --dtype f32 --adapter ex/lora:1.5 -o 1.safetensors plain.safetensors
    amn convert -q --dtype f32 --adapter twice -o 2.safetensors plain.safetensors
    try 0 amn diff --min-sqnr 120 1.safetensors 2.safetensors
    try 2 amn convert -o o.npz ex/lora ex/lora
    try 2 amn convert ex/lora --adapter ex/lora -o o/
    grep -q 'to join adapters, give all of them without --adapter, as PATH or PATH:SCALE' err
    try 69 amn convert --to mlx -o o/ ex/lora ex/lora
    base sd pipe
    amn convert -q --to kohya -o k.safetensors "$cases/sd"
    try 0 amn convert --to kohya -o kk.safetensors k.safetensors k.safetensors:0.25
    [ "$(listed kk.safetensors | awk '/alpha/ { n += $2 } END { print n }')" = "$(listed k.safetensors | awk '/alpha/ { n += 2 * $2 } END { print n }')" ]
}
