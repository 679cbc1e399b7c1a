#!/usr/bin/env bats
# bats file_tags=full
# Metadata of GGUF and of safetensors, and from the command line. test/peers reads the outputs with the libraries of
# the formats, and with llama.cpp.
load helper

# gguf NAME [CHANGE...], and `st FILE JSON`: makes a safetensors file with these metadata.
gguf() { "$helpers/all-keys" "$@"; }
st() {
    python3 - "$@" <<'PYTHON'
import json, sys
from modelfile import write
write(sys.argv[1], [("w", "F16", [2, 2], bytes(range(8)))], json.loads(sys.argv[2]))
PYTHON
}

# key FILE NAME..., meta FILE: print metadata with amn-inspect.
key() { amn-inspect --arrays "$1" | jq -c --args '[.metadata[$ARGS.positional[]]]' "${@:2}"; }
meta() { amn-inspect --arrays "$1" | jq -c .metadata; }
types() { amn-inspect --arrays "$1" | jq -c .metadata_types; }

# to FORMAT FILE OUT [OPTION...]: file and pipe give the same bytes, of the length printed by --size.
to() {
    local format=$1 in=$2 result=$3
    shift 3
    both 0 "$in" amn-convert --to "$format" "$@" && cmp out.file out.pipe &&
        [ "$(amn-convert --to "$format" "$@" --size "$in")" -eq "$(stat -c %s out.file)" ] && cp out.file "$result"
}

@test "GGUF to GGUF is the same file" {
    for change in "" "type=F16 file_type=1" "no=general.architecture"; do
        gguf in.gguf $change
        to gguf in.gguf out.gguf
        cmp in.gguf out.gguf
    done
}

