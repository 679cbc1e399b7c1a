#!/usr/bin/env python3
"""Write small tokenizers of model directories, and their keys according to llama.cpp's convert_hf_to_gguf.py.

usage: make-hf-corpus.py LLAMA_CPP [FOLDER]

LLAMA_CPP is its source, which the source distribution of llama-cpp-python has under vendor/llama.cpp (0.3.36 was used,
with transformers 5.23, tokenizers 0.23, sentencepiece 0.2.3 and mistral_common 1.13). FOLDER is test/corpus/hf: one
folder for each tokenizer, and expected.txt with its keys in order; text and arrays are represented by the start of their
SHA-256. Tokenizers that the converter refuses, or reads in contradiction to their files, have a folder too: their line is
our own result, which this script has as `refused`.

The converter knows tokenizer.ggml.pre from a list of vocabularies, which does not have these, so the name is given to it.
We differ in two things: llama.cpp adds a BOS for some of these names if no key says whether, and if the converter writes
none, ours is false. And scores of merges that are only in tokenizer.json follow their order (SCORES). peer_tokenizers.py
shows that llama.cpp then produces the tokens of the tokenizer itself.
"""
import base64
import hashlib
import json
import os
import shutil
import struct
import sys

sys.dont_write_bytecode = True
os.environ["HF_HUB_OFFLINE"] = "1"
BOS, EOS, END = "<|begin_of_text|>", "<|eot_id|>", "<|end_of_text|>"
ENGLISH = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
REST = r"\s*[\r\n]+|\s+(?!\S)|\s+"
REGEX = {
    "llama-bpe": ENGLISH + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + REST,
    "qwen2": ENGLISH + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + REST,
}
WORDS = ["a", "b", "t", "h", "e", "\u0120", "\u010a", "th", "the", "\u0120the", "ab", "\u0120a"]
MERGES = ["t h", "th e", "\u0120 the", "a b", "\u0120 a"]
FOLDERS = {}
ORDER = ["tokenizer.ggml." + x for x in ("model", "pre", "tokens", "scores", "token_type", "merges")]
PRE = {"qwen2": "qwen2", "cl100k": "dbrx", "gpt2": "gpt-2", "wordpiece": "bert-bge", "tiktoken": "kimi-k2", "glm4": "glm4", "refact": "refact"}
ADD_BOS = "tokenizer.ggml.add_bos_token"
GPT2 = hashlib.sha256(b"gpt2").hexdigest()[:16]


def added(number, content, special=True, normalized=False):
    return {"id": number, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": normalized, "special": special}


def described(content, special=True):
    return {k: v for k, v in added(0, content, special).items() if k != "id"}


def template(tokens, single, pair):
    def element(x):
        return {"Sequence": {"id": x, "type_id": 0}} if x in "AB" else {"SpecialToken": {"id": x, "type_id": 0}}
    ids = {a["content"]: a["id"] for a in tokens}
    return {"type": "TemplateProcessing", "single": [element(x) for x in single], "pair": [element(x) for x in pair],
            "special_tokens": {x: {"id": x, "ids": [ids[x]], "tokens": [x]} for x in single + pair if x not in "AB"}}


def bpe(pre="llama-bpe"):
    """A BPE of twelve words, followed by three tokens."""
    n = len(WORDS)
    tokens = [added(n, BOS), added(n + 1, END), added(n + 2, EOS)]
    split = {"type": "Split", "pattern": {"Regex": REGEX[pre]}, "behavior": "Isolated", "invert": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return {
        "config.json": {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": n + 8},
        "tokenizer_config.json": {"bos_token": BOS, "eos_token": EOS, "chat_template": "{{ messages }}",
                                  "model_max_length": 1000000000000000019884624838656,
                                  "tokenizer_class": "PreTrainedTokenizerFast"},
        "tokenizer.json": {
            "version": "1.0", "truncation": None, "padding": None, "added_tokens": tokens, "normalizer": None,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]},
            "post_processor": {"type": "Sequence", "processors": [dict(level), template(tokens, [BOS, "A"],
                                                                                       [BOS, "A", BOS, "B"])]},
            "decoder": dict(level),
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": True,
                      "vocab": {w: i for i, w in enumerate(WORDS)}, "merges": list(MERGES)}}}


