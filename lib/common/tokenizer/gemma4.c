/* "gemma4": a BPE over characters with byte fallback, which llama.cpp merges by its list of merges. Source: Gemma4Model of
 * convert_hf_to_gguf.py. */
#include "tokenizer/vocabulary_priv.h"

/* Makes the tokens user-defined that llama.cpp's chat parser has to see. */
static void
show_tags(struct vocab *v)
{
    static const char *const tags[] = { "<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>", "<|tool_response>",
        "<tool_response|>", "<|\"|>" };
    for (size_t i = 0; i < v->n; i++) {
        const struct hf_string text = { v->token[i].p, v->token[i].n };
        for (size_t k = 0; text.p && k < sizeof tags / sizeof *tags; k++)
            if (hf_string_is(&text, tags[k]))
                v->token[i].type = TOKEN_USER_DEFINED;
    }
}

bool
gemma4_put(struct keys *keys, struct vocab *v, struct err *err)
{
    struct bpe b;
    if (!bpe_read(&b, v, "BPE", true, err) || !llama_json_settle(&b, false, err)
        || !tokens_resize(v, b.next, err))
        return false;
    show_tags(v);
    return tokens_put(keys, v, "gemma4", NULL, true, err)
        && merges_put(keys, v, err)
        && special_put(keys, v, 0, err);
}
