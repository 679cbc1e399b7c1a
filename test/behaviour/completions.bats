#!/usr/bin/env bats
# bats file_tags=full
# Command lines after the tab key is pressed, in real shells.
load helper

made() { echo "$AMN_OBJ_DIR/completions/$1"; }

setup_file() { :; }
teardown_file() { :; }

setup() {
    AMN_BIN=$(cd "${AMN_BIN:-$tests/../bin}" && pwd)
    PATH=$AMN_BIN:$PATH
    AMN_OBJ_DIR=$(cd "${AMN_OBJ:-$tests/../obj}" && pwd)
    export PYTHONDONTWRITEBYTECODE=1
    dir=$(mktemp -d "${TMPDIR:-/tmp}/amn-test.XXXXXX")
    cd "$dir"
    touch model.gguf 'model two.safetensors'
    local commit=0123456789abcdef0123456789abcdef01234567 to=$dir/hub/models--acme--tiny
    local snapshot=$to/snapshots/$commit
    export HF_HUB_CACHE=$dir/hub
    mkdir -p "$snapshot" "$to/refs"
    echo "$commit" >"$to/refs/main"
    cp "$corpus/safetensors-good/plain-lookalikes.safetensors" "$snapshot/model.safetensors"
}

need() { command -v "$1" >/dev/null || skip "$1 is not installed"; }

# becomes LINE WANTED: in the shell of $shell.
becomes() {
    local got
    got=$("$helpers/tab" "$shell" "$file" "$1") || return 1
    [ "$got" = "$2" ] || { echo "$shell: '$1' became '$got', expected '$2'"; return 1; }
}

lines_complete() {
    becomes 'amn insp' 'amn inspect'
    becomes 'amn dequ' 'amn dequantize'
    becomes 'amn help form' 'amn help formats'
    becomes 'amn help rem' 'amn help remember'
    becomes 'amn lis' 'amn list'
    becomes 'amn dif' 'amn diff'
    becomes 'amn chec' 'amn check'
    becomes 'amn help top' 'amn help topics'
    becomes 'amn help fet' 'amn help fetch'
    becomes 'amn diff --hum' 'amn diff --human'
    becomes 'amn scan model.g' 'amn scan model.gguf'
    becomes 'amn list oll' 'amn list ollama'
    becomes 'amn list --hum' 'amn list --human'
    becomes 'amn list model.g' 'amn list model.g'
    becomes 'amn-remember --no-cl' 'amn-remember --no-clobber'
    becomes 'amn-dequantize --no-cl' 'amn-dequantize --no-clobber'
    becomes 'amn remember --no-cl' 'amn remember --no-clobber'
    becomes 'amn-remember --to b' 'amn-remember --to bf16'
    becomes 'amn-remember --to=b' 'amn-remember --to=bf16'
    becomes 'amn inspect --to b' 'amn inspect --to bf16'
    becomes 'amn-convert --to safe' 'amn-convert --to safetensors'
    becomes 'amn-inspect --metadata model.g' 'amn-inspect --metadata model.gguf'
    becomes 'amn-convert --gguf-metadata=model.g' 'amn-convert --gguf-metadata=model.gguf'
    becomes 'amn-parse --input-scheme gpt' 'amn-parse --input-scheme gptq'
    becomes 'amn forg' 'amn forget'
    becomes 'amn-forget --scheme iq4_n' 'amn-forget --scheme iq4_nl'
    becomes 'amn-forget --scheme deeps' 'amn-forget --scheme deepseek-fp4'
    becomes 'amn-forget --scheme=gptos' 'amn-forget --scheme=gptoss-mxfp4'
    becomes 'amn-forget --exact -s mxfp4,iq4_n' 'amn-forget --exact -s mxfp4,iq4_nl'
    becomes 'amn forget --scheme=mxfp4,q8_0,mlx-n' 'amn forget --scheme=mxfp4,q8_0,mlx-nvfp4'
    becomes 'amn-convert --scheme deeps' 'amn-convert --scheme deeps'
    becomes 'amn-quantize --pu' 'amn-quantize --pure'
    becomes 'amn convert --to np' 'amn convert --to np'
    becomes 'amn convert --to npz' 'amn convert --to npz'
    becomes 'amn convert --dtype b' 'amn convert --dtype bf16'
    becomes 'amn-parse --progress nev' 'amn-parse --progress never'
    becomes 'amn-parse model.g' 'amn-parse model.gguf'
    becomes 'amn inspect hf:ac' 'amn inspect hf:acme/tiny'
    becomes 'amn-parse hf:acme/t' 'amn-parse hf:acme/tiny'
    becomes 'amn-remember -o model.g' 'amn-remember -o model.gguf'
    becomes 'amn-remember --output=model.g' 'amn-remember --output=model.gguf'
    becomes 'amn-remember model.gguf --ord' "amn-remember model.gguf --order${equals}"
    becomes 'amn-parse --ord' 'amn-parse --ord'         # not an option of this tool
    becomes 'amn frob --no-cl' 'amn frob --no-cl'
}

