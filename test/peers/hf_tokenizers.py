"""hf_tokenizers: small tokenizers of every kind that a model directory can have. Each function writes its files into a folder and
returns the converter's name of its pre-tokenizer (None: it needs none) and the number of tokens. Needs tokenizers, sentencepiece."""
import base64
import json

import sentencepiece
import tokenizers
import transformers
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers

SOURCE = """The ship left the harbour in the morning and came back at night. The rain fell on the sea and on the men in the ship.
They did not say a word, for the wind was strong and the waves were high; they didn't look at the clock, it was ten past four.
One, two, three and four: 1 22 333 4444 55555. The woman on the hill saw the light of the ship, and the child asked where it went.
café naïve über Москва 東京 the end. And then the other ships left the harbour too, one after another, in the grey of the morning.
for (int i = 0; i < n; i++) total += price[i] * count[i];  return the total, then the rest and the remainder of the rest.
""".split("\n")

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
QWEN35 = QWEN2.replace(r"\p{L}+", r"[\p{L}\p{M}]+").replace(r"[^\s\p{L}\p{N}]+", r"[^\s\p{L}\p{M}\p{N}]+")
TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|"
          r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|"
          r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
GPT_4O = TEKKEN.replace("]+|[^", "]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^").replace(r"]*|\p{N}|", r"]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|")
SEED = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK3 = (r"\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+",
             r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^RN\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[RN]*|\s*[RN]+|\s+(?!\S)|\s+"""
             .replace("RN", "\r\n"))          # the characters themselves
GPT_2, DIGITS = "gpt-2", "digits"


def write_json(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def added(content, special=True):
    return {"content": content, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": special}


def spm(folder, size=360, extra=(), config=None, kind="LlamaTokenizer", user=()):
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(SOURCE), model_prefix=str(folder / "m"), vocab_size=size, model_type="bpe", byte_fallback=True,
        character_coverage=0.995, normalization_rule_name="identity", remove_extra_whitespaces=False, num_threads=1,
        user_defined_symbols=list(user), add_dummy_prefix=kind != "GemmaTokenizer", hard_vocab_limit=False, minloglevel=2)
    (folder / "m.vocab").unlink()
    (folder / "m.model").rename(folder / "tokenizer.model")
    n = sentencepiece.SentencePieceProcessor(str(folder / "tokenizer.model")).vocab_size()
    decoder = {"0": added("<unk>"), "1": added("<s>"), "2": added("</s>")}
    for i, text in enumerate(extra):
        decoder[str(n + i)] = added(text, text.startswith("<|"))
    write_json(folder / "tokenizer_config.json", {
        "tokenizer_class": kind, "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": None,
        "added_tokens_decoder": decoder, "add_bos_token": True, "add_eos_token": False, "legacy": False, **(config or {})})
    if extra:
        write_json(folder / "added_tokens.json", {text: n + i for i, text in enumerate(extra)})
    return None, n + len(extra)


def splitting(regex):
    """Returns the pre-tokenizer of one expression, of several, or of a word for those without."""
    if regex == GPT_2:
        return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    if regex == DIGITS:
        return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    steps = [pre_tokenizers.Split(Regex(r), "isolated") for r in ([regex] if isinstance(regex, str) else regex)]
    return pre_tokenizers.Sequence(steps + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def bpe(folder, regex, pre, kind, special, plain=(), size=300, bos=None, nfc=False, config=None, ignore_merges=False,
        files=False):
    t = tokenizers.Tokenizer(models.BPE(ignore_merges=ignore_merges))
    if nfc:
        t.normalizer = normalizers.NFC()
    t.pre_tokenizer = splitting(regex)
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    t.train_from_iterator(SOURCE, trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False))
    t.add_special_tokens([tokenizers.AddedToken(s, normalized=False, special=True) for s in special])
    t.add_tokens([tokenizers.AddedToken(s, normalized=False) for s in plain])
    if bos:
        t.post_processor = processors.Sequence([
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(single=bos + " $A", pair=bos + " $A " + bos + ":1 $B:1",
                                          special_tokens=[(bos, t.token_to_id(bos))])])
    (folder / "tokenizer.json").write_text(t.to_str(pretty=False) + "\n", encoding="utf-8")
    decoder = {str(i): added(a.content, a.special) for i, a in t.get_added_tokens_decoder().items()}
    write_json(folder / "tokenizer_config.json", {
        "tokenizer_class": kind, "bos_token": bos, "eos_token": special[-1], "pad_token": special[0], "unk_token": None,
        "added_tokens_decoder": decoder, "clean_up_tokenization_spaces": False, **(config or {})})
    if files:
        t.model.save(str(folder))
    return pre, t.get_vocab_size()


def llama_json(folder):
    """BPE with byte fallback, as a SentencePiece model is converted."""
    _, n = spm(folder)
    p = sentencepiece.SentencePieceProcessor(str(folder / "tokenizer.model"))
    vocab = {p.id_to_piece(i): i for i in range(n)}
    merges = sorted(((a, b) for text in vocab if not p.is_byte(vocab[text]) for k in range(1, len(text))
                     for a, b in [(text[:k], text[k:])] if a in vocab and b in vocab), key=lambda m: (vocab[m[0] + m[1]], m))
    t = tokenizers.Tokenizer(models.BPE(vocab=vocab, merges=merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    t.add_special_tokens([tokenizers.AddedToken(s, normalized=False, special=True) for s in ("<unk>", "<s>", "</s>")])
    t.add_tokens([tokenizers.AddedToken("<tool>", normalized=False)])
    t.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
    (folder / "tokenizer.json").write_text(t.to_str(pretty=False) + "\n", encoding="utf-8")
    (folder / "tokenizer.model").unlink()
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text())
    config["added_tokens_decoder"][str(t.token_to_id("<tool>"))] = added("<tool>", False)
    write_json(path, config)
    return None, t.get_vocab_size()


def llama_bpe(folder):
    return bpe(folder, LLAMA3, "llama-bpe", "PreTrainedTokenizerFast",
               ["<|begin_of_text|>", "<|eot_id|>", "<|end_of_text|>"], bos="<|begin_of_text|>", ignore_merges=True,
               config={"chat_template": "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"})


def qwen_bpe(folder):
    pre, n = bpe(folder, QWEN2, "qwen2", "Qwen2Tokenizer", ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], ["<tool_call>"], nfc=True)
    (folder / "chat_template.jinja").write_text("{%- for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}")
    return pre, n


def phi4_bpe(folder):
    return bpe(folder, LLAMA3, "dbrx", "GPT2Tokenizer",
               ["<|endoftext|>", "<|im_end|>"], files=True)


CHAT = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"


def plain_bpe(regex, pre, special=("<|pad|>", "<|im_start|>", "<|im_end|>"), plain=(), **more):
    """Returns a function that writes a BPE of the common form with this splitting."""
    return lambda folder: bpe(folder, regex, pre, "PreTrainedTokenizerFast", list(special), plain, **more)


def glm_bpe(folder):
    return bpe(folder, LLAMA3, "glm4", "PreTrainedTokenizerFast",
               ["[gMASK]", "<sop>", "<|user|>", "<|assistant|>", "<|observation|>", "<|endoftext|>"], ["<think>", "</think>"],
               ignore_merges=True, config={"chat_template": CHAT})


def deepseek_bpe(pre):
    return lambda folder: bpe(folder, DEEPSEEK3, pre, "PreTrainedTokenizerFast",
                              ["<｜▁pad▁｜>", "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"],
                              bos="<｜begin▁of▁sentence｜>", config={"chat_template": CHAT, "add_bos_token": True})


def words(folder):
    """A WordPiece."""
    roles = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    text = " ".join(SOURCE).lower()
    parts = sorted(set(text) - {" "})
    parts += ["##" + c for c in parts] + sorted(w for w in set(text.split(" ")) if w.isalpha() and len(w) > 2)
    t = tokenizers.Tokenizer(models.WordPiece({w: i for i, w in enumerate([*roles.values(), *parts])}, unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=True)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    t.add_special_tokens([tokenizers.AddedToken(w, normalized=False, special=True) for w in roles.values()])
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
                                                     special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    (folder / "tokenizer.json").write_text(t.to_str(pretty=False) + "\n", encoding="utf-8")
    write_json(folder / "tokenizer_config.json", {
        "tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 512,
        **{role + "_token": text for role, text in roles.items()},
        "added_tokens_decoder": {str(i): added(text) for i, text in enumerate(roles.values())}})
    return "bert-bge", t.get_vocab_size()


def modern(folder):
    roles = {"unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "pad": "[PAD]", "mask": "[MASK]"}
    pre, n = bpe(folder, GPT_2, "modern-bert", "PreTrainedTokenizerFast", list(roles.values()), nfc=True)
    path = folder / "tokenizer.json"
    t = tokenizers.Tokenizer.from_file(str(path))
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[(s, t.token_to_id(s)) for s in ("[CLS]", "[SEP]")])
    path.write_text(t.to_str(pretty=False) + "\n", encoding="utf-8")
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text())
    config.pop("bos_token")
    config.pop("eos_token")
    write_json(path, {**config, **{role + "_token": text for role, text in roles.items()}})
    return pre, n


def roberta(folder):
    """A BPE whose special tokens come first, as RoBERTa numbers them."""
    roles = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    t = tokenizers.Tokenizer(models.BPE())
    t.pre_tokenizer = splitting(GPT_2)
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(SOURCE, trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), special_tokens=roles, show_progress=False))
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    (folder / "tokenizer.json").write_text(t.to_str(pretty=False) + "\n", encoding="utf-8")
    write_json(folder / "tokenizer_config.json", {
        "tokenizer_class": "RobertaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "sep_token": "</s>", "cls_token": "<s>",
        "unk_token": "<unk>", "pad_token": "<pad>", "mask_token": "<mask>", "add_prefix_space": False})
    return "roberta-bpe", t.get_vocab_size()


def unigram(folder, name, size=200):
    """A SentencePiece model with a small map of characters."""
    rules = folder / "rules.tsv"
    rules.write_text("".join("%s\t%s\n" % (" ".join("%X" % ord(c) for c in a), " ".join("%X" % ord(c) for c in b)) for a, b in (
        ("\u00a0", " "), ("\u00c4", "A\u0308"), ("\u00e9", "e\u0301"), ("\uff21", "A"), ("\ufb01", "fi"), ("\t", " "), ("\n", " "))))
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(SOURCE), model_prefix=str(folder / "m"), vocab_size=size, model_type="unigram", character_coverage=0.995,
        normalization_rule_tsv=str(rules), num_threads=1, hard_vocab_limit=False, minloglevel=2)
    rules.unlink()
    (folder / "m.vocab").unlink()
    (folder / "m.model").rename(folder / name)
    return sentencepiece.SentencePieceProcessor(str(folder / name)).vocab_size()


def unigram_json(folder, kind, name, keep):
    """The tokenizer.json of transformers' class for such a model, and the model itself if it is to be kept."""
    unigram(folder, name)
    t = getattr(transformers, kind).from_pretrained(folder)
    t.save_pretrained(folder)
    if not keep:
        (folder / name).unlink()
    path = folder / "tokenizer_config.json"
    c = json.loads(path.read_text())
    c = {k: v for k, v in c.items() if k not in ("extra_special_tokens", "unk_id", "is_local", "local_files_only", "backend", "extra_ids")}
    write_json(path, {**c, "clean_up_tokenization_spaces": True})
    return None, len(t)


def xlmr(folder):
    return unigram_json(folder, "XLMRobertaTokenizer", "sentencepiece.bpe.model", True)


def xlmr_json(folder):
    return unigram_json(folder, "XLMRobertaTokenizer", "sentencepiece.bpe.model", False)


def camembert(folder):
    return unigram_json(folder, "CamembertTokenizer", "sentencepiece.bpe.model", False)


def t5(folder, name="spiece.model"):
    n = unigram(folder, name)
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": "T5Tokenizer", "eos_token": "</s>", "unk_token": "<unk>",
                                                  "pad_token": "<pad>", "extra_ids": 0})
    return None, n