def llama_json():
    """A BPE over characters, with bytes for missing ones."""
    f = bpe()
    words = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % i for i in range(60, 66)] + list("\u2581abthe") + ["th", "the", "\u2581a"]
    n = len(words)
    model = f["tokenizer.json"]["model"]
    model.update(byte_fallback=True, ignore_merges=False, unk_token="<unk>", vocab={w: i for i, w in enumerate(words)},
                 merges=["t h", "th e", "\u2581 a"])
    tokens = [added(0, "<unk>"), added(1, "<s>"), added(2, "</s>"), added(n, "<extra>", False), added(n + 1, "<special>"),
              added(n + 2, "<|look|>", False)]
    f["tokenizer.json"].update(
        added_tokens=tokens, pre_tokenizer=None,
        normalizer={"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"}, {
            "type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]},
        decoder={"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]},
        post_processor=template(tokens, ["<s>", "A"], ["<s>", "A", "<s>", "B"]))
    f["tokenizer_config.json"] = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>",
                                  "tokenizer_class": "PreTrainedTokenizerFast"}
    f["config.json"]["vocab_size"] = n + 3
    return f


SCORES = {"th": -0.0, "the": -1.0, "\u2581a": -2.0}      # of the three merges of llama_json()


def with_scores(line, files):
    """The converter writes one score for all, so llama.cpp does not know what to merge first."""
    t = files["tokenizer.json"]
    texts = list(t["model"]["vocab"]) + [a["content"] for a in t["added_tokens"] if a["content"] not in t["model"]["vocab"]]
    raw = struct.pack("<%df" % len(texts), *(SCORES.get(x, -1000.0) for x in texts))
    key, kind, n, _ = line.split(" ")
    return " ".join([key, kind, n, hashlib.sha256(raw).hexdigest()[:16]])


def wordpiece():
    """Beginnings and continuations of words, with the tokens of BERT."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "a", "##b", "##", "#", "##th", "\u00e9", "[unused0]", "\u2581x"]
    n = len(words)
    tokens = [added(i, w) for i, w in enumerate(words[:5])] + [added(n, "<tool>", False), added(n + 1, "##new", False)]
    f = bpe()
    f["config.json"] = {"architectures": ["BertModel"], "model_type": "bert", "vocab_size": n + 4, "type_vocab_size": 2,
                        "pad_token_id": 0}
    f["tokenizer_config.json"] = {"cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]", "pad_token": "[PAD]",
                                  "mask_token": "[MASK]", "tokenizer_class": "BertTokenizer"}
    f["tokenizer.json"].update(
        added_tokens=tokens, pre_tokenizer={"type": "BertPreTokenizer"},
        normalizer={"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
        decoder={"type": "WordPiece", "prefix": "##", "cleanup": True},
        post_processor=template(tokens, ["[CLS]", "A", "[SEP]"], ["[CLS]", "A", "[SEP]", "B", "[SEP]"]),
        model={"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
               "vocab": {w: i for i, w in enumerate(words)}})
    return f


def gemma4():
    """The BPE of llama_json(), with Gemma's roles and tags."""
    f = llama_json()
    model = f["tokenizer.json"]["model"]
    words = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "<|channel>", "<channel|>", "<|turn>", '<|"|>'] + list(model["vocab"])[3:]
    n = len(words)
    model.update(vocab={w: i for i, w in enumerate(words)})
    tokens = [added(i, w) for i, w in enumerate(words[:9])] + [added(9, "<0x3C>", False), added(n, "<|tool_call>", False),
                                                              added(n + 1, "<extra>", False), added(n + 2, "<image>")]
    f["tokenizer.json"].update(added_tokens=tokens, post_processor=template(tokens, ["<bos>", "A"], ["<bos>", "A", "<bos>", "B"]))
    f["tokenizer_config.json"] = {"bos_token": "<bos>", "eos_token": "<eos>", "unk_token": "<unk>", "tokenizer_class": "GemmaTokenizer",
                                  "image_token": "<image>"}
    f["config.json"] = {"architectures": ["Gemma4ForCausalLM"], "model_type": "gemma4_text", "vocab_size": n + 3}
    return f


