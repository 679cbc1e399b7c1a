"""The inputs of bench.py for the schemes of safetensors: for each family the tensors of one matrix, and its config.json.

A maker takes the rows and columns of the dense matrix, [out, in], and returns (suffix, dtype, shape, unit) for each tensor:
the bytes of `unit` are repeated to fill the shape. Scales have realistic values, codes are random.
"""
import json
import random
import struct

MIB = 1 << 20
SIZE = {"U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E8M0": 1, "I16": 2, "F16": 2, "BF16": 2, "I32": 4, "U32": 4, "F32": 4, "I64": 8}
rng = random.Random(10)
CODES = rng.randbytes(MIB + 4)
COUNT = 4099                                            # of scales; odd, so that no two rows of a matrix are alike
FLOATS = [rng.uniform(1e-3, 1e-2) for _ in range(COUNT)]
F32 = struct.pack(f"<{COUNT}f", *FLOATS)
F16 = struct.pack(f"<{COUNT}e", *FLOATS)
BF16 = b"".join(struct.pack("<f", f)[2:] for f in FLOATS)
E4M3 = bytes(rng.randrange(0x20, 0x60) for _ in range(COUNT))
E8M0 = bytes(rng.randrange(115, 121) for _ in range(COUNT))
NF4 = struct.pack("<16f", *(i / 8 - 1 for i in range(16)))


