#!/usr/bin/env python3
r"""make-torchao-corpus.py CORPUS: write CORPUS/safetensors-good/peer-torchao-* and CORPUS/manifest-torchao.ndjson.

Small models of torchao's tensor subclasses, quantized, decoded in F32 and taken apart by torchao itself. Int4Tensor and
Int4PlainInt32Tensor are made and computed by GPUs alone: their parts are packed here as their layouts say, and decoded
by the formula. Run by hand when a case is added, in the environment of requirements.txt:

    python test/peers/make-torchao-corpus.py test/corpus
"""
import sys

import torch
import torchao
from corpus_writer import Models
from safetensors.torch import save_file
from torchao.prototype.mx_formats.mx_tensor import MXTensor
from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor
from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict
from torchao.quantization import Float8Tensor, Int4PlainInt32Tensor, Int4Tensor, Int8Tensor, IntxUnpackedToInt8Tensor
from torchao.quantization.granularity import PerBlock, PerRow, PerTensor
from torchao.quantization.quant_primitives import MappingType

BF16, F32 = torch.bfloat16, torch.float32


def weight(*shape):
    return (torch.randn(shape) * 0.1 + 0.02).to(BF16)


def floats():
    def mx(w, dtype):
        return MXTensor.to_mx(w, dtype, 32)

    return {
        "row.weight": Float8Tensor.from_hp(weight(5, 48), granularity=PerRow()),
        "tensor.weight": Float8Tensor.from_hp(weight(5, 48), granularity=PerTensor()),
        "e5m2.weight": Float8Tensor.from_hp(weight(5, 48), float8_dtype=torch.float8_e5m2, granularity=PerRow()),
        "experts.gate_up": Float8Tensor.from_hp(weight(2, 3, 40), granularity=PerRow()),
        "block.weight": Float8Tensor.from_hp(weight(6, 48), granularity=PerBlock([2, 16])),
        "mx8.weight": mx(weight(5, 96), torch.float8_e4m3fn), "mx8b.weight": mx(weight(3, 64), torch.float8_e5m2),
        "mx4.weight": mx(weight(5, 96), torch.float4_e2m1fn_x2),
        "mx4.experts": mx(weight(2, 3, 64), torch.float4_e2m1fn_x2),
        "nv.weight": NVFP4Tensor.to_nvfp4(weight(5, 80)),
        "nvs.weight": NVFP4Tensor.to_nvfp4(weight(5, 48), per_tensor_scale=torch.tensor(0.0123)),
    }


def integers():
    def int8(granularity, **how):
        return Int8Tensor.from_hp(weight(5, 48), granularity=granularity, **how)

    made = {"i8row.weight": int8(PerRow()), "i8tensor.weight": int8(PerTensor()),
            "i8asym.weight": int8(PerRow(), mapping_type=MappingType.ASYMMETRIC)}
    for bits in (2, 4, 7, 8):
        for mapping in (MappingType.SYMMETRIC, MappingType.ASYMMETRIC):
            made[f"int{bits}{mapping.name[0].lower()}.weight"] = IntxUnpackedToInt8Tensor.from_hp(
                weight(3, 96), (1, 32), getattr(torch, f"int{bits}"), mapping_type=mapping)
    return made


def nibbles(codes):
    """Packs bits into bytes, the low one first."""
    return (codes[..., ::2] & 15 | codes[..., 1::2] << 4).to(torch.uint8)


def of_gpus():
    """Returns parts, and their values by the formulas in F32."""
    made, expected = {}, {}
    for name, shape, group in (("a.weight", (6, 64), 32), ("b.weight", (3, 5, 48), 16)):
        codes = torch.randint(-8, 8, shape)
        scale, zero = (weight(*shape[:-2], shape[-1] // group, shape[-2]) for _ in range(2))
        made[name] = Int4Tensor(nibbles(codes).view(torch.int8), scale, zero, [1] * (len(shape) - 1) + [group],
                                torch.Size(shape))
        each, zeros = (v.float().transpose(-1, -2).repeat_interleave(group, -1) for v in (scale, zero))
        expected[name] = codes.float() * each + zeros
    codes, scale = torch.randint(0, 16, (5, 64)), weight(2, 5)
    zero = torch.randint(0, 16, (2, 5), dtype=torch.int8)
    made["c.weight"] = Int4PlainInt32Tensor(nibbles(codes).view(torch.int32), scale, zero, [1, 32], torch.Size((5, 64)))
    each, zeros = (v.float().transpose(-1, -2).repeat_interleave(32, -1) for v in (scale, zero))
    expected["c.weight"] = (codes - zeros) * each
    return made, expected


def write(models, name, note, made, expected):
    made["x.bias"] = torch.arange(3).to(BF16)
    expected["x.bias"] = made["x.bias"]
    stored, metadata = flatten_tensor_state_dict(made)
    models.add(name, lambda file: save_file({k: v.contiguous() for k, v in stored.items()}, file, metadata=metadata),
               expected, note, plain={"x.bias"})


def main():
    torch.manual_seed(0)
    models = Models(sys.argv[1], "torchao", f"torchao {torchao.__version__}, torch {torch.__version__.split('+')[0]}")
    for name, made, note in (("floats", floats(), "Float8Tensor, MXTensor and NVFP4Tensor"),
                             ("integers", integers(), "Int8Tensor and IntxUnpackedToInt8Tensor")):
        write(models, name, note, made, {k: v.dequantize(F32) if "Intx" not in type(v).__name__ else in_f32(v)
                                         for k, v in made.items()})
    write(models, "of-gpus", "Int4Tensor and Int4PlainInt32Tensor; decoded by the formula", *of_gpus())
    models.done()


def in_f32(intx):
    """Returns the same with F32 as its type, so that nothing is rounded before the end."""
    return IntxUnpackedToInt8Tensor(intx.qdata, intx.scale.float(), intx.zero_point, intx.target_dtype, intx.block_size,
                                    F32, intx.activation_quantization).dequantize()


main()