def tiktoken():
    """A BPE over bytes as lines of base64 and rank; one token is no merge of two others."""
    words = [bytes([i]) for i in range(256)] + [b"th", b"he", b"the", b" the", b"  ", b"    ", b"\xc3\xa9", b"xyz", b"thethe"]
    n = len(words)
    return {"config.json": {"architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "vocab_size": n + 6,
                            "bos_token_id": n, "eos_token_id": n + 1},
            "tiktoken.model": b"".join(base64.b64encode(w) + b" %d\n" % i for i, w in enumerate(words)),
            "tokenizer_config.json": {"bos_token": "[BOS]", "eos_token": "[EOS]", "chat_template": "{{ messages }}",
                                      "tokenizer_class": "TikTokenTokenizer",
                                      "added_tokens_decoder": {str(n): described("[BOS]"), str(n + 1): described("[EOS]"),
                                                               str(n + 3): described("<|im_user|>", False)}}}


def two_files(class_name="Qwen2Tokenizer", architecture="Qwen2ForCausalLM", model_type="qwen2"):
    """vocab.json and merges.txt, without tokenizer.json."""
    n = len(WORDS)
    return {"config.json": {"architectures": [architecture], "model_type": model_type, "vocab_size": n + 8, "eos_token_id": n},
            "vocab.json": {w: i for i, w in enumerate(WORDS)}, "merges.txt": ("#version: 0.2\n" + "\n".join(MERGES) + "\n").encode(),
            "tokenizer_config.json": {"tokenizer_class": class_name, "eos_token": END, "chat_template": "{{ messages }}",
                                      "added_tokens_decoder": {str(n): described("<|endoftext|>"), str(n + 1): described(END),
                                                               str(n + 2): described("<tool>", False)}}}


def tekken(version="v3", special=None, nspecial=24):
    """A BPE over bytes in tiktoken's form: tokens in the order of their ranks."""
    words = [bytes([i]) for i in range(256)] + [b"th", b"he", b"the", b" the", b"  ", b"    ", b"\xc3\xa9"]
    vocab = [{"rank": i, "token_bytes": base64.b64encode(w).decode(), "token_str": w.decode(errors="replace")} for i, w in enumerate(words)]
    n = nspecial + len(words) - 1
    f = {"config": {"pattern": "x+", "num_vocab_tokens": len(words), "default_vocab_size": n, "default_num_special_tokens": nspecial,
                    "version": version}, "vocab": vocab}
    if special:
        f["special_tokens"] = [{"rank": i, "token_str": x, "is_control": True} for i, x in enumerate(special)]
    return {"config.json": {"architectures": ["MistralForCausalLM"], "model_type": "mistral", "vocab_size": n}, "tekken.json": f}


def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)


def field(number, wire, value):
    if wire == 2:
        value = varint(len(value)) + value
    return varint(number << 3 | wire) + (varint(value) if wire == 0 else value)


def pieces(rows):
    """A model of sentencepiece: (text, score, type)."""
    out = b""
    for text, score, kind in rows:
        one = field(1, 2, text.encode()) + field(2, 5, struct.pack("<f", score)) + (field(3, 0, kind) if kind != 1 else b"")
        out += field(1, 2, one)
    trainer = field(3, 0, 2) + field(4, 0, len(rows)) + field(35, 0, int(any(row[2] == 6 for row in rows)))
    return out + field(2, 2, trainer) + field(3, 2, field(1, 2, b"identity") + field(3, 0, 1) + field(5, 0, 1))


def spm(architecture="MistralForCausalLM", model_type="mistral", more=8, nbytes=0):
    rows = [("<unk>", 0, 2), ("<s>", 0, 3), ("</s>", 0, 3)] + [("<0x%02X>" % i, 0, 6) for i in range(nbytes)]
    rows += [(c, -1.5 * i, 1) for i, c in enumerate(["\u2581", "t", "h", "e", "th", "\u2581th", "\u2581\u2581"])]
    rows += [("<user>", 0, 4), ("<gone>", 0, 5)]
    n = len(rows)
    return {"config.json": {"architectures": [architecture], "model_type": model_type, "vocab_size": n + more,
                            "bos_token_id": 1, "eos_token_id": 2},
            "tokenizer.model": pieces(rows),
            "tokenizer_config.json": {"add_bos_token": True, "add_eos_token": False, "bos_token": "<s>", "eos_token": "</s>",
                                      "chat_template": "{{ messages }}", "tokenizer_class": "LlamaTokenizer",
                                      "added_tokens_decoder": {"0": described("<unk>"), "1": described("<s>"),
                                                               "2": described("</s>")}}}, n


