#!/usr/bin/env bats
# What people type before they read the manual: each test is one such command.

load helper

model() {
    mkdir in
    "$helpers/weights" in/model.safetensors a.weight=BF16:64x128 norm.weight=F32:1x64
}

@test "a directory in, a name without extension out: a directory, as with cp -r" {
    model
    try 0 amn-remember -q -o plain in
    try 0 amn-remember -q -o slash/ in
    diff -r plain slash
    try 0 amn-forget -q --scheme nf4 -o nf4 in
    [ -f nf4/model.safetensors ]
    try 0 amn-convert -q --to safetensors -o copy in
    [ -f copy/model.safetensors ]
    mkdir there
    try 0 amn-remember -q -o there in/model.safetensors
    echo old >file
    try 73 amn-remember -q -o file in
    [ "$(cat file)" = old ]
    try 0 amn-remember -q -o /dev/null in
    diff there/model.safetensors plain/model.safetensors
}

@test "a file in, a scheme of GGUF or a range: the name is a file" {
    model
    try 0 amn-remember -q -o one in/model.safetensors
    [ -f one ]
    try 0 amn-forget -q --scheme q8_0 -o gguf in
    [ -f gguf ]
    try 0 amn-remember -q --range 0-99 -o range in
    [ "$(wc -c <range)" -eq 100 ]
    try 0 amn-remember -q -o name.safetensors in
    [ -f name.safetensors ]
}

@test "the extension of the output and the format agree" {
    model
    try 2 amn-remember -o out.gguf in
    grep -q 'amn-remember writes safetensors, but out.gguf names GGUF; use amn-convert -o out.gguf' err
    try 2 amn-remember -o out.npz in
    grep -q 'use amn-convert -o out.npz' err
    try 2 amn-convert --to npz -o x.gguf in
    grep -q 'the output format is NPZ, but x.gguf names GGUF; use -o FILE.npz' err
    try 2 amn-forget --scheme nf4 -o x.gguf in
    [ ! -e out.gguf ] && [ ! -e out.npz ] && [ ! -e x.gguf ]
}

@test "a pattern that matches nothing is a usage error that shows how patterns match" {
    model
    for job in 'amn-remember --drop typo' 'amn-convert --to npz --drop typo' 'amn-convert --to npz --only typo' \
        'amn-forget --scheme nf4 --exclude typo' 'amn-forget --scheme nf4 --include typo'; do
        try 2 $job in
        grep -q "no tensor matches 'typo'; .*patterns match the whole name, such as '\*norm\*'" err
    done
    try 0 amn-forget -q --scheme nf4 --exclude '*norm*' in
}

# types FILE: name and type of each tensor.
types() { amn-parse "$1" | jq -c '[.name, .dtype]'; }

# data_of FILE NAME: the bytes of a tensor.
data_of() {
    local at nbytes
    read -r at nbytes < <(amn-parse "$1" | jq -r --arg name "$2" 'select(.name == $name) | [.offset, .nbytes] | @tsv')
    [ "$nbytes" -gt 0 ] && tail -c +$((at + 1)) "$1" | head -c "$nbytes"
}

# equal_tensors A B NAME...: these tensors have the same bytes in both.
equal_tensors() {
    local a=$1 b=$2 name
    shift 2
    for name in "$@"; do
        cmp <(data_of "$a" "$name") <(data_of "$b" "$name") || { echo "$name"; return 1; }
    done
}

# quantized: m.gguf, a model of Q4_K and Q6_K.
quantized() {
    "$helpers/weights" dense.safetensors blk.0.ffn_up.weight=BF16:64x256 blk.0.attn_q.weight=BF16:64x256 output_norm.weight=F32:1x256
    amn-forget -q --scheme q4_k --tensor-type attn=q6_k -o m.gguf dense.safetensors
}

@test "a key changes, and no weight: amn-convert keeps what the format can hold" {
    quantized
    try 0 amn-convert --gguf-kv general.name=Foo -o y.gguf m.gguf
    [ ! -s err ]
    diff <(types m.gguf) <(types y.gguf)
    equal_tensors m.gguf y.gguf blk.0.ffn_up.weight blk.0.attn_q.weight output_norm.weight
    [ "$(amn-inspect y.gguf | jq -r '.metadata["general.name"]')" = Foo ]
    try 0 amn-convert -o y.safetensors m.gguf
    grep -q 'note: 2 quantized weights (Q4_K, Q6_K) dequantized to BF16: safetensors cannot hold them' err
    amn-remember -o want.safetensors m.gguf
    cmp want.safetensors y.safetensors
    try 69 amn-convert --keep-quantized -o z.safetensors m.gguf
    grep -q 'safetensors cannot hold them; without --keep-quantized it is dequantized' err
    try 0 amn-convert --dequantize -o d.gguf m.gguf
    [ ! -s err ]
    amn-inspect d.gguf | jq -e '.quantized == 0'
    try 2 amn-convert --dequantize --keep-quantized -o d.gguf m.gguf
    try 2 amn-convert --dequantize --scheme q8_0 -o d.gguf m.gguf
}

@test "amn-forget copies weights that have the type already, and warns of those that are quantized again" {
    quantized
    try 0 amn-forget --scheme q4_k -o y.gguf m.gguf
    grep -q 'warning: source is already quantized (Q6_K): errors add up' err
    grep -q 'quantized 1 weight ' err
    equal_tensors m.gguf y.gguf blk.0.ffn_up.weight output_norm.weight
    try 0 amn-forget --scheme q4_k -o again.gguf y.gguf
    [ ! -s err ]
    cmp y.gguf again.gguf
    cat m.gguf | try 0 amn-forget -q --scheme q4_k
    cmp out y.gguf
}

