"""peer_llama.py BIN FOLDER: load the output of amn-convert for a GGUF model with llama.cpp, and compare its logits with
those of the model itself, or of one whose weights gguf has decoded, bit for bit."""
import json
import os
import subprocess
import sys

import gguf
import llama_cpp
import numpy

from tools import Tally, Tools

Q = gguf.GGMLQuantizationType
VOCAB, WIDTH, HEADS, LAYERS, FEED = 64, 256, 4, 2, 512
PROMPT = [1, 5, 9, 20, 3]


def q4_k(rng, shape):
    """Random codes, which gguf can decode but not encode: | d f16 | dmin f16 | scales 12 | codes 128 |"""
    blocks = rng.integers(0, 256, (shape[0], shape[1] // 256, 144), dtype="u1")
    blocks[:, :, 0:2] = numpy.frombuffer(numpy.float16(2e-4).tobytes(), "u1")
    blocks[:, :, 2:4] = numpy.frombuffer(numpy.float16(1e-3).tobytes(), "u1")
    return blocks.reshape(shape[0], -1)


def weights(rng, kinds):
    """Yields (name, array as in a file, type): the matrices take the types in turn."""
    count = 0

    def matrix(name, *shape):
        nonlocal count
        kind = kinds[count % len(kinds)]
        count += 1
        if kind == Q.Q4_K:
            return name, q4_k(rng, shape), kind
        array = (0.05 * rng.standard_normal(shape)).astype("<f4")
        return name, {Q.F32: lambda: array, Q.F16: lambda: array.astype("<f2")}.get(
            kind, lambda: gguf.quants.quantize(array, kind))(), kind

    def norm(name):
        return name, (1 + 0.1 * rng.standard_normal(WIDTH)).astype("<f4"), Q.F32

    yield matrix("token_embd.weight", VOCAB, WIDTH)
    yield norm("output_norm.weight")
    yield matrix("output.weight", VOCAB, WIDTH)
    for i in range(LAYERS):
        yield norm(f"blk.{i}.attn_norm.weight")
        yield norm(f"blk.{i}.ffn_norm.weight")
        for name in "attn_q", "attn_k", "attn_v", "attn_output":
            yield matrix(f"blk.{i}.{name}.weight", WIDTH, WIDTH)
        yield matrix(f"blk.{i}.ffn_gate.weight", FEED, WIDTH)
        yield matrix(f"blk.{i}.ffn_up.weight", FEED, WIDTH)
        yield matrix(f"blk.{i}.ffn_down.weight", WIDTH, FEED)


def write(path, tensors, file_type, quantized, alignment=None):
    w = gguf.GGUFWriter(path, "llama")
    if alignment:
        w.add_custom_alignment(alignment)
    w.add_name("tiny")
    w.add_context_length(256)
    w.add_embedding_length(WIDTH)
    w.add_block_count(LAYERS)
    w.add_feed_forward_length(FEED)
    w.add_head_count(HEADS)
    w.add_head_count_kv(HEADS)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_rope_dimension_count(WIDTH // HEADS)
    w.add_vocab_size(VOCAB)
    w.add_file_type(file_type)
    w.add_tokenizer_model("llama")
    w.add_token_list([b"<unk>", b"<s>", b"</s>"] + [b"t%d" % i for i in range(3, VOCAB)])
    w.add_token_scores([-float(i) for i in range(VOCAB)])
    w.add_token_types([2, 3, 3] + [1] * (VOCAB - 3))
    w.add_bos_token_id(1)
    w.add_eos_token_id(2)
    w.add_unk_token_id(0)
    if quantized:
        w.add_quantization_version(2)
    for name, array, kind in tensors:
        w.add_tensor(name, array, raw_dtype=kind)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def decoded(tensors, target):
    for name, array, kind in tensors:
        if kind in (Q.F32, Q.F16):
            yield name, array, kind
        else:
            yield name, gguf.quants.dequantize(array, kind).astype("<f4" if target == Q.F32 else "<f2"), target


def logits(path):
    """Returns all logits of a prompt, and the metadata as llama.cpp reads them; None, None if it does not load."""
    try:
        model = llama_cpp.Llama(path, n_ctx=256, n_threads=1, logits_all=True, verbose=False)
    except ValueError:
        return None, None
    model.eval(PROMPT)
    got = numpy.array(model.scores[:len(PROMPT)]), dict(model.metadata)
    model.close()
    return got


def convert(tools, source, target, *options):
    tool = os.path.join(tools.bin, "amn-convert")
    return subprocess.run([tool, "-q", *options, "-o", target, source], check=False).returncode == 0


def check(tally, path, want, what, **keys):
    got, metadata = logits(path)
    if tally.check(got is not None, f"{what}: loads"):
        tally.check(numpy.isfinite(got).all() and got.tobytes() == want.tobytes(), f"{what}: logits")
        for name, value in keys.items():
            tally.check(metadata.get("general." + name) == value, f"{what}: general.{name}")


def check_model(tally, tools, what, kinds, file_type):
    quantized = any(k not in (Q.F32, Q.F16) for k in kinds)
    tensors = list(weights(numpy.random.default_rng(12), kinds))
    source, target = tools.path("model.gguf"), tools.path("out.gguf")
    write(source, tensors, file_type, quantized)
    want, _ = logits(source)
    if not tally.check(want is not None and numpy.ptp(want) > 0, f"{what}: the model itself"):
        return
    for to, word, number in ((Q.F32, "f32", "0"), (Q.F16, "f16", "1")):
        tally.check(convert(tools, source, target, "--dtype", word), f"{what} as {word}")
        if quantized:
            peer = tools.path("peer.gguf")
            write(peer, decoded(tensors, to), int(number), False)
            want, _ = logits(peer)
        check(tally, target, want, f"{what} as {word}", name="tiny", file_type=number if quantized else str(file_type),
              quantization_version=None)
    middle = tools.path("middle.safetensors")
    tally.check(convert(tools, source, middle, "--dtype", "f16") and convert(tools, middle, target),
                f"{what}: by safetensors")
    check(tally, target, want, f"{what}: by safetensors", name="tiny")


def check_keys(tally, tools):
    """Given keys, including an alignment; and one of the input that is not kept."""
    tensors = list(weights(numpy.random.default_rng(12), [Q.F16]))
    source, target, file = tools.path("aligned.gguf"), tools.path("out.gguf"), tools.path("keys.json")
    write(source, tensors, 1, False, alignment=1024)
    want, _ = logits(source)
    tally.check(want is not None and convert(tools, source, target), "alignment: converted")
    check(tally, target, want, "alignment of the input", alignment=None, file_type="1")
    with open(file, "w", encoding="utf-8") as f:
        json.dump({"general.alignment": 64, "llama.attention.layer_norm_rms_epsilon": 1e-5, "llama.context_length": 512,
                   "tokenizer.ggml.token_type": [2, 3, 3] + [1] * (VOCAB - 3)}, f)
    tally.check(convert(tools, source, target, "--gguf-metadata", file, "--gguf-kv", "general.name=other"), "keys: converted")
    check(tally, target, want, "keys", alignment="64", name="other")


def main():
    tally, tools = Tally(), Tools()
    check_model(tally, tools, "F32", [Q.F32], 0)
    check_model(tally, tools, "F16", [Q.F16], 1)
    check_model(tally, tools, "Q8_0", [Q.Q8_0], 7)
    check_model(tally, tools, "Q4_K and others", [Q.Q4_K, Q.Q8_0, Q.F16, Q.Q5_1], 15)
    check_keys(tally, tools)
    tally.finish()


sys.exit(main())
