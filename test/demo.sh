#!/bin/sh
# Show the main job on two small models made on the spot: demo.sh BIN, the folder of the tools. `make demo` calls it.
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

# Show a command as one types it, and run it; a demo that fails says so.
show() {
    printf '$ %s\n' "$1"
    sh -c "$1" || { echo "demo: this command failed: $1" >&2; exit 1; }
}

"$here/make-examples" . || exit 1

say 'A GGUF model: what it is, and the space that quantization saved'
show 'ls -l model.gguf model-fp8.safetensors'
show 'amn inspect --human model.gguf'

say 'The same for programs: JSON in a pipe'
show "amn inspect model.gguf | jq '{format, scheme, architecture: .gguf.architecture, file_type: .gguf.file_type, parameters, bits_per_weight, dtypes}'"

say 'An FP8 model becomes BF16 safetensors, in one pass, and is inspected on the way'
show 'amn-inspect --human model-fp8.safetensors'
show "amn-remember model-fp8.safetensors | amn-inspect | jq '{format, scheme, tensors, quantized, bytes, dtypes}'"

say 'From a pipe or from a file: the same bytes; the length is known before'
show 'amn-remember --size model.gguf'
show 'cat model.gguf | amn-remember | wc -c'
show 'amn-remember model.gguf -o model.safetensors'
show 'cat model.gguf | amn-remember | cmp - model.safetensors && echo same'
show "amn-parse model.safetensors | head -n 3 | jq -c '{name, dtype, shape}'"