@test "bash" {
    need bash
    shell=bash file=$(made amn.bash) equals='='
    lines_complete
    becomes 'amn-parse model\ t' 'amn-parse model\ two.safetensors'
    becomes 'amn quantize --scheme IQ4_N' 'amn quantize --scheme iq4_nl'
    becomes 'amn quantize --scheme q8_0,MLX-N' 'amn quantize --scheme q8_0,mlx-nvfp4'
}

@test "zsh" {
    need zsh
    shell=zsh file=$(made _amn) equals=          # zsh removes the suffix that it adds
    lines_complete
    becomes 'amn-parse model\ t' 'amn-parse model\ two.safetensors'
}

@test "fish" {
    need fish
    cat >ask.fish <<'END'
source $argv[1]
complete -C $argv[2]
END
    # first LINE WANTED: the only word that fish offers, without its description.
    first() {
        fish --no-config ask.fish "$(made amn.fish)" "$1" | cut -f 1 >out
        [ "$(cat out)" = "$2" ] || { echo "'$1' offers:"; cat out; return 1; }
    }
    export HOME=$dir
    first 'amn insp' inspect
    first 'amn help form' formats
    first 'amn lis' list
    first 'amn list oll' ollama
    first 'amn list --hum' --human
    first 'amn-remember --no-cl' --no-clobber
    first 'amn-dequantize --no-cl' --no-clobber
    first 'amn remember --no-cl' --no-clobber
    first 'amn-remember --to b' bf16
    first 'amn inspect --to b' bf16
    first 'amn-parse --input-scheme gpt' gptq
    first 'amn-forget --scheme deeps' deepseek-fp4
    first 'amn-forget --exact --scheme mxfp4,iq4_n' mxfp4,iq4_nl
    first 'amn forget -s mxfp4,q8_0,mlx-n' mxfp4,q8_0,mlx-nvfp4
    first 'amn-convert --scheme deeps' ''
    first 'amn-parse --progress nev' never
    first 'amn-parse model.g' model.gguf
    first 'amn inspect hf:ac' hf:acme/tiny
    first 'amn-parse hf:acme/t' hf:acme/tiny
    first 'amn-remember --output model.g' model.gguf
    first 'amn-parse --ord' ''
}

@test "every option of --help is offered, and no other" {
    need fish
    for tool in amn-parse amn-inspect amn-remember amn-forget amn-convert; do
        $tool --help=all | sed -n 's/^  -., --\([a-z0-9-]*\).*/--\1/p; s/^      --\([a-z0-9-]*\).*/--\1/p' | sort >wanted
        [ -s wanted ]
        HOME=$dir fish --no-config -c 'source $argv[1]; complete -C "$argv[2] --"' "$(made amn.fish)" $tool |
            cut -f 1 | sort >offered
        diff wanted offered
        bash -c '. "$1"; COMP_WORDS=("$2" --); COMP_CWORD=1; _amn 2>/dev/null; printf "%s\n" "${COMPREPLY[@]%=}"' \
            bash "$(made amn.bash)" $tool | sort >offered
        diff wanted offered
    done
}
