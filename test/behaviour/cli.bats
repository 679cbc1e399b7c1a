#!/usr/bin/env bats
# Options, keyword arguments and statuses that all tools share.
load helper

readers="amn-parse amn-inspect amn-remember"         # tools that need only an input
tools="$readers amn-forget amn-convert"

@test "--help: usage on stdout, status 0" {
    for t in $tools; do
        for o in -h --help; do
            try 0 $t $o
            grep -q "^Usage: $t " out
            is_empty err
        done
    done
}

@test "--help=all lists every option" {
    try 0 amn-remember --help=all
    for o in output no-clobber force to order size range jobs quiet verbose progress json-errors max-alloc max-items version; do
        grep -q -- "--$o" out || { echo "no --$o"; false; }
    done
}

@test "--version: one line" {
    for t in $tools; do
        for o in -V --version; do
            try 0 $t $o
            [ "$(wc -l <out)" -eq 1 ]
            grep -qE "^$t [0-9]+\.[0-9]+\.[0-9]+$" out
        done
    done
}

@test "usage errors: status 2, stdout empty, a hint" {
    for t in $tools; do
        try 2 $t --nonsense "$fx/good-plain.safetensors"
        is_empty out
        grep -q "^$t: usage: .*--nonsense" err
        grep -q -- "--help" err
        try 2 $t -Z
        try 2 $t --max-items=x "$fx/good-plain.safetensors"
        try 2 $t --max-ratio=-1 "$fx/good-plain.safetensors"
        try 2 $t --max-alloc=3Q "$fx/good-plain.safetensors"
        grep -q "'3Q' is not a size" err
        try 2 $t --quiet=yes "$fx/good-plain.safetensors"
        grep -q -- '--quiet takes no argument' err
    done
    for o in --to=f8 --order=size --range=5 --range=9-3 --range=- --range=a-b -j257 -jx --progress=maybe; do
        try 2 amn-remember "$o" "$fx/good-plain.safetensors"
        is_empty out
    done
    try 2 amn-remember -o
    try 2 amn-remember one two
    grep -q "unexpected argument 'two' (the output is given with -o)" err
    touch one two
    try 2 amn-remember one two
    grep -q "unexpected argument 'two': amn-remember takes one model; convert several with --output-dir DIR, merge them with amn-convert" err
    for operands in 'q4_k_m one' 'one q4_k_m'; do
        try 2 amn-forget $operands
        grep -q "unexpected argument 'q4_k_m' (did you mean --scheme q4_k_m?)" err
    done
    try 2 amn-forget one out.gguf --scheme q4_k_m
    grep -q "unexpected argument 'out.gguf' (the output is given with -o)" err
}

# asks WORDS COMMAND...: status 2, and the line ends with these words.
asks() {
    local words=$1
    shift
    try 2 "$@" "$fx/good-plain.safetensors" || return 1
    is_empty out && head -n 1 err | grep -qF -- "$words" || { echo "not '$words':"; cat err; return 1; }
}

@test "a mistyped option, value or scheme: the nearest one is offered" {
    asks "unknown option '--hlep'; did you mean --help?" amn-parse --hlep
    asks "unknown option '--ouput=x'; did you mean --output?" amn-remember --ouput=x
    asks "unknown option '--part_siez=3'; did you mean --part-size?" amn-remember --part_siez=3
    asks "unknown option '--frobnicate'; try 'amn-inspect --help'" amn-inspect --frobnicate
    refute grep -q 'did you mean' err
    asks "--to: unknown value 'bf61'; did you mean bf16?" amn-remember --to bf61
    asks "--to: unknown value 'double': expected bf16, f16 or f32" amn-inspect --to double
    asks "unknown scheme 'gtpq'; did you mean gptq?" amn-inspect --input-scheme gtpq
    asks "unknown option '--e" amn-parse $'--e\x1b[2Jvil'
    "$helpers/no-controls" err
}

@test "an option of another tool is reported with that tool" {
    asks 'amn-parse has no option --dtype; it belongs to amn-remember, amn-forget or amn-convert' amn-parse --dtype=f32
    asks 'amn-inspect has no option --output; it belongs to amn-remember, amn-forget or amn-convert' amn-inspect -o x
    asks 'amn-parse has no option --to; it belongs to amn-inspect, amn-remember, amn-forget or amn-convert' amn-parse --to f32
    asks 'amn-inspect has no option --list; use amn-parse' amn-inspect -l
}

