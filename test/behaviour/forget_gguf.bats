#!/usr/bin/env bats
# bats file_tags=full
# amn-forget to GGUF: mixes, importance, rules, targets, reports. test/peers/peer_quantize.py compares with llama-quantize; the
# golden bytes of the encoders are in unit tests.
load helper

tiny() { "$helpers/tiny-gguf" "$@"; }

# types FILE: prints NAME=TYPE for each tensor of two dimensions, sorted by name.
types() {
    amn-parse "$1" | jq -r 'select(.shape | length > 1) | .name + "=" + .dtype' | sed 's/\.weight=/=/' | sort -V
}

# of FILE WORD: prints the types of blocks 0, 1 ... of one kind, in one line.
of() {
    types "$1" | sed -n "s/^blk\.[0-9]*\.$2=//p" | paste -sd ' '
}

@test "mixes: types by name and layer, as in llama-quantize" {
    tiny model m.gguf layers=8
    amn-forget -q --scheme q4_k_m -o out.gguf m.gguf
    [ "$(of out.gguf attn_v)" = "Q6_K Q4_K Q4_K Q6_K Q4_K Q4_K Q6_K Q6_K" ]
    [ "$(of out.gguf ffn_down)" = "Q6_K Q4_K Q4_K Q6_K Q4_K Q4_K Q6_K Q6_K" ]
    for part in attn_q attn_k attn_output ffn_gate ffn_up; do
        [ "$(of out.gguf $part)" = "Q4_K Q4_K Q4_K Q4_K Q4_K Q4_K Q4_K Q4_K" ]
    done
    types out.gguf | grep -qx token_embd=Q4_K
    types out.gguf | grep -qx output=Q6_K
    amn-inspect out.gguf | jq -e '.gguf.file_type == "Q4_K - Medium" and .metadata["general.quantization_version"] == 2'
    amn-forget -q --scheme Q4_K -o short.gguf m.gguf
    cmp out.gguf short.gguf
    amn-forget -q --scheme q3_k_m -o out.gguf -f m.gguf
    [ "$(of out.gguf attn_v)" = "Q5_K Q5_K Q4_K Q4_K Q4_K Q4_K Q4_K Q4_K" ]
    [ "$(of out.gguf attn_output)" = "Q4_K Q4_K Q4_K Q4_K Q4_K Q4_K Q4_K Q4_K" ]
    [ "$(of out.gguf attn_q)" = "Q3_K Q3_K Q3_K Q3_K Q3_K Q3_K Q3_K Q3_K" ]
    tiny model gqa.gguf heads=8 kv=2
    amn-forget -q --scheme q2_k -o out.gguf gqa.gguf
    [ "$(of out.gguf attn_v)" = "Q4_K Q4_K" ]
    [ "$(of out.gguf ffn_up)" = "Q2_K Q2_K" ]
    amn-parse out.gguf | jq -se 'map(select(.name | test("norm")).dtype) | unique == ["F32"]'
}

@test "tied embeddings count as the head; without keys all weights have one type" {
    tiny model tied.gguf tied=1
    amn-forget -q --scheme q4_k_m -o out.gguf tied.gguf
    types out.gguf | grep -qx token_embd=Q6_K
    tiny model plain.gguf keys=0
    amn-forget -q --scheme q4_k_m -o out.gguf plain.gguf
    [ "$(types out.gguf | sed 's/.*=//' | sort -u | paste -sd ' ')" = "F32 Q4_K" ]
    types out.gguf | grep -qx token_embd=F32
    amn-forget -q --scheme q4_k_m --pure -o pure.gguf plain.gguf
    [ "$(types pure.gguf | sed 's/.*=//' | sort -u)" = Q4_K ]
}

@test "rows that are not a multiple of the block: the fallback type of llama-quantize" {
    tiny model m.gguf cols=96
    for pair in q4_k_s=Q5_0 q5_k_s=Q5_1 q6_k=Q8_0 iq4_xs=IQ4_NL q2_k_s=Q4_0; do
        amn-forget -q --scheme ${pair%=*} -o out.gguf m.gguf
        of out.gguf ffn_up | grep -qx "${pair#*=} ${pair#*=}"
    done
    tiny model odd.gguf cols=40
    try 2 amn-forget --scheme q4_k odd.gguf
    grep -q 'no weight to quantize as' err || grep -q 'F16' err
}

