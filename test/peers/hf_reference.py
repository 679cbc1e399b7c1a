"""hf_reference: llama.cpp's converter, run on a model directory, and what it and transformers make of it, as expected.json has it.
LLAMA_CPP, in the environment, is the folder with convert_hf_to_gguf.py, its conversion/ and gguf-py/ (the source archive of
llama-cpp-python has it as vendor/llama.cpp). The reference recognizes only known vocabularies to choose a pre-tokenizer, so the name
is given to it by hand."""
import hashlib
import json
import logging
import os
import struct
import sys
import tempfile
from pathlib import Path

LLAMA_CPP = os.environ["LLAMA_CPP"]
sys.path[:0] = [LLAMA_CPP, os.path.join(LLAMA_CPP, "gguf-py")]
sys.dont_write_bytecode = True
import gguf
import sentencepiece
import tokenizers
import torch
import transformers
from conversion import ModelBase, ModelType, get_model_architecture, get_model_class
from conversion.base import TextModel
from conversion.gemma import Gemma4Model
from safetensors.torch import load_file

import hf_models
import hf_text_models

logging.disable(logging.CRITICAL)
transformers.logging.set_verbosity_error()
TYPES = {"auto": "GUESSED", "f32": "ALL_F32", "f16": "MOSTLY_F16", "bf16": "MOSTLY_BF16"}
TEXT = "The ship left the harbour at 1234 in the rain, didn't it?\n  Two men and\tthe sea: cafe, café!"
LOGITS = 24
NAMES = dict(gguf.TensorNameMap.block_mappings_cfg)     # an architecture with names of its own leaves them to the next model


def mend_baichuan(cls):
    """Its own method calls itself without end for all but one tensor of a layer."""
    own = cls.modify_tensors
    cls.modify_tensors = lambda self, data, name, bid: (own if "W_pack" in name else TextModel.modify_tensors)(self, data, name, bid)


def mend_heads(cls):
    """It takes the norm of the first head for all."""
    cls.__mro__[1]._reverse_hf_permute = staticmethod(lambda data, heads, width: data.view(heads, 2, -1).transpose(1, 2).reshape(heads, -1))


def mend_lerp(cls):
    """It keeps tensors from one model to the next."""
    cls.lerp_weights = {}


def mend_mtp(cls):
    """It counts a block of prediction that it drops."""
    cls.no_mtp = True


def mend_vocabulary(cls):
    """It reads a tokenizer from code beside the model only."""
    cls.set_vocab = TextModel.set_vocab


def mend_suppress(cls):
    """It looks for tokens without an embedding in an index, which a model in one file lacks."""
    cls._get_suppress_tokens = lambda self: None


def mend_gemma4(cls):
    """It reads the tokenizer of its target, which here is the draft's directory."""
    cls.set_vocab = lambda self, own=cls.set_vocab: (Gemma4Model.set_vocab(self), self.gguf_writer.add_mask_token_id(self.hparams["mask_token_id"]))


MENDED = {"gemma4": mend_gemma4, "heads": mend_heads, "lerp": mend_lerp, "mtp": mend_mtp, "suppress": mend_suppress, "baichuan": mend_baichuan, "vocabulary": mend_vocabulary}


def convert(folder, kind, pre, target):
    """Writes the reference's file. "hparams" of a case are members that its class misses or misreads, "eager" one that cannot be lazy."""
    options = hf_models.CASES[folder.name][5] if folder.name in hf_models.CASES else {}
    TextModel.get_vocab_base_pre = lambda self, tokenizer: pre
    gguf.TensorNameMap.block_mappings_cfg = dict(NAMES)
    with torch.inference_mode():
        hparams = ModelBase.load_hparams(folder, False)
        cls = get_model_class(get_model_architecture(hparams, ModelType.TEXT))
        if hasattr(cls, "lerp_weights"):        # kept from one model to the next
            cls.lerp_weights = {}
        if "mend" in options:                   # of this model only
            cls = type(cls.__name__, (cls,), {"model_arch": cls.model_arch})
        for word in options.get("mend", ()):
            MENDED[word](cls)
        cls(folder, gguf.LlamaFileType[TYPES[kind]], target, is_big_endian=False, use_temp_file=False, eager=options.get("eager", False),
            hparams={**hparams, **options["hparams"]} if "hparams" in options else None, metadata_override=None, model_name=None, split_max_tensors=0, split_max_size=0, dry_run=False,
            target_model_dir=folder, small_first_shard=False, remote_hf_model_id=None).write()


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


