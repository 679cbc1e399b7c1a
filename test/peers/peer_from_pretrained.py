"""peer_from_pretrained.py BIN FOLDER [FAMILY...]: load directories written by amn-remember with transformers.

For each family a tiny model is quantized by the family's own library, or written in its layout, in several files.
`amn-remember -o DIR/` makes a directory of it, which from_pretrained() must load without a missing or unexpected name.
Its weights are compared bit by bit with the weights that the library decodes from the same files, and its logits with those of
the same model with these weights: no tolerance, because both run the same code.

A family whose library is not installed is skipped by name. Some have requirements that conflict with requirements.txt:

    pip install --no-deps --no-build-isolation autoawq==0.2.9 gptqmodel==7.7.0
    pip install --no-deps threadpoolctl device-smi pypcre tokenicer logbar defuser
    pip install amd-quark==0.13
"""
import contextlib
import gc
import glob
import json
import os
import shutil
import subprocess
import sys
import traceback

os.environ.update(TRANSFORMERS_VERBOSITY="error", HF_HUB_OFFLINE="1", HF_HUB_DISABLE_PROGRESS_BARS="1",
                  TORCHDYNAMO_DISABLE="1")

import numpy
import torch
import transformers
from huggingface_hub import save_torch_state_dict
from safetensors import safe_open

from peers import Tally, Tools, same_bits

SHARD, PART = "150KB", "96K"        # size of a file written by the library, and of one by amn-remember

SIZES = dict(vocab_size=320, hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=64)


# --- models

def llama(tie=False, bias=False, dtype=torch.bfloat16):
    config = transformers.LlamaConfig(**SIZES, tie_word_embeddings=tie, attention_bias=bias, mlp_bias=bias)
    return transformers.LlamaForCausalLM(config).to(dtype)


def half():
    return llama(dtype=torch.float16)


def tied():
    return llama(tie=True)


def biased():
    return llama(bias=True)


def mixtral():
    return transformers.MixtralForCausalLM(transformers.MixtralConfig(**SIZES, num_local_experts=4)).to(torch.bfloat16)


def gpt_oss():
    config = transformers.GptOssConfig(**SIZES, num_local_experts=4, head_dim=32, num_experts_per_tok=2,
                                       sliding_window=16)
    return transformers.GptOssForCausalLM(config).to(torch.bfloat16)


def llava():
    text = transformers.LlamaConfig(**SIZES)
    vision = transformers.CLIPVisionConfig(hidden_size=128, intermediate_size=256, num_hidden_layers=2,
                                           num_attention_heads=4, image_size=28, patch_size=14)
    config = transformers.LlavaConfig(text_config=text, vision_config=vision, image_token_id=319)
    return transformers.LlavaForConditionalGeneration(config).to(torch.bfloat16)


def auto(config):
    vision = hasattr(config, "vision_config")
    return transformers.AutoModelForImageTextToText if vision else transformers.AutoModelForCausalLM


def save_dense(make, folder):
    torch.manual_seed(4)
    model = make()
    with torch.no_grad():
        for name, p in model.named_parameters():        # biases and norms with different values
            if p.dim() == 1 or name.endswith("_bias"):
                p.add_(0.1 * torch.randn(p.shape).to(p.dtype))
    model.save_pretrained(folder, max_shard_size=SHARD)
    with open(os.path.join(folder, "chat_template.jinja"), "w", encoding="utf-8") as f:
        f.write("{{ messages }}")


def stored(folder):
    """Returns the tensors of a directory, by the names of its files."""
    tensors = {}
    for path in glob.glob(os.path.join(folder, "*.safetensors")):
        with safe_open(path, framework="pt") as f:
            tensors |= {name: f.get_tensor(name) for name in f.keys()}
    return tensors


def load(folder, **options):
    """Returns a model, and what was odd about loading it."""
    config = transformers.AutoConfig.from_pretrained(folder)
    model, info = auto(config).from_pretrained(folder, output_loading_info=True, **options)
    return model.eval(), {k: v for k, v in info.items() if v}


def is_linear(name, tensor):
    """Returns true for a weight that quantizers encode: a projection, or an expert's."""
    return name.endswith(".weight") and tensor.dim() == 2 and not any(
        part in name for part in ("embed", "lm_head", "norm", "router", "gate.weight", "vision", "projector"))


