#!/bin/sh
# MLX 0.32.4: mx.load of a safetensors file returns F8_E4M3 and F8_E8M0 tensors as uint8, that is as whole numbers, and says
# nothing. F8_E5M2 is refused. Saving the arrays again declares them as U8: their type is lost.
#
#     safetensors: 1 of F8_E4M3
#     mlx:         [56] mlx.core.uint8, saved as U8
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work"
"$work/bin/pip" install --quiet mlx==0.32.4 mlx-cpu==0.32.4 safetensors==0.8.0 ml_dtypes==0.6.0 numpy==2.4.6
cd "$work"
"$work/bin/python" - <<'E'
import ml_dtypes
import mlx.core as mx
import numpy as np
import safetensors
import safetensors.numpy

one = np.array([1.0], ml_dtypes.float8_e4m3fn)
safetensors.numpy.save_file({"w": one}, "a.safetensors")
print("safetensors:", one[0], "of", safetensors.safe_open("a.safetensors", "np").get_slice("w").get_dtype())
loaded = mx.load("a.safetensors")["w"]
mx.save_safetensors("b.safetensors", {"w": loaded})
saved = safetensors.safe_open("b.safetensors", "np").get_slice("w").get_dtype()
print("mlx:        ", loaded.tolist(), loaded.dtype, "saved as", saved)
assert loaded.dtype == mx.uint8 and loaded.tolist() == [56] and saved == "U8", "the behaviour has changed"
E
