"""arrays.py FOLDER: files of gguf, MLX, safetensors, ml_dtypes, JAX, Keras and ONNX."""

import os
import subprocess
import sys
from importlib.metadata import version

os.environ["KERAS_BACKEND"] = "jax"
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import gguf
import jax.numpy as jnp
import keras
import ml_dtypes
import mlx.core as mx
import numpy as np
import onnx
import onnx.helper
import safetensors.flax

from entry import file, tensor

VECTOR = np.array([1.5, -0.0, 65504.0], np.float32)
MATRIX = np.arange(6, dtype=np.float32).reshape(2, 3) - 2.25
BLOCKS = np.sin(np.arange(64, dtype=np.float32)).reshape(2, 32)
BF16 = ml_dtypes.bfloat16
Quant = gguf.GGMLQuantizationType


def by(package, name=None):
    return "%s %s" % (name or package, version(package))


# --- GGUF ---------------------------------------------------------------------------------------------------------------


def gguf_close(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def gguf_plain(writer):
    writer.add_name("three")
    writer.add_array("sizes", [1, 2, 3])
    writer.add_array("words", ["a", "b"])
    plain = {
        "vector": VECTOR,
        "matrix": MATRIX.astype(np.float16),
        "wide": MATRIX.astype(np.float64),
        "numbers": np.arange(4, dtype=np.int32),
    }
    for name, array in plain.items():
        writer.add_tensor(name, array)
    return plain


def gguf_quantized(writer, types):
    decoded = {}
    for qtype in types:
        data = gguf.quantize(BLOCKS, qtype)
        name = "blocks.%s" % qtype.name.lower()
        writer.add_tensor(name, data, raw_dtype=qtype)
        decoded[name] = gguf.dequantize(data, qtype).astype(BF16)
    return decoded


def gguf_files(out):
    little = os.path.join(out, "gguf-little.gguf")
    writer = gguf.GGUFWriter(little, "llama")
    plain = gguf_plain(writer)
    decoded = gguf_quantized(writer, [Quant.Q8_0, Quant.Q4_0, Quant.Q5_1])
    gguf_close(writer)
    file("gguf-little.gguf", by("gguf"), "gguf.GGUFWriter")
    for name, array in {**plain, **decoded}.items():
        tensor(name, array)
    writer = gguf.GGUFWriter(os.path.join(out, "gguf-big.gguf"), "llama", endianess=gguf.GGUFEndian.BIG)
    plain = gguf_plain(writer)
    gguf_close(writer)
    file("gguf-big.gguf", by("gguf"), "endianess=BIG, without blocks, whose scales this writer leaves little-endian")
    for name, array in plain.items():
        tensor(name, array)


def gguf_swapped(out):
    path = os.path.join(out, "gguf-swapped.gguf")
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tensor("vector", VECTOR)
    decoded = gguf_quantized(writer, [Quant.Q8_0])
    gguf_close(writer)
    subprocess.run(
        [os.path.join(os.path.dirname(sys.executable), "gguf-convert-endian"), path, "big"],
        input=b"YES\n",
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    file("gguf-swapped.gguf", by("gguf"), "gguf-convert-endian, which swaps the scales of blocks, too")
    tensor("vector", VECTOR)
    for name, array in decoded.items():
        tensor(name, array)


def gguf_split(out):
    writer = gguf.GGUFWriter(os.path.join(out, "gguf-split.gguf"), "llama", split_max_tensors=1, small_first_shard=True)
    writer.add_tensor("vector", VECTOR)
    writer.add_tensor("matrix", MATRIX)
    gguf_close(writer)
    file("gguf-split-00001-of-00003.gguf", by("gguf"), "small_first_shard: the first part has no tensors")
    tensor("vector", VECTOR)
    tensor("matrix", MATRIX)


def mlx_gguf(out):
    arrays = {
        "vector": VECTOR,
        "matrix": MATRIX.astype(np.float16),
        "small": np.arange(-2, 3, dtype=np.int8),
        "short": np.arange(3, dtype=np.int16),
        "long": np.arange(3, dtype=np.int32),
    }
    mx.save_gguf(
        os.path.join(out, "mlx.gguf"),
        {k: mx.array(v) for k, v in arrays.items()},
        {"general.name": "three", "words": ["a", "b"]},
    )
    file("mlx.gguf", by("mlx"), "mx.save_gguf: keys in reverse, last tensor not padded")
    for name, array in arrays.items():
        tensor(name, array)


# --- safetensors --------------------------------------------------------------------------------------------------------


def mlx_safetensors(out):
    arrays = {
        "wide": np.arange(3, dtype=np.uint64),
        "flag": np.array([True, False, True]),
        "matrix": MATRIX.astype(np.float16),
        "half": MATRIX.astype(BF16),
    }
    given = {
        k: mx.array(v.astype(np.float32)).astype(mx.bfloat16) if v.dtype == BF16 else mx.array(v) for k, v in arrays.items()
    }
    mx.save_safetensors(os.path.join(out, "mlx.safetensors"), given)
    file("mlx.safetensors", by("mlx"), "mx.save_safetensors: no padding, numbers at odd addresses")
    for name, array in arrays.items():
        tensor(name, array)


def flax_safetensors(out):
    arrays = {"half": MATRIX.astype(BF16), "vector": VECTOR}
    safetensors.flax.save_file({k: jnp.asarray(v) for k, v in arrays.items()}, os.path.join(out, "flax.safetensors"))
    file("flax.safetensors", "%s, %s" % (by("safetensors"), by("jax", "JAX")), "safetensors.flax.save_file")
    for name, array in arrays.items():
        tensor(name, array)


# --- NumPy --------------------------------------------------------------------------------------------------------------


def numpy_files(out):
    both = "%s, %s" % (by("ml_dtypes"), by("numpy", "NumPy"))
    np.save(os.path.join(out, "ml_dtypes-bfloat16.npy"), MATRIX.astype(BF16))
    file("ml_dtypes-bfloat16.npy", both, "<V2")
    tensor("arr_0", MATRIX.astype(BF16))
    for kind in ("float8_e4m3fn", "int4"):
        np.save(os.path.join(out, "ml_dtypes-%s.npy" % kind), np.arange(3).astype(getattr(ml_dtypes, kind)))
        file("ml_dtypes-%s.npy" % kind, both, "|V1 or <V1, which does not say which of many types", "V1")
    np.savez_compressed(
        os.path.join(out, "ml_dtypes.npz"), vector=VECTOR, half=MATRIX.astype(BF16), empty=np.zeros((0, 3), np.int64)
    )
    file("ml_dtypes.npz", both, "numpy.savez_compressed")
    tensor("vector", VECTOR)
    tensor("half", MATRIX.astype(BF16))
    tensor("empty", np.zeros((0, 3), np.int64))


def jax_files(out):
    half = jnp.asarray(MATRIX, jnp.bfloat16)
    jnp.save(os.path.join(out, "jax.npy"), half)
    file("jax.npy", by("jax", "JAX"), "jnp.save")
    tensor("arr_0", half)
    jnp.savez(os.path.join(out, "jax.npz"), half=half, flag=jnp.array([True, False]), scalar=jnp.float32(1.5))
    file("jax.npz", by("jax", "JAX"), "jnp.savez")
    tensor("half", half)
    tensor("flag", np.array([True, False]))
    tensor("scalar", np.float32(1.5))


def mlx_numpy(out):
    mx.save(os.path.join(out, "mlx.npy"), mx.array(MATRIX))
    file("mlx.npy", by("mlx"), "mx.save: data at byte 78")
    tensor("arr_0", MATRIX)
    mx.save(os.path.join(out, "mlx-vector.npy"), mx.array(VECTOR))
    file("mlx-vector.npy", by("mlx"), "mx.save: one dimension counts as Fortran order")
    tensor("arr_0", VECTOR)
    mx.savez(os.path.join(out, "mlx.npz"), matrix=mx.array(MATRIX), numbers=mx.array(np.arange(3, dtype=np.int64)))
    file("mlx.npz", by("mlx"), "mx.savez")
    tensor("matrix", MATRIX)
    tensor("numbers", np.arange(3, dtype=np.int64))


# --- formats that amn only names ----------------------------------------------------------------------------------------


def keras_files(out):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2)])
    model.save_weights(os.path.join(out, "keras.weights.h5"))
    file("keras.weights.h5", by("keras", "Keras"), "Model.save_weights", "Keras")


def onnx_files(out):
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Identity", ["w"], ["y"])],
        "g",
        [],
        [onnx.helper.make_tensor_value_info("y", 1, [2])],
        [onnx.helper.make_tensor("w", 1, [2], [1.0, 2.0])],
    )
    model = onnx.helper.make_model(graph, producer_name="onnx")
    onnx.save(model, os.path.join(out, "onnx.onnx"))
    file("onnx.onnx", by("onnx", "ONNX"), "onnx.save with a producer", "ONNX")


def main(out):
    gguf_files(out)
    gguf_swapped(out)
    gguf_split(out)
    mlx_gguf(out)
    mlx_safetensors(out)
    flax_safetensors(out)
    numpy_files(out)
    jax_files(out)
    mlx_numpy(out)
    keras_files(out)
    onnx_files(out)


main(sys.argv[1])