@test "an abbreviated option must be unambiguous" {
    asks "ambiguous option '--pa': --part, --part-size or --parts" amn-remember --pa 1
    for t in parse inspect; do try 0 amn-$t --p auto "$fx/good-plain.safetensors"; done      # unique in this tool
    asks "ambiguous option '--m': --max-alloc, --max-total, --max-items or --max-ratio" amn-parse --m=1
    asks "unknown option '--ta=1'; try 'amn-parse --help'" amn-parse --ta=1
    for t in $readers "amn-convert --to npz"; do try 0 $t --verb --json-e "$fx/good-plain.safetensors"; done
    try 0 amn-remember --part 1/2 "$fx/good-plain.safetensors"      # the full name, although another option starts with it
}

@test "keyword arguments are case-insensitive; sizes accept K, KB and KiB" {
    f=$fx/good-fp8-block-f32.safetensors
    try 0 amn-remember --to f16 --order name --direct never --progress never "$f"
    cp out expected
    try 0 amn-remember --to F16 --order NAME --direct Never --progress NEVER "$f"
    cmp out expected
    try 0 amn-inspect --input-scheme FP8 "$f"
    for size in 1K 1k 1KB 1kb 1KiB 1024; do
        try 0 amn-remember --part-size $size --parts "$f"
        [ -e parts ] || cp out parts
        cmp out parts
    done
    try 2 amn-remember --part-size 1KBB --parts "$f"
    try 0 amn-remember --part-size 0.5K --parts "$f"
    try 0 amn-remember --part-size 512 --parts "$f"
    cp out parts
    try 0 amn-remember --part-size 0.5KiB --parts "$f"
    cmp out parts
    try 2 amn-remember --part-size 512.5 --parts "$f"
    grep -q "'512.5' is not a size such as" err
}

@test "--help fits on a screen of 80 columns and 40 lines; --help=all has 80 columns" {
    for t in $tools "amn list" amn; do
        try 0 $t --help
        refute awk 'length > 80 { print; bad = 1 } END { if (NR > 40) { print NR " lines"; bad = 1 } exit !bad }' out
        [ "$t" = amn ] && continue
        tail -n 1 out | grep -qxF "All options: $t --help=all. Manual: amn help ${t#amn?}"
        try 0 $t --help=all
        refute awk 'length > 80 { print; bad = 1 } END { exit !bad }' out
    done
}

# options FILE: the long options that a help text lists, sorted.
options() { sed -n 's/^  \(-.,\|   \) --\([a-z-]*\).*/\2/p' "$1" | sort; }

@test "--help=all lists every option of the tool, once, under the headings of --help" {
    made=${AMN_OBJ:-$tests/../obj}/completions/amn.bash         # from the table that parses the command line
    for t in $tools "amn list"; do
        try 0 $t --help
        mv out short
        try 0 $t --help=all
        bash -c '. "$1"; _amn_options "$2"' bash "$made" "amn-${t#amn?}" | grep -oE '[a-z][a-z-]*' | sort >wanted
        [ "$(wc -l <wanted)" -gt 10 ]
        diff wanted <(options out)
        [ -z "$(comm -23 <(options short) wanted)" ]
        [ -z "$(comm -23 <(grep '^[A-Z].*:$' short | sort) <(grep '^[A-Z].*:$' out | sort))" ]
        try 0 $t --help=ALL
        try 2 $t --help=everything
        grep -q -- "--help=all" err
    done
}

@test "options may follow operands; - is standard input; -- ends the options" {
    try 0 amn-remember "$fx/good-plain.safetensors" --size
    cp out expected
    try 0 amn-remember --size - <"$fx/good-plain.safetensors"
    cmp out expected
    try 0 amn-remember --size <"$fx/good-plain.safetensors"
    cmp out expected
    cp "$fx/good-plain.safetensors" -- --size
    try 0 amn-remember --size -- --size
    cmp out expected
}

@test "standard input that is a file at another offset is read from that offset, like a pipe" {
    { printf 'eight..\n'; cat "$fx/good-fp8-row-f32.safetensors"; } >long
    { dd bs=8 count=1 of=/dev/null 2>/dev/null; try 0 amn-remember -; } <long
    cp out got
    try 0 amn-remember "$fx/good-fp8-row-f32.safetensors"
    cmp out got
}

@test "no operand and a terminal as standard input: usage error, not a silent wait" {
    for t in $tools; do
        try 2 "$helpers/pty" $t
        grep -q 'no input' out
    done
}