# bats test_tags=full
@test "rows that are not a multiple of 32 become F16, a one-row matrix is kept, --pure keeps what llama-quantize keeps" {
    tiny model m.gguf more=blk.0.other.weight:40x8,blk.0.one_row.weight:256x1,blk.0.ffn_gate_inp.weight:256x4,blk.0.ssm_conv1d.weight:256x4,blk.0.ssm_a:256x16
    for options in "--scheme q8_0" "--scheme q8_0 --pure" "--scheme q4_0" "--scheme q4_k_m" "--scheme iq4_nl --pure"; do
        amn-forget -q $options -o out.gguf m.gguf
        [ "$(of out.gguf other)" = F16 ]
        for name in one_row.weight ffn_gate_inp.weight ssm_conv1d.weight ssm_a; do
            amn-parse out.gguf | jq -se --arg name blk.0.$name 'map(select(.name == $name))[0].dtype == "F32"'
        done
    done
    amn-forget --scheme q8_0 --pure --dry-run m.gguf |
        jq -se 'map(select(.name == "blk.0.one_row.weight"))[0].why == "not a matrix"'
}

@test "types that llama-quantize refuses without an importance matrix are made, with a warning" {
    tiny model m.gguf
    tiny dat i.dat
    tiny dat less.dat no=blk.1.ffn_up.weight
    while read -r scheme type others; do
        try 0 amn-forget --scheme $scheme -o out.gguf m.gguf
        [ "$(grep -c 'warning' err)" -eq 1 ]
        grep -q "warning: blk.0.attn_[kq].weight and $others other weights: $type without an importance matrix (use --imatrix FILE); llama-quantize refuses this\$" err
        try 0 amn-forget --scheme $scheme --imatrix i.dat -o out.gguf m.gguf
        refute grep -q warning err
    done <<'EOF'
iq3_xxs IQ2_S 7
q2_k_s Q2_K 13
EOF
    try 0 amn-forget --scheme iq3_xxs --pure --imatrix less.dat -o out.gguf m.gguf
    grep -q 'warning: blk.1.ffn_up.weight: IQ3_XXS without an importance matrix (use' err
    for scheme in q2_k iq3_s iq4_xs; do
        try 0 amn-forget --scheme $scheme --pure -o out.gguf m.gguf
        refute grep -q warning err
    done
}

# imatrix_keys FILE: the keys that say which importance matrix was used.
imatrix_keys() { amn-inspect "$1" | jq -c '[.metadata | to_entries[] | select(.key | startswith("quantize.imatrix.")) | [.key[17:], .value]]'; }

@test "the importance matrix is named in the keys of llama-quantize, texts cut at 127 bytes" {
    tiny model m.gguf
    tiny dat i.dat
    printf '\007\000\000\000\010\000\000\000wiki.txt' >>i.dat
    amn-forget -q --scheme q4_k --imatrix i.dat -o out.gguf m.gguf
    n=$(imatrix_keys out.gguf | jq '.[2][1]')
    [ "$(imatrix_keys out.gguf)" = "[[\"file\",\"i.dat\"],[\"dataset\",\"wiki.txt\"],[\"entries_count\",$n],[\"chunks_count\",7]]" ]
    [ "$n" -gt 1 ]
    long=$(printf 'é%.0s' {1..70}).dat
    cp i.dat "$long"
    amn-forget -q --scheme q4_k --imatrix "$long" -o cut.gguf m.gguf
    [ "$(imatrix_keys cut.gguf | jq -r '.[0][1]' | tr -d '\n')" = "$(printf 'é%.0s' {1..63})" ]
    amn-forget -q --scheme q4_k --imatrix i.dat --gguf-unset quantize.imatrix.file --gguf-kv quantize.imatrix.dataset=mine -o set.gguf m.gguf
    imatrix_keys set.gguf | grep -q '^\[\["dataset","mine"\],\["entries'
    amn-forget -q --scheme q8_0 --imatrix i.dat -o again.gguf out.gguf
    amn-forget -q --scheme q8_0 -o none.gguf m.gguf
    [ "$(imatrix_keys none.gguf)" = '[]' ]
    amn-convert -q --dequantize --to gguf -o plain.gguf out.gguf
    [ "$(imatrix_keys plain.gguf)" = '[]' ]
}

