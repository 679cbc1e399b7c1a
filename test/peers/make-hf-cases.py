#!/usr/bin/env python3
"""Write test/corpus/hf-models: tiny models of every class that can be converted to GGUF, and the output of llama.cpp's
converter.

usage: make-hf-cases.py LLAMA_CPP OUTPUT [CASE...]

LLAMA_CPP is the folder with convert_hf_to_gguf.py, its conversion/ and gguf-py/ (the source archive of llama-cpp-python has it
as vendor/llama.cpp). Needs transformers, torch, safetensors, sentencepiece. The models are made and saved by transformers' own
classes, so that names, shapes and texts are theirs; for the weights, a case keeps names, types and shapes (weights.json), and
test/helpers/hf-model fills them. expected.json has, for each output type, type and SHA-256 of every tensor, in the order of the
reference; all keys; and from transformers itself the tokens of a text and logits of the last of them, computed in F32.
The reference recognizes only known vocabularies to choose a pre-tokenizer, so for a BPE that name is given to it by hand.
"""
import hashlib, importlib.machinery, importlib.util, json, logging, os, shutil, struct, sys, tempfile
from pathlib import Path

LLAMA_CPP, OUTPUT, ONLY = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
sys.path.insert(0, LLAMA_CPP)
sys.path.insert(0, os.path.join(LLAMA_CPP, "gguf-py"))
sys.dont_write_bytecode = True
import gguf
import sentencepiece
import tokenizers
import torch
import transformers
from conversion import ModelBase, ModelType, get_model_architecture, get_model_class
from conversion.base import TextModel
from safetensors import safe_open
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers

logging.disable(logging.CRITICAL)
transformers.logging.set_verbosity_error()
loader = importlib.machinery.SourceFileLoader("hf_model", str(Path(__file__).parents[1] / "helpers" / "hf-model"))
hf_model = importlib.util.module_from_spec(importlib.util.spec_from_loader("hf_model", loader))
loader.exec_module(hf_model)

TYPES = {"auto": "GUESSED", "f32": "ALL_F32", "f16": "MOSTLY_F16", "bf16": "MOSTLY_BF16"}
TEXT = "The ship left the harbour at 1234 in the rain, didn't it?\n  Two men and\tthe sea: cafe, café!"
LOGITS = 24

SOURCE = """The ship left the harbour in the morning and came back at night. The rain fell on the sea and on the men in the ship.
They did not say a word, for the wind was strong and the waves were high; they didn't look at the clock, it was ten past four.
One, two, three and four: 1 22 333 4444 55555. The woman on the hill saw the light of the ship, and the child asked where it went.
café naïve über Москва 東京 the end. And then the other ships left the harbour too, one after another, in the grey of the morning.
for (int i = 0; i < n; i++) total += price[i] * count[i];  return the total, then the rest and the remainder of the rest.
""".split("\n")

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")


# --- tokenizers: each writes its files and says the converter's name of its pre-tokenizer, and how many tokens it has

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


def bpe(folder, regex, pre, kind, special, plain=(), size=300, bos=None, nfc=False, config=None, ignore_merges=False,
        files=False):
    t = tokenizers.Tokenizer(models.BPE(ignore_merges=ignore_merges))
    if nfc:
        t.normalizer = normalizers.NFC()
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(regex), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
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
    return bpe(folder, LLAMA3.replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)|", "(?i:'s|'t|'re|'ve|'m|'ll|'d)|"), "dbrx", "GPT2Tokenizer",
               ["<|endoftext|>", "<|im_end|>"], files=True)


# --- models

T = transformers
SMALL = dict(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=512)
BASE = dict(bos_token_id=1, eos_token_id=2)


def config(kind, **more):
    return kind(**{**SMALL, **more})


def longrope(n):
    return {"type": "longrope", "short_factor": [1 + i / 64 for i in range(n)], "long_factor": [1 + i * i / 7 for i in range(n)]}


