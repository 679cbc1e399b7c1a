"""peer_exact_upstream.py BIN FOLDER: the bytes of --exact are those of the converters of llama.cpp, compressed-tensors, ModelOpt, mlx-lm
and MLX, which are executed on the same files."""
import os
import subprocess
import sys
import types

import gguf
import mlx.core as mx
import numpy as np
import torch
from compressed_tensors.entrypoints.convert import AutoAWQConverter, ModelOptNvfp4Converter
from mlx_lm.models import deepseek_v3, deepseek_v41, gpt_oss
from modelopt.torch.export.shard_cast_utils import mxfp4_kmax, quantize_mxfp4_to_nvfp4_lossless
from safetensors.torch import load_file

import exact_sources as S
from tools import Tally, Tools

sys.path.insert(0, os.environ["LLAMA_CPP"])
from conversion.base import ModelBase                       # noqa: E402
from conversion.gpt_oss import GptOssModel                  # noqa: E402

WEIGHTS = 20
Q = gguf.GGMLQuantizationType


class Upstream:
    def __init__(self):
        self.tally, self.tools = Tally(), Tools()

    def forget(self, what, source, scheme, form, level="f32"):
        """Returns the output: {name: tensor}, for GGUF {name: (raw, type)}; None if the tool fails. Weights that are not exact stay."""
        path, config = source.write(self.tools.folder)
        out = self.tools.path("upstream.out")
        command = [os.path.join(self.tools.bin, "amn-forget"), "-q", f"--exact={level}", "--scheme", f"{scheme},f32", "--to", form, *config,
                   "-o", out, path]
        done = subprocess.run(command, check=False)
        if not self.tally.check(done.returncode == 0, f"{what}: runs"):
            return None
        if form == "safetensors":
            return load_file(out)
        return {t.name: (np.array(t.data), t.tensor_type) for t in gguf.GGUFReader(out).tensors}

    def same(self, what, got, want):
        """Compares bytes; `want`: a tensor or an array."""
        got, want = (x.contiguous().reshape(-1).view(torch.uint8).numpy() if isinstance(x, torch.Tensor) else
                     np.ascontiguousarray(x).reshape(-1).view(np.uint8) for x in (got, want))
        self.tally.check(np.array_equal(got, want), what)

    def held(self, what, source, names):
        """Names that the output has; there must be some."""
        stems = [name.removesuffix(".weight") for name in source.names]
        kept = [stem for stem in stems if names(stem)]
        self.tally.check(len(kept) > 0, f"{what}: some are exact")
        return kept


def of_llama(u, rng):
    for make, codes, scales in ((S.ct_mxfp4, ".weight_packed", ".weight_scale"), (S.deepseek_fp4, ".weight", ".scale")):
        source = make(rng, WEIGHTS)
        out = u.forget("repack_mxfp4_blocks", source, "mxfp4", "gguf")
        for name in source.names if out else []:
            stem = name.removesuffix(".weight")
            want = ModelBase.repack_mxfp4_blocks(source.tensors[stem + codes], source.tensors[stem + scales])
            u.same(f"repack_mxfp4_blocks, {source.maker}", out[name][0], want)
    source = S.gpt_oss(rng, WEIGHTS)
    out, written = u.forget("gpt-oss", source, "mxfp4", "gguf"), {}
    me = types.SimpleNamespace(gguf_writer=types.SimpleNamespace(add_tensor=lambda n, data, raw_dtype: written.update({n: data})))
    me.transform_nibble_layout = lambda blocks: GptOssModel.transform_nibble_layout(me, blocks)
    for name in source.names if out else []:
        GptOssModel.repack_mxfp4(me, name, source.tensors[name + "_blocks"], source.tensors[name + "_scales"])
        u.same("gpt-oss repack_mxfp4", out[name][0], written[name])
    for make, codes, level in ((S.modelopt_nvfp4, ".weight", "real"), (S.ct_nvfp4, ".weight_packed", "bf16")):
        source = make(rng, WEIGHTS)
        out = u.forget("_nvfp4_pack", source, "nvfp4", "gguf", level)
        for stem in u.held("_nvfp4_pack", source, lambda m: out[m + ".weight"][1] == Q.NVFP4) if out else []:
            raw, _ = ModelBase._nvfp4_pack(source.tensors[stem + codes], source.tensors[stem + ".weight_scale"])
            u.same(f"_nvfp4_pack, {source.maker}", out[stem + ".weight"][0], raw)
            factor = (source.tensors[stem + ".weight_scale_2"] if codes == ".weight" else 1 / source.tensors[stem + ".weight_global_scale"])
            mine = out[stem + ".scale"][0] if stem + ".scale" in out else np.ones(1, dtype=np.float32)
            u.same(f"_nvfp4_pack, {source.maker}: scale", mine, factor)


def of_compressed_tensors(u, rng):
    source = S.awq(rng, WEIGHTS)
    out = u.forget("AutoAWQConverter", source, "int4-group", "safetensors")
    theirs = AutoAWQConverter(group_size=source.group, ignore=()).process({k: t.clone() for k, t in source.tensors.items()})
    for name, want in theirs.items() if out else []:
        u.tally.check(name in out, f"AutoAWQConverter: {name}")
        u.same(f"AutoAWQConverter: {name}", out.get(name, torch.zeros(0)), want)
    source = S.modelopt_nvfp4(rng, WEIGHTS)
    out = u.forget("ModelOptNvfp4Converter", source, "nvfp4", "safetensors", "bf16")
    theirs = ModelOptNvfp4Converter(targets=["re:.*"]).process({k: t.clone() for k, t in source.tensors.items()})
    for stem in u.held("ModelOptNvfp4Converter", source, lambda m: m + ".weight_packed" in out) if out else []:
        for suffix in (".weight_packed", ".weight_scale", ".weight_global_scale"):
            u.same(f"ModelOptNvfp4Converter: {suffix}", out[stem + suffix], theirs[stem + suffix])