@test "amn-forget leaves what --include and --exclude skip exactly as it is" {
    quantized
    try 0 amn-forget -q --scheme q8_0 --include '*ffn*' -o y.gguf m.gguf
    [ "$(amn-parse y.gguf | jq -r 'select(.name | test("ffn")).dtype')" = Q8_0 ]
    equal_tensors m.gguf y.gguf blk.0.attn_q.weight output_norm.weight
    try 0 amn-forget -q --scheme q8_0 --exclude '*attn*' -o z.gguf m.gguf
    cmp y.gguf z.gguf
    for scheme in fp8 gptq int4-group; do
        amn-forget -q --scheme $scheme -o codes.safetensors dense.safetensors
        try 0 amn-convert -q --scheme int8 --include '*ffn*' --rename 's/^blk/layer/' -o n.safetensors codes.safetensors
        try 0 amn-forget -q --scheme int8 --include '*ffn*' -o m.safetensors codes.safetensors
        names=$(amn-parse codes.safetensors | jq -r 'select(.name | test("attn|norm")).name')
        [ "$(wc -w <<<"$names")" -ge 3 ]
        equal_tensors codes.safetensors m.safetensors $names
        amn-remember -q --only '*attn*' -o a.safetensors codes.safetensors
        amn-remember -q --only '*attn*' -o b.safetensors m.safetensors
        cmp <(tail -c 32768 a.safetensors) <(tail -c 32768 b.safetensors)
    done
}

@test "amn scan, and a URL as input" {
    printf '\x80\x02cnumpy\nndarray\n.' >array.pkl
    printf '\x80\x02cos\nsystem\n.' >os.pkl
    try 0 amn scan array.pkl
    jq -e '.verdict == "clean"' out
    try 1 amn scan --human array.pkl os.pkl
    grep -q '^2 files: 1 dangerous, 0 unknown, 1 clean$' out
    for tool in amn-inspect amn-parse "amn-remember -o x.safetensors" "amn-convert -o x.gguf"; do
        try 66 $tool https://example.com/m.gguf
        grep -q 'to read a URL, use a pipe: curl -L URL | amn' err
    done
}

@test "-c, -t, -l, -s, --threads and -j 0 mean what users of zstd expect" {
    model
    amn-remember -q in >expected
    try 0 amn-remember -q -c in
    cmp out expected
    try 2 amn-remember -c -o x.safetensors in
    try 0 amn-remember -t in
    is_empty out
    try 0 amn-remember -l in
    cp out list
    try 0 amn-remember --dry-run in
    cmp out list
    try 0 amn-parse -l in
    for t in amn-forget amn-convert; do
        try 0 $t -q -s nf4 -o $t.safetensors in
    done
    cmp amn-forget.safetensors amn-convert.safetensors
    for jobs in '--threads 2' '-j 0' '--jobs=0'; do
        try 0 amn-remember -q $jobs in
        cmp out expected
    done
}

@test "--scheme is what is written, --input-scheme how the input is read; old forms work with a note" {
    model
    try 0 amn-convert -q --scheme fp8 in -o fp8.safetensors
    amn-parse fp8.safetensors | grep -q '"scheme":"fp8"'
    try 0 amn-convert --to nf4 in
    grep -q 'note: --to SCHEME is now called --scheme SCHEME' err
    f=$corpus/safetensors-good/gptq-4bit-asym-shuffled.safetensors
    try 0 amn-remember -q --input-scheme gptq "$f"
    cp out expected
    try 0 amn-remember --scheme gptq "$f"
    cmp out expected
    grep -q 'note: --scheme is now called --input-scheme' err
    try 0 amn-convert --split-size 4K -o m.gguf --scheme q8_0 in
    grep -q 'note: --split-size is now called --shard-size' err
    try 2 amn-remember --to gguf in
    grep -q 'use amn-convert --to gguf' err
    try 0 amn-remember -q --to safetensors in
    try 0 amn-remember -q --dtype f32 in
    amn-parse <out | jq -e 'select(.name == "norm.weight") | .dtype == "F32"'
}

@test "-f replaces the model in a directory, and only files of such a model" {
    model
    amn-remember -q --shard-size 1K -o d in
    [ -f d/model.safetensors.index.json ]
    try 73 amn-remember -q -o d in
    grep -q 'choose another, or replace it with -f' err
    try 0 amn-remember -q -f -o d in
    [ "$(cd d && echo *)" = model.safetensors ]
    try 0 amn-remember -q --resume -o d in
    try 0 amn-remember --resume -o d in
    grep -q 'd is already complete' err
    cp d/model.safetensors d/other.safetensors
    try 73 amn-remember -q -f -o d in
    grep -q 'directory contains a file of another model (other.safetensors)' err
}

@test "-o FILE --resume continues a partial file, says that a complete one is complete, and refuses another" {
    model
    amn-remember -q in/model.safetensors >expected
    n=$(wc -c <expected)
    for have in 1 100 $((n - 1)) 0; do
        head -c $have expected >part
        try 0 amn-remember -q -o part --resume in/model.safetensors
        cmp part expected
    done
    try 0 amn-remember -o part --resume in/model.safetensors
    grep -q 'part is already complete' err
    cmp part expected
    echo more >>part
    cp part before
    try 73 amn-remember -o part --resume in/model.safetensors
    cmp part before
    (head -c 50 expected; echo other) >part
    cp part before
    try 73 amn-remember -o part --resume in/model.safetensors
    cmp part before
    head -c 50 expected >part
    cat in/model.safetensors | try 0 amn-remember -q -o part --resume
    cmp part expected
    try 0 amn-remember -q -o new --resume in/model.safetensors
    cmp new expected
}

@test "an abbreviation is unique among the options of its tool" {
    model
    try 2 amn-inspect --s in
    grep -q 'ambiguous option .--s.\|unknown option' err || try 0 amn-inspect --s in
    ! grep -q -- '--scheme\|--size\|--symmetric' err
}

# keyed: makes m.gguf with two keys.
keyed() {
    model
    echo '{"general.architecture":"llama","llama.context_length":2048,"general.name":"old"}' >keys.json
    amn-convert -q --gguf-metadata keys.json -o m.gguf in/model.safetensors
}

key() { amn-inspect "$1" | jq -c "[.metadata[\"$2\"], .metadata_types[\"$2\"]]"; }

