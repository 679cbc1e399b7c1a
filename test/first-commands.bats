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
    for job in 'amn-remember --exclude typo' 'amn-convert --to npz --exclude typo' 'amn-convert --to npz --include typo' \
        'amn-forget --scheme nf4 --exclude typo' 'amn-forget --scheme nf4 --include typo'; do
        try 2 $job in
        grep -q "no tensor matches 'typo'; patterns match the whole name, such as '\*norm\*'" err
    done
    try 0 amn-forget -q --scheme nf4 --exclude '*norm*' in
}
