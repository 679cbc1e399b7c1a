/* "ugm", "fairseq", "unigram": unigram language models, whose scores are logarithms of probabilities. Texts are normalized by a compiled
 * map of characters. llama.cpp has them as "t5". Sources: T5Model and BertModel of convert_hf_to_gguf.py. */
#include "tokenizer/vocabulary_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

static const char ggml[] = "tokenizer.ggml";

/* Puts the tokens and how texts are normalized. */
static bool
put_model(struct keys *keys, struct vocab *v, const struct sentencepiece_settings *settings, struct err *err)
{
    struct str map = { .max = keys->max };
    str_add(&map, str_or(settings->map, ""), settings->nmap);
    return tokens_put(keys, v, "t5", "default", true, err)
        && keys_put_bool(keys, ggml, "add_space_prefix", settings->adds_prefix, err)
        && keys_put_bool(keys, ggml, "remove_extra_whitespaces", settings->removes_spaces, err)
        && (!settings->map || keys_put_array(keys, ggml, "precompiled_charsmap", META_U8, settings->nmap, &map, err))
        && special_put(keys, v, v->n, err);
}

bool
ugm_put(struct keys *keys, struct vocab *v, struct err *err)
{
    const struct hf_text *file = &v->folder->file[HF_SENTENCEPIECE];
    struct sentencepiece_settings settings;
    if (!file->p)
        file = &v->folder->file[HF_SPIECE];
    if (!sentencepiece_settings(&settings, file, err))
        return false;
    if (!settings.unigram && file == &v->folder->file[HF_SENTENCEPIECE])
        return spm_put(keys, v, err);
    if (!settings.unigram)
        return err_set(err, ERR_UNSUPPORTED, "%s is not a unigram model; --no-tokenizer converts without it", file->name);
    return spm_read_pieces(v, file, true, err) && spm_add_texts(v, err) && put_model(keys, v, &settings, err);
}

/* --- fairseq: the first three pieces are replaced by four tokens, so that all others have the next id */

/* Sets the text of an unused id to that of the one before it. */
static bool
name_unused(struct vocab *v, size_t id, struct err *err)
{
    enum { ROOM = 32 };
    char *text = hf_chars_room(&v->chars, ROOM, err);
    if (!text)
        return false;
    v->token[id].p = text;
    v->token[id].n = (uint32_t)snprintf(text, ROOM, "[PAD%zu]", id - 1);
    return true;
}

static void
set_special(struct vocab *v, size_t id, const char *text, enum token_type type)
{
    v->token[id] = (struct vocab_token){ .p = text, .n = (uint32_t)strlen(text), .type = (uint8_t)type };
}

static bool
realign(struct vocab *v, const char *file, struct err *err)
{
    static const char *const first[] = { "<s>", "<pad>", "</s>", "<unk>" };
    enum { FIRST = sizeof first / sizeof *first };
    if (v->n <= FIRST)
        return err_set(err, ERR_MALFORMED, "%s: expected more than %d tokens, found %zu", file, FIRST, v->n);
    memmove(&v->token[FIRST], &v->token[FIRST - 1], (v->n - FIRST) * sizeof *v->token);
    for (size_t i = 0; i < FIRST; i++)
        set_special(v, i, first[i], i == FIRST - 1 ? TOKEN_UNKNOWN : TOKEN_CONTROL);
    for (size_t i = FIRST; i < v->n; i++)
        if (!v->token[i].p && !name_unused(v, i, err))
            return false;
    return true;
}

