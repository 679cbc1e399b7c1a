#!/usr/bin/env bats
# Files that people pass by mistake. Each has its own message, with its format and what to do, the same from every tool, by
# name and through a pipe. It is not a model (65), or is in an unsupported format (69); never a limit.
load helper

tools="amn-parse amn-inspect amn-remember"

# clean ERR: one line, without bytes in hexadecimal and without a limit.
clean() {
    [ "$(wc -l <"$1")" -eq 1 ] && refute grep -qiE 'limit|\b0x|\\x|( [0-9a-f]{2}){3}' "$1" || { cat "$1"; return 1; }
}

# says STATUS FILE TEXT...: every tool reports this text, for file and pipe, with nothing on stdout.
says() {
    local status=$1 file=$2 tool e text
    shift 2
    for tool in $tools; do
        both "$status" "$file" $tool || return 1
        is_empty out.file && is_empty out.pipe || return 1
        for e in err.file err.pipe; do
            clean $e || return 1
            for text; do
                grep -qF -e "$text" $e || { echo "no '$text' of $file in:"; cat $e; return 1; }
            done
        done
        grep -q "^$tool: $file: " err.file && grep -q "^$tool: (standard input): " err.pipe || { cat err.*; return 1; }
    done
}

pointer() {
    printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize %s\n' 1 "$1"
}