@test "counts of an importance matrix are truncated: 2.4 is 2, 0.4 is 0" {
    tiny model m.gguf
    tiny gguf two.gguf
    tiny gguf fraction.gguf counts=2.4
    tiny gguf least.gguf counts=0.4
    for i in two fraction least; do
        cp $i.gguf i.gguf           # a key has the name
        amn-forget -q --scheme q4_0 --pure --imatrix i.gguf -o $i.out m.gguf
    done
    cmp two.out fraction.out
    refute cmp -s two.out least.out
}

# bats test_tags=full
@test "file, pipe, workers, kernels, direct I/O: the same bytes; --size and ranges" {
    tiny model m.gguf
    tiny dat i.dat
    for options in "--scheme q4_k_m" "--scheme iq3_s" "--scheme iq2_xs --imatrix i.dat" "--scheme q5_k --imatrix i.dat" \
        "--scheme q8_0 --dtype bf16" "--scheme nvfp4 --to gguf --pure"; do
        both 0 m.gguf amn-forget -q $options
        cmp out.file out.pipe
        amn-forget -q $options -j 1 -o other m.gguf; cmp out.file other
        amn-forget -q $options -j 4 --direct=always -o other m.gguf; cmp out.file other
        AMN_CPU=scalar amn-forget -q $options -o other m.gguf; cmp out.file other
        case $options in *--to*) ;; *) amn-convert -q --to ${options#--scheme } -o other m.gguf; cmp out.file other ;; esac
        size=$(amn-forget -q $options --size m.gguf)
        [ "$size" -eq "$(wc -c <out.file)" ]
        for range in 0-99 1000-30001 30000- -5; do
            amn-forget -q $options --range $range m.gguf >some
            python3 - "$range" <<'PYTHON'
import sys
whole, some, r = open("out.file", "rb").read(), open("some", "rb").read(), sys.argv[1]
a, b = r.split("-")
assert some == (whole[-int(b):] if not a else whole[int(a):int(b) + 1 if b else None]), r
PYTHON
        done
        for i in 1 2 3; do amn-forget -q $options --part $i/3 m.gguf; done | cmp - out.file
        amn-forget -q $options --plan m.gguf >plan
        jq -se --argjson size $size 'map(select(.name) | .offset + .nbytes) | max <= $size' plan
    done
}

@test "an importance matrix in both formats; types that need one say so" {
    tiny model m.gguf
    tiny dat i.dat
    tiny gguf i.gguf
    amn-forget -q --scheme q4_k -o without m.gguf
    amn-forget -q --scheme q4_k --imatrix i.dat -o old m.gguf
    amn-forget -q --scheme q4_k --imatrix i.gguf -o new m.gguf
    amn diff old new >/dev/null
    amn-inspect new | jq -e '.metadata | .["quantize.imatrix.file"] == "i.gguf" and .["quantize.imatrix.entries_count"] > 0'
    refute cmp -s without old
    for scheme in iq2_xs iq2_xxs iq1_s; do
        try 2 amn-forget --scheme $scheme m.gguf
        grep -qiE "tensor .*: $scheme requires an importance matrix: use --imatrix FILE" err
        is_empty out
        try 0 amn-forget -q --scheme $scheme --imatrix i.gguf m.gguf
    done
    tiny dat less.dat no=blk.1.ffn_up.weight
    try 2 amn-forget --scheme iq2_xs --imatrix less.dat m.gguf
    grep -q 'tensor blk.1.ffn_up.weight: .*--imatrix has no entry for it' err
    try 0 amn-forget -q --scheme q4_k --imatrix less.dat m.gguf
}