bool
fairseq_put(struct keys *keys, struct vocab *v, bool mask, struct err *err)
{
    enum { MASK = 250001 };     /* of XLM-RoBERTa, whose vocabulary all others have */
    const struct hf_text *file = &v->folder->file[HF_FAIRSEQ];
    struct sentencepiece_settings settings;
    if (!sentencepiece_settings(&settings, file, err) || !spm_read_pieces(v, file, true, err) || !realign(v, file->name, err))
        return false;
    if (!settings.unigram)
        return err_set(err, ERR_UNSUPPORTED, "%s is not a unigram model; --no-tokenizer converts without it", file->name);
    if (mask && v->n > MASK)
        set_special(v, MASK, "<mask>", TOKEN_CONTROL);
    return put_model(keys, v, &settings, err);
}

/* --- tokenizer.json */

/* Reads one entry of the vocabulary, [text, score]. */
static bool
read_entry(struct vocab *v, size_t id, const struct hf_value *entry, struct err *err)
{
    struct pull json;
    struct hf_string text;
    double score;
    hf_value_pull(&json, entry);
    if (pull_next(&json) != PULL_ARRAY || pull_next(&json) != PULL_STRING)
        return hf_value_fault(&json, entry, "a text and a score", err);
    if (!hf_string_of(&text, &v->chars, &json.token, err))
        return false;
    if (pull_next(&json) != PULL_NUMBER || !pull_as_double(&json, &score) || pull_next(&json) != PULL_ARRAY_END)
        return hf_value_fault(&json, entry, "a text and a score", err);
    v->token[id] = (struct vocab_token){ .p = text.p, .n = (uint32_t)text.n, .score = (float)score, .type = TOKEN_NORMAL };
    return tokens_register(v, v->json.file, &text, id, entry->at, err);
}

static bool
read_entries(struct vocab *v, struct err *err)
{
    const struct hf_value *list = &v->model[HF_VOCAB];
    struct hf_value one;
    struct pull json;
    size_t n = 0;
    bool end = false;
    if (!hf_array_begin(&json, list, err))
        return false;
    for (; hf_array_next(&one, &end, &json, list, err) && !end; n++) {
        if (n == v->n && !tokens_resize(v, num_min(num_max(1024, 2 * (uint64_t)n), TOKENS_MAX + 1), err))
            return false;
        if (!read_entry(v, n, &one, err))
            return false;
    }
    v->n = n;
    return err->kind == ERR_NONE && tokens_resize(v, num_max(n, v->options->size), err);
}

/* Reads the tokens that are added: those of the vocabulary only get a type. */
static bool
add_tokens(struct vocab *v, struct err *err)
{
    struct added_walk walk;
    struct added_token a;
    char shown[STR_SHOWN];
    bool end;
    if (!added_begin(&walk, &v->part[HF_ADDED], HF_ADDED_ARRAY, err))
        return false;
    while (added_next(&walk, v, &a, &end, err) && !end) {
        if (a.id >= v->n)
            return err_at(err, ERR_MALFORMED, a.at, "%s: token \"%s\" has id %" PRIu64 ", but there are %zu tokens", v->json.file,
                str_shown(shown, a.text.p, a.text.n), a.id, v->n);
        struct vocab_token *t = &v->token[a.id];
        if (!t->p)
            *t = (struct vocab_token){ .p = a.text.p, .n = (uint32_t)a.text.n, .score = TOKEN_SCORE_ADDED };
        t->type = a.special ? TOKEN_CONTROL : TOKEN_USER_DEFINED;
    }
    return err->kind == ERR_NONE;
}

/* Marks the token for unknown text: the added token that tokenizer_config.json names, else unk_id. */
static bool
mark_unknown(struct vocab *v, struct err *err)
{
    static const char *const name[] = { "unk_token" };
    struct hf_value value;
    struct hf_string text;
    uint64_t id = 3;
    size_t named;
    bool is_number = hf_value_kind(&v->model[HF_UNKNOWN_ID]) == PULL_NUMBER;
    if ((is_number && !hf_value_u64(&id, &v->model[HF_UNKNOWN_ID], err)) || !hf_value_members(&value, name, 1, &v->config, err))
        return false;
    if (hf_value_kind(&value) == PULL_STRING) {
        if (!hf_value_string(&text, &v->chars, &value, err))
            return false;
        if (tokens_find(v, &text, &named))
            id = named;
    }
    if (id >= v->n)
        return hf_value_wrong(&v->model[HF_UNKNOWN_ID], "the id of a token", err);
    v->token[id].type = TOKEN_UNKNOWN;
    return true;
}

