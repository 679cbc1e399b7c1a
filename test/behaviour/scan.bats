#!/usr/bin/env bats
# bats file_tags=broken
# amn-inspect --scan: everything that pickles would import and call, even if they and the files around them try to hide it.
load helper

# keep NAME: appends the lines that both() left to all.file and all.pipe.
keep() {
    local way lines
    for way in file pipe; do
        mapfile -t lines <out.$way
        [ ${#lines[@]} -eq 1 ] || { echo "${#lines[@]} lines of $1"; return 1; }
        printf '%s\n' "${lines[0]}" >>all.$way
    done
}

hostile() {
    "$helpers/hostile-pickles" hostile
}

# bats test_tags=full
@test "each way to name a global, and to hide one, by name and through a pipe" {
    hostile
    n=0
    while read -r status name rest; do
        both "$status" "hostile/$name" amn-inspect --scan || return 1
        keep "$name"
        n=$((n + 1))
    done <hostile/EXPECT
    [ "$n" -ge 55 ]
    diff <(jq -S 'del(.file, .fault)' all.file) <(jq -S 'del(.file, .fault)' all.pipe)
    jq -cR 'split(" ")' hostile/EXPECT >rows
    jq -c -n --slurpfile rows rows '[inputs] as $got | range($rows | length) as $i | $got[$i]
        | $rows[$i] as [$status, $name, $found, $verdict, $odd] | select(
            ([.pickles[].findings[] | select("\(.module).\(.name)" == ($found | gsub("\\\\u001b"; "\u001b")) and .verdict == $verdict)]
                | length > 0 or $found == "-")
            and ([.pickles[].anomalies[].code] | index($odd) != null or $odd == "-")
            and .dangerous == ([.pickles[].findings[] | select(.verdict == "dangerous")] | length)
            and (.verdict == "found") == (.dangerous > 0) and .allowed == (.verdict == "clean")
            and .count == (.pickles | length) + .unlisted | not)' all.file >wrong
    is_empty wrong
}

@test "the form of a finding" {
    hostile
    try 1 amn-inspect --scan hostile/evil.pt
    is_empty err
    jq -c '.pickles[0].findings[0]' out >got
    diff got - <<'END'
{"member":"a/data.pkl","pickle":0,"offset":2,"opcode":"GLOBAL","module":"os","name":"system","verdict":"dangerous","reason":"a module that can execute code or access files, processes or the network","called":true,"via":"REDUCE","count":1}
END
    jq -e '.format == "ZIP" and .count == 1 and .fault == null and (.pickles[0] | .protocol == 2 and .length == 16
        and .opcodes == 5 and .truncated == false and .dangerous == 1 and .unresolved == 0 and .anomalies == [])' out
    try 1 amn-inspect --scan hostile/uncalled.pkl
    jq -e '.pickles[0].findings[0] | .called == false and .via == null and .member == null' out
    try 1 amn-inspect --scan hostile/called-first.pkl
    jq -e '[.pickles[0].findings[] | [.name, .called, .verdict]]
        == [["_rebuild_from_type_v2", true, "allowed"], ["system", true, "dangerous"]]' out
    try 1 amn-inspect --scan hostile/build.pkl
    jq -e '.pickles[0].findings[0].via == "BUILD"' out
    python3 -c 'open("twice.pkl", "wb").write(b"\x80\x02" + b"cm\nn\n0" * 3 + b"cm\no\n.")'
    try 77 amn-inspect --scan twice.pkl
    jq -e '[.pickles[0].findings[] | [.name, .count, .offset]] == [["n", 3, 2], ["o", 1, 20]]' out
}

@test "statuses: dangerous takes precedence over a fault, which is reported; the highest of several" {
    hostile
    try 1 amn-inspect --scan hostile/cut.pt
    error_line amn-inspect malformed
    jq -e '.fault.kind == "malformed" and .dangerous == 1' out
    try 65 amn-inspect --scan hostile/cut-good.pt hostile/good.pt
    [ "$(wc -l <out)" -eq 2 ]
    try 1 amn-inspect --scan hostile/cut-good.pt hostile/evil.pt nowhere
    [ "$(wc -l <out)" -eq 2 ]
    [ "$(wc -l <err)" -eq 2 ]
    try 66 amn-inspect --scan nowhere hostile/good.pt
    try 0 amn-inspect --scan "$fx/good-plain.safetensors" "$fx/good-gguf.gguf"
    jq -e -s 'map(.format) == ["safetensors", "GGUF"] and all(.count == 0 and .verdict == "clean" and .allowed)' out
    echo 'no pickle at all' >words
    both 65 words amn-inspect --scan
    jq -e '.verdict == "unknown" and .format == null and .fault.kind == "malformed"' out.file
    : >empty
    try 65 amn-inspect --scan empty
    jq -e '.verdict == "unknown"' out
    # No failure is ever reported as clean.
    for how in '65 hostile/cut-good.pt' '69 packed.bz2' '75 --max-items 1 hostile/good.pt'; do
        printf 'BZh91AY&SY' >packed.bz2
        try $(set -- $how; s=$1; shift; echo $s amn-inspect --scan "$@")
        jq -e '.verdict == "unknown" and .allowed == false and .fault != null' out
        [ "$(wc -l <err)" -eq 1 ]
    done
    try 2 amn-inspect --scan --metadata hostile/good.pt
    error_line amn-inspect usage
}

@test "a directory: every file that is a known format or should be one" {
    hostile
    mkdir model
    cp hostile/good.pt model/pytorch_model.bin
    cp hostile/global.pkl model/training_args.bin
    cp "$fx/good-plain.safetensors" model/model.safetensors
    echo '{}' >model/config.json
    echo '{"weight_map":{}}' >model/pytorch_model.bin.index.json
    for operand in model model/pytorch_model.bin.index.json; do
        try 1 amn-inspect --scan $operand
        is_empty err
        jq -e -s 'map([.file, .verdict]) == [["model/model.safetensors", "clean"], ["model/pytorch_model.bin", "clean"],
            ["model/training_args.bin", "found"]]' out
    done
    echo nonsense >model/broken.pt
    try 1 amn-inspect --scan model
    error_line amn-inspect malformed
    rm model/training_args.bin model/broken.pt
    try 0 amn-inspect --scan model
    printf 'BZh91AY&SY' >model/weights
    try 69 amn-inspect --scan model
    jq -e -s 'map([.file, .verdict])[2] == ["model/weights", "unknown"]' out
}

