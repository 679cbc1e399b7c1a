"""peer_quantize.py BIN FOLDER: compare amn-forget with llama.cpp's own quantizer: every mix by name, on models whose layers,
heads, experts and shapes trigger its rules, with and without an importance matrix: types and bytes of all tensors, the
file type."""
import ctypes
import os
import struct
import subprocess
import sys

import gguf
import llama_cpp
import numpy

from tools import Tally, Tools

MIXES = {name[len("LLAMA_FTYPE_MOSTLY_"):].lower(): getattr(llama_cpp, name) for name in dir(llama_cpp)
         if name.startswith("LLAMA_FTYPE_MOSTLY_") and not name.endswith(("F16", "BF16"))}
NEED = {"iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s", "iq2_m", "iq3_xxs", "iq3_xs", "q2_k_s"}
MODELS = {      # layers, heads, key-value heads, experts, width, feed forward, tied, type
    "plain": (9, 4, 4, 0, 256, 256, False, "<f4"),
    "shared heads": (17, 8, 2, 0, 256, 256, False, "<f2"),
    "tied": (2, 4, 2, 0, 256, 256, True, "<f4"),
    "four experts": (2, 4, 4, 4, 256, 256, False, "<f4"),
    "eight experts": (2, 4, 4, 8, 256, 256, False, "<f4"),
    "odd rows": (2, 4, 4, 0, 288, 320, False, "<f4"),
    "narrow": (2, 4, 4, 0, 40, 256, False, "<f4"),
}


