/* The text of tokenizer.json for BPE over bytes ("gpt2"), BPE over characters ("gemma4"), WordPiece ("bert") and, with
 * back_unigram.c, unigram models ("t5"). */
#include "tokenizer/back_priv.h"

#include <inttypes.h>
#include <string.h>

#include "tokenizer/sentencepiece.h"

#define SPACE "\xE2\x96\x81"            /* U+2581, written for a space */

static void
put_bool(struct push *json, const char *key, bool yes)
{
    push_key(json, key);
    push_bool(json, yes);
}

static void
put_string(struct push *json, const char *key, const struct hf_string *text)
{
    push_key(json, key);
    if (text->n != 0)
        push_string(json, text->p, text->n);
    else
        push_null(json);
}

/* --- tokens */

static void
put_added(struct push *json, const struct back_tokens *tokens)
{
    push_key(json, "added_tokens");
    push_array(json);
    for (size_t i = 0; i < tokens->n; i++) {
        const struct back_token *t = &tokens->list[i];
        if (!back_token_is_added(t))
            continue;
        push_object(json);
        push_key(json, "id");
        push_u64(json, i);
        push_key(json, "content");
        push_string(json, t->p, t->n);
        put_bool(json, "single_word", false);
        put_bool(json, "lstrip", false);
        put_bool(json, "rstrip", false);
        put_bool(json, "normalized", false);
        put_bool(json, "special", back_token_is_special(t));
        push_end(json);
    }
    push_end(json);
}

/* Writes the vocabulary: all tokens up to the last one that is not an added token. Without the added tokens in between, the
 * tokenizers library would renumber the tokens after them. */
static void
put_vocabulary(struct push *json, const struct back_tokens *tokens, size_t n)
{
    push_key(json, "vocab");
    push_object(json);
    for (size_t i = 0; i < n; i++) {
        const struct back_token *t = &tokens->list[i];
        if (t->type == TOKEN_UNUSED)
            continue;
        push_name(json, t->p, t->n);
        push_u64(json, i);
    }
    push_end(json);
}

/* Returns the length of the first text of a merge: up to a space that is not the first character, as in llama.cpp. 0: none. */
static size_t
back_tokenizer_json_first_of(const struct meta_value *merge, bool *other_spaces)
{
    const char *p = merge->as.s.p;
    size_t n = merge->as.s.n;
    const char *space = NULL;
    if (n > 1)
        space = memchr(p + 1, ' ', n - 1);
    size_t first = 0;
    if (space)
        first = (size_t)(space - p);
    if (first == 0 || first + 1 == n)
        return 0;
    *other_spaces = *p == ' ' || memchr(space + 1, ' ', n - first - 1);
    return first;
}

/* Checks all merges. Sets *pairs if one contains more spaces than the one between its texts, which only a list of pairs can
 * express; older versions of the tokenizers library read only a list of texts. */
static bool
check_merges(bool *pairs, const struct back_tokens *tokens, struct err *err)
{
    struct meta_value merge;
    char shown[STR_SHOWN];
    *pairs = false;
    if (!tokens->merges)
        return err_set(err, ERR_UNSUPPORTED, "key tokenizer.ggml.merges is missing, which the tokenizer %.*s "
            "requires; --no-tokenizer writes the model without it", (int)tokens->model.n, tokens->model.p);
    struct meta_iter it = meta_first(tokens->merges);
    for (uint64_t i = 0; meta_next(&it, &merge); i++) {
        bool other = false;
        if (back_tokenizer_json_first_of(&merge, &other) == 0 || !str_is_utf8(merge.as.s.p, merge.as.s.n))
            return err_set(err, ERR_MALFORMED, "merge %" PRIu64 ", '%s', is not two texts of UTF-8 separated by a "
                "space", i, str_shown(shown, merge.as.s.p, merge.as.s.n));
        *pairs = *pairs || other;
    }
    return true;
}

static bool
put_merges(struct push *json, const struct back_tokens *tokens, struct err *err)
{
    struct meta_value merge;
    bool pairs, other;
    if (!check_merges(&pairs, tokens, err))
        return false;
    push_key(json, "merges");
    push_array(json);
    struct meta_iter it = meta_first(tokens->merges);
    while (meta_next(&it, &merge)) {
        const char *p = merge.as.s.p;
        size_t n = merge.as.s.n, first = pairs ? back_tokenizer_json_first_of(&merge, &other) : 0;
        if (!pairs) {
            push_string(json, p, n);
            continue;
        }
        push_array(json);
        push_string(json, p, first);
        push_string(json, p + first + 1, n - first - 1);
        push_end(json);
    }
    push_end(json);
    return true;
}

/* --- the model */

static bool
put_bpe(struct push *json, const struct back_tokens *tokens, bool characters, bool ignores_merges, struct err *err)
{
    static const struct hf_string none;
    push_key(json, "model");
    back_put_type(json, "BPE");
    push_key(json, "dropout");
    push_null(json);
    put_string(json, "unk_token", characters ? &tokens->role[BACK_UNK] : &none);
    push_key(json, "continuing_subword_prefix");
    push_null(json);
    push_key(json, "end_of_word_suffix");
    push_null(json);
    put_bool(json, "fuse_unk", characters);
    put_bool(json, "byte_fallback", characters);
    put_bool(json, "ignore_merges", ignores_merges);
    put_vocabulary(json, tokens, tokens->covered);
    bool ok = put_merges(json, tokens, err);
    push_end(json);
    return ok;
}

