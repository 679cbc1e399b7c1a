#!/bin/sh
# safetensors 0.8.0 with JAX 0.10.2: safetensors.flax.load_file, and jnp.load of an NPY file, keep the low 32 bits of each I64
# and turn F64 to F32, unless jax_enable_x64 is set. Integers beyond 32 bits become others, without a warning about them.
#
#     saved:  1099511627781 int64
#     loaded: 5 int32 (safetensors), 5 int32 (NPY)
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work"
"$work/bin/pip" install --quiet safetensors==0.8.0 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
cd "$work"
"$work/bin/python" - <<'E'
import os

os.environ["JAX_PLATFORMS"] = "cpu"
import jax.numpy as jnp
import numpy as np
import safetensors.flax
import safetensors.numpy

array = np.array([2**40 + 5])
safetensors.numpy.save_file({"a": array}, "a.safetensors")
np.save("a.npy", array)
one, two = safetensors.flax.load_file("a.safetensors")["a"], jnp.load("a.npy")
print("saved: ", array[0], array.dtype)
print("loaded: %d %s (safetensors), %d %s (NPY)" % (one[0], one.dtype, two[0], two.dtype))
assert one[0] == two[0] == 5 and one.dtype == two.dtype == np.int32, "the behaviour has changed"
E
