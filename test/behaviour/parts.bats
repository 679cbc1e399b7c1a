#!/usr/bin/env bats
# --part, --part-size, --parts, --plan: an output made in parts, and the cost of each.
load helper

# Prints how many bytes of its input amn-remember OPTIONS... reads.
bytes_read() {
    strace -f -y -e trace=pread64 -o trace amn-remember -j1 "$@" >/dev/null
    awk -v FS='= ' '/good-fp8-wide|in.safetensors/ { n += $NF } END { print n + 0 }' trace
}

# bats test_tags=full
@test "the parts I/N, in order, make up the output, and --size gives their lengths" {
    for f in good-fp8-wide.safetensors good-plain.safetensors good-gguf-k.gguf; do
        amn-remember "$fx/$f" >whole
        for n in 1 2 3 5 40; do
            : >parts
            for i in $(seq $n); do
                try 0 amn-remember --part "$i/$n" "$fx/$f"
                cat out >>parts
                [ "$(amn-remember --size --part "$i/$n" "$fx/$f")" -eq "$(wc -c <out)" ]
            done
            cmp parts whole || { echo "$f in $n parts"; return 1; }
        done
    done
}

@test "the parts I/N are cut at blocks, and otherwise equal" {
    size=$(amn-remember --size "$fx/good-fp8-wide.safetensors")
    blocks=$(((size + 524287) / 524288))
    [ "$blocks" -ge 3 ]
    for i in 1 2; do
        n=$(amn-remember --size --part "$i/3" "$fx/good-fp8-wide.safetensors")
        [ $((n % 524288)) -eq 0 ]
        [ $((n / 524288)) -ge $((blocks / 3)) ]
        [ $((n / 524288)) -le $(((blocks + 2) / 3)) ]
    done
}

@test "parts of a size: all equal except the last, and --parts gives their number" {
    f=$fx/good-fp8-wide.safetensors
    amn-remember "$f" >whole
    size=$(wc -c <whole)
    for each in 1000000 512K 3M 1G; do
        n=$(amn-remember --parts --part-size $each "$f")
        : >parts
        for i in $(seq "$n"); do
            try 0 amn-remember --part-size $each --part "$i" "$f"
            cat out >>parts
            [ "$i" -eq "$n" ] || { [ "$i" -eq 1 ] && first=$(wc -c <out); [ "$(wc -c <out)" -eq "$first" ]; }
        done
        cmp parts whole
        try 2 amn-remember --part-size $each --part $((n + 1)) "$f"
        is_empty out
        try 0 amn-remember --part-size $each --part "1/$n" "$f"
        try 2 amn-remember --part-size $each --part "1/$((n + 1))" "$f"
    done
    [ "$(amn-remember --parts --part-size 1000000 "$f")" -eq $(((size + 999999) / 1000000)) ]
}

@test "parts from a pipe, and in any order into one file" {
    f=$fx/good-fp8-wide.safetensors
    amn-remember "$f" >whole
    for i in 3 1 2; do
        cat "$f" | amn-remember --part $i/3 >part
        at=0
        for j in $(seq $((i - 1))); do at=$((at + $(amn-remember --size --part "$j/3" "$f"))); done
        dd if=part of=joined bs=65536 seek="$at" oflag=seek_bytes conv=notrunc status=none
    done
    cmp joined whole
}

@test "invalid parts" {
    f=$fx/good-plain.safetensors
    for p in 0/3 4/3 1/0 1 x/3 1/x -1/3 1/3/4 '' /3 1/; do
        try 2 amn-remember --part "$p" "$f"
        is_empty out
    done
    try 2 amn-remember --part 1/2 --range 0-9 "$f"
    try 2 amn-remember --part-size 1M --range 0-9 "$f"
    try 2 amn-remember --part-size 0 --part 1 "$f"
    try 2 amn-remember --parts "$f"
    try 2 amn-remember --size --plan "$f"
}

@test "the plan has the places of tensors in the header, and the inputs they need" {
    for f in good-fp8-wide.safetensors good-plain.safetensors good-gguf.gguf good-sharded; do
        amn-remember "$fx/$f" >whole.safetensors
        try 0 amn-remember --plan "$fx/$f"
        amn-parse --json whole.safetensors | jq -r '[.name, .dtype, (.shape | tostring), .offset, .nbytes] | @tsv' |
            sort >header
        jq -r 'select(.name) | [.name, .dtype, (.shape | tostring), .offset, .nbytes] | @tsv' out | sort >plan
        cmp header plan
        jq -es 'all(.report == 1 and (.file or (.inputs | length) > 0))' out >/dev/null
    done
    amn-parse --json "$fx/good-fp8-wide.safetensors" | jq -r '[.name, .offset, .nbytes] | @tsv' | sort -u >stored
    amn-remember --plan "$fx/good-fp8-wide.safetensors" | jq -r '.inputs[]? | [.tensor, .offset, .nbytes] | @tsv' |
        sort -u >needed
    cmp stored needed
}