# bats test_tags=broken
@test "an invalid importance matrix" {
    tiny model m.gguf
    for form in dat gguf; do
        tiny $form other.$form cols=128
        try 65 amn-forget --scheme q4_k --imatrix other.$form m.gguf
        error_line amn-forget malformed
        grep -q 'importance matrix of another model' err
        is_empty out
        for value in -1 nan inf; do
            tiny $form bad.$form value=$value
            try 65 amn-forget --scheme q4_k --imatrix bad.$form m.gguf
            error_line amn-forget malformed
            grep -q 'tensor .*: importance of column 0 is negative or not a number' err
        done
    done
    tiny gguf none.gguf counts=0
    try 65 amn-forget --scheme q4_k --imatrix none.gguf m.gguf
    grep -q 'missing or mismatched .counts tensor' err
    try 66 amn-forget --scheme q4_k --imatrix nowhere m.gguf
    error_line amn-forget 'cannot open'
    try 65 amn-forget --scheme q4_k --imatrix m.gguf m.gguf
    grep -q 'the importance matrix has no entries' err
    echo text >text
    try 65 amn-forget --scheme q4_k --imatrix text m.gguf
    tiny dat i.dat
    try 73 amn-forget --scheme q4_k --imatrix i.dat -o i.dat m.gguf
    try 2 amn-convert --to gguf --imatrix i.dat m.gguf
}

# bats test_tags=full,broken
@test "an importance matrix truncated anywhere is never taken for a complete one" {
    tiny model m.gguf cols=32 layers=1
    every=1
    if is_sanitized; then every=7; fi
    for form in dat gguf; do
        tiny $form cut cols=32 layers=1
        [ $form = gguf ] || printf '\7\0\0\0\4\0\0\0text' >>cut         # chunks, and the name of the calibration data
        amn-forget -q --scheme q4_0 --imatrix cut -o whole m.gguf
        python3 - $form $every <<'PYTHON'
import subprocess, sys
form, every = sys.argv[1], int(sys.argv[2])
data, whole, wrong = open("cut", "rb").read(), open("whole", "rb").read(), 0
for n in range(0, len(data), every * (1 if form == "dat" else 3)):
    with open("cut", "wb") as f:
        f.write(data[:n])
    p = subprocess.run(["amn-forget", "-q", "--scheme", "q4_0", "--imatrix", "cut", "m.gguf"], capture_output=True)
    if form == "dat" and n == len(data) - 12:       # complete: older programs write nothing after the entries
        wrong += p.returncode != 0
    elif p.returncode != 65 and not (p.returncode == 0 and p.stdout == whole):
        wrong += 1
        print(n, p.returncode, p.stderr.decode())
sys.exit(wrong != 0)
PYTHON
    done
}

@test "--tensor-type: the first match wins; plain types; errors" {
    tiny model m.gguf
    amn-forget -q --scheme q4_k_s --tensor-type 'blk\.0\.attn_(q|k)=q8_0' --tensor-type 'attn_q=q5_0' --tensor-type 'ffn_up=bf16' \
        --tensor-type '^token=F16' -o out.gguf m.gguf
    try 2 amn-forget --scheme q4_k_s --tensor-type 'norm=q8_0' -o none.gguf m.gguf
    grep -q "norm=q8_0' has no effect: output_norm.weight: not a matrix" err
    [ "$(of out.gguf attn_q)" = "Q8_0 Q5_0" ]
    [ "$(of out.gguf attn_k)" = "Q8_0 Q4_K" ]
    [ "$(of out.gguf ffn_up)" = "BF16 BF16" ]
    types out.gguf | grep -qx token_embd=F16
    amn-parse out.gguf | jq -se 'any(.name == "output_norm.weight" and .dtype == "F32")'      # not a matrix
    for rule in x =q8_0 x= '(=q8_0' 'x=q9' 'x=nf4' 'x=i8'; do
        try 2 amn-forget --scheme q4_k --tensor-type "$rule" m.gguf
        grep -q -- '--tensor-type' err
        is_empty out
    done
}

