#!/usr/bin/env bats
# amn-convert: any container to any other. test/peers reads the outputs with the libraries of the formats.
load helper

# model FILE WORD...: tensors of all types that an array can have, as safetensors. Words: odd, shapes and names of NPZ that
# are less usual; large, one of several blocks; TYPE, one more tensor "more" of this type; name=NAME, rank=N, of F32.
model() {
    python3 - "$@" <<'PYTHON'
import sys
from modelfile import write
path, words = sys.argv[1], sys.argv[2:]
tensors = []
def add(name, dtype, shape, nbytes):
    tensors.append((name, dtype, shape, bytes((7 * i + len(tensors)) % 251 for i in range(nbytes))))
for dtype, unit in (("I8", 1), ("I16", 2), ("I32", 4), ("I64", 8), ("F16", 2), ("BF16", 2), ("F32", 4), ("F64", 8)):
    add("layer." + dtype, dtype, [3, 4], 12 * unit)
for dtype, unit in (("BOOL", 1), ("U8", 1), ("U16", 2), ("U32", 4), ("U64", 8), ("C64", 8)) if "odd" in words else ():
    add("\u00e9/.." + dtype, dtype, [12], 12 * unit)
if "odd" in words:
    add("", "F32", [], 4)
    add("/none", "F32", [3, 0, 12345678901234], 0)
    add("x.npy", "I8", [1] * 40, 1)
    add("many", "U8", [1, 2, 3, 1, 2], 12)
if "large" in words:
    for i in range(3):
        add("large%d" % i, "F32", [700, 500 + i], 2800 * (500 + i))
for word in words:
    if word.startswith("name="):
        add(word[5:].encode().decode("unicode_escape"), "F32", [1], 4)
    elif word.startswith("rank="):
        add("deep", "F32", [1] * int(word[5:]), 4)
    elif word.isupper() or "_" in word:
        bits = 64 if word == "C64" else 4 if word == "F4" else 6 if word[:2] == "F6" else 16 if word == "U16" else 8
        bits = 64 if word == "U64" else bits
        add("more", word, [8], bits)
write(path, tensors, {"format": "pt", "who": "me"})
PYTHON
}

