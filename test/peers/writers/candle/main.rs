//! candle FOLDER: files of candle-core, npyz and ndarray-npy, which test/peers/writers/collect.py describes.
use std::collections::HashMap;
use std::fs::File;

use candle_core::quantized::{gguf_file, GgmlDType, QTensor};
use candle_core::{DType, Device, Result, Tensor};

const CANDLE: &str = "candle-core 0.11.1";

fn file(name: &str, writer: &str, note: &str) {
    println!("{name}\t{writer}\t{note}\t\t");
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Prints a tensor with the bytes that candle holds in memory.
fn tensor(name: &str, t: &Tensor) -> Result<()> {
    let flat = t.flatten_all()?;
    let (kind, bytes): (&str, Vec<u8>) = match t.dtype() {
        DType::F32 => ("F32", flat.to_vec1::<f32>()?.iter().flat_map(|v| v.to_le_bytes()).collect()),
        DType::F16 => ("F16", flat.to_vec1::<half::f16>()?.iter().flat_map(|v| v.to_le_bytes()).collect()),
        DType::BF16 => ("BF16", flat.to_vec1::<half::bf16>()?.iter().flat_map(|v| v.to_le_bytes()).collect()),
        DType::I64 => ("I64", flat.to_vec1::<i64>()?.iter().flat_map(|v| v.to_le_bytes()).collect()),
        _ => ("U8", flat.to_vec1::<u8>()?),
    };
    let dims: Vec<String> = t.dims().iter().map(|n| n.to_string()).collect();
    println!("\t{name}\t{kind}\t{}\t{}", dims.join(","), hex(&bytes));
    Ok(())
}

fn gguf(out: &str, matrix: &Tensor) -> Result<()> {
    let blocks = Tensor::arange(0f32, 512f32, &Device::Cpu)?.sin()?.reshape((2, 256))?;
    let plain = QTensor::quantize(matrix, GgmlDType::F32)?;
    let quantized = QTensor::quantize(&blocks, GgmlDType::Q4K)?;
    let architecture = gguf_file::Value::String("llama".into());
    let none = gguf_file::Value::Array(vec![]);
    let keys = [("general.architecture", &architecture), ("llama.none", &none)];
    let mut writer = File::create(format!("{out}/candle.gguf"))?;
    gguf_file::write(&mut writer, &keys, &[("matrix", &plain), ("blocks", &quantized)])?;
    file("candle.gguf", CANDLE, "gguf_file::write: version 2, order of the caller");
    tensor("matrix", matrix)?;
    tensor("blocks", &quantized.dequantize(&Device::Cpu)?.to_dtype(DType::BF16)?)
}

fn arrays(out: &str, matrix: &Tensor) -> Result<()> {
    let all = [
        ("matrix", matrix.clone()),
        ("half", matrix.to_dtype(DType::F16)?),
        ("numbers", Tensor::new(&[1i64, -2, 3], &Device::Cpu)?),
        ("scalar", Tensor::new(1.5f32, &Device::Cpu)?),
    ];
    let mut named: HashMap<&str, Tensor> = all.iter().cloned().collect();
    named.insert("brain", matrix.to_dtype(DType::BF16)?);
    candle_core::safetensors::save(&named, format!("{out}/candle.safetensors"))?;
    file("candle.safetensors", CANDLE, "candle_core::safetensors::save");
    for (name, t) in &named {
        tensor(name, t)?;
    }
    Tensor::write_npz(&all, format!("{out}/candle.npz"))?;
    file("candle.npz", CANDLE, "Tensor::write_npz: stored, data of the arrays at byte 80");
    for (name, t) in &all {
        tensor(name, t)?;
    }
    matrix.write_npy(format!("{out}/candle.npy"))?;
    file("candle.npy", CANDLE, "Tensor::write_npy");
    tensor("arr_0", matrix)
}

fn others(out: &str, matrix: &Tensor) -> std::result::Result<(), Box<dyn std::error::Error>> {
    use npyz::WriterBuilder;
    let values: Vec<f32> = matrix.flatten_all()?.to_vec1()?;
    let mut writer = npyz::WriteOptions::new()
        .default_dtype()
        .shape(&[2, 3])
        .writer(File::create(format!("{out}/npyz.npy"))?)
        .begin_nd()?;
    writer.extend(values.iter())?;
    writer.finish()?;
    file("npyz.npy", "npyz 0.9.1", "WriteOptions");
    tensor("arr_0", matrix)?;
    let array = ndarray::Array2::from_shape_vec((2, 3), values)?;
    ndarray_npy::write_npy(format!("{out}/ndarray-npy.npy"), &array.t().to_owned())?;
    file("ndarray-npy.npy", "ndarray-npy 0.10.0", "write_npy of a transposed array");
    tensor("arr_0", &matrix.t()?.contiguous()?)?;
    Ok(())
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let out = std::env::args().nth(1).expect("a folder");
    let matrix = Tensor::new(&[[-2.25f32, -1.25, -0.25], [0.75, 1.75, 2.75]], &Device::Cpu)?;
    gguf(&out, &matrix)?;
    arrays(&out, &matrix)?;
    others(&out, &matrix)
}