def world(folder):
    """A vocabulary of RWKV: all bytes, and words."""
    words = sorted({w for line in SOURCE for w in line.split(" ") if len(w) > 1} | {"\n\n", "'", '"\'', "\t \n", "\\n"}, key=lambda w: (len(w.encode()), w))
    tokens = [bytes([i]) for i in range(256)] + [w.encode() for w in words if len(w.encode()) > 1]
    lines = []
    for i, t in enumerate(tokens):
        try:
            text = repr(t.decode())
        except UnicodeDecodeError:
            text = repr(t)
        lines.append("%d %s %d\n" % (i + 1, text, len(t)))
    (folder / "rwkv_vocab_v20230424.txt").write_text("".join(lines), encoding="utf-8")
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": "Rwkv6Tokenizer", "add_prefix_space": False, "use_fast": False})
    return None, len(tokens) + 1


def plamo(folder):
    """A vocabulary of PLaMo: special tokens, bytes, and pieces with scores."""
    special = ["<|plamo:unk|>", "<|plamo:bos|>", "<|plamo:eos|>", "<|plamo:pad|>", "<|plamo:op|>"]
    kinds = ["UNKNOWN"] + ["CONTROL"] * 3 + ["NORMAL"]
    lines = [[t, 0.0, k, None, None, None, None] for t, k in zip(special, kinds)] + [["<0x%02X>" % i, 0.0, "BYTE", None, None, None, None]
                                                                                     for i in range(256)]
    pieces = sorted({c for line in SOURCE for c in line}) + sorted({w for line in SOURCE for w in line.split(" ") if len(w) > 2})
    lines += [[t, -1.5 - i / 7, "NORMAL", len(t), None, None, None] for i, t in enumerate(pieces)]
    (folder / "tokenizer.jsonl").write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": "Plamo2Tokenizer", "unk_token": special[0], "bos_token": special[1],
                                                  "eos_token": special[2], "pad_token": special[3], "sep_token": None, "chat_template": CHAT})
    return None, len(lines)


