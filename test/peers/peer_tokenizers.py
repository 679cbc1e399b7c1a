"""peer_tokenizers.py BIN FOLDER: tokenize a page of mixed text with tokenizers that have the rules of real ones, made from
scratch. llama.cpp must give the same ids for a file written by amn-convert as the tokenizer's own library, with and
without special tokens around the text. NAME=one of them: that one alone, and each difference in full."""
import base64
import json
import os
import struct
import subprocess
import sys
import unicodedata

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from texts import TAGGED, TEXTS
from tools import Tally, Tools

HERE = os.path.dirname(os.path.abspath(__file__))
LLAMA_PYTHON = os.path.dirname(os.path.dirname(os.path.abspath(sys.executable))) + "-llama/bin/python"

SOURCE = """The ship left the harbour in the morning and came back at night. The rain fell on the sea and on the men in the ship.
They did not say a word, for the wind was strong and the waves were high; they didn't look at the clock, it was ten past four.
One, two, three and four: 1 22 333 4444 55555. The woman on the hill saw the light of the ship, and the child asked where it went.
café naïve über Москва 東京 the end. And then the other ships left the harbour too, one after another, in the grey of the morning.
    for (int i = 0; i < n; i++)        total += price[i] * count[i];    return the total, then the rest. WE'RE in THE HARBOUR, I'M TOLD.
def harbour(ship, wind=None):    if ship is None:        return []    # the rest   is   left  to   the    sea     and      rain
Die Männer sahen das Schiff, और बच्चे ने पूछा, أين ذهبت السفينة, 배가 떠났다, η θάλασσα ήταν γκρίζα.""".split("\n")

ENGLISH = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
REST = r"\s*[\r\n]+|\s+(?!\S)|\s+"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
LEAD = r"[^\r\n\p{L}\p{N}]?"
CL100K = ENGLISH + "|" + LEAD + r"\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + REST
CASED = "%s%s*%s+%%s|%s%s+%s*%%s|%%s| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|%s" % (LEAD, UPPER, LOWER, LEAD, UPPER, LOWER, REST)
REGEX = {
    "cl100k": CL100K,
    "qwen2": CL100K.replace(r"\p{N}{1,3}", r"\p{N}"),
    "qwen35": ENGLISH + "|" + LEAD + r"[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + REST,
    "tekken": CASED % ("", "", r"\p{N}"),
    "gpt-4o": CASED % (ENGLISH + "?", ENGLISH + "?", r"\p{N}{1,3}"),
}
DEEPSEEK = [r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", "[!\"#$%&'" r"()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
            r"| ?[\p{P}\p{S}]+[\r\n]*|" + REST]
SPECIAL = ["<|start|>", "<|end|>"]
META = dict(replacement="▁", split=False)


def level(use_regex=False):
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)


def split(*regexes):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(r), "isolated") for r in regexes] + [level()])


def around(t, bos):
    return processors.TemplateProcessing(single=bos + " $A", pair=bos + " $A " + bos + ":1 $B:1", special_tokens=[(bos, t.token_to_id(bos))])


def bytes_to_unicode():
    """The alphabet: printable bytes are themselves, the others U+0100 and up."""
    seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = iter(range(256, 512))
    return {i: chr(i if i in seen else next(rest)) for i in range(256)}


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as f:
        json.dump(value, f, ensure_ascii=False)


def add_tokens(t, special=(), **more):
    t.add_special_tokens([AddedToken(s, normalized=False, special=True, **more) for s in [*SPECIAL, *special]])
    t.add_tokens([AddedToken("<tool>", normalized=False, **more)])