def folder(name, base=bpe, refused=None):
    """Makes a folder: the function changes its files, its tokenizer.json and tokenizer_config.json."""
    def make(change):
        files = base()
        change(files, files.get("tokenizer.json"), files.get("tokenizer_config.json"))
        FOLDERS[name] = files, refused
        return change
    return make


def undescribed(f, t, c):
    c.pop("added_tokens_decoder", None)


folder("llama3")(lambda f, t, c: None)
folder("llama-json", llama_json)(lambda f, t, c: None)
N = len(WORDS)
B, A = BOS, "A"


@folder("qwen2-null-bos", lambda: bpe("qwen2"))
def _(f, t, c):
    f["config.json"].update(architectures=["Qwen2ForCausalLM"], model_type="qwen2", bos_token_id=N, eos_token_id=[N, N + 2])
    t["post_processor"] = t["decoder"]
    c.update(bos_token=None, unk_token=None, pad_token=END, add_bos_token=False)


@folder("new-roles")                # in this order after all others: unk, pad, then those of the list
def _(f, t, c):
    c.update(pad_token="<|new|>", unk_token="<|new2|>", additional_special_tokens=["<|x|>", "<y>"])


@folder("role-of-a-plain-token")
def _(f, t, c):
    t["added_tokens"].append(added(N + 3, "<plain>", False))
    c["pad_token"] = "<plain>"


@folder("listed-plain-token")       # has no role: not special
def _(f, t, c):
    t["added_tokens"].append(added(N + 3, "<plain>", False))
    c["additional_special_tokens"] = ["<plain>"]


@folder("named-extra-tokens")
def _(f, t, c):
    t["added_tokens"].append(added(N + 3, "<plain>", False))
    c["extra_special_tokens"] = {"image_token": "<plain>", "other": "<z>"}


@folder("roles-of-one-model")       # first the members with these names, then those of the object, then the list
def _(f, t, c):
    c.update(boi_token="<boi>", x_token="th", extra_special_tokens={"y_token": "<y>"}, additional_special_tokens=["<l>"])


@folder("qwen2-other-class", lambda: bpe("qwen2"))     # its own class counts, and has defaults
def _(f, t, c):
    f["config.json"].update(architectures=["Qwen2ForCausalLM"], model_type="qwen2")
    c.update(tokenizer_class="LlamaTokenizerFast", additional_special_tokens=["<plain>"])
    t["added_tokens"].append(added(N + 3, "<plain>", False))
    t["post_processor"] = t["decoder"]


@folder("role-of-a-word")           # goes through the decoder: U+0120 becomes a space
def _(f, t, c):
    c.update(unk_token="th", additional_special_tokens=["\u0120the"])


@folder("described-otherwise")
def _(f, t, c):
    t["added_tokens"] += [added(N + 3, "<p1>", False), added(N + 4, "<p2>", True)]
    c["added_tokens_decoder"] = {str(N + 3): described("<p1>"), str(N + 4): described("<p2>", False),
                                 str(N + 5): described("<fresh>", False)}


@folder("decoded-tokens")           # letters of the alphabet that are not text as bytes
def _(f, t, c):
    t["added_tokens"] += [added(N + 3, "<\u00e9>", False), added(N + 4, "\u00c3\u00a9", False), added(N + 5, "\u00e9", False, True),
                          added(N + 6, "\u00f0\u0141\u013a\u00e2", True)]


@folder("marks-and-looks")
def _(f, t, c):
    f["config.json"]["vocab_size"] = N + 12
    for i, x in enumerate(["\u2581\u2581", "a\u2581b", "<unused7>", "<pad>", "<|q|>", "<\uff5cq\uff5c>", "[@BOS@]", "<2mass>"]):
        t["added_tokens"].append(added(N + 3 + i, x, False, i % 2 == 0))


@folder("word-that-is-added")
def _(f, t, c):
    t["added_tokens"].insert(0, added(7, "th", False))


@folder("hole")
def _(f, t, c):
    t["model"]["vocab"]["\u0120a"] = N + 5
    for i, a in enumerate(t["added_tokens"]):
        a["id"] = N + i