@test "--gguf-kv keeps the type of a key, reads files and pipes; --gguf-unset removes a key" {
    keyed
    try 0 amn-convert --gguf-kv llama.context_length=4096 m.gguf -o y.gguf
    is_empty err
    [ "$(key y.gguf llama.context_length)" = '[4096,"u32"]' ]
    try 2 amn-convert --gguf-kv llama.context_length=long m.gguf -o z.gguf
    grep -q 'value is not of type u32' err
    try 0 amn-convert --gguf-kv llama.rope.freq_base=1e6 --gguf-kv tokenizer.ggml.add_bos_token=true --gguf-kv my.key=7 m.gguf -o y.gguf
    [ "$(key y.gguf llama.rope.freq_base)" = '[1000000,"f32"]' ]
    [ "$(key y.gguf tokenizer.ggml.add_bos_token)" = '[true,"bool"]' ]
    [ "$(key y.gguf my.key)" = '["7","str"]' ]
    printf '{{ a }}\n' >template
    try 0 amn-convert --gguf-kv tokenizer.chat_template=@template --gguf-kv general.name=@@home m.gguf -o y.gguf
    [ "$(key y.gguf tokenizer.chat_template)" = '["{{ a }}\n","str"]' ]
    [ "$(key y.gguf general.name)" = '["@home","str"]' ]
    try 0 amn-convert --gguf-kv general.name=@<(printf piped) --gguf-metadata <(echo '{"my.key":1}') m.gguf -o y.gguf
    [ "$(key y.gguf general.name)" = '["piped","str"]' ]
    [ "$(key y.gguf my.key)" = '[1,"u32"]' ]
    try 66 amn-convert --gguf-kv general.name=@missing m.gguf -o z.gguf
    try 73 amn-convert --gguf-kv general.name=@template --to gguf m.gguf -o template
    try 0 amn-convert --gguf-unset general.name m.gguf -o y.gguf
    [ "$(key y.gguf general.name)" = '[null,null]' ]
    try 2 amn-convert --gguf-unset typo m.gguf -o z.gguf
    [ ! -e z.gguf ]
    echo '{}' >config.json
    try 0 amn-remember -q --config <(cat config.json) in/model.safetensors
}

@test "a file becomes GGUF with a warning that llama.cpp cannot run it" {
    keyed
    try 0 amn-convert in/model.safetensors -o x.gguf
    grep -q 'warning: llama.cpp cannot run the output.*give the model directory' err
    try 0 amn-forget --scheme q4_k_m in/model.safetensors -o x.gguf
    grep -q 'warning: llama.cpp cannot run the output' err
    grep -q 'warning: 1 of 1 weights written as Q5_0 instead of Q4_K: their rows are not multiples of 256 (first: a.weight, 64 x 128)' err
    [ "$(amn-inspect x.gguf | jq '.metadata["general.file_type"]')" = 8 ]       # MOSTLY_Q5_0
    try 0 amn-convert m.gguf -o y.gguf
    is_empty err
}

@test "an option without effect and a rule that matches nothing are usage errors" {
    keyed
    for o in '--group-size 64' --symmetric --asymmetric --convrot '--pre llama-bpe' '--tensor-type typo=q8_0' '--candidates q8_0'; do
        try 2 amn-forget --scheme q8_0 $o m.gguf -o z.gguf
        [ ! -e z.gguf ]
    done
    try 2 amn-forget --scheme nf4 --imatrix i.dat m.gguf -o z.safetensors
    try 2 amn-forget --scheme nf4 --symmetric m.gguf -o z.safetensors
    try 0 amn-forget -q --scheme q8_0 --tensor-type 'a=q4_0' m.gguf -o z.gguf
}

@test "BF16 for NumPy, and optimizer state: notes that name the option" {
    model
    try 0 amn-convert in/model.safetensors -o x.npz
    grep -q 'note: 1 tensor of type BF16, which NumPy reads as |V2 without ml_dtypes; --dtype f32 writes floats' err
    try 0 amn-convert --dtype f32 in/model.safetensors -o x.npz
    is_empty err
    "$helpers/weights" ck.safetensors state_dict.a.weight=F32:4x4 optimizer.state.0.exp_avg=F32:4x4
    try 0 amn-convert ck.safetensors -o y.safetensors
    grep -q 'note: the checkpoint holds optimizer state, too; --root state_dict reads only the model' err
}

@test "weights that do not fit are a warning with number, reason and the first name" {
    mkdir in
    "$helpers/weights" in/model.safetensors a.weight=BF16:64x100 b.weight=BF16:64x128 c.weight=BF16:64x36
    for scheme in gptq awq mlx-4bit nvfp4 mxfp4; do
        try 0 amn-forget --scheme $scheme in/model.safetensors -o x.safetensors
        grep -q 'warning: 2 of 3 weights not quantized: .* (first: a.weight, 64 x 100)' err
    done
    try 0 amn-forget --scheme q8_0 in/model.safetensors -o x.gguf
    grep -q 'warning: 2 of 3 weights written as F16 instead of Q8_0: their rows are not multiples of 32' err
}

