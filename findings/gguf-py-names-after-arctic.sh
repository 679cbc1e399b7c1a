#!/bin/sh
# gguf 0.19.0: a map of tensor names for Arctic takes names away from every map that is made after it in the same process.
# TensorNameMap gives Arctic names of its own by changing a dictionary of the class, not of the object. A map for Llama then
# lacks 21 names, all for the norm before the feed-forward layer. A program that converts several models fails at the next
# one, because it cannot map model.layers.0.post_attention_layernorm.
#
#     Llama:               328 names, model.layers.0.post_attention_layernorm is blk.0.ffn_norm
#     Llama, after Arctic: 307 names, model.layers.0.post_attention_layernorm is None
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work"
"$work/bin/pip" install --quiet gguf==0.19.0 numpy==2.4.6
said=$("$work/bin/python" - <<'E'
from gguf import MODEL_ARCH, get_tensor_name_map


def show(title):
    name = "model.layers.0.post_attention_layernorm"
    names = get_tensor_name_map(MODEL_ARCH.LLAMA, 1)
    print("%-20s %d names, %s is %s" % (title, len(names.mapping), name, names.get_name(name)))


show("Llama:")
get_tensor_name_map(MODEL_ARCH.ARCTIC, 1)
show("Llama, after Arctic:")
E
)
echo "$said"
[ "$said" = "Llama:               328 names, model.layers.0.post_attention_layernorm is blk.0.ffn_norm
Llama, after Arctic: 307 names, model.layers.0.post_attention_layernorm is None" ] || { echo "the behaviour has changed" >&2; exit 1; }