# bats test_tags=full
@test "--target-size: the output fits, has no larger error than a smaller one, and is reproducible" {
    tiny model m.gguf layers=3
    last=
    for size in 120K 0.12M 140000 200K; do
        options="--target-size $size --candidates q3_k,q4_k,q6_k,q8_0"
        try 0 amn-forget -q $options -o out.gguf --report lost m.gguf
        bytes=$(numfmt --from=iec ${size/0.12M/0.12M})
        [ "$(wc -c <out.gguf)" -le "${bytes%.*}" ]
        amn-forget -q $options -j 1 m.gguf | cmp - out.gguf
        AMN_CPU=scalar amn-forget -q $options m.gguf | cmp - out.gguf
        amn-forget -q $options <m.gguf | cmp - out.gguf
        amn-forget --dry-run $options m.gguf >mix
        xargs amn-forget -q m.gguf <mix | cmp - out.gguf
    done
    amn-forget --dry-run --json $options m.gguf | jq -se 'map(select(.encoder)) | length == 23'
    try 2 amn-forget --target-size 10K m.gguf
    grep -qE -- '--target-size too small: the smallest possible output of these --candidates is [0-9]+ bytes, the target is 10240' err
    size=$(sed -E 's/.*--candidates is ([0-9]+) bytes.*/\1/' err)
    try 0 amn-forget -q --target-size $size -o least.gguf m.gguf
    [ "$(wc -c <least.gguf)" -eq "$size" ]
    try 2 amn-forget --target-size $((size - 1)) m.gguf
}

@test "--target-bpw, and a target for safetensors with its larger header" {
    tiny model m.gguf
    amn-forget -q --target-bpw 5 -o out.gguf m.gguf
    amn-parse out.gguf | jq -se '(map(.nbytes) | add) * 8 / (map(.shape | reduce .[] as $d (1; . * $d)) | add) <= 5'
    tiny model plain.gguf keys=0 layers=4
    amn-convert -q --to safetensors plain.gguf >plain
    for size in 250000 250001 250100 251000; do
        amn-forget -q --target-size $size --candidates nf4,int8 -o out.safetensors plain
        [ "$(wc -c <out.safetensors)" -le $size ]
    done
    for bad in "--target-size 0" "--target-bpw 0" "--target-bpw x" "--target-size 1M --target-bpw 4" "--target-size 1M --scheme q8_0" \
        "--target-size 1M --candidates nosuch" "--target-size 1M --candidates q4_k,nf4" "--candidates q4_k --scheme q4_k" \
        "--target-size 1M --candidates ," "--target-size 1M --pure"; do
        try 2 amn-forget $bad m.gguf
        is_empty out
    done
}

@test "--report: the same for any number of workers, with the members in amn-json(5)" {
    tiny model m.gguf
    for scheme in q4_k_m q8_0; do
        try 0 amn-forget --scheme $scheme --report one -j 1 -o out.gguf m.gguf
        grep -qE '^amn-forget: .*: note: quantized 16 weights \([0-9]+ elements\) as '$scheme': SQNR [0-9.]+ dB, mean error [0-9.e-]+, max [0-9.e-]+, cosine [0-9.]+$' err
        amn-forget -q --scheme $scheme --report many -j 4 -o out.gguf m.gguf; cmp one many
        amn-forget -q --scheme $scheme --report direct --direct=always -o out.gguf m.gguf; cmp one direct
        AMN_CPU=scalar amn-forget -q --scheme $scheme --report scalar --test m.gguf; cmp one scalar
        amn-forget -q --scheme $scheme --report pipe <m.gguf >out; cmp one pipe
        jq -se '.[:-1] as $w | .[-1] | .total == ($w | length) and .elements == ($w | map(.elements) | add)
            and .nbytes == ($w | map(.nbytes) | add) and .max_error == ($w | map(.max_error) | max)' one
    done
    "$helpers/weights" zeros a.weight=F32:64x64:zeros
    "$helpers/weights" nan a.weight=F32:64x64:nan
    "$helpers/weights" infinite a.weight=F32:64x64:infinite
    for odd in zeros nan infinite; do
        try 0 amn-forget --scheme q8_0 --allow-nonfinite --report $odd.json -o out.gguf $odd
        [ $odd != zeros ] || grep -q 'quantized 1 weight (4096 elements) as .*: lossless$' err
    done
    jq -se '.[0] | .sqnr_db == null and .cosine == 1 and .mean_absolute_error == 0' zeros.json
    cat one zeros.json nan.json infinite.json >lines
    jq -c 'select(has("name"))' lines | "$helpers/json-keys" LOSSES
    jq -c 'select(has("total"))' lines | "$helpers/json-keys" "ALL LOSSES"
}

