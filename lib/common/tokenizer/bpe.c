/* The BPE of tokenizer.json.
 *
 * Ids are assigned as in the tokenizers library: an added token has the id of the same text in the vocabulary, or else the next
 * id after the vocabulary and all tokens added so far. A file that declares other ids is ambiguous and is rejected.
 */
#include "tokenizer/vocabulary_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"

static bool
has_type(bool *has, struct vocab *v, const struct hf_value *object, const char *type, struct err *err)
{
    static const char *const name[] = { "type" };
    struct hf_value value;
    struct hf_string text;
    if (!hf_value_members(&value, name, 1, object, err) || !hf_value_string(&text, &v->chars, &value, err))
        return false;
    *has = hf_string_is(&text, type);
    return true;
}

static bool
read_parts(struct bpe *b, struct vocab *v, const char *want, struct err *err)
{
    struct hf_string type;
    char shown[STR_SHOWN];
    *b = (struct bpe){ .v = v };
    if (!v->json.p && (!v->model[HF_VOCAB].p || !v->folder->file[HF_MERGES].p))
        return err_set(err, ERR_UNSUPPORTED, "no tokenizer: expected %s, or vocab.json and merges.txt; "
            "--no-tokenizer converts without it", v->json.file);
    if (!hf_value_string(&type, &v->chars, &v->model[HF_TYPE], err)
        || !has_type(&b->by_alphabet, v, &v->part[HF_DECODER], "ByteLevel", err))
        return false;
    b->by_alphabet = b->by_alphabet || !v->json.p;      /* as in the classes that read vocab.json and merges.txt */
    if (type.p && !hf_string_is(&type, want))
        return err_at(err, ERR_UNSUPPORTED, v->model[HF_TYPE].at, "%s: expected a tokenizer of type %s, found \"%s\"; "
            "--no-tokenizer converts without it", v->json.file, want, str_shown(shown, type.p, type.n));
    return v->model[HF_VOCAB].p || hf_value_wrong(&v->model[HF_VOCAB], "an object", err);
}

bool
bpe_is_llama_json(bool *is, struct vocab *v, struct err *err)
{
    struct hf_string type;
    bool fallback, sequence;
    if (!hf_value_string(&type, &v->chars, &v->model[HF_TYPE], err)
        || !hf_value_bool(&fallback, &v->model[HF_FALLBACK], false, err)
        || !has_type(&sequence, v, &v->part[HF_DECODER], "Sequence", err))
        return false;
    *is = hf_string_is(&type, "BPE") && fallback && sequence;
    return true;
}

/* --- tokens */

static bool
set_token(struct bpe *b, const struct hf_string *text, uint64_t id, uint64_t at, struct err *err)
{
    struct vocab *v = b->v;
    uint64_t size = v->options->size;
    const char *file = v->model[HF_VOCAB].file;
    uint64_t most = v->config.n + (v->json.p ? v->json.n : v->model[HF_VOCAB].n + v->folder->file[HF_ADDED_TOKENS].n);
    char shown[STR_SHOWN];
    str_shown(shown, text->p, text->n);
    if (text->n > UINT32_MAX || (size != 0 && id >= size))
        return err_at(err, ERR_MALFORMED, at, "%s: token \"%s\" has id %" PRIu64 ", but config.json declares vocab_size "
            "%" PRIu64, file, shown, id, size);
    if (id >= most)             /* no file has this many tokens; do not allocate for it */
        return err_at(err, ERR_MALFORMED, at, "%s: token \"%s\" has id %" PRIu64 ", which is out of range", file, shown, id);
    if (id >= v->n && !tokens_resize(v, size != 0 ? size : num_max(id + 1, num_min(2 * id, TOKENS_MAX)), err))
        return false;
    if (v->token[id].p)
        return err_at(err, ERR_MALFORMED, at, "%s: token \"%s\" has id %" PRIu64 ", which is already used",
            file, shown, id);
    v->token[id] = (struct vocab_token){ .p = text->p, .n = (uint32_t)text->n, .score = TOKEN_SCORE_ADDED,
        .type = TOKEN_NORMAL };
    return tokens_register(v, file, text, (size_t)id, at, err);
}

static bool
read_vocab(struct bpe *b, struct err *err)
{
    struct added_walk walk;
    struct added_token a;
    bool end;
    if (!added_begin(&walk, &b->v->model[HF_VOCAB], HF_ADDED_IDS, err))
        return false;
    for (; added_next(&walk, b->v, &a, &end, err) && !end; b->count++)
        if (!set_token(b, &a.text, a.id, a.at, err))
            return false;
    b->next = b->count;
    return err->kind == ERR_NONE;
}

bool
bpe_add(struct bpe *b, const struct added_token *a, const char *file, struct err *err)
{
    struct vocab *v = b->v;
    char shown[STR_SHOWN];
    size_t id;
    bool known = tokens_find(v, &a->text, &id);
    if (!known)
        id = (size_t)b->next;
    if (a->id != UINT64_MAX && a->id != id)
        return err_at(err, ERR_MALFORMED, a->at, "%s: token \"%s\" has id %" PRIu64 ", expected %zu (%s)", file,
            str_shown(shown, a->text.p, a->text.n), a->id, id, known ? "its id elsewhere" : "the next free id");
    if (!known && !set_token(b, &a->text, id, a->at, err))
        return false;
    b->next = num_max(b->next, (uint64_t)id + 1);
    v->token[id].added = true;
    v->token[id].special = a->special;
    v->token[id].type = a->normalized;      /* until settle() sets the type */
    return true;
}

