#!/usr/bin/env bats
# PyTorch checkpoints in ZIP archives. test/check-corpus has files written by torch itself, and attacks.
load helper

# expects FILE OUT: checks OUT against the list that helpers/checkpoint wrote for FILE.
expects() {
    python3 - "$1.expected" "$2" <<'PYTHON'
import hashlib, json, struct, sys
want = {}
for line in open(sys.argv[1]):
    name, dtype, shape, digest = json.loads(line)
    want[name] = dtype, shape, digest
b = open(sys.argv[2], "rb").read()
n = struct.unpack_from("<Q", b)[0]
h = json.loads(b[8:8 + n])
h.pop("__metadata__")
at = lambda t: b[8 + n + t["data_offsets"][0]:8 + n + t["data_offsets"][1]]
got = {k: (t["dtype"], t["shape"], hashlib.sha256(at(t)).hexdigest()) for k, t in h.items()}
wrong = {k for k in want.keys() | got.keys() if want.get(k) != got.get(k)}
sys.exit("other tensors: %s" % sorted(wrong) if wrong else 0)
PYTHON
}

@test "as torch writes it, old and new, both byte orders, aligned, without checksums, views: from a file and a pipe" {
    for how in "" numbered "numbered align=4096" nocrc big views "views big"; do
        "$helpers/checkpoint" small.pt $how
        remembers small.pt
        expects small.pt out.file
        "$helpers/checkpoint" large.pt large $how
        remembers large.pt
        expects large.pt out.file
        amn-remember -j 3 -o three --direct=always large.pt && cmp three out.file
    done
}