@test "--report FILE.html: one page by itself, with the numbers of the JSON report" {
    tiny model 'm<b>é.gguf' layers=12
    amn-forget -q --scheme q4_k_m --report lost.html -o out.gguf 'm<b>é.gguf'
    amn-forget -q --scheme q4_k_m --report lost.json -o out.gguf -f 'm<b>é.gguf'
    refute grep -q '<b>é' lost.html
    "$helpers/report-page" lost.html >shown
    jq -se '.[0] as $page | .[1:-1] as $weights | .[-1] as $all | def near($a; $b): ($a | tonumber) - $b | fabs < 0.006;
        $page.title == "Quantization error of m<b>é.gguf"
        and $page.tiles.Scheme == ["q4_k_m", ""]
        and $page.tiles["Quantized weights"] == ["86", "13 other tensors not quantized"]
        and near($page.tiles["Total SQNR"][0] | rtrimstr(" dB"); $all.sqnr_db)
        and $page.apart == ["q4_k token_embd.weight", "q6_k output.weight"]
        and $page.cells == [range(12) as $i | "attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down" |
            . as $kind | [$i, $kind, ($weights[] | select(.name == "blk.\($i).\($kind).weight").scheme)]]
        and $page.panels == 7 and $page.points == 84
        and $page.worst == ($weights | sort_by(.sqnr_db)[:10] | map(.name))
        and ($page.weights | map(.[0])) == ($weights | map(.name))
        and all([$page.weights, $weights] | transpose[]; .[0][1] == .[1].scheme and near(.[0][2]; .[1].sqnr_db))
        and ($page.left | length == 13 and all(.[]; .[-1] == "not a matrix"))' shown lost.json
    amn-forget -q --scheme q4_k_m --report again.html -j 4 'm<b>é.gguf' >out
    cmp <(grep -v '<code>' lost.html) <(grep -v '<code>' again.html)
}

@test "--report FILE.html: stacks, experts, sparse layers, odd names and values" {
    "$helpers/weights" odd.safetensors zeros.weight=F32:64x64:zeros $'a.0.<i>é\x1b.weight=F32:64x64' a.1.b.weight=F32:64x64 \
        a.999999999.b.weight=F32:64x64 e.{0,1}.x.{0,1,2}.w.weight=F32:64x64 e.{0,1}.w.weight=F32:64x64
    for scheme in q8_0 int8; do
        amn-forget -q --scheme $scheme --test --report odd.html odd.safetensors
        "$helpers/report-page" odd.html >shown
        jq -e '(.apart | length) == 1 and (.cells | map(.[:2])) == [[0, "<i>é\\u{1b}"], [1, "b"], [999999999, "b"],
            [0, "x.*.w"], [0, "w"], [1, "x.*.w"], [1, "w"]]' shown
    done
    "$helpers/weights" one a.weight=F32:64x64:nan
    amn-forget -q --scheme q8_0 --allow-nonfinite --test --report one.html one
    "$helpers/report-page" one.html | jq -e '.worst == ["a.weight"] and .cells == []'
}