def of_modelopt(u, rng):
    """Scales, and codes but for 8, which it makes 0."""
    source = S.modelopt_mxfp4(rng, WEIGHTS)
    out = u.forget("cast_mxfp4_to_nvfp4", source, "modelopt-nvfp4", "safetensors")
    for stem in u.held("cast_mxfp4_to_nvfp4", source, lambda m: m + ".weight_scale_2" in out) if out else []:
        codes, scale = source.tensors[stem + ".weight"], source.tensors[stem + ".weight_scale"]
        k_max = mxfp4_kmax(scale)
        packed, blocks, factor, total, lossless = quantize_mxfp4_to_nvfp4_lossless(codes, scale, k_max, "cpu")
        if total != lossless or k_max - 8 < -126:      # it clamps; its F32 numbers flush to zero
            continue
        u.same("cast_mxfp4_to_nvfp4: scale", out[stem + ".weight_scale_2"], factor)
        u.same("cast_mxfp4_to_nvfp4: block scales", out[stem + ".weight_scale"], blocks)
        mine = out[stem + ".weight"]
        mine = torch.where(mine & 15 == 8, mine & 0xF0, mine)
        mine = torch.where(mine >> 4 == 8, mine & 15, mine)
        u.same("cast_mxfp4_to_nvfp4: codes", mine, packed)


def to_mlx(t):
    kinds = {torch.bfloat16: mx.bfloat16, torch.float16: mx.float16}
    if t.dtype in kinds:
        return mx.array(t.float().numpy()).astype(kinds[t.dtype])
    return mx.array(t.view(torch.uint8).numpy()) if t.dtype in (S.F8, S.E8, torch.int8) else mx.array(t.contiguous().numpy())


def from_mlx(a):
    return np.array(a.view(mx.uint16)) if a.dtype in (mx.bfloat16, mx.float16) else np.array(a)


def same_affine(u, what, out, theirs, stem):
    """Compares the parts of a weight. Codes times 0 have no meaning: amn writes that of 0, upstream what was there."""
    for suffix in (".scales", ".biases"):
        u.same(f"{what}: {suffix}", out[stem + suffix], from_mlx(theirs[stem + suffix]))
    means = (out[stem + ".scales"] != 0).numpy()[..., None]
    mine, others = (np.ascontiguousarray(x).view(np.uint8).reshape(*means.shape[:-1], -1) for x in
                    (out[stem + ".weight"].numpy(), from_mlx(theirs[stem + ".weight"])))
    u.same(f"{what}: .weight", mine * means, others * means)


def of_mlx_lm(u, rng):
    source = S.ct_int4("BF16", 32)(rng, WEIGHTS)
    out = u.forget("Kimi INT4", source, "mlx-4bit", "safetensors", "real")
    me = types.SimpleNamespace(args=types.SimpleNamespace(num_hidden_layers=0, n_routed_experts=0))
    theirs = deepseek_v3.Model.sanitize(me, {k: to_mlx(t) for k, t in source.tensors.items()})
    for stem in u.held("Kimi INT4", source, lambda m: m + ".scales" in out) if out else []:
        same_affine(u, "deepseek_v3 sanitize", out, theirs, stem)
    source = S.gpt_oss(rng, WEIGHTS)
    out = u.forget("gpt-oss to MLX", source, "mlx-mxfp4", "safetensors")
    theirs = gpt_oss.Model.sanitize(me, {k: to_mlx(t) for k, t in source.tensors.items()})
    for name in source.names if out else []:
        for suffix in (".weight", ".scales"):
            u.same(f"gpt_oss sanitize: {suffix}", out[name + suffix], from_mlx(theirs[name + suffix]))
    for make, scheme, codes in ((S.deepseek_fp4, "mlx-mxfp4", ".weight"), (S.deepseek_fp8_32, "mlx-mxfp8", ".weight")):
        source = make(rng, WEIGHTS)
        out = u.forget(f"_repack to {scheme}", source, scheme, "safetensors")
        for stem in u.held(f"_repack to {scheme}", source, lambda m: m + ".scales" in out) if out else []:
            words, scales = deepseek_v41._repack(to_mlx(source.tensors[stem + codes]), to_mlx(source.tensors[stem + ".scale"]))
            u.same(f"deepseek_v41 _repack to {scheme}: codes", out[stem + ".weight"], from_mlx(words))
            u.same(f"deepseek_v41 _repack to {scheme}: scales", out[stem + ".scales"], from_mlx(scales))


def of_mlx_load(u, rng):
    """Q4_0, Q4_1 and Q8_0 as mx.load() reads them."""
    for kind, parts, bits in ((Q.Q4_0, [0], 4), (Q.Q4_1, [0, 2], 4), (Q.Q8_0, [0], 8)):
        source = S.with_factors(kind, parts)(rng, WEIGHTS)
        out = u.forget(f"mx.load of {kind.name}", source, f"mlx-{bits}bit", "safetensors", "real")
        path, _ = source.write(u.tools.folder)
        theirs = mx.load(path, format="gguf")
        for stem in u.held(f"mx.load of {kind.name}", source, lambda m: m + ".scales" in out) if out else []:
            same_affine(u, f"mx.load of {kind.name}", out, theirs, stem)


def main():
    u = Upstream()
    rng = np.random.default_rng(7)
    for of in (of_llama, of_compressed_tensors, of_modelopt, of_mlx_lm, of_mlx_load):
        of(u, rng)
    u.tally.finish()


main()