@test "text: the verdict first, then the reason; names are escaped" {
    hostile
    try 1 amn-inspect --scan --human hostile/other-member.pt
    diff out - <<'END'
Verdict       DANGEROUS: loading this file in Python can execute arbitrary code
Dangerous     os.system, called (a/sub/data.pkl, byte 2)
Allowed       1 name
Pickles       2 (file format: ZIP)
END
    try 1 amn-inspect --scan --human hostile/control.pkl
    grep -qF 'Dangerous     fine\u{1b}[2J.name (byte 2)' out
    try 77 amn-inspect --scan --human hostile/unknown.pkl hostile/nested.pkl hostile/plain.npy hostile/cut-good.pt
    diff out - <<'END'
hostile/unknown.pkl:
Verdict       unknown: references names that are not known to be harmless
Suspicious    my.model.Net, called (byte 2)
Pickles       1 (file format: pickle)

hostile/nested.pkl:
Verdict       clean: only allowed names
Odd           contains a string that is a pickle itself (byte 2)
Pickles       1 (file format: pickle)

hostile/plain.npy:
Verdict       clean: no pickles
Pickles       0 (file format: NPY)

hostile/cut-good.pt:
Verdict       unknown: the file could not be read completely
Not read      ZIP archive: no end record (incomplete download or copy, or trailing data?)
Allowed       1 name
Pickles       1 (file format: ZIP)

4 files: 0 dangerous, 2 unknown, 2 clean
END
    for f in hostile/*; do
        amn-inspect --scan --human "$f" 2>&1 || :
    done >texts
    "$helpers/no-controls" texts
}

# bats test_tags=full
@test "a file truncated at every byte ends the scan with a verdict or a fault, never with anything else" {
    hostile
    for f in evil.pt deflated.pt stacked-evil.pt objects.npy old-good.tar; do
        for ((n = 1; n < $(wc -c <hostile/$f) && n < 400; n += 7)); do
            head -c $n hostile/$f >cut
            got=0
            amn-inspect --scan cut >out 2>err || got=$?
            case $got in 0 | 1 | 65 | 69 | 77) ;; *) echo "$f at $n: $got"; cat err; return 1 ;; esac
        done
    done
}

@test "memory: sizes declared by a pickle are not allocated" {
    without_sanitizer
    hostile
    for f in deep.pkl flood.pkl; do
        kib=$("$peak_memory" amn-inspect --scan hostile/$f) || case $? in 1 | 77) ;; *) false ;; esac
        [ "$kib" -lt 131072 ] || { echo "$f: $kib KiB"; return 1; }
    done
}

# bats test_tags=full
@test "the members of all objects are documented in amn-json(5)" {
    hostile
    cp "$fx/good-plain.safetensors" hostile/plain.safetensors
    for f in hostile/*; do
        amn-inspect --scan "$f" 2>/dev/null || :
    done >objects
    amn-inspect --scan --max-items 1 hostile/good.pt 2>/dev/null >>objects || [ $? -eq 75 ]
    "$helpers/json-keys" 'AMN-INSPECT SCAN' <objects
}

# bats test_tags=full
@test "the corpus: amn_canary.mark is found wherever a loader could reach it" {
    n=0
    while IFS=$'\t' read -r file status; do
        both "$status" "$corpus/scan/$file" amn-inspect --scan || { echo "$file"; return 1; }
        keep "$file"
        n=$((n + 1))
    done < <(jq -r '[.file, .status] | @tsv' "$corpus/scan/expected.ndjson")
    [ "$n" -ge 70 ]
    for via in file pipe; do
        jq -c -n --slurpfile rows "$corpus/scan/expected.ndjson" '[inputs] as $got | range($rows | length) as $i
            | $rows[$i] as $row | $got[$i]
            | select(.verdict == $row.verdict and .allowed == ($row.verdict == "clean")
                and (.verdict == "found") == (.dangerous > 0)
                and (.verdict == "clean") == (.fault == null and .dangerous + .suspicious == 0)
                and ([.pickles[].findings[] | "\(.module).\(.name)"] | index($row.finds) != null or $row.finds == null) | not)' all.$via >wrong
        is_empty wrong
    done
    jq -e -s 'all(.[]; .finds == null or .status != 0)' "$corpus/scan/expected.ndjson"
}

@test "the verdict on names of dangerous modules, and of unknown ones" {
    mkdir names
    python3 - "$corpus/scan/names.txt" <<'END'
import sys
for line in open(sys.argv[1]):
    verdict, name = line.split()
    module, _, name = name.rpartition(".")
    # Only STACK_GLOBAL can name a method of a class in a module.
    text = lambda s: b"\x8c" + bytes([len(s)]) + s.encode()
    open("names/%s.%s.%s.p2" % (module, name, verdict), "wb").write(b"\x80\x02c%s\n%s\n)R." % (module.encode(), name.encode()))
    open("names/%s.%s.%s.p4" % (module, name, verdict), "wb").write(b"\x80\x04" + text(module) + text(name) + b"\x93)R.")
END
    amn-inspect --scan names/* >out || [ $? -eq 1 ]
    jq -r 'select((.file | split(".")[-2]) != .verdict) | "\(.file): \(.verdict)"' out >wrong
    is_empty wrong
    [ "$(wc -l <out)" -ge 250 ]
}