#   name: (tokenizer, dtype, vocabulary more than tokens, class, config members, options)
CASES = {
    "llama3": (llama_bpe, "bfloat16", 4, "Llama", dict(
        num_hidden_layers=11, max_position_embeddings=131072, rope_theta=500000.0, tie_word_embeddings=False, rms_norm_eps=1e-5,
        rope_scaling={"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                      "original_max_position_embeddings": 8192}), {}),
    "llama-f32": (lambda f: spm(f, extra=["<|user|>", "<tool▁x>"]), "float32", 5, "Llama", dict(
        hidden_size=96, num_key_value_heads=4, head_dim=32, tie_word_embeddings=True, **BASE), {"old": True}),
    "llama-json": (llama_json, "float16", 0, "Llama", dict(attention_bias=True, mlp_bias=True, num_hidden_layers=3, **BASE), {}),
    "llama-bare": (spm, "bfloat16", 0, "Llama", dict(tie_word_embeddings=False, **BASE), {"bare": True}),
    "llama-wide": (spm, "bfloat16", 0, "Llama", dict(
        hidden_size=256, intermediate_size=512, num_hidden_layers=3, **BASE), {"old": True}),
    "mistral": (lambda f: spm(f, config={"add_prefix_space": True}), "bfloat16", 0, "Mistral", dict(
        head_dim=32, sliding_window=4096, rope_theta=1e6, tie_word_embeddings=False, **BASE), {"old": True}),
    "mixtral": (spm, "bfloat16", 0, "Mixtral", dict(
        hidden_size=256, intermediate_size=256, num_local_experts=4, num_experts_per_tok=2, **BASE), {}),
    "qwen2": (qwen_bpe, "bfloat16", 13, "Qwen2", dict(
        num_hidden_layers=3, tie_word_embeddings=True, bos_token_id=300, eos_token_id=302), {"shard": "60KB", "old": True,
        "generation": dict(do_sample=True, temperature=0.7, top_k=20, top_p=0.8, repetition_penalty=1.1, eos_token_id=[302, 300])}),
    "qwen2-moe": (qwen_bpe, "bfloat16", 0, "Qwen2Moe", dict(
        num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, shared_expert_intermediate_size=64,
        num_attention_heads=4, num_key_value_heads=4), {}),
    "qwen3": (qwen_bpe, "bfloat16", 0, "Qwen3", dict(head_dim=32, tie_word_embeddings=True, rope_theta=1e6), {}),
    "qwen3-half": (qwen_bpe, "float16", 1, "Qwen3", dict(head_dim=16, tie_word_embeddings=False), {"old": True}),
    "qwen3-moe": (qwen_bpe, "bfloat16", 0, "Qwen3Moe", dict(
        head_dim=32, norm_topk_prob=True, num_experts=12, num_experts_per_tok=3, moe_intermediate_size=32), {"shard": "100KB"}),
    "qwen3-moe-stacked": (qwen_bpe, "bfloat16", 0, "Qwen3Moe", dict(
        head_dim=32, norm_topk_prob=True, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, num_hidden_layers=1), {"stacked": True}),
    "gemma2": (lambda f: spm(f, kind="GemmaTokenizer", user=["<start_of_turn>", "▁▁"]), "float16", 3, "Gemma2", dict(
        head_dim=32, query_pre_attn_scalar=32, sliding_window=64, **BASE), {}),
    "gemma3": (lambda f: spm(f, kind="GemmaTokenizer", user=["<start_of_turn>"], extra=["<|image|>"]), "bfloat16", 0, "Gemma3", dict(
        head_dim=32, query_pre_attn_scalar=32, num_hidden_layers=7, sliding_window=64, **BASE), {"old": True}),
    "gemma3-head": (lambda f: spm(f, kind="GemmaTokenizer", user=["<start_of_turn>"]), "bfloat16", 0, "Gemma3", dict(
        head_dim=32, query_pre_attn_scalar=32, sliding_window=64, tie_word_embeddings=False, **BASE), {}),
    "gemma3-pictures": (lambda f: spm(f, kind="GemmaTokenizer", user=["<start_of_turn>"], extra=["<|image|>"]), "bfloat16", 0,
        "Gemma3", dict(head_dim=32, query_pre_attn_scalar=32, sliding_window=64, **BASE), {"pictures": True}),
    "llama-mixed": (spm, "bfloat16", 0, "Llama", dict(**BASE), {"mixed": {
        "lm_head.weight": "F32", "model.embed_tokens.weight": "F32", "model.layers.0.mlp.up_proj.weight": "F16",
        "model.norm.weight": "F32", "model.layers.1.input_layernorm.weight": "F16", "model.layers.0.mlp.down_proj.weight": "F32"}}),
    "phi3": (lambda f: spm(f, extra=["<|user|>", "<|end|>"]), "bfloat16", 2, "Phi3", dict(
        sliding_window=2047, pad_token_id=0, **BASE), {}),
    "phi3-longrope": (lambda f: spm(f, extra=["<|user|>", "<|end|>"]), "bfloat16", 0, "Phi3", dict(
        max_position_embeddings=4096, original_max_position_embeddings=512, partial_rotary_factor=0.75, rope_scaling=longrope(6),
        pad_token_id=0, **BASE), {"old": True}),
    "phi4": (phi4_bpe, "bfloat16", 0, "Phi3", dict(pad_token_id=0, bos_token_id=300, eos_token_id=300), {}),
}


def old_spelling(path):
    """Rewrites config.json in the form of transformers before version 5."""
    c = json.loads(path.read_text())
    c["torch_dtype"] = c.pop("dtype")
    rope = c.pop("rope_parameters", None) or {}
    if "full_attention" in rope:
        c["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
        rope = rope["full_attention"]
    c["rope_theta"] = rope.pop("rope_theta", 10000.0)
    for key in ("partial_rotary_factor", "original_max_position_embeddings"):
        if key in rope:
            c[key] = rope.pop(key)
    rope["type"] = rope.pop("rope_type", "default")
    c["rope_scaling"] = None if rope["type"] == "default" else rope
    path.write_text(json.dumps(c, indent=2) + "\n")


def build(name, folder):
    """Writes the case without expectations. Returns the name of its pre-tokenizer."""
    tokenizer, dtype, more, family, members, options = CASES[name]
    folder.mkdir(parents=True)
    pre, n = tokenizer(folder)
    kind = "Gemma3Text" if family == "Gemma3" else family
    c = config(getattr(T, kind + "Config"), vocab_size=n + more, **members)
    c.dtype = getattr(torch, dtype)
    with tempfile.TemporaryDirectory() as saved:
        kind = "ForCausalLM"
        if options.get("pictures"):
            vision = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=2, image_size=28, patch_size=14)
            c = T.Gemma3Config(text_config=c.to_dict(), vision_config=vision, mm_tokens_per_image=4, image_token_index=n - 1,
                               dtype=c.dtype)
            kind = "ForConditionalGeneration"
        model = getattr(T, family + kind)(c).to(c.dtype)
        model.save_pretrained(saved, max_shard_size=options.get("shard", "1GB"), save_original_format=not options.get("stacked"))
        weights = {}
        for path in sorted(Path(saved).glob("*.safetensors")):
            with safe_open(path, "pt") as f:
                weights[path.name] = [[k.removeprefix("model." * options.get("bare", False)), options.get("mixed", {}).get(k, f.get_slice(k).get_dtype()), f.get_slice(k).get_shape(),
                                       "norm" if k.endswith("norm.weight") and not family.startswith("Gemma") else ""]
                                      for k in f.offset_keys()]
        shutil.copy(os.path.join(saved, "config.json"), folder)
    if options.get("old"):
        old_spelling(folder / "config.json")
    if "generation" in options:
        write_json(folder / "generation_config.json", options["generation"])
    lines = ",\n".join(" %s: [\n  %s]" % (json.dumps(f), ",\n  ".join(json.dumps(t) for t in tensors)) for f, tensors in weights.items())
    (folder / "weights.json").write_text("{\n" + lines + "\n}\n")
    return pre


# --- what is expected

def convert(folder, kind, pre, target):
    TextModel.get_vocab_base_pre = lambda self, tokenizer: pre
    with torch.inference_mode():
        hparams = ModelBase.load_hparams(folder, False)
        cls = get_model_class(get_model_architecture(hparams, ModelType.TEXT))
        cls(folder, gguf.LlamaFileType[TYPES[kind]], target, is_big_endian=False, use_temp_file=False, eager=False,
            metadata_override=None, model_name=None, split_max_tensors=0, split_max_size=0, dry_run=False,
            small_first_shard=False, remote_hf_model_id=None).write()


def sha(data):
    return hashlib.sha256(data).hexdigest()


def keys_of(reader):
    for key, field in reader.fields.items():
        if key.startswith("GGUF."):
            continue
        kind, data = field.types[0], [bytes(field.parts[i]) for i in field.data]
        if kind == gguf.GGUFValueType.ARRAY:
            whole = b"".join(struct.pack("<Q", len(d)) + d for d in data) if field.types[1] == gguf.GGUFValueType.STRING else b"".join(data)
            yield {"key": key, "type": "ARRAY", "of": field.types[1].name, "n": len(data), "sha256": sha(whole)}
        elif kind == gguf.GGUFValueType.STRING and len(data[0]) > 60:
            yield {"key": key, "type": "STRING", "bytes": len(data[0]), "sha256": sha(data[0])}
        elif kind == gguf.GGUFValueType.FLOAT32:
            yield {"key": key, "type": "FLOAT32", "value": field.contents(), "bits": data[0][::-1].hex()}
        else:
            yield {"key": key, "type": kind.name, "value": field.contents()}


def tokens_of(folder):
    """Returns the tokens of the tokenizer's own library."""
    if (folder / "tokenizer.model").exists():
        text = json.loads((folder / "tokenizer_config.json").read_text())
        p = sentencepiece.SentencePieceProcessor(str(folder / "tokenizer.model"))
        return [1] * text["add_bos_token"] + p.encode(TEXT)
    return tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")).encode(TEXT).ids


def expected(name, folder, pre):
    family = CASES[name][3]
    with tempfile.TemporaryDirectory() as work:
        model = Path(work) / name
        hf_model.make(str(folder), str(model))
        tensors, numbers, keys = {}, {}, []
        for kind in TYPES:
            path = Path(work) / (kind + ".gguf")
            convert(model, kind, pre, path)
            reader = gguf.GGUFReader(path)
            for t in reader.tensors:
                entry = tensors.setdefault(t.name, {"name": t.name, "ne": [int(d) for d in t.shape]})
                entry[kind] = [t.tensor_type.name, sha(t.data.tobytes())]
            numbers[kind] = int(reader.fields["general.file_type"].contents())
            keys = keys or list(keys_of(reader))
        tokens = tokens_of(model)
        with torch.inference_mode():
            kind = T.Gemma3ForConditionalGeneration if CASES[name][5].get("pictures") else T.AutoModelForCausalLM
            lm = kind.from_pretrained(model, dtype=torch.float32, attn_implementation="eager")
            logits = lm(torch.tensor([tokens])).logits[0, -1]
    return {"file_type": numbers, "kv": keys, "tensors": list(tensors.values()), "text": TEXT, "tokens": tokens,
            "logits": [float(x) for x in logits[:LOGITS]], "most": float(logits.abs().max())}


def write_expected(path, e):
    lines = ["{"]
    for key, value in e.items():
        if key in ("kv", "tensors"):
            value = "[\n  " + ",\n  ".join(json.dumps(v, ensure_ascii=False) for v in value) + "\n ]"
        else:
            value = json.dumps(value, ensure_ascii=False)
        lines.append(" %s: %s%s" % (json.dumps(key), value, "," if key != list(e)[-1] else ""))
    path.write_text("\n".join(lines + ["}"]) + "\n", encoding="utf-8")


def main():
    for name in ONLY or CASES:
        folder = OUTPUT / name
        shutil.rmtree(folder, ignore_errors=True)
        torch.manual_seed(1)
        pre = build(name, folder)
        write_expected(folder / "expected.json", expected(name, folder, pre))
        print(name, sum(p.stat().st_size for p in folder.iterdir()), flush=True)


main()