def bpe(folder, steps, bos=False, nfc=False, whole=False, kind="PreTrainedTokenizerFast", files=False):
    """A BPE over bytes."""
    t = Tokenizer(models.BPE(ignore_merges=whole))
    t.normalizer = normalizers.NFC() if nfc else None
    t.pre_tokenizer, t.decoder = steps, decoders.ByteLevel()
    t.train_from_iterator(SOURCE * 3, trainers.BpeTrainer(vocab_size=700, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
                                                          show_progress=False))
    add_tokens(t, ["<|endoftext|>"] * kind.startswith(("Qwen", "GPT")))
    if bos:
        t.post_processor = around(t, SPECIAL[0])
    if files:
        t.model.save(folder)
        write_json(folder + "/added_tokens.json", {a.content: i for i, a in t.get_added_tokens_decoder().items()})
    else:
        t.save(folder + "/tokenizer.json")
    decoder = {str(i): {"content": a.content, "special": a.special, "normalized": a.normalized, "lstrip": a.lstrip, "rstrip": a.rstrip,
                        "single_word": a.single_word} for i, a in t.get_added_tokens_decoder().items()}
    write_json(folder + "/tokenizer_config.json", {"tokenizer_class": kind, "bos_token": SPECIAL[0] if bos else None, "eos_token": SPECIAL[1],
                                                   "added_tokens_decoder": decoder})
    return t.get_vocab_size(), lambda text, special: t.encode(text, add_special_tokens=special).ids


def tekken_json(folder):
    """The same BPE over bytes as tekken.json, and as transformers converts it: every pair that makes a token is a merge."""
    first, alphabet = 24, [bytes_to_unicode()[i] for i in range(256)]
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = level()
    t.train_from_iterator(SOURCE * 3, trainers.BpeTrainer(vocab_size=600, initial_alphabet=alphabet, show_progress=False))
    words = alphabet + sorted((w for w in t.get_vocab() if len(w) > 1), key=t.token_to_id)
    ids = {w: first + i for i, w in enumerate(words)}
    pairs = [(w[:k], w[k:]) for w in words for k in range(1, len(w)) if w[:k] in ids and w[k:] in ids]
    merges = sorted(pairs, key=lambda m: (ids[m[0] + m[1]], ids[m[0]], ids[m[1]]))
    special = ["<unk>", "<s>", "</s>", *SPECIAL]
    named = {**{w: i for i, w in enumerate(special)}, **ids}
    like = Tokenizer(models.BPE(vocab=named, merges=merges, ignore_merges=True))
    like.pre_tokenizer = split(REGEX["tekken"])
    like.add_special_tokens([AddedToken(w, normalized=False, special=True) for w in special])
    like.post_processor = around(like, "<s>")
    code = {c: i for i, c in enumerate(alphabet)}
    write_json(folder + "/tekken.json", {
        "config": {"pattern": REGEX["tekken"], "num_vocab_tokens": len(words), "default_vocab_size": first + len(words),
                   "default_num_special_tokens": first, "version": "v7"},
        "vocab": [{"rank": i, "token_bytes": base64.b64encode(bytes(code[c] for c in w)).decode()} for i, w in enumerate(words)],
        "special_tokens": [{"rank": i, "token_str": w, "is_control": True} for i, w in enumerate(special)]})
    return first + len(words), lambda text, special: like.encode(text, add_special_tokens=special).ids


def train(folder, user=(), prefix=True):
    model = folder + "/tokenizer"
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(SOURCE * 3), model_prefix=model, vocab_size=640, model_type="bpe", byte_fallback=True, minloglevel=2,
        character_coverage=0.995, normalization_rule_name="identity", remove_extra_whitespaces=False, num_threads=1, add_dummy_prefix=prefix,
        user_defined_symbols=list(user), hard_vocab_limit=False, allow_whitespace_only_pieces=True, split_by_whitespace=True)
    os.unlink(model + ".vocab")
    return sentencepiece.SentencePieceProcessor(model_file=model + ".model")


def spm(folder, prefix=True):
    p = train(folder, prefix=prefix)
    write_json(folder + "/tokenizer_config.json", {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>",
                                                   "add_bos_token": True, "add_eos_token": False})
    return p.vocab_size(), lambda text, special: [1] * special + p.encode(text)


