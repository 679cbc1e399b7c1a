#!/usr/bin/env bats
# bats file_tags=full
# amn-convert, from every container to every container: file and pipe, plain and compressed. The libraries of the formats read
# the outputs in test/peers/peer_matrix.py.
load helper

# model FILE: a tensor of each type that all containers support, one of several blocks, up to four dimensions.
model() {
    python3 - "$1" <<'PYTHON'
import math, random, sys
from modelfile import write
rnd = random.Random(12)
shapes = [("I8", 1, [5]), ("I16", 2, [3, 4]), ("I32", 4, [1, 7]), ("I64", 8, [2, 3, 4]), ("F16", 2, [3, 1, 5, 2]),
          ("BF16", 2, [32, 33]), ("F32", 4, [500, 700]), ("F64", 8, [6])]
write(sys.argv[1], [("é.%d.%s" % (9 - i, dtype), dtype, shape, rnd.randbytes(unit * math.prod(shape)))
                    for i, (dtype, unit, shape) in enumerate(shapes)], {"who": "me"})
PYTHON
}

# The inputs of the matrix, in the folder in/: a plain one and quantized ones of each container.
inputs() {
    mkdir in shards
    model in/plain.safetensors
    cp "$fx/good-fp8-block-bf16.safetensors" in/fp8.safetensors
    cp "$fx/good-fp8-late.safetensors" in/late.safetensors
    cp "$corpus/safetensors-good/bnb-nf4-bs64-bfloat16-dq.safetensors" in/nf4.safetensors
    cp "$corpus/safetensors-good/gptq-4bit-asym-shuffled.safetensors" in/gptq.safetensors
    cp "$corpus/safetensors-good/awq-gemm.safetensors" in/awq.safetensors
    amn-convert -o in/plain.gguf in/plain.safetensors
    cp "$fx/good-gguf.gguf" "$fx/good-gguf-k.gguf" "$corpus/gguf-good/v3-big-endian.gguf" in
    "$helpers/checkpoint" in/zip.pth views
    "$helpers/legacy-checkpoint" legacy
    cp legacy/good-order.pt in/legacy.pth
    cp legacy/good-tar.pt in/tar.pt
    amn-convert -o in/plain.npz in/plain.safetensors
    amn-convert --tensor é.3.F32 -o in/one.npy in/plain.safetensors
    rm in/*.expected
    amn-convert -o shards/plain/ --shard-size 100K in/plain.safetensors
    cp -r "$fx/good-sharded" shards/fp8
    rm shards/fp8/config.json               # has no architectures, so it cannot go to GGUF
    mkdir shards/gguf
    amn-convert -o shards/gguf/m.gguf --shard-size 100K in/plain.safetensors
    cp "$corpus"/gguf-good/split-0000?-of-00003.gguf shards/gguf
}

# packed FILE: compresses it with each program that the machine has, gzip at least and under a sanitizer alone; prints
# the names.
packed() {
    local p
    for p in gzip zstd xz; do
        [ $p = gzip ] || { command -v $p >/dev/null && ! is_sanitized; } || continue
        $p -c <"$1" >"$1.$p"
        echo "$1.$p"
    done
}

# converts INPUT FORMAT OPTION...: of the announced length, and the same through a pipe; kept as out.file.
converts() {
    local in=$1 to=$2
    shift 2
    try 0 amn-convert -q --to "$to" "$@" "$in" </dev/null
    mv out out.file
    if [ -f "$in" ] && [[ $in != *-of-* ]]; then
        cat "$in" | try 0 amn-convert -q --to "$to" "$@" -
        cmp out out.file || { echo "$in to $to: the pipe differs"; return 1; }
    fi
    [ "$(amn-convert -q --to "$to" "$@" --size "$in")" -eq "$(stat -c %s out.file)" ] && return
    echo "$in to $to: --size"
    return 1
}

# reaches INPUT: converts to every container; each, read back, has the tensors that amn-remember makes from the input.
reaches() {
    local in=$1 to ones
    try 0 amn-remember -q --order name -o remembered.safetensors "$in"
    for to in safetensors gguf npz; do
        converts "$in" $to --dequantize
        [ "$(amn-inspect out.file | jq -r '.format | ascii_downcase')" = $to ] || { amn-inspect out.file; return 1; }
        ones=
        [ $to != gguf ] || ones=ones            # GGUF has no scalars
        cp out.file all.$to
        try 0 amn-convert -q --to safetensors --order name -o back out.file
        "$helpers/same-tensors" back remembered.safetensors $ones || { echo "in $in to $to"; return 1; }
        if [ $to != gguf ]; then                # the same order, from every container
            cmp <(data back) <(data remembered.safetensors) || { echo "in $in to $to"; return 1; }
        fi
    done
    one_of "$in"
}

data() { tail -c +$(($(od -An -tu8 -N8 "$1") + 9)) "$1"; }

# one_of INPUT: its largest tensor as NPY and raw.
one_of() {
    local in=$1 name
    name=$(amn-parse remembered.safetensors | jq -rs 'max_by(.nbytes).name')
    amn-remember -q --only "$name" -o one.safetensors "$in"
    converts "$in" raw --tensor "$name"
    cmp out.file <(data one.safetensors) || { echo "in $in to raw: $name"; return 1; }
    mv out.file raw
    converts "$in" npy --tensor "$name"
    tail -c "$(stat -c %s raw)" out.file | cmp - raw
    [ $(($(stat -c %s out.file) - $(stat -c %s raw))) -eq $(($(od -An -tu2 -j8 -N2 out.file) + 10)) ]
    mv out.file one.npy
    converts one.npy raw
    cmp out.file raw
}

@test "every container, plain and compressed, by name and through a pipe, to every container" {
    inputs
    n=0
    for in in in/*; do
        reaches "$in"
        for f in $(packed "$in"); do
            for to in safetensors gguf npz; do
                converts "$f" $to --dequantize
                cmp out.file all.$to || { echo "$f to $to"; return 1; }
            done
            n=$((n + 1))
        done
    done
    [ $n -ge 15 ]
}

@test "models of several files to every container, and back to several" {
    inputs
    for in in shards/plain shards/fp8 shards/gguf/m-00001-of-*.gguf shards/gguf/split-00001-of-00003.gguf; do
        reaches "$in"
        names=()
        case $in in *.gguf) names=(--names gguf) ;; esac
        amn-convert -q --dequantize "${names[@]}" -o again/ --shard-size 4K "$in"
        try 0 amn-convert -q --order name -o back.safetensors again
        "$helpers/same-tensors" back.safetensors remembered.safetensors
        rm -r again
        amn-convert -q --dequantize -o again.gguf --shard-size 4K "$in"
        try 0 amn-convert -q --to safetensors --order name -o back again-00001-of-*.gguf
        "$helpers/same-tensors" back remembered.safetensors ones
        rm again-*.gguf
    done
    amn-convert -q -o back.safetensors shards/plain
    "$helpers/same-tensors" back.safetensors in/plain.safetensors
    for f in shards/gguf/m-*; do gzip $f; done          # compressed parts are not a set: the message lists them
    got=0
    amn-convert -q --to safetensors shards/gguf/m-00001-of-*.gguf.gz >out 2>err || got=$?
    case $got in 65 | 66 | 69) is_empty out ;; *) echo "status $got"; cat err; return 1 ;; esac
}

@test "one --dtype for all floats gives the same values in every container" {
    inputs
    for in in in/plain.safetensors in/fp8.safetensors in/nf4.safetensors in/good-gguf-k.gguf in/zip.pth in/plain.npz; do
        for dtype in bf16 f16 f32; do
            converts "$in" safetensors --dtype $dtype
            mv out.file want
            for to in gguf npz; do
                converts "$in" $to --dtype $dtype
                try 0 amn-convert -q --to safetensors -o back out.file
                "$helpers/same-tensors" back want ones || { echo "in $in to $to, $dtype"; return 1; }
            done
        done
    done
}

# forgets INPUT SCHEME: amn-convert makes the same output as amn-forget, kept as want, and refuses what it refuses.
forgets() {
    local in=$1 scheme=$2 got=0 way
    amn-forget -q --scheme "$scheme" -o want "$in" 2>why || got=$?
    case $got in
    0) ;;
    2) grep -q 'no weight to quantize as' why && : >want ;;
    *) cat why; return 1 ;;
    esac
    try $got amn-convert -q --to "$scheme" "$in"
    cmp out want && cmp <(cut -d: -f 2- err) <(cut -d: -f 2- why) || { echo "$in to $scheme"; return 1; }
    cat "$in" | try $got amn-convert -q --to "$scheme" -
    cmp out want || { echo "$in to $scheme, from a pipe"; return 1; }
    [ $got -eq 0 ] || return 0
    [ "$(amn-convert -q --to "$scheme" --size "$in")" -eq "$(stat -c %s want)" ]
    try 0 amn-remember -q -o back want
}

@test "a target that quantizes equals amn-forget with this scheme" {
    inputs
    "$helpers/weights" in/weights.safetensors a.weight=BF16:256x512 b.weight=F16:128x256 \
        c.weight=F32:64x256 norm.weight=F32:1x256
    amn-convert -o in/weights.gguf in/weights.safetensors
    amn-convert -o in/weights.npz in/weights.safetensors
    for scheme in q8_0 q4_k q4_k_m iq4_xs nf4 nf4-double-quant int8 fp8 fp8-per-channel int8-channel int4-group \
        mxfp4 nvfp4 mlx-4bit; do
        for in in in/good-gguf-k.gguf in/gptq.safetensors in/zip.pth in/weights.*; do
            forgets "$in" $scheme
            case $in in in/weights.*)           # has matrices of all schemes
                [ "$(stat -c %s want)" -lt "$(($(stat -c %s back) * 3 / 4))" ] ||
                    { echo "$in to $scheme"; return 1; } ;;
            esac
        done
    done
    try 2 amn-convert --to q9_z in/plain.safetensors
    is_empty out
}

# bad FILE NAME DTYPE SHAPE: the good model plus one tensor.
bad() {
    python3 - "$@" <<'PYTHON'
import json, math, sys
from modelfile import BITS, write
path, name, dtype, shape = sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
write(path, [("good", "F32", [300000], 1200000), (name, dtype, shape, math.prod(shape) * BITS.get(dtype, 8) // 8)])
PYTHON
}

# refused TO FILE TEXT...: 69 before the first byte and without a file, by name and through a pipe, with all texts.
refused() {
    local to=$1 f=$2 text way
    shift 2
    for way in file pipe; do
        if [ $way = pipe ]; then
            [ -f "$f" ] || continue
            cat "$f" | try 69 amn-convert --to "$to" -
        else
            try 69 amn-convert --to "$to" "$f"
        fi
        is_empty out
        error_line amn-convert unsupported
        for text; do grep -qF -e "$text" err || { echo "no '$text' of $f to $to in:"; cat err; return 1; }; done
    done
    try 69 amn-convert --size --to "$to" "$f"
    try 69 amn-convert -o "new.$to" "$f"
    refute [ -e "new.$to" ]
    # a tensor that is not written need not fit
    try 0 amn-convert -q --to "$to" --only good "$f"
}

# everywhere TO TEXT...: same for the file bad, compressed, as a directory, and as an archive if that can hold it.
everywhere() {
    local to=$1
    shift
    refused "$to" bad "$@"
    gzip -c <bad >bad.gz
    refused "$to" bad.gz "$@"
    rm -rf several
    amn-convert -q -o several/ --shard-size 1M bad
    refused "$to" several "$@"
    if [ $to = gguf ] && amn-convert -q -o bad.npz bad 2>/dev/null; then
        refused gguf bad.npz "$@"
        rm bad.npz
    fi
}

@test "tensors that GGUF and NPZ cannot hold: 69 before the first byte, with the tensor and the limit" {
    for type in F4 F6_E2M3 F8_E8M0; do
        for to in gguf npz; do
            bad bad odd.one $type '[8]'
            everywhere $to 'tensor odd.one' "has no type for $type"
        done
    done
    for type in BOOL U8 U16 U32 U64 C64; do
        bad bad odd.one $type '[8]'
        everywhere gguf 'tensor odd.one' "has no type for $type"
    done
    bad bad odd.one F32 '[1, 1, 2, 1, 3]'
    everywhere gguf 'tensor odd.one' '5 dimensions' "GGUF's limit of 4"
    name=$(printf 'n%.0s' $(seq 64))
    bad bad "$name" F32 '[1]'
    everywhere gguf 'tensor nnnnnnnn' 'limit of 63 bytes'
    bad bad "$(printf 'é%.0s' $(seq 32))" F32 '[1]'        # bytes count, not characters
    everywhere gguf 'limit of 63 bytes'
    bad bad "$(printf 'n%.0s' $(seq 4097))" F32 '[1]'
    everywhere npz 'tensor nnnnnnnn' 'limit of 4096 bytes'
    "$helpers/checkpoint" bad.pth prefix="$name."
    refuse_all() { try 69 amn-convert --to gguf bad.pth; is_empty out; grep -q 'limit of 63 bytes' err; }
    refuse_all
    try 0 amn-convert -q --to gguf --strip-prefix "$name." bad.pth
}
