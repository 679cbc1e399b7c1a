#!/bin/sh
# MLX 0.32.4: mx.load of a GGUF file stops at the first tensor whose type MLX does not know, here MXFP4, and returns the
# tensors before it. The tensor and all tensors after it are missing, without an error or a warning. gguf-py 0.19.0 lists all
# three.
#
#     gguf: ['first', 'middle', 'last']
#     mlx:  ['first']
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work"
"$work/bin/pip" install --quiet gguf==0.19.0 numpy==2.4.6 mlx==0.32.4 mlx-cpu==0.32.4
cd "$work"
"$work/bin/python" - <<'E'
import gguf
import mlx.core as mx
import numpy as np


def write(**tensors):
    writer = gguf.GGUFWriter("a.gguf", "llama")
    for name, (values, kind) in tensors.items():
        kind = gguf.GGMLQuantizationType[kind]
        writer.add_tensor(name, gguf.quantize(np.array(values, np.float32), kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()



write(first=([[1.0] * 32], "F32"), middle=([[1.0] * 32], "MXFP4"), last=([[1.0] * 32], "F32"))
listed = [tensor.name for tensor in gguf.GGUFReader("a.gguf").tensors]
loaded = list(mx.load("a.gguf"))
print("gguf:", listed)
print("mlx: ", loaded)
assert listed == ["first", "middle", "last"] and loaded == ["first"], "the behaviour has changed"
E
