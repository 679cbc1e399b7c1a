#!/usr/bin/env bats
# A model inside an archive of files: llamafile, .zip, .tar, .nemo and DDUF. Python's zipfile and tarfile write them.
# bats file_tags=fast
load helper

setup_file() { :; }
teardown_file() { :; }

setup() {
    begin
    pth=$(cd "$corpus/pth-good" && ls | grep '\.pth$\|\.pt$' | head -1)
    "$helpers/make-archives" "$corpus" "$pth"
    folder=$corpus/safetensors-good/peer-mlx-metal
}

# is_as FILE MODEL [OPTION...]: amn-remember gives the same bytes.
is_as() {
    local file=$1 model=$2
    shift 2
    try 0 amn-remember -q "$@" "$file"
    amn-remember -q "$model" | cmp - out
}

@test "a GGUF file in a program: three magics, and ELF" {
    for file in one.llamafile elf.llamafile; do
        is_as $file "$corpus/gguf-good/nvfp4-scale.gguf"
    done
    try 2 amn-parse two.llamafile
    grep -q 'several models (mmproj.gguf, model.gguf): give --root' err
    is_as two.llamafile "$corpus/gguf-good/nvfp4-scale.gguf" --root mmproj.gguf
    for range in 0-99 700-1500; do
        amn-remember -q --range $range one.llamafile >r
        amn-remember -q --range $range "$corpus/gguf-good/nvfp4-scale.gguf" | cmp - r
    done
}

@test "a directory in ZIP or tar, with its config.json and below other directories" {
    for file in dir.zip ustar.tar gnu.tar pax.tar; do
        is_as $file "$folder"
    done
    try 0 amn-convert -q -o d/ dir.zip
    try 0 amn diff d/model.safetensors "$folder/model.safetensors"
    jq -e .quantization_config d/config.json
    try 0 amn-inspect dir.zip
}

@test "a directory of directories: --root chooses one, or a file in it" {
    try 2 amn-parse pipeline.dduf
    grep -q 'transformer, vae' err
    is_as pipeline.dduf "$folder" --root vae
    is_as pipeline.dduf "$folder" --root vae/model.safetensors
}

@test ".nemo: the checkpoint in it; parallel ones are not joined" {
    is_as one.nemo "$corpus/pth-good/$pth"
    try 2 amn-parse ranks.nemo
    try 69 amn-parse --root mp_rank_00 ranks.nemo
    grep -q 'one rank' err
    try 69 amn-parse old.nemo
    grep -q 'tar -xf' err
    try 0 amn scan one.nemo
}

@test "an archive with folders is refused from a pipe, with what to do" {
    python3 -c 'import zipfile; z = zipfile.ZipFile("folder.zip", "w"); z.writestr("m/", ""); z.write("one.nemo", "m/one"); z.close()'
    cat folder.zip | try 69 amn parse
    grep -q "has folders: extract it with 'unzip FILE'" err
}

@test "the same file is not overwritten" {
    ln one.llamafile out.gguf
    try 73 amn-convert -q -f -o out.gguf one.llamafile
}

# bats test_tags=broken
@test "deflated members, other archives, and truncation at every boundary" {
    try 69 amn-parse deflated.llamafile
    grep -q "unzip" err
    try 69 amn-parse export.pt2
    grep -q 'torch.export' err
    for file in dir.zip one.llamafile pax.tar one.nemo; do
        size=$(stat -c %s $file)
        for at in 4 100 511 512 513 1024 1536 2000 5000 5030 $((size / 2)) $((size - 2048)) $((size - 600)) $((size - 23)) $((size - 1)); do
            [ $at -gt 0 ] && [ $at -lt $size ] || continue
            head -c $at $file >cut
            got=0
            timeout 20 amn-parse cut >o 2>err || got=$?
            case $file:$got in
            *:65 | *:69) [ "$(wc -l <err)" -eq 1 ] ;;
            *.tar:0 | *.nemo:0) cmp o <(amn-parse $file | sed "s/$file/cut/") ;;        # only zeros at its end are gone
            *) echo "$file at $at: $got"; cat err; return 1 ;;
            esac
        done
    done
}