@test "schemes have the names of other tools, too, in any case" {
    model
    for pair in w4a16=int4-group int4=int4-group W8A8=int8-channel FP8_DYNAMIC=fp8-per-channel fp8_e4m3=fp8 bnb-4bit=nf4 \
        llm-int8=int8 NF4=nf4 MXFP4A16=mxfp4; do
        try 0 amn-forget -q --scheme ${pair%=*} in/model.safetensors -o a.safetensors
        try 0 amn-forget -q --scheme ${pair#*=} in/model.safetensors -o b.safetensors
        cmp a.safetensors b.safetensors
    done
    try 2 amn-forget --scheme w4a61 in/model.safetensors
    grep -q "did you mean w4a16?" err
}

@test "amn list schemes, dtypes, formats and families, and --scheme help" {
    try 0 amn list schemes --human
    grep -q '^q4_k_m  *4.50+  *llama-quantize  *llama.cpp, Ollama$' out
    grep -q '^nf4  *4.50  *bitsandbytes  *transformers$' out
    [ "$(wc -l <out)" -gt 70 ]
    [ "$(wc -L <out)" -le 80 ]
    for scheme in deepseek-fp4 gptoss-mxfp4 mlx-mxfp4 mlx-mxfp8 mlx-nvfp4 bf16 f16 f32; do
        grep -q "^$scheme  *[1-9][0-9.]* .* (--exact)\$" out
    done
    [ "$(grep -c '(--exact)' out)" = 8 ]
    mv out table
    for tool in amn-forget amn-convert; do
        try 0 $tool --scheme help
        cmp out table
    done
    try 0 amn list schemes
    jq -se 'map(select(.name == "q8_0"))[0] == {"report":1,"name":"q8_0","bits":8.5,"exact":false,"like":"llama-quantize","readers":"llama.cpp, Ollama"}' out
    try 0 amn list families
    cat out >>lines
    try 0 amn list schemes
    cat out lines | "$helpers/json-keys" NAMES
    try 0 amn list classes --human
    grep -q '^LlamaForCausalLM  *llama$' out
    for what in dtypes formats; do
        try 0 amn list $what --human
        [ -s out ]
    done
    try 2 amn list schemes hf
    try 2 amn list scheme
    grep -q 'did you mean schemes?' err
}

@test "an output as second operand, and a part of a tensor's name, get the right form in the message" {
    model
    try 2 amn-convert in/model.safetensors b.gguf
    grep -q 'b.gguf does not exist; if it is the output, give it with -o b.gguf' err
    try 2 amn-convert --to npy --tensor a in/model.safetensors
    grep -q 'no output tensor is named a (did you mean a.weight?)' err
    try 2 amn-convert --to npy --tensor xyz in/model.safetensors
    grep -q "('amn-parse' lists the names)" err
}

@test "what amn-forget --scheme X writes, amn-inspect calls X" {
    "$tests/make/examples" examples
    amn-remember -q -o in examples/model
    for scheme in $(amn list schemes | jq -r 'select(.exact | not) | .name' | sort -u); do
        called=$scheme
        case $scheme in
        bnb-*) called=${scheme#bnb-} ;;
        fp4-cpu*) called=fp4${scheme#fp4-cpu} ;;
        fp8-fine-grained*) called=fp8${scheme#fp8-fine-grained} ;;
        fp8-division) called=fp8 ;;
        q[345]_k) called=${scheme}_m ;;
        iq1* | iq2_s | iq2_x*) continue ;;      # require an importance matrix
        mxfp4_moe) called=q8_0 ;;       # there are no experts
        esac
        rm -rf x
        try 0 amn-forget -q --scheme "$scheme" in -o x
        said=$(amn-inspect x | jq -r .scheme)
        [ "$said" = "$called" ] || { echo "$scheme is called $said, not $called"; return 1; }
        try 0 amn-inspect --input-scheme "$(amn-parse x | jq -rs 'map(.scheme | select(.))[0]')" x
    done
}

@test "several inputs: --output-dir writes each under its own name; the worst status is the exit status" {
    model
    cp in/model.safetensors a.safetensors
    cp in/model.safetensors b.safetensors
    amn-remember -q a.safetensors >expected
    try 0 amn-dequantize --output-dir plain a.safetensors b.safetensors
    cmp plain/a.safetensors expected
    cmp plain/b.safetensors expected
    [ "$(wc -l <err)" -eq 2 ]
    grep -q '^amn-dequantize: a.safetensors: note: .* written to plain/a.safetensors in ' err
    try 0 amn-forget -q --scheme q8_0 --output-dir gguf/ a.safetensors in
    [ "$(cd gguf && echo *)" = 'a.gguf in.gguf' ]
    try 0 amn-forget -q --scheme nf4 --output-dir nf4 a.safetensors in
    [ -f nf4/in/model.safetensors ] && [ -f nf4/a.safetensors ]
    try 66 amn-convert -q --to npz --output-dir npz a.safetensors none.safetensors b.safetensors
    [ "$(cd npz && echo *)" = 'a.npz b.npz' ]
    head -c 50 a.safetensors >cut.safetensors
    try 66 amn-remember -q --output-dir d cut.safetensors none.safetensors
    try 65 amn-remember -q --output-dir d cut.safetensors a.safetensors
    [ "$(echo d/*)" = d/a.safetensors ]
    for bad in '-o x' -c --size --dry-run -t '--range 0-9' '--part 1/2' --plan '--report r.html'; do
        try 2 amn-forget --scheme q8_0 --output-dir e $bad a.safetensors
        [ ! -e e ]
    done
    cp -r in other
    try 2 amn-remember --output-dir e in other/../in
    grep -q 'would both be written to e/in/' err
    try 2 amn-convert --output-dir e a.safetensors
    grep -q 'requires a format: use --to' err
    try 2 amn-remember --output-dir e - <a.safetensors
    try 73 amn-remember --output-dir . a.safetensors
    try 73 amn-remember -n --output-dir plain a.safetensors
    try 73 amn-remember --output-dir a.safetensors b.safetensors
}

@test "several inputs: a signal that ends the tool ends its job, too" {
    mkfifo fifo
    amn-remember --output-dir plain fifo &
    pid=$!
    exec 9>fifo
    sleep 0.3
    kill -TERM $pid
    got=0
    wait $pid || got=$?
    [ $got -eq 143 ]
    sleep 0.3
    [ "$(find plain -type f | wc -l)" -eq 0 ]
    exec 9>&-
}

@test "on a terminal, a job ends with one line: weights, bytes, seconds, where to" {
    model
    amn-forget -q --scheme q8_0 -o q.gguf in
    try 0 "$helpers/pty" amn-remember -o x.safetensors q.gguf
    grep -q 'note: 1 weight dequantized, .* KiB written to x.safetensors in [0-9.]* s' out
    try 0 "$helpers/pty" amn-remember -o d/ in
    grep -q 'note: .* written to d/ in [0-9.]* s' out
    try 0 "$helpers/pty" amn-remember -q -o x.safetensors q.gguf
    is_empty out
    try 0 amn-remember -o x.safetensors q.gguf
    is_empty err
}