def tokens_of(folder, text=TEXT):
    """Returns the tokens of the tokenizer's own library."""
    for file in ("tokenizer.model", "spiece.model"):
        if (folder / file).exists():
            config = json.loads((folder / "tokenizer_config.json").read_text())
            p = sentencepiece.SentencePieceProcessor(str(folder / file))
            return [1] * config.get("add_bos_token", False) + p.encode(text) + [p.eos_id()] * (config["tokenizer_class"] == "T5Tokenizer")
    return tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text).ids


def load(name, folder):
    """Returns transformers' model of a directory, for computations in F32."""
    options = hf_models.CASES[name][5]
    if options.get("kimi") or "named" in options:
        kind = hf_models.class_of(name)
        c = json.loads((folder / "config.json").read_text())
        c = {k: v for k, v in c.get("text_config", c).items() if k not in ("architectures", "model_type")}
        state = {k.removeprefix("language_model."): t for path in sorted(folder.glob("*.safetensors")) for k, t in load_file(path).items()}
        state = {k: t for k, t in state.items() if not k.startswith("vision_tower.")}
        return kind.from_pretrained(None, config=kind.config_class(**c), state_dict=state, dtype=torch.float32, attn_implementation="eager")
    return hf_models.class_of(name).from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")


def logits_of(model, tokens):
    """Returns logits of the last token; without logits, its state."""
    with torch.inference_mode():
        more = {"decoder_input_ids": torch.tensor([[model.config.decoder_start_token_id]])} if model.config.is_encoder_decoder else {}
        out = model(torch.tensor([tokens]), **more)
        if hasattr(out, "last_hidden_state"):
            return out.last_hidden_state[0, -1]
        return out.logits[0, -1] if out.logits.dim() == 3 else out.logits[0]


def outputs(model, pre, kinds=TYPES):
    """Returns what the reference makes of a directory, with each of these output types."""
    tensors, numbers, keys = {}, {}, []
    with tempfile.TemporaryDirectory() as work:
        for kind in kinds:
            path = Path(work) / (kind + ".gguf")
            convert(model, kind, pre, path)
            reader = gguf.GGUFReader(path)
            for t in reader.tensors:
                entry = tensors.setdefault(t.name, {"name": t.name, "ne": [int(d) for d in t.shape]})
                entry[kind] = [t.tensor_type.name, sha(t.data.tobytes())]
                if t.name.endswith(".ssm_a"):           # an exponential
                    entry["values"] = t.data.reshape(-1).tolist()
            numbers[kind] = int(reader.fields["general.file_type"].contents()) if "general.file_type" in reader.fields else None
            keys = keys or list(keys_of(reader))
    return {"file_type": numbers, "kv": keys, "tensors": list(tensors.values())}


def expected(name, folder, pre):
    """Makes the case's directory, and returns what is expected of it."""
    with tempfile.TemporaryDirectory() as work:
        model = Path(work) / name
        hf_models.hf_model.make(str(folder), str(model))
        if name in hf_text_models.CASES:        # weights of this type, and keys
            return outputs(model, pre, {"auto": TYPES["auto"]})
        made = outputs(model, pre)
        if "weights" in hf_models.CASES[name][5]:
            return made
        tokens = tokens_of(model)
        logits = logits_of(load(name, model), tokens)
    return {**made, "text": TEXT, "tokens": tokens, "logits": [float(x) for x in logits[:LOGITS]], "most": float(logits.abs().max())}


def write_expected(path, e):
    lines = ["{"]
    for key, value in e.items():
        if key in ("kv", "tensors"):
            value = "[\n  " + ",\n  ".join(json.dumps(v, ensure_ascii=False) for v in value) + "\n ]"
        else:
            value = json.dumps(value, ensure_ascii=False)
        lines.append(" %s: %s%s" % (json.dumps(key), value, "," if key != list(e)[-1] else ""))
    path.write_text("\n".join(lines + ["}"]) + "\n", encoding="utf-8")
