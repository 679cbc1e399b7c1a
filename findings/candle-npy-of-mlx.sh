#!/bin/sh
# candle-core 0.11.1 with MLX 0.32.4: mx.save writes the shape of an array as (2, 3, ), with a blank before the bracket, which
# NumPy reads. Tensor::read_npy of candle takes the blank for another dimension and refuses every NPY and NPZ of MLX.
#
#     numpy:  (2, 3)
#     candle: cannot parse integer from empty string
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv "$work"
"$work/bin/pip" install --quiet mlx==0.32.4 mlx-cpu==0.32.4 numpy==2.4.6
"$work/bin/python" -c 'import mlx.core as mx, numpy as np
mx.save("a.npy", mx.zeros((2, 3)))
print("numpy: ", np.load("a.npy").shape)'
mkdir src
cat >Cargo.toml <<'E'
[package]
name = "finding"
version = "0.0.0"
edition = "2021"

[dependencies]
candle-core = { version = "=0.11.1", default-features = false }
E
cat >src/main.rs <<'E'
use candle_core::Tensor;

fn main() {
    match Tensor::read_npy("a.npy") {
        Ok(tensor) => println!("candle: {:?}", tensor.dims()),
        Err(error) => println!("candle: {}", error.to_string().lines().next().unwrap()),
    }
}
E
said=$(cargo run --quiet)
echo "$said"
[ "$said" = "candle: cannot parse integer from empty string" ] || { echo "the behaviour has changed" >&2; exit 1; }
