#!/usr/bin/env bats
# Schemes that are recognized by their tensors, markers or configuration: refusals, with their statuses and messages.
# The cases are those of helper.bash.
load helper

@test "ComfyUI: markers, companions and shapes of its formats" {
    cases comfy- 80
}

@test "SDNQ: types, modules and shapes of its configuration" {
    cases sdnq- 20
}

@test "rotated weights: refused, whatever declares them" {
    cases rotated- 13
}

@test "Quark UINT8: refused by name" {
    cases quark- 10
}

@test "HQQ: shapes and packings given by small tensors" {
    cases hqq- 20
}

@test "torchao: types and blocks given by the metadata" {
    cases torchao- 25
}

@test "decoded torchao weights lose their metadata" {
    try 0 amn-remember "$fx/schemes/torchao-rows.safetensors"
    refute grep -qE 'Int8Tensor|tensor_names' out
    try 0 amn-remember "$fx/schemes/torchao-other-name.safetensors"
    "$helpers/tensors" <out | grep -q '^p.experts.w1 BF16 \[2, 6, 32\] '
    try 0 amn-remember "$fx/schemes/torchao-plain.safetensors"
    try 0 amn-parse "$fx/schemes/torchao-experts.safetensors"
    grep -q '"scheme":"torchao","scheme_label":"torchao (Int8Tensor, blocks of 1x16)"' out
}

@test "MLX without config.json: refused if the shapes are ambiguous, decoded if they are not" {
    model=$corpus/safetensors-good/mlx-4bit-g64-bf16
    try 0 amn-remember "$model"
    is_empty err
    mv out expected
    try 69 amn-remember --config none "$model"
    grep -qF 'MLX (4-bit in groups of 64 or 8-bit in groups of 32 or 2-bit in groups of 128) cannot be decoded; give config.json' err
    grep -qF -- '--input-scheme mlx-4bit' err
    try 0 amn-remember --config none --input-scheme mlx-4bit "$model"
    cmp out expected
    is_empty err
    amn-inspect --config none "$model" | grep -qF '"scheme_label":"MLX (4-bit in groups of 64 or 8-bit in groups of 32 or 2'
    try 2 amn-remember --config none --input-scheme mlx-5bit "$model"
    try 69 amn-forget --config none --scheme q8_0 "$model"
    try 0 amn-forget --config none --scheme q8_0 --pure --input-scheme mlx-4bit "$model"
    try 0 amn-remember "$corpus/safetensors-good/peer-mlx-by-shape.safetensors"
    is_empty err
}

@test "MLX: bits and groups in the metadata of a file, by amn-forget for each module, by mflux for all" {
    "$helpers/weights" w a.weight=BF16:32x256 b.weight=BF16:32x256 c.weight=BF16:32x256
    for s in "mlx-4bit --group-size 32" mlx-2bit "mlx-8bit --group-size 128" "mlx-3bit --tensor-type ^b=mlx-6bit"; do
        # shellcheck disable=SC2086
        amn-forget -q --to safetensors --scheme $s w >file
        rm -rf d
        # shellcheck disable=SC2086
        amn-forget -q --scheme $s -o d/ w
        amn-remember -q d | "$helpers/tensors" >want
        try 0 amn-remember file
        is_empty err
        "$helpers/tensors" <out | diff want -
        amn-remember -q - <file | cmp - out
        try 0 amn-convert --keep-quantized -o kept.safetensors file
        amn-remember -q kept.safetensors | "$helpers/tensors" | diff want -
        ! grep -q quantization_config out
    done
    amn-forget -q --to safetensors --scheme mlx-8bit w >file
    try 0 amn-convert -q --keep-quantized --no-metadata -o bare.safetensors file
    try 69 amn-remember bare.safetensors
    amn-convert -q --keep-quantized --no-metadata --metadata quantization_level=8 -o level.safetensors file
    amn-remember -q level.safetensors | cmp - <(amn-remember -q file)
    for text in '{"bits": 4' '[]' '{"bits": 1e99, "group_size": {}}' '{"bits": 5, "group_size": 64}'; do
        amn-convert -q --keep-quantized --no-metadata --metadata "quantization_config=$text" -o odd.safetensors file
        try 69 amn-remember odd.safetensors
    done
}

