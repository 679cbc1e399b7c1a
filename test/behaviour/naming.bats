#!/usr/bin/env bats
# --only, --drop, --rename, --strip-prefix, --add-prefix: the tensors that are written, and their names.
load helper

# named FILE NAME...: makes a model of these tensors, each with its own values.
named() {
    python3 - "$@" <<'PYTHON'
import struct, sys
from modelfile import write
write(sys.argv[1], [(name.encode().decode("unicode_escape").encode("latin1").decode(), "I32", [2], struct.pack("<2i", i, -i))
                    for i, name in enumerate(sys.argv[2:])])
PYTHON
}

names() { amn-parse "$1" | jq -r .name; }

# gives WANTED... -- FILE OPTION...: both tools output these names, in any order, and so does --plan.
gives() {
    local wanted=()
    while [ "$1" != -- ]; do wanted+=("$1"); shift; done
    shift
    local file=$1
    shift
    remembers "$file" "$@" || return 1
    names out.file | sort >got
    printf '%s\n' "${wanted[@]}" | sort | diff - got || return 1
    amn-remember --plan "$file" "$@" | jq -r '.name // empty' | sort | diff - got || return 1
    amn-convert --to npz "$file" "$@" >out.npz
    names out.npz | sort | diff - got || return 1
    [ "$(amn-remember --size "$@" "$file")" -eq "$(stat -c %s out.file)" ]
}

@test "globs match whole names, without special treatment of dots and slashes" {
    named m a.weight a.bias b.weight b/c.weight abc
    gives a.weight b.weight b/c.weight -- m --only '*.weight'
    gives a.weight a.bias -- m --only 'a.*'
    gives b.weight -- m --only '?.weight' --drop 'a*'
    gives abc a.bias -- m --drop '*weight'
    gives a.weight b.weight -- m --only '[ab].weight'
    gives b.weight -- m --only '[!a].weight'
    gives a.bias abc -- m --only abc --only '*bias'
    gives abc -- m --only abc
    for tool in amn-remember "amn-convert --to npz"; do
        try 2 $tool m --only weight --only '*'
        is_empty out
        grep -q "only: no tensor matches 'weight'" err
        try 2 $tool m --only '[a'
        grep -q 'invalid or too long pattern' err
    done
    try 0 amn-remember m --drop '*'
    [ "$(names out | wc -l)" -eq 0 ]
}

# bats test_tags=full
@test "--rename works like sed -E on each name" {
    named m model.layers.10.weight model.layers.2.mlp.weight aaa 'a/b&c' 'a\\\\b' x
    for e in s/model/m/ 's/e/E/g' 's/[0-9]+/<&>/' 's/layers\.([0-9]+)\.(.*)/h.\1-\2/' 's|/|.|' 's/$/./' 's/^/p./g' 's/a*/-/g' \
        's/x*/-/g' 's/l*/_/g' 's,\.,\,,g' 's/a|x/&&/g' 's/a/\&/' 's/(a)(q)?/[\2\1]/g' 's/b$|^a/!/g' 's/\\/_/' 's/^a/b/g' \
        's/.*/\0/' 's/a/\\/' 's:a\:*:_:g' 's/\///'; do
        amn-remember --plan m | jq -r '.name // empty' | sed -E "$e" >want
        amn-remember --plan m --rename "$e" | jq -r '.name // empty' >got || { echo "of $e"; false; }
        diff want got || { echo "by $e"; false; }
        amn-convert --to npz m --rename "$e" | names - | sort >got
        sort want | diff - got
    done
    gives m.h.10.w m.h.2.mlp.w aaa 'a/b&c' 'a\\b' x -- m --rename s/model/m/ --rename s/layers/h/ --rename 's/weight/w/'
}