static void
put_wordpiece(struct push *json, const struct back_tokens *tokens)
{
    static const struct hf_string unknown = { "[UNK]", 5 };
    push_key(json, "model");
    back_put_type(json, "WordPiece");
    put_string(json, "unk_token", tokens->role[BACK_UNK].n != 0 ? &tokens->role[BACK_UNK] : &unknown);
    push_key(json, "continuing_subword_prefix");
    push_text(json, "##");
    push_key(json, "max_input_chars_per_word");
    push_u64(json, 100);
    put_vocabulary(json, tokens, tokens->n);
    push_end(json);
}

/* --- what comes before it */

static void
put_replace(struct push *json, const char *from, const char *to)
{
    back_put_type(json, "Replace");
    push_key(json, "pattern");
    push_object(json);
    push_key(json, "String");
    push_text(json, from);
    push_end(json);
    push_key(json, "content");
    push_text(json, to);
    push_end(json);
}

static void
put_normalizer(struct push *json, const struct back_tokens *tokens, enum back_kind kind, const struct back_split *split)
{
    push_key(json, "normalizer");
    if (kind == BACK_UNIGRAM) {
        back_unigram_normalizer(json, tokens);
    } else if (kind == BACK_GEMMA4) {
        put_replace(json, " ", SPACE);
    } else if (kind == BACK_WORDPIECE) {
        back_put_type(json, "BertNormalizer");
        put_bool(json, "clean_text", true);
        put_bool(json, "handle_chinese_chars", true);
        push_key(json, "strip_accents");
        if (tokens->has_strip_accents)
            push_bool(json, tokens->strip_accents);
        else
            push_null(json);
        put_bool(json, "lowercase", tokens->has_lowercase && tokens->lowercase);
        push_end(json);
    } else if (split->composes) {
        back_put_type(json, "NFC");
        push_end(json);
    } else {
        push_null(json);
    }
}

static void
put_pre_tokenizer(struct push *json, const struct back_tokens *tokens, enum back_kind kind, const struct back_split *split)
{
    if (kind == BACK_BPE) {
        back_split_push(json, split);
        return;
    }
    push_key(json, "pre_tokenizer");
    if (kind == BACK_UNIGRAM) {
        back_unigram_pre_tokenizer(json, tokens);
        return;
    }
    if (kind == BACK_WORDPIECE) {
        back_put_type(json, "BertPreTokenizer");
        push_end(json);
        return;
    }
    back_put_type(json, "Split");
    push_key(json, "pattern");
    push_object(json);
    push_key(json, "String");
    push_text(json, " ");
    push_end(json);
    push_key(json, "behavior");
    push_text(json, "MergedWithPrevious");
    put_bool(json, "invert", false);
    push_end(json);
}

static void
put_decoder(struct push *json, const struct back_tokens *tokens, enum back_kind kind)
{
    push_key(json, "decoder");
    if (kind == BACK_UNIGRAM) {
        back_unigram_metaspace(json, tokens);
        return;
    }
    if (kind == BACK_WORDPIECE) {
        back_put_type(json, "WordPiece");
        push_key(json, "prefix");
        push_text(json, "##");
        put_bool(json, "cleanup", true);
    } else if (kind == BACK_BPE) {
        back_put_type(json, "ByteLevel");
        put_bool(json, "add_prefix_space", true);
        put_bool(json, "trim_offsets", true);
        put_bool(json, "use_regex", true);
    } else {
        back_put_type(json, "Sequence");
        push_key(json, "decoders");
        push_array(json);
        put_replace(json, SPACE, " ");
        back_put_type(json, "ByteFallback");
        push_end(json);
        back_put_type(json, "Fuse");
        push_end(json);
        push_end(json);
    }
    push_end(json);
}

bool
back_tokenizer_json(struct str *out, const struct back_tokens *tokens, enum back_kind kind, const struct back_split *split,
    struct err *err)
{
    struct push json = { .out = out };
    bool ok = true;
    push_object(&json);
    push_key(&json, "version");
    push_text(&json, "1.0");
    push_key(&json, "truncation");
    push_null(&json);
    push_key(&json, "padding");
    push_null(&json);
    put_added(&json, tokens);
    put_normalizer(&json, tokens, kind, split);
    put_pre_tokenizer(&json, tokens, kind, split);
    back_post_processor(&json, tokens, kind, split);
    put_decoder(&json, tokens, kind);
    if (kind == BACK_WORDPIECE)
        put_wordpiece(&json, tokens);
    else if (kind == BACK_UNIGRAM)
        ok = back_unigram_model(&json, tokens, err);
    else
        ok = put_bpe(&json, tokens, kind == BACK_GEMMA4, kind == BACK_BPE && split->ignores_merges, err);
    push_end(&json);
    return ok;
}