def characters(folder, normalizer, steps, keep=False, strip=False, extra=()):
    """A BPE over characters, as a SentencePiece model is converted to tokenizer.json."""
    p = train(folder, prefix=False)
    vocab = {p.id_to_piece(i): i for i in range(p.vocab_size())}
    pairs = ((text[:k], text[k:]) for text, i in vocab.items() if not p.is_byte(i) and not p.is_control(i) for k in range(1, len(text)))
    merges = sorted((m for m in pairs if m[0] in vocab and m[1] in vocab), key=lambda m: (vocab[m[0] + m[1]], vocab[m[0]], vocab[m[1]]))
    t = Tokenizer(models.BPE(vocab=vocab, merges=merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    if normalizer:
        t.normalizer = normalizer
    if steps:
        t.pre_tokenizer = steps
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    t.add_special_tokens([AddedToken(s, normalized=False, special=True, rstrip=strip and s == "</s>") for s in ("<unk>", "<s>", "</s>")])
    if strip:
        t.add_special_tokens([AddedToken("<|endoftext|>", normalized=False, special=True)])
    add_tokens(t, rstrip=strip)
    t.post_processor = around(t, "<s>")
    t.save(folder + "/tokenizer.json")
    config = {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "add_bos_token": True,
              "extra_special_tokens": SPECIAL}
    if keep:
        config["added_tokens_decoder"] = {str(i): {"content": a.content, "special": a.special, "rstrip": a.rstrip} for i, a in
                                          t.get_added_tokens_decoder().items()}
    else:
        os.unlink(folder + "/tokenizer.model")
    write_json(folder + "/tokenizer_config.json", config)
    return t.get_vocab_size(), lambda text, special: t.encode(text, add_special_tokens=special).ids


SPACES = normalizers.Replace(" ", "▁")
PREFIXED = normalizers.Sequence([normalizers.Prepend("▁"), SPACES])


def bare(text):
    """Does not start with a space, and has no special token."""
    return text[:1] not in (" ", "▁") and text not in TAGGED


def composed(text):
    """llama.cpp does not compose characters, but a normalizer does."""
    return unicodedata.is_normalized("NFC", text)


def unmarked(text):
    """llama.cpp's expressions for words with cases do not include marks."""
    return "हिन्दी" not in text


#   name: (maker, class, model_type, name of the pre-tokenizer, which texts have to be equal)
CASES = {
    "llama-bpe": (lambda f: bpe(f, split(CL100K), bos=True, whole=True), "Llama", "llama-bpe", None),
    "llama-bpe without BOS": (lambda f: bpe(f, split(CL100K), whole=True), "Llama", "llama-bpe", None),
    "cl100k": (lambda f: bpe(f, split(CL100K)), "Llama", "dbrx", None),
    "qwen2": (lambda f: bpe(f, split(REGEX["qwen2"]), nfc=True, kind="Qwen2Tokenizer"), "Qwen2", "qwen2", composed),
    "vocab.json and merges.txt of Qwen": (lambda f: bpe(f, split(REGEX["qwen2"]), nfc=True, kind="Qwen2Tokenizer", files=True), "Qwen2", "qwen2", composed),
    "vocab.json and merges.txt of GPT-2": (lambda f: bpe(f, level(True), kind="GPT2Tokenizer", files=True), "Llama", "gpt-2", None),
    "qwen35": (lambda f: bpe(f, split(REGEX["qwen35"])), "Llama", "qwen35", None),
    "gpt-4o": (lambda f: bpe(f, split(REGEX["gpt-4o"])), "Llama", "gpt-4o", unmarked),
    "tekken": (lambda f: bpe(f, split(REGEX["tekken"]), bos=True, whole=True), "Mistral", "tekken", unmarked),
    "tekken without BOS": (lambda f: bpe(f, split(REGEX["tekken"]), whole=True), "Mistral", "tekken", unmarked),
    "tekken.json": (tekken_json, "Mistral", "tekken", unmarked),
    "gpt-2": (lambda f: bpe(f, level(True)), "Llama", "gpt-2", None),
    "smollm": (lambda f: bpe(f, pre_tokenizers.Sequence([pre_tokenizers.Digits(True), level(True)])), "Llama", "smollm", None),
    "deepseek-v3": (lambda f: bpe(f, split(*DEEPSEEK)), "Llama", "deepseek-v3", None),
    "SentencePiece": (spm, "Llama", "default", lambda text: text not in TAGGED),
    "SentencePiece of Gemma": (lambda f: spm(f, False), "Gemma3", "default", lambda text: text not in TAGGED),
    "Phi-3": (lambda f: characters(f, PREFIXED, None, keep=True, strip=True), "Phi3", "default", None),
    "llama-json": (lambda f: characters(f, PREFIXED, None), "Llama", "default", None),
    "llama-json without a prefix": (lambda f: characters(f, SPACES, None), "Llama", "default", None),
    "llama-json of Gemma": (lambda f: characters(f, SPACES, pre_tokenizers.Split(" ", "merged_with_previous")), "Gemma3", "default", None),
    "llama-json of transformers 5": (lambda f: characters(f, None, pre_tokenizers.Metaspace(prepend_scheme="first", **META)), "Llama", "default", bare),
}
TYPES = {"Gemma3": "gemma3_text"}


def write_model(folder, family, n):
    """llama.cpp does not read the one layer of zeros."""
    write_json(folder + "/config.json", {
        "architectures": [family + "ForCausalLM"], "model_type": TYPES.get(family, family.lower()), "vocab_size": n, "hidden_size": 8,
        "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "num_key_value_heads": 1, "head_dim": 8})
    text = json.dumps({"model.embed_tokens.weight": {"dtype": "BF16", "shape": [n, 8], "data_offsets": [0, 16 * n]}}).encode()
    text += b" " * (-len(text) % 8)
    with open(folder + "/model.safetensors", "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + bytes(16 * n))


def compare(tally, name, got, encode, equal):
    """Counts texts that differ, among those that must be equal and among the others."""
    off = [0, 0]
    for text, ids in zip(TEXTS + TAGGED, got):
        for special in (False, True):
            want = encode(text, special)
            must = equal is None or equal(text)
            same = ids[special] == want
            off[must] += not same
            if must:
                tally.check(same, f"{name}, {text!r}, {'with' if special else 'without'} special tokens: {ids[special]}, expected {want}")
    n = 2 * len(TEXTS + TAGGED)
    print(f"{name}: {off[True]} of {n} texts differ" + (f", and {off[False]} that may" if equal else ""))


def main():
    tally, tools, jobs, encoders = Tally(), Tools(), [], []
    only = os.environ.get("NAME")
    for name, (make, family, pre, equal) in CASES.items():
        if only and name != only:
            continue
        folder = tools.path(name.replace(" ", "-"))
        os.makedirs(folder)
        n, encode = make(folder)
        write_model(folder, family, n)
        done = subprocess.run([os.path.join(tools.bin, "amn-convert"), "-f", "-o", folder + ".gguf", folder], check=False, stderr=subprocess.PIPE)
        if tally.check(done.returncode == 0, f"{name}: {done.stderr.decode()}"):
            jobs.append({"path": folder + ".gguf", "texts": TEXTS + TAGGED})
            encoders.append((name, encode, pre, equal))
    done = subprocess.run([LLAMA_PYTHON, os.path.join(HERE, "llama_tokens.py")], input=json.dumps(jobs).encode(), stdout=subprocess.PIPE, check=True)
    for (name, encode, pre, equal), got in zip(encoders, json.loads(done.stdout)):
        if tally.check(got is not None, f"{name}: loads"):
            tally.check(got["pre"] == pre, f"{name}: pre {got['pre']}")
            compare(tally, name, got["ids"], encode, equal)
    tally.finish()


main()
