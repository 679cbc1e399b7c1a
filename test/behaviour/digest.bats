#!/usr/bin/env bats
# Digests of tensors and models, against hashlib: amn-parse --hash, amn hash, amn check, and --manifest of the writers.
load helper

# model FILE: a tensor of several blocks, and one of each type, with NaN, infinities, subnormals and zeros of both signs.
model() {
    python3 - "$1" <<'PYTHON'
import random, struct, sys
from modelfile import write
rnd = random.Random(30)
odd = {"F32": [0, 1 << 31, 1, 0x7F800000, 0xFF800000, 0x7FC00001, 0xFFA00000],
       "BF16": [0, 1 << 15, 1, 0x7F80, 0xFF80, 0x7FC1, 0xFFA0], "F16": [0, 1 << 15, 1, 0x7C00, 0xFC00, 0x7E01, 0xFD00]}
tensors = [("big." + d, d, [300, 400], rnd.randbytes(120000 * n)) for d, n in (("BF16", 2), ("F32", 4))]
for d, form in ("F32", "I"), ("BF16", "H"), ("F16", "H"):
    tensors.append(("odd." + d, d, [7, 1], struct.pack("<7" + form, *odd[d])))
tensors += [("i64", "I64", [2, 3], rnd.randbytes(48)), ("f64", "F64", [4], struct.pack("<4d", 0.1, -0.0, 1e300, 5e-324)),
            ("i8", "I8", [5], rnd.randbytes(5))]
write(sys.argv[1], tensors)
PYTHON
}

# digests FILE: what amn-parse --hash must print for a safetensors file without quantized weights, from hashlib.
digests() {
    python3 - "$1" <<'PYTHON'
import hashlib, json, struct, sys
from modelfile import read
def sha(b):
    return hashlib.sha256(b).hexdigest()
def widened(dtype, data):
    """F32 as amn-convert --dtype f32 writes it: all NaN are one."""
    words = [int.from_bytes(data[i:i + 2], "little") for i in range(0, len(data), 2)]
    if dtype == "BF16":
        return b"".join((w << 16 if w & 0x7FFF <= 0x7F80 else 0x7FC00000).to_bytes(4, "little") for w in words)
    return b"".join(struct.pack("<f", struct.unpack("<e", struct.pack("<H", w))[0]) if w & 0x7FFF <= 0x7C00
                    else b"\0\0\xC0\x7F" for w in words)
tensors = read(sys.argv[1])
for name, (dtype, shape, data) in tensors.items():
    values = widened(dtype, data) if dtype in ("BF16", "F16") else data
    print(json.dumps([name, shape, sha(data), sha(values)], separators=(",", ":")))
lines = sorted((name.encode(), b"%s\0%s\0%s\n" % (name.encode(), ",".join(map(str, shape)).encode(), sha(data).encode()))
               for name, (dtype, shape, data) in tensors.items())
print(sha(b"".join(line for _, line in lines)))
PYTHON
}

@test "sha256 is that of the stored bytes, values_sha256 that of the F32 values; the model's is that of all lines" {
    model m.safetensors
    digests m.safetensors >want
    try 0 amn-parse --hash m.safetensors
    jq -r 'if .name then [.name, .shape, .sha256, .values_sha256] | tojson else .sha256 end' \
        out | diff - want
    # the values are those that amn-convert --dtype f32 writes
    amn-convert -q --dtype f32 --drop f64 -o f32.safetensors m.safetensors
    amn-parse --hash f32.safetensors | jq -r 'select(.name) | [.name, .sha256] | @tsv' | sort >stored
    jq -r 'select(.name and .name != "f64") | [.name, .values_sha256] | @tsv' out | sort | diff - stored
}