# samples DIR: makes one file of each kind, with the status in its name.
samples() {
    mkdir "$1"
    pointer 4900000000 >"$1/65-pointer"
    printf '<!DOCTYPE html>\n<html><head><title>Sign in</title></head></html>\n' >"$1/65-page"
    printf '{"error":"Access to model acme/big is restricted and you are not in the authorized list."}' >"$1/65-json"
    printf 'Repository not found, and so is what it holds\n' >"$1/65-text"
    python3 - "$1" <<'PYTHON'
import io, pickle, struct, sys, tarfile, zipfile
folder = sys.argv[1]
def put(name, data):
    open("%s/%s" % (folder, name), "wb").write(data)
def archive(*names):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name in names:
            z.writestr(name, b"x" * 300)
    return out.getvalue()
put("65-torch", archive("archive/data.pkl", "archive/byteorder", "archive/data/0", "archive/version"))
put("65-npz", archive("weight.npy", "bias.npy"))
put("69-zip", archive("README.txt"))
put("69-pickle", pickle.dumps({"a": [1.5] * 40}, protocol=2))
put("69-pickle-0", b"L119547037146038801333356L\n." + b"I1001\n." * 8)
out = io.BytesIO()
with tarfile.open(fileobj=out, mode="w") as t:
    info = tarfile.TarInfo("model/notes.txt")
    info.size = 700
    t.addfile(info, io.BytesIO(bytes(700)))
put("69-tar", out.getvalue())
put("69-ggml", b"tjgg" + struct.pack("<I", 3) + bytes(range(200)))
put("69-hdf5", b"\x89HDF\r\n\x1a\n" + bytes(range(1, 200)))
put("69-tflite", b"\x1c\0\0\0TFL3" + bytes(range(1, 200)))
put("69-onnx", b"\x08\x07\x12\x07pytorch\x1a\x052.1.0"
    b":\x10\x12\x01g\n\x0b\n\x01x\x12\x01y\"\x03AddB\x02\x10\x11")
put("69-llamafile", b"MZqFpD='\n\n\0\x10\xf8" + bytes(range(1, 200)))
put("65-tokenizer", b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02" + b"\n\x0c\n\x03<s>\x15\0\0\0\0\x18\x03" * 9)
put("65-parquet", b"PAR1\x15\x04\x15\xc0" + bytes(range(1, 200)))
put("65-program", b"\x7fELF\x02\x01\x01\0" + bytes(range(1, 200)))
put("65-pdf", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + bytes(range(1, 200)))
put("65-png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(1, 200)))
put("65-jpeg", b"\xff\xd8\xff\xe0\0\x10JFIF\0" + bytes(range(1, 200)))
put("65-zeros", bytes(4096))
PYTHON
}

@test "a Git LFS pointer: run git lfs pull; with the size of the file it refers to" {
    pointer 4900000000 >model.safetensors
    says 65 model.safetensors 'this is a Git LFS pointer to a file of 4.56 GiB, not the file itself: run '\''git lfs pull'\'''
    pointer 17 >small.gguf
    says 65 small.gguf 'to a file of 17 bytes, not'
    pointer many >odd
    says 65 odd 'to a file of unknown size'
    printf 'version https://git-lfs.github.com/spec/v1\n' >cut
    says 65 cut 'Git LFS pointer' 'git lfs pull'
}

@test "a Git LFS pointer in a directory: the model, a shard, the index, config.json, with its name" {
    mkdir m
    pointer 100000 >m/model.safetensors
    cp -r "$fx/good-sharded" shards
    pointer 3000000 >shards/model-00002-of-00002.safetensors
    cp -r "$fx/good-sharded" index
    pointer 20000 >index/model.safetensors.index.json
    cp -r "$fx/good-sharded" config
    pointer 700 >config/config.json
    for t in $tools; do
        for of in m/model.safetensors=97.66 shards/model-00002-of-00002.safetensors=2.86 \
            index/model.safetensors.index.json=19.53 config/config.json=700; do
            try 65 $t "${of%%/*}"
            clean err
            grep -q "^$t: ${of%=*}: malformed: this is a Git LFS pointer to a file of ${of#*=} .*: run 'git lfs pull'" err
        done
    done
}

# bats test_tags=full
@test "a web page: the download needed a login, or the link was to a page" {
    n=0
    for page in '<!DOCTYPE html>\n<html class="">\n<head>' '<!doctype HTML><title>x' '<html lang="en">' '\n\n  <html>' \
        '\357\273\277<!DOCTYPE html>' '<!-- saved from -->' '<head><meta charset=utf-8>' '<script>window.x = 1'; do
        printf "$page" >model.safetensors
        says 65 model.safetensors 'this is a web page (HTML), not a model' 'log in or accept' '/resolve/'
        n=$((n + 1))
    done
    [ $n -eq 8 ]
}

# bats test_tags=full
@test "JSON: how it starts; for an index and a config.json, what to give instead" {
    printf '{"error":"Access to model acme/big is restricted.","code":401}' >answer
    says 65 answer 'this is JSON, not a model' 'it begins: {"error":"Access to model acme/big is restricted.'
    printf '\n{\n    "version": "1.0",\n    "truncation": null\n}\n' >tokenizer.json
    says 65 tokenizer.json 'it begins: { "version": "1.0", "truncation": null }'
    cp "$fx/good-sharded/model.safetensors.index.json" index.txt
    says 65 index.txt 'this is the index of a sharded model' '.index.json' 'or give that directory'
    cat "$fx/good-sharded/model.safetensors.index.json" | try 65 amn-remember
    grep -q 'this is the index' err
    for config in '{"architectures": ["LlamaForCausalLM"]}' '{"_class_name": "UNet2DConditionModel"}' \
        '{\n  "_name_or_path": "x",\n  "model_type": "qwen2"}' '{"quantization_config": {"quant_method": "fp8"}}'; do
        printf "$config" >config.json
        says 65 config.json 'this is a config.json, which only describes a model: give its directory'
    done
}

# bats test_tags=full
@test "text: how it starts, on one line and escaped" {
    printf 'Entry not found\n' >text
    says 65 text 'this is text, not a model: give a .safetensors or .gguf file' 'it begins: Entry not found'
    printf '<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code></Error>' >refusal
    says 65 refusal 'it begins: <?xml version="1.0"?> <Error><Code>AccessDenied'
    printf 'ein l\303\244ngerer Satz, in dem Zeichen von mehr als einem Byte vorkommen: \303\244\303\266\303\274\303\237' >utf8
    says 65 utf8 'it begins: ein l'
    { printf 'sized '; printf 'x%.0s' $(seq 505); printf '\303\244'; } >cut      # a character across the end of the lookahead
    says 65 cut 'it begins: sized xxx'
    printf 'evil \342\200\256 reversed, \033[2K\b and more\n' >evil
    for t in $tools; do
        try 65 $t evil
        grep -q 'this is text' err
        cat err >>said
    done
    "$helpers/no-controls" said
    head -c 100000 /dev/zero | tr '\0' '\n' >blank
    says 65 blank 'this is text'
}

@test "an empty file, and an empty pipe" {
    : >empty
    for t in $tools; do
        try 65 $t empty
        grep -qx "$t: empty: malformed: file is empty: download or copy it again" err
        try 65 $t <empty
        grep -qx "$t: (standard input): malformed: file is empty: download or copy it again" err
        for nothing in 'cat empty |' '</dev/null' 'false |'; do
            case $nothing in
            *'|') try 65 sh -c "$nothing exec $t" ;;
            *) try 65 sh -c "exec $t $nothing" ;;
            esac
            grep -qx "$t: (standard input): malformed: input is empty: the command that feeds the pipe .*" err
        done
    done
}