# archive IN OUT: writes the tensors of a safetensors file with Python's zipfile to a stream that is not seekable, in the way
# numpy calls it. Where Python before 3.11.4 writes other headers, they are replaced by those of later versions.
archive() {
    python3 - "$@" <<'PYTHON'
import io, struct, sys, zipfile
from modelfile import read
descr = {"BOOL": "|b1", "I8": "|i1", "U8": "|u1", "BF16": "<V2", "C64": "<c8"}
def npy(dtype, shape):
    text = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (
        descr.get(dtype, "<%s%d" % (dtype[0].lower(), int(dtype[1:]) // 8) if dtype[1:].isdigit() else ""), tuple(shape))
    if shape:
        text += " " * (21 - len(str(shape[0])))
    text += " " * (64 - (10 + len(text) + 1) % 64) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode()
class Pipe(io.RawIOBase):
    def __init__(self):
        self.bytes = bytearray()
    def writable(self):
        return True
    def write(self, b):
        self.bytes += bytes(b)
        return len(bytes(b))
pipe = Pipe()
with zipfile.ZipFile(pipe, "w", allowZip64=True) as z:
    for name, (dtype, shape, data) in read(sys.argv[1]).items():
        with z.open(name + ".npy", "w", force_zip64=True) as f:
            f.write(npy(dtype, shape) + data)
    infos, end = z.filelist, None
out, at = pipe.bytes, z.start_dir
if out[4] != 45:
    for info in infos:
        out[info.header_offset + 4] = 45
        out[info.header_offset + 18:info.header_offset + 26] = b"\xff" * 8
        out[at + 4] = out[at + 6] = 45
        at += 46 + struct.unpack("<H", out[at + 28:at + 30])[0] + struct.unpack("<H", out[at + 30:at + 32])[0]
open(sys.argv[2], "wb").write(out)
PYTHON
}

# The names, types and shapes of a model, sorted; and its data, decoded, in the order of the reference writer.
list() { amn-parse "$1" | jq -c '[.name, .dtype, .shape]' | sort; }
data() {
    amn-remember --order name "$1" >whole
    tail -c +$(($(od -An -tu8 -N8 whole) + 9)) whole
}

# converts FILE FORMAT [OPTION...]: file and pipe give the same bytes, of the announced length, kept as out.file.
converts() {
    local file=$1 to=$2
    shift 2
    both 0 "$file" amn-convert --to "$to" "$@" && cmp out.file out.pipe &&
        [ "$(amn-convert --to "$to" "$@" --size "$file")" -eq "$(stat -c %s out.file)" ]
}

@test "NPZ is byte-identical to what Python writes to a pipe" {
    for words in "" odd "odd large" "name=$(printf 'n%.0s' $(seq 4096))"; do
        model in.safetensors $words
        archive in.safetensors want
        converts in.safetensors npz
        cmp out.file want
        amn-convert -j 3 -o out.npz in.safetensors
        cmp out.npz want
        amn-convert --direct=always --sync -o out.npz in.safetensors
        cmp out.npz want
    done
}

# bats test_tags=full
@test "an archive without members, and one with many" {
    model in.safetensors
    printf '\20\0\0\0\0\0\0\0{}              ' >none.safetensors
    converts none.safetensors npz
    [ "$(stat -c %s out.file)" -eq 22 ]
    python3 - <<'PYTHON'
from modelfile import write
write("many.safetensors", [("t%05d" % i, "U8", [1], bytes([i % 256])) for i in range(66000)])
PYTHON
    archive many.safetensors want
    converts many.safetensors npz
    cmp out.file want
    amn-convert --to safetensors want | tail -c 66000 | cmp - <(tail -c 66000 many.safetensors)
}

# bats test_tags=full
@test "every container to every container, and back" {
    model plain.safetensors
    cp "$fx/good-fp8-block-bf16.safetensors" fp8.safetensors
    cp "$fx/good-fp8-late.safetensors" late.safetensors
    cp "$fx/good-gguf.gguf" model.gguf
    "$helpers/checkpoint" model.pt views
    amn-convert -o array.npz plain.safetensors
    for in in plain.safetensors fp8.safetensors late.safetensors model.gguf model.pt array.npz; do
        amn-remember "$in" >remembered
        list remembered >names
        data "$in" >values
        for to in safetensors gguf npz; do
            converts "$in" $to --dequantize
            case $to in
            gguf) list out.file | diff - <(sed 's/\[\]/[1]/' names) ;;        # GGUF has no scalars
            *) list out.file | diff - names ;;
            esac
            data out.file | cmp - values
            amn-inspect out.file | jq -e '.quantized == 0' >/dev/null
        done
    done
    converts fp8.safetensors safetensors --dequantize
    amn-remember fp8.safetensors | cmp - out.file
}

@test "--dtype sets the type of all floats, decoded or not; without it, floats that are kept keep their type" {
    for to in bf16 f16 f32; do
        amn-convert -q --dtype $to --to safetensors "$fx/good-fp8-block-bf16.safetensors" >out
        [ "$(list out | jq -r .[1] | sort -u)" = ${to^^} ]
        amn-remember -q --to $to --drop '*norm*' "$fx/good-fp8-block-bf16.safetensors" >want
        amn-convert -q --drop '*norm*' --to safetensors out | cmp - want
    done
    amn-convert --to npz "$fx/good-fp8-block-bf16.safetensors" >out.npz
    amn-remember "$fx/good-fp8-block-bf16.safetensors" >want
    list out.npz | diff - <(list want)
}

# torch's casts of floats of all types: test/peers/make-casts.py.
@test "floats are cast like in torch; integers stay" {
    local casts="$corpus/casts" name to
    for to in bf16 f16 f32; do
        for name in f64 f32 f16 bf16 count flags; do
            amn-convert --tensor $name --to raw "$casts/$to.safetensors" >want
            for cpu in "" scalar; do
                AMN_CPU=$cpu amn-convert -q --dtype $to --tensor $name --to raw "$casts/in.safetensors" | cmp - want
            done
        done
        converts "$casts/in.safetensors" npz -q --dtype $to
        size=$(stat -c %s out.file)
        amn-convert -q --dtype $to --to safetensors "$casts/in.safetensors" >whole
        for at in 0 7 1001 1502; do
            amn-convert -q --dtype $to --to safetensors --range $at- "$casts/in.safetensors" | cmp - <(tail -c +$((at + 1)) whole)
        done
    done
    amn-convert --dtype f16 --to npz "$casts/in.safetensors" 2>err >out
    grep -q 'values overflow F16 (maximum 65504) and became infinite' err
    amn-convert --dtype bf16 --to npz "$casts/in.safetensors" 2>err >out
    grep -q 'values overflow BF16 and became infinite$' err
}

@test "views, both byte orders and negated tensors are cast too" {
    "$helpers/checkpoint" views.pt views nocrc
    amn-convert --dtype f32 --to npz views.pt >want.npz
    amn-convert --to safetensors views.pt >plain
    amn-convert --dtype f32 --to npz plain | cmp - want.npz
}

@test "the extension selects the format, in any case, and agrees with --to" {
    model in.safetensors
    for end in safetensors gguf npz NPZ; do amn-convert -o "out.$end" in.safetensors; done
    cmp out.npz out.NPZ
    for end in safetensors gguf npz; do
        amn-convert --to ${end^^} in.safetensors | cmp - out.$end
        amn-convert --to $end -o odd.bin in.safetensors
        cmp odd.bin out.$end
        [ $end = gguf ] || try 2 amn-convert --to $end -o odd.gguf in.safetensors
    done
    try 2 amn-convert -o x.bin in.safetensors
    grep -q '^amn-convert: usage: -o: .bin files are not written; use -o FILE.safetensors' err
    for way in "" "-o x" "-o npz" "-o -"; do
        try 2 amn-convert $way in.safetensors
        is_empty out
        grep -q '^amn-convert: usage: unknown output format' err
    done
    try 2 amn-convert --to onnx in.safetensors
    try 2 amn-convert --to npz -o x/ in.safetensors
    grep -q -- '-o DIR/ writes safetensors, not NPZ' err
    only in.safetensors out.safetensors out.gguf out.npz out.NPZ odd.bin
}

@test "one tensor as NPY or raw" {
    model in.safetensors odd
    amn-convert -o all.npz in.safetensors
    for name in layer.BF16 layer.F64 é/..BOOL x.npy '' /none; do
        converts in.safetensors npy --tensor "$name"
        python3 -c 'import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile("all.npz").read(sys.argv[1] + ".npy"))' "$name" |
            cmp - out.file
        mv out.file whole.npy
        converts in.safetensors raw --tensor "$name"
        tail -c "$(stat -c %s out.file)" whole.npy | cmp - out.file
    done
    amn-convert --tensor layer.F32 -o one.npy in.safetensors
    amn-convert -o one.raw one.npy                     # a single tensor needs no name
    [ "$(stat -c %s one.raw)" -eq 48 ]
    amn-convert --tensor layer.F32 -o one.npz in.safetensors
    [ "$(amn-parse one.npz | jq -r .name)" = layer.F32 ]
    f=$fx/good-fp8-block-bf16.safetensors
    weight=$(amn-parse "$f" | jq -r 'select(.role == "weight") | .name' | head -n 1)
    converts "$f" raw --tensor "$weight" --dtype f32
    [ "$(stat -c %s out.file)" -eq "$(amn-parse "$f" | jq --arg n "$weight" 'select(.name == $n) | .nbytes * 4')" ]
    for to in npy raw; do
        try 2 amn-convert --to $to in.safetensors
        grep -q '^amn-convert: usage: .*choose one with --tensor' err
        try 2 amn-convert --to $to --tensor layer in.safetensors
        is_empty out
        grep -q 'no output tensor is named layer' err
    done
}

# refused WORD FORMAT TEXT...: 69 before anything is written, for file and pipe, and no file appears.
refused() {
    local word=$1 to=$2 text
    shift 2
    model in.safetensors "$word"
    both 69 in.safetensors amn-convert --to "$to"
    is_empty out.file
    is_empty out.pipe
    try 69 amn-convert -o "new.$to" in.safetensors
    error_line amn-convert unsupported
    refute [ -e "new.$to" ]
    for text; do grep -qF -e "$text" err || { echo "no $text in:"; cat err; return 1; }; done
    try 69 amn-convert --size --to "$to" in.safetensors
}

# bats test_tags=full
@test "a tensor that the format cannot hold is refused before the first byte" {
    for type in F8_E8M0 F4 F6_E2M3; do
        refused $type npz 'tensor more' "has no type for $type"
        refused $type gguf 'tensor more' "has no type for $type"
    done
    for type in BOOL U8 U16 U64 C64; do refused $type gguf 'tensor more' "has no type for $type"; done
    refused rank=5 gguf 'tensor deep' '5 dimensions'
    refused "name=$(printf 'n%.0s' $(seq 4097))" npz 'limit of 4096 bytes'
    refused "name=$(printf 'n%.0s' $(seq 64))" gguf 'limit of 63 bytes'
    refused 'name=a\0b' npz 'UTF-8 without NUL'
    model in.safetensors rank=64
    converts in.safetensors npz
    model in.safetensors F4
    converts in.safetensors raw --tensor more
    [ "$(stat -c %s out.file)" -eq 4 ]
}

@test "parts of formats without checksums make up the whole; of NPZ they are refused" {
    model in.safetensors large
    for to in safetensors gguf; do
        amn-convert --to $to in.safetensors >want
        for i in 1 2 3; do amn-convert --to $to --part $i/3 in.safetensors; done | cmp - want
        amn-convert --to $to --range 1000- in.safetensors | cmp - <(tail -c +1001 want)
    done
    amn-convert --to npy --tensor large1 in.safetensors >want
    amn-convert --to npy --tensor large1 --range 100-200000 in.safetensors | cmp - <(head -c 200001 want | tail -c +101)
    for part in "--range 100-" "--part 2/3" "--part-size 1M --part 2"; do
        both 69 in.safetensors amn-convert --to npz $part
        is_empty out.file
        is_empty out.pipe
        grep -q -e '--range and --part are not supported for this format' err.file
    done
    amn-convert --to npz --range 0-999 in.safetensors | cmp - <(amn-convert --to npz in.safetensors | head -c 1000)
}

@test "--plan gives the place of each array" {
    model in.safetensors large
    amn-convert -o out.npz in.safetensors
    amn-convert --to npz --plan in.safetensors | jq -c 'select(.name)' >plan
    [ "$(wc -l <plan)" -eq 11 ]
    jq -r '[.offset, .nbytes, .inputs[0].offset] | @tsv' plan | while read -r at n from; do
        cmp <(tail -c +$((at + 1)) out.npz | head -c "$n") <(tail -c +$((from + 1)) in.safetensors | head -c "$n")
    done
}

@test "the keys of a GGUF file are kept with their types; keys that are no longer true are dropped" {
    amn-convert -o out.gguf "$fx/good-gguf.gguf"
    keys() { amn-inspect --arrays "$1" | jq -S '.metadata // .gguf.metadata | del(."general.file_type",
        ."general.quantization_version", ."general.alignment")'; }
    keys "$fx/good-gguf.gguf" >want
    [ "$(jq length want)" -gt 0 ]
    keys out.gguf | diff - want
    model in.safetensors
    amn-convert -o out.gguf in.safetensors
    amn-inspect out.gguf | jq -e '.metadata.who == "me"' >/dev/null
}

@test "the usual options of a tool that writes" {
    model in.safetensors
    echo old >out.npz
    try 73 amn-convert -n -o out.npz in.safetensors
    [ "$(cat out.npz)" = old ]
    head -c 400 in.safetensors >cut
    try 65 amn-convert -o out.npz cut
    [ "$(cat out.npz)" = old ]
    cp in.safetensors same.npz
    try 73 amn-convert --to npz -o same.npz same.npz
    cmp same.npz in.safetensors
    try 0 amn-convert --to npz --test in.safetensors
    is_empty out
    try 2 amn-convert --to npz --test -o x.npz in.safetensors
    try 0 amn-convert -v -o out.npz in.safetensors
    [ "$(sed -n 's/.*CRC-32 //p' err)" = "$(gzip -c <out.npz | gzip -lv | awk 'NR == 2 { print $2 }')" ]
    cat "$fx/good-fp8-wide-late.safetensors" | try 75 amn-convert --no-spool --to npz
    need_full
    try 74 amn-convert --to npz in.safetensors -o /dev/full
    [ "$(amn convert --to npz --size in.safetensors)" = "$(amn-convert --to npz --size in.safetensors)" ]
}
