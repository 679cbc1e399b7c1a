#!/usr/bin/env bats
# Schemes that are told by their tensors, markers or configuration: what is refused, with which status, in which words.
# schemes/EXPECT of the fixtures has the cases: status, file or folder, and what the message says.
load helper

# cases PREFIX COUNT: each of them, at least COUNT, by name and, when it is a file, through a pipe. Of what is refused
# nothing comes out.
cases() {
    local status name word n=0
    while read -r status name word; do
        case $name in "$1"*) ;; *) continue ;; esac
        if [ -d "$fx/schemes/$name" ]; then
            try "$status" amn-remember "$fx/schemes/$name" || return 1
            mv out out.file; mv err err.file
            cp out.file out.pipe; cp err.file err.pipe
        else
            both "$status" "$fx/schemes/$name" amn-remember || return 1
        fi
        cmp out.file out.pipe || return 1
        if [ "$status" -ne 0 ]; then
            is_empty out.file || return 1
        fi
        if [ "$word" = - ]; then
            is_empty err.file || { echo "in $name"; return 1; }
        else
            grep -qF -e "$word" err.file && grep -qF -e "$word" err.pipe ||
                { echo "no $word of $name in:"; cat err.file; return 1; }
        fi
        n=$((n + 1))
    done <"$fx/schemes/EXPECT"
    [ "$n" -ge "$2" ]
}

@test "ComfyUI: markers, companions and shapes of its formats" {
    cases comfy- 35
}

@test "SDNQ: types, modules and shapes of its configuration" {
    cases sdnq- 20
}

@test "schemes with names of their own: 69, by name, nothing left over" {
    cases named- 30
}

@test "their shapes, types and companions made wrong: 65" {
    cases broken- 20
}

@test "names that quantizers use, with nothing to claim them, pass" {
    cases plain- 1
}

@test "a decoded ComfyUI weight loses its marker and the metadata that named it" {
    both 0 "$fx/schemes/comfy-layer-name-only.safetensors" amn-remember
    refute grep -q _quantization_metadata out.file
    try 0 amn-remember "$fx/schemes/comfy-fp8-experts.safetensors"
    refute grep -q comfy_quant out
}

@test "reports name a ComfyUI weight by its tensors, without reading its marker" {
    try 0 amn-parse "$fx/schemes/comfy-marker-twice.safetensors"
    grep -q '"scheme":"fp8"' out
    try 0 amn-parse "$fx/schemes/comfy-params-and-top.safetensors"
    grep -q '"scheme_label":"ComfyUI int8_tensorwise"' out
    try 0 amn-parse "$fx/schemes/comfy-layer-unknown.safetensors"
    grep -q '"scheme":"comfy","scheme_label":"ComfyUI (float3_magic)"' out
}