# bats test_tags=full
@test "MLX, HQQ, quanto, EETQ, torchao: scales in another shard, every set of kernels, other types" {
    for f in "$corpus"/safetensors-good/peer-*.safetensors "$corpus"/safetensors-good/peer-*/model.safetensors \
        "$fx/good-groups-wide.safetensors"; do
        model=$f
        [ "${f##*/}" != model.safetensors ] || model=${f%/*}
        rm -rf shards
        "$helpers/shards" "$f" shards
        for to in bf16 f32; do
            amn-remember -q --to $to "$model" | "$helpers/tensors" >expected
            amn-remember -q --to $to -j 2 shards | "$helpers/tensors" | cmp - expected || { echo "$f"; return 1; }
            AMN_CPU=scalar amn-remember -q --to $to -j 1 shards | "$helpers/tensors" | cmp - expected ||
                { echo "$f, scalar"; return 1; }
        done
    done
}

@test "quanto without a bias: refused if config.json does not give the rows, or [groups, group] on request" {
    model=$corpus/safetensors-good/peer-quanto-sizes
    try 0 amn-remember "$model"
    is_empty err
    try 69 amn-remember --config none "$model"
    grep -qF 'number of groups per row not stored' err
    grep -qF -- '--config' err
    grep -qF -- '--input-scheme quanto' err
    try 0 amn-remember --config none --input-scheme quanto "$model"
    [ "$(wc -l <err)" -eq 1 ]
    grep -q 'warning: quanto weights without a bias are written as \[groups, group\]' err
    "$helpers/tensors" <out | grep -q 'q_proj.weight BF16 \[10, 128\]'
    try 0 amn-remember "$corpus/safetensors-good/peer-quanto-no-bias.safetensors"
    is_empty err
    try 0 amn-remember "$corpus/safetensors-good/peer-quanto-bits.safetensors"
    is_empty err
}

@test "reports do not read the small tensors of HQQ, so its weights are vague to them" {
    try 0 amn-inspect "$corpus/safetensors-good/peer-hqq-rows.safetensors"
    grep -q '"scheme_label":"HQQ"' out
    try 0 amn-parse "$corpus/safetensors-good/peer-mlx-floats.safetensors"
    grep -q '"scheme_label":"MLX (nvfp4)"' out
}

@test "4- and 6-bit floats, ternary weights: shapes, companions and configurations" {
    cases fp4- 30
}

@test "unsupported schemes: 69, by name, nothing left" {
    cases named- 30
}

# bats test_tags=broken
@test "wrong shapes, types and companions of these: 65" {
    cases broken- 20
}

@test "unclaimed names that quantizers use pass" {
    cases plain- 1
}

@test "integers that are no weights of layers pass, with a warning if a word for weights is in the name" {
    "$helpers/weights" floats m.norm.weight=BF16:4x8
    "$helpers/st-edit" floats plain m.position_ids=I64:1,64:1 m.relative_position_index=I64:16,16:1 m.attn.bias=U8:1,1,8,8:1 m.masked_bias=I32::1 \
        m.tid2eid=I32:32,4:1 m.num_batches_tracked=I64::1 m.vocab=U8:100:65 m.conv.weight_shape=I32:2:4
    try 0 amn-remember plain
    is_empty err
    "$helpers/same-tensors" plain out
    "$helpers/st-edit" floats named m.tokens.weight=I32:32,4:1 m.attn_weight_mask=U8:8,8:1 m.layers.1.weight=U8:4,4:1
    try 0 amn-remember named
    grep -q 'warning: integers that no known scheme explains, copied unchanged: m\..* and 2 more' err
    "$helpers/same-tensors" named out
    for name in m.attn.q_proj.weight m.to_out.0.weight m.attn.in_proj_weight m.experts.down_proj; do
        "$helpers/st-edit" floats codes $name=I8:32,4:1
        try 69 amn-remember codes
        grep -q "tensor $name: unknown (I8, without a scale) cannot be decoded" err
    done
    # Copies have it, and so has an output for which it is not chosen.
    try 0 amn-convert --to safetensors codes
    "$helpers/same-tensors" codes out
    try 0 amn-remember --exclude '*experts*' codes
    "$helpers/same-tensors" codes out
}

@test "a decoded ComfyUI weight loses its marker and the metadata that named it" {
    both 0 "$fx/schemes/comfy-layer-name-only.safetensors" amn-remember
    refute grep -q _quantization_metadata out.file
    try 0 amn-remember "$fx/schemes/comfy-fp8-experts.safetensors"
    refute grep -q comfy_quant out
}

@test "reports identify a ComfyUI weight by its tensors, without reading its marker" {
    try 0 amn-parse "$fx/schemes/comfy-marker-twice.safetensors"
    grep -q '"scheme":"comfy-fp8"' out
    try 0 amn-parse "$fx/schemes/comfy-params-and-top.safetensors"
    grep -q '"scheme_label":"ComfyUI int8_tensorwise (8-bit, per-channel scale)"' out
    try 0 amn-parse "$fx/schemes/comfy-layer-unknown.safetensors"
    grep -q '"scheme":"comfy","scheme_label":"ComfyUI (float3_magic)"' out
}

# as_config METHOD NAME SCHEME: --scheme gives the same bytes as a config.json with that method.
as_config() {
    echo "{\"quantization_config\": {\"quant_method\": \"$1\"}}" >config
    try 0 amn-remember --config config "$fx/told/$2.safetensors" && mv out expected &&
        try 0 amn-remember --input-scheme "$3" "$fx/told/$2.safetensors" && cmp out expected
}

# refused STATUS NAME TEXT [OPTION...]: with that text, and without output.
refused() {
    local status=$1 file=$fx/told/$2.safetensors text=$3
    shift 3
    try "$status" amn-remember "$@" "$file" || return 1
    is_empty out
    grep -qF -e "$text" err || { cat err; return 1; }
}

@test "--input-scheme gives the order of ambiguous MXFP8 scales" {
    refused 69 mxfp8-either '--input-scheme mxfp8 or comfy-mxfp8'
    as_config modelopt mxfp8-either mxfp8
    mv out rows
    try 0 amn-remember "$fx/told/mxfp8-marked.safetensors"
    mv out tiles
    both 0 "$fx/told/mxfp8-either.safetensors" amn-remember --input-scheme=comfy-mxfp8
    cmp out.file tiles
    cmp out.pipe tiles
    refute cmp -s rows tiles
    # It takes precedence over config.json.
    try 0 amn-remember --config config --input-scheme comfy-mxfp8 "$fx/told/mxfp8-either.safetensors"
    cmp out tiles
    amn-inspect --input-scheme comfy-mxfp8 "$fx/told/mxfp8-either.safetensors" | grep -q 'in tiles'
    amn-parse --input-scheme mxfp8 "$fx/told/mxfp8-either.safetensors" | grep -q '1x32 scale"'
}

@test "--input-scheme gives ComfyUI's order if the shape allows it, and is refused if it does not" {
    refused 69 mxfp8-tiles '--input-scheme comfy-mxfp8'
    try 0 amn-remember --input-scheme comfy-mxfp8 "$fx/told/mxfp8-tiles.safetensors"
    refused 65 mxfp8-tiles p.weight_scale --input-scheme mxfp8
    refused 65 mxfp8-by-rows p.weight_scale --input-scheme comfy-mxfp8
    try 0 amn-remember --input-scheme mxfp8 "$fx/told/mxfp8-by-rows.safetensors"
    echo '{"quantization_config": {"quant_method": "modelopt"}}' >config
    refused 65 mxfp8-tiles config.json --config config
    refused 65 nvfp4-tiles '--input-scheme is modelopt-nvfp4' --input-scheme modelopt-nvfp4
}

@test "--input-scheme gives the order of ambiguous NVFP4 scales" {
    refused 69 nvfp4-either '--input-scheme modelopt-nvfp4 or comfy-nvfp4'
    for method in modelopt compressed-tensors quark fp8; do
        as_config $method nvfp4-either modelopt-nvfp4
    done
    mv out rows
    try 0 amn-remember "$fx/told/nvfp4-marked.safetensors"
    "$helpers/tensors" <out >tiles
    both 0 "$fx/told/nvfp4-either.safetensors" amn-remember --input-scheme=comfy-nvfp4
    cmp out.file out.pipe
    "$helpers/tensors" <out.file | cmp - tiles
    refute cmp -s rows out.file
    refused 69 nvfp4-tiles '--input-scheme comfy-nvfp4'
    try 0 amn-remember --input-scheme comfy-nvfp4 "$fx/told/nvfp4-tiles.safetensors"
    refused 65 nvfp4-by-rows '--input-scheme is comfy-nvfp4' --input-scheme comfy-nvfp4
    try 0 amn-remember "$fx/told/nvfp4-by-rows.safetensors"
}

@test "--input-scheme selects FBGEMM's columns, and a transposed scale of SDNQ" {
    refused 69 fbgemm '--input-scheme fp8-fbgemm or fp8'
    as_config fbgemm_fp8 fbgemm fp8-fbgemm
    try 0 amn-remember --input-scheme fp8 "$fx/told/fbgemm.safetensors"
    refute cmp -s out expected
    refused 69 turned '--input-scheme fp8'
    as_config fp8 turned fp8
}

@test "--input-scheme: unknown names, and schemes that no weight has" {
    for tool in remember inspect parse; do
        try 2 amn-$tool --input-scheme float3 "$fx/told/plain.safetensors"
        grep -q "^amn-$tool: usage: unknown scheme 'float3': expected comfy, .*gptq, .*mxfp8, " err
        is_empty out
        try 2 amn-$tool --input-scheme mxfp8 "$fx/told/plain.safetensors"
        grep -q "^amn-$tool: usage: --input-scheme mxfp8: " err
        is_empty out
    done
    try 2 amn-remember --input-scheme float3 -o new missing.safetensors       # before the input is opened
    refused 2 nvfp4-either '--input-scheme mxfp8' --input-scheme mxfp8
    try 2 amn-remember --input-scheme mxfp8 "$fx/good-fp8-block-f32.safetensors"
    try 0 amn-remember --input-scheme fp8 "$fx/good-fp8-block-f32.safetensors"
}