@test "one model in five containers has one digest of its values, from files and pipes, with any number of threads" {
    model m.safetensors
    amn-convert -q -o m.gguf m.safetensors
    amn-convert -q -o m.npz m.safetensors
    amn-convert -q -o shards/ --shard-size 500K m.safetensors
    amn-convert -q -o split.gguf --shard-size 500K m.safetensors
    gzip -c m.gguf >m.gz
    want=$(amn hash m.safetensors)
    want=${want##* }
    for in in m.gguf m.npz shards split-00001-of-*.gguf m.gz; do
        [ "$(amn hash "$in")" = "AMN-VALUES ($in) = $want" ]
        [ "$(amn hash -j 1 "$in")" = "AMN-VALUES ($in) = $want" ]
    done
    for in in m.safetensors m.gguf m.npz m.gz; do
        [ "$(amn hash <"$in")" = "AMN-VALUES (-) = $want" ]
        cat "$in" | amn-inspect --hash - | grep -qxF "AMN-VALUES (-) = $want"
        cat "$in" | amn-parse --hash | jq -es --arg want "$want" 'last.values_sha256 == $want'
    done
    AMN_CPU=scalar amn hash m.npz | grep -q " = $want$"
}

@test "a PyTorch checkpoint has the digest of its safetensors: views, Fortran order, big-endian" {
    "$helpers/checkpoint" zip.pth views
    amn-convert -q -o m.safetensors zip.pth
    [ "$(amn hash zip.pth | sed 's/.* = //')" = "$(amn hash m.safetensors | sed 's/.* = //')" ]
    [ "$(amn hash --stored zip.pth | sed 's/.* = //')" = "$(amn hash --stored m.safetensors | sed 's/.* = //')" ]
    amn-remember -q --to f32 -o big.safetensors "$corpus/gguf-good/v3-big-endian.gguf"
    [ "$(amn hash "$corpus/gguf-good/v3-big-endian.gguf" | sed 's/.* = //')" = "$(amn hash big.safetensors | sed 's/.* = //')" ]
}

# bats test_tags=full
@test "a quantized model has the digest of its dequantized values: every scheme of the corpus" {
    n=0
    for in in "$corpus"/safetensors-good/*.safetensors "$corpus"/gguf-good/*.gguf "$fx"/good-gguf*.gguf "$fx/good-sharded"; do
        amn-remember -q --to f32 -o whole.safetensors "$in" 2>err || continue
        want=$(amn hash whole.safetensors | sed 's/.* = //')        # amn-parse has decoders of its own
        for cpu in '' scalar; do
            [ "$(AMN_CPU=$cpu amn hash "$in" | sed 's/.* = //')" = "$want" ] || { echo "$cpu $in"; return 1; }
        done
        amn-parse -q --hash "$in" >manifest
        amn check -q manifest whole.safetensors >out || { cat out; echo "$in"; return 1; }
        n=$((n + 1))
    done
    [ "$n" -gt 50 ]
}

@test "amn hash prints lines like sha256sum --tag, and with --stored the digest of the stored bytes" {
    model m.safetensors
    cp m.safetensors 'back\slash'
    try 0 amn hash m.safetensors 'back\slash'
    grep -qx 'AMN-VALUES (m.safetensors) = [0-9a-f]\{64\}' out
    grep -qx '\\AMN-VALUES (back\\\\slash) = [0-9a-f]\{64\}' out
    amn hash --stored m.safetensors | grep -qx 'AMN-STORED (m.safetensors) = [0-9a-f]\{64\}'
    [ "$(amn hash --stored m.safetensors | sed 's/.* = //')" = "$(digests m.safetensors | tail -n 1)" ]
    try 0 amn hash --json m.safetensors
    "$helpers/json-keys" 'HASH OF A MODEL' < <(cat out; amn-parse --hash --stored <m.safetensors | tail -n 1; amn hash --json --stored m.safetensors; amn hash --json --to bf16 m.safetensors)
}

@test "--stored decodes nothing: a model of an unsupported scheme has digests of its stored bytes" {
    python3 -c 'from modelfile import write
write("x.safetensors", [("m.q_proj.trellis", "I16", [2, 2, 64], 512), ("m.q_proj.suh", "F16", [32], 64), ("m.q_proj.svh", "F16", [32], 64)])'
    try 69 amn hash x.safetensors
    try 0 amn hash --stored x.safetensors
}

@test "JSON of --hash is as amn-json(5) documents it" {
    model m.safetensors
    { amn-parse --hash "$fx/good-fp8-late.safetensors"; amn-parse --hash --stored m.safetensors; } 2>/dev/null |
        jq -c 'select(.name) | {report, sha256, values_sha256, values_shape}' | "$helpers/json-keys" 'AMN-PARSE HASH'
}

@test "amn check: a GGUF passes the manifest of its safetensors; -v lists every tensor" {
    model m.safetensors
    amn-convert -q -o m.gguf m.safetensors
    amn-parse --hash m.safetensors >manifest
    try 0 amn check manifest m.gguf
    [ "$(cat out)" = 'm.gguf: 8 tensors OK' ]
    try 0 amn check -v manifest m.gguf
    [ "$(grep -c ': OK$' out)" -eq 8 ]
    try 0 amn check manifest <m.gguf
    try 0 amn check - m.gguf <manifest
    amn-convert -q --rename 's/^big/large/' -o renamed.gguf m.safetensors
    try 0 amn check --rename 's/^large/big/' manifest renamed.gguf
    try 0 amn check --only 'odd.*' manifest renamed.gguf
    [ "$(cat out)" = 'renamed.gguf: 3 tensors OK' ]
}

@test "amn check: status 1 for different, missing and extra tensors, which are named" {
    model m.safetensors
    amn-parse --hash m.safetensors >manifest
    python3 - <<'PYTHON'
from modelfile import read, write
t = read("m.safetensors")
t["big.F32"][2]
data = bytearray(t["big.F32"][2])
data[100000] ^= 1
t["big.F32"] = ("F32", [300, 400], bytes(data))
t["i8"] = ("I8", [5, 1], t["i8"][2])
t["new"] = t.pop("i64")
write("n.safetensors", [(k, *v) for k, v in t.items()])
PYTHON
    try 1 amn check manifest n.safetensors
    grep -qx 'big.F32: FAILED' out
    grep -qx 'i8: FAILED (shape)' out
    grep -qx 'new: FAILED (not in the manifest)' out
    grep -qx 'i64: FAILED (missing)' out
    grep -qx 'n.safetensors: 5 tensors OK, 2 different, 1 missing, 1 not in the manifest' out
    [ "$(grep -c ': OK$' out)" -eq 0 ]
    try 1 amn check --json manifest m.safetensors n.safetensors
    "$helpers/json-keys" 'AMN-INSPECT CHECK' < <(cat out; amn check --json manifest m.safetensors)
    [ "$(jq -r .result out | sort | uniq -c | tr -s ' \n' ' ')" = ' 1 different 1 extra 1 missing 13 ok 1 shape ' ]
    # BF16 that becomes F32 has other stored bytes, but the same values
    amn-convert -q --dtype f32 --drop f64 -o f32.safetensors m.safetensors
    try 0 amn check --drop f64 manifest f32.safetensors
    try 1 amn check --drop f64 --stored manifest f32.safetensors
    grep -qx 'big.BF16: FAILED' out
}

@test "bad manifests: 65, naming the line" {
    model m.safetensors
    amn-parse --hash m.safetensors >manifest
    bad() {
        try 65 amn check bad m.safetensors
        grep -q "$1" err || { cat err; return 1; }
    }
    sed '2s/sha256":"./sha256":"g/' manifest >bad
    bad 'line 2 is not a line of amn-parse --hash: its sha256 is not 64 hexadecimal digits'
    sed '3s/values_sha256":"[0-9a-f]*/values_sha256":"blake3:00/' manifest >bad
    bad 'line 3 .*: its values_sha256 is not 64'
    head -c 1000 manifest >bad
    bad 'line [0-9]* is not valid JSON'
    sed 2p manifest >bad
    bad 'line 3 .*: line 2 lists'
    amn-parse m.safetensors >bad
    bad 'line 1 .*: it has no values_sha256'
    amn-parse --hash --stored m.safetensors >bad
    bad 'line 1 .*--stored'
    try 0 amn check --stored bad m.safetensors
    cat manifest manifest >bad
    bad 'line 10 .*: it follows that of the model'
    : >bad
    bad 'the manifest lists no tensor'
    head -c 100000 /dev/zero >bad
    bad 'line 1 is not valid JSON'
    amn-parse --hash "$fx/good-fp8-late.safetensors" >bad 2>/dev/null
    bad 'line 1 lists .*the model has no tensor of the manifest; use --rename'
    try 66 amn check nothing m.safetensors
    try 2 amn check
    try 2 amn check --hash manifest m.safetensors
    try 2 amn-inspect --stored m.safetensors
    try 2 amn-parse -j 2 m.safetensors
    try 2 amn-inspect --rename s/a/b/ m.safetensors
}

@test "a damaged ZIP member is found" {
    model m.safetensors
    amn-convert -q -o m.npz m.safetensors
    python3 - <<'PYTHON'
data = bytearray(open("m.npz", "rb").read())
data[200000] ^= 1
open("bad.npz", "wb").write(data)
PYTHON
    try 65 amn hash bad.npz
    grep -q 'CRC-32 mismatch' err
}

# bats test_tags=full
@test "--manifest is what amn-parse --hash prints for the output: a file, a pipe, shards, a split GGUF, quantized" {
    model m.safetensors
    for to in safetensors gguf npz; do
        amn-convert -q -o out.$to --manifest manifest m.safetensors
        amn-parse --hash out.$to | cmp - manifest
        amn-convert -q --to $to --manifest manifest m.safetensors >out.$to
        amn-parse --hash <out.$to | cmp - manifest
        cat m.safetensors | amn-convert -q --to $to --manifest manifest | cat >out.$to
        amn-parse --hash <out.$to | cmp - manifest
    done
    amn-convert -q -o dir/ --shard-size 300K --manifest manifest m.safetensors
    amn-parse --hash dir/ | cmp - manifest
    amn-convert -q -o split.gguf --shard-size 300K --manifest manifest m.safetensors
    amn-parse --hash split-00001-of-*.gguf | cmp - manifest
    python3 -c 'import random
from modelfile import write
write("b.safetensors", [("l.%d.weight" % i, "F16", [64, 64], random.Random(i).randbytes(8192).replace(b"\x7c", b"0")
       .replace(b"\xfc", b"0").replace(b"\x7d", b"0").replace(b"\xfd", b"0").replace(b"\x7e", b"0").replace(b"\xfe", b"0")
       .replace(b"\x7f", b"0").replace(b"\xff", b"0")) for i in range(3)])'
    amn-forget -q --scheme q8_0 -o q.gguf --manifest manifest b.safetensors
    amn-parse -q --hash q.gguf | cmp - manifest
    amn-convert -q -o kept.safetensors --manifest manifest "$fx/good-fp8-block-bf16.safetensors"
    amn-parse -q --hash kept.safetensors | cmp - manifest
    amn-remember -q -j 1 --direct always --manifest manifest -o whole.safetensors "$fx/good-sharded"
    amn check manifest whole.safetensors
    try 2 amn-forget --scheme q8_0 --manifest new b.safetensors
    grep -q -e '--manifest requires -o FILE' err
    try 2 amn-remember --part 1/2 --manifest new m.safetensors
    try 2 amn-convert --to raw --tensor i8 --manifest new m.safetensors
    try 73 amn-remember --manifest m.safetensors m.safetensors
    [ ! -e new ]
}

@test "a resumed directory has the manifest of a new one" {
    model m.safetensors
    amn-convert -q -o dir/ --shard-size 300K --manifest want m.safetensors
    amn-convert -q -o dir/ --shard-size 300K --resume --manifest manifest m.safetensors
    cmp want manifest
}
