#!/usr/bin/env bats
# bats file_tags=full
# amn-inspect and amn-parse with several operands: each is handled independently.
load helper

# Some of each kind: a directory, an index, a split model, a compressed one, one without tensors, a duplicate.
several() {
    gzip -c <"$fx/good-gguf-k.gguf" >packed.gguf.gz
    models=("$fx/good-plain.safetensors" "$fx/good-sharded" "$fx/good-gguf.gguf" "$fx/good-no-tensors.safetensors"
        "$fx/good-sharded/model.safetensors.index.json" "$corpus/gguf-good/nvfp4-scale-split-00001-of-00002.gguf"
        packed.gguf.gz "$fx/good-fp8-late.safetensors" "$fx/good-gguf.gguf")
}

@test "amn-inspect: the lines are those of each operand alone" {
    several
    for how in '' '--to f16' --arrays --metadata; do
        for m in "${models[@]}"; do
            amn-inspect $how "$m"
        done >alone
        try 0 amn-inspect $how "${models[@]}"
        cmp alone out
        [ "$(jq -r .file out)" = "$(printf '%s\n' "${models[@]}")" ]
    done
}

@test "amn-parse: the lines are those of each operand alone, distinguished by model and file" {
    several
    for m in "${models[@]}"; do
        try 0 amn-parse "$m"
        jq -es 'all(.model == null)' out >/dev/null
        jq -c --arg m "$m" '.model = $m | .file = (.file // $m)' out
    done >alone
    try 0 amn-parse "${models[@]}"
    [ "$(wc -l <out)" -gt 20 ]
    diff alone <(jq -c . out)
    (cd "$fx" && amn-parse good-plain.safetensors - <good-gguf.gguf) >out
    [ "$(jq -r '[.model, .file] | @tsv' out | uniq)" = \
        "$(printf 'good-plain.safetensors\tgood-plain.safetensors\n-\t(standard input)')" ]
}

@test "for people: each under its name, separated by empty lines; the same on a terminal" {
    several
    for t in "amn-inspect -q" "amn-parse -q" "amn-inspect -q --metadata"; do
        n=0
        for m in "${models[@]}"; do
            [ $n -eq 0 ] || echo
            n=$((n + 1))
            printf '%s:\n' "$m"
            $t --human "$m"
        done >alone
        try 0 $t --human "${models[@]}"
        cmp alone out
        try 0 env NO_COLOR=1 COLUMNS=400 "$helpers/pty" $t "${models[@]}"
        tr -d '\r' <out >terminal
        cmp alone terminal
    done
}

@test "for people: a hostile name cannot fake a heading; standard input has one too" {
    evil=$'x\x1b[2K\rOK\nforged'
    cp "$fx/good-plain.safetensors" "$evil"
    for t in amn-inspect amn-parse; do
        try 0 $t --human "$evil" - "$evil" <"$fx/good-gguf.gguf"
        "$helpers/no-controls" out
        [ "$(grep -c ':$' out)" -eq 3 ]
        grep -q '^(standard input):$' out
        try 0 $t "$evil" "$evil"
        "$helpers/no-controls" out
    done
}

