#!/usr/bin/env python3
"""Compare amn with other tools on the same jobs: wall time and peak memory.

    test/bench/bench_compare.py BIN [LAYERS]      `make bench-compare` calls it

Makes a Llama-shaped model with LAYERS layers (default 10; 0.5 GB in FP8, 1 GB in BF16) in a temporary folder and runs each job
three times with each tool, in turn; the table has the fastest run and the highest peak memory. A tool that is not named by its
variable is listed as not measured:

    AMN_PEERS_VENV      a virtual environment with torch, transformers, safetensors, accelerate, gguf and numpy (make peers)
    AMN_LLAMA_SOURCE    llama.cpp's source, for convert_hf_to_gguf.py (in the source package of llama-cpp-python: vendor/llama.cpp)
    AMN_LLAMA_QUANTIZE  the program llama-quantize, built from the same source
    AMN_ANAMNESIS       the program anamnesis (cargo install anamnesis --features cli,gguf)
"""
import json
import os
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import types

from bench_clock import Command, Failed

ROUNDS = 3
HIDDEN, FFN, VOCAB = 2048, 5632, 512
BLOCK = 128
HERE = os.path.dirname(os.path.abspath(__file__))

DEQUANTIZE_TRANSFORMERS = """
import sys, torch
from transformers import AutoModelForCausalLM, FineGrainedFP8Config
model = AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.bfloat16, device_map="cpu",
                                             quantization_config=FineGrainedFP8Config(dequantize=True))
model.save_pretrained(sys.argv[2])
"""
DEQUANTIZE_GGUF = """
import sys, torch
from gguf import GGUFReader
from gguf.quants import dequantize
from safetensors.torch import save_file
save_file({t.name: torch.from_numpy(dequantize(t.data, t.tensor_type).copy()).to(torch.bfloat16)
           for t in GGUFReader(sys.argv[1]).tensors}, sys.argv[2])
"""


