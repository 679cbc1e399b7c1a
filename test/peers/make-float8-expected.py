#!/usr/bin/env python3
"""Print test/unit/float8_expected.h: the value of every float8 code according to ml_dtypes.

    /tmp/venv/peers/bin/python test/peers/make-float8-expected.py > test/unit/float8_expected.h
"""
import ml_dtypes
import numpy as np

FORMATS = [("e4m3", ml_dtypes.float8_e4m3fn), ("e5m2", ml_dtypes.float8_e5m2),
           ("e4m3fnuz", ml_dtypes.float8_e4m3fnuz), ("e5m2fnuz", ml_dtypes.float8_e5m2fnuz),
           ("e8m0", ml_dtypes.float8_e8m0fnu)]

print(f"/* float8_expected: bit patterns of the 256 codes of each float8 type as binary32, every NaN 0x7FC00000.\n"
      f" * Made by test/peers/make-float8-expected.py with ml_dtypes {ml_dtypes.__version__}. */")
print("#ifndef FLOAT8_EXPECTED_H\n#define FLOAT8_EXPECTED_H\n\n#include <stdint.h>")
for name, dtype in FORMATS:
    values = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32)
    bits = np.where(np.isnan(values), np.uint32(0x7FC00000), values.view(np.uint32))
    print(f"\nstatic const uint32_t expected_{name}[256] = {{")
    for row in bits.reshape(-1, 8):
        print("    " + " ".join(f"0x{b:08x}," for b in row))
    print("};")
print("\n#endif")
