#!/bin/sh
# JAX 0.10.2: jnp.load gives a bfloat16 array of an NPY file back, but not that of an NPZ file: jnp.savez writes it, and
# jnp.load returns two raw bytes for each value (void). FP8 is lost in both: jnp.save writes E4M3 as V1, and E5M2 as '<f1',
# which numpy.load refuses.
#
#     NPY bfloat16: bfloat16
#     NPZ bfloat16: |V2
#     NPY E4M3:     |V1
#     NPY E5M2:     ValueError: descr is not a valid dtype descriptor: '<f1'
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work"
"$work/bin/pip" install --quiet jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6 ml_dtypes==0.6.0
cd "$work"
"$work/bin/python" - <<'E'
import os

os.environ["JAX_PLATFORMS"] = "cpu"
import jax.numpy as jnp


def kind(load):
    try:
        return str(load().dtype)
    except ValueError as error:
        return "ValueError: %s" % error


for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
    jnp.save(name + ".npy", jnp.ones(2, name))
jnp.savez("a.npz", a=jnp.ones(2, jnp.bfloat16))
kinds = [kind(lambda: jnp.load("bfloat16.npy")), kind(lambda: jnp.load("a.npz")["a"]),
         kind(lambda: jnp.load("float8_e4m3fn.npy")), kind(lambda: jnp.load("float8_e5m2.npy"))]
print("NPY bfloat16: %s\nNPZ bfloat16: %s\nNPY E4M3:     %s\nNPY E5M2:     %s" % tuple(kinds))
wanted = ["bfloat16", "|V2", "|V1", "ValueError: descr is not a valid dtype descriptor: '<f1'"]
assert kinds == wanted, "the behaviour has changed"
E