def bnb4(kind):
    def make(rows, cols):
        state = json.dumps({"quant_type": kind, "blocksize": 64, "dtype": "bfloat16", "shape": [rows, cols]}).encode()
        return [("weight", "U8", [rows * cols // 2, 1], CODES), ("weight.absmax", "F32", [rows * cols // 64], F32),
                ("weight.quant_map", "F32", [16], NF4),
                (f"weight.quant_state.bitsandbytes__{kind}", "U8", [len(state)], state)]
    return make


def bnb8(rows, cols):
    return [("weight", "I8", [rows, cols], CODES), ("SCB", "F32", [rows], F32), ("weight_format", "U8", [], b"\0")]


def awq(group):
    def make(rows, cols):
        return [("qweight", "I32", [cols, rows // 8], CODES), ("qzeros", "I32", [cols // group, rows // 8], CODES),
                ("scales", "F16", [cols // group, rows], F16)]
    return make


def gemv(rows, cols):
    zw = cols // 128 // 8
    return [("qweight", "I32", [rows, cols // 8], CODES), ("qzeros", "I32", [rows, zw], CODES),
            ("scales", "F16", [rows, 8 * zw], F16)]


def gemv_fast(rows, cols):
    groups = cols // 128
    return [("qweight", "I16", [rows // 4, cols], CODES), ("qzeros", "F16", [groups, rows], F16),
            ("scales", "F16", [groups, rows], F16)]


def ct(bits, group, symmetric=True):
    def make(rows, cols):
        groups = cols // group
        found = [("weight_packed", "I32", [rows, cols * bits // 32], CODES), ("weight_scale", "BF16", [rows, groups], BF16),
                 ("weight_shape", "I64", [2], struct.pack("<2q", rows, cols))]
        return found if symmetric else found + [("weight_zero_point", "I32", [rows * bits // 32, groups], CODES)]
    return make


def ct_config(bits, group, symmetric=True):
    weights = {"num_bits": bits, "type": "int", "symmetric": symmetric, "strategy": "group", "group_size": group}
    return {"quantization_config": {"quant_method": "compressed-tensors", "format": "pack-quantized",
                                    "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}}}}


def int8_rows(rows, cols):
    return [("weight", "I8", [rows, cols], CODES), ("weight_scale", "BF16", [rows, 1], BF16)]


INT8_CONFIG = {"quantization_config": {"quant_method": "compressed-tensors", "format": "int-quantized", "config_groups": {
    "group_0": {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "int", "symmetric": True, "strategy": "channel"}}}}}


def mxfp4_ct(rows, cols):
    return [("weight_packed", "U8", [rows, cols // 2], CODES), ("weight_scale", "U8", [rows, cols // 32], E8M0)]


def gpt_oss(rows, cols):
    return [("experts.gate_up_proj_blocks", "U8", [2, rows // 2, cols // 32, 16], CODES),
            ("experts.gate_up_proj_scales", "U8", [2, rows // 2, cols // 32], E8M0)]


def nvfp4(rows, cols):
    return [("weight", "U8", [rows, cols // 2], CODES), ("weight_scale", "F8_E4M3", [rows, cols // 16], E4M3),
            ("weight_scale_2", "F32", [], struct.pack("<f", 1e-3))]


def modelopt_int4(rows, cols):
    return [("weight", "U8", [rows // 2, cols], CODES), ("weight_scale", "F32", [rows, cols // 128], F32)]


def mxfp6(rows, cols):
    return [("weight", "U8", [rows, 3 * cols // 4], CODES), ("weight_scale", "U8", [rows, cols // 32], E8M0)]


MXFP6_CONFIG = {"quantization_config": {"quant_method": "quark", "global_quant_config": {"weight": {
    "dtype": "fp6_e2m3", "qscheme": "per_group", "group_size": 32}}}}


def mlx(bits):
    def make(rows, cols):
        return [("weight", "U32", [rows, cols * bits // 32], CODES), ("scales", "BF16", [rows, cols // 64], BF16),
                ("biases", "BF16", [rows, cols // 64], BF16)]
    return make


def bitnet(rows, cols):
    return [("weight", "U8", [rows // 4, cols], bytes(b & ~(b >> 1 & b & 0x55) for b in CODES)),
            ("weight_scale", "BF16", [1], BF16)]


BITNET_CONFIG = {"quantization_config": {"quant_method": "bitnet", "linear_class": "autobitlinear",
                                         "quantization_mode": "offline"}}


def eetq(rows, cols):
    return [("weight", "I8", [cols, rows], CODES), ("weight_scales", "F16", [rows], F16)]


def comfy(marker, *tensors):
    text = json.dumps(marker).encode()
    return [("comfy_quant", "U8", [len(text)], text), *tensors]


def comfy_nvfp4(rows, cols):
    return comfy({"format": "nvfp4"}, ("weight", "U8", [rows, cols // 2], CODES),
                 ("weight_scale", "F8_E4M3", [rows, cols // 16], E4M3),
                 ("weight_scale_2", "F32", [], struct.pack("<f", 1e-3)))


def comfy_mxfp8(rows, cols):
    return comfy({"format": "mxfp8"}, ("weight", "F8_E4M3", [rows, cols], sound_fp8(CODES)),
                 ("weight_scale", "U8", [rows, cols // 32], E8M0))


def comfy_int8(convrot):
    def make(rows, cols):
        return comfy({"format": "int8_tensorwise", "convrot": convrot}, ("weight", "I8", [rows, cols], CODES),
                     ("weight_scale", "F32", [rows, 1], F32))
    return make


def w4afp8(rows, cols):
    return [("weight", "I8", [rows, cols // 2], CODES), ("weight_scale_inv", "BF16", [rows, cols // 128], BF16)]


def modelslim(rows, cols):
    return [("weight", "I8", [rows // 2, cols], CODES), ("weight_scale", "F32", [rows, 1], F32),
            ("weight_offset", "F32", [rows, 1], bytes(4)), ("scale_bias", "F32", [rows, 1], F32)]


def modelslim_second(rows, cols):
    return modelslim(rows, cols) + [("weight_scale_second", "F32", [rows, cols // 256], F32)]


def modelslim_static(rows, cols):
    return [("weight", "I8", [rows, cols], CODES), ("deq_scale", "F32", [rows], F32), ("quant_bias", "I32", [rows], bytes(4)),
            ("input_scale", "F32", [1], struct.pack("<f", 1e-2)), ("input_offset", "F32", [1], bytes(4)),
            ("bias", "F32", [rows], F32)]


def mxfp4_dual(rows, cols):
    return [("weight", "U8", [rows, cols // 2], CODES), ("weight_scale", "U8", [rows, cols // 32], E8M0),
            ("weight_dual_scale", "F32", [rows, cols // 512, 1], F32)]


def deepseek_fp4(group):
    def make(rows, cols):
        return [("weight", "I8", [rows, cols // 2], CODES), ("scale", "F8_E8M0", [rows, cols // group], E8M0)]
    return make


def ggml_blocks(rows, cols):
    return [("weight", "U8", [rows, cols // 256, 74], CODES)]


def ternary(rows, cols):
    return [("qweight", "U8", [rows, -(-cols // 5)], CODES), ("scales", "F16", [rows, -(-cols // 128)], F16)]


def table(rows, cols):
    return [("shards.shard_0.weight", "F8_E4M3", [rows, cols], sound_fp8(CODES)),
            ("shards.weight_scale", "BF16", [1], struct.pack("<H", 0x3f80))]


def quark_groups(rows, cols):
    groups = cols // 128
    return [("weight", "I32", [cols, rows // 8], CODES), ("weight_zero_point", "I32", [groups, rows // 8], CODES),
            ("weight_scale", "BF16", [groups, rows], BF16)]


def quark_rows(rows, cols):
    return [("weight", "I32", [rows, cols // 8], CODES), ("weight_zero_point", "I32", [rows // 8], CODES),
            ("weight_scale", "BF16", [rows], BF16)]


def quark(scheme, order, group):
    return {"quantization_config": {"quant_method": "quark", "export": {"pack_method": order}, "global_quant_config": {"weight": {
        "dtype": "uint4", "qscheme": scheme, "group_size": group, "symmetric": False, "is_dynamic": False}}}}


def gemma(bits):
    def make(rows, cols):
        dtype = "I8" if bits == 8 else "U8"
        return [("weight", dtype, [rows, cols * bits // 8], CODES), ("weight_scale", "F32", [rows, 1], F32)]
    return make


def gemma_config(bits):
    return {"quantization_config": {"quant_method": "gemma", "num_bits": bits}}


def sound_fp8(codes):
    return codes.translate(bytes(c - 1 if c & 0x7F == 0x7F else c for c in range(256)))


def mxint4(rows, cols):
    return [("weight_packed", "U8", [rows, cols // 2], CODES), ("weight_scale", "U8", [rows, cols // 32], E8M0)]


MXINT4_CONFIG = {"quantization_config": {"quant_method": "auto-round", "packing_format": "auto_round", "data_type": "mx_int",
                                         "bits": 4, "group_size": 32, "sym": True}}


def mxfp8(rows, cols):
    return [("weight", "F8_E4M3", [rows, cols], sound_fp8(CODES)), ("weight_scale_inv", "U8", [rows, cols // 32], E8M0)]


def nvfp4_e5m3(rows, cols):
    return [("weight_packed", "U8", [rows, cols // 2], CODES), ("weight_scale", "U8", [rows, cols // 16], E4M3)]


NVFP4_E5M3_CONFIG = {"quantization_config": {
    "quant_method": "auto-round", "packing_format": "auto_round:llm_compressor_nvfp4_e5m3", "data_type": "nvfp4_v2", "bits": 4,
    "group_size": 16, "sym": True, "act_bits": 4, "act_data_type": "nvfp4_v2", "act_group_size": 16, "act_dynamic": True,
    "act_sym": True, "autoround_version": "0.16.1", "block_name_to_quantize": "model.layers"}}


def inkling(rows, cols):
    return [("experts.w13_weight", "U8", [2, rows // 2, cols // 2], CODES),
            ("experts.w13_weight.scale", "F8_E4M3", [2, rows // 2, cols // 16], E4M3),
            ("experts.w13_weight.scale2", "F32", [2], struct.pack("<2f", 1e-3, 2e-3))]


def fp8_rows(rows, cols):
    return [("weight", "F8_E4M3", [rows, cols], sound_fp8(CODES)),
            ("weight_scale_inv", "F32", [rows], struct.pack("<4099f", *(1 / f for f in FLOATS)))]


FP8_INVERSE_CONFIG = {"quantization_config": {
    "quant_method": "fp8", "method": "fp8", "format": "float8_e4m3fn", "checkpoint_format": "float8_e4m3fn", "bits": 8, "group_size": -1,
    "weight_scale_method": "row", "weight_scale_semantics": "inverse"}}


# Row of the table, label, goal as a multiple of the floor, maker, config.json.
FAMILIES = [
    ("S3", "bitsandbytes NF4", 1.15, bnb4("nf4"), None),
    ("S3", "bitsandbytes FP4", 1.15, bnb4("fp4"), None),
    ("S3", "bitsandbytes INT8", 1.15, bnb8, None),
    ("S3", "AWQ GEMM", 1.3, awq(128), None),
    ("S3", "compressed-tensors INT4", 1.15, ct(4, 128), ct_config(4, 128)),
    ("S3", "compressed-tensors INT8", 1.15, int8_rows, INT8_CONFIG),
    ("S3", "compressed-tensors MXFP4", 1.15, mxfp4_ct, None),
    ("S3", "gpt-oss MXFP4", 1.15, gpt_oss, None),
    ("S3", "ModelOpt NVFP4", 1.15, nvfp4, {"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}}),
    ("S3", "MLX 4-bit", 1.15, mlx(4), {"quantization": {"bits": 4, "group_size": 64}}),
    ("S3", "MLX 8-bit", 1.15, mlx(8), {"quantization": {"bits": 8, "group_size": 64}}),
    ("S15", "ComfyUI NVFP4", 1.3, comfy_nvfp4, None),
    ("S15", "ComfyUI MXFP8", 1.3, comfy_mxfp8, None),
    ("S15", "ComfyUI INT8", 1.3, comfy_int8(False), None),
    ("S15", "ComfyUI ConvRot INT8", 1.8, comfy_int8(True), None),
    ("S4", "AWQ GEMM, groups of 32", 1.6, awq(32), None),
    ("S4", "AWQ GEMV", 1.6, gemv, {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128,
                                                           "version": "gemv"}}),
    ("S4", "AWQ GEMV_FAST", 1.6, gemv_fast, {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128,
                                                                     "version": "gemv_fast"}}),
    ("S4", "compressed-tensors INT4, groups of 32", 1.6, ct(4, 32), ct_config(4, 32)),
    ("S4", "compressed-tensors INT4, zero points", 1.6, ct(4, 128, False), ct_config(4, 128, False)),
    ("S4", "compressed-tensors INT3", 1.6, ct(3, 128), ct_config(3, 128)),
    ("S4", "ModelOpt INT4", 1.6, modelopt_int4, {"quantization_config": {"quant_method": "modelopt",
                                                                        "quant_algo": "W4A16_AWQ"}}),
    ("S4", "Quark MXFP6", 1.6, mxfp6, MXFP6_CONFIG),
    ("S4", "MLX 3-bit", 1.6, mlx(3), {"quantization": {"bits": 3, "group_size": 64}}),
    ("S4", "MLX 6-bit", 1.6, mlx(6), {"quantization": {"bits": 6, "group_size": 64}}),
    ("S4", "BitNet", 1.6, bitnet, BITNET_CONFIG),
    ("S4", "EETQ", 1.6, eetq, None),
    ("S3", "MXFP8 of its own method", 1.15, mxfp8, {"quantization_config": {"quant_method": "mxfp8", "weight_block_size": [1, 32]}}),
    ("S3", "NVFP4-E5M3", 1.15, nvfp4_e5m3, NVFP4_E5M3_CONFIG),
    ("S3", "Inkling NVFP4", 1.15, inkling, {"architectures": ["InklingForConditionalGeneration"]}),
    ("S4", "GPTQModel FP8, inverse scales", 1.6, fp8_rows, FP8_INVERSE_CONFIG),
    ("S3", "ModelSlim MXFP4, two scales", 1.15, mxfp4_dual, None),
    ("S3", "MXINT4", 1.15, mxint4, MXINT4_CONFIG),
    ("S3", "DeepSeek FP4, groups of 128", 1.15, deepseek_fp4(128), None),
    ("S3", "FP8, a table with one scale", 1.15, table, None),
    ("S4", "blocks of ggml, IQ2_XS", 1.6, ggml_blocks, {"quantization_config": {"quant_method": "modelopt", "quant_algo": "IQ2_XS",
                                                                                "packing": "ggml"}}),
    ("S4", "thrush-ternary", 1.6, ternary, {"model_type": "moondream3"}),
    ("S4", "ModelSlim W4A8, second scales", 1.6, modelslim_second, None),
    ("S4", "ModelSlim static W8A8", 1.6, modelslim_static, None),
    ("S4", "Quark INT4, rows, reordered", 1.6, quark_rows, quark("per_channel", "reorder", None)),
    ("S4", "W4AFP8", 1.6, w4afp8, {"quantization_config": {"quant_method": "w4afp8", "group_size": 128}}),
    ("S4", "ModelSlim W4A8", 1.6, modelslim, None),
    ("S4", "Quark UINT4, groups", 1.6, quark_groups, quark("per_group", "reorder", 128)),
    ("S4", "Quark UINT4, rows", 1.6, quark_rows, quark("per_channel", "order", None)),
    ("S4", "Gemma 2-bit", 1.6, gemma(2), gemma_config(2)),
    ("S4", "Gemma 4-bit", 1.6, gemma(4), gemma_config(4)),
    ("S4", "Gemma 8-bit", 1.6, gemma(8), gemma_config(8)),
]


def tensors_of(maker, nbytes, rows=4096, cols=4096):
    """Returns (name, dtype, shape, unit, bytes) of enough matrices for an output of about nbytes in 16 bits."""
    found = []
    for i in range(max(1, nbytes // (2 * rows * cols))):
        for suffix, dtype, shape, unit in maker(rows, cols):
            n = SIZE[dtype]
            for d in shape:
                n *= d
            found.append((f"model.layers.{i}.mlp.up_proj.{suffix}", dtype, shape, unit, n))
    return found