@test "each class of errors has its exit status" {
    try 0 amn-remember "$fx/good-plain.safetensors"
    try 65 amn-remember "$fx/bad-hole.safetensors"
    error_line amn-remember malformed
    try 66 amn-remember nowhere
    error_line amn-remember 'cannot open'
    try 66 amn-remember /
    try 66 amn-remember ''
    try 69 amn-remember "$fx/unsupported-ggjt.bin"
    error_line amn-remember unsupported
    try 69 amn-remember "$fx/unsupported-exl3.safetensors"
    error_line amn-remember unsupported
    try 73 amn-remember -o nowhere/out "$fx/good-plain.safetensors"
    error_line amn-remember 'cannot create'
    need_full
    out=/dev/full try 74 amn-remember "$fx/good-plain.safetensors"
    error_line amn-remember input/output
    try 75 amn-remember --max-items=1 "$fx/good-plain.safetensors"
    error_line amn-remember limit
}

@test "a file that may not be read: 66" {
    cp "$fx/good-plain.safetensors" f
    chmod 000 f
    try 66 bound amn-parse f
    error_line amn-parse 'cannot open'
}

@test "limits can only be lowered, and messages name the option" {
    for t in $readers "amn-convert --to npz"; do
        try 75 $t --max-alloc=100 "$fx/good-plain.safetensors"
        try 75 $t --max-total=100 "$fx/good-plain.safetensors"
        try 75 $t --max-items=2 "$fx/good-plain.safetensors"
        try 75 $t --max-items=2 "$fx/good-gguf.gguf"
        is_empty out
        try 0 $t --max-items=999999999 "$fx/good-plain.safetensors"
    done
    try 75 amn-parse --max-items=999999999 "$fx/bad-huge-header.safetensors"
    grep -q 'the limit of' err
}

@test "limits apply to the sum over the files of a model, and to GGUF" {
    "$helpers/large" heads 3 model          # 3 headers of 2 MiB
    for t in $readers "amn-convert --to npz"; do
        try 0 $t --max-total=10M --max-alloc=3M --max-items=6 model     # one tensor and one key in each
        try 75 $t --max-total=5M model
        grep -q 'limit of 5242880' err
        try 75 $t --max-items=5 model
        try 75 $t --max-alloc=1M model
        for limit in alloc total; do
            try 75 $t --max-$limit=200 "$fx/good-gguf.gguf"
            try 0 $t --max-$limit=1M "$fx/good-gguf.gguf"
        done
    done
    sed -i 's/^/ /' model/model.safetensors.index.json
    try 75 amn-parse --max-alloc=100 model
}

# over LIMIT TEXT COMMAND...: refused with this --max-alloc, accepted without.
over() {
    local limit=$1 text=$2
    shift 2
    try 0 "$@"
    try 75 "$@" --max-alloc="$limit"
    is_empty out
    grep -q "$text.*limit of $limit.*--max-alloc" err || { cat err; return 1; }
}

@test "--max-alloc also limits the header, directory and metadata of an output" {
    python3 -c '
import json
from modelfile import write
tensors = [("t%d" % i, "F16", [1], 2) for i in range(500)]
write("many.safetensors", tensors, {})
write("list.safetensors", tensors, {"gguf.types": json.dumps({"l": "[u64]"}), "l": json.dumps([1] * 40000, separators=(",", ":"))})'
    long=$(printf 'x%.0s' $(seq 55))
    over 40000 'GGUF header of the output' amn-convert --to gguf --add-prefix "$long" many.safetensors
    over 50000 'directory of the output' amn-convert --to npz --add-prefix "$long" many.safetensors
    over 40000 'safetensors header of the output' amn-convert --to safetensors --add-prefix "$long" many.safetensors
    over 150000 'metadata of the output: a value' amn-convert --to gguf list.safetensors
    "$helpers/hf-model" "$corpus/hf-models/qwen2" hf config.vocab_size=100000 put=model.embed_tokens.weight:BF16:100000x64:zeros
    over 1000000 'metadata of the output: a value' amn-convert --to gguf hf
}

@test "the error line: tool, file, kind, tensor, offset; one line" {
    try 65 amn-remember "$fx/bad-hole.safetensors"
    [ "$(wc -l <err)" -eq 1 ]
    grep -qE '^amn-remember: .*bad-hole\.safetensors: malformed: tensor b: .*\[at byte [0-9]+\]$' err
    try 65 amn-remember - <"$fx/bad-size.safetensors"
    grep -qE '^amn-remember: \(standard input\): malformed: tensor a: ' err
}

