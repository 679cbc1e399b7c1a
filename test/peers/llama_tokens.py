"""llama_tokens.py: reads [{"path": a GGUF file, "texts": [...]}, ...] from standard input and prints llama.cpp's tokens of
each text for each file: {"pre": its pre-tokenizer, "ids": [[ids without surrounding special tokens, ids with them],
...]}, or null if it cannot load the file. Only the vocabulary is loaded. Needs llama-cpp-python."""
import ctypes
import json
import sys

import llama_cpp

QUIET = llama_cpp.llama_log_callback(lambda level, text, data: None)


def encode(vocab, text, around):
    raw = text.encode()
    room = 8 * len(raw) + 64
    ids = (llama_cpp.llama_token * room)()
    n = llama_cpp.llama_tokenize(vocab, raw, len(raw), ids, room, around, True)
    return list(ids[:n])


def tokens(path, texts):
    params = llama_cpp.llama_model_default_params()
    params.vocab_only = True
    model = llama_cpp.llama_model_load_from_file(path.encode(), params)
    if not model:
        return None
    vocab = llama_cpp.llama_model_get_vocab(model)
    made = [[encode(vocab, text, around) for around in (False, True)] for text in texts]
    value = ctypes.create_string_buffer(64)
    llama_cpp.llama_model_meta_val_str(model, b"tokenizer.ggml.pre", value, len(value))
    llama_cpp.llama_model_free(model)
    return {"pre": value.value.decode(), "ids": made}


def main():
    llama_cpp.llama_log_set(QUIET, ctypes.c_void_p(0))
    llama_cpp.llama_backend_init()
    json.dump([tokens(job["path"], job["texts"]) for job in json.load(sys.stdin)], sys.stdout)


main()