# bats test_tags=full
@test "formats that may contain a model but are not supported: 69, by name" {
    samples s
    cd s
    says 69 69-zip 'this ZIP archive is neither' 'unzip FILE'
    says 69 69-pickle 'this is a pickle without the storages of a PyTorch checkpoint'
    says 69 69-pickle-0 'this PyTorch checkpoint uses pickle protocol 0 or 1'
    says 69 69-tar 'this is a tar archive' 'tar -xf FILE'
    says 69 69-ggml 'this is a GGML file from before GGUF' 'look for a GGUF file'
    says 69 69-hdf5 'this is an HDF5 file, probably a Keras model'
    says 69 69-tflite 'this is a TensorFlow Lite model'
    says 69 69-onnx 'this is an ONNX model'
    says 69 69-llamafile 'this is a llamafile' "unzip FILE '*.gguf'"
    for inner in data/0 version .format_version; do         # files that torch leaves when it fails
        python3 -c 'import sys, zipfile
with zipfile.ZipFile("other", "w") as z: z.writestr("model/" + sys.argv[1], b"x")' $inner
        says 65 other 'the archive has no data.pkl'
    done
}

# bats test_tags=full,broken
@test "formats that contain no model: 65, by name" {
    samples s
    cd s
    says 65 65-tokenizer 'this is a SentencePiece tokenizer (tokenizer.model), not a model'
    says 65 65-torch 'version is not a number on one line'
    says 65 65-npz 'not a NumPy array'
    says 65 65-parquet 'this is a Parquet file'
    says 65 65-program 'this is a program'
    says 65 65-pdf 'this is a PDF document'
    says 65 65-png 'this is an image'
    says 65 65-jpeg 'this is an image'
    says 65 65-zeros 'begins with zeros only (incomplete download or copy?)'
}

