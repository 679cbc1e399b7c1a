"""peer_back.py BIN FOLDER [DIR...]: tokenizers of model directories after the way to GGUF and back.

Each directory is converted with --to gguf and that file with --to hf. The libraries that read tokenizer.json and tokenizer.model
must then give the same ids for a page of mixed text as with the first directory: alone, with special tokens around it, and as a
pair. Without DIR, the models of test/corpus/hf-models; DIR may also be a folder of such directories."""
import json
import os
import subprocess
import sys
import unicodedata

import sentencepiece
from tokenizers import Tokenizer

from texts import TAGGED, TEXTS
from tools import Tally, Tools

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "helpers"))

# Not stored in GGUF: the flags of added tokens, such as lstrip, and a normalizer that is not the usual one of the splitting.
FLAGS = ("lstrip", "rstrip", "single_word", "normalized")


def directories(folder):
    """Yields directories with config.json: given, or made from the corpus."""
    for path in sys.argv[3:]:
        inside = [os.path.join(path, name) for name in sorted(os.listdir(path))]
        yield from [path] if os.path.exists(os.path.join(path, "config.json")) else \
            (p for p in inside if os.path.exists(os.path.join(p, "config.json")))
    if sys.argv[3:]:
        return
    corpus = os.path.join(TESTS, "corpus", "hf-models")
    for name in sorted(os.listdir(corpus)):
        made = os.path.join(folder, "back-" + name)
        subprocess.run([os.path.join(TESTS, "helpers", "hf-model"), os.path.join(corpus, name), made], check=True)
        yield made


def tagged(tokens):
    """Texts with the added tokens of this tokenizer."""
    return [f"{t}hello {t} the ship{t}\n{t}" for t in tokens[:40]]


def json_ids(path, texts):
    t = Tokenizer.from_file(path)
    for text in texts:
        for special in (False, True):
            yield f"{text!r}, special tokens {special}", t.encode(text, add_special_tokens=special).ids
    yield "a pair", t.encode("the ship", "left the harbour").ids


def model_ids(path, texts):
    p = sentencepiece.SentencePieceProcessor(model_file=path)
    for text in texts:
        yield repr(text), p.encode(text)
    for i in range(p.vocab_size()):
        yield f"piece {i}", p.id_to_piece(i)


def read(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def json_texts(old, new):
    """The texts on which a recovered tokenizer.json must agree."""
    was, now = read(old), read(new)
    tokens = [t["content"] for t in was["added_tokens"]]
    flagged = any(t.get(flag) for t in was["added_tokens"] for flag in FLAGS)
    texts = TEXTS + TAGGED + ([] if flagged else tagged(tokens))
    return texts if was["normalizer"] or not now["normalizer"] else [t for t in texts if unicodedata.is_normalized("NFC", t)]


def compare(tally, name, source, back):
    for file, ids in (("tokenizer.model", model_ids), ("tokenizer.json", json_ids)):
        old, new = os.path.join(source, file), os.path.join(back, file)
        if not os.path.exists(old) or not os.path.exists(new):
            continue
        texts = json_texts(old, new) if file == "tokenizer.json" else TEXTS + TAGGED
        pairs = list(zip(ids(old, texts), ids(new, texts)))     # the second may have more pieces: added tokens
        wrong = [(what, want, got) for (what, want), (_, got) in pairs if want != got]
        tally.passed += len(pairs) - len(wrong)
        for what, want, got in wrong:
            tally.check(False, f"{name}: {file}: {what}: {got}, expected {want}")
        print(f"{name}: {file}: {len(wrong)} of {len(pairs)} differ")
        return
    print(f"{name}: no tokenizer of the same kind in both directories")


def main():
    tally, tools = Tally(), Tools()
    for source in directories(tools.folder):
        name = os.path.basename(source)
        file, back = tools.path(name + ".gguf"), tools.path(name + "-back")
        convert = os.path.join(tools.bin, "amn-convert")
        done = subprocess.run([convert, "-q", "-f", "--to", "gguf", source, "-o", file], check=False)
        if done.returncode != 0:
            print(f"{name}: not converted")
            continue
        done = subprocess.run([convert, "-q", "--to", "hf", file, "-o", back + "/"], check=False, stderr=subprocess.PIPE)
        if tally.check(done.returncode == 0, f"{name}: {done.stderr.decode()}"):
            compare(tally, name, source, back)
    tally.finish()


main()
