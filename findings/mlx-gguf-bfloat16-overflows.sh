#!/bin/sh
# MLX 0.32.4: mx.load of a GGUF file converts BF16 tensors to float16, although MLX has bfloat16 and keeps it in its other
# formats. Values above 65504 become infinite, small ones lose bits or become zero, without a warning.
#
#     gguf: [1.00025555e+30 1.00000000e+00 1.00117177e-08]
#     mlx:  [inf, 1.0, 0.0] mlx.core.float16
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



write(w=([[1e30, 1.0, 1e-8]], "BF16"))
tensor = gguf.GGUFReader("a.gguf").tensors[0]
loaded = mx.load("a.gguf")["w"]
print("gguf:", gguf.dequantize(tensor.data, tensor.tensor_type)[0])
print("mlx: ", loaded[0].tolist(), loaded.dtype)
assert loaded.dtype == mx.float16 and loaded[0].tolist() == [float("inf"), 1.0, 0.0], "the behaviour has changed"
E