def characters(folder, **config):
    """BPE over characters with byte fallback."""
    special = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
    bytes_ = ["<0x%02X>" % i for i in range(256)]
    marked = [" ".join(line.split()).replace(" ", "\u2581") for line in SOURCE]
    trained = tokenizers.Tokenizer(models.BPE())
    trained.train_from_iterator(marked, trainers.BpeTrainer(vocab_size=130, show_progress=False))
    old = json.loads(trained.to_str())["model"]
    vocab = {text: i for i, text in enumerate(special + bytes_ + sorted(old["vocab"], key=old["vocab"].get))}
    merges = [tuple(m) if isinstance(m, list) else tuple(m.split(" ")) for m in old["merges"]]
    t = tokenizers.Tokenizer(models.BPE(vocab=vocab, merges=merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Replace(" ", "\u2581")
    t.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    t.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    t.add_special_tokens([tokenizers.AddedToken(s, normalized=False, special=True) for s in special + ["<|image>", "<|turn>"]])
    t.post_processor = processors.TemplateProcessing(single="<bos> $A", pair="<bos> $A <bos>:1 $B:1", special_tokens=[("<bos>", 2)])
    (folder / "tokenizer.json").write_text(t.to_str(pretty=False) + "\n", encoding="utf-8")
    write_json(folder / "tokenizer_config.json", {
        "tokenizer_class": "GemmaTokenizer", "bos_token": "<bos>", "eos_token": "<eos>", "unk_token": "<unk>", "pad_token": "<pad>",
        "mask_token": "<mask>", "padding_side": "left", **config})
    return t.get_vocab_size()


def gemma4(folder):
    """One whose scores are all the same in GGUF."""
    return None, characters(folder)


def sarvam(folder):
    """One that the reference writes like a BPE over bytes."""
    return "sarvam-moe", characters(folder, tokenizer_class="PreTrainedTokenizerFast")


TIKTOKEN = '''"""What the reference reads of a tokenizer with code of its own."""
import base64
from types import SimpleNamespace

from transformers import PreTrainedTokenizer


class TikTokenTokenizer(PreTrainedTokenizer):
    vocab_files_names = {"vocab_file": "tiktoken.model"}

    def __init__(self, vocab_file, **kwargs):
        with open(vocab_file, "rb") as f:
            self.ranks = {base64.b64decode(text): int(rank) for text, rank in (line.split() for line in f)}
        self.model = SimpleNamespace(_mergeable_ranks=self.ranks)
        super().__init__(**kwargs)
        self.special_tokens = {str(token): i for i, token in self.added_tokens_decoder.items()}

    @property
    def vocab_size(self):
        return len(self.ranks)

    def get_vocab(self):
        return {text.decode("latin-1"): rank for text, rank in self.ranks.items()}

    def _convert_token_to_id(self, token):
        return 0

    def _tokenize(self, text):
        return []
'''


def tiktoken(folder):
    """Ranks of byte strings: those of a BPE."""
    ranks = {bytes([i]): i for i in range(256)}
    for text in SOURCE:
        for word in text.split(" "):
            raw = (" " + word).encode()
            for n in range(2, len(raw) + 1):
                if len(ranks) < 300 and raw[:n - 1] in ranks:
                    ranks.setdefault(raw[:n], len(ranks))
    (folder / "tiktoken.model").write_bytes(b"".join(base64.b64encode(t) + b" %d\n" % i for t, i in ranks.items()))
    (folder / "tokenization_kimi.py").write_text(TIKTOKEN)
    special = ["[BOS]", "[EOS]", "<|im_end|>", "<|im_user|>", "[UNK]", "[PAD]"]
    write_json(folder / "tokenizer_config.json", {
        "tokenizer_class": "TikTokenTokenizer", "auto_map": {"AutoTokenizer": ["tokenization_kimi.TikTokenTokenizer", None]}, "bos_token": "[BOS]", "eos_token": "[EOS]", "unk_token": "[UNK]", "pad_token": "[PAD]",
        "added_tokens_decoder": {str(len(ranks) + i): added(text) for i, text in enumerate(special)}})
    return "kimi-k2", len(ranks) + len(special)