@folder("merges-as-pairs")
def _(f, t, c):
    t["model"]["vocab"]["a b"] = N - 1
    del t["model"]["vocab"]["\u0120a"]
    t["model"]["vocab"][" b"] = t["model"]["vocab"].pop("ab")
    t["model"]["merges"] = [x.split(" ") for x in MERGES[:3]] + [["a", " b"]]


@folder("merges-txt")
def _(f, t, c):
    f["merges.txt"] = ("#version: 0.2\r\n" + "\n".join(MERGES) + "\n\n x y z\nq  \n t\u00a0h \r\n").encode()
    t["model"]["merges"] = []


@folder("normalizers")
def _(f, t, c):
    t["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}, {"type": "StripAccents"}]}


@folder("bert-normalizer")
def _(f, t, c):
    t["normalizer"] = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                       "lowercase": False}


@folder("cls-and-sep")
def _(f, t, c):
    c.update(cls_token=END, sep_token=END, mask_token=EOS, add_sep_token=True, add_cls_token=True)
    t["post_processor"] = None


@folder("cls-for-bos")
def _(f, t, c):
    c.update(cls_token=END, sep_token=END, add_eos_token=True, add_bos_token=False)
    del c["bos_token"], c["eos_token"]
    t["post_processor"] = None


@folder("roberta")
def _(f, t, c):
    t["post_processor"] = {"type": "RobertaProcessing", "sep": [EOS, N + 2], "cls": [BOS, N], "trim_offsets": True,
                           "add_prefix_space": False}
    del c["bos_token"]


@folder("ids-of-config")
def _(f, t, c):
    del c["bos_token"], c["eos_token"]
    t["post_processor"] = None
    f["config.json"].update(eos_token_id=N + 2, pad_token_id=99999, sep_token_id=3, unk_token_id=None, cls_token_id=4,
                            mask_token_id=5, eot_token_id=6)


for number, (first, last, sep, single, pair) in enumerate([
        (B, EOS, None, [B, A, EOS], [B, A, EOS, "B", EOS]), (None, None, None, [B, A, EOS], [B, A, EOS, "B", EOS]),
        (END, END, None, [B, A, EOS], [B, A, EOS, EOS, "B", EOS]), (B, EOS, END, [B, A], [B, A, EOS, "B"]),
        (B, EOS, None, [A], [A, EOS, "B"]), (B, None, END, [A, EOS], [A, EOS, "B", EOS]),
        (None, END, None, [B, A], [B, A, EOS, END, "B"])]):
    @folder("template-%d" % (number + 1))
    def _(f, t, c):
        t["post_processor"] = template(t["added_tokens"], single, pair)
        for role, token in (("bos_token", first), ("eos_token", last), ("sep_token", sep)):
            c.pop(role, None)
            if token:
                c[role] = token


@folder("template-without-config")
def _(f, t, c):
    t["post_processor"] = template(t["added_tokens"], [B, A, EOS], [B, A, EOS, "B", EOS])
    del f["tokenizer_config.json"]


@folder("template-with-empty-config")
def _(f, t, c):
    t["post_processor"] = template(t["added_tokens"], [B, A, EOS], [B, A, EOS, "B", EOS])
    f["chat_template.jinja"] = b"x"
    c.clear()


@folder("chat-null")                # and therefore not that of the file
def _(f, t, c):
    c["chat_template"] = None
    f["chat_template.jinja"] = b"x"


@folder("chat-jinja")
def _(f, t, c):
    del c["chat_template"]
    f["chat_template.jinja"] = b"a\r\nb\rc\n\n\rd"


@folder("chat-json")
def _(f, t, c):
    del c["chat_template"]
    f["chat_template.json"] = {"chat_template": "q\n\u00e9"}


@folder("chat-list")
def _(f, t, c):
    c["chat_template"] = [{"name": "tool use\u00e9!", "template": "T"}, {"name": "default", "template": "D"},
                          {"name": "", "template": "n"}]


@folder("chat-files")               # those of a folder, with their names
def _(f, t, c):
    del c["chat_template"]
    f["chat_template.jinja"] = b"D"
    f["additional_chat_templates/tool-use.jinja"] = b"T\r\n"


@folder("chat-files-and-config")    # takes precedence
def _(f, t, c):
    f["chat_template.jinja"] = b"D"
    f["additional_chat_templates/rag.jinja"] = b"T"


@folder("chat-files-default")       # that of the folder is the last one with this name
def _(f, t, c):
    del c["chat_template"]
    f["chat_template.jinja"] = b"D"
    f["additional_chat_templates/default.jinja"] = b"E"


