"""peer_safetensors.py BIN FOLDER: FP8 models written, decoded and read back by safetensors and torch."""
import itertools

import ml_dtypes
import numpy
import torch
from safetensors.torch import save, save_file

from peers import TARGETS, Tally, Tools, load, same_bits

CODES = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2, "e4m3fnuz": torch.float8_e4m3fnuz,
         "e5m2fnuz": torch.float8_e5m2fnuz}
SCALES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "e8m0": torch.float8_e8m0fnu}

# Scales of real files, and those that reveal a second rounding, a flush to zero or an overflow.
AWKWARD = [0.0, -0.0, -1.5, float("inf"), float("nan"), 2.0**-149, 2.0**-133, 3 * 2.0**-128, 2.0**-120, 2.0**-24, 1e-6,
           1 / 3, 1 + 2.0**-12, 1.0, 127.3, 65504.0, 3e38]


def scales(rng, shape, dtype, awkward):
    s = torch.empty(shape).uniform_(1e-5, 2e-2, generator=rng)
    if awkward and s.numel() > 1:
        pick = torch.randint(0, 2 * len(AWKWARD), s.shape, generator=rng)
        table = torch.tensor(AWKWARD + [0.0] * len(AWKWARD))
        s = torch.where(pick < len(AWKWARD), table[pick], s)
    return s.to(dtype)


# Layout: shape of the weight, shape of its scales, the two names.
WEIGHT = "{}.weight", "{}.weight_scale"
INVERSE = "{}.weight", "{}.weight_scale_inv"
LAYOUTS = {
    "tensor0": ((96, 130), (), WEIGHT),
    "tensor1": ((33, 65), (1,), INVERSE),
    "channel": ((200, 301), (200, 1), WEIGHT),
    "channel1": ((77, 300), (77,), WEIGHT),
    "block": ((256, 384), (2, 3), INVERSE),
    "ragged": ((300, 517), (3, 5), INVERSE),
    "ragged_small": ((129, 1), (2, 1), INVERSE),
    "experts": ((3, 130, 260), (3, 2, 3), ("{}.experts.gate_up_proj", "{}.experts.gate_up_proj_scale_inv")),
    "expert_tensor": ((4, 48, 80), (4,), WEIGHT),
    "expert_column": ((3, 40, 96), (3, 1, 96), ("{}.experts.down_proj", "{}.experts.down_proj_scale")),
}


def expand(scale, shape):
    """Returns the scale of each element."""
    s = scale.to(torch.float32)
    if s.numel() == 1:
        return s.reshape(()).expand(shape)
    s = s.reshape(s.shape + (1,) * (len(shape) - s.dim()))
    for dim, want in enumerate(shape):
        if s.shape[dim] not in (1, want):
            s = s.repeat_interleave(128, dim).narrow(dim, 0, want)
    return s.expand(shape)


def make_model(rng, awkward):
    """Returns the tensors of a model, and their expected values."""
    model, products = {}, {}
    kinds = itertools.product(CODES.items(), SCALES.items(), LAYOUTS.items())
    for (code_name, code), (scale_name, scale), (layout, (shape, grid, names)) in kinds:
        module = f"model.layers.0.{code_name}_{scale_name}_{layout}"
        codes = torch.randint(0, 256, shape, generator=rng, dtype=torch.uint8).view(code)
        s = scales(rng, grid, scale, awkward)
        model[names[0].format(module)] = codes
        model[names[1].format(module)] = s
        products[names[0].format(module)] = codes.to(torch.float32) * expand(s, shape)
        if names is WEIGHT:
            model[f"{module}.input_scale"] = torch.tensor(0.5)
    plain = {
        "model.norm.weight": torch.randn(64, generator=rng).to(torch.bfloat16),
        "model.norm.bias": torch.randn(3, 5, generator=rng),
        "model.half.weight": torch.randn(7, generator=rng).to(torch.float16),
        "model.position_ids": torch.arange(12).reshape(1, 12),
        "model.mask": torch.tensor([True, False, True]),
        "model.logit_scale": torch.tensor(4.6052),
    }
    return {**model, **plain}, products, plain


def check_output(tally, what, path, products, plain, dtype):
    if not tally.check(path, f"{what}: the tool failed"):
        return
    tensors, metadata = load(path)
    tally.check(metadata == {"format": "pt"}, f"{what}: metadata {metadata}")
    tally.check(tensors.keys() == products.keys() | plain.keys(), f"{what}: names")
    for name, product in products.items():
        tally.check(same_bits(tensors.get(name), product.to(dtype)), f"{what}: {name}")
    for name, tensor in plain.items():
        tally.check(same_bits(tensors.get(name), tensor), f"{what}: {name} passes unchanged")


def check_order(tally, tools, what, source, *options):
    """--order name is byte-identical to the library's output."""
    for how, path in tools.remember(source, "--order", "name", *options):
        if tally.check(path, f"{what}, {how}: the tool failed"):
            tensors, metadata = load(path)
            with open(path, "rb") as f:
                tally.check(f.read() == save(tensors, metadata), f"{what}, {how}: bytes of the library's writer")


def check_references(tally):
    """Checks that the two libraries agree on all codes, which the comparison requires."""
    codes = numpy.arange(256, dtype=numpy.uint8)
    for dtype in (*CODES.values(), torch.float8_e8m0fnu):
        name = str(dtype).split(".")[1]
        ours = torch.from_numpy(codes).view(dtype).to(torch.float32)
        theirs = torch.from_numpy(codes.view(getattr(ml_dtypes, name)).astype(numpy.float32))
        tally.check(same_bits(ours, theirs), f"torch and ml_dtypes agree on {name}")


def main():
    tally, tools = Tally(), Tools()
    check_references(tally)
    rng = torch.Generator().manual_seed(8)
    for kind, awkward in ("usual scales", False), ("awkward scales", True):
        source = tools.path("model.safetensors")
        model, products, plain = make_model(rng, awkward)
        save_file(model, source, metadata={"format": "pt"})
        for to, dtype in TARGETS.items():
            for how, path in tools.remember(source, "--to", to):
                check_output(tally, f"{kind}, {to}, {how}", path, products, plain, dtype)
            check_order(tally, tools, f"{kind}, {to}, by name", source, "--to", to)
    tally.finish()


if __name__ == "__main__":
    main()
