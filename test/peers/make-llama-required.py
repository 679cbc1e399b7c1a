#!/usr/bin/env python3
"""make-llama-required.py LLAMA_CPP: write test/corpus/hf-required.json, the tensors and keys that llama.cpp's loader requires.

LLAMA_CPP is a source tree of llama.cpp, such as vendor/llama.cpp in the source package of llama-cpp-python 0.3.36. Read are the names
in llama-arch.cpp and, for each architecture of families/, the calls of create_tensor() and get_key() in src/models. A name is
required if a call requires it and none of the same architecture declares it optional: a condition around the call (a dense layer, a
layer with a state) decides whether a model has the tensor at all. Names are without layer: "blk.attn_q.weight".
"""
import glob, json, os, re, sys

here = os.path.dirname(os.path.abspath(__file__))
HELPERS = {"create_tensor_qkv": ["ATTN_Q", "ATTN_K", "ATTN_V"], "create_tensor_gate_up_exps": ["FFN_GATE_EXPS", "FFN_UP_EXPS"]}


def table(text, kind):
    return dict(re.findall(r"\{\s*LLM_%s_(\w+),\s*\"([^\"]+)\"\s*\}" % kind, text))


def calls(text, word):
    """Yields the arguments of each call, with balanced parentheses."""
    for m in re.finditer(r"\b%s\(" % word, text):
        depth, at = 1, m.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        yield text[m.end():at - 1]


def sources(models, header, struct):
    """Yields the texts of load_arch_hparams and load_arch_tensors of a model, its own or those of its base."""
    for part in ("hparams", "tensors"):
        at = struct
        while at:
            found = [m for text in models for m in re.findall(
                r"void %s::load_arch_%s\(.*?\n\}\n" % (at, part), text, re.S)]
            if found:
                yield re.sub(r"//[^\n]*", "", found[0])
                break
            base = re.search(r"struct %s : public (\w+)" % at, header)
            at = base and base.group(1)


def required(text, arch, names, keys):
    need, may, want, can = set(), set(), {"context_length", "embedding_length", "block_count"}, set()
    for args in calls(text, "create_tensor"):
        m = re.match(r"\s*tn\(LLM_TENSOR_(\w+)(?:,\s*\"(\w+)\")?", args)
        if m and "DUPLICATED" not in args:
            name = names[m.group(1)].replace("blk.%d.", "blk.") + ("." + m.group(2) if m.group(2) else "")
            (may if re.search(r"NOT_REQUIRED|kv_flags|rope_freqs_flag", args) else need).add(name)
    for word, tensors in HELPERS.items():
        for args in calls(text, word):
            for t in tensors:
                (may if "NOT_REQUIRED" in args else need).add(names[t].replace("blk.%d.", "blk.") + ".weight")
    for word in ("get_key", "get_key_or_arr"):
        for args in calls(text, word):
            m = re.match(r"LLM_KV_(\w+)", args)
            if m and keys[m.group(1)].startswith("%s."):
                (can if re.search(r",\s*(/\*.*\*/)?\s*false$", args) else want).add(keys[m.group(1)][3:])
    return {"keys": sorted(want - can), "tensors": sorted(need - may)}


def main(argv):
    if len(argv) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    src = os.path.join(argv[0], "src")
    read = lambda *path: open(os.path.join(src, *path), encoding="utf-8").read()
    arch, loader, header = read("llama-arch.cpp"), read("llama-model.cpp"), read("models", "models.h")
    models = [open(path, encoding="utf-8").read() for path in sorted(glob.glob(os.path.join(src, "models", "*.cpp")))]
    names, keys, archs = table(arch, "TENSOR"), table(arch, "KV"), {word: name for name, word in table(arch, "ARCH").items()}
    out = {}
    for path in sorted(glob.glob(os.path.join(here, "..", "..", "families", "*.family"))):
        for word in re.findall(r"^arch\s+(\S+)", open(path, encoding="utf-8").read(), re.M):
            if word in out or word not in archs:        # an image model
                continue
            struct = re.search(r"case LLM_ARCH_%s:\s*(?:case \w+:\s*)*return new (\w+)\(" % archs[word], loader).group(1)
            out[word] = required("".join(sources(models, header, struct)), word, names, keys)
    with open(os.path.join(here, "..", "corpus", "hf-required.json"), "w", encoding="utf-8") as f:
        f.write("{\n" + ",\n".join("%s: %s" % (json.dumps(word), json.dumps(out[word])) for word in sorted(out)) + "\n}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