@folder("chat-files-alone")         # are not read
def _(f, t, c):
    del c["chat_template"]
    f["additional_chat_templates/rag.jinja"] = b"T"


@folder("bos-of-the-name")          # nothing mentions BOS: llama.cpp would add one for this name
def _(f, t, c):
    t["post_processor"] = None


@folder("bos-by-config")
def _(f, t, c):
    t["post_processor"] = None
    c["add_bos_token"] = True


@folder("cl100k")                   # the steps of llama-bpe, and merges count
def _(f, t, c):
    t["model"]["ignore_merges"] = False
    t["post_processor"] = None


@folder("code-llama")               # with this size one more token has a role
def _(f, t, c):
    f["config.json"]["vocab_size"] = 32016


@folder("granite")                  # with this size there is no BOS, whatever the files contain
def _(f, t, c):
    f["config.json"]["vocab_size"] = 49152


@folder("granite-spm", lambda: spm("LlamaForCausalLM", "llama")[0])
def _(f, t, c):
    f["config.json"]["vocab_size"] = 49152


NAMED = ["</s>", "<s>", "<unk>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]",
         "[TOOL_CALLS]", "[IMG]", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]",
         "[TOOL_CONTENT]", "<pad>"]
folder("tekken", tekken)(lambda f, t, c: None)
folder("tekken-named", lambda: tekken("v7", NAMED, 22))(lambda f, t, c: None)
folder("tekken-and-pieces", lambda: {**spm()[0], **tekken("v7", NAMED)})(lambda f, t, c: None)


folder("qwen2-two-files", two_files)(lambda f, t, c: None)
folder("gpt2-two-files", lambda: two_files("GPT2Tokenizer", "LlamaForCausalLM", "llama"))(lambda f, t, c: None)


@folder("qwen2-two-files-added", two_files)     # in the order of their ids
def _(f, t, c):
    undescribed(f, t, c)
    f["added_tokens.json"] = {"\u0120q": N + 2, END: N + 1, "\u00e9": N + 3, "<|endoftext|>": N}


@folder("space-prefix")
def _(f, t, c):
    c["add_prefix_space"] = True


@folder("json-roles", llama_json)
def _(f, t, c):
    c.update(pad_token="<extra>", additional_special_tokens=["<special>", "th"])


folder("spm-bytes", lambda: spm(nbytes=256)[0])(lambda f, t, c: None)


@folder("spm", lambda: spm()[0])
def _(f, t, c):
    n = spm()[1]
    f["added_tokens.json"] = {"<extra>": n, "far": 5000, "\u2581\u2581x": n + 1}
    c["added_tokens_decoder"].update({str(n + 2): described("a\u2581b", False), "9999": described("far"),
                                      str(n + 3): described("<|x|>", False)})
    c["add_prefix_space"] = True


@folder("spm-fewer", lambda: spm(more=-3)[0])
def _(f, t, c):
    pass


@folder("spm-and-json", lambda: spm()[0])
def _(f, t, c):
    n = spm()[1]
    f["tokenizer.json"] = bpe()["tokenizer.json"]
    f["tokenizer.json"].update(added_tokens=[added(1, "<s>"), added(2, "</s>"), added(500, "<|far|>")], post_processor=None)
    c.update(pad_token="<|far|>", sep_token={"content": "</s>"}, bos_token=dict(described("<s>"), __type="AddedToken"))


@folder("spm-gemma", lambda: spm("Gemma2ForCausalLM", "gemma2")[0])
def _(f, t, c):
    c["added_tokens_decoder"]["9"] = described("\u2581\u2581", False)


@folder("spm-phi3", lambda: spm("Phi3ForCausalLM", "phi3")[0])
def _(f, t, c):
    n = spm()[1]
    f["tokenizer.json"] = bpe()["tokenizer.json"]
    f["tokenizer.json"].update(added_tokens=[added(1, "<s>"), added(3, "q\u2581z", False), added(n, "<|pp|>", False)])
    c["added_tokens_decoder"][str(n + 1)] = described("<|un\u2581special|>", False)
    f["config.json"]["pad_token_id"] = 0


# --- other kinds of tokenizers

