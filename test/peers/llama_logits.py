"""llama_logits.py: for peers that run in the environment of transformers: reads a line {path, texts, tokens} and writes
a line {tokens: of each text, logits: after these tokens} or {error}, until the end of its input. For an encoder,
logits are the state of the last token of the first text. With {adapter, scale}, the model has this adapter."""
import json
import os
import sys

import llama_cpp
import numpy

F32 = 0                         # GGML_TYPE_F32, of the cache


def answer(request):
    encoder = request.get("encoder", False)
    try:
        model = llama_cpp.Llama(request["path"], n_ctx=512, n_batch=512, n_ubatch=512, n_threads=1, logits_all=not encoder, verbose=False,
                                type_k=F32, type_v=F32, flash_attn=False, embedding=encoder,
                                lora_path=request.get("adapter"), lora_scale=request.get("scale", 1.0),
                                pooling_type=llama_cpp.LLAMA_POOLING_TYPE_NONE if encoder else llama_cpp.LLAMA_POOLING_TYPE_UNSPECIFIED)
    except (ValueError, RuntimeError) as error:
        return {"error": str(error)}
    got = {"tokens": [model.tokenize(t.encode(), add_bos=True, special=True) for t in request["texts"]]}
    tokens = request["tokens"]
    if encoder:
        got["logits"] = model.embed(request["texts"][0], normalize=False)[-1]
    else:
        model.eval(tokens)
        got["logits"] = numpy.array(model.scores[len(tokens) - 1], "<f8").tolist()
    model.close()
    return got


def main():
    os.environ["GGML_NO_BACKTRACE"] = "1"
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


main()
