#!/usr/bin/env bats
# Image models: what cases-image/check does not cover.
load helper

cases_image=$tests/cases-image

# edit CASE [EDIT...]: ./m.safetensors, a changed copy of a case.
edit() {
    local case=$1
    shift
    "$helpers/st-edit" "$cases_image/$case/model.safetensors" m.safetensors "$@"
}

# refuses STATUS TEXT [OPTION...]: ./m.safetensors, before the first byte.
refuses() {
    local status=$1 text=$2
    shift 2
    try "$status" amn-forget --scheme q8_0 "$@" -o out.gguf m.safetensors || return 1
    grep -qF -e "$text" err || { echo "no '$text' in:"; cat err; return 1; }
    try "$status" amn-convert --to gguf "$@" -o out.gguf m.safetensors || return 1
    grep -qF -e "$text" err || { echo "no '$text' in:"; cat err; return 1; }
    [ ! -e out.gguf ]
}

key() {
    amn-inspect "$1" | jq -rc --arg k "$2" '.metadata[$k]'
}

shapes() {
    amn-parse "$1" | jq -c '[.name, .shape]' | sort
}

@test "a family file for a model that is not known: what leads to it, and a warning for a text that no tensor has" {
    python3 - <<'PYTHON'
from modelfile import write
write("n.safetensors", [("nim.0.a.q.weight", "F32", [256, 256], bytes(4 << 16)), ("nim.0.a.v.weight", "F32", [256, 256], bytes(4 << 16)),
                        ("nim.patch.weight", "F32", [64, 16, 2, 2], bytes(4 << 12))])
PYTHON
    try 0 amn quantize -s q4_k_m -o n.gguf n.safetensors
    grep -q 'for an image model, --family FILE names a family of kind image, which amn help family shows' err
    try 65 amn convert --family-template n.safetensors
    grep -q 'amn help family shows a complete file of kind image' err
    printf '%s\n' 'family nim' 'kind image' 'order 10' 'arch nim' 'detect nim.0.a.q.weight' 'keep nim.patch nim.tpyo' 'f32 .none' 'v .a.v.weight' >nim.family
    try 0 amn quantize -s q4_k_m --family nim.family -f -o n.gguf n.safetensors
    grep -q "no tensor has the text 'nim.tpyo' of the family's keep" err
    grep -q "no tensor has the text '.none' of the family's f32" err
    amn parse n.gguf | jq -rs 'map(.dtype) | join(" ")' | grep -qx 'Q4_K Q6_K F16'
}

@test "a dequantized GGUF has the shapes of the original, and no key about them" {
    edit sdxl 's/model.diffusion_model.//' 's/^(first_stage|conditioner).*/junk/' -junk
    try 0 amn-convert -q --to gguf -o m.gguf m.safetensors
    [ "$(amn-inspect m.gguf | jq '[.metadata | keys[] | select(startswith("comfy."))] | length')" -gt 5 ]
    try 0 amn-remember -q -o back.safetensors m.gguf
    [ "$(shapes m.safetensors)" = "$(shapes back.safetensors)" ]
    amn-inspect --diff m.safetensors back.safetensors | jq -e 'select(.status != null and .status != "equal")' && false
    [ "$(amn-inspect back.safetensors | jq '[.metadata | keys[] | select(startswith("comfy."))] | length')" = 0 ]
    try 0 amn-convert -q -o back.npz m.gguf
    [ "$(amn-parse back.npz | jq -c '[.name, .shape]' | sort)" = "$(shapes m.safetensors)" ]
    remembers m.gguf
    try 0 amn-forget -q --scheme q8_0 -o q.gguf m.safetensors
    try 0 amn-remember -q -o q.safetensors q.gguf
    [ "$(shapes m.safetensors)" = "$(shapes q.safetensors)" ]
}

@test "--keep-shapes keeps convolutions, and is a usage error where nothing would change" {
    edit sdxl
    try 0 amn-convert --to gguf --keep-shapes -o m.gguf m.safetensors
    refute grep -q 'rows of 256' err
    [ "$(key m.gguf comfy.gguf.orig_shape.out.2.weight)" = null ]
    [ "$(amn-parse m.gguf | jq -c 'select(.name == "out.2.weight").shape | length')" = 4 ]
    edit flux
    refuses 2 '--keep-shapes has no effect' --keep-shapes
    try 2 amn-convert --keep-shapes -o out.safetensors m.safetensors
}

