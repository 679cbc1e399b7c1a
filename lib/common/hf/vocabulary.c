#include "hf/vocabulary_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"
#include "writer/put.h"

static const char ggml[] = "tokenizer.ggml";

/* --- tokens */

static const char *
text_of(const void *owner, uint32_t id, size_t *n)
{
    const struct hf_vocab *v = owner;
    *n = v->token[id].n;
    return v->token[id].p;
}

bool
hf_vocab_resize(struct hf_vocab *v, uint64_t n, struct err *err)
{
    if (n > HF_TOKENS_MAX)
        return err_set(err, ERR_LIMIT, ERR_NO_OFFSET, "%" PRIu64 " tokens exceed the limit of %d", n,
            HF_TOKENS_MAX);
    size_t room = n != 0 ? (size_t)n : 1;
    struct hf_token *token = realloc(v->token, room * sizeof *token);
    if (!token)
        return err_memory(err, room * sizeof *token);
    v->token = token;
    for (; v->n < n; v->n++)
        token[v->n] = (struct hf_token){ .score = HF_SCORE_PAD, .type = HF_PIECE_UNUSED };
    v->n = (size_t)n;
    return true;
}

bool
hf_vocab_register(struct hf_vocab *v, const char *file, const struct hf_string *text, size_t id, uint64_t at,
    struct err *err)
{
    uint32_t number = (uint32_t)id;
    bool again;
    char shown[STR_SHOWN];
    if (!table_add(&v->ids, text_of, v, text->p, text->n, &number, &again, err))
        return false;
    return !again || err_set(err, ERR_MALFORMED, at, "%s: duplicate token \"%s\"", file,
        str_shown(shown, text->p, text->n));
}

bool
hf_vocab_find(const struct hf_vocab *v, const struct hf_string *text, size_t *id)
{
    uint32_t number;
    if (!table_find(&v->ids, text_of, v, text->p, text->n, &number))
        return false;
    *id = number;
    return true;
}

static bool
put_tokens(struct keys *keys, const struct hf_vocab *v, struct err *err)
{
    struct str s = { .max = keys->max };
    char pad[32];
    for (size_t i = 0; i < v->n; i++) {
        const struct hf_token *t = &v->token[i];
        int npad = t->p ? 0 : snprintf(pad, sizeof pad, "[PAD%zu]", i);
        put_counted(&s, t->p ? t->p : pad, t->p ? t->n : (size_t)npad);
    }
    return keys_put_array(keys, ggml, "tokens", META_STRING, v->n, &s, err);
}

bool
hf_vocab_put(struct keys *keys, const struct hf_vocab *v, const char *model, const char *pre, bool scores,
    struct err *err)
{
    struct str types = { .max = keys->max }, all = { .max = keys->max };
    for (size_t i = 0; i < v->n; i++) {
        put(&types, v->token[i].type, 4);
        if (scores)
            put(&all, bits_of_float(v->token[i].score), 4);
    }
    bool ok = keys_put_text(keys, ggml, "model", model, strlen(model), err)
        && keys_put_text(keys, ggml, "pre", pre, strlen(pre), err)
        && put_tokens(keys, v, err)
        && (!scores || keys_put_array(keys, ggml, "scores", META_F32, v->n, &all, err))
        && keys_put_array(keys, ggml, "token_type", META_I32, v->n, &types, err);
    str_clear(&types);
    str_clear(&all);
    return ok;
}

/* --- added tokens */

static bool
is(const struct hf_string *text, const char *begin, const char *end)
{
    size_t nb = strlen(begin), ne = strlen(end);
    return text->n >= nb && text->n >= ne && memcmp(text->p, begin, nb) == 0
        && memcmp(text->p + text->n - ne, end, ne) == 0;
}

