# amn-forget by schemes that cut the columns of a matrix into groups: compressed-tensors, GPTQ, AWQ, ModelOpt, MLX, ComfyUI.
# That the bytes are those of the libraries show test/unit/test_encode_groups.c and test/peers/peer_forget_groups.py.
load helper

schemes='int8-channel int4-group gptq gptq-8bit awq mxfp4 mxfp8 nvfp4 modelopt-mxfp4 modelopt-nvfp4
    mlx-2bit mlx-3bit mlx-4bit mlx-5bit mlx-6bit mlx-8bit comfy-fp8 comfy-int8 comfy-mxfp8 comfy-nvfp4'

# Several blocks of output, and shapes that end within a block, a tile, a group band.
model() {
    "$helpers/weights" model.safetensors a.weight=BF16:1056x1280 b.weight=F16:96x384 c.weight=F32:64x128:ramp \
        d.weight=BF16:32x256:zeros norm.weight=BF16:1x256 e.weight=BF16:160x128:positive
}

forget() {
    amn-forget -q --to safetensors --scheme "$@"
}

# bats test_tags=full
@test "a file, a pipe and any number of threads give the same bytes" {
    model
    for s in $schemes; do
        try 0 forget $s model.safetensors
        mv out one
        cat model.safetensors | try 0 forget $s -
        cmp out one
        for j in 1 4; do
            try 0 forget $s -j $j model.safetensors
            cmp out one
        done
        [ "$(forget $s --size model.safetensors)" -eq "$(wc -c <one)" ]
        [ "$(wc -c <one)" -lt "$(wc -c <model.safetensors)" ]
    done
}

# bats test_tags=full
@test "any piece of the output is made alone" {
    model
    for s in int4-group gptq awq nvfp4 mlx-3bit comfy-int8 comfy-nvfp4; do
        forget $s model.safetensors >one
        n=$(wc -c <one)
        for at in 0 1 1001 $((n / 3)) $((n / 2 + 1)) $((n - 777)); do
            forget $s --range $at-$((at + 776)) model.safetensors >piece
            tail -c +$((at + 1)) one | head -c 777 | cmp - piece
        done
        for i in 1 2 3 4 5 6 7; do forget $s --part $i/7 model.safetensors; done | cmp - one
    done
}

# bats test_tags=full
@test "what was forgotten is remembered, near what it was" {
    model
    for s in $schemes; do
        forget $s model.safetensors >one
        try 0 amn-remember -q --to f32 one
        mv out back
        try 0 amn-remember -q --to f32 - <one
        cmp out back
        python3 - $s <<'PYTHON'
import math, sys
from modelfile import floats, read

want, got = read("model.safetensors"), read("back")
assert set(got) == set(want), sorted(got)
least = {"mlx-2bit": 3, "mlx-3bit": 11, "awq": 16, "mlx-4bit": 16}.get(sys.argv[1], 16)
for name in want:
    assert got[name][1] == want[name][1]
    x, y = floats(want[name]), floats(got[name])
    signal, noise = sum(v * v for v in x), sum((a - b) ** 2 for a, b in zip(x, y))
    one_signed = sys.argv[1].startswith("gptq") and name == "e.weight"      # symmetric codes clip such groups
    assert one_signed or noise <= signal * 10 ** (-least / 10), (name, 10 * math.log10(signal / noise))
PYTHON
    done
}

@test "the tensors that loaders want" {
    "$helpers/weights" m a.weight=BF16:64x512 lm_head.weight=BF16:64x512 up.bias=BF16:64x32
    names() { amn-parse --json out | grep -oE '"(name|dtype)":"[^"]*"|"shape":\[[^]]*\]' | tr -d '"[]' | paste -sd' ' |
        sed 's/name:/\n/g; s/dtype://g; s/shape://g' | grep '^a\.' | sed 's/ *$//'; }
    check() { diff <(names) - ; }
    try 0 forget int4-group --asymmetric m; check <<'END'
a.weight_shape I64 2
a.weight_scale BF16 64,4
a.weight_zero_point I32 8,4
a.weight_packed I32 64,64
END
    try 0 forget int8-channel m; check <<'END'
a.weight_scale BF16 64,1
a.weight I8 64,512
END
    try 0 forget gptq m; check <<'END'
a.g_idx I32 512
a.scales F16 4,64
a.qzeros I32 4,8
a.qweight I32 64,64
END
    try 0 forget awq --group-size 64 m; check <<'END'
a.scales F16 8,64
a.qzeros I32 8,8
a.qweight I32 512,8
END
    try 0 forget nvfp4 m; check <<'END'
a.weight_global_scale F32 1
a.weight_scale F8_E4M3 64,32
a.weight_packed U8 64,256
END
    try 0 forget modelopt-nvfp4 m; check <<'END'
a.weight_scale_2 F32
a.weight_scale F8_E4M3 64,32
a.weight U8 64,256
END
    try 0 forget mlx-3bit m; check <<'END'
a.scales BF16 64,8
a.biases BF16 64,8
a.weight U32 64,48
END
    try 0 forget comfy-nvfp4 m; check <<'END'
a.comfy_quant U8 19
a.weight_scale_2 F32
a.weight_scale F8_E4M3 128,32
a.weight U8 64,256
END
    grep -qaF '{"format": "nvfp4"}' out
    try 0 forget comfy-int8 --convrot m
    grep -qaF '{"format": "int8_tensorwise", "convrot": true, "convrot_groupsize": 256}' out
}

