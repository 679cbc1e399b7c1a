#!/usr/bin/env bats
# -o DIR/: a model directory, file by file, and how it continues after an interruption.
load helper

# model: makes a directory ./in with two shards, an index, a config and side files.
model() {
    mkdir in
    cp "$fx"/good-sharded/* in/
    cat >in/config.json <<'END'
{
  "architectures": ["X"], "rms_norm_eps": 1e-06,
  "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
  "text_config": {"quantization_config": {"a": [{}, "}"]}, "hidden_size": 8}
}
END
    echo tokens >in/tokenizer.json
    echo code >in/modeling_x.py
    echo '{}' >in/hf_quant_config.json
    echo hidden >in/.hidden
    echo weights >in/other.bin
    mkdir in/folder
}

# model_of STEM: makes a directory ./in with two shards and an index of this stem.
model_of() {
    rm -rf in
    mkdir in
    for i in 1 2; do
        cp "$fx/good-sharded/model-0000$i-of-00002.safetensors" in/$1-0000$i-of-00002.safetensors
    done
    sed "s/model-0/$1-0/" "$fx/good-sharded/model.safetensors.index.json" >in/$1.safetensors.index.json
}

# same A B: checks that the models have the same tensors and metadata.
same() {
    amn-remember --order name "$1" >same.a
    amn-remember --order name "$2" >same.b
    cmp same.a same.b
}

@test "files, index, config.json without quantization, and the side files" {
    model
    try 0 amn-remember -o d/ --shard-size 4K in
    is_empty err
    same in d
    n=$(ls d/model-*.safetensors | wc -l)
    [ "$n" -gt 1 ]
    [ -e "d/model-00001-of-0000$n.safetensors" ]
    jq -e --argjson n "$n" '(.weight_map | [.[]] | unique | length) == $n' d/model.safetensors.index.json
    [ "$(jq .metadata.total_size d/model.safetensors.index.json)" -eq "$(amn-inspect d | jq .bytes)" ]
    (cd d && ls -A | grep -v '^model[-.]') >files
    printf '%s\n' config.json modeling_x.py tokenizer.json | diff - files
    cmp in/tokenizer.json d/tokenizer.json
    jq -e '[paths(strings, arrays, objects, numbers) | .[-1]] | index("quantization_config") == null' d/config.json
    jq -e '.architectures == ["X"] and .text_config.hidden_size == 8' d/config.json
    grep -q '"rms_norm_eps": 1e-06' d/config.json
}

@test "one file is model.safetensors, without an index" {
    try 0 amn-remember -o d/ "$fx/good-fp8-block-f32.safetensors"
    (cd d && only model.safetensors)
    amn-remember -o whole "$fx/good-fp8-block-f32.safetensors"
    cmp whole d/model.safetensors
}

# bats test_tags=full
@test "files keep the names that diffusers and PEFT require" {
    for stem in diffusion_pytorch_model adapter_model; do
        rm -rf in d e
        mkdir in
        cp "$fx/good-fp8-block-f32.safetensors" in/$stem.safetensors
        echo '{}' >in/config.json
        try 0 amn-remember -o d/ in
        (cd d && only $stem.safetensors config.json)
        try 0 amn-convert -o e/ in/$stem.safetensors            # a file given by name keeps it too
        [ -e e/$stem.safetensors ]
        rm -r d e
        model_of $stem
        for tool in amn-remember amn-convert 'amn-forget -q --scheme fp8 --allow-nonfinite'; do
            rm -rf d
            try 0 $tool -o d/ --shard-size 4K in
            n=$(ls d/$stem-*.safetensors | wc -l)
            [ "$n" -gt 1 ]
            jq -r '.weight_map[]' d/$stem.safetensors.index.json | sort -u >listed
            for i in $(seq $n); do printf '%s-%05d-of-%05d.safetensors\n' $stem $i $n; done | diff - listed
            refute ls d/model* 2>/dev/null
            try 0 amn-inspect d
        done
        same in d || [ "$tool" != amn-remember ]
        try 0 amn-remember -o dry/ --shard-size 4K --dry-run --json in
        jq -se --arg stem $stem 'map(.file // empty) | length > 1 and all(startswith($stem + "-0"))' out
        [ ! -e dry ]
        rm -r in d
    done
    mkdir in                                                    # a variant, and the name of transformers' checkpoints
    cp "$fx/good-plain.safetensors" in/diffusion_pytorch_model.fp16.safetensors
    try 0 amn-remember -o d/ in
    (cd d && only diffusion_pytorch_model.safetensors)
    "$helpers/hf-model" "$corpus/hf-models/llama-wide" bin bin
    try 0 amn-remember -o e/ bin
    [ -e e/model.safetensors ]
    mv bin/pytorch_model.bin bin/diffusion_pytorch_model.bin
    try 0 amn-remember -o f/ bin
    [ -e f/diffusion_pytorch_model.safetensors ]
}

@test "a pipe, a GGUF and a shuffled input give the same directory as the file" {
    for f in good-gguf.gguf good-fp8-late.safetensors good-fp8-wide-late.safetensors; do
        names=
        case $f in *.gguf) names=--names=gguf ;; esac
        rm -rf a b
        try 0 amn-remember -o a/ $names --shard-size 1K "$fx/$f"
        cat "$fx/$f" | try 0 amn-remember -o b/ $names --shard-size 1K
        diff -r a b
        try 0 amn-remember -o c/ $names -j 1 --shard-size 1K --direct always "$fx/$f"
        diff -r a c
        rm -rf c
    done
}

@test "a directory that contains a model, or is the input's, is refused and left unchanged" {
    model
    mkdir d
    echo old >d/model.safetensors
    try 73 amn-remember -o d/ in
    grep -q '^amn-remember: d/: cannot create: directory already contains a model (model.safetensors)' err
    (cd d && only model.safetensors)
    cp -R in copy
    try 73 amn-remember -o in/ in
    diff -r in copy
    try 73 amn-remember -o ./in/../in/ in/model.safetensors.index.json
    diff -r in copy
    ln -s in link
    try 73 amn-remember -o link/ in
    diff -r in copy
    echo file >file
    try 73 amn-remember -o file/ in
    try 73 amn-remember -o nowhere/d/ in
    ln -s nowhere dangling
    try 73 amn-remember -o dangling/ in
    for f in model.gguf pytorch_model.bin whole.safetensors.gz other.index.json; do
        mkdir h
        case $f in *.index.json) f=x.safetensors.index.json ;; esac
        echo other >"h/$f"
        try 73 amn-remember -o h/ in
        (cd h && only "$f")
        rm -r h
    done
}

@test "a directory that contains an input, whatever its name, is refused" {
    mkdir d
    cp "$fx/good-plain.safetensors" d/weights
    echo '{"a": 1}' >d/config.json
    cp -R d copy
    try 73 amn-remember -o d/ d/weights
    error_line amn-remember 'cannot create'
    try 73 amn-remember -o d/ --resume d/weights
    try 73 amn-remember -o d/ - <d/weights
    diff -r d copy
    # A side file of the input, which would be overwritten by its copy.
    model
    mkdir e
    ln -s ../in/tokenizer.json e/tokenizer.json
    try 73 amn-remember -o e/ in
    echo tokens | cmp - in/tokenizer.json
    ls e/*.safetensors && return 1
    [ ! -e e/.amn-journal ]
}

@test "-n: an existing directory must be empty" {
    model
    mkdir d empty
    echo mine >d/README
    try 73 amn-remember -n -o d/ in
    grep -q 'README' err
    (cd d && only README)
    try 0 amn-remember -n -o empty/ in
    try 0 amn-remember -n -o new/ in
    diff -r empty new
    try 0 amn-remember -o d/ in
    [ "$(cat d/README)" = mine ]
}

@test "an error in the side files is reported before the weights are written, and leaves nothing to resume" {
    model
    rm in/tokenizer.json
    try 0 amn-remember -o d/ in
    mkdir -p e/modeling_x.py
    try 73 amn-remember -o e/ in
    ls e/*.safetensors && return 1
    [ ! -e e/.amn-journal ]
    rmdir e/modeling_x.py
    try 0 amn-remember -o e/ in
    diff -r d e
}

@test "a file for each tensor, if --shard-size is smaller than all of them" {
    model
    try 0 amn-remember -o d/ --shard-size 1 in
    same in d
    n=$(amn-parse d | wc -l)
    [ "$(ls d/model-*.safetensors | wc -l)" -eq "$n" ]
}

@test "names of tensors that JSON escapes" {
    python3 - <<'END'
from modelfile import write
names = ['a"b', "back\\slash", "line\nend", "\x01", "\x7f", "\u2028", "\u202e", "\u00e9", "\U0001f600", "../x", "",
         "%s%n", "z" * 300]
write("m.safetensors", [(n, "U8", [1], 1) for n in names])
END
    try 0 amn-remember -o d/ --shard-size 5 m.safetensors
    same m.safetensors d
    python3 - <<'END'
import json, glob
index = json.load(open("d/model.safetensors.index.json"))["weight_map"]
there = {}
for path in glob.glob("d/*.safetensors"):
    with open(path, "rb") as f:
        head = json.loads(f.read(int.from_bytes(f.read(8), "little")))
        there |= {name: path[2:] for name in head if name != "__metadata__"}
assert there == index and len(there) == 13, (there, index)
assert list(index) == sorted(index)
END
}

@test "an index decides between copies; what it lists and no file has is refused, and with --strict what it does not list" {
    python3 - <<'END'
import json, os
from modelfile import write
for folder, second, index in (("missing", "c", "abcx"), ("twice", "ca", "abc"), ("more", "cd", "abc")):
    os.mkdir(folder)
    for file, names in (("1", "ab"), ("2", second)):
        write("%s/%s.safetensors" % (folder, file), [(n, "U8", [1], 1) for n in names])
    with open(folder + "/model.safetensors.index.json", "w") as f:
        json.dump({"weight_map": {n: ("1" if n in "ab" else "2") + ".safetensors" for n in index}}, f)
END
    try 65 amn-remember -o d/ missing
    try 65 amn-remember --strict -o d/ more
    grep -q 'tensor d: in 2.safetensors, but not in the index (1 such tensors): add it to the index, or omit --strict' err
    [ ! -e d ]
    try 0 amn-remember -v -o twice-out/ twice
    [ "$(cat twice-out/*.safetensors | amn-parse -q | jq -rs 'map(.name) | sort | join(" ")')" = 'a b c' ]
    try 0 amn-remember -o more-out/ more
    grep -q 'not in the index: 1 (first: d in 2.safetensors)' err
    [ "$(amn-parse -q more-out | jq -rs 'map(.name) | sort | join(" ")')" = 'a b c d' ]
}

@test "usage: options that conflict with a directory" {
    model
    for o in --size --plan --test --range=0-1 --part=1/2 --part-size=4K; do
        try 2 amn-remember -o d/ $o in
        [ ! -e d ]
    done
    try 2 amn-remember --shard-size 1M in
    try 2 amn-remember --resume in
    try 2 amn-remember -o d/ --shard-size 0 in
}

# lengths: makes ./in/m.safetensors, whose last tensor is the longest.
lengths() {
    mkdir in
    python3 - <<'END'
from modelfile import write
lengths = (1000, 1500, 1200, 9000)
data = bytes(i % 251 for i in range(sum(lengths)))
write("in/m.safetensors", [("t%d" % i, "U8", [n], data[sum(lengths[:i]):][:n]) for i, n in enumerate(lengths)])
END
}

@test "--resume continues after the finished files, and checks them" {
    lengths
    amn-remember -o whole/ --shard-size 2K in
    # The longest file exceeds the limit: those before it are finished, it is not.
    longest=$(stat -c '%s' whole/model-*.safetensors | sort -n | tail -n 1)
    (ulimit -f $(((longest - 1) / 1024)); try 74 amn-remember -o part/ --shard-size 2K in)
    [ -e part/.amn-journal ]
    ls part/model-*.safetensors
    [ ! -e part/model.safetensors.index.json ]
    [ "$(ls -A part | grep -vc 'safetensors$')" -eq 1 ]
    try 73 amn-remember -o part/ --shard-size 2K in
    grep -q -- '--resume' err
    try 73 amn-remember -o part/ --shard-size 3K --resume in           # another job
    cp -R part again
    try 0 amn-remember -v -o part/ --shard-size 2K --resume in
    diff -r whole part
    kept=$(grep -o 'files already complete: [0-9]*' err | grep -o '[0-9]*$')
    # A finished file that was changed is written again.
    first=$(ls again/model-*.safetensors | head -n 1)
    printf X | dd of="$first" bs=1 seek=100 conv=notrunc 2>/dev/null
    try 0 amn-remember -v -o again/ --shard-size 2K --resume in
    diff -r whole again
    [ "$(grep -o 'files already complete: [0-9]*' err | grep -o '[0-9]*$')" -eq $((kept - 1)) ]
    try 0 amn-remember -o new/ --shard-size 2K --resume in      # from the beginning
    diff -r whole new
}

@test "--resume with the name of diffusers" {
    lengths
    mv in/m.safetensors in/diffusion_pytorch_model.safetensors
    amn-remember -o whole/ --shard-size 2K in
    longest=$(stat -c '%s' whole/diffusion_pytorch_model-*.safetensors | sort -n | tail -n 1)
    (ulimit -f $(((longest - 1) / 1024)); try 74 amn-remember -o part/ --shard-size 2K in)
    try 0 amn-remember -v -o part/ --shard-size 2K --resume in
    diff -r whole part
    grep -q 'files already complete: [1-9]' err
}

@test "--resume of an input that was changed is another job" {
    model
    mkdir part
    printf 'amn 2 0000000000000000 2\n' >part/.amn-journal
    try 73 amn-remember -o part/ --resume in
    grep -q 'started with a different input' err
}

# interrupted: makes ./part without the longest file, and ./whole, the complete directory.
interrupted() {
    lengths
    echo tokens >in/tokenizer.json
    echo '{"hidden_size": 1}' >in/config.json
    amn-remember -o whole/ --shard-size 2K in
    longest=$(stat -c '%s' whole/model-*.safetensors | sort -n | tail -n 1)
    (ulimit -f $(((longest - 1) / 1024)); try 74 amn-remember -o part/ --shard-size 2K in)
}

@test "--resume rewrites a file that is truncated, longer, empty, missing or changed" {
    interrupted
    first=$(cd part && ls model-*.safetensors | head -n 1)
    for harm in 'truncate -s -1' 'truncate -s +1' 'truncate -s 0' 'rm' flip; do
        cp -R part again
        case $harm in
        flip) python3 -c 'import sys; f = open(sys.argv[1], "r+b"); f.seek(-1, 2); b = f.read(1); f.seek(-1, 2)
f.write(bytes([b[0] ^ 1]))' "again/$first" ;;
        *) $harm "again/$first" ;;
        esac
        refute cmp -s "part/$first" "again/$first"
        try 0 amn-remember -o again/ --shard-size 2K --resume in
        diff -r whole again
        rm -r again
    done
}

@test "--resume removes only the temporary files that a killed job left" {
    interrupted
    for f in model-00001-of-00004.safetensors model.safetensors.index.json tokenizer.json config.json mine; do
        echo left >"part/.$f.amn-aB3dE6"
    done
    echo mine >part/.tokenizer.json.backup
    try 0 amn-remember -o part/ --shard-size 2K --resume in
    (cd part && ls -A | grep '^[.]' | tr '\n' ' ') | grep -qx '.mine.amn-aB3dE6 .tokenizer.json.backup '
    rm part/.mine.amn-aB3dE6 part/.tokenizer.json.backup
    diff -r whole part
}

@test "--resume with other options or another config is refused, and nothing is lost" {
    model
    (ulimit -f 8; try 74 amn-remember -o part/ --shard-size 4K in)
    [ -e part/.amn-journal ]
    cp -R part before
    for o in '--to f16' '--shard-size 1M' '--config none' '--add-prefix p.'; do
        try 73 amn-remember -o part/ --shard-size 4K --resume $o in
        error_line amn-remember 'cannot create'
        grep -q 'started with a different input' err
        diff -r before part
    done
    sed 's/"X"/"Y"/' in/config.json >config.json
    mv config.json in/
    try 73 amn-remember -o part/ --shard-size 4K --resume in
    diff -r before part
    sed 's/"Y"/"X"/' in/config.json >config.json
    mv config.json in/
    try 0 amn-remember -o part/ --shard-size 4K --resume in
    amn-remember -o whole/ --shard-size 4K in
    diff -r whole part
}

@test "--resume of a pipe continues only if the data are the same" {
    fp8() {
        python3 -c 'import struct, sys
from modelfile import safetensors
tensors = []
for i in range(6):
    codes = bytes((j * int(sys.argv[1]) + i) % 120 for j in range(16384))
    tensors += [("l%d.weight" % i, "F8_E4M3", [128, 128], codes),
                ("l%d.weight_scale_inv" % i, "F32", [1, 1], struct.pack("<f", 2))]
sys.stdout.buffer.write(safetensors(tensors))' "$1"
    }
    fp8 1 >one
    fp8 3 >two
    [ "$(wc -c <one)" -eq "$(wc -c <two)" ]
    cat one | amn-remember -o whole/ --shard-size 40K
    (ulimit -f 30; cat one | try 74 amn-remember -o part/ --shard-size 40K)
    [ -e part/.amn-journal ]
    cat two | try 73 amn-remember -o part/ --shard-size 40K --resume
    grep -q 'started with a different input' err
    cat one | try 0 amn-remember -o part/ --shard-size 40K --resume
    diff -r whole part
}

@test "--resume with odd journals: empty, of another form, truncated, with lines that name no file, not a file" {
    interrupted
    cp part/.amn-journal journal
    for text in 'amn 1 00000000 3\n' 'amn 2' 'x' '\0\0\0\n'; do
        printf "$text" >part/.amn-journal
        try 73 amn-remember -o part/ --shard-size 2K --resume in
        error_line amn-remember 'cannot create'
    done
    : >part/.amn-journal                    # it lists none of the existing files
    try 73 amn-remember -o part/ --shard-size 2K --resume in
    grep -q 'already contains a model (model-' err
    rm part/model-*
    try 0 amn-remember -o part/ --shard-size 2K --resume in
    diff -r whole part
    rm part/model*
    { cat journal; printf '\n../../x 3 00000000\nmodel-00001-of-00003.safetensors 12\nmod'; } >part/.amn-journal
    try 0 amn-remember -o part/ --shard-size 2K --resume in
    diff -r whole part
    mkdir odd odd/.amn-journal other
    mkfifo other/.amn-journal
    try 74 amn-remember -o odd/ --resume in
    try 73 amn-remember -o other/ --resume in
}

@test "one job at a time writes a directory" {
    interrupted
    cp -R part before
    python3 -c 'import fcntl, subprocess, sys
with open("part/.amn-journal", "a") as f:
    fcntl.flock(f, fcntl.LOCK_EX)
    sys.exit(subprocess.run(sys.argv[1:]).returncode)' amn-remember -o part/ --shard-size 2K --resume in 2>err && return 1
    grep -q 'another job is writing' err
    diff -r before part
    try 0 amn-remember -o part/ --shard-size 2K --resume in
    diff -r whole part
}

# killed SIGNAL SECONDS COMMAND...: returns after the command has ended.
killed() {
    python3 -c 'import signal, subprocess, sys
p = subprocess.Popen(sys.argv[3:])
try:
    p.wait(float(sys.argv[2]))
except subprocess.TimeoutExpired:
    p.send_signal(getattr(signal, "SIG" + sys.argv[1]))
sys.exit(p.wait() not in (0, -getattr(signal, "SIG" + sys.argv[1])))' "$@"
}

# bats test_tags=full
@test "a job killed at any time resumes to the same directory" {
    mkdir in
    cp "$fx/good-fp8-wide.safetensors" in/model.safetensors
    echo tokens >in/tokenizer.json
    amn-remember -o whole/ --shard-size 100K in
    for sig in KILL INT; do
        for i in 1 2 3 4 5 6 7 8 9; do
            rm -rf part
            killed $sig "0.0$i" amn-remember -o part/ -j 1 --shard-size 100K in
            # Either the index and everything else, or a journal; or nothing yet.
            [ ! -e part ] || [ -e part/.amn-journal ] || [ -e part/model.safetensors.index.json ] || [ -z "$(ls -A part)" ]
            [ -e part/model.safetensors.index.json ] && [ ! -e part/.amn-journal ] \
                || try 0 amn-remember -o part/ --shard-size 100K --resume in
            diff -r whole part
        done
    done
}

@test "config.json: members at any place, and text that is not JSON" {
    cp "$fx/good-fp8-block-f32.safetensors" m.safetensors
    check() {
        printf '%s' "$1" >config.json
        rm -rf d
        try 0 amn-remember -o d/ --config config.json m.safetensors
        printf '%s' "$2" | cmp - d/config.json || { cat d/config.json; return 1; }
    }
    check '{}' '{}'
    check '{"quantization_config":{}}' '{}'
    check '{"quantization_config":{},"a":1}' '{"a":1}'
    check '{"a":1,"quantization_config":{}}' '{"a":1}'
    check '{"a":1 , "quantization": {"group_size": 32}, "quantization_config":{} ,"b":2}' '{"a":1  ,"b":2}'
    check '{"a":{"compression_config":{"x":[1,{"y":"]"}]}},"b":[{"quantization_config":1,"c":1}]}' '{"a":{},"b":[{"c":1}]}'
    check $'{\n  "quantization_config": null,\n  "a": NaN\n}\n' $'{\n  \n  "a": NaN\n}\n'
    check '{"a":"quantization_config","quant\u0069zation":1}' '{"a":"quantization_config","quant\u0069zation":1}'
    try 65 amn-remember -o bad/ --config "$fx/bad-text.txt" m.safetensors
}

# stopped SIZE COMMAND...: makes ./part, up to the first file of more than SIZE KiB.
stopped() {
    local most=$1
    shift
    rm -rf part
    (ulimit -f "$most"; try 74 "$@" -o part/)
    [ -e part/.amn-journal ] && ls part/model-*.safetensors >/dev/null
}

@test "--resume with another option of the encoder is refused, even if names, types and shapes are the same" {
    mkdir in
    "$helpers/weights" in/model.safetensors a.weight=BF16:64x128 b.weight=BF16:64x256 c.weight=BF16:64x128 \
        big.norm.weight=F32:1x40960
    stopped 120 amn-forget -q --scheme gptq --symmetric --shard-size 5K in
    cp -R part before
    for o in --asymmetric '--group-size 64' '--scheme gptq-8bit' '--exclude b.*' '--tensor-type a=gptq-8bit'; do
        case $o in *scheme*) s= ;; *) s='--scheme gptq' ;; esac
        case $o in --asymmetric) ;; *) o="--symmetric $o" ;; esac
        try 73 amn-forget -q $s $o --shard-size 5K --resume -o part/ in
        grep -q 'started with a different input' err
        diff -r before part
    done
    try 0 amn-forget -q --scheme gptq --symmetric --shard-size 5K --resume -o part/ in
    try 0 amn-forget -q --scheme gptq --symmetric --shard-size 5K -o whole/ in
    diff -r whole part
}

# bats test_tags=full
@test "--resume of a complete directory writes nothing, and checks that the same command makes it" {
    mkdir in
    "$helpers/weights" in/model.safetensors a.weight=BF16:64x128 b.weight=BF16:64x256 norm.weight=F32:1x64
    echo '{"a": 1}' >in/config.json
    echo tokens >in/tokenizer.json
    for size in 5K 1M; do
        rm -rf d
        try 0 amn-forget -q --scheme gptq --shard-size $size -o d/ in
        stat -c '%n %i %Y %Z' d d/* >before
        try 0 amn-forget -v --scheme gptq --shard-size $size --resume -o d/ in
        grep -q 'already complete' err
        stat -c '%n %i %Y %Z' d d/* | cmp - before
        for o in '--asymmetric' '--group-size 64' '--scheme awq' '--metadata a=b'; do
            case $o in *scheme*) s= ;; *) s='--scheme gptq' ;; esac
            try 73 amn-forget -q $s $o --shard-size $size --resume -o d/ in
            error_line amn-forget 'cannot create'
        done
        cp in/model.safetensors kept
        printf '\1' | dd of=in/model.safetensors bs=1 seek=$(($(stat -c %s kept) - 1)) conv=notrunc 2>/dev/null
        try 73 amn-forget -q --scheme gptq --shard-size $size --resume -o d/ in
        cp kept in/model.safetensors
        stat -c '%n %i %Y %Z' d d/* | cmp - before
        for f in d/config.json d/tokenizer.json d/model*; do        # changed, longer or gone
            cp "$f" kept
            for harm in 'truncate -s -1' 'truncate -s +1' 'rm'; do
                $harm "$f"
                try 73 amn-forget -q --scheme gptq --shard-size $size --resume -o d/ in || [ "$harm" = rm ]
                [ -e d/.amn-journal ] || cp kept "$f"
            done
            [ ! -e d/.amn-journal ]
        done
        try 0 amn-forget -q --scheme gptq --shard-size $size --resume -o d/ in
        cp d/tokenizer.json d/more.safetensors
        try 73 amn-forget -q --scheme gptq --shard-size $size --resume -o d/ in
        grep -q 'more.safetensors' err
    done
}

@test "a side file that exists and cannot be read: 66 before anything is made, with its name" {
    model
    mkdir dark
    for harm in 'ln -s nowhere' 'ln -s loop' mkfifo socket 'ln -s dark/x'; do
        for f in tokenizer.json loop; do
            rm -rf in/tokenizer.json in/loop
            case $harm in
            socket) python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' in/$f ;;
            *) $harm in/$f ;;
            esac
            try 66 amn-remember -o d/ in
            error_line amn-remember 'cannot open'
            grep -q "in/$f" err
            [ ! -e d ]
            try 0 amn-remember --size in        # does not need it
        done
    done
    rm in/loop
    ln -s ../dark in/folder2                    # folders are not copied, whatever their name
    ln -s nowhere in/.hidden2
    ln -s nowhere in/other.pt
    try 0 amn-remember -o d/ in
    [ ! -e d/folder2 ]
    rm -r d
    truncate -s 300M in/large
    try 0 amn-remember -v -o d/ in
    grep -q 'large is not copied: larger than 256 MiB' err
    rm -r d in/large
    echo '{}' >in/special_tokens_map.json
    chmod 0 in/special_tokens_map.json
    try 66 bound amn-remember -o d/ in
    grep -q 'in/special_tokens_map.json: cannot open' err
    [ ! -e d ]
}

@test "--report and -o DIR/: the report may not be a file of the directory, by any name" {
    mkdir in d
    "$helpers/weights" in/model.safetensors a.weight=BF16:64x128 norm.weight=F32:1x64
    echo '{"a": 1}' >in/config.json
    echo tokens >in/tokenizer.json
    ln -s d link
    for r in d/model.safetensors d/config.json d/tokenizer.json d/.amn-journal ./d/../link/model.safetensors \
        in/tokenizer.json in/config.json in/model.safetensors; do
        try 73 amn-forget -q --scheme int8 --report $r -o d/ in
        error_line amn-forget 'cannot create'
        grep -q 'this input\|the same file' err
        (cd d && only)
        [ "$(cat in/tokenizer.json)" = tokens ]
    done
    try 0 amn-forget -q --scheme int8 --report d/report.json -o d/ in
    jq -s -e '.[0].name == "a.weight"' d/report.json
    rm -r d
    try 0 amn-forget -q --scheme int8 --report report.json -o d/ in
    jq -s -e '.[0].name == "a.weight"' report.json
}

@test "a report that fails alone: 74, the directory is complete, and --resume makes the report" {
    mkdir in folder
    "$helpers/weights" in/model.safetensors a.weight=BF16:64x128 b.weight=BF16:64x256 norm.weight=F32:1x64
    mkfifo slow
    amn-forget -q --scheme int8 --shard-size 9K --report slow -o d/ in 2>err &
    job=$!
    head -c 1 slow >/dev/null &                 # a reader that exits
    try 0 amn-forget -q --scheme int8 --shard-size 9K --report report.json -o whole/ in
    wait $job && status=0 || status=$?
    [ $status -eq 74 ] || [ $status -eq 0 ]     # a short report fits in the pipe
    diff -r whole d
    need_full
    try 74 amn-forget -q --scheme int8 --shard-size 9K --report /dev/full -o full/ in
    error_line amn-forget 'input/output'
    grep -q 'the output is complete, but the report is not' err
    diff -r whole full
    try 0 amn-forget -q --scheme int8 --shard-size 9K --report again.json --resume -o full/ in
    cmp report.json again.json
    diff -r whole full
}

@test "the modules that modules.json names are copied, their weights too; other folders are not" {
    "$helpers/hf-model" "$corpus/hf-models/bert" bert
    mkdir bert/1_Pooling bert/2_Dense bert/other
    echo '[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"},
        {"idx": 3, "name": "3", "path": "3_Normalize", "type": "sentence_transformers.models.Normalize"},
        {"idx": 4, "name": "4", "path": "../bert/other", "type": "x"}, {"idx": 5, "name": "5", "path": ".", "type": "x"}]' >bert/modules.json
    echo '{"word_embedding_dimension": 64, "pooling_mode_cls_token": true}' >bert/1_Pooling/config.json
    echo '{"in_features": 64}' >bert/2_Dense/config.json
    "$helpers/weights" bert/2_Dense/model.safetensors linear.weight=F32:8x64
    touch bert/2_Dense/.hidden bert/other/file
    try 0 amn-convert -q --dtype bf16 -o copy/ bert
    diff -r bert/1_Pooling copy/1_Pooling
    cmp bert/2_Dense/model.safetensors copy/2_Dense/model.safetensors
    cmp bert/modules.json copy/modules.json
    [ "$(ls -A copy/2_Dense)" = "$(printf 'config.json\nmodel.safetensors')" ]
    [ ! -e copy/other ]
    [ ! -e copy/3_Normalize ]
    try 0 amn-convert -o bert.gguf copy
    grep -q 'warning: module sentence_transformers.models.Dense of modules.json is left out' err
    [ "$(grep -c 'is left out' err)" -eq 3 ]
    [ "$(amn-inspect bert.gguf | jq '.metadata["bert.pooling_type"]')" = 2 ]
    echo '{"a": [' >bert/modules.json
    try 0 amn-convert -q -o damaged/ bert
    cmp bert/modules.json damaged/modules.json
    [ ! -e damaged/1_Pooling ]
}