@test "Ctrl-C erases the bar and leaves no temporary file" {
    mkfifo fifo
    sleep 60 >fifo 3>&- &               # keeps it open
    writer=$!
    try 130 "$helpers/pty" sh -c '(sleep 1; kill -INT $$) & exec amn-remember --progress=always -o x.safetensors fifo'
    kill $writer
    tail -c 20 out | grep -qF "$(printf '\r\033[J')"
    [ ! -e x.safetensors ]
    [ -z "$(find . -name '.*amn*' -type f)" ]
}

@test "a pipe without a seek is read under its own name, not as a header" {
    model
    { head -c 20000 in/model.safetensors; sleep 1; tail -c +20001 in/model.safetensors; } >/dev/null
    try 0 amn-convert -q --to npz -o m.npz in
    (cat m.npz; sleep 1.5) | amn-parse --json 2>err >out &
    pid=$!
    sleep 0.7
    kill -USR1 $pid
    wait $pid
    grep -q 'progress: reading the input' err
}

@test "tables fit the terminal; nothing is shortened in a pipe" {
    "$helpers/weights" long.safetensors "$(printf 'model.language_model.layers.0.%060d.weight' 7)=BF16:64x128" '日本語.weight=BF16:64x128' a=F32:1x2
    try 0 "$helpers/pty" --columns 60 amn-parse long.safetensors
    cp out shown
    try 0 env COLUMNS=60 TERM=dumb "$helpers/pty" sh -c 'TERM=dumb exec amn-parse long.safetensors'
    tr -d '\r' <out >table
    python3 - table <<'PYTHON'
import sys, unicodedata
wide = lambda s: sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in s)
lines = open(sys.argv[1], encoding="utf-8").read().splitlines()
assert max(map(wide, lines)) <= 60, lines
rows = [l for l in lines if "[" in l]
assert len({wide(l[:l.index("[")]) for l in rows}) == 1, rows
assert any("..." in l for l in rows) and any("日本語" in l for l in rows)
PYTHON
    "$helpers/weights" deep.safetensors \
        $(for k in q k v; do echo model.language_model.layers.10.self_attention.projections.inner.${k}_proj.weight=BF16:64x128; done)
    "$helpers/pty" --columns 80 amn-parse deep.safetensors >shown 2>&1
    [ "$(grep -oE '(q|k|v)_proj.weight' shown | sort -u | wc -l)" -eq 3 ]
    grep -q '49152 parameters\|24576 parameters' shown
    try 0 env COLUMNS=60 amn-parse --human long.safetensors
    grep -q 'model.language_model.layers.0.0*7.weight' out
    try 0 env COLUMNS=50 "$helpers/pty" sh -c 'TERM=dumb exec amn-convert --dry-run --to npz long.safetensors'
    [ "$(tr -d '\r' <out | grep -v note: | wc -L)" -le 50 ]
}

@test "colour on a terminal, unless NO_COLOR is set or TERM is dumb" {
    model
    printf '\x80\x02cos\nsystem\n.' >os.pkl
    try 0 "$helpers/pty" amn-inspect in
    grep -qF "$(printf '\033[36m')" out
    try 1 "$helpers/pty" amn-inspect --scan os.pkl
    grep -qF "$(printf '\033[31mDANGEROUS')" out
    try 66 "$helpers/pty" amn-inspect none
    grep -qF "$(printf '\033[31mcannot open:')" out
    for setting in NO_COLOR=1 TERM=dumb; do
        try 66 "$helpers/pty" env $setting amn-inspect none
        refute grep -q "$(printf '\033')" out
        try 1 "$helpers/pty" env $setting amn-inspect --scan os.pkl
        refute grep -q "$(printf '\033\\[[0-9]')" out
    done
    try 66 amn-inspect none
    refute grep -q "$(printf '\033')" err
}

@test "--dry-run sums up what happens to the tensors" {
    mkdir in
    "$helpers/weights" in/model.safetensors a.weight=BF16:64x100 b.weight=BF16:64x128 c.weight=BF16:64x128 norm.weight=F32:1x64
    try 0 amn-forget --dry-run --human --scheme q8_0 in
    grep -qE '^ +2 +[0-9.]+ KiB  quantized as Q8_0$' out
    grep -qE '^ +1 +[0-9.]+ KiB  converted \(row length' out
}

@test "amn-forget copies a safetensors weight that has the scheme already, and warns of two schemes in a directory" {
    "$tests/make/examples" examples
    amn-remember -q -o in examples/model
    for scheme in nf4 nf4-double-quant int8 gptq awq int4-group mlx-4bit nvfp4 mxfp4 comfy-int8 fp8 fp8-per-channel int8-channel; do
        rm -rf a b c d
        amn-forget -q --scheme $scheme --exclude '*down_proj*' -o a in
        try 0 amn-forget --scheme $scheme --exclude '*down_proj*' -o b a
        refute grep -q 'errors add up\|quantized [0-9]* weight' err
        cmp a/model.safetensors b/model.safetensors
        diff <(jq -S . a/config.json) <(jq -S . b/config.json)
    done
    for scheme in nf4 int8 int4-group mlx-4bit mxfp4 fp8-per-channel int8-channel; do
        rm -rf a c d
        amn-forget -q --scheme $scheme --exclude '*down_proj*' -o a in
        amn-forget -q --scheme $scheme --include '*self_attn*' -o c in
        try 0 amn-forget --scheme $scheme --exclude '*down_proj*' -o d c
        refute grep -q 'errors add up' err
        cmp a/model.safetensors d/model.safetensors
        diff <(jq -S . a/config.json) <(jq -S . d/config.json)
    done
    rm -rf a d
    amn-forget -q --scheme fp8 -o a in
    try 0 amn-forget --scheme nf4 --include '*mlp*' -o d a
    grep -q 'warning: config.json can declare only bitsandbytes NF4, so its loader cannot read .* and 7 more (FP8); amn-remember can' err
    try 0 amn-forget --scheme int4-group --group-size 32 -o d32 in
    try 0 amn-forget --scheme int4-group -o d128 d32
    grep -q 'errors add up' err
}

