#!/usr/bin/env python3
"""Print test/unit/gguf_expected.h: a small file as the gguf package writes it, with every kind of value and padding.

    "${AMN_PEERS_VENV:-$HOME/.cache/amn-peers}/bin/python" test/peers/make-gguf-expected.py > test/unit/gguf_expected.h
"""
import importlib.metadata
import tempfile

import gguf
import numpy as np

with tempfile.NamedTemporaryFile(suffix=".gguf") as f:
    w = gguf.GGUFWriter(f.name, "test")
    w.add_uint8("t.u8", 200)
    w.add_int8("t.i8", -3)
    w.add_uint16("t.u16", 60000)
    w.add_int16("t.i16", -30000)
    w.add_uint32("t.u32", 4000000000)
    w.add_int32("t.i32", -2000000000)
    w.add_uint64("t.u64", 1 << 63)
    w.add_int64("t.i64", -(1 << 62))
    w.add_float32("t.f32", 0.1)
    w.add_float64("t.f64", -1e300)
    w.add_bool("t.bool", True)
    w.add_string("t.string", "\u00e9\n")
    w.add_array("t.ints", [1, -2, 3])
    w.add_array("t.strings", ["", "a", "bc"])
    w.add_tensor("a.weight", np.arange(6, dtype=np.float32).reshape(2, 3))
    w.add_tensor("b", np.arange(5, dtype=np.float16))
    w.add_tensor("c", np.arange(16, dtype=np.int16).reshape(2, 2, 2, 2))
    w.add_tensor("d", np.array([-1.5], dtype=np.float64))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    data = open(f.name, "rb").read()

version = importlib.metadata.version("gguf")
print(f"/* gguf_expected: a file with keys of all types and tensors that need padding. Made by test/peers/make-gguf-expected.py"
      f" with\n * gguf {version}. */")
print("#ifndef GGUF_EXPECTED_H\n#define GGUF_EXPECTED_H\n\n#include <stdint.h>\n")
print(f"static const uint8_t gguf_expected[{len(data)}] = {{")
for i in range(0, len(data), 16):
    print("    " + " ".join(f"0x{b:02x}," for b in data[i:i + 16]))
print("};\n\n#endif")