bool
hf_looks_special(const struct hf_string *text)
{
    static const char *const names[] = { "<pad>", "<mask>", "<2mass>", "[@BOS@]" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (hf_string_is(text, names[i]))
            return true;
    return is(text, "<|", "|>") || is(text, "<\xEF\xBD\x9C", "\xEF\xBD\x9C>") || is(text, "<unused", ">");
}

bool
hf_plain_spaces(struct hf_string *text, struct hf_chars *chars, struct err *err)
{
    static const char mark[] = "\xE2\x96\x81";
    const char *begin = memmem(text->p, text->n, mark, 3);
    if (!begin)
        return true;
    char *out = hf_chars_room(chars, text->n, err);
    if (!out)
        return false;
    size_t n = 0;
    for (size_t i = 0; i < text->n;) {
        bool marked = text->n - i >= 3 && memcmp(text->p + i, mark, 3) == 0;
        out[n++] = marked ? ' ' : text->p[i];
        i += marked ? 3 : 1;
    }
    *text = (struct hf_string){ out, n };
    return true;
}

bool
hf_added_begin(struct hf_added_walk *walk, const struct hf_value *list, enum hf_added_form form, struct err *err)
{
    walk->form = form;
    walk->list = *list;
    if (!list->p)
        return true;
    hf_value_pull(&walk->json, &walk->list);
    return pull_next(&walk->json) == (form == HF_ADDED_ARRAY ? PULL_ARRAY : PULL_OBJECT)
        || hf_value_wrong(&walk->list, form == HF_ADDED_ARRAY ? "an array" : "an object", err);
}

/* Parses a decimal key, written as Python prints it. */
static bool
id_of_key(uint64_t *id, const struct pull_text *key)
{
    *id = 0;
    if (key->n == 0 || key->n > 10 || key->escaped || (key->n > 1 && *key->p == '0'))
        return false;
    for (size_t i = 0; i < key->n; i++) {
        if (key->p[i] < '0' || key->p[i] > '9')
            return false;
        *id = *id * 10 + (uint64_t)(key->p[i] - '0');
    }
    return true;
}

/* Moves to the next key, or element. */
static bool
next_place(struct hf_added_walk *walk, struct hf_added *added, bool *end, struct err *err)
{
    struct pull ahead = walk->json;
    *end = !walk->list.p || ahead.p == ahead.end;
    if (*end)
        return true;
    enum pull_token token = pull_next(&ahead);
    *end = token == PULL_OBJECT_END || token == PULL_ARRAY_END;
    if (*end || walk->form == HF_ADDED_ARRAY)
        return true;
    walk->json = ahead;
    added->at = pull_token_at(&walk->json);
    return (token == PULL_KEY && (walk->form == HF_ADDED_IDS || id_of_key(&added->id, &walk->json.token)))
        || hf_value_fault(&walk->json, &walk->list, "ids as keys", err);
}

bool
hf_added_next(struct hf_added_walk *walk, struct hf_vocab *v, struct hf_added *added, bool *end, struct err *err)
{
    static const char *const names[] = { "content", "special", "normalized", "id" };
    struct hf_value one = walk->list, member[4];
    *added = (struct hf_added){ .normalized = true };
    if (!next_place(walk, added, end, err) || *end)
        return *end;
    if (walk->form == HF_ADDED_IDS)
        return hf_string_of(&added->text, &v->chars, &walk->json.token, err)
            && ((pull_next(&walk->json) == PULL_NUMBER && pull_as_u64(&walk->json, &added->id))
                || hf_value_fault(&walk->json, &walk->list, "ids that are non-negative integers", err));
    if (!pull_value_text(&walk->json, &one.p, &one.n))
        return hf_value_fault(&walk->json, &walk->list, "an object", err);
    one.at = added->at = walk->list.at + (uint64_t)(one.p - walk->list.p);
    if (hf_value_kind(&one) != PULL_OBJECT)
        return hf_value_wrong(&one, "a list of objects", err);
    if (!hf_value_members(member, names, walk->form == HF_ADDED_BY_ID ? 3 : 4, &one, err)
        || !hf_value_string(&added->text, &v->chars, &member[0], err)
        || !hf_value_bool(&added->special, &member[1], false, err)
        || !hf_value_bool(&added->normalized, &member[2], !added->special, err))
        return false;
    if (!added->text.p || added->text.n == 0 || added->text.n > UINT32_MAX)
        return err_set(err, ERR_MALFORMED, one.at, "%s: %s: a token has no content", one.file, one.name);
    return walk->form == HF_ADDED_BY_ID || hf_value_u64(&added->id, &member[3], err);
}

/* --- SentencePiece */

static void
set_token(struct hf_vocab *v, size_t id, const struct hf_string *text, float score, enum hf_piece_type type)
{
    v->token[id] = (struct hf_token){ .p = text->p, .n = (uint32_t)text->n, .score = score, .type = (uint8_t)type };
}

static bool
is_phi3(const struct hf_vocab *v)
{
    return v->options->family->vocabulary == HF_VOCABULARY_PHI3;
}

/* Reads all pieces, even those beyond vocab_size. As in sentencepiece, texts must be unique and there must be exactly one
 * unknown piece. */
static bool
read_pieces(struct hf_vocab *v, struct err *err)
{
    const struct hf_text *file = &v->folder->file[HF_SENTENCEPIECE];
    struct hf_pieces pieces = { .file = file };
    struct hf_piece piece;
    size_t room = 0, n = 0, unknown = 0;
    for (bool end = false;; n++) {
        if (!hf_pieces_next(&pieces, &piece, &end, err))
            return false;
        if (end)
            break;
        if (n == room && !hf_vocab_resize(v, room = num_min(room == 0 ? 1024 : 2 * room, HF_TOKENS_MAX + 1), err))
            return false;
        struct hf_string text = { piece.text, piece.n };
        enum hf_piece_type type = piece.type == HF_PIECE_USER_DEFINED ? HF_PIECE_NORMAL : piece.type;
        set_token(v, n, &text, piece.score, type);
        unknown += type == HF_PIECE_UNKNOWN;
        if (!hf_vocab_register(v, file->name, &text, n, piece.at, err))
            return false;
    }
    if (unknown != 1)
        return err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, "%s: expected one piece for unknown text, found %zu", file->name,
            unknown);
    uint64_t size = v->options->vocab_size;
    if (is_phi3(v) && size != 0 && n > size)
        return err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, "%s has %zu pieces, but config.json declares vocab_size %" PRIu64,
            file->name, n, size);
    v->n = n;
    return hf_vocab_resize(v, size != 0 ? size : n, err);
}