static bool
add_all(struct bpe *b, const struct hf_value *list, enum added_form form, struct err *err)
{
    struct added_walk walk;
    struct added_token a;
    bool end;
    if (!added_begin(&walk, list, form, err))
        return false;
    while (added_next(&walk, b->v, &a, &end, err) && !end)
        if (!bpe_add(b, &a, list->file, err))
            return false;
    return err->kind == ERR_NONE;
}

static int
by_id(const void *a, const void *b)
{
    const struct added_token *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* Adds the tokens of added_tokens.json; if there is a tokenizer.json, only checks that it has them. */
static bool
take_texts(struct bpe *b, const struct added_token *list, size_t n, const char *file, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        size_t known;
        char shown[STR_SHOWN];
        if (!b->v->json.p && !bpe_add(b, &list[i], file, err))
            return false;
        if (b->v->json.p && (!tokens_find(b->v, &list[i].text, &known) || known != list[i].id))
            return err_at(err, ERR_MALFORMED, list[i].at, "%s: token \"%s\" is missing or has another id in %s", file,
                str_shown(shown, list[i].text.p, list[i].text.n), b->v->json.file);
    }
    return true;
}

/* Reads added_tokens.json, { text: id }, in the order of ids. Called only if tokenizer_config.json does not describe added
 * tokens. */
static bool
read_texts(struct bpe *b, struct err *err)
{
    struct hf_value all;
    struct added_walk walk;
    struct added_token *list = NULL, a;
    size_t n = 0, room = 0;
    bool end;
    if (!hf_value_file(&all, &b->v->folder->file[HF_ADDED_TOKENS], err) || !added_begin(&walk, &all, HF_ADDED_IDS, err))
        return false;
    while (err->kind == ERR_NONE && added_next(&walk, b->v, &a, &end, err) && !end) {
        struct added_token *grown = array_grow(list, n, &room, sizeof *list, err);
        if (!grown)
            break;
        list = grown;
        list[n++] = a;
        if (a.text.n == 0)
            err_at(err, ERR_MALFORMED, a.at, "%s: a token has no text", all.file);
    }
    if (n != 0)
        qsort(list, n, sizeof *list, by_id);
    bool ok = err->kind == ERR_NONE && take_texts(b, list, n, all.file, err);
    free(list);
    return ok;
}

bool
bpe_read(struct bpe *b, struct vocab *v, const char *type, bool characters, struct err *err)
{
    static const char *const name[] = { "added_tokens_decoder" };
    struct hf_value decoder;
    return read_parts(b, v, type, err) && read_vocab(b, err) && add_all(b, &v->part[HF_ADDED], HF_ADDED_ARRAY, err)
        && hf_value_members(&decoder, name, 1, &v->config, err) && add_all(b, &decoder, HF_ADDED_BY_ID, err)
        && (decoder.p || read_texts(b, err))
        && roles_put(b, characters, err);
}

/* --- gpt2 */

static bool
settle(struct vocab *v, struct vocab_token *t, bool by_alphabet, struct err *err)
{
    struct hf_string text = { t->p, t->n };
    if (by_alphabet && !t->type && !bytes_decode(&text, &v->chars, err))
        return false;
    bool special = t->special || added_looks_special(&text);
    if (!special && !added_plain_spaces(&text, &v->chars, err))
        return false;
    t->p = text.p;
    t->n = (uint32_t)text.n;
    if (special)
        t->type = TOKEN_CONTROL;
    else
        t->type = TOKEN_USER_DEFINED;
    return true;
}

void
bpe_trim(struct vocab *v)
{
    if (v->options->size == 0)
        while (v->n > 0 && !v->token[v->n - 1].p)
            v->n--;
}

/* Finds the name of the pre-tokenizer: from tokenizer.json, or, for vocab.json and merges.txt, by tokenizer class. */
static bool
find_pre(const char **pre, const struct bpe *b, struct vocab *v, struct err *err)
{
    *pre = v->options->pre_name;
    if (*pre)
        return true;
    if (v->json.p)
        return pre_find(pre, v, err);
    *pre = pre_named(v, b->class == CLASS_QWEN ? "qwen2" : b->class == CLASS_GPT ? "gpt-2" : NULL);
    return *pre || err_set(err, ERR_UNSUPPORTED, "%s without tokenizer.json is supported only for "
        "Qwen2Tokenizer and GPT2Tokenizer; for others, name the pre-tokenizer with --pre", v->model[HF_VOCAB].file);
}

/* Puts add_bos_token = false if the tokenizer's files set no flag but llama.cpp adds a BOS by default for this
 * pre-tokenizer. */
static bool
put_no_bos(struct keys *keys, const char *pre, struct err *err)
{
    return keys_find(keys, "tokenizer.ggml.add_bos_token") || !pre_adds_bos(pre)
        || keys_put_bool(keys, "tokenizer.ggml", "add_bos_token", false, err);
}

bool
bpe_settle(struct bpe *b, struct err *err)
{
    struct vocab *v = b->v;
    bpe_trim(v);
    if (v->options->size != 0 && !tokens_resize(v, v->options->size, err))
        return false;
    for (size_t i = 0; i < v->n; i++)
        if (v->token[i].added && !settle(v, &v->token[i], b->by_alphabet, err))
            return false;
    return true;
}

bool
bpe_put(struct keys *keys, struct vocab *v, struct err *err)
{
    struct bpe b;
    const char *pre;
    return bpe_read(&b, v, "BPE", false, err)
        && find_pre(&pre, &b, v, err)
        && bpe_settle(&b, err)
        && tokens_put(keys, v, "gpt2", pre, false, err)
        && merges_put(keys, v, err)
        && special_put(keys, v, 0, err)
        && put_no_bos(keys, pre, err);
}