@test "--family names a built-in family, a file, or none" {
    edit flux
    try 0 amn-convert --to gguf -o m.gguf m.safetensors
    try 0 amn-convert --to gguf --family flux -o flux.gguf m.safetensors
    cmp m.gguf flux.gguf
    refuses 65 'blocks.0.self_attn.norm_q.weight' --family wan
    try 0 amn-convert --to gguf --family none -o none.gguf m.safetensors
    [ "$(key none.gguf general.architecture)" = null ]
    cat >mine.family <<-'END'
	family mine
	kind   image
	arch   mine
	detect img_in.weight
	keep   img_in. =nothing
	v      attn.proj.weight
	END
    try 0 amn-forget --scheme q4_k_m --family mine.family -o mine.gguf m.safetensors
    grep -qF 'ComfyUI-GGUF refuses architecture mine' err
    [ "$(key mine.gguf general.architecture)" = mine ]
    [ "$(amn-parse mine.gguf | jq -r 'select(.name | endswith("img_attn.proj.weight")).dtype' | sort -u)" = Q6_K ]
    [ "$(amn-parse mine.gguf | jq -r 'select(.name == "img_in.weight").dtype')" = F32 ]
    try 2 amn-convert --to gguf --family flux --no-mtp -o out.gguf m.safetensors
}

@test "a family file of kind image is checked line by line" {
    edit flux
    local bad
    for bad in 'order x' 'kind video' 'class LlamaForCausalLM' 'blocks a = b' 'blocks = q4_k_m:Q5_K' 'blocks a = q4_k_m:Q5' 'rows' \
        'kind image' 'keep a when true'; do
        printf 'family mine\nkind image\narch mine\n%s\ndetect img_in.weight\n' "$bad" >bad.family
        try 65 amn-convert --to gguf --family bad.family -o out.gguf m.safetensors
        grep -qF 'bad.family:4: ' err
    done
    printf 'family mine\ndetect img_in.weight\n' >bad.family
    refuses 65 "expected 'kind image' before this statement" --family bad.family
    printf 'family mine\nkind image\narch mine\n' >bad.family
    refuses 65 "expected the statement 'detect'" --family bad.family
    printf 'family mine\nkind image\ndetect a\n' >bad.family
    refuses 65 "expected the statement 'arch'" --family bad.family
}

@test "names: twice, without a family, of another model" {
    edit sdxl out.2.bias=F16:4:0
    refuses 65 'tensor out.2.bias: the file has it with the prefix model.diffusion_model., too'
    edit flux model.diffusion_model.img_in.weight=F16:4:0
    refuses 65 'tensor img_in.weight: the file has it with the prefix model.diffusion_model., too'
    edit hidream -caption_projection.0.linear.weight
    refuses 69 'the nearest is hidream, which has a tensor caption_projection.0.linear.weight'
    edit flux 's/^/net2./'
    refuses 69 --family
    "$helpers/st-edit" "$cases_image/wan/model.safetensors" m.safetensors 's/^/model.diffusion_model.layer./'
    refuses 69 'an image model that no family knows'
    edit sd3
    try 0 amn-convert --to gguf -o m.gguf m.safetensors
    grep -q 'left out: 4 tensors of other models' err
    edit wan 's/^/model.diffusion_model./'
    try 0 amn-convert --to gguf -o prefixed.gguf m.safetensors
    edit wan
    try 0 amn-convert --to gguf -o plain.gguf m.safetensors
    cmp prefixed.gguf plain.gguf
    edit wan 's/^/model.model./'
    try 0 amn-convert --to gguf -o prefixed.gguf m.safetensors
    cmp prefixed.gguf plain.gguf
}

@test "--dry-run says which rule gave a type" {
    amn-forget --dry-run --scheme q4_k_s "$cases_image/ltxv/model.safetensors" | jq -r 'select(.encoder) | [.dtype, .why // ""] | join(" ")' |
        sort | uniq -c | sed 's/^ *//' >got
    grep -qx '4 Q5_K among the first of group v' got
    grep -qx '4 Q5_K group down' got
    grep -qE '^[0-9]+ Q4_K $' got
    amn-forget --dry-run --scheme q4_k_m --pure "$cases_image/ltxv/model.safetensors" | jq -es 'map(select(.encoder)) | length > 0 and all(.why == null)'
}