def tensors(layers):
    """Yields name, dtype and shape."""
    yield "model.embed_tokens.weight", "BF16", (VOCAB, HIDDEN)
    for i in range(layers):
        layer = f"model.layers.{i}."
        for norm in "input_layernorm", "post_attention_layernorm":
            yield f"{layer}{norm}.weight", "BF16", (HIDDEN,)
        shapes = {f"self_attn.{p}_proj": (HIDDEN, HIDDEN) for p in "qkvo"}
        shapes.update({"mlp.gate_proj": (FFN, HIDDEN), "mlp.up_proj": (FFN, HIDDEN), "mlp.down_proj": (HIDDEN, FFN)})
        for name, (rows, cols) in shapes.items():
            yield f"{layer}{name}.weight", "F8_E4M3", (rows, cols)
            yield f"{layer}{name}.weight_scale_inv", "F32", (-(-rows // BLOCK), -(-cols // BLOCK))
    yield "model.norm.weight", "BF16", (HIDDEN,)


def contents(dtype, n, noise):
    if dtype == "F8_E4M3":
        return (noise * (n // len(noise) + 1))[:n]
    if dtype == "F32":
        return struct.pack("<f", 3e-4) * n
    return struct.pack("<H", 0x3C80) * n                # BF16: 1/64


def make_model(folder, layers):
    """Makes a Hugging Face directory: FP8 in blocks of 128 x 128, with the tokenizer of the sample model."""
    sample = os.path.join(folder, "sample")
    subprocess.run([os.path.join(HERE, "../make/examples"), sample], check=True)
    model = os.path.join(folder, "model")
    os.mkdir(model)
    for name in "tokenizer.json", "tokenizer_config.json":
        shutil.copy(os.path.join(sample, "model", name), model)
    with open(os.path.join(sample, "model", "config.json"), encoding="utf-8") as f:
        config = json.load(f)
    config.update(hidden_size=HIDDEN, intermediate_size=FFN, num_hidden_layers=layers, num_attention_heads=16,
                  num_key_value_heads=16, vocab_size=VOCAB)
    with open(os.path.join(model, "config.json"), "w", encoding="utf-8") as f:
        json.dump(config, f, indent=2)
    noise = bytes(b if b & 0x7F != 0x7F else 0 for b in os.urandom(1 << 20))
    header, at, sizes = {"__metadata__": {"format": "pt"}}, 0, {"F8_E4M3": 1, "BF16": 2, "F32": 4}
    listed = [(name, dtype, shape, shape[0] * (shape[1] if len(shape) > 1 else 1)) for name, dtype, shape in tensors(layers)]
    for name, dtype, shape, n in listed:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + n * sizes[dtype]]}
        at += n * sizes[dtype]
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(model, "model.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for _, dtype, _, n in listed:
            f.write(contents(dtype, n, noise))
    return model


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.unlink(path)


def measure(argv, outputs):
    """Returns the seconds and the peak MiB of one run, and removes what it made."""
    for path in outputs:
        remove(path)
    usage = Command(argv).once()
    if not all(os.path.exists(path) for path in outputs):
        raise Failed(f"{shlex.join(argv)}: no output")
    for path in outputs:
        remove(path)
    return usage.wall, usage.peak


def compare(job, tools):
    """Prints the rows of a job. tools: label -> (argv or None, outputs). Runs go A B C, A B C, A B C."""
    found = {}
    for _ in range(ROUNDS):
        for label, (argv, outputs) in tools.items():
            if argv:
                seconds, peak = measure(argv, outputs)
                best, most = found.get(label, (seconds, 0))
                found[label] = min(best, seconds), max(most, peak)
    base = found["amn"][0]
    for label in tools:
        if label in found:
            seconds, peak = found[label]
            print(f"| {job} | {label} | {seconds:.2f} s | {seconds / base:.1f} | {peak:.0f} MiB |", flush=True)
        else:
            print(f"| {job} | {label} | not measured | | |", flush=True)


def main():
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    tools, layers = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10
    peer = types.SimpleNamespace(**{name: os.environ.get(f"AMN_{name.upper()}") for name in (
        "peers_venv", "llama_source", "llama_quantize", "anamnesis")})
    python = peer.peers_venv and os.path.join(peer.peers_venv, "bin", "python")
    convert = python and peer.llama_source and os.path.join(peer.llama_source, "convert_hf_to_gguf.py")
    remember, forget = (os.path.join(tools, name) for name in ("amn-remember", "amn-forget"))
    with tempfile.TemporaryDirectory(prefix="amn-bench.") as folder:
        model = make_model(folder, layers)
        out = os.path.join(folder, "out")
        plain = os.path.join(folder, "plain.gguf")
        bf16 = os.path.join(folder, "bf16.gguf")
        small = os.path.join(folder, "q4_k_m.gguf")
        safetensors = os.path.join(folder, "out.safetensors")
        weights = os.path.join(model, "model.safetensors")
        subprocess.run([remember, "-q", "-o", safetensors, weights], check=True)
        whole = shutil.copy(safetensors, os.path.join(folder, "whole.safetensors"))
        print("| job | tool | time | times amn | peak memory |\n|---|---|---|---|---|")
        compare("FP8 to BF16 safetensors", {
            "amn": ([remember, "-q", "-o", safetensors, weights], [safetensors]),
            "cat, of the output": (["sh", "-c", f"cat {shlex.quote(whole)} >{shlex.quote(safetensors)}"], [safetensors]),
            "anamnesis": (peer.anamnesis and [peer.anamnesis, "remember", weights, "--to", "bf16", "-o", safetensors], [safetensors]),
            "transformers": (python and [python, "-c", DEQUANTIZE_TRANSFORMERS, model, out], [out]),
        })
        os.unlink(whole)
        to_q8 = convert and [python, convert, model, "--outtype", "q8_0", "--outfile", plain]
        compare("Hugging Face directory to Q8_0", {
            "amn": ([forget, "-q", "--scheme", "q8_0", "-o", plain, model], [plain]),
            "convert_hf_to_gguf.py": (to_q8, [plain]),
        })
        to_bf16 = convert and [python, convert, model, "--outtype", "bf16", "--outfile", bf16]
        both = to_bf16 and peer.llama_quantize and ["sh", "-c", f"{shlex.join(to_bf16)} && exec "
                                                   f"{shlex.join([peer.llama_quantize, bf16, small, 'q4_k_m', '2'])}"]
        compare("Hugging Face directory to Q4_K_M", {
            "amn": ([forget, "-q", "--scheme", "q4_k_m", "-o", small, model], [small]),
            "convert_hf_to_gguf.py, llama-quantize": (both, [small]),
        })
        remove(bf16)
        subprocess.run([forget, "-q", "--scheme", "q4_k_m", "-o", small, model], check=True)
        compare("GGUF Q4_K_M to BF16 safetensors", {
            "amn": ([remember, "-q", "-o", safetensors, small], [safetensors]),
            "anamnesis": (peer.anamnesis and [peer.anamnesis, "remember", small, "--to", "bf16", "-o", safetensors], [safetensors]),
            "gguf-py": (python and [python, "-c", DEQUANTIZE_GGUF, small, safetensors], [safetensors]),
        })


main()