# bats test_tags=full
@test "the three tools agree on all good models in one list" {
    mapfile -t models < <(find "$fx" "$corpus/safetensors-good" "$corpus/gguf-good" -maxdepth 1 \( -name '*.safetensors' -o -name '*.gguf' \) |
        sort)
    [ ${#models[@]} -ge 250 ]
    for t in amn-inspect amn-parse; do
        got=0
        $t "${models[@]}" >all.$t 2>err.$t || got=$?
        [ $got -eq "$(for m in "${models[@]}"; do
            s=0
            $t "$m" >>each.$t 2>>each.err.$t || s=$?
            echo $s
        done | sort -n | tail -n 1)" ]
        cmp err.$t each.err.$t
    done
    cmp all.amn-inspect each.amn-inspect
    diff <(jq -c 'del(.model, .file)' all.amn-parse) <(jq -c 'del(.model, .file)' each.amn-parse)
    diff <(jq -c 'select(.tensors > 0) | [.file, .tensors, .bytes]' all.amn-inspect) \
        <(jq -c -n 'reduce inputs as $t ([]; if .[-1][0] == $t.model then .[-1][1] += 1 | .[-1][2] += $t.nbytes
            else . + [[$t.model, 1, ($t.nbytes // 0)]] end) | .[]' all.amn-parse)
}

# bats test_tags=full
@test "a failure is reported, the others are done, the status is the highest" {
    good=$fx/good-plain.safetensors
    cut=$fx/bad-gguf-cut.gguf
    head -c 20 "$good" >cut.safetensors
    old=$fx/unsupported-gguf-v1.gguf
    # told STATUS OPERAND...: this status; as many good models as the list has, and a line for each other one.
    told() {
        local want=$1 m n=0
        shift
        for m; do [ "$m" != "$good" ] || n=$((n + 1)); done
        for t in amn-inspect amn-parse; do
            try "$want" $t "$@"
            [ "$(jq -s 'map(select(.name == null or .name == "a")) | length' out)" -eq $n ]
            [ "$(wc -l <err)" -eq $(($# - n)) ]
            try "$want" $t --human "$@"
            [ "$(grep -c 'good-plain.safetensors:$' out)" -eq $n ]
            try "$want" $t --json-errors "$@"
            [ "$(jq -s 'map(.status) | max // 0' err)" -eq "$want" ]
            [ "$(jq -s length err)" -eq $(($# - n)) ]
        done
    }
    told 0 "$good" "$good"
    told 65 "$good" "$cut" "$good"
    told 65 cut.safetensors "$good"
    told 66 "$good" "$cut" nowhere "$good" cut.safetensors
    told 69 nowhere "$old" "$good" "$cut" "$good"
    told 66 nowhere nowhere
    mkdir empty two
    told 66 "$good" empty "$good"
    cp "$good" two/a.safetensors
    cp "$good" two/b.safetensors
    told 2 "$good" two "$good"
    told 65 two "$good" "$cut"
    jq -e '.file == "two"' <(head -n 1 err)
    try 75 amn-inspect --max-items=3 "$fx/good-fp8-late.safetensors" "$cut" "$fx/good-gguf.gguf"
    is_empty out
}

@test "errors of the command line are reported once, before anything is done" {
    for t in amn-inspect amn-parse; do
        try 2 $t --input-scheme gtpq "$fx/good-plain.safetensors" nowhere
        is_empty out
        [ "$(wc -l <err)" -eq 1 ]
        try 2 $t - "$fx/good-plain.safetensors" - <"$fx/good-gguf.gguf"
        is_empty out
        error_line $t usage
        grep -q "'-' given 2 times" err
        # An error of one model only: with its name, and the others are done.
        try 2 $t --input-scheme gptq "$fx/good-plain.safetensors" "$corpus/safetensors-good/gptq-4bit-asym-shuffled.safetensors"
        grep -q '^[a-z-]*: .*good-plain.safetensors: usage: ' err
        grep -q gptq out
    done
}

@test "pipes among operands: standard input, and more by name" {
    f=$fx/good-fp8-late.safetensors
    g=$fx/good-gguf.gguf
    for t in amn-inspect amn-parse; do
        $t -q - nowhere <(cat "$g") "$f" < <(cat "$f") >out 2>err && got=0 || got=$?
        [ $got -eq 66 ]
        [ "$(wc -l <err)" -eq 1 ]
        diff <(jq -c 'del(.file, .model)' out) <({ $t "$f"; $t "$g"; $t "$f"; } | jq -c 'del(.file, .model)')
        "$helpers/trickle" "$f" 2>/dev/null | try 65 $t "$g" "$fx/bad-hole.safetensors" -
        diff <(jq -c 'del(.file, .model)' out) <({ $t "$g"; $t "$f"; } | jq -c 'del(.file, .model)')
    done
}

@test "a reader that exits ends the tool quietly, also between two models" {
    many=$corpus/safetensors-good/5000-tensors.safetensors
    for t in amn-parse "amn-parse --human"; do
        { $t "$many" nowhere 2>err && echo 0 >status || echo $? >status; } | head -c 10 >/dev/null
        [ "$(cat status)" -eq 141 ]
        is_empty err
    done
    mkfifo p
    for t in amn-inspect amn-parse; do
        { $t "$fx/good-gguf.gguf" p nowhere 2>err && echo 0 >status || echo $? >status; } |
            { head -n 1; exec <&-; cat "$fx/good-plain.safetensors" >p; } >first
        [ "$(cat status)" -eq 141 ]
        is_empty err
        jq -e . first
    done
}

@test "a full disk ends it at once: 74, one line, nothing more is opened" {
    need_full
    for t in amn-inspect amn-parse "amn-inspect --human --metadata" "amn-parse --human"; do
        out=/dev/full try 74 $t "$fx/good-plain.safetensors" nowhere "$fx/good-gguf.gguf"
        error_line "${t%% *}" input/output
        out=/dev/full try 74 $t nowhere "$fx/good-plain.safetensors" nowhere
        [ "$(wc -l <err)" -eq 2 ]
        got=0
        $t "$fx/good-plain.safetensors" nowhere >&- 2>err || got=$?
        [ $got -eq 74 ]
        error_line "${t%% *}" input/output
    done
}

@test "a report that would be appended to a later input is refused at the start: 73, every input is unchanged" {
    cp -r "$fx/good-sharded" model
    cp "$fx/good-plain.safetensors" input
    for t in amn-inspect amn-parse; do
        for o in input model/model.safetensors.index.json model/*-00002-of-*; do
            cp "$o" copy
            for list in "$fx/good-gguf.gguf input model" "model input -" "- model input" "nowhere model input"; do
                got=0
                $t $list >>"$o" 2>err <"$fx/good-gguf.gguf" || got=$?
                [ $got -eq 73 ] || { echo "status $got: $t $list >>$o"; return 1; }
                [ "$(wc -l <err)" -eq 1 ]
                grep -q 'the output would overwrite this input' err
                cmp "$o" copy
            done
        done
        cp input copy
        got=0
        $t "$fx/good-gguf.gguf" - <input >>input 2>err || got=$?
        [ $got -eq 73 ]
        cmp input copy
        echo before >list
        mkfifo p$t
        cat input >p$t &
        $t "$fx/good-gguf.gguf" p$t - <input >>list     # the check beforehand consumes nothing of a pipe
        [ "$(tail -n +2 list | jq -s 'map(.file) | unique | length')" -eq 3 ]
    done
}

# bats test_tags=full
@test "memory and descriptors do not grow with the list" {
    without_sanitizer
    f=$corpus/safetensors-good/5000-tensors.safetensors
    for t in amn-inspect amn-parse "amn-inspect --human --metadata" "amn-parse --human"; do
        few=$("$peak_memory" $t "$f" "$fx/good-gguf-k.gguf" "$f" "$fx/good-sharded")
        all=$(for i in $(seq 20); do
            printf '%s\n' "$f" "$fx/good-gguf-k.gguf" "$fx/good-sharded"
        done | (ulimit -n 30; xargs "$peak_memory" $t))
        [ "$all" -le $((few + 1024)) ] || { echo "$t: $few KiB, of many $all KiB"; return 1; }
    done
}