@test "a target that no weight fits names the reason, and a pattern that is a part of names the right one" {
    mkdir in
    "$helpers/weights" in/model.safetensors a.weight=BF16:64x96 b.weight=BF16:64x96
    try 2 amn-forget --scheme gptq in -o x
    grep -q 'no weight can be quantized as GPTQ: .* (2 weights, the first: a.weight \[64, 96\])' err
    try 2 amn-forget --target-size 1M --candidates q2_k,q4_k in/model.safetensors -o x.gguf
    grep -q 'no weight can be quantized as Q2_K: .* (2 weights' err
    try 2 amn-remember --only weight in
    grep -qF "no tensor matches 'weight', which is only a part of names (did you mean '*weight*'?)" err
    try 2 amn-remember --only b.wieght in
    grep -qF 'did you mean b.weight?' err
}

@test "a store name without its prefix, and a dtype as a format, get the right form in the message" {
    model
    try 66 amn-inspect acme/llama-gguf
    grep -q 'no such file or directory; a model in a local store is hf:acme/llama-gguf or ollama:acme/llama-gguf' err
    for path in acme/llama.gguf ./acme/llama in/none.safetensors acme/llama/x none; do
        try 66 amn-inspect $path
        refute grep -q hf: err
    done
    try 2 amn-convert --to f32 in/model.safetensors
    grep -q 'did you mean --dtype f32?' err
}

@test "verbs and options of other programs get the command that does it" {
    while read -r verb here; do
        try 2 amn $verb x
        grep -qF "unknown command '$verb'; $here" err
    done <<'END'
merge use amn convert --adapter FILE
split use amn convert --shard-size SIZE
verify use amn check MANIFEST FILE
compare use amn diff FILE FILE
ls use amn list
show use amn inspect FILE
extract use amn convert --only GLOB
pull amn opens no network connection
run amn changes files and runs no models
END
    while read -r tool option here; do
        try 2 amn $tool $option x
        grep -qF -- "amn $tool: usage: unknown option '$option'; $here" err
    done <<'END'
convert --outtype use --dtype f16, bf16 or f32
convert --outfile use -o FILE
convert --model-name use --gguf-kv general.name=NAME
convert --bigendian amn writes little-endian files only
quantize --leave-output-tensor use --tensor-type '^output.weight=f16'
quantize --output_tensor_type use --tensor-type '^output.weight=TYPE'
quantize --allow-requantize quantized models are quantized again
quantize --lora use --adapter FILE
quantize --q-bits use --scheme mlx-4bit
END
    touch model.gguf
    try 2 amn model.gguf
    grep -qF "to describe a model: amn inspect model.gguf" err
    try 0 amn version
    cmp out <(amn --version)
    model
    for type in bfloat16 torch.bfloat16; do
        amn-convert --dtype $type in -o $type.gguf
        cmp $type.gguf <(amn-convert --dtype bf16 in --to gguf)
    done
}

# The options of convert_hf_to_gguf, convert_lora_to_gguf, llama-quantize, llama-gguf-split, gguf-dump, gguf-hash, gguf-new-metadata,
# mergekit and mlx_lm.
@test "every option of the other programs is accepted, or the message says what to type or that amn does not do this" {
    for option in vocab-only outfile outtype bigendian use-temp-file no-lazy model-name verbose split-max-tensors split-max-size dry-run \
        no-tensor-first-split metadata print-supported-models remote mmproj mtp no-mtp no-nextn dspark mistral-format fuse-qkv \
        disable-mistral-community-chat-template sentence-transformers-dense-modules fuse-gate-up-exps fp8-as-q8 base-model-id \
        trust-remote-code allow-requantize leave-output-tensor pure imatrix include-weights exclude-weights output-tensor-type \
        token-embedding-type tensor-type tensor-type-file prune-layers keep-split override-kv max-buffer-size split merge \
        delete-splits no-tensors json json-array data-offset data-alignment markdown no-layer progressbar sha1 sha256 xxh64 uuid \
        general-name general-description chat-template chat-template-config chat-template-file pre-tokenizer remove-metadata \
        special-token special-token-by-id force model lora lora-scaled output-file threads allow-crimes transformers-cache \
        lora-merge-cache lora-merge-dtype cuda device low-cpu-memory out-shard-size copy-tokenizer no-copy-tokenizer clone-tensors \
        random-seed lazy-unpickle write-model-card safe-serialization quiet read-to-gpu multi-gpu num-threads gpu-rich async-write \
        write-threads hf-path mlx-path quantize q-group-size q-bits q-mode quant-predicate dtype upload-repo dequantize save-path \
        adapter-path de-quantize export-gguf gguf-path approximation-method base-model batch-size bf16 byte-match cosine-similarity \
        density distribute-scale embed-lora exclude-regex fp16 full-random in-memory include-regex int8-mask intermediate-dir k lazy \
        load-in-4bit load-in-8bit magikarp max-fevals max-rank merge-cuda method naive-count new-vocab-noise new-vocab-scale normalize \
        num-gpus out-path prefix-match print-yaml reshard save-module sigma0 skip-undecomposable strategy subword-method sv-epsilon \
        task-search-path tensor-intersection tensor-union timeout vllm wandb weight weight-scheme write-yaml; do
        amn quantize --$option none 2>err && false
        refute grep -qE "try 'amn|did you mean" err
    done
}

@test "names of types and schemes of other programs" {
    try 2 amn convert --dtype float8_e4m3fn -o x.gguf in
    grep -qF 'any other type is a scheme: amn quantize --scheme NAME' err
    try 2 amn quantize -s FP8_BLOCK in
    grep -qF 'did you mean fp8?' err
    try 2 amn quantize -s 4bit in
    grep -qF 'did you mean q4_k_m, mlx-4bit or nf4?' err
    try 2 amn quantize -t 4 -s q8_0 in
    grep -qF 'threads are given with -j 4' err
    model
    amn quantize -q -s nf4_dq -o a in
    amn quantize -q -s nf4-double-quant -o b in
    diff -r a b
}

@test "messages begin with what was typed; as JSON they name the program" {
    try 66 amn quantize -s q8_0 none
    grep -q '^amn quantize: none: ' err
    try 66 amn-quantize -s q8_0 none
    grep -q '^amn-quantize: none: ' err
    try 2 amn diff x
    grep -q '^amn diff: usage: ' err
    try 66 amn quantize --json-errors -s q8_0 none
    [ "$(jq -r .tool err)" = amn-forget ]
    try 0 amn info --help
    grep -q '^Usage: amn info ' out
}