# bats test_tags=full
@test "prefixes, and the order of all these options" {
    named m model.a model.b c
    gives a b c -- m --strip-prefix model.
    gives p.model.a p.model.b p.c -- m --add-prefix p.
    gives p.a p.b p.c -- m --strip-prefix model. --add-prefix p.
    gives model.a model.b c -- m --add-prefix p. --strip-prefix p.
    gives z.a z.b c -- m --rename s/model/x/ --strip-prefix x. --rename 's/^([ab])/z.\1/'
    gives n.a -- m --rename s/model/n/ --only model.a         # selection uses the names of the input
    for how in '--strip-prefix model.a.b.c.d.e' '--rename s/nothing//' '--rename s/a/x/ --rename s/a/y/'; do
        try 2 amn-remember m $how
        grep -q 'no tensor has such a name; there are names like ' err
    done
    try 0 amn-convert --to npz --tensor model.a --strip-prefix model. m
    [ "$(names out)" = a ]
}

@test "the values follow their names" {
    named m a b c
    for tool in "amn-remember" "amn-convert --to npz"; do
        $tool m --rename s/a/x/ --rename s/b/a/ --rename s/x/b/ >swapped
        amn-convert --tensor a --to raw swapped | od -An -td4 | tr -s ' ' | grep -qx ' 1 -1'
        amn-convert --tensor b --to raw swapped | od -An -td4 | tr -s ' ' | grep -qx ' 0 0'
    done
    amn-remember --order name m --rename s/a/z/ | names - | paste -sd ' ' | grep -qx 'b c z'
}

@test "companions follow their weight" {
    f=$fx/good-fp8-block-bf16.safetensors
    weight=$(amn-parse "$f" | jq -r 'select(.role == "weight") | .name' | head -n 1)
    remembers "$f" --only "$weight"
    [ "$(names out.file)" = "$weight" ]
    amn-remember "$f" >all
    amn-convert --to raw --tensor "$weight" all >want
    amn-convert --to raw --tensor "$weight" "$f" | cmp - want
    remembers "$f" --only "$weight" --rename 's/.*/w/'
    amn-convert --to raw --tensor w out.file | cmp - want
    both 0 "$fx/good-gguf.gguf" amn-convert --to gguf --rename 's/^blk\./layer./'
    names out.file >got
    grep -q '^layer\.' got
    refute grep -q '^blk\.' got
}

@test "a duplicate name: usage error, before anything is written" {
    named m a.w b.w c
    for how in "--rename s/^..w/w/" "--strip-prefix a. --strip-prefix b." "--rename s/./c/g" "--rename s/a.w/c/"; do
        for tool in amn-remember "amn-convert --to npz"; do
            both 2 m $tool $how
            is_empty out.file
            is_empty out.pipe
            grep -q 'two output tensors would be named ' err.file
        done
    done
    try 2 amn-remember -o out.safetensors m --rename s/a.w/c/
    [ ! -e out.safetensors ]
    gives w c -- m --strip-prefix a. --drop 'b*'
}

@test "invalid expressions are reported" {
    named m a b
    for e in '' s s/ s/a s/a/ s/a/b y/a/b/ s/a/b/p s/a/b/gg 's\a\b\' 's/(/x/' 's/[/x/' 's/a/\1/' 's/(a)/\2/'; do
        try 2 amn-remember m --rename "$e"
        is_empty out
        grep -q -- '--rename: ' err || { echo "of $e:"; cat err; false; }
    done
    named nul 'a\x00b'
    try 69 amn-remember nul --rename s/a/b/
    error_line amn-remember unsupported
    gives_nul=$(amn-remember nul --add-prefix p. | amn-parse | jq -c .name)
    [ "$gives_nul" = '"p.a\u0000b"' ]
}

@test "a model directory uses the new names" {
    named m a b c d
    amn-remember -o dir/ --shard-size 16 m --rename 's/^/n./' --drop d
    jq -r '.weight_map | keys[]' dir/model.safetensors.index.json | paste -sd ' ' | grep -qx 'n.a n.b n.c'
    amn-remember dir | names - | paste -sd ' ' | grep -qx 'n.a n.b n.c'
}