@test "any prefix, any order of members, unused storages" {
    "$helpers/checkpoint" small.pt
    python3 - <<'PYTHON'
import zipfile
with zipfile.ZipFile("small.pt") as z:
    members = [(i.filename, z.read(i)) for i in z.infolist()]
for out, prefix, order, how in ("other.pt", "some.thing", 1, zipfile.ZIP_STORED), ("last.pt", "model", -1, zipfile.ZIP_STORED), \
        ("deflated.pt", "model", 1, zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(out, "w", how) as z:
        for name, data in members[::order]:
            z.writestr(prefix + name[len("model"):], data)
PYTHON
    for f in other last deflated; do
        remembers $f.pt
        expects small.pt out.file
    done
    for how in shuffled extra; do
        "$helpers/checkpoint" $how.pt $how
        remembers $how.pt
        expects $how.pt out.file
    done
    amn-parse -v extra.pt 2>&1 >list | grep -q 'unused storages: 1'
    # In a long one, the first storage shows that it is not torch's.
    "$helpers/checkpoint" large.pt large shuffled
    remembers large.pt
    expects large.pt out.file
}

@test "a long pipe is read in one pass; with views it needs a temporary file, which --no-spool refuses" {
    "$helpers/checkpoint" large.pt large
    cat large.pt | amn-remember -v --no-spool - 2>err | cmp - <(amn-remember large.pt)
    refute grep -q temporary err
    "$helpers/checkpoint" views.pt large views
    cat views.pt | try 75 amn-remember --no-spool -
    cat views.pt | amn-remember -v - 2>err >out
    grep -q temporary err
    expects views.pt out
}

# bats test_tags=broken
@test "extra members after those of torch: a long pipe is refused, a file is read" {
    "$helpers/checkpoint" extra.pt large extra
    amn-remember extra.pt >out && expects extra.pt out
    cat extra.pt | try 69 amn-remember -o none -
    [ ! -e none ] && grep -q 'give a file name' err
}

# bats test_tags=full
@test "byte by byte" {
    for how in "" numbered views; do
        "$helpers/checkpoint" a.pt $how
        amn-remember a.pt >want
        "$helpers/trickle" a.pt | amn-remember - | cmp - want
    done
}

# bats test_tags=full,broken
@test "truncated at every byte: malformed, and nothing is written" {
    "$helpers/checkpoint" a.pt
    step=1
    if is_sanitized; then step=17; fi
    "$helpers/cut-each" a.pt $step turns
}

# bats test_tags=full,broken
@test "a long pipe truncated or changed between its members: an error, and no file" {
    "$helpers/checkpoint" a.pt large numbered
    python3 - <<'PYTHON'
import random, subprocess, sys, zipfile
data = open("a.pt", "rb").read()
with zipfile.ZipFile("a.pt") as z:
    at = [i.header_offset for i in z.infolist()] + [z.start_dir, len(data)]
    full = [i.file_size != 0 for i in z.infolist()]
rng = random.Random(3)
cuts = [a + d for a in at for d in (-20, -16, -1, 0, 1, 29, 31, 60) if 0 < a + d < len(data)]
def run(what, bytes):
    p = subprocess.run(["amn-remember", "-o", "none", "-"], input=bytes, capture_output=True)
    if p.returncode not in (65, 69) or p.stderr.count(b"\n") != 1:
        sys.exit("%s: status %d: %s" % (what, p.returncode, p.stderr))
for n in sorted(set(cuts)):
    run("cut at %d" % n, data[:n])
# Members that differ between their headers and the directory, or from the predicted ones.
for a in at[:-2]:
    for d in (0, 8, 26, 30, 34):
        b = bytearray(data)
        b[a + d] ^= 1 << rng.randrange(5)
        if b[a + d] != data[a + d]: run("byte %d of the member at %d" % (d, a), bytes(b))
for a in (a for a, before in zip(at[1:-2], full) if before):
    b = bytearray(data)
    b[a - 12 + rng.randrange(12)] ^= 64        # the descriptor of the previous member
    run("descriptor before %d" % a, bytes(b))
PYTHON
    [ ! -e none ]
}

# bats test_tags=broken
@test "a wrong checksum: malformed, no file left; --no-verify reads it anyway" {
    for how in "" large; do
        "$helpers/checkpoint" a.pt flipped $how
        try 65 amn-remember -o none a.pt
        [ ! -e none ] && grep -q 'CRC-32' err
        cat a.pt | try 65 amn-remember -o none -
        [ ! -e none ] && grep -q 'CRC-32' err
        amn-remember --no-verify a.pt >want
        cat a.pt | amn-remember --no-verify - | cmp - want
        # A part verifies the members that it reads completely.
        [ -z "$how" ] || amn-remember --part 1/2 a.pt >part
        try 65 amn-remember --test a.pt
    done
}

# bats test_tags=full,broken
@test "version and byteorder: missing, unknown" {
    "$helpers/checkpoint" a.pt noversion;             both 65 a.pt amn-remember
    "$helpers/checkpoint" a.pt version=11;            both 69 a.pt amn-remember
    "$helpers/checkpoint" a.pt version=x;             both 65 a.pt amn-remember
    "$helpers/checkpoint" a.pt byteorder=Little;      both 65 a.pt amn-remember
    "$helpers/checkpoint" a.pt large noversion;       both 65 a.pt amn-remember
    "$helpers/checkpoint" a.pt large byteorder=x;     both 65 a.pt amn-remember
    # torch accepts two spellings of the record, with any archive name.
    for spelling in 'little\0' 'big\0' 'little\n' ' little' 'BIG' ''; do
        for size in '' large; do
            "$helpers/checkpoint" a.pt $size byteorder="$spelling"
            both 65 a.pt amn-remember
        done
    done
    for size in '' large; do
        "$helpers/checkpoint" a.pt $size big
        amn-remember a.pt >expected
        sed 's,/byteorder,/ByteOrder,g' a.pt >b.pt
        both 0 b.pt amn-remember
        cmp out.file expected
        cmp out.pipe expected
    done
}

@test "--root selects the named dictionary, auto the usual one; other containers refuse it" {
    cp "$corpus/pth-good/ckpt.214.pt" a.pt
    amn-parse a.pt | jq -r .name >all
    amn-parse --root model a.pt | jq -r .name >model
    sed -n 's/^model\.//p' all | cmp - model
    amn-parse --root optimizer.state a.pt | jq -r .name >state
    sed -n 's/^optimizer\.state\.//p' all | cmp - state
    amn-remember --root model a.pt | amn-parse - | jq -r .name | cmp - model
    amn-parse --root auto a.pt | jq -r .name | cmp - all            # a tensor outside the dictionaries
    try 65 amn-parse --root nothing a.pt || try 2 amn-parse --root nothing a.pt
    amn-remember a.pt | try 2 amn-parse --root model -
    try 2 amn-parse --root '' a.pt
}

@test "a directory with pytorch_model.bin.index.json, its shards, and config.json" {
    mkdir m
    "$helpers/checkpoint" m/pytorch_model-00001-of-00002.bin
    "$helpers/checkpoint" b.pt
    python3 - <<'PYTHON'
import json, zipfile
names = [json.loads(l)[0] for l in open("m/pytorch_model-00001-of-00002.bin.expected")]
with zipfile.ZipFile("b.pt") as z, zipfile.ZipFile("m/pytorch_model-00002-of-00002.bin", "w") as out:
    for i in z.infolist():
        data = z.read(i)
        if i.filename.endswith("data.pkl"):
            for n in names:                 # same length, so that the pickle stays valid
                data = data.replace(b"X" + len(n).to_bytes(4, "little") + n.encode(), b"X" + len(n).to_bytes(4, "little") + n.upper().encode())
        out.writestr(i.filename, data)
first, second = ("pytorch_model-0000%d-of-00002.bin" % i for i in (1, 2))
json.dump({"metadata": {}, "weight_map": {**{n: first for n in names}, **{n.upper(): second for n in names}}},
          open("m/pytorch_model.bin.index.json", "w"))
json.dump({"model_type": "llama"}, open("m/config.json", "w"))
PYTHON
    rm m/*.expected
    [ "$(amn-parse m | wc -l)" -eq 32 ]
    amn-remember m >all && amn-remember m/pytorch_model.bin.index.json | cmp - all
    amn-remember -o made/ m && [ -e made/config.json ] && amn-remember made/model.safetensors | amn-parse - | wc -l | grep -qx 32
    rm m/pytorch_model-00002-of-00002.bin
    try 66 amn-remember m
}

@test "quantized weights in a checkpoint: as in safetensors" {
    for f in "$corpus"/pth-quantized/*.pt; do
        remembers "$f"
        amn-remember --config none "${f%.pt}.safetensors" >want 2>err
        amn-remember --order name out.file >a && amn-remember --order name want | cmp - a
    done
}

@test "inspecting a long checkpoint reads only its directory and its pickle" {
    command -v strace >/dev/null || skip "strace is not here"
    "$helpers/checkpoint" a.pt large
    ASAN_OPTIONS=detect_leaks=0 strace -f -e trace=read,pread64 -o calls amn-inspect a.pt >out
    awk '/a\.pt|pread64|read\(3/ { n = $NF; if (n > 0) sum += n } END { exit !(sum > 0 && sum < 200000) }' calls
}

@test "deflated shards, the first or another one, in any order of tensors" {
    mkdir plain deflated
    for i in 1 2; do
        "$helpers/checkpoint" plain/$i.bin views prefix=z$((3 - i)).
        "$helpers/checkpoint" deflated/$i.bin views prefix=z$((3 - i)). deflated
        python3 -c 'import json, sys; [print(json.loads(l)[0], sys.argv[1]) for l in sys.stdin]' $i.bin <plain/$i.bin.expected
    done >names
    jq -Rn '{weight_map: [inputs / " " | {(.[0]): .[1]}] | add}' names | tee plain/pytorch_model.bin.index.json \
        >deflated/pytorch_model.bin.index.json
    for order in input name; do
        amn-remember --order $order plain >want
        for j in 1 3; do amn-remember -j $j --order $order deflated | cmp - want; done
    done
    amn-remember --range 1000-9000 deflated >part
    amn-remember --range 1000-9000 plain | cmp - part
    amn-remember --test deflated
    amn-remember -o made/ --shard-size 2K deflated
    try 75 amn-remember --no-spool deflated
    grep -q 'deflated/2.bin: limit: spool: .*decompress it first' err
    cp plain/1.bin deflated
    amn-remember --order name deflated | cmp - want
}

# objects NAME VALUE: writes NAME, a checkpoint of a tensor "model.w" and, under "extra", the pickle of a value.
objects() {
    python3 - "$1" "$2" <<'PYTHON'
import struct, sys, zipfile
text = lambda s: b"X" + struct.pack("<I", len(s)) + s.encode()
tensor = (b"ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu")
    + b"K\2tQK\0K\2\x85K\1\x85\x89ccollections\nOrderedDict\n)RtR")
value = eval(sys.argv[2], {"tensor": tensor, "text": text})
with zipfile.ZipFile(sys.argv[1], "w") as z:
    z.writestr("a/data.pkl", b"\x80\2}(" + text("model") + b"}" + text("w") + tensor + b"s" + text("extra") + value + b"u.")
    z.writestr("a/data/0", struct.pack("<2f", 1, 2))
    z.writestr("a/version", "3\n")
PYTHON
}

@test "objects beside the tensors are opaque: not called, not dangerous, and without tensors inside" {
    while IFS= read -r value; do
        objects o.pt "$value"
        both 0 o.pt amn-remember
        [ "$(amn-parse o.pt | jq -r .name)" = model.w ]
    done <<'VALUES'
b"cargparse\nNamespace\n)\x81}" + text("lr") + b"K\1sb"
b"comegaconf\nConfig\n)\x81}" + text("a") + b"]sb"
b"ca.b\nDict\n)\x81" + text("k") + b"K\1s"
b"ca.b\nList\n)\x81(K\1K\2e"
b"ctorch.jit._pickle\nbuild_intlist\n](K\1e\x85R"
VALUES
    n=0
    while IFS='|' read -r value name; do
        objects o.pt "$value"
        both 77 o.pt amn-remember
        grep -qF "references $name" err.file
        n=$((n + 1))
    done <<'VALUES'
b"ca.b\nf\n)R"|a.b.f
b"ca.b\nC\n"|a.b.C
b"cos\nsystem\n)\x81"|os.system
b"ca.b\nEma\n)\x81}" + text("w") + tensor + b"sb"|a.b.Ema
b"ca.b\nEma\n)\x81" + text("w") + tensor + b"s"|a.b.Ema
b"ca.b\nEma\n)\x81(" + tensor + b"e"|a.b.Ema
b"cargparse\nNamespace\n)\x81}" + text("w") + tensor + b"sb"|argparse.Namespace
VALUES
    [ $n -eq 7 ]
    objects o.pt 'b"ca.b\nEma\n)\x81}" + text("w") + tensor + b"sb"'
    try 0 amn-remember --root model -o o.safetensors o.pt
    [ "$(amn-parse o.safetensors | jq -r .name)" = w ]
}

@test "NumPy's arrays beside the tensors are left out with a warning that names the first" {
    try 0 amn-remember -o o.safetensors "$corpus/pth-good/beside_tensors.215.pt"
    grep -q 'left out arrays of NumPy, which are not tensors: 2 (the first is scores)' err
    [ "$(amn-parse o.safetensors | jq -r .name | sort | paste -sd ' ')" = "bias w" ]
}

@test "a type that cannot be decoded is listed, refused by name, and left out with --exclude" {
    while read -r f name rest; do
        amn-parse "$corpus/$f" | jq -r .dtype | grep -q '^unknown('
        try 69 amn-convert -o o.safetensors "$corpus/$f"
        grep -q "tensor $name: .*leave it out with --drop" err
        try 0 amn-convert --drop "$name" -o o.safetensors "$corpus/$f"
        [ "$(amn-parse o.safetensors | jq -r .name)" = "$rest" ]
    done <<'FILES'
pth-good/quint4x2.215.pt embed bias
npz-good/complex32.npz c b
FILES
}

@test "files of distributed checkpoints are named: one alone, slices" {
    mkdir dcp slices
    cp "$corpus/pth-good/fp4.215.pt" dcp/__0_0.distcp
    try 69 amn-inspect dcp/__0_0.distcp
    grep -q 'distributed checkpoint' err
    python3 - <<'PYTHON'
import json, struct
for n in 1, 2:
    h = json.dumps({"__metadata__": {"DCP_SHARDING_INFO": '{"w":{"saved_offsets":[%d,0]}}' % (n - 1)}, "w": {"dtype": "F32", "shape": [1, 2],
        "data_offsets": [0, 8]}}).encode()
    with open("slices/shard-0000%d-model-00001-of-00001.safetensors" % n, "wb") as f:
        f.write(struct.pack("<Q", len(h)) + h + bytes(8))
PYTHON
    try 69 amn-remember -o o.safetensors slices/shard-00001-model-00001-of-00001.safetensors
    grep -q 'slices of tensors.*give its directory' err
    [ ! -e o.safetensors ]
    try 0 amn-convert -o o.safetensors slices
    grep -qF 'do not tell how many shards there are: 2 are here, which makes tensor w [2, 2]' err
    echo '{"hidden_size": 2, "vocab_size": 3}' >slices/config.json
    try 0 amn-parse slices
}