@test "a short form has a help of its own, with the options that it can be combined with" {
    try 0 amn diff --help
    grep -q '^Usage: amn diff \[OPTION\]... FILE FILE$' out
    grep -q -- --report out
    refute grep -qE -- '--(stored|metadata|scan|diff|hash)([ =]|$)' out
    try 0 amn check -h
    grep -q '^Usage: amn check \[OPTION\]... \[MANIFEST\] FILE$' out
    grep -q -- --stored out
    try 0 amn scan --help
    refute grep -qE -- '--(config|root|stored)' out
    try 0 amn hash --help=all
    grep -q -- --jobs out
    refute grep -q -- --report out
    try 0 amn help topics
    for topic in $(awk '{ print $3 }' out); do
        [ $topic = help ] || amn help $topic >page
    done
}

@test "-o with an extension that no format here has, or with a scheme, is a usage error" {
    model
    for end in pth bin onnx mlpackage PT; do
        for job in convert dequantize "quantize -s fp8"; do
            try 2 amn $job in -o x.$end
            grep -qiF -- "-o: .$end files are not written; use -o FILE.safetensors" err
        done
    done
    try 2 amn quantize -s q4_k_m in -o x.q4_k_m
    grep -qF 'did you mean --scheme q4_k_m -o FILE.gguf?' err
    [ "$(ls)" = "$(printf '%s\n' err in out)" ]
    amn convert -q -o llama-3.1-8B in
    amn convert -q -o x.bin/ in
    [ -d x.bin ] && [ -d llama-3.1-8B ]
}

@test "--report - and --manifest - write to standard output, which the output must not" {
    model
    amn convert -q -o a.gguf --manifest m in
    try 0 amn convert -q -o b.gguf --manifest - in
    cmp out m
    amn quantize -q --scheme q8_0 -o a.gguf --report r in
    amn quantize -q --scheme q8_0 -o a.gguf --report - in | cmp - r
    [ ! -e - ]
    try 2 amn quantize --scheme q8_0 --report - in
    grep -q 'require -o FILE' err
    try 2 amn diff --report - a.gguf b.gguf
}

@test "GGUF files that were joined are refused, and cut where the message says" {
    for padded in "$fx"/good-gguf-k.gguf "$fx"/good-gguf.gguf; do
        cat "$padded" "$fx/good-gguf.gguf" >joined.gguf
        for tool in parse inspect dequantize; do
            try 65 amn $tool joined.gguf
            grep -q 'another GGUF file begins after the data' err
        done
        n=$(sed -n "s/.*'head -c \([0-9]*\)'.*/\1/p" err)
        head -c $n joined.gguf | cmp - "$padded"
        tail -c +$((n + 1)) joined.gguf | cmp - "$fx/good-gguf.gguf"
    done
}

@test "amn scan of a folder skips its own output, and says that code is not scanned" {
    mkdir m
    cp "$fx/good-plain.safetensors" m/
    cd m
    amn scan . >scan.json
    [ "$(jq -s length scan.json)" -eq 1 ]
    touch modeling_a.py configuration_a.py
    try 0 amn scan .
    grep -qF 'Python code is not scanned: 2 files, such as configuration_a.py' err
    cd ..
    try 0 amn scan m/good-plain.safetensors
    [ ! -s err ]
}

@test "one of several model-parallel parts is refused, and so are parts of what no rule joins" {
    mkdir m
    "$helpers/checkpoint" m/consolidated.00.pth views
    try 0 amn parse m
    cp m/consolidated.00.pth m/consolidated.01.pth
    for in in m/consolidated.00.pth m/consolidated.01.pth; do
        try 69 amn parse $in
        grep -q 'model-parallel parts, each with a slice of every matrix: give its directory' err
        try 69 amn convert -o x.gguf $in
    done
    try 69 amn convert -o x.gguf m
    [ ! -e x.gguf ]
}