/* Reads added_tokens.json, { text: id }. Duplicate texts and ids are errors. */
static bool
add_texts(struct hf_vocab *v, struct err *err)
{
    struct hf_value all;
    struct hf_added_walk walk;
    struct hf_added a;
    bool end;
    if (!hf_value_file(&all, &v->folder->file[HF_ADDED_TOKENS], err) || !hf_added_begin(&walk, &all, HF_ADDED_IDS, err))
        return false;
    while (hf_added_next(&walk, v, &a, &end, err) && !end) {
        if (a.id >= v->n)
            continue;
        if (v->token[a.id].added)
            return err_set(err, ERR_MALFORMED, a.at, "%s: duplicate id %" PRIu64 "", all.file, a.id);
        set_token(v, (size_t)a.id, &a.text, HF_SCORE_ADDED, HF_PIECE_USER_DEFINED);
        v->token[a.id].added = true;
    }
    return err->kind == ERR_NONE;
}

/* Reads tokens described by objects; they replace the token with the same id. */
static bool
add_described(struct hf_vocab *v, const struct hf_value *list, enum hf_added_form form, struct err *err)
{
    struct hf_added_walk walk;
    struct hf_added a;
    bool end;
    if (!hf_added_begin(&walk, list, form, err))
        return false;
    while (hf_added_next(&walk, v, &a, &end, err) && !end) {
        if (a.id >= v->n && is_phi3(v))
            return err_set(err, ERR_MALFORMED, a.at, "%s: %s: id %" PRIu64 " is out of range for vocab_size %zu",
                list->file, list->name, a.id, v->n);
        if (a.id >= v->n)
            continue;
        bool special = a.special || (!is_phi3(v) && hf_looks_special(&a.text));
        if (!special && !is_phi3(v) && !hf_plain_spaces(&a.text, &v->chars, err))
            return false;
        set_token(v, (size_t)a.id, &a.text, HF_SCORE_ADDED, special ? HF_PIECE_CONTROL : HF_PIECE_USER_DEFINED);
    }
    return err->kind == ERR_NONE;
}

static bool
put_sentencepiece(struct keys *keys, struct hf_vocab *v, struct err *err)
{
    static const char *const name[] = { "added_tokens_decoder" };
    struct hf_value decoder;
    return read_pieces(v, err)
        && add_texts(v, err)
        && hf_value_members(&decoder, name, 1, &v->config, err)
        && add_described(v, &decoder, HF_ADDED_BY_ID, err)
        && (!is_phi3(v) || add_described(v, &v->part[HF_ADDED], HF_ADDED_ARRAY, err))
        && hf_vocab_put(keys, v, "llama", "default", true, err)
        && hf_special_put(keys, v, v->n, err)
        && (!hf_is_gemma(v->options->family) || keys_put_bool(keys, ggml, "add_space_prefix", false, err));
}

/* --- selection */

static bool
lacks(const struct hf_vocab *v, enum hf_file file, struct err *err)
{
    return err_set(err, ERR_UNSUPPORTED, ERR_NO_OFFSET, "%s is missing, which contains the tokenizer of a %s",
        v->folder->file[file].name, v->options->family->class);
}

/* Sets *is_it if tokenizer_class of tokenizer_config.json is GPT2Tokenizer. */
static bool
is_gpt2(bool *is_it, struct hf_vocab *v, struct err *err)
{
    static const char *const name[] = { "tokenizer_class" };
    struct hf_value value;
    struct hf_string class;
    if (!hf_value_members(&value, name, 1, &v->config, err) || !hf_value_string(&class, &v->chars, &value, err))
        return false;
    *is_it = hf_string_is(&class, "GPT2Tokenizer");
    return true;
}