folder("wordpiece", wordpiece)(lambda f, t, c: None)
folder("gemma4", gemma4)(lambda f, t, c: None)
folder("tiktoken", tiktoken)(lambda f, t, c: None)


@folder("wordpiece-cased", wordpiece)
def _(f, t, c):
    t["normalizer"].update(lowercase=False, strip_accents=True)
    t["post_processor"] = {"type": "RobertaProcessing", "cls": ["[CLS]", 2], "sep": ["[SEP]", 3], "trim_offsets": True, "add_prefix_space": False}
    del c["cls_token"], c["mask_token"]
    del f["config.json"]["type_vocab_size"]


@folder("glm4", lambda: bpe())
def _(f, t, c):
    n = len(WORDS)
    f["config.json"].update(architectures=["Glm4MoeForCausalLM"], model_type="glm4_moe", eos_token_id=[n + 1, n + 2])
    t["added_tokens"] = [added(n + i, x) for i, x in enumerate(("<|endoftext|>", "[MASK]", "[gMASK]", "<|user|>", "<|observation|>"))]
    t["post_processor"] = None
    f["tokenizer_config.json"] = {"eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>", "tokenizer_class": "PreTrainedTokenizerFast"}


@folder("refact", lambda: bpe())
def _(f, t, c):
    f["config.json"].update(architectures=["GraniteForCausalLM"], model_type="granite")
    t["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, {
        "type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}]}


@folder("no-padding", lambda: bpe())
def _(f, t, c):
    f["config.json"].update(architectures=["HunYuanDenseV1ForCausalLM"], model_type="hunyuan_v1_dense", pad_token_id=-1,
                            eod_token_id=len(WORDS) + 2)
    c["pad_token"] = END


def refused(name, word, change, base=bpe):
    folder(name, base, word)(change)


def set_id(f, t, c):
    t["added_tokens"][2]["id"] = N + 4


refused("refused-class", "unsupported: vocab.json without tokenizer.json is supported only for Qwen2Tokenizer and GPT2Tokenizer; for "
        "others, name the pre-tokenizer with --pre", lambda f, t, c: None, lambda: two_files("PreTrainedTokenizerFast", "LlamaForCausalLM", "llama"))
refused("refused-vocab-alone", "unsupported: no tokenizer: expected tokenizer.json, or vocab.json and merges.txt; "
        "--no-tokenizer converts without it",
        lambda f, t, c: f.pop("merges.txt"), two_files)
refused("refused-tekken", "malformed: tekken.json: a token in vocab is not the concatenation of two others",
        lambda f, t, c: f["tekken.json"]["vocab"][258].update(token_bytes="cXE="), tekken)
refused("refused-tekken-rank", "malformed: tekken.json: the ranks in vocab are not consecutive from 0",
        lambda f, t, c: f["tekken.json"]["vocab"][258].update(rank=3), tekken)
refused("refused-tekken-base64", "malformed: tekken.json: token_bytes is not base64",
        lambda f, t, c: f["tekken.json"]["vocab"][7].update(token_bytes="A*=="), tekken)
refused("refused-tekken-few", "malformed: tekken.json: vocab has fewer tokens than config declares",
        lambda f, t, c: f["tekken.json"]["config"].update(default_vocab_size=999) or f["config.json"].update(vocab_size=999), tekken)
refused("refused-tekken-roles", "malformed: tekken.json: missing special token: <s>, </s> or <unk>", lambda f, t, c: None,
        lambda: tekken("v7", ["<unk>", "<s>", "<pad>"]))
refused("refused-gap", 'malformed: tokenizer.json: token "%s" has id 16, expected 14 (the next free id)' % EOS, set_id)
refused("refused-taken", 'malformed: tokenizer.json: token "<t>" has id 3, expected 12 (the next free id)',
        lambda f, t, c: t["added_tokens"].insert(0, added(3, "<t>")))
refused("refused-small", 'malformed: tokenizer.json: token "%s" has id 14, but config.json declares vocab_size 14' % EOS,
        lambda f, t, c: f["config.json"].update(vocab_size=N + 2))
refused("refused-added-json", 'malformed: added_tokens.json: token "<new>" is missing or has another id in tokenizer.json',
        lambda f, t, c: f.update({"added_tokens.json": {EOS: N + 2, "<new>": N + 3}}))
refused("refused-other-id", 'malformed: tokenizer_config.json: token "%s" has id 15, expected 14 (its id elsewhere)' % EOS,
        lambda f, t, c: c.update(added_tokens_decoder={str(N + 3): described(EOS)}))


# --- the reference

def reference(root):
    sys.path[:0] = [root, os.path.join(root, "gguf-py")]
    import gguf
    import conversion
    from conversion.base import ModelBase, TextModel
    from pathlib import Path
    conversion.load_all_models()
    names = {"STRING": "str", "UINT32": "u32", "INT32": "i32", "FLOAT32": "f32", "BOOL": "bool"}

    class Kimi:
        """What its own Python file makes of tiktoken.model."""
        def __init__(self, path):
            with open(os.path.join(path, "tiktoken.model"), "rb") as f:
                ranks = {base64.b64decode(text): int(rank) for text, rank in (line.split() for line in f)}
            with open(os.path.join(path, "tokenizer_config.json"), encoding="utf-8") as f:
                self.special_tokens = {a["content"]: int(i) for i, a in json.load(f)["added_tokens_decoder"].items()}
            self.model = type("Model", (), {"_mergeable_ranks": ranks})

    from transformers import AutoTokenizer
    load = AutoTokenizer.from_pretrained
    AutoTokenizer.from_pretrained = lambda path, *a, **k: (Kimi(path) if os.path.exists(os.path.join(path, "tiktoken.model"))
                                                           else load(path, *a, **k))

    def lines(path, pre):
        TextModel.get_vocab_base_pre = lambda self, tokenizer: pre
        config = json.load(open(os.path.join(path, "config.json")))
        kind = ModelBase.from_model_architecture(config["architectures"][0])
        model = kind.__new__(kind)
        model.dir_model, model.hparams = Path(path), ModelBase.load_hparams(Path(path), False)
        model.is_mistral_format = model.is_eagle3 = model.is_rerank = False
        model.origin_hf_arch = config["architectures"][0]
        model.gguf_writer = writer = gguf.GGUFWriter(None, "none")
        model.set_vocab()
        for key, value in writer.kv_data[0].items():
            if not key.startswith("tokenizer.") or key == "tokenizer.ggml.token_type_count":
                continue
            raw = writer._pack_val(value.value, value.type, False, value.sub_type)
            if value.type == gguf.GGUFValueType.ARRAY:
                of, n = struct.unpack_from("<IQ", raw)
                yield "%s [%s] %d %s" % (key, names[gguf.GGUFValueType(of).name], n, hashlib.sha256(raw[12:]).hexdigest()[:16])
            elif value.type == gguf.GGUFValueType.STRING:
                yield "%s str %d %s" % (key, len(raw) - 8, hashlib.sha256(raw[8:]).hexdigest()[:16])
            else:
                yield "%s %s %s" % (key, names[value.type.name], str(value.value).lower())
    return lines


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    out = sys.argv[2] if len(sys.argv) == 3 else os.path.join(os.path.dirname(__file__), "..", "corpus", "hf")
    shutil.rmtree(out, ignore_errors=True)
    lines = reference(sys.argv[1])
    text = ""
    for name, (files, why) in sorted(FOLDERS.items()):
        path = os.path.join(out, name)
        os.makedirs(path)
        for file, content in files.items():
            raw = content if isinstance(content, bytes) else json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
            os.makedirs(os.path.dirname(os.path.join(path, file)), exist_ok=True)
            with open(os.path.join(path, file), "wb") as f:
                f.write(raw)
        pre = next((p for start, p in PRE.items() if name.startswith(start)), "llama-bpe")
        made = ["error " + why] if why else list(lines(path, pre))
        if "tekken.json" in files and not why:       # ours have the order of other tokenizers, and scores that are F32 zeros
            made = [line.replace(".scores [i32]", ".scores [f32]") for line in made]
            made.sort(key=lambda line: ORDER.index(line.split(" ")[0]) if line.split(" ")[0] in ORDER else len(ORDER))
        made = [with_scores(line, files) if ".scores " in line and name in ("llama-json", "json-roles") else line for line in made]
        if pre == "llama-bpe" and made[0].endswith(GPT2) and not any(ADD_BOS in line for line in made):
            made.append(ADD_BOS + " bool false")
        text += "= %s\n" % name + "".join(line + "\n" for line in made)
    with open(os.path.join(out, "expected.txt"), "w") as f:
        f.write(text)


main()
