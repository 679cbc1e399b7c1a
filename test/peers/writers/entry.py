"""Prints what collect.py reads: a line for each file, then one for each of its tensors."""

import numpy as np

NAMES = {
    "bool": "BOOL",
    "int8": "I8",
    "uint8": "U8",
    "int16": "I16",
    "uint16": "U16",
    "int32": "I32",
    "uint32": "U32",
    "int64": "I64",
    "uint64": "U64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
    "complex64": "C64",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
}


def file(name, writer, note="", says="", args=""):
    """Begins a file. `says` is in amn's message about it, `args` are further arguments: amn reads any other file in silence."""
    print(name, writer, note, says, args, sep="\t")


def tensor(name, array):
    array = np.asarray(array)
    raw = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    print("", name, NAMES[array.dtype.newbyteorder("=").name], ",".join(map(str, array.shape)), raw.hex(), sep="\t")
