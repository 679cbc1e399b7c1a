#!/bin/sh
# Run the main jobs on small sample models: demo.sh BIN, the directory of the tools. `make demo` calls it.
set -u
[ $# -eq 1 ] || { echo "usage: $0 BIN" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd) || exit 2
bin=$(cd "$1" && pwd) || exit 2
sh "$here/setup.sh" demo || exit 1
work=$(mktemp -d "${TMPDIR:-/tmp}/amn-demo.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
cd "$work" || exit 1
PATH=$bin:$PATH

say() { printf '\n# %s\n' "$*"; }

# Prints a command and runs it; the demo ends if the command fails.
show() {
    printf '$ %s\n' "$1"
    sh -c "$1" || { echo "demo: this command failed: $1" >&2; exit 1; }
}

"$here/make/examples" . || exit 1

say 'A Hugging Face directory, quantized as FP8'
show 'ls model'
show 'amn inspect --human model/'

say 'Quantize it to a GGUF that llama.cpp runs, in one step'
show 'amn quantize --scheme q4_k_m -o model.q4_k_m.gguf model/'
show 'amn inspect --human model.q4_k_m.gguf'

say 'Dequantize it to BF16 safetensors'
show 'amn dequantize -o model-bf16/ model/'
show 'ls model-bf16'

say 'Programs get JSON'
show "amn inspect model.gguf | jq '{format, scheme, architecture: .gguf.architecture, file_type: .gguf.file_type, parameters, bits_per_weight}'"
show "amn parse model.gguf | head -n 3 | jq -c '{name, dtype, shape}'"

say 'A pipe gives the same bytes as a file, and the size is known in advance'
show 'amn dequantize --size model.gguf'
show 'amn dequantize -o model.safetensors model.gguf'
show 'cat model.gguf | amn dequantize | cmp - model.safetensors && echo identical'
