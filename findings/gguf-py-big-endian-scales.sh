#!/bin/sh
# gguf-py 0.19.0: two of its own tools disagree about big-endian files. GGUFWriter with endianess=BIG leaves the scales inside
# quantized blocks little-endian; gguf-convert-endian swaps them. Both files have the same header and type, and different
# bytes: a reader cannot tell which one it has.
#
#     GGUFWriter(BIG):     003c7f7f
#     gguf-convert-endian: 3c007f7f
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work"
"$work/bin/pip" install --quiet gguf==0.19.0 numpy==2.4.6
cd "$work"
"$work/bin/python" - <<'E'
import subprocess
import sys
from os.path import dirname

import gguf
import numpy as np

kind = gguf.GGMLQuantizationType.Q8_0


def write(path, order):
    writer = gguf.GGUFWriter(path, "llama", endianess=order)
    writer.add_tensor("w", gguf.quantize(np.full((1, 32), 127.0, np.float32), kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def first(path):
    return gguf.GGUFReader(path).tensors[0].data.tobytes()[:4].hex()


write("written.gguf", gguf.GGUFEndian.BIG)
write("converted.gguf", gguf.GGUFEndian.LITTLE)
convert = dirname(sys.executable) + "/gguf-convert-endian"
subprocess.run([convert, "converted.gguf", "big"], input=b"YES\n", check=True, capture_output=True)
print("GGUFWriter(BIG):    ", first("written.gguf"))
print("gguf-convert-endian:", first("converted.gguf"))
assert (first("written.gguf"), first("converted.gguf")) == ("003c7f7f", "3c007f7f"), "the behaviour has changed"
E