@test "GGUF to safetensors and back is the same file" {
    for change in "" "type=F16 file_type=1"; do
        gguf in.gguf $change
        to safetensors in.gguf mid.safetensors
        to gguf mid.safetensors out.gguf
        cmp in.gguf out.gguf
        amn-remember in.gguf | cmp - mid.safetensors
        to safetensors mid.safetensors again.safetensors
        cmp mid.safetensors again.safetensors
    done
    [ "$(amn-inspect --to bf16 in.gguf | jq .remembered.size)" -eq "$(stat -c %s mid.safetensors)" ]
    # Other programs order the keys differently.
    python3 - mid.safetensors <<'PYTHON'
import json, struct, sys
from modelfile import read_header
raw = open(sys.argv[1], "rb").read()
header, start = read_header(raw)
header["__metadata__"] = dict(sorted(header["__metadata__"].items(), key=lambda item: item[0][::-1]))
text = json.dumps(header, ensure_ascii=False).encode()
open("mixed.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + raw[start:])
PYTHON
    to gguf mixed.safetensors mixed.gguf
    diff <(types in.gguf | jq -S .) <(types mixed.gguf | jq -S .)
    diff <(meta in.gguf | jq -S .) <(meta mixed.gguf | jq -S .)
}

@test "metadata of safetensors are strings in GGUF, and are restored" {
    st in.safetensors '{"format": "pt", "b": "1", "a": "é\u0000", "": ""}'
    both 69 in.safetensors amn-convert --to gguf
    grep -q '1 to 65535 bytes' err.file
    st in.safetensors '{"format": "pt", "b": "1", "a": "é\u0000"}'
    to gguf in.safetensors out.gguf
    [ "$(types out.gguf)" = '{"b":"str","a":"str"}' ]
    to safetensors out.gguf back.safetensors
    [ "$(meta back.safetensors)" = '{"b":"1","a":"é\u0000","format":"pt"}' ]
    st in.safetensors '{}'
    to gguf in.safetensors out.gguf
    [ "$(meta out.gguf)" = '{}' ]
    to npz in.safetensors out.npz
}

# torn KEY TYPE VALUE TEXT...: a list of types that does not match is malformed with every target.
torn() {
    st torn.safetensors "$(jq -nc --arg k "$1" --arg t "$2" --arg v "$3" '{a: "1", ($k): $v, "gguf.types": $t}')"
    shift 3
    local tool text
    for tool in "amn-convert --to gguf" "amn-convert --to safetensors" amn-remember; do
        both 65 torn.safetensors $tool || return 1
        is_empty out.file && is_empty out.pipe || return 1
        for text; do grep -qF -e "$text" err.file || { echo "no $text in:"; cat err.file; return 1; }; done
    done
}

# bats test_tags=full
@test "types that do not match the keys are malformed, naming the key" {
    for value in x '' 1.5 -1 4294967296 '1 2' '"1"' '[1]' true 1e2 0x1; do torn k '{"k":"u32"}' "$value" 'key k: '; done
    for value in 128 -129 99999999999999999999 --1 +1; do torn k '{"k":"i8"}' "$value" 'key k: ' i8; done
    for value in yes 1 TRUE null; do torn k '{"k":"bool"}' "$value" 'key k: '; done
    for value in nan 1e39 -1e39 1e999 inf '"NaN(7f800000)"' '"NaN(7fc0000)"' '"NaN(7fc0000g)"'; do
        torn k '{"k":"f32"}' "$value" 'key k: '
    done
    for value in 1 '[1,' '[1,]' '[1.0]' '[[1]]' '["1"]' '[256]' '[1][2]'; do torn k '{"k":"[u8]"}' "$value" 'key k: '; done
    for value in '\x4' '\y41' 'a\' '\xFF'; do torn k '{"k":"strx"}' "$value" 'key k: ' strx; done
    for value in '[[1],[2],["a"]]' '[[1]]' '[[1],[2]]' '[1,["a"]]'; do torn k '{"k":"[[u8],[str]]"}' "$value" 'key k: '; done
    torn k '{"k":"[]"}' '[[1]]' 'key k: '
    for type in u33 arr '' '[u8' 'u8]' '[u8,u8]' '[u8,[u8]]' '[[[[[u8]]]]]' 'u8,' '[str][str]' 'strxx' 'u8x'; do
        torn k "$(jq -nc --arg t "$type" '{k: $t}')" '[]' 'key k: ' unknown
    done
    torn k '{"k":"str","other":"u8"}' 1 'key gguf.types: lists key other'
    torn k '{"k":"u8","k":"u8"}' 1 'key gguf.types: lists key k twice'
    for text in 'str u8' '[]' '{"k":1}' '{"k":"u8"' '{"k":"u8"} x' ''; do torn k "$text" 1 'key gguf.types'; done
    try 0 amn-inspect --to bf16 torn.safetensors
    try 0 amn-inspect --human torn.safetensors
    try 0 amn-remember --no-metadata torn.safetensors
}

# bats test_tags=full
@test "the types that a GGUF file declares are true" {
    # change, options, file_type, quantization_version
    while read -r change options type version; do
        gguf in.gguf ${change//,/ }
        to gguf in.gguf out.gguf ${options//,/ }
        [ "$(key out.gguf general.file_type general.quantization_version)" = "[$type,$version]" ] ||
            { echo "$change $options: $(key out.gguf general.file_type general.quantization_version)"; return 1; }
    done <<'ROWS'
type=F32 --no-spool null null
type=F16,file_type=1 --no-spool 1 null
type=F16,file_type=7,quantization_version=2 --no-spool 7 2
type=Q8_0,file_type=7,quantization_version=2 --dtype=bf16 32 null
type=Q8_0,file_type=7,quantization_version=2 --dtype=f16 1 null
type=Q8_0,file_type=7,quantization_version=2 --dtype=f32 0 null
type=Q8_0 --dtype=f16 1 null
type=Q8_0,no=general.architecture --dtype=f16 null null
type=Q8_0,no=general.architecture,file_type=7 --dtype=f16 1 null
ROWS
    # At the same position.
    gguf in.gguf type=Q8_0 file_type=7
    to gguf in.gguf out.gguf
    diff <(types in.gguf | jq -c keys_unsorted) <(types out.gguf | jq -c keys_unsorted)
    # Keys that safetensors did not have are not invented.
    gguf in.gguf type=Q8_0 no=general.architecture
    to safetensors in.gguf mid.safetensors
    to gguf mid.safetensors out.gguf
    [ "$(key out.gguf general.file_type)" = '[null]' ]
}

@test "the alignment of the input does not carry over to the output" {
    gguf in.gguf align=4096
    to gguf in.gguf out.gguf
    gguf want.gguf
    cmp out.gguf want.gguf
}

@test "--gguf-metadata: the type of a value is inferred or given" {
    cat >keys.json <<'JSON'
{ "s": "é\n", "t": true, "f": false, "i": 0, "max": 4294967295, "neg": -1, "over": 4294967296, "low": -2147483649,
  "all": 18446744073709551615, "r": 1.5, "e": 1e-6, "as": ["a", ""], "ab": [true, false], "ai": [1, 2147483647, -1],
  "au": [4294967295, 0], "al": [-1, 4294967295], "ah": [18446744073709551615], "ar": [1, 2.5],
  "x8": {"type": "u8", "value": 255}, "xi": {"value": -128, "type": "i8"}, "xd": {"type": "f64", "value": 0.1},
  "xa": {"type": "[u16]", "value": [1, 65535]}, "xe": {"type": "[str]", "value": []}, "xs": {"type": "str", "value": "1"},
  "xf": {"type": "f32", "value": 1}, "xn": {"type": "[[i32]]", "value": [[1], []]}, "xb": {"type": "bool", "value": true} }
JSON
    st in.safetensors '{"s": "old", "z": "stays"}'
    to gguf in.safetensors out.gguf --gguf-metadata keys.json
    [ "$(types out.gguf | tr -d '"')" = '{s:str,z:str,t:bool,f:bool,i:u32,max:u32,neg:i32,over:u64,low:i64,all:u64,r:f32,e:f32,as:[str],ab:[bool],ai:[i32],au:[u32],al:[i64],ah:[u64],ar:[f32],x8:u8,xi:i8,xd:f64,xa:[u16],xe:[str],xs:str,xf:f32,xn:[[i32]],xb:bool}' ]
    [ "$(key out.gguf s z i neg over all as ai ar x8 xd xe xn)" = \
        '["é\n","stays",0,-1,4294967296,"18446744073709551615",["a",""],[1,2147483647,-1],[1,2.5],255,0.1,[],[[1],[]]]' ]
    amn-convert -o file.gguf --gguf-metadata keys.json in.safetensors
    cmp file.gguf out.gguf
}

# wrong JSON TEXT...: 65, naming the file, nothing written.
wrong() {
    printf '%s' "$1" >keys.json
    shift
    both 65 in.safetensors amn-convert --to gguf --gguf-metadata keys.json || return 1
    is_empty out.file && is_empty out.pipe && [ "$(wc -l <err.file)" -eq 1 ] || return 1
    local text
    for text in 'amn-convert: keys.json: malformed: ' "$@"; do
        grep -qF -e "$text" err.file || { echo "no $text in:"; cat err.file; return 1; }
    done
}

# bats test_tags=full,broken
@test "--gguf-metadata: errors have the key and the reason" {
    st in.safetensors '{"a": "b"}'
    for value in null '[]' '[1,"a"]' '[true,1]' '[[1]]' '[null]' '{}' '{"type":"u8"}' '{"value":1}' '{"type":1,"value":1}' \
        '{"type":"u8","value":1,"more":1}' '{"type":"u8","value":256}' '{"type":"u8","value":-1}' '{"type":"u8","value":1.0}' \
        '{"type":"u9","value":1}' '{"type":"str","value":1}' '{"type":"bool","value":1}' '{"type":"[u8]","value":1}' \
        '{"type":"[u8]","value":[1,-1]}' '{"type":"f32","value":1e39}' '{"type":"f32","value":"1"}' 1e39 \
        18446744073709551616 -9223372036854775809 '[1, 18446744073709551615, -1]'; do
        wrong "{\"good\": 1, \"bad.key\": $value}" 'key bad.key: '
    done
    wrong '{"a": 1, "a": 1}' 'key a: duplicate key'
    wrong '{"": 1}' 'empty'
    wrong '{"a\u0000b": 1}' 'NUL'
    wrong "{\"$(printf 'k%.0s' $(seq 65536))\": 1}" 'at most 65535 bytes'
    wrong '{"split.count": 1}' 'key split.count: '
    wrong '{"GGUF.tensor_count": 1}' 'key GGUF.tensor_count: '
    for text in '' '[]' '"a"' '{"a": 1' '{"a": 1} 2' '{"a": 01}' '{"a": }' "{'a': 1}" '{"a": NaN}'; do wrong "$text"; done
    wrong $'{"a\x1b": 1}'
    refute grep -q $'\x1b' err.file
    for n in 0 4 12 2097152 '"32"' 32.0 '{"type":"u64","value":32}'; do
        wrong "{\"general.alignment\": $n}" 'key general.alignment: ' 'power of two'
    done
    try 66 amn-convert --to gguf --gguf-metadata none.json in.safetensors
    head -c 17000000 /dev/zero | tr '\0' ' ' >large.json
    try 75 amn-convert --to gguf --gguf-metadata large.json in.safetensors
    echo '{}' >out.gguf
    try 73 amn-convert --gguf-metadata out.gguf -o out.gguf in.safetensors
    [ "$(cat out.gguf)" = '{}' ]
}

@test "--gguf-metadata can set the alignment" {
    gguf in.gguf
    for n in 8 64 4096; do
        echo "{\"general.alignment\": $n}" >keys.json
        to gguf in.gguf out.gguf --gguf-metadata keys.json
        [ "$(amn-inspect out.gguf | jq .gguf.alignment)" -eq $n ]
        [ $(($(stat -c %s out.gguf) % n)) -eq 0 ]
        amn-parse out.gguf | jq -e --argjson n $n '.offset % $n == 0' >/dev/null
        amn-remember out.gguf | cmp - <(amn-remember in.gguf)
        for i in 1 2 3; do amn-convert --to gguf --gguf-metadata keys.json --part $i/3 in.gguf; done | cmp - out.gguf
    done
}

@test "precedence: the input, then --gguf-metadata, then --gguf-kv" {
    gguf in.gguf
    echo '{"u8": 7, "i8": "file", "new": 1}' >keys.json
    to gguf in.gguf out.gguf --gguf-kv i8=kv --gguf-kv str=a=b --gguf-metadata keys.json --gguf-kv new2= --gguf-kv str=last
    [ "$(key out.gguf u8 i8 str new new2 u16)" = '[7,"kv","last",1,"",65535]' ]
    [ "$(types out.gguf | jq -c '[.u8, .i8, .str, .new2]')" = '["u32","str","str","str"]' ]
    diff <(types in.gguf | jq -c 'keys_unsorted + ["new", "new2"]') <(types out.gguf | jq -c keys_unsorted)
    gguf in.gguf type=Q8_0 file_type=7
    echo '{"general.file_type": 99}' >keys.json
    to gguf in.gguf out.gguf --gguf-metadata keys.json
    [ "$(key out.gguf general.file_type)" = '[99]' ]
}

@test "keys and values on the command line are checked" {
    st in.safetensors '{"a": "b"}'
    for pair in a '' =b split.no=1 split.tensors.count=1 GGUF.version=3 general.alignment=x $'a=\xff' $'\xff=a' \
        "$(printf 'k%.0s' $(seq 65536))=v"; do
        try 2 amn-convert --to gguf --gguf-kv "$pair" in.safetensors
        is_empty out
        grep -q '^amn-convert: usage: --gguf-kv ' err
    done
    for pair in a '' =b gguf.types={} $'a=\xff'; do
        try 2 amn-convert --to safetensors --metadata "$pair" in.safetensors
        try 2 amn-remember --metadata "$pair" in.safetensors
        grep -q '^amn-remember: usage: --metadata ' err
    done
    try 2 amn-convert --to gguf --gguf-metadata '' in.safetensors
}

@test "--metadata and --no-metadata, in both tools" {
    st in.safetensors '{"a": "1", "format": "np", "b": "2"}'
    while read -r options want; do
        options=${options//,/ }
        to safetensors in.safetensors out.safetensors $options
        [ "$(meta out.safetensors)" = "$want" ] || { echo "$options: $(meta out.safetensors)"; return 1; }
        remembers in.safetensors $options
        cmp out.file out.safetensors
    done <<'ROWS'
--order=input {"a":"1","format":"pt","b":"2"}
--no-metadata {"format":"pt"}
--metadata,c=3 {"a":"1","format":"pt","b":"2","c":"3"}
--metadata,a=x=y,--metadata,c=,--metadata,c=é {"a":"x=y","format":"pt","b":"2","c":"é"}
--metadata,c=3,--no-metadata {"c":"3","format":"pt"}
--metadata,format=mlx {"a":"1","format":"mlx","b":"2"}
--no-metadata,--metadata,format=mlx {"format":"mlx"}
ROWS
    amn-remember --no-metadata -o dir/ in.safetensors
    [ "$(meta dir/model.safetensors)" = '{"format":"pt"}' ]
    printf '\20\0\0\0\0\0\0\0{}              ' >none.safetensors
    to safetensors none.safetensors out.safetensors --metadata a=1
    [ "$(meta out.safetensors)" = '{"a":"1","format":"pt"}' ]
}

@test "--metadata keeps the type of an existing key" {
    gguf in.gguf
    amn-convert -o mid.safetensors in.gguf
    for f in in.gguf mid.safetensors; do
        to safetensors "$f" out.safetensors --metadata u8=7 --metadata a.str='["b"]' --metadata str=s --metadata new=1
        to gguf out.safetensors out.gguf
        [ "$(key out.gguf u8 a.str str new)" = '[7,["b"],"s","1"]' ]
        [ "$(types out.gguf | jq -c '[.u8, .["a.str"], .str, .new]')" = '["u8","[str]","str","str"]' ]
        try 2 amn-convert --to safetensors --metadata u8=256 "$f"
        is_empty out
        grep -q '^amn-convert: usage: --metadata u8: ' err
    done
}

@test "a key that safetensors cannot hold is refused" {
    gguf in.gguf
    sed 's/str.number/str.numbe\xff/' in.gguf >odd.gguf
    both 65 odd.gguf amn-convert --to safetensors
    is_empty out.file
    grep -q 'key str.numbe\\xff: ' err.file
    to gguf odd.gguf out.gguf
    cmp odd.gguf out.gguf
    to safetensors odd.gguf out.safetensors --no-metadata
    try 0 amn-inspect --to bf16 odd.gguf
}

@test "--order name is the order of the reference writer" {
    gguf in.gguf type=F16
    to safetensors in.gguf out.safetensors --order name
    amn-remember --order name in.gguf | cmp - out.safetensors
    [ "$(amn-parse out.safetensors | jq -r .name | tr '\n' ' ')" = 'last norm w ' ]
    to safetensors in.gguf out.safetensors --order input
    [ "$(amn-parse out.safetensors | jq -r .name | tr '\n' ' ')" = 'norm w last ' ]
}

@test "options about the metadata of one format are usage errors with another" {
    st in.safetensors '{"a": "b"}'
    echo '{}' >keys.json
    for format in gguf npz npy raw; do
        for option in "--metadata a=b" --no-metadata "--order name"; do
            try 2 amn-convert --to $format $option in.safetensors
            grep -q "usage: ${option% a=b} requires safetensors output" err
        done
        try 0 amn-convert --to $format --order input in.safetensors
    done
    for format in safetensors npz npy raw; do
        for option in "--gguf-kv a=b" "--gguf-metadata keys.json"; do
            try 2 amn-convert --to $format $option in.safetensors
            grep -q "usage: ${option% *} requires GGUF output" err
        done
    done
    try 2 amn-remember --gguf-kv a=b in.safetensors
    # The same word is a flag of another tool.
    try 0 amn-inspect --human --metadata in.safetensors
    grep -q 'a = "b"' out
    try 2 amn-inspect --metadata=a=b in.safetensors
}

@test "-v reports missing and omitted keys" {
    st in.safetensors '{"a": "b", "c": "d"}'
    for format in npz npy raw; do
        try 0 amn-convert -v --to $format in.safetensors
        grep -q 'note: 2 metadata keys not written: .* cannot hold metadata' err
        try 0 amn-convert --to $format in.safetensors
        is_empty err
    done
    try 0 amn-convert -v --to gguf in.safetensors
    grep -q 'warning: llama.cpp cannot run the output, which has no general.architecture key' err
    try 0 amn-convert -v --to gguf --gguf-kv general.architecture=llama in.safetensors
    refute grep -q general.architecture err
    try 0 amn-convert -q --to gguf in.safetensors
    is_empty err
}
