#!/bin/sh
# MLX 0.32.4: mx.load repacks Q8_0 of GGUF as unsigned codes with a bias of -128 times the scale, held in float16. The scale
# of a block may be any float16; above 511.75 the bias is -inf, and the whole block is NaN, without a warning.
#
#     gguf: [76200.   600.]
#     mlx:  scale 600.0, bias -inf, values [nan, nan]
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



write(**{"w.weight": ([[76200.0] + [600.0] * 31], "Q8_0")})
tensor = gguf.GGUFReader("a.gguf").tensors[0]
print("gguf:", gguf.dequantize(tensor.data, tensor.tensor_type)[0, :2])
w = mx.load("a.gguf")
values = mx.dequantize(w["w.weight"], w["w.scales"], w["w.biases"], group_size=32, bits=8)
print("mlx:  scale %s, bias %s, values %s" % (w["w.scales"].item(), w["w.biases"].item(), values[0, :2].tolist()))
assert w["w.biases"].item() == float("-inf") and mx.isnan(values).all(), "the behaviour has changed"
E