def tensors(rng, shape):
    layers, heads, kv, experts, width, feed, tied, kind = shape

    def matrix(*dims):
        return (0.05 * rng.standard_normal(dims) * numpy.exp(rng.standard_normal(dims[:-1] + (1,)))).astype(kind)

    yield "token_embd.weight", matrix(64, width)
    yield "output_norm.weight", numpy.ones(width, "<f4")
    if not tied:
        yield "output.weight", matrix(64, width)
    yield "blk.0.ssm_conv1d.weight", matrix(4, 256)
    yield "blk.0.ssm_a", matrix(16, 256)
    yield "blk.0.one_row.weight", matrix(1, 256)
    yield "blk.0.other.weight", matrix(2, 256)
    for i in range(layers):
        yield f"blk.{i}.attn_norm.weight", numpy.ones(width, "<f4")
        yield f"blk.{i}.attn_q.weight", matrix(width, width)
        yield f"blk.{i}.attn_k.weight", matrix(width * kv // heads, width)
        yield f"blk.{i}.attn_v.weight", matrix(width * kv // heads, width)
        yield f"blk.{i}.attn_output.weight", matrix(width, width)
        if experts:
            yield f"blk.{i}.ffn_gate_inp.weight", matrix(experts, width)
            yield f"blk.{i}.ffn_gate_exps.weight", matrix(experts, feed, width)
            yield f"blk.{i}.ffn_up_exps.weight", matrix(experts, feed, width)
            yield f"blk.{i}.ffn_down_exps.weight", matrix(experts, width, feed)
        else:
            yield f"blk.{i}.ffn_gate.weight", matrix(feed, width)
            yield f"blk.{i}.ffn_up.weight", matrix(feed, width)
            yield f"blk.{i}.ffn_down.weight", matrix(width, feed)


def write(path, shape, arrays):
    layers, heads, kv, experts, width, feed, _, _ = shape
    w = gguf.GGUFWriter(path, "llama")
    w.add_context_length(64)
    w.add_embedding_length(width)
    w.add_block_count(layers)
    w.add_feed_forward_length(feed)
    w.add_head_count(heads)
    w.add_head_count_kv(kv)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_rope_dimension_count(width // heads)
    if experts:
        w.add_expert_count(experts)
        w.add_expert_used_count(2)
    w.add_vocab_size(64)
    w.add_tokenizer_model("no_vocab")
    for name, array in arrays:
        w.add_tensor(name, array)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def importance(rng, arrays):
    for name, array in arrays:
        if array.ndim >= 2 and name not in ("token_embd.weight", "output.weight"):
            matrices = array.shape[0] if array.ndim == 3 else 1
            yield name, (rng.random(matrices * array.shape[-1]) ** 4 + 1e-3).astype("<f4")


def write_dat(path, weights):
    with open(path, "wb") as f:
        f.write(struct.pack("<i", len(weights)))
        for name, values in weights:
            f.write(struct.pack("<i", len(name)) + name.encode() + struct.pack("<ii", 1, len(values)) + values.tobytes())


def theirs(source, target, mix, weights, pure):
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype, params.nthread, params.pure = MIXES[mix], 1, pure
    if weights:
        kind = llama_cpp.llama_model_imatrix_data
        entries = (kind * (len(weights) + 1))()
        for e, (name, values) in zip(entries, weights):
            for field, _ in kind._fields_:
                if field == "name":
                    e.name = name.encode()
                elif field == "data":
                    e.data = values.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
                else:
                    setattr(e, field, len(values))
        params.imatrix = ctypes.cast(entries, type(params.imatrix))
    child = os.fork()           # the library ends the process for some inputs
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os._exit(llama_cpp.llama_model_quantize(source.encode(), target.encode(), ctypes.byref(params)))
    return os.waitpid(child, 0)[1] == 0


SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}


def read(path):
    """Returns {name: (type, bytes)}, file type and version. gguf's own reader does not support all types of llama.cpp."""
    raw, at = open(path, "rb").read(), 24

    def take(fmt):
        nonlocal at
        at += struct.calcsize(fmt)
        return struct.unpack_from("<" + fmt, raw, at - struct.calcsize(fmt))[0]

    def text():
        nonlocal at
        n = take("Q")
        at += n
        return raw[at - n:at].decode()

    def value(kind):
        nonlocal at
        if kind == 8:
            return text()
        if kind == 9:
            of, n = take("I"), take("Q")
            return [value(of) for _ in range(n)]
        at += SIZES[kind]
        return int.from_bytes(raw[at - SIZES[kind]:at], "little")

    count, nkeys = struct.unpack_from("<QQ", raw, 8)
    keys = {}
    for _ in range(nkeys):
        key, kind = text(), take("I")
        keys[key] = value(kind)
    info = []
    for _ in range(count):
        name, dims = text(), [take("Q") for _ in range(take("I"))]
        info.append((name, dims, take("I"), take("Q")))
    base = -(-at // 32) * 32
    ends = sorted([i[3] for i in info] + [len(raw) - base])
    return ({name: (kind, raw[base + o:base + ends[ends.index(o) + 1]].rstrip(b"\0")) for name, dims, kind, o in info},
            keys.get("general.file_type"), keys.get("general.quantization_version"))


def compare(tally, what, mine, other):
    a, b = read(mine), read(other)
    tally.check(a[1:] == b[1:], f"{what}: file type and version {a[1:]} {b[1:]}")
    wrong = [f"{n} {a[0].get(n, (-1,))[0]} {b[0][n][0]}" for n in b[0] if a[0].get(n, (-1,))[0] != b[0][n][0]]
    tally.check(not wrong and a[0].keys() == b[0].keys(), f"{what}: types: {wrong[:3]}")
    other = [n for n in b[0] if n in a[0] and a[0][n][0] == b[0][n][0] and a[0][n][1] != b[0][n][1]]
    tally.check(not other, f"{what}: bytes of {other[:3]}")


def main():
    tally, tools = Tally(), Tools()
    os.environ["GGML_NO_BACKTRACE"] = "1"
    for model, shape in MODELS.items():
        rng = numpy.random.default_rng(5)
        arrays = list(tensors(rng, shape))
        source, mine, other, dat = (tools.path(n) for n in ("in.gguf", "mine.gguf", "other.gguf", "imatrix.dat"))
        write(source, shape, arrays)
        weights = list(importance(rng, arrays))
        write_dat(dat, weights)
        for mix in sorted(MIXES if len(sys.argv) < 4 else sys.argv[3:]):
            for given in ([weights] if mix in NEED else [weights, None]):
                for pure in ((False, True) if model in ("plain", "odd rows", "narrow", "four experts") and given else (False,)):
                    what = f"{model}, {mix}{', weighed' if given else ''}{', pure' if pure else ''}"
                    ran = theirs(source, other, mix, given, pure)
                    command = [os.path.join(tools.bin, "amn-forget"), "-q", "--scheme", mix, "-o", mine, source]
                    done = subprocess.run(command + (["--pure"] if pure else []) + (["--imatrix", dat] if given else []),
                                          check=False).returncode
                    if not ran:
                        if done == 0 and model not in ("odd rows", "narrow"):
                            print("# only amn:", what)
                        continue
                    if tally.check(done == 0, f"{what}: status {done}"):
                        compare(tally, what, mine, other)
    tally.finish()


if __name__ == "__main__":
    main()