@test "amn inspect names the family, its loaders, and what else is in the file" {
    local case
    [ "$(amn-inspect "$cases_image/sdxl/model.safetensors" | jq -c '.image | [.family, .loaders, .other_tensors]')" = '["sdxl",["ComfyUI-GGUF"],4]' ]
    [ "$(amn-inspect "$cases_image/flux-gguf/model.gguf" | jq -c '.image | [.family, (.loaders | length), .refusal]')" = '["flux",3,null]' ]
    amn-inspect --human "$cases_image/sdxl/model.safetensors" | grep -q '^Also there  *4 tensors of other models'
    [ "$(amn-inspect "$fx/good-plain.safetensors" | jq -c .image)" = null ]
    for case in wan sd3 refuse-sd3-diffusers; do
        amn-inspect "$cases_image/$case/model.safetensors"
    done | jq -c '.image | [.family, (.refusal // "" | contains("diffusers"))]' >got
    printf '["wan",false]\n["sd3",false]\n[null,true]\n' | cmp - got
}

@test "numbers that F16 holds become F16, others are refused" {
    edit flux extra=I64:3:2048 real=F64:2,2:0.5
    try 0 amn-convert --to gguf -o m.gguf m.safetensors
    [ "$(amn-parse m.gguf | jq -rc 'select(.name == "extra" or .name == "real") | [.name, .dtype, .shape]' | tr '\n' ' ')" \
        = '["extra","F16",[3]] ["real","F16",[2,2]] ' ]
    [ "$(tail -c 32 m.gguf | od -An -tx2 -N4 | tr -d ' ')" = 38003800 ]
    both 0 m.safetensors amn-convert --to gguf
    cmp out.file out.pipe
    edit flux extra=I64:3:2049
    refuses 69 'tensor extra: element 0 is 2049, which F16 cannot hold'
    edit flux extra=F64:1:0.1
    refuses 69 'tensor extra: element 0 is 0.1'
    edit flux deep=F32:1,1,1,1,1,1:0
    refuses 69 'tensor deep: 6 dimensions'
}

@test "types that loaders read slowly need --pure, and are told" {
    edit flux
    try 69 amn-forget --scheme iq2_s -o out.gguf m.safetensors
    grep -qF -e --pure err
    try 0 amn-forget --scheme iq3_s --pure -o out.gguf m.safetensors
    grep -qF 'weights written as IQ3_S' err
    try 0 amn-forget -f --scheme q4_k_m --tensor-type 'img_mlp=mxfp4' -o out.gguf m.safetensors
    grep -qF 'weights written as MXFP4' err
    edit flux narrow.weight=F32:8,160:1
    try 0 amn-forget -f --scheme q4_k_m -o out.gguf m.safetensors
    grep -qF 'written as F16 instead of Q4_K' err
    grep -qF '8 x 160' err
    try 0 amn-forget -f --scheme q4_0 -o out.gguf m.safetensors
    refute grep -q 'instead of' err
}

@test "GGUF files without architecture, and those of other forks, are image models too" {
    edit flux
    try 0 amn-convert -q --to gguf -o m.gguf m.safetensors
    try 0 amn-forget -q --scheme q4_k_m -o want.gguf m.gguf
    for arch in --gguf-unset=general.architecture --gguf-kv=general.architecture=pig --gguf-kv=general.architecture=cow; do
        try 0 amn-convert -qf --to gguf --family none "$arch" -o other.gguf m.gguf
        try 0 amn-forget -qf --scheme q4_k_m -o got.gguf other.gguf
        [ "$(amn-parse got.gguf | jq -c '[.name, .dtype, .offset]' | sort)" = "$(amn-parse want.gguf | jq -c '[.name, .dtype, .offset]' | sort)" ] \
            || [ "$arch" = --gguf-unset=general.architecture ]
        [ "$(key got.gguf general.architecture)" = flux ]
        [ "$(key got.gguf general.file_type)" = 15 ]
    done
}

