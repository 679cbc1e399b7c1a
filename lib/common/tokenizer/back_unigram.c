/* Members of tokenizer.json for unigram models ("t5"). The vocabulary is a list of texts and scores by id. */
#include "tokenizer/back_priv.h"
#include "tokenizer/sentencepiece.h"

/* Writes the bytes of the array as base64. */
static void
push_base64(struct push *json, const struct meta_array *bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct str text = { 0 };
    for (uint64_t i = 0; i < bytes->count; i += 3) {
        uint64_t left = bytes->count - i;
        uint32_t bits = (uint32_t)bytes->p[i] << 16;
        if (left > 1)
            bits |= (uint32_t)bytes->p[i + 1] << 8;
        if (left > 2)
            bits |= bytes->p[i + 2];
        const char four[] = { digits[bits >> 18], digits[bits >> 12 & 63], digits[bits >> 6 & 63], digits[bits & 63] };
        str_add(&text, four, left > 2 ? 4 : (size_t)left + 1);
        str_add(&text, "==", left > 2 ? 0 : 3 - (size_t)left);
    }
    push_string(json, str_or(text.p, ""), text.len);
    json->out->failed = json->out->failed || text.failed;
    str_clear(&text);
}

void
back_unigram_normalizer(struct push *json, const struct back_tokens *tokens)
{
    if (!tokens->map) {
        push_null(json);
        return;
    }
    back_put_type(json, "Precompiled");
    push_key(json, "precompiled_charsmap");
    push_base64(json, tokens->map);
    push_end(json);
}

void
back_unigram_metaspace(struct push *json, const struct back_tokens *tokens)
{
    bool prefix = !tokens->has_space_prefix || tokens->space_prefix;
    back_put_type(json, "Metaspace");
    push_key(json, "replacement");
    push_text(json, "\xE2\x96\x81");
    push_key(json, "prepend_scheme");
    push_text(json, prefix ? "always" : "never");
    push_key(json, "split");
    push_bool(json, true);
    push_end(json);
}

void
back_unigram_pre_tokenizer(struct push *json, const struct back_tokens *tokens)
{
    if (!tokens->removes_spaces) {
        back_unigram_metaspace(json, tokens);
        return;
    }
    back_put_type(json, "Sequence");
    push_key(json, "pretokenizers");
    push_array(json);
    back_put_type(json, "WhitespaceSplit");
    push_end(json);
    back_unigram_metaspace(json, tokens);
    push_end(json);
    push_end(json);
}

/* Returns the number of tokens up to the last that is in use; sets *unknown to the id of the token for unknown text. */
static size_t
count_used(const struct back_tokens *tokens, size_t *unknown)
{
    size_t used = 0;
    *unknown = tokens->role[BACK_UNK].n != 0 ? (size_t)tokens->id[BACK_UNK] : 0;
    for (size_t i = 0; i < tokens->n; i++) {
        if (tokens->list[i].type == TOKEN_UNKNOWN)
            *unknown = i;
        if (tokens->list[i].type != TOKEN_UNUSED)
            used = i + 1;
    }
    return used;
}

bool
back_unigram_model(struct push *json, const struct back_tokens *tokens, struct err *err)
{
    size_t unknown, n = count_used(tokens, &unknown);
    if (!tokens->has_scores)
        return err_set(err, ERR_UNSUPPORTED, "key tokenizer.ggml.scores is missing, which the tokenizer %.*s requires; "
            "--no-tokenizer writes the model without it", (int)tokens->model.n, tokens->model.p);
    push_key(json, "model");
    back_put_type(json, "Unigram");
    push_key(json, "unk_id");
    push_u64(json, unknown);
    push_key(json, "vocab");
    push_array(json);
    for (size_t i = 0; i < n; i++) {
        push_array(json);
        push_string(json, tokens->list[i].p, tokens->list[i].n);
        push_real(json, tokens->list[i].score);
        push_end(json);
    }
    push_end(json);
    push_key(json, "byte_fallback");
    push_bool(json, false);
    push_end(json);
    return true;
}