@test "the members of a plan are documented in amn-json(5)" {
    for f in "$fx/good-sharded" "$fx/good-fp8-late.safetensors" "$fx/good-gguf.gguf"; do
        amn-remember --plan "$f"
        amn-remember --plan --part 2/3 "$f"
    done >lines
    jq -c 'select(.name)' lines | "$helpers/json-keys" AMN-REMEMBER
    jq -c 'select(.file)' lines | "$helpers/json-keys" 'FILES OF A PLAN'
}

@test "the plan of a part has its tensors, and the parts of their inputs that it needs" {
    f=$fx/good-fp8-wide.safetensors
    for i in 1 2 3; do amn-remember --plan --part $i/3 "$f" | jq -r '.name // empty'; done | sort -u >parts
    amn-remember --plan "$f" | jq -r '.name // empty' | sort -u | cmp - parts
    whole=$(amn-remember --plan "$f" | jq -s '[.[].inputs[]?.nbytes] | add')
    part=$(amn-remember --plan --part 2/3 "$f" | jq -s '[.[].inputs[]?.nbytes] | add')
    [ "$part" -lt $((whole / 2)) ]
}

# scrubbed MODEL FILE: in.scrubbed is the model with zeros for the data of FILE, whose header stays.
scrubbed() {
    rm -rf in.scrubbed
    cp -r "$1" in.scrubbed
    python3 - "in.scrubbed/$2" <<'PYTHON'
import sys
f = open(sys.argv[1], "r+b")
n = 8 + int.from_bytes(f.read(8), "little")
size = f.seek(0, 2)
f.seek(n)
f.write(bytes(size - n))
PYTHON
}

@test "free_after: from there on the output does not depend on the data of the file, and before it does" {
    python3 -c 'import random
from modelfile import write
rnd = random.Random(9)
write("m.safetensors", [("l.%d.weight" % i, "BF16", [64, 256], b"".join(bytes([rnd.randrange(256), 0x3c + rnd.randrange(4)]) for _ in range(64 * 256)))
      for i in range(12)])'
    amn-convert -q -o in/ --shard-size 100K m.safetensors
    [ "$(ls in/*.safetensors | wc -l)" -ge 4 ]
    for job in 'amn-remember --to f32' 'amn-forget -q --scheme q8_0 --pure' 'amn-forget -q --scheme int8' \
        'amn-convert --order name --to safetensors'; do
        $job in >whole
        $job --plan in | jq -r 'select(.file) | [.file, .free_after] | @tsv' >files
        [ "$(wc -l <files)" -eq "$(ls in/*.safetensors | wc -l)" ]
        [ "$(cut -f 2 files | sort -n | tail -n 1)" -gt $(($(stat -c %s whole) - 32)) ]    # GGUF ends with padding
        $job --plan --part 2/3 in | jq -r 'select(.file) | [.file, .free_after] | @tsv' | cmp - files
        while IFS=$'\t' read -r file after; do
            scrubbed in "${file##*/}"
            $job in.scrubbed >other
            cmp <(tail -c +$((after + 1)) whole) <(tail -c +$((after + 1)) other)
            try 1 cmp -s <(head -c $after whole | tail -c 4000) <(head -c $after other | tail -c 4000)
        done <files
    done
}

@test "a part reads only what it needs" {
    command -v strace >/dev/null && strace -o trace true 2>/dev/null || skip "no strace here"
    ! is_sanitized || skip "the sanitizer does not bear strace"
    f=$fx/good-fp8-wide.safetensors
    whole=$(bytes_read "$f")
    [ "$whole" -ge $((9 * $(wc -c <"$f") / 10)) ]
    header=$(bytes_read --size "$f")
    for i in 1 2 3; do
        part=$(bytes_read --part $i/3 "$f")
        # a third, one more block for rounding, and the header
        [ $((part - header)) -le $(((whole - header) / 3 + 300000)) ] || { echo "$part of $whole"; return 1; }
    done
    [ $(($(bytes_read --part-size 1000 --part 100 "$f") - header)) -le 8000 ]
}

@test "the uploads and files of amn(7): each part by curl, or by dd into one file" {
    command -v curl >/dev/null || skip "no curl here"
    f=$fx/good-fp8-wide.safetensors
    amn-remember "$f" >whole
    "$helpers/put-server" . >port &
    server=$!
    while [ ! -s port ]; do sleep 0.05; done
    n=$(amn-remember --parts --part-size 1M "$f")
    truncate -s "$(amn-remember --size "$f")" joined
    for i in $(seq "$n" | shuf); do
        part="--part-size 1M --part $i"
        amn-remember $part "$f" | curl -sf -T - -H Transfer-Encoding: \
            -H "Content-Length: $(amn-remember --size $part "$f")" "http://127.0.0.1:$(cat port)/part.$i" ||
            { kill $server; return 1; }
        { dd bs=1 count=0 seek=$(((i - 1) << 20)) status=none </dev/null; amn-remember $part "$f"; } 1<>joined
    done
    kill $server
    for i in $(seq "$n"); do cat "part.$i"; done | cmp - whole
    cmp joined whole
}