/* Takes over a step of the normalizer: the compiled map, and what makes several spaces one. Steps may be in a sequence. */
static bool
take_normalizer(struct sentencepiece_settings *settings, struct vocab *v, const struct hf_value *step, bool inside, struct err *err)
{
    static const char *const names[] = { "type", "precompiled_charsmap", "normalizers", "pattern" };
    static const char *const regex[] = { "Regex" };
    struct hf_value m[4], value, one;
    struct hf_string type, text, bytes;
    struct pull json;
    bool end;
    if (!hf_value_members(m, names, 4, step, err) || !hf_value_string(&type, &v->chars, &m[0], err)
        || !hf_value_string(&text, &v->chars, &m[1], err))
        return false;
    if (hf_string_is(&type, "Precompiled") && text.n != 0) {
        if (!bytes_from_base64(&bytes, &v->chars, text.p, text.n, err))
            return false;
        settings->map = bytes.p;
        settings->nmap = bytes.n;
        return bytes.n != 0 || hf_value_wrong(&m[1], "base64", err);
    }
    if (hf_string_is(&type, "Replace")) {
        if (!hf_value_members(&value, regex, 1, &m[3], err) || !hf_value_string(&text, &v->chars, &value, err))
            return false;
        settings->removes_spaces = settings->removes_spaces || hf_string_is(&text, " {2,}");
    }
    if (!hf_string_is(&type, "Sequence") || inside || !m[2].p)
        return true;
    if (!hf_array_begin(&json, &m[2], err))
        return false;
    while (hf_array_next(&one, &end, &json, &m[2], err) && !end)
        if (!take_normalizer(settings, v, &one, true, err))
            return false;
    return err->kind == ERR_NONE;
}

/* Takes over a step of the pre-tokenizer: whether spaces are dropped, and whether one precedes a text. */
static bool
take_pre_tokenizer(struct sentencepiece_settings *settings, struct vocab *v, const struct hf_value *step, bool inside, struct err *err)
{
    static const char *const names[] = { "type", "prepend_scheme", "add_prefix_space", "pretokenizers" };
    struct hf_value m[4], one;
    struct hf_string type, scheme;
    struct pull json;
    bool end, prefix;
    if (!hf_value_members(m, names, 4, step, err) || !hf_value_string(&type, &v->chars, &m[0], err)
        || !hf_value_string(&scheme, &v->chars, &m[1], err) || !hf_value_bool(&prefix, &m[2], true, err))
        return false;
    if (hf_string_is(&type, "WhitespaceSplit"))
        settings->removes_spaces = true;
    if (hf_string_is(&type, "Metaspace"))
        settings->adds_prefix = prefix && !hf_string_is(&scheme, "never");
    if (!hf_string_is(&type, "Sequence") || inside || !m[3].p)
        return true;
    if (!hf_array_begin(&json, &m[3], err))
        return false;
    while (hf_array_next(&one, &end, &json, &m[3], err) && !end)
        if (!take_pre_tokenizer(settings, v, &one, true, err))
            return false;
    return err->kind == ERR_NONE;
}

bool
unigram_put(struct keys *keys, struct vocab *v, struct err *err)
{
    struct sentencepiece_settings settings = { .unigram = true };
    return read_entries(v, err)
        && add_tokens(v, err)
        && mark_unknown(v, err)
        && take_normalizer(&settings, v, &v->part[HF_NORMALIZER], false, err)
        && take_pre_tokenizer(&settings, v, &v->part[HF_PRE], false, err)
        && put_model(keys, v, &settings, err);
}
