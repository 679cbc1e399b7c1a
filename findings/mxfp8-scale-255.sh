#!/bin/sh
# MLX 0.32.4 and ml_dtypes 0.6.0: the E8M0 scale 255 is NaN in the OCP specification and in ml_dtypes. MLX's mxfp8 (and mxfp4)
# takes it for infinity, so that a block that was marked as invalid gives infinite weights.
#
#     ml_dtypes: nan
#     mlx:       inf
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work"
"$work/bin/pip" install --quiet mlx==0.32.4 mlx-cpu==0.32.4 ml_dtypes==0.6.0 numpy==2.4.6
cd "$work"
"$work/bin/python" - <<'E'
import ml_dtypes
import mlx.core as mx
import numpy as np

scale = np.array([255], np.uint8)
codes = mx.full((1, 8), 0x38383838, dtype=mx.uint32)        # 32 codes of E4M3: 1.0
value = mx.dequantize(codes, mx.array(scale)[None], group_size=32, bits=8, mode="mxfp8", dtype=mx.float32)[0, 0].item()
reference = scale.view(ml_dtypes.float8_e8m0fnu).astype(np.float32)[0]
print("ml_dtypes:", reference)
print("mlx:      ", value)
assert np.isnan(reference) and value == float("inf"), "the behaviour has changed"
E