@test "--json-errors: one JSON object with the same facts" {
    for t in $readers; do
        try 65 $t --json-errors "$fx/bad-hole.safetensors"
        is_empty out
        [ "$(wc -l <err)" -eq 1 ]
        jq -e --arg t $t --arg f "$fx/bad-hole.safetensors" '.tool == $t and .file == $f and .kind == "malformed"
            and .status == 65 and (.message | contains("tensor b")) and .tensor == "b"
            and (.offset | type) == "number"' err
    done
    try 66 amn-remember --json-errors nowhere
    jq -e '.status == 66 and .kind == "open" and .file == "nowhere" and .tensor == null and .offset == null' err
    try 73 amn-remember --json-errors -o nowhere/out "$fx/good-plain.safetensors"
    jq -e '.status == 73 and .kind == "create"' err
    need_full
    out=/dev/full try 74 amn-remember --json-errors "$fx/good-plain.safetensors"
    jq -e '.status == 74 and .kind == "io"' err
    try 75 amn-parse --json-errors --max-items=1 "$fx/good-plain.safetensors"
    jq -e '.status == 75 and .kind == "limit"' err
    try 2 amn-remember --nonsense --json-errors
    jq -e '.status == 2 and .kind == "usage" and .file == null' err
    try 69 amn-inspect --json-errors "$fx/unsupported-ggjt.bin"
    jq -e '.status == 69 and .kind == "unsupported"' err
    try 65 amn-remember --json-errors "$fx/bad-name-hostile.safetensors"
    jq -e '.kind == "malformed"' err
}

# failure FILE: writes its error as JSON to err.
failure() {
    amn-remember --json-errors --size "$1" 2>err && { echo "$1: no failure"; return 1; }
    jq -e .kind err >/dev/null
}

@test "--json-errors: the tensor, whatever its name and wherever the error is detected" {
    failure "$fx/bad-scale-missing.safetensors"
    jq -e '.tensor | type == "string"' err
    failure "$corpus/gguf-bad/dim-2p63-1.gguf"        # messages of GGUF name the tensor
    jq -e '.tensor as $t | $t != null and (.message | startswith("tensor " + $t + ": "))' err
    failure "$corpus/safetensors-bad/index-missing-tensor"
    jq -e '.tensor != null' err
    failure "$fx/unsupported-exl3.safetensors"
    jq -e '.kind == "unsupported" and .tensor != null' err
    python3 - <<'END'
from modelfile import header
for file, name in ("colons", "a: tensor b: c"), ("escape", "a\x1bb"):
    open(file, "wb").write(header([(name, "F32", [3], 0, 8)]) + bytes(8))
END
    failure colons
    jq -e '.tensor == "a: tensor b: c"' err
    failure escape
    jq -e '.tensor == "a\\u{1b}b"' err
}

# bats test_tags=full
@test "--json-errors: the members of every error, warning and note are documented in amn-json(5)" {
    { amn-remember --json-errors --nonsense || :; } 2>objects
    for f in "$fx"/good-* "$fx"/bad-* "$fx"/unsupported-* "$fx"/schemes/* "$corpus"/*-bad/* nowhere; do
        amn-remember --json-errors -v --size "$f" 2>>objects >/dev/null </dev/null || [ $? -ne 70 ]
    done
    "$helpers/json-keys" 'ERRORS AND NOTES' <objects
    jq -es 'all(.[]; if .kind == "note" or .kind == "warning" then .status == null else .status >= 2 end)
        and ([.[].kind] | unique - ["limit", "malformed", "note", "open", "unsafe", "unsupported", "usage", "warning", "io"] == [])' objects
}

@test "AMN_CPU: an unknown name is a usage error, an empty one is ignored" {
    AMN_CPU=pentium try 2 amn-remember "$fx/good-plain.safetensors"
    grep -q 'AMN_CPU' err
    AMN_CPU='' try 0 amn-remember "$fx/good-plain.safetensors"
}

@test "-q is silent, -v writes to stderr, neither changes the output" {
    late=$fx/good-fp8-wide-late.safetensors
    cat "$late" | try 0 amn-remember
    cp out plain
    is_empty err
    cat "$late" | try 0 amn-remember -v
    cmp out plain
    grep -q '^amn-remember: .*: note: ' err
    cat "$late" | try 0 amn-remember -v -q
    cmp out plain
    is_empty err
}