@test "a weight that does not fit stays as it is" {
    "$helpers/weights" m a.weight=BF16:64x128 b.weight=BF16:64x120 c.weight=BF16:44x128
    for s in int4-group gptq awq mxfp4 mlx-4bit; do
        try 0 forget $s m
        grep -qaF '"b.weight":{"dtype":"BF16","shape":[64,120]' out
        case $s in gptq | awq) grep -qaF '"c.weight":{"dtype":"BF16"' out ;; esac
    done
    "$helpers/weights" m b.weight=BF16:64x120
    try 2 forget gptq m
    error_line amn-forget usage
}

@test "options that a scheme has not are refused" {
    "$helpers/weights" m a.weight=BF16:64x512
    for how in 'mxfp4 --asymmetric' 'nvfp4 --group-size 32' 'awq --symmetric' 'int4-group --group-size 48' \
        'gptq --group-size 2048' 'mlx-4bit --group-size 256' 'mlx-4bit --symmetric' 'int8-channel --group-size 64' \
        'comfy-fp8 --convrot' 'gptq --convrot' 'comfy-int8 --convrot --group-size 128'; do
        try 2 forget $how m
        error_line amn-forget usage
        is_empty out
    done
    try 2 amn-convert --to safetensors --convrot m
    error_line amn-convert usage
}

# bats test_tags=full
@test "what is no number is refused, or encoded when asked" {
    for kind in nan infinite; do
        "$helpers/weights" m a.weight=BF16:64x512:$kind
        for s in $schemes; do
            try 65 forget $s m
            error_line amn-forget malformed
            grep -q 'a.weight: element 32767' err
            try 0 forget $s --allow-nonfinite -j 1 m
            mv out one
            try 0 forget $s --allow-nonfinite -j 4 m
            cmp out one
        done
    done
}

@test "values too large for a scale of F16 are refused" {
    "$helpers/weights" m a.weight=F32:64x128:large
    try 0 forget gptq m
    python3 - <<'PYTHON'
import struct
d = bytearray(open("m", "rb").read())
d[-4:] = struct.pack("<f", 1e20)
open("m", "wb").write(d)
PYTHON
    for s in gptq awq; do
        try 69 forget $s m
        error_line amn-forget unsupported
    done
}

@test "a quantized input is remembered on the way" {
    "$helpers/weights" m a.weight=BF16:64x512 b.weight=BF16:128x256
    forget int4-group m >quantized
    amn-remember -q quantized >plain
    for s in gptq awq mlx-4bit comfy-nvfp4; do
        forget $s plain >want
        try 0 forget $s quantized
        cmp out want
        forget $s m >other
        amn-remember -q other >plain.other
        forget awq plain.other >want
        try 0 forget awq other
        cmp out want
    done
}

@test "ComfyUI: sizes that comfy-kitchen pads, byte for byte" {
    plain=$corpus/padded/plain.safetensors
    for s in comfy-mxfp8 comfy-nvfp4; do
        amn-forget -q --pure --to safetensors --scheme $s "$plain" >want
        "$helpers/tensors" <want | diff <("$helpers/tensors" <"$corpus/padded/$s.safetensors") -
        amn-forget -q --pure --to safetensors --scheme $s -j 3 - <"$plain" | cmp - want
        for i in 1 2 3 4 5 6 7; do amn-forget -q --pure --to safetensors --scheme $s --part $i/7 "$plain"; done | cmp - want
        AMN_CPU=scalar amn-forget -q --pure --to safetensors --scheme $s "$plain" | cmp - want
        try 0 amn-forget --pure --to safetensors --scheme $s --test --report report.json "$plain"
        [ "$(jq -s 'map(select(.name) | .elements) | add' report.json)" -eq $((33 * 64 + 64 * 40 + 130 * 72 + 7 * 5)) ]
        try 0 amn-remember want
    done
}

@test "experts in one tensor: fp8 takes them, for others a message says that they stay" {
    python3 - <<'PYTHON'
import math
from modelfile import write
shapes = {"l.0.mlp.experts.gate_up_proj": [2, 64, 64], "l.1.mlp.experts.gate_up_proj": [2, 64, 64], "l.0.q_proj.weight": [64, 128]}
write("m", [(name, "BF16", shape, bytes([0, 63]) * math.prod(shape)) for name, shape in shapes.items()])
PYTHON
    try 0 amn-forget --scheme fp8 m
    grep -qaF '"l.0.mlp.experts.gate_up_proj_scale_inv":{"dtype":"F32","shape":[2,1,1]' out
    for s in nf4 fp8-per-channel nvfp4 gptq mlx-4bit comfy-fp8; do
        try 0 amn-forget --to safetensors --scheme $s m
        grep -q 'warning: l.0.mlp.experts.gate_up_proj and others: experts in one three-dimensional tensor are left' err
        try 2 amn-forget --to safetensors --scheme $s --include '*experts*' m
        grep -q 'l.0.mlp.experts.gate_up_proj: .* supports only matrices' err
        ! grep -q 'include GLOB' err
        try 0 amn-forget --to safetensors --scheme $s --exclude '*experts*' m
        ! grep -q 'three dimensions' err
    done
    try 2 amn-forget --to safetensors --scheme nf4 --include nothing m
}