def lay_out(dense, folder, quantize, block, nested=None, takes=is_linear, suffix=".weight"):
    """Writes a quantized directory: quantize(tensor) returns the parts of a weight by their suffixes."""
    shutil.copytree(dense, folder, ignore=shutil.ignore_patterns("*.safetensors*"))
    tensors = {}
    for name, tensor in sorted(stored(dense).items()):
        if takes(name, tensor):
            module = name.removesuffix(suffix)
            tensors |= {module + part: t.contiguous() for part, t in quantize(tensor).items()}
        else:
            tensors[name] = tensor
    save_torch_state_dict(tensors, folder, max_shard_size=SHARD)
    set_config(folder, block, nested)


def set_config(folder, block, nested=None):
    path = os.path.join(folder, "config.json")
    with open(path, encoding="utf-8") as f:
        config = json.load(f)
    for key, value in block.items():
        config[key] = value
        if nested:
            config[nested][key] = value
    with open(path, "w", encoding="utf-8") as f:
        json.dump(config, f, indent=2)


# --- families: each writes the folder `to` from `dense` and returns the state of the model that the library decodes

def by_transformers(dense, to, config, **options):
    """Quantized while loading, and saved."""
    model, _ = load(dense, quantization_config=config, **options)
    model.save_pretrained(to, max_shard_size=SHARD)


def of_checkpoint(dense, to, tensors):
    """Returns the state of a model whose weights the library decoded one by one."""
    folder = to + ".reference"
    shutil.copytree(dense, folder, ignore=shutil.ignore_patterns("*.safetensors*"))
    save_torch_state_dict({name: t.contiguous() for name, t in tensors.items()}, folder)
    return load(folder)[0].state_dict()


def by_module(model, weight_of):
    """Returns the state of a model whose modules each decode their weight."""
    state = {}
    for name, module in model.named_modules():
        weight = weight_of(module)
        for part, value in module.named_parameters(recurse=False):
            if weight is None or part == "bias":
                state[f"{name}.{part}"] = value.detach()
        if weight is not None:
            state[f"{name}.weight"] = weight.detach()
    return state


def fp8(dense, to, **nested):
    from transformers.integrations.finegrained_fp8 import Fp8Quantize
    skipped = ["lm_head", "vision_tower", "multi_modal_projector"]
    config = transformers.FineGrainedFP8Config(weight_block_size=(64, 64), modules_to_not_convert=skipped)
    op = Fp8Quantize(type("Quantizer", (), {"quantization_config": config}))

    def quantize(tensor):
        return {key.removeprefix("m"): t for key, t in op.convert({"m.weight": tensor}).items()}

    lay_out(dense, to, quantize, {"quantization_config": {"quant_method": "fp8", "weight_block_size": [64, 64],
                                                          "modules_to_not_convert": skipped}}, **nested)
    config.dequantize = True
    return load(to, quantization_config=config)[0].state_dict()


def fp8_nested(dense, to):
    return fp8(dense, to, nested="text_config")


def bitsandbytes(**options):
    def family(dense, to):
        import bitsandbytes as _
        by_transformers(dense, to, transformers.BitsAndBytesConfig(**options))
        return load(to)[0].dequantize().state_dict()
    return family


