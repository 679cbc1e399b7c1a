#!/bin/sh
# candle-core 0.11.1: gguf_file::write writes the key general.alignment as it is told, but always aligns to 32.
# gguf_file::Content, like every other reader, honours the key. candle then reads its own file 32 bytes too far, without an
# error where the bytes suffice: the first tensor has the values of the second.
#
#     written: a [1, 2, 3], b [4, 5, 6]
#     read:    a [4.0, 5.0, 6.0]
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
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
use candle_core::quantized::{gguf_file, GgmlDType, QTensor};
use candle_core::{Device, Result, Tensor};
use std::io::Cursor;

fn main() -> Result<()> {
    let quantized = |values: [f32; 3]| QTensor::quantize(&Tensor::new(&values, &Device::Cpu)?, GgmlDType::F32);
    let (a, b) = (quantized([1., 2., 3.])?, quantized([4., 5., 6.])?);
    let alignment = gguf_file::Value::U32(64);
    // Without this key, this header ends at a multiple of 64.
    let filler = gguf_file::Value::String(String::new());
    let mut file = Cursor::new(vec![]);
    gguf_file::write(&mut file, &[("general.alignment", &alignment), ("x", &filler)], &[("a", &a), ("b", &b)])?;
    file.set_position(0);
    let content = gguf_file::Content::read(&mut file)?;
    let read: Vec<f32> = content.tensor(&mut file, "a", &Device::Cpu)?.dequantize(&Device::Cpu)?.to_vec1()?;
    println!("written: a [1, 2, 3], b [4, 5, 6]");
    println!("read:    a {read:?}");
    Ok(())
}
E
said=$(cargo run --quiet)
echo "$said"
[ "$said" = "written: a [1, 2, 3], b [4, 5, 6]
read:    a [4.0, 5.0, 6.0]" ] || { echo "the behaviour has changed" >&2; exit 1; }