@test "a quantized GGUF file is dequantized, and says what it is then" {
    edit flux
    try 0 amn-forget -q --scheme q8_0 -o q8.gguf m.safetensors
    try 0 amn-convert -q -o copy.gguf q8.gguf
    cmp q8.gguf copy.gguf
    try 0 amn-convert -q --dequantize -o plain.gguf q8.gguf
    [ "$(key plain.gguf general.file_type)" = 32 ]
    try 0 amn-forget --scheme q4_0 -o q4.gguf q8.gguf
    grep -q 'source is already quantized (Q8_0)' err
    [ "$(key q4.gguf general.file_type)" = 2 ]
    [ "$(key q4.gguf general.architecture)" = flux ]
}

@test "ranges and parts of an image model are those of the file" {
    local case i
    for case in sdxl wan; do
        edit "$case"
        try 0 amn-forget -qf --scheme q4_k_m -o whole.gguf m.safetensors
        for i in 1 2 3; do
            amn-forget -q --scheme q4_k_m --part "$i/3" m.safetensors
        done >joined.gguf
        cmp whole.gguf joined.gguf
        amn-forget -q --scheme q4_k_m --range 1000-2999 m.safetensors | cmp - <(tail -c +1001 whole.gguf | head -c 2000)
    done
}

@test "a directory of an image model keeps the names, which are those of the checkpoint" {
    edit flux
    try 0 amn-convert -q --to gguf -o m.gguf m.safetensors
    try 0 amn-dequantize -q -o d/ m.gguf
    try 0 amn-dequantize -q -o file.safetensors m.gguf
    cmp file.safetensors d/model.safetensors
    edit wan
    try 0 amn-forget -qf --scheme q8_0 -o m.gguf m.safetensors
    try 0 amn-convert -q --to hf -o hf/ m.gguf
    [ "$(shapes hf/model.safetensors)" = "$(shapes m.safetensors)" ]
}

@test "the five commands of the manual's section IMAGE AND VIDEO MODELS" {
    "$tests/make/examples" .
    cp "$cases_image/sdxl/model.safetensors" sd_xl_base_1.0.safetensors
    amn-forget -q --scheme comfy-fp8 --include '*attn.[qkvo].weight' -o wan2.2_t2v_14B_fp8_scaled.safetensors "$cases_image/wan/model.safetensors"
    [ "$(amn-inspect wan2.2_t2v_14B_fp8_scaled.safetensors | jq .quantized)" -gt 10 ]
    awk '/^\.Sh / { inside = $0 == ".Sh IMAGE AND VIDEO MODELS" } inside && /^amn-/' "$tests/../man/amn-convert.1" >commands
    [ "$(wc -l <commands)" -eq 5 ]
    while read -r command; do
        try 0 $command
    done <commands
    for file in flux1-dev-Q4_K_M:flux flux1-dev-BF16:flux sdxl-Q8_0:sdxl wan:wan styled:flux; do
        [ "$(key ${file%:*}.gguf general.architecture)" = ${file#*:} ]
    done
}

@test "a target size keeps what a mix keeps; a file and a split model resume; the name of the file does not matter" {
    "$tests/make/examples" .
    cp flux1-dev.safetensors download.bin
    try 0 amn-forget -q --target-size 2000K -o small.gguf download.bin
    [ "$(wc -c <small.gguf)" -le $((2000 * 1024)) ]
    amn-forget -q --scheme q4_k_s -o mix.gguf flux1-dev.safetensors
    plain() { amn-parse "$1" | jq -r 'select(.dtype == "BF16" or .dtype == "F32") | .name' | sort; }
    [ "$(plain small.gguf)" = "$(plain mix.gguf)" ]
    amn-forget -q --scheme q4_k_s download.bin | cmp - mix.gguf
    cp flux1-dev.safetensors x.gguf
    amn-forget -q --scheme q4_k_s x.gguf | cmp - mix.gguf
    head -c 500000 mix.gguf >part.gguf
    try 0 amn-forget -q --scheme q4_k_s --resume -o part.gguf flux1-dev.safetensors
    cmp part.gguf mix.gguf
    try 0 amn-forget -q --scheme q4_k_s --shard-size 500K -o split.gguf flux1-dev.safetensors
    amn-convert -q --to gguf split-00001-of-*.gguf | amn-inspect --diff - mix.gguf >/dev/null
}
