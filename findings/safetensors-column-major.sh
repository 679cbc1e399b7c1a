#!/bin/sh
# safetensors 0.8.0: save_file of safetensors.numpy and of safetensors.mlx stores the memory of an array that is not row-major
# as it is, with the shape of the array. Reading gives the values in another order, without an error. safetensors.torch
# refuses such tensors.
#
#     saved:  [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
#     loaded: [[0.0, 3.0, 1.0], [4.0, 2.0, 5.0]] (numpy), [[0.0, 3.0, 1.0], [4.0, 2.0, 5.0]] (mlx)
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work"
"$work/bin/pip" install --quiet safetensors==0.8.0 numpy==2.4.6 mlx==0.32.4 mlx-cpu==0.32.4
cd "$work"
"$work/bin/python" - <<'E'
import mlx.core as mx
import numpy as np
import safetensors.mlx
import safetensors.numpy

array = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))
safetensors.numpy.save_file({"a": array}, "numpy.safetensors")
safetensors.mlx.save_file({"a": mx.array(np.ascontiguousarray(array.T)).T}, "mlx.safetensors")
loaded = [safetensors.numpy.load_file(name + ".safetensors")["a"].tolist() for name in ("numpy", "mlx")]
print("saved: ", array.tolist())
print("loaded: %s (numpy), %s (mlx)" % tuple(loaded))
assert all(other == [[0.0, 3.0, 1.0], [4.0, 2.0, 5.0]] for other in loaded), "the behaviour has changed"
E