static bool
put_space_prefix(struct keys *keys, struct hf_vocab *v, struct err *err)
{
    static const char *const name[] = { "add_prefix_space" };
    struct hf_value value;
    bool yes;
    if (!hf_value_members(&value, name, 1, &v->config, err) || !hf_value_bool(&yes, &value, false, err))
        return false;
    enum pull_token kind = hf_value_kind(&value);
    return kind == PULL_END || kind == PULL_NULL || keys_put_bool(keys, ggml, "add_space_prefix", yes, err);
}

/* Puts the keys that the converter sets for two vocabulary sizes, those of Code Llama and Granite. */
static bool
put_by_size(struct keys *keys, const struct hf_vocab *v, struct err *err)
{
    if (v->options->vocab_size == 32016 && !keys_find(keys, "tokenizer.ggml.eot_token_id"))
        return keys_put_u32(keys, ggml, "eot_token_id", 32010, err);
    return v->options->vocab_size != 49152 || keys_put_bool(keys, ggml, "add_bos_token", false, err);
}

static bool
put_llama(struct keys *keys, struct hf_vocab *v, bool pieces, struct err *err)
{
    bool is_json = false;
    if (v->folder->file[HF_TEKKEN].p && !v->json.p)
        return hf_vocab_tekken(keys, v, err) && put_by_size(keys, v, err);
    if (!put_space_prefix(keys, v, err) || (!pieces && !hf_vocab_is_llama_json(&is_json, v, err)))
        return false;
    return (pieces ? put_sentencepiece : is_json ? hf_vocab_llama_json : hf_vocab_bpe)(keys, v, err)
        && put_by_size(keys, v, err);
}

static bool
put_vocabulary(struct keys *keys, struct hf_vocab *v, struct err *err)
{
    const struct hf_text *file = v->folder->file;
    bool pieces = file[HF_SENTENCEPIECE].p != NULL, gpt2 = true, is_json = false;
    enum hf_vocabulary kind = v->options->family->vocabulary;
    if (kind == HF_VOCABULARY_LLAMA)
        return put_llama(keys, v, pieces, err);
    if (kind == HF_VOCABULARY_PHI3 && !is_gpt2(&gpt2, v, err))
        return false;
    if (kind == HF_VOCABULARY_SPM_JSON && !pieces && !hf_vocab_is_llama_json(&is_json, v, err))
        return false;
    bool by_pieces = kind == HF_VOCABULARY_SPM || (kind == HF_VOCABULARY_SPM_BPE && pieces)
        || (kind == HF_VOCABULARY_SPM_JSON && pieces) || (kind == HF_VOCABULARY_PHI3 && !gpt2);
    if (by_pieces)
        return pieces ? put_sentencepiece(keys, v, err) : lacks(v, HF_SENTENCEPIECE, err);
    return (is_json ? hf_vocab_llama_json : hf_vocab_bpe)(keys, v, err);
}

static bool
read_files(struct hf_vocab *v, struct err *err)
{
    static const char *const parts[HF_PARTS] = {
        [HF_ADDED] = "added_tokens", [HF_PRE] = "pre_tokenizer", [HF_NORMALIZER] = "normalizer",
        [HF_POST] = "post_processor", [HF_DECODER] = "decoder", [HF_MODEL] = "model",
    };
    static const char *const model[HF_MODEL_PARTS] = {
        [HF_TYPE] = "type", [HF_VOCAB] = "vocab", [HF_MERGE_LIST] = "merges", [HF_FALLBACK] = "byte_fallback",
        [HF_IGNORE_MERGES] = "ignore_merges",
    };
    const struct hf_text *file = v->folder->file;
    return hf_value_file(&v->json, &file[HF_TOKENIZER], err)
        && hf_value_members(v->part, parts, HF_PARTS, &v->json, err)
        && hf_value_members(v->model, model, HF_MODEL_PARTS, &v->part[HF_MODEL], err)
        && (v->json.p || hf_value_file(&v->model[HF_VOCAB], &file[HF_VOCAB_JSON], err))
        && hf_value_file(&v->config, &file[HF_TOKENIZER_CONFIG], err);
}

bool
hf_vocabulary_keys(struct keys *keys, const struct hf_folder *folder, const struct hf_vocabulary_options *options,
    uint64_t *tokens, struct err *err)
{
    const struct hf_text *file = folder->file;
    struct hf_vocab v = { .folder = folder, .options = options };
    *tokens = 0;
    if (!file[HF_TOKENIZER].p && !file[HF_SENTENCEPIECE].p && !file[HF_TEKKEN].p && !file[HF_MERGES].p
        && !file[HF_VOCAB_JSON].p)
        return true;
    bool ok = read_files(&v, err) && put_vocabulary(keys, &v, err);
    if (ok)
        *tokens = v.n;
    free(v.token);
    table_clear(&v.ids);
    hf_chars_clear(&v.chars);
    return ok;
}