@test "the page of a target compares with the mixes of llama-quantize, as they are when written" {
    tiny model m.gguf layers=4
    amn-forget -q --target-bpw 4.7 --report mix.html -o mix.gguf m.gguf
    "$helpers/report-page" mix.html | jq -e '.tiles["Plain mix of this size"][0] | startswith("q4_k_") or startswith("q3_k_")'
    for scheme in q2_k q3_k_s q3_k_m q4_k_m q5_k_s; do
        amn-forget -q --scheme $scheme --report - -o plain.gguf -f m.gguf | tail -n 1 >total
        python3 - mix.html $scheme <<'PYTHON'
import json, re, sys
row = re.search(r'<td class="text">%s</td>(.*?)</tr>' % sys.argv[2], open(sys.argv[1]).read()).group(1)
shown = [float(v) for v in re.findall(r'data-v="([^"]*)"', row)]
total = json.load(open("total"))
assert abs(shown[0] - total["sqnr_db"]) < 1e-6 and shown[3] == total["nbytes"], (shown, total)
PYTHON
    done
    refute grep -q '>iq4_xs<' mix.html
}

@test "a report may not overwrite the output or an input" {
    tiny model m.gguf
    cp m.gguf keep
    try 73 amn-forget --scheme q4_k --report m.gguf -o out.gguf m.gguf
    cmp m.gguf keep
    try 73 amn-forget --scheme q4_k --report nowhere/r -o out.gguf m.gguf
    error_line amn-forget 'cannot create'
    [ ! -e out.gguf ]
    for bad in --size --plan --dry-run "--range 0-9" "--part 1/2"; do
        try 2 amn-forget --scheme q4_k --report r $bad m.gguf
    done
    try 2 amn-convert --to npz --report r m.gguf
    [ ! -e r ]
}

@test "NaN and infinity are refused by name and index, or encoded on request" {
    for odd in nan inf; do
        tiny model bad.gguf $odd=blk.1.ffn_up.weight
        for options in "--scheme q4_k" "--scheme q8_0 -j 4" "--target-size 200K"; do
            try 65 amn-forget $options -o out.gguf bad.gguf
            error_line amn-forget malformed
            grep -q 'tensor blk.1.ffn_up.weight: .*8191' err
            [ ! -e out.gguf ]
        done
        try 0 amn-forget -q --scheme q8_0 --allow-nonfinite --exclude 'blk.1.ffn_up.weight' bad.gguf
        try 0 amn-forget -q --scheme q8_0 --exclude 'blk.1.ffn_up.weight' bad.gguf
    done
}

@test "--include and --exclude select the weights to quantize; no weight is a usage error" {
    tiny model m.gguf
    amn-forget -q --scheme q8_0 --include '*ffn*' --exclude '*up*' -o out.gguf m.gguf
    [ "$(of out.gguf ffn_up) $(of out.gguf ffn_down) $(of out.gguf attn_q)" = "F32 F32 Q8_0 Q8_0 F32 F32" ]
    amn-forget --scheme q8_0 --include '*ffn*' --dry-run m.gguf |
        jq -se 'map(select(.name == "blk.0.attn_q.weight"))[0] | .why == "not selected" and .encoder == null and .becomes == "kept"'
    try 2 amn-forget --scheme q8_0 --exclude '*' m.gguf
    is_empty out
    try 2 amn-forget m.gguf
    grep -q -- '--scheme NAME' err
    try 2 amn-forget --scheme q4_l m.gguf
    grep -q "unknown scheme 'q4_l'; did you mean" err
    try 2 amn-forget --scheme q4_k --to safetensors m.gguf
    try 2 amn-forget --scheme nf4 --to gguf m.gguf
}

@test "values whose scales overflow F16 are refused with tensor and row" {
    "$helpers/weights" big.safetensors a.weight=F32:8x256 b.weight=F32:8x256:huge
    for type in q4_0 q4_1 q5_0 q5_1 q8_0 q2_k q3_k q4_k q5_k q6_k iq4_nl iq4_xs iq3_s iq3_xxs iq2_s iq1_m tq1_0 tq2_0 q1_0 q2_0; do
        try 69 amn-forget --pure --to gguf --scheme $type -o out.gguf big.safetensors
        grep -q "tensor b.weight: values in row 7 are too large for $(tr a-z A-Z <<<"$type")\$" err
        refute [ -e out.gguf ]
    done
    for type in mxfp4 nvfp4; do
        try 0 amn-forget -q --pure --to gguf --scheme $type -o out.gguf big.safetensors
    done
}
