"""tensors.py FOLDER: files of torchao, PEFT, transformers and pnnx."""

import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version

import ml_dtypes
import peft
import torch
import transformers
from safetensors.torch import save_file
from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict
from torchao.quantization import Int8Tensor
from torchao.quantization.granularity import PerRow

from entry import file, tensor

BF16 = torch.bfloat16


def by(package, name=None):
    return "%s %s" % (name or package, version(package))


def numpy_of(t):
    """NumPy has no BF16 of its own."""
    t = t.detach().contiguous()
    return t.view(torch.int16).numpy().view(ml_dtypes.bfloat16) if t.dtype == BF16 else t.numpy()


def torchao_file(out):
    torch.manual_seed(0)
    weights = {
        "up.weight": Int8Tensor.from_hp(torch.randn(4, 32).to(BF16), granularity=PerRow()),
        "up.bias": torch.randn(4).to(BF16),
    }
    save_file(
        *flatten_tensor_state_dict(weights)[:1], os.path.join(out, "torchao.safetensors"), flatten_tensor_state_dict(weights)[1]
    )
    file("torchao.safetensors", by("torchao"), "flatten_tensor_state_dict: the class of each weight is JSON in the metadata")
    tensor("up.weight", numpy_of(weights["up.weight"].dequantize().to(BF16)))
    tensor("up.bias", numpy_of(weights["up.bias"]))


def whole_numbers(model):
    """Small whole numbers, so that every sum is exact in BF16."""
    with torch.no_grad():
        for i, parameter in enumerate(model.parameters()):
            parameter.copy_((torch.arange(parameter.numel()).reshape(parameter.shape) * (i + 3)) % 7 - 3)


def llama():
    config = transformers.LlamaConfig(
        vocab_size=8,
        hidden_size=8,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=16,
        tie_word_embeddings=False,
        dtype="bfloat16",
    )
    model = transformers.LlamaForCausalLM(config).to(BF16)
    whole_numbers(model)
    return model


def save(model, folder):
    """Keeps what a loader needs, without the index of a version of transformers."""
    model.save_pretrained(folder)
    for name in os.listdir(folder):
        if name not in ("config.json", "model.safetensors", "adapter_config.json", "adapter_model.safetensors"):
            os.remove(os.path.join(folder, name))


def transformers_files(out):
    model = llama()
    save(model, os.path.join(out, "transformers"))
    file("transformers", by("transformers"), "save_pretrained")
    for name, value in model.state_dict().items():
        tensor(name, numpy_of(value))
    torch.save(model.state_dict(), os.path.join(out, "torch.pth"))
    file("torch.pth", by("torch"), "torch.save of a state_dict, which has attributes")
    for name, value in model.state_dict().items():
        tensor(name, numpy_of(value))


def peft_files(out):
    config = peft.LoraConfig(r=2, lora_alpha=4, target_modules=["q_proj", "down_proj"], rank_pattern={"down_proj": 1})
    model = peft.get_peft_model(llama(), config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                parameter.copy_(torch.arange(parameter.numel()).reshape(parameter.shape) % 3 - 1)
    model.to(BF16)
    save(model, os.path.join(out, "peft"))
    file(
        "transformers",
        by("peft", "PEFT"),
        "save_pretrained: rank by pattern",
        "2 weights changed by 1 adapter",
        args="--adapter writers/peft",
    )
    for name, value in model.merge_and_unload().state_dict().items():
        tensor(name, numpy_of(value))


def pnnx_file(out):
    with tempfile.TemporaryDirectory() as work:
        torch.manual_seed(0)
        traced = torch.jit.trace(torch.nn.Linear(3, 2), torch.zeros(1, 3))
        traced.save(os.path.join(work, "m.pt"))
        subprocess.run(
            [os.path.join(os.path.dirname(sys.executable), "pnnx"), "m.pt", "inputshape=[1,3]"],
            cwd=work,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        shutil.copy(os.path.join(work, "m.pnnx.bin"), os.path.join(out, "pnnx.bin"))
    file("pnnx.bin", by("pnnx"), "a ZIP archive of raw numbers, with 0xFFFF as disk numbers", "ZIP")


def main(out):
    torchao_file(out)
    transformers_files(out)
    peft_files(out)
    pnnx_file(out)


main(sys.argv[1])