@test "amn hash cannot be taken for sha256sum, and amn check reads what both write" {
    model
    refute test "$(amn hash --stored in/model.safetensors)" = "$(sha256sum in/model.safetensors)"
    amn hash in | grep -qx 'AMN-VALUES (in) = [0-9a-f]*'
    amn convert -q -o same.gguf in/model.safetensors
    "$helpers/weights" other.safetensors a.weight=BF16:64x128 norm.weight=F32:1x65
    for option in "" --stored; do
        amn hash $option in >m
        try 0 amn check m in
        try 0 amn check m
        [ "$(cat out)" = "in: OK" ]
        try 1 amn check m other.safetensors
        [ "$(cat out)" = "other.safetensors: FAILED" ]
    done
    amn hash same.gguf >m
    try 0 amn check m in
    try 2 amn check --rename s/a/b/ m in
    printf '%s\n' 'AMN-VALUES (in) = 12' >m
    try 65 amn check m in
    grep -qF 'line 1 is not a line of amn hash' err
    (cd in; printf x >"a b"; sha256sum * >../SHA256SUMS)
    sha256sum --tag in/* >tagged
    for list in SHA256SUMS tagged; do
        try 0 amn check $list in
        try 0 amn check - in <$list
        grep -qx 'in: 2 files OK' out
    done
    try 0 amn check tagged
    try 0 amn check SHA256SUMS in/model.safetensors
    try 2 amn check SHA256SUMS same.gguf
    printf y >"in/a b"
    try 1 amn check SHA256SUMS in
    [ "$(head -n 1 out)" = "a b: FAILED" ]
    try 1 amn check --json SHA256SUMS in
    jq -se 'map(.result) == ["different", "ok"]' out
    rm "in/a b"
    try 1 amn check SHA256SUMS in
    [ "$(head -n 1 out)" = "a b: FAILED (missing)" ]
    echo junk >>SHA256SUMS
    try 65 amn check SHA256SUMS in
    grep -qF 'line 3 is not a line of sha256sum' err
    try 2 amn check in
    grep -qF "a manifest comes first: amn check MANIFEST in" err
    amn parse --hash in >m
    try 0 amn check m in
}

@test "a directory of models names them; a projector is not the model; spelling and read-only schemes are told" {
    mkdir -p pipe/unet pipe/vae pipe/scheduler gg
    cp "$fx/good-plain.safetensors" pipe/unet/
    cp "$fx/good-plain.safetensors" pipe/vae/
    for in in pipe pipe/; do
        try 66 amn inspect $in
        grep -qF 'its subdirectories have (unet, vae): give one of them, such as pipe/unet' err
    done
    try 66 amn inspect pipe/scheduler
    grep -qF 'the directory has no model file: expected model.safetensors' err
    cp "$fx/good-gguf.gguf" gg/model.gguf
    cp "$fx/good-gguf.gguf" gg/mmproj-model-f16.gguf
    try 2 amn inspect gg
    grep -qF 'give one of them, such as gg/model.gguf' err
    try 2 amn quantize --scheme q4km gg/model.gguf
    grep -qF 'did you mean q4_k_m?' err
    for scheme in exl2 hqq aqlm; do
        try 2 amn quantize --scheme $scheme gg/model.gguf
        grep -qF "unknown scheme '$scheme', which is read but not written" err
    done
    try 0 amn list schemes --human
    head -n 1 out | grep -qE '^NAME +BITS +AS WRITTEN BY +READ BY$'
}

@test "a written directory declares the type that was chosen for its floats" {
    "$tests/make/examples" .
    jq '.dtype = "bfloat16" | .torch_dtype = "bfloat16" | .text_config = { dtype: "bfloat16", n: 1 } | .other = { a: { dtype: "bfloat16" } }' \
        model/config.json >c
    mv c model/config.json
    for job in "convert --dtype" "dequantize --to"; do
        for type in f32:float32 f16:float16 bf16:bfloat16; do
            rm -rf out
            amn $job ${type%:*} -q -o out/ model
            [ "$(jq -r '[.dtype, .torch_dtype, .text_config.dtype, .other.a.dtype] | join(" ")' out/config.json)" = \
                "${type#*:} ${type#*:} ${type#*:} bfloat16" ]
        done
    done
    rm -rf out
    amn dequantize -q -o out/ model
    [ "$(jq -r .dtype out/config.json)" = bfloat16 ]
    mv out plain
    try 0 amn dequantize --to f32 -o again/ plain
    [ "$(jq -r .dtype again/config.json)" = bfloat16 ]
    grep -q 'no weight is quantized, so nothing became F32; amn convert --dtype converts all floats' err
    try 0 amn dequantize --to f32 -o f32/ model
    refute grep -q 'nothing became' err
}

@test "a GGUF file becomes a directory that loaders read, dequantized or quantized, in one command" {
    "$helpers/hf-model" "$corpus/hf-models/qwen3" qwen3
    amn-quantize -q --scheme q8_0 -o q.gguf qwen3
    try 0 amn dequantize -o d/ q.gguf
    jq -e '.architectures == ["Qwen3ForCausalLM"] and .dtype // .torch_dtype == "bfloat16"' d/config.json
    [ -s d/tokenizer.json ]
    amn-parse d | grep -q '"model.layers.0.self_attn.q_proj.weight"'
    try 0 amn quantize -s mlx-4bit -o mlx/ q.gguf
    jq -e '.quantization == {"group_size": 64, "bits": 4, "mode": "affine"}' mlx/config.json
    try 0 amn quantize -s fp8 -o fp8/ q.gguf
    jq -e '.quantization_config.quant_method == "fp8"' fp8/config.json
    try 0 amn convert --to hf --scheme fp8 -o converted/ q.gguf
    diff -r fp8 converted
}

@test "directories of other programs, and files beside models, are named with what to do" {
    mkdir -p ads/a ads/b ds/step dcp tf ox/onnx
    for d in ads/a ads/b; do
        echo '{}' >$d/adapter_config.json
        cp "$fx/good-plain.safetensors" $d/adapter_model.safetensors
    done
    model
    try 66 amn dequantize -o x.safetensors --adapter ads in
    grep -qE 'its subdirectories do \((a, b|b, a)\): give one of them' err
    try 66 amn inspect ads
    grep -qF 'its subdirectories have (a, b)' err
    touch ds/zero_to_fp32.py ds/step/mp_rank_00_model_states.pt ds/step/zero_pp_rank_0_mp_rank_00_optim_states.pt
    try 69 amn inspect ds
    grep -qF "without the file 'latest'" err
    try 65 amn inspect ds/step
    grep -qF 'not an archive of torch.save()' err
    cp "$fx/good-plain.safetensors" ds/model.safetensors
    try 0 amn inspect ds
    touch dcp/.metadata dcp/__0_0.distcp
    try 65 amn inspect dcp
    grep -qF 'torch.distributed.checkpoint' err
    touch tf/checkpoint tf/model.ckpt.index tf/model.ckpt.data-00000-of-00001
    try 69 amn inspect tf
    grep -qF 'a checkpoint of TensorFlow' err
    touch ox/config.json ox/onnx/model.onnx
    try 66 amn inspect ox
    grep -qF 'its subdirectories have (onnx)' err
    try 0 amn convert -o x.gguf in
    grep -qF 'the directory has no config.json, which gives it' err
    printf 'Rar!\032\007\001\000%040d' 0 >m.rar
    try 69 amn inspect m.rar
    grep -qF "unrar x FILE" err
    printf 'SBS\n%060d' 0 >gemma.sbs
    try 69 amn inspect gemma.sbs
    grep -qF 'gemma.cpp' err
    printf '\377\001%060d' 0 >m.flashpack
    try 69 amn inspect m.flashpack
    grep -qF 'FlashPack' err
    printf '\002\000\000\000\021\000\000\000blk.0.attn.weight%020d' 0 >imatrix.dat
    try 65 amn inspect imatrix.dat
    grep -qF -- '--imatrix FILE' err
    for magic in jartsr= APEDBG=; do
        printf "$magic%060d" 0 >m.llamafile
        try 69 amn inspect m.llamafile
        grep -qF "unzip FILE '*.gguf'" err
    done
}