# bats test_tags=full
@test "neither the name of the file nor compression changes the message" {
    samples s
    for f in s/*; do
        status=${f#s/}
        status=${status%%-*}
        try "$status" amn-inspect "$f"
        sed 's/^[^:]*: [^:]*: //' err >said
        for name in model.safetensors model.gguf pytorch_model.bin; do
            cp "$f" $name
            try "$status" amn-inspect $name
            sed 's/^[^:]*: [^:]*: //' err | cmp - said
        done
        gzip -c "$f" >model.gz
        try "$status" amn-inspect model.gz
        sed 's/^[^:]*: [^:]*: //' err | cmp - said
    done
}

# bats test_tags=full
@test "each of them truncated anywhere: 65 or 69 from all tools, never a limit" {
    samples s
    python3 - $tools <<'PYTHON'
import glob, re, subprocess, sys
runs = 0
for name in sorted(glob.glob("s/*")):
    data = open(name, "rb").read()
    for length in (1, 2, 3, 4, 6, 7, 8, 9, 10, 16, 40):
        with open("cut", "wb") as f:
            f.write(data[:length])
        seen = set()
        for tool in sys.argv[1:]:
            for given in ([tool, "cut"], [tool, "-"]):
                p = subprocess.run(given, input=data[:length] if given[1] == "-" else b"", capture_output=True)
                line = p.stderr.decode()
                said = re.fullmatch(r"%s: (cut|\(standard input\)): ((malformed|unsupported): .*)\n" % tool, line)
                kind = said and {65: "malformed", 69: "unsupported"}.get(p.returncode)
                if not said or kind != said[3] or p.stdout or re.search(r"limit|0x|\\x", said[2]):
                    sys.exit("%s, %d bytes, %s: status %d, %d bytes out: %s" % (name, length, given, p.returncode,
                        len(p.stdout), line))
                seen.add(said[2])
                runs += 1
        if len(seen) != 1:
            sys.exit("%s, %d bytes: %s" % (name, length, seen))
print(runs, "runs")
sys.exit(runs < 1400)
PYTHON
}

# bats test_tags=full,broken
@test "random bytes, which look like a huge header length: malformed, not a limit" {
    python3 - <<'PYTHON'
import random
rnd = random.Random(7)
for i in range(10):
    data = bytearray(rnd.randbytes(600)) if i % 2 else bytearray(rnd.randbytes(rnd.randrange(8, 40)))
    data[0] = 0xC1                      # the start of no format
    data[7] |= 0x10
    if len(data) > 8 and data[8:9] == b"{":
        data[8] = 0
    open("random-%02d" % i, "wb").write(data)
PYTHON
    for f in random-*; do
        says 65 $f 'not a model file: expected safetensors, GGUF, a PyTorch'
    done
    cp random-01 model.safetensors
    says 65 model.safetensors 'not a model file'
    # With a following object it is a header, longer than the limit of every reader.
    for length in 100000001 4611686018427387904; do
        python3 -c 'import struct, sys
open("long", "wb").write(struct.pack("<Q", int(sys.argv[1])) + b"{\"a\":{\"dtype\":\"F32\"}}")' $length
        for t in $tools; do
            both 75 long $t
            grep -q "limit: header length $length exceeds the limit of 100000000 (built in) (HeaderTooLarge)" err.file
        done
    done
}

@test "messages about limits say whether an option has set them" {
    try 75 amn-inspect --max-items=2 "$fx/good-plain.safetensors"
    grep -q 'exceeds the limit of 2 (--max-items)' err
    try 75 amn-inspect --max-alloc=100 "$fx/good-plain.safetensors"
    grep -q 'the limit of 100 (--max-alloc)' err
    try 75 amn-inspect --max-total=100 "$fx/good-plain.safetensors"
    grep -q 'the limit of 100 (--max-total)' err
    python3 -c 'import struct
open("many.gguf", "wb").write(b"GGUF" + struct.pack("<IQQ", 3, 1000001, 0) + bytes(24 * 1000001))'
    try 75 amn-inspect many.gguf
    grep -q 'the limit of 1000000 (built in)' err
}

# --- a directory with several models

@test "a directory with several models: the one that is read and the others are named, on stderr and in the reports" {
    cp -r "$fx/good-sharded" m
    try 0 amn-remember m
    cp out expected
    is_empty err
    cp "$fx/good-plain.safetensors" m/consolidated.safetensors
    cp "$fx/good-gguf.gguf" m/model.gguf
    echo x >m/pytorch_model.bin                              # not a file that would be read instead
    echo x >m/optimizer.pt
    said='the directory has several models: reading model.safetensors.index.json, not consolidated.safetensors, model.gguf'
    try 0 amn-remember m
    cmp out expected
    grep -q "^amn-remember: m: warning: $said; give a file name to choose another\$" err
    [ "$(wc -l <err)" -eq 1 ]
    try 0 amn-parse m
    grep -q "^amn-parse: m: warning: $said" err
    try 0 amn-parse -q m
    is_empty err
    try 0 amn-inspect m
    jq -e --arg said "$said" '.warnings | length == 1 and (.[0] | startswith($said))' out
    try 0 amn-inspect --human m
    grep -q "^Warning *$said" out
    try 0 amn-inspect m/model.safetensors.index.json         # a file given by name is not a choice
    jq -e '.warnings == []' out
}

@test "shards in an index, links to it and parts of a split model do not count as other models" {
    cp -r "$fx/good-sharded" m
    ln m/model-00001-of-00002.safetensors m/hard.safetensors
    ln -s model-00002-of-00002.safetensors m/soft.safetensors
    ln -s nowhere m/gone.safetensors
    try 0 amn-inspect m
    jq -e '.warnings == []' out
    cp "$corpus"/gguf-good/split-0000* m
    cp "$fx/good-sharded/model-00001-of-00002.safetensors" m/model.fp16-00001-of-00002.safetensors
    echo '{}' >m/model.fp16.safetensors.index.json
    try 0 amn-inspect m
    jq -r '.warnings[]' out >said
    grep -q 'not model.fp16.safetensors.index.json, split-00001-of-00003.gguf; give' said
    rm m/*.safetensors m/*.json
    cp "$fx/good-gguf.gguf" m/the-best-of-all.gguf
    try 2 amn-inspect m
    grep -q 'several models (split-00001-of-00003.gguf, the-best-of-all.gguf)' err
}

@test "several files of one rank: some of them are listed, with how to name one" {
    mkdir m
    for i in f b e a d c; do
        cp "$fx/good-gguf.gguf" m/$i.gguf
    done
    for t in $tools; do
        try 2 $t m
        grep -q "^$t: m: usage: the directory has several models (a.gguf, b.gguf, c.gguf, d.gguf and 2 more): give one of them, such as m/a.gguf\$" err
        try 2 $t m/
        grep -q 'such as m/a.gguf$' err
    done
    rm m/[c-f].gguf
    try 2 amn-inspect m
    grep -q '(a.gguf, b.gguf): give one' err
    mkdir none
    try 66 amn-inspect none
    grep -q 'has no model file: expected model.safetensors' err
}

@test "shards without an index that are complete by their names are the model, before any other file" {
    cp -r "$fx/good-sharded" m
    try 0 amn-remember m
    cp out expected
    rm m/model.safetensors.index.json
    for t in $tools; do
        try 0 $t m
        is_empty err
    done
    try 0 amn-remember m
    cmp out expected
    try 0 amn-inspect m
    jq -e '.files | length == 2' out
    cp "$fx/good-plain.safetensors" m/model.safetensors
    try 0 amn-remember m
    cmp out expected
    grep -q 'several models: reading model-00001-of-00002.safetensors, not model.safetensors; give' err
    cp m/model-00001-of-00002.safetensors m/model-00001-of-00003.safetensors   # left over
    try 0 amn-remember m
    cmp out expected
    cp "$fx/good-sharded/model.safetensors.index.json" m
    try 0 amn-remember m
    cmp out expected
    grep -q 'several models: reading model.safetensors.index.json, not' err
}

@test "shards without an index: missing ones are named" {
    cp -r "$fx/good-sharded" m
    rm m/model.safetensors.index.json m/model-00002-of-00002.safetensors
    for t in $tools; do
        try 66 $t m
        grep -q 'm: cannot open: .* 1 of the 2 shards of a model, missing: model-00002-of-00002.safetensors$' err
    done
    mkdir n
    for i in 1 3 4; do
        cp m/model-00001-of-00002.safetensors n/model-0000$i-of-00009.safetensors
    done
    try 66 amn-parse n
    for i in 2 5 6 7; do
        expected="$expected, model-0000$i-of-00009.safetensors"
    done
    grep -qF "missing: ${expected#, } and 2 more" err
    try 0 amn-inspect n/model-00003-of-00009.safetensors    # a file given by name is read
    cp "$fx/good-plain.safetensors" n/model.safetensors
    try 0 amn-inspect n
    grep -q 'reading model.safetensors, not' err || jq -e '.warnings[0] | contains("reading model.safetensors, not")' out
    rm n/model.safetensors
    cp m/model-00001-of-00002.safetensors n/other-00001-of-00009.safetensors
    try 2 amn-inspect n
    grep -q 'several model files (model-00001-of-00009.safetensors, ' err
}

@test "shards without an index: two models, PyTorch, and a duplicate tensor are refused" {
    cp -r "$fx/good-sharded" m
    rm m/model.safetensors.index.json
    for i in 1 2; do
        cp m/model-0000$i-of-00002.safetensors m/other-0000$i-of-00002.safetensors
    done
    try 2 amn-inspect m
    grep -q 'several model files (model-00001-of-00002.safetensors, other-00001-of-00002.safetensors) and no index' err
    rm m/other-*
    cp m/model-00001-of-00002.safetensors m/model-00002-of-00002.safetensors
    try 65 amn-inspect m
    "$helpers/hf-model" "$corpus/hf-models/llama-wide" whole bin
    "$helpers/hf-model" "$corpus/hf-models/llama-wide" one bin drop=model.norm.weight
    mkdir bin
    cp one/pytorch_model.bin bin/pytorch_model-00001-of-00002.bin
    python3 - "$helpers/hf-model" bin/pytorch_model-00002-of-00002.bin <<'PY'
import importlib.machinery, importlib.util, sys
loader = importlib.machinery.SourceFileLoader("hf_model", sys.argv[1])
module = importlib.util.module_from_spec(importlib.util.spec_from_loader("hf_model", loader))
loader.exec_module(module)
module.write_checkpoint(sys.argv[2], [["model.norm.weight", "BF16", [256], "norm"]])
PY
    try 0 amn-parse whole
    jq -r .name out | sort >expected
    try 0 amn-parse bin
    jq -r .name out | sort | diff expected -
    rm bin/pytorch_model-00001-of-00002.bin
    try 66 amn-parse bin
    grep -q 'missing: pytorch_model-00001-of-00002.bin$' err
}

@test "a directory: file names are escaped in every message" {
    mkdir m
    for i in 1 2; do
        cp "$fx/good-plain.safetensors" "m/$(printf '\033[2Kx\n%d' $i).safetensors"
    done
    try 2 amn-inspect m
    cp err said
    cp "$fx/good-plain.safetensors" m/model.safetensors
    try 0 amn-parse m
    cat err >>said
    [ "$(wc -l <said)" -eq 2 ]
    "$helpers/no-controls" said
}

@test "a directory whose model is of a format that is only named: 69, by name; another model in it is read" {
    samples s
    mkdir onnx keras orbax coreml openvino
    cp s/69-onnx onnx/model.onnx
    cp s/69-hdf5 keras/tf_model.h5
    printf '\014\333\072\052%040d' 0 >orbax/manifest.ocdbt
    printf '{\n    "fileFormatVersion": "1.0.0",\n    "itemInfoEntries": {}\n}\n' >coreml/Manifest.json
    printf '<?xml version="1.0"?>\n<net name="m" version="11">\n\t<layers>\n' >openvino/model.xml
    head -c 48 /dev/zero | tr '\0' 'x' >openvino/model.bin
    while read -r folder text; do
        for t in amn-parse amn-inspect amn-remember; do
            try 69 $t $folder
            grep -qF "this is $text" err || { cat err; return 1; }
            is_empty out
        done
        cp "$fx/good-plain.safetensors" $folder/model.safetensors
        try 0 amn-remember $folder
    done <<'END'
onnx an ONNX model
keras an HDF5 file, probably a Keras model
orbax an Orbax checkpoint of JAX
coreml a Core ML model
openvino an OpenVINO model
END
    mkdir xml
    echo '<a/>' >xml/notes.xml
    try 66 amn-remember xml
    grep -q 'the directory has no model file' err
}
