"""peer_fp8_grids.py BIN FOLDER: compare FP8 with scale grids of many shapes with compressed-tensors and transformers."""
import json
import os
import random

import torch
from compressed_tensors.quantization import QuantizationArgs
from compressed_tensors.quantization.lifecycle.forward import dequantize
from safetensors.torch import save_file
from transformers.integrations.finegrained_fp8 import Fp8Dequantize

from peers import TARGETS, Tally, Tools, load, same_bits

BLOCKS = 1, 16, 32, 64, 128, 256
rnd = random.Random(3)


def weight(rows, cols, grid, rng, dtype=torch.float32):
    codes = torch.randint(0, 256, (rows, cols), generator=rng, dtype=torch.uint8)
    codes = torch.where(codes & 0x7F == 0x7F, 0, codes).to(torch.uint8).view(torch.float8_e4m3fn)
    return codes, torch.empty(grid).uniform_(1e-5, 2e-2, generator=rng).to(dtype)


def by_compressed_tensors(codes, scale, block):
    args = QuantizationArgs(num_bits=8, type="float", strategy="block", block_structure=list(block))
    return dequantize(codes, scale, args=args, dtype=torch.float32)


def by_transformers(codes, scale):
    return Fp8Dequantize(None)._dequantize_one(codes, scale, torch.float32)


def read(tally, tools, what, source, name, want):
    for to, dtype in TARGETS.items():
        for how, path in tools.remember(source, "--to", to):
            tensors = load(path)[0] if path else {}
            tally.check(same_bits(tensors.get(name), want.to(dtype)), f"{what}, {to}, {how}")


def by_shapes(tally, tools, rng):
    """Blocks that follow from the two shapes: a pipe has nothing else."""
    source = tools.path("grid.safetensors")
    for i in range(60):
        b0, b1 = rnd.choice(BLOCKS), rnd.choice(BLOCKS)
        rows, cols = b0 * rnd.randrange(2, 6), b1 * rnd.randrange(2, 6)
        grid = rows // b0, cols // b1
        if -(-rows // 128) == grid[0] != rows // 128 or -(-cols // 128) == grid[1] != cols // 128:
            continue                            # blocks of 128, the last one short: transformers has none of these
        codes, scale = weight(rows, cols, grid, rng, rnd.choice([torch.float32, torch.bfloat16]))
        want = by_transformers(codes, scale)
        if grid[0] != rows and grid[1] != cols:
            tally.check(same_bits(by_compressed_tensors(codes, scale.float(), (b0, b1)), want), f"the libraries agree, {i}")
        save_file({"m.weight": codes, "m.weight_scale": scale}, source)
        read(tally, tools, f"[{rows}, {cols}] under {list(grid)}", source, "m.weight", want)


def by_config(tally, tools, rng):
    """Blocks whose size is not a power of two, given by config.json in either form; ragged ones too."""
    folder = tools.path("config")
    os.makedirs(folder, exist_ok=True)
    for i in range(30):
        block = rnd.choice([24, 48, 96, 100, 128]), rnd.choice([40, 64, 96, 128])
        rows, cols = (b * rnd.randrange(2, 5) for b in block)
        codes, scale = weight(rows, cols, (rows // block[0], cols // block[1]), rng)
        save_file({"m.weight": codes, "m.weight_scale": scale}, os.path.join(folder, "model.safetensors"))
        group = {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float", "strategy": "block", "block_structure": block}}
        config = {"quant_method": "fp8", "weight_block_size": block} if i % 2 else \
            {"quant_method": "compressed-tensors", "config_groups": {"group_0": group}}
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as f:
            json.dump({"quantization_config": config}, f)
        out = tools.path("out.safetensors")
        done = tools.read("amn-remember", "-q", "--to", "f32", "-o", out, folder)
        want = by_compressed_tensors(codes, scale, block)
        tally.check(done is not None and same_bits(load(out)[0].get("m.weight"), want), f"[{rows}, {cols}] in blocks {block}")


def experts(tally, tools, rng):
    """A mixture with separate experts and fused scales, gate above up; Mixtral has other names."""
    source = tools.path("experts.safetensors")
    for gate, up, down in ("gate_proj", "up_proj", "down_proj"), ("w1", "w3", "w2"):
        tensors, wants = {}, {}
        for projection, names, rows, cols in (("gate_up_proj", [gate, up], 128, 96), ("down_proj", [down], 96, 64)):
            pairs = [weight(rows, cols, (rows // 32, cols // 32), rng) for _ in range(3)]
            tensors[f"l.experts.{projection}_scale_inv"] = torch.stack([s for _, s in pairs])
            for e, (codes, scale) in enumerate(pairs):
                want = by_transformers(codes, scale)
                for name, part, dense in zip(names, codes.chunk(len(names)), want.chunk(len(names))):
                    tensors[f"l.experts.{e}.{name}.weight"] = part.contiguous()
                    wants[f"l.experts.{e}.{name}.weight"] = dense
        save_file(tensors, source)
        for name, want in wants.items():
            read(tally, tools, name, source, name, want)


def smooth(tally, tools, rng):
    """pre_quant_scale, folded in F32 between the scale and the rounding."""
    source = tools.path("smooth.safetensors")
    for dtype in torch.float32, torch.bfloat16, torch.float16:
        codes, scale = weight(130, 200, (130, 1), rng)
        factor = torch.empty(200).uniform_(0.1, 3, generator=rng).to(dtype)
        save_file({"m.weight": codes, "m.weight_scale": scale, "m.pre_quant_scale": factor}, source)
        read(tally, tools, f"pre_quant_scale {dtype}", source, "m.weight", codes.float() * scale * factor.float())


def main():
    tally, tools = Tally(), Tools()
    rng = torch.Generator().manual_seed(11)
    for part in by_shapes, by_config, experts, smooth:
        part(tally, tools, rng)
    tally.finish()


if __name__ == "__main__":
    main()