def compressed_tensors(preset, **nested):
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.compressors.format import infer_module_format
    from compressed_tensors.quantization import QuantizationConfig, preset_name_to_scheme
    from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam

    def reduced(tensor, args):
        """Returns the smallest and the largest element with a shared scale."""
        rows, cols = tensor.shape
        if args.strategy == "tensor":
            return tensor.amin().reshape(1), tensor.amax().reshape(1)
        if args.strategy == "channel":
            return tensor.amin(1, keepdim=True), tensor.amax(1, keepdim=True)
        down, along = args.block_structure if args.strategy == "block" else (1, args.group_size)
        tiles = tensor.reshape(rows // down, down, cols // along, along)
        return tiles.amin((1, 3)), tiles.amax((1, 3))

    def family(dense, to):
        scheme = preset_name_to_scheme(preset, ["Linear"])
        if scheme.weights.strategy == "block":
            scheme.weights.block_structure = [64, 64]
        scheme.format = infer_module_format(torch.nn.Linear, scheme).value
        compressor = BaseCompressor.get_value_from_registry(scheme.format)

        def quantize(tensor):
            least, largest = reduced(tensor.float(), scheme.weights)
            both = None
            if scheme.weights.strategy == "tensor_group":
                both = generate_gparam(tensor.float().amin(), tensor.float().amax())
            scale, zero = calculate_qparams(least, largest, scheme.weights, both)
            state = {"weight": tensor, "weight_scale": scale}
            if both is not None:
                state["weight_global_scale"] = both
            if not scheme.weights.symmetric:
                state["weight_zero_point"] = zero
            return {"." + key: t for key, t in compressor.compress(state, scheme).items()}

        config = QuantizationConfig(config_groups={"group_0": scheme}, format=scheme.format, ignore=["lm_head"],
                                    quantization_status="compressed").model_dump(mode="json")
        lay_out(dense, to, quantize, {"quantization_config": config | {"quant_method": "compressed-tensors"}}, **nested)
        return load(to, quantization_config=transformers.CompressedTensorsConfig(dequantize=True))[0].state_dict()
    return family


def mxfp4(dense, to):
    """gpt-oss as it was published: stacked experts in blocks of 32."""
    def quantize(tensor):
        experts, n_in, out = tensor.shape
        return {"_blocks": torch.randint(0, 256, (experts, out, n_in // 32, 16), dtype=torch.uint8),
                "_scales": torch.randint(115, 122, (experts, out, n_in // 32), dtype=torch.uint8)}

    def takes(name, tensor):
        return name.endswith(("experts.gate_up_proj", "experts.down_proj"))

    lay_out(dense, to, quantize, {"quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": [
        "model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]}}, takes=takes,
        suffix="")
    return load(to, quantization_config=transformers.Mxfp4Config(dequantize=True))[0].state_dict()


def bitnet(dense, to):
    from transformers.integrations.bitnet import pack_weights, unpack_weights

    def quantize(tensor):
        scale = tensor.float().abs().mean().clamp(min=1e-5)
        return {".weight": pack_weights((tensor.float() / scale).round().clamp(-1, 1)),
                ".weight_scale": scale.to(tensor.dtype).reshape(1)}

    lay_out(dense, to, quantize, {"quantization_config": {"quant_method": "bitnet", "linear_class": "autobitlinear",
                                                          "quantization_mode": "offline"}})
    tensors = stored(to)
    for name in [name for name in tensors if name.endswith(".weight_scale")]:
        weight, scale = name.removesuffix("_scale"), tensors.pop(name)
        tensors[weight] = unpack_weights(tensors[weight], torch.float32).mul(scale.float()).to(torch.bfloat16)
    return of_checkpoint(dense, to, tensors)


def torchao(make_config):
    def family(dense, to):
        by_transformers(dense, to, transformers.TorchAoConfig(make_config()))
        model, _ = load(to)
        return by_module(model, lambda m: m.weight.dequantize() if isinstance(m, torch.nn.Linear)
                         and type(m.weight.data) is not torch.Tensor else None)
    return family


def int8_of_torchao():
    from torchao.quantization import Int8WeightOnlyConfig
    return Int8WeightOnlyConfig(version=2)


def float8_of_torchao():
    from torchao.quantization import Float8WeightOnlyConfig
    return Float8WeightOnlyConfig()


def decoded_in_turn(dense, to, decoded):
    """The weights that lay_out() quantized, in its order."""
    tensors = stored(dense)
    names = sorted(name for name, tensor in tensors.items() if is_linear(name, tensor))
    return of_checkpoint(dense, to, tensors | {n: t.to(tensors[n].dtype) for n, t in zip(names, decoded, strict=True)})


def hqq(dense, to):
    """Saved by its layers, with the block of config.json that transformers wrote while it could."""
    from hqq.core.quantize import BaseQuantizeConfig, HQQLinear
    config, decoded = BaseQuantizeConfig(nbits=4, group_size=64, axis=1), []

    def quantize(tensor):
        linear = torch.nn.Linear(tensor.shape[1], tensor.shape[0], bias=False)
        linear.weight.data = tensor.float()
        layer = HQQLinear(linear, config, compute_dtype=torch.bfloat16, device="cpu")
        decoded.append(layer.dequantize())
        return {"." + key: t.detach() for key, t in layer.state_dict().items()}

    lay_out(dense, to, quantize, {"quantization_config": {"quant_method": "hqq", "quant_config": config,
                                                          "skip_modules": ["lm_head"]}})
    return decoded_in_turn(dense, to, decoded)


def quanto(weights):
    def family(dense, to):
        import optimum.quanto
        from optimum.quanto import QLinear, QuantizedModelForCausalLM
        model, _ = load(dense)
        q = QuantizedModelForCausalLM.quantize(model, weights=getattr(optimum.quanto, weights), exclude="lm_head")
        q.save_pretrained(to, max_shard_size=SHARD)
        return by_module(model, lambda m: m.weight.dequantize() if isinstance(m, QLinear) else None)
    return family


def mlx(dense, to):
    import mlx.core as mx
    block = {"group_size": 64, "bits": 4}

    def to_torch(array):
        return torch.from_numpy(numpy.array(array.astype(mx.float32)))

    def quantize(tensor):
        parts = mx.quantize(mx.array(tensor.float().numpy()), **block)
        packed = torch.from_numpy(numpy.array(parts[0]))
        return {".weight": packed, ".scales": to_torch(parts[1]), ".biases": to_torch(parts[2])}

    lay_out(dense, to, quantize, {"quantization": block, "quantization_config": block})
    tensors = stored(to)
    for name in [name for name in tensors if name.endswith(".scales")]:
        module = name.removesuffix(".scales")
        parts = [mx.array(tensors.pop(f"{module}.{part}").numpy()) for part in ("weight", "scales", "biases")]
        tensors[f"{module}.weight"] = to_torch(mx.dequantize(*parts, **block)).to(torch.bfloat16)
    return of_checkpoint(dense, to, tensors)


def metal(dense, to):
    from transformers.integrations.metal_quantization import _affine_quantize_tensor

    def quantize(tensor):
        return dict(zip((".weight", ".scales", ".qbiases"), _affine_quantize_tensor(tensor, 64, 4)))

    config = {"quant_method": "metal", "bits": 4, "group_size": 64}
    lay_out(dense, to, quantize, {"quantization_config": config})
    config = transformers.MetalConfig(dequantize=True, bits=4, group_size=64)
    return load(to, quantization_config=config, device_map="cpu")[0].state_dict()


def gptq(dense, to):
    import gptqmodel.utils.backend
    from gptqmodel.nn_modules.qlinear.torch import TorchLinear
    from gptqmodel.quantization import QuantizeConfig
    from gptqmodel.quantization.quantizer import Quantizer
    from gptqmodel.utils.model import convert_gptq_v2_to_v1_format_module
    from gptqmodel.utils.model_dequant import dequantize_model
    config = QuantizeConfig(bits=4, group_size=32, sym=False, desc_act=False, format="gptq")

    def quantize(tensor):
        out, n_in = tensor.shape
        linear = torch.nn.Linear(n_in, out, bias=False)
        linear.weight.data = tensor.float()
        scales, zeros = [], []
        for part in tensor.float().split(32, dim=1):
            quantizer = Quantizer(qcfg=config)
            quantizer.configure(perchannel=True)
            quantizer.find_params(part, weight=True)
            scales.append(quantizer.scale)
            zeros.append(quantizer.zero)
        layer = TorchLinear(bits=4, group_size=32, sym=False, desc_act=False, in_features=n_in, out_features=out,
                            bias=False, pack_dtype=torch.int32, register_buffers=True, format="gptq",
                            backend=gptqmodel.utils.backend.BACKEND.AUTO)
        groups = (torch.arange(n_in) // 32).to(torch.int32)
        layer.pack_original(linear, torch.cat(scales, 1), torch.cat(zeros, 1), groups)
        convert_gptq_v2_to_v1_format_module(layer, config)
        return {"." + key: getattr(layer, key).clone() for key in ("qweight", "qzeros", "scales", "g_idx")}

    lay_out(dense, to, quantize, {"quantization_config": {
        "quant_method": "gptq", "bits": 4, "group_size": 32, "sym": False, "desc_act": False,
        "checkpoint_format": "gptq"}})
    shutil.copy(os.path.join(to, "config.json"), os.path.join(to, "quantize_config.json"))
    dequantize_model(to, to + ".reference", target_dtype=torch.float16)
    return load(to + ".reference")[0].state_dict()


def awq(dense, to):
    from awq.modules.linear.gemm import WQLinear_GEMM
    from awq.utils.packing_utils import dequantize_gemm
    decoded = []

    def quantize(tensor):
        out, n_in = tensor.shape
        groups = tensor.float().reshape(out, n_in // 32, 32)
        least, largest = groups.amin(2), groups.amax(2)
        scales = ((largest - least) / 15).half().float()
        zeros = (-least / scales).round().clamp(0, 15)
        linear = torch.nn.Linear(n_in, out, bias=False)
        codes = ((groups / scales[..., None]).round() + zeros[..., None]).clamp(0, 15)
        linear.weight.data = ((codes - zeros[..., None]) * scales[..., None]).reshape(out, n_in)
        packed = WQLinear_GEMM.from_linear(linear, 4, 32, scales=scales.T.contiguous(), zeros=zeros.T.contiguous())
        decoded.append(dequantize_gemm(packed.qweight, packed.qzeros, packed.scales.float(), 4, 32).T)
        return {".qweight": packed.qweight, ".qzeros": packed.qzeros, ".scales": packed.scales}

    lay_out(dense, to, quantize, {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 32,
                                                          "zero_point": True, "version": "gemm"}})
    return decoded_in_turn(dense, to, decoded)


def modelopt(dense, to):
    """NVFP4 with a second scale, as ModelOpt exports it: the quantization config is in a separate file."""
    from compressed_tensors.compressors.nvfp4.helpers import pack_fp4_to_uint8, unpack_fp4_from_uint8
    grid = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])

    def quantize(tensor):
        out, n_in = tensor.shape
        groups = tensor.float().reshape(out, n_in // 16, 16)
        second = tensor.float().abs().amax() / (6 * 448)
        scale = (groups.abs().amax(2) / 6 / second).to(torch.float8_e4m3fn)
        parts = groups / (scale.float() * second)[..., None].clamp(min=1e-30)
        codes = grid[(parts.abs()[..., None] - grid).abs().argmin(-1)] * parts.sign() + 0.0
        return {".weight": pack_fp4_to_uint8(codes.reshape(out, n_in)), ".weight_scale": scale,
                ".weight_scale_2": second, ".input_scale": torch.tensor(0.5)}

    said = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4", "group_size": 16,
                                                              "exclude_modules": ["lm_head"]}}
    lay_out(dense, to, quantize, {})
    with open(os.path.join(to, "hf_quant_config.json"), "w", encoding="utf-8") as f:
        json.dump(said, f)
    set_config(to, {"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}})
    tensors = stored(to)
    for name in [name for name in tensors if name.endswith(".weight_scale")]:
        module = name.removesuffix(".weight_scale")
        packed, scale, second, _ = (tensors.pop(module + part) for part in (
            ".weight", ".weight_scale", ".weight_scale_2", ".input_scale"))
        codes = unpack_fp4_from_uint8(packed, len(packed), packed.shape[1] * 2, torch.float32)
        tensors[module + ".weight"] = (codes * (scale.float() * second).repeat_interleave(16, 1)).to(torch.bfloat16)
    return of_checkpoint(dense, to, tensors)


def quark(scheme):
    """Exported twice: as codes, and as their values."""
    def family(dense, to):
        from quark.torch import ModelQuantizer, export_safetensors
        from quark.torch.quantization.config.template import LLMTemplate
        for folder, form in (to + ".reference", "fake_quantized"), (to, "real_quantized"):
            model, _ = load(dense)
            quantizer = ModelQuantizer(LLMTemplate.get("llama").get_config(scheme=scheme))
            model = quantizer.freeze(quantizer.quantize_model(model, [torch.arange(12).reshape(1, 12)]))
            export_safetensors(model, folder, weight_format=form)
        shutil.copy(os.path.join(dense, "config.json"), to + ".reference")
        return load(to + ".reference")[0].state_dict()
    return family


FAMILIES = {
    "fp8": (llama, fp8), "fp8-tied": (tied, fp8), "fp8-mixtral": (mixtral, fp8), "fp8-llava": (llava, fp8_nested),
    "bnb-nf4": (llama, bitsandbytes(load_in_4bit=True, bnb_4bit_quant_type="nf4")),
    "bnb-nf4-dq": (half, bitsandbytes(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True)),
    "bnb-fp4": (llama, bitsandbytes(load_in_4bit=True, bnb_4bit_quant_type="fp4")),
    "bnb-int8": (half, bitsandbytes(load_in_8bit=True)),
    "bnb-nf4-mixtral": (mixtral, bitsandbytes(load_in_4bit=True, bnb_4bit_quant_type="nf4")),
    "bnb-nf4-llava": (llava, bitsandbytes(load_in_4bit=True, bnb_4bit_quant_type="nf4")),
    **{"ct-" + preset.lower(): (llama, compressed_tensors(preset)) for preset in (
        "W4A16", "W4A16_ASYM", "W3A16", "W8A16", "W8A8", "FP8", "FP8_DYNAMIC", "FP8_BLOCK", "NVFP4A16", "MXFP4A16",
        "MXFP8A16")},
    "ct-w4a16-mixtral": (mixtral, compressed_tensors("W4A16")),
    "ct-w4a16-llava": (llava, compressed_tensors("W4A16", nested="text_config")),
    "mxfp4-gpt-oss": (gpt_oss, mxfp4),
    "bitnet": (llama, bitnet),
    "torchao-int8": (llama, torchao(int8_of_torchao)),
    "torchao-float8": (llama, torchao(float8_of_torchao)),
    "hqq": (llama, hqq),
    "quanto-int8": (llama, quanto("qint8")), "quanto-int4": (biased, quanto("qint4")),
    "quanto-float8": (llama, quanto("qfloat8")),
    "mlx": (llama, mlx), "metal": (llama, metal),
    "quark-fp8": (llama, quark("fp8")), "quark-int8": (llama, quark("int8")), "quark-mxfp4": (llama, quark("mxfp4")),
    "gptq": (half, gptq), "awq": (half, awq), "modelopt-nvfp4": (llama, modelopt),
}


# --- the comparison

ABOUT_QUANTIZATION = {"hf_quant_config.json", "quantize_config.json", "quant_config.json", "quantization_config.json",
                      "quanto_qmap.json"}


def logits(model):
    ids = torch.arange(24).reshape(2, 12) * 7 % 300
    with torch.no_grad():
        return model(input_ids=ids).logits


def remember(tally, tools, name, quantized, folder):
    """In the type of the model, as given in config.json."""
    dtype = transformers.AutoConfig.from_pretrained(quantized).dtype
    to = {torch.float16: "f16", torch.float32: "f32"}.get(dtype, "bf16")
    done = subprocess.run([os.path.join(tools.bin, "amn-remember"), "-q", "--to", to, "-o", folder + "/",
                           "--shard-size", PART, quantized], check=False)
    return tally.check(done.returncode == 0, f"{name}: the tool failed")


def check_folder(tally, name, quantized, folder):
    """Other files of a directory."""
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as f:
        text = f.read()
    tally.check("quantization" not in text, f"{name}: config.json speaks of quantization")
    left, there = ({n for n in os.listdir(f) if not n.endswith((".safetensors", ".safetensors.index.json"))}
                   for f in (quantized, folder))
    tally.check(there == left - ABOUT_QUANTIZATION, f"{name}: files {sorted(there ^ left)}")
    with open(os.path.join(folder, "model.safetensors.index.json"), encoding="utf-8") as f:
        index = json.load(f)
    tensors = stored(folder)
    tally.check(index["weight_map"].keys() == tensors.keys(), f"{name}: names in the index")
    tally.check(len(set(index["weight_map"].values())) > 1, f"{name}: one file")
    tally.check(index["metadata"]["total_size"] == sum(t.nbytes for t in tensors.values()), f"{name}: total_size")


def check_model(tally, name, folder, want):
    model, odd = load(folder)
    tally.check(not odd, f"{name}: loading says {odd}")
    tally.check(getattr(model, "hf_quantizer", None) is None, f"{name}: the model is quantized")
    got = model.state_dict()
    tally.check(got.keys() == want.keys(), f"{name}: names {sorted(got.keys() ^ want.keys())[:4]}")
    for key in got.keys() & want.keys():
        tally.check(same_bits(got[key], want[key].to(got[key].dtype)), f"{name}: {key}")
    have = logits(model)
    model.load_state_dict({k: v.to(got[k].dtype) for k, v in want.items()})
    tally.check(have.isfinite().all() and torch.equal(have, logits(model)), f"{name}: logits")


def check_family(tally, tools, name, make, family):
    dense, quantized, folder = (tools.path(f"{name}.{part}") for part in ("dense", "quantized", "remembered"))
    save_dense(make, dense)
    with contextlib.redirect_stdout(sys.stderr):
        want = family(dense, quantized)
    if remember(tally, tools, name, quantized, folder):
        check_folder(tally, name, quantized, folder)
        check_model(tally, name, folder, want)
    gc.collect()


def main():
    tally, tools = Tally(), Tools()
    for name, (make, family) in FAMILIES.items():
        if sys.argv[3:] and name not in sys.argv[3:]:
            continue
        try:
            check_family(tally, tools, name, make, family)
        except ImportError as e:
            print(f"skipped {name}: {e}")
        except Exception:
            traceback.print_exc(file=sys.stdout)
            tally.check(False, f"{name}: {sys.exc_info()[1]}")
    tally.finish()


if __name__ == "__main__":
    main()
