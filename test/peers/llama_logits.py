"""llama_logits.py: for peers that run in the environment of transformers: reads a line {path, texts, tokens} and writes
a line {tokens: of each text, logits: after these tokens} or {error}, until the end of its input. For an encoder,
logits are the state of the last token; for an encoder with a decoder, the logits of its first step. With {adapter, scale}, the model
has this adapter."""
import ctypes
import json
import os
import sys

import llama_cpp as L

F32 = 0                         # GGML_TYPE_F32, of the cache
SAID = []                       # errors of the log


@L.llama_log_callback
def listen(level, text, data):
    if level == 4:              # GGML_LOG_LEVEL_ERROR
        SAID.append(text.decode(errors="replace").strip())


def tokenize(vocab, text):
    raw = text.encode()
    ids = (L.llama_token * (8 * len(raw) + 64))()
    return list(ids[:L.llama_tokenize(vocab, raw, len(raw), ids, len(ids), True, True)])


def batch_of(tokens):
    batch = L.llama_batch_init(len(tokens), 0, 1)
    batch.n_tokens = len(tokens)
    for i, token in enumerate(tokens):
        batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, i, 1, True
        batch.seq_id[i][0] = 0
    return batch


def context_of(model, encoder):
    params = L.llama_context_default_params()
    params.n_ctx = params.n_batch = params.n_ubatch = 512
    params.n_threads = params.n_threads_batch = 1
    params.type_k = params.type_v = F32
    params.flash_attn_type = L.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.embeddings = encoder
    params.pooling_type = L.LLAMA_POOLING_TYPE_NONE if encoder else L.LLAMA_POOLING_TYPE_UNSPECIFIED
    return L.llama_init_from_model(model, params)


def compute(model, vocab, context, tokens, encoder):
    """Returns the logits or the state after the tokens, or why there are none."""
    if L.llama_model_has_encoder(model):
        if L.llama_encode(context, batch_of(tokens)):
            return "llama_encode fails"
        if L.llama_model_has_decoder(model):
            tokens = [L.llama_model_decoder_start_token(model)]
    if not encoder or not L.llama_model_has_encoder(model):
        if L.llama_decode(context, batch_of(tokens)):
            return "llama_decode fails"
    get, n = L.llama_get_logits_ith, L.llama_vocab_n_tokens(vocab)
    if encoder:
        get, n = L.llama_get_embeddings_ith, L.llama_model_n_embd(model)
    found = get(context, len(tokens) - 1)
    return list(found[:n]) if found else "no logits"


def answer(request):
    encoder = request.get("encoder", False)
    params = L.llama_model_default_params()
    params.use_mmap = False
    model = L.llama_model_load_from_file(request["path"].encode(), params)
    if not model:
        return {"error": "does not load: " + (SAID[0] if SAID else "")}
    context = context_of(model, encoder)
    if not context:
        return {"error": "has no context: " + (SAID[0] if SAID else "")}
    if "adapter" in request:
        adapter = L.llama_adapter_lora_init(model, request["adapter"].encode())
        if not adapter:
            return {"error": "does not load the adapter: " + (SAID[0] if SAID else "")}
        L.llama_set_adapters_lora(context, (L.llama_adapter_lora_p_ctypes * 1)(adapter), 1, (ctypes.c_float * 1)(request.get("scale", 1.0)))
    vocab = L.llama_model_get_vocab(model)
    got = compute(model, vocab, context, request["tokens"], encoder)
    tokens = [tokenize(vocab, t) for t in request["texts"]]
    L.llama_free(context)
    L.llama_model_free(model)
    return {"error": got} if isinstance(got, str) else {"tokens": tokens, "logits": got}


def main():
    os.environ["GGML_NO_BACKTRACE"] = "1"
    L.llama_log_set(listen, ctypes.c_void_p(0))
    L.llama_backend_init()
    for line in sys.stdin:
        SAID.clear()
        print(json.dumps(answer(json.loads(line))), flush=True)


main()
