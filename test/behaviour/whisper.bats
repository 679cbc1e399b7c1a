#!/usr/bin/env bats
# The ggml files of whisper.cpp: Whisper, Parakeet and Silero VAD.
load helper

make_one() { "$helpers/whisper-ggml" "$@"; }

@test "tensors and header of the three models are listed, from a file and a pipe" {
    local model
    for model in whisper parakeet parakeet14 silero; do
        make_one $model m.bin
        amn parse m.bin >file
        amn parse <m.bin >pipe
        diff <(jq -c '[.name,.dtype,.shape,.offset]' file) <(jq -c '[.name,.dtype,.shape,.offset]' pipe)
        [ "$(jq -c '[.name,.dtype,.shape]' file | head -n 2)" = '["encoder.conv1.weight","F16",[32,4,3]]
["encoder.conv1.bias","F32",[32,1]]' ]
        [ "$(jq -s length file)" = 5 ]
        [ "$(amn inspect m.bin | jq -r '.format + " " + .metadata["ggml.model"]')" = "ggml ${model%14}" ]
    done
    make_one whisper m.bin
    amn inspect --metadata m.bin >meta
    [ "$(jq -c '[.metadata["whisper.n_mels","whisper.n_text_layer","whisper.ftype"]]' meta)" = '[4,1,1]' ]
    make_one parakeet14 m.bin
    [ "$(amn inspect --metadata m.bin | jq -c '[.metadata["parakeet.n_pred_layers","parakeet.n_max_tokens","parakeet.n_conv_kernel"]]')" \
        = '[1,5,null]' ]
    make_one silero m.bin
    [ "$(amn inspect --metadata m.bin | jq -c '[.metadata["silero.version_major","silero.encoder.1.out","silero.final_conv_out"]]')" \
        = '[6,64,1]' ]
}

@test "all block types are dequantized as those of a GGUF file, from a file, a pipe and gzip" {
    make_one whisper m.bin m.gguf
    amn dequantize -q -o all.safetensors m.bin
    amn dequantize -q -o blocks.safetensors m.gguf
    amn convert -q --only 'block.*' -o some.safetensors all.safetensors
    amn diff some.safetensors blocks.safetensors
    [ "$(amn parse blocks.safetensors | jq -s length)" = 10 ]
    amn dequantize -q <m.bin | cmp - all.safetensors
    gzip -c m.bin | amn dequantize -q | cmp - all.safetensors
    amn dequantize -q --part 1/3 m.bin >p1
    amn dequantize -q --part 2/3 m.bin >p2
    amn dequantize -q --part 3/3 m.bin | cat p1 p2 - | cmp - all.safetensors
    try 0 amn convert -q -o o.gguf m.bin
    amn parse o.gguf | jq -s -e '[.[] | select(.dtype == "Q5_1")] | length == 1'
    amn convert -q --drop a.scalar -o less.gguf o.gguf
    amn convert -q --drop a.scalar -o less.safetensors all.safetensors
    amn dequantize -q less.gguf >less
    amn diff less less.safetensors
}

@test "a pipe needs the temporary file" {
    make_one whisper m.bin m.gguf
    python3 - <<'PYTHON'
import struct
data = open("m.bin", "rb").read()
open("large.bin", "wb").write(data + struct.pack("<5i", 2, 5, 0, 1000, 750) + b"large" + bytes(3000000))
PYTHON
    amn parse large.bin | tail -n 1 | grep -q '"large","dtype":"F32","shape":\[750,1000\]'
    amn dequantize -q large.bin >file
    amn dequantize -q <large.bin | cmp - file
    cat large.bin | try 75 amn dequantize --no-spool
}

@test "truncated files fail with a place, wherever they end, and none of them is read as shorter" {
    local n size whole
    make_one whisper m.bin
    size=$(stat -c %s m.bin)
    whole=$(amn parse m.bin | wc -l)
    for n in $(seq 60 23 "$size"); do
        head -c "$n" m.bin >cut.bin
        s=0; amn parse cut.bin >out 2>err || s=$?
        if [ $s = 0 ]; then
            [ "$(wc -l <out)" -lt "$whole" ]      # the cut is between two records
        else
            [ $s = 65 ] || { cat err; return 1; }
        fi
    done
}

@test "bad counts, types and names are refused before anything is allocated" {
    make_one whisper m.bin
    edit() {
        python3 - "$@" <<'PYTHON'
import struct, sys
data = bytearray(open("m.bin", "rb").read())
at = data.find(b"encoder.conv1.weight") - 24
for place, value in (a.split("=") for a in sys.argv[1:]):
    where = {"rank": at, "length": at + 4, "type": at + 8, "dim": at + 12, "bins": 4 + 48, "tokens": 4 + 52 + 80}[place]
    data[where:where + 4] = struct.pack("<i", int(value))
open("bad.bin", "wb").write(data)
PYTHON
    }
    refused() { try "$1" amn parse bad.bin; grep -qF -e "$2" err || { cat err; return 1; }; }
    edit rank=5;            refused 65 '5 dimensions, expected 0 to 4'
    edit rank=-1;           refused 65 'dimensions, expected 0 to 4'
    edit length=0;          refused 65 'name of 0 bytes'
    edit length=2000000000; refused 65 'name of 2000000000 bytes'
    edit type=99999;        refused 69 'unknown ggml type 99999'
    edit dim=2000000000;    refused 65 'truncated: its data has'
    edit dim=-3;            refused 65 'is negative'
    edit type=8;            refused 65 'not a multiple of 32'
    edit bins=1000000;      refused 65 'numbers, but only'
    edit tokens=2000000000; refused 65 'tokens, but only'
    edit tokens=-1;         refused 65 'is negative'
    printf 'lmgg\0\0\0\0%0400d' 0 >bad.bin
    refused 69 'this is a GGML file from before GGUF'
}

@test "a full disk is an error" {
    make_one whisper m.bin
    try 74 sh -c 'amn dequantize m.bin >/dev/full'
}
