/* tiktoken.model: a byte-level BPE with one line for each token, "base64 rank", without a list of merges.
 *
 * A token is the merge of the two tokens that remain when its bytes are merged by all tokens of a lower rank. Special
 * tokens are in tokenizer_config.json. Source: DeepseekV2Model of convert_hf_to_gguf.py, for Kimi.
 */
#include "tokenizer/vocabulary_priv.h"

#include <inttypes.h>
#include <string.h>

#include "writer/put.h"

static bool
tiktoken_bad(const struct vocab *v, const char *at, const char *what, struct err *err)
{
    const struct hf_text *file = &v->folder->file[HF_TIKTOKEN];
    return err_at(err, ERR_MALFORMED, (uint64_t)(at - file->p), "%s: %s", file->name, what);
}

/* Makes room for a token. An id is below the size of the file plus the size of tokenizer_config.json, or it is out of range. */
static bool
make_room(struct vocab *v, uint64_t id, struct err *err)
{
    uint64_t size = v->options->size, most = v->folder->file[HF_TIKTOKEN].n + v->config.n;
    if (size != 0 && id >= size)
        return err_set(err, ERR_MALFORMED, "%s: id %" PRIu64 " is out of range for vocab_size %" PRIu64,
            v->folder->file[HF_TIKTOKEN].name, id, size);
    if (id >= most)
        return err_set(err, ERR_MALFORMED, "%s: id %" PRIu64 " is out of range",
            v->folder->file[HF_TIKTOKEN].name, id);
    return id < v->n || tokens_resize(v, size != 0 ? size : 2 * id < TOKENS_MAX ? 2 * id + 1 : id + 1, err);
}

/* Reads a line, p[0..n), without its end. */
static bool
read_line(struct vocab *v, const char *p, size_t n, struct err *err)
{
    const char *space = memchr(p, ' ', n), *end = p + n;
    struct hf_string text;
    uint64_t rank = 0;
    if (!space || space + 1 == end || end - space > 11)
        return tiktoken_bad(v, p, "expected lines of base64 and a rank", err);
    for (const char *c = space + 1; c < end; c++) {
        if (*c < '0' || *c > '9')
            return tiktoken_bad(v, c, "a rank is not a number", err);
        rank = rank * 10 + (uint64_t)(*c - '0');
    }
    if (!bytes_of_base64(&text, &v->chars, p, (size_t)(space - p), err))
        return false;
    if (text.n == 0)
        return tiktoken_bad(v, p, "a token is not base64", err);
    if (text.n > TOKEN_SPLIT_MAX)
        return err_set(err, ERR_LIMIT, "%s: a token is longer than %d bytes",
            v->folder->file[HF_TIKTOKEN].name, TOKEN_SPLIT_MAX);
    if (!make_room(v, rank, err))
        return false;
    if (v->token[rank].p)
        return tiktoken_bad(v, p, "duplicate rank", err);
    v->token[rank] = (struct vocab_token){ .p = text.p, .n = (uint32_t)text.n, .type = TOKEN_NORMAL };
    return tokens_register(v, v->folder->file[HF_TIKTOKEN].name, &text, (size_t)rank,
        (uint64_t)(p - v->folder->file[HF_TIKTOKEN].p), err);
}

static bool
read_lines(struct vocab *v, struct err *err)
{
    const struct hf_text *file = &v->folder->file[HF_TIKTOKEN];
    const char *end = file->p + file->n;
    for (const char *p = file->p, *next; p < end; p = next) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        if (stop)
            next = stop + 1;
        else
            next = end;
        if (!stop)
            stop = end;
        stop -= stop > p && stop[-1] == '\r';
        if (stop > p && !read_line(v, p, (size_t)(stop - p), err))
            return false;
    }
    return v->n != 0 || tiktoken_bad(v, file->p, "no tokens", err);
}

/* --- merges */

enum { NO_RANK = UINT32_MAX };

/* The pieces of a token while they are merged. */
struct split_token {
    const struct vocab *v;
    const char *p;
    uint32_t rank;              /* only tokens below it merge */
    uint16_t begin[TOKEN_SPLIT_MAX + 1];       /* n pieces, and the end */
    uint32_t pair[TOKEN_SPLIT_MAX];            /* rank of piece i and the next together, or NO_RANK */
    size_t n;
};

static uint32_t
rank_of_pair(const struct split_token *s, size_t i)
{
    size_t id;
    if (i + 1 >= s->n)
        return NO_RANK;
    const struct hf_string both = { s->p + s->begin[i], (size_t)(s->begin[i + 2] - s->begin[i]) };
    if (tokens_find(s->v, &both, &id) && id < s->rank)
        return (uint32_t)id;
    return NO_RANK;
}

/* Merges the pair of the lowest rank, the leftmost of equals. Returns false if no pair merges. */
static bool
merge_once(struct split_token *s)
{
    size_t best = 0;
    for (size_t i = 1; i + 1 < s->n; i++)
        if (s->pair[i] < s->pair[best])
            best = i;
    if (s->n < 2 || s->pair[best] == NO_RANK)
        return false;
    memmove(&s->begin[best + 1], &s->begin[best + 2], (s->n - best - 1) * sizeof *s->begin);
    memmove(&s->pair[best], &s->pair[best + 1], (s->n - best - 1) * sizeof *s->pair);
    s->n--;
    s->pair[best] = rank_of_pair(s, best);
    if (best > 0)
        s->pair[best - 1] = rank_of_pair(s, best - 1);
    return true;
}

/* Appends the merge that makes a token, if two pieces remain of it. */
static void
put_merge(struct str *out, uint64_t *count, const struct vocab *v, size_t id)
{
    const struct vocab_token *t = &v->token[id];
    struct split_token s = { .v = v, .p = t->p, .rank = (uint32_t)id };
    for (size_t i = 0; i < t->n; i++)
        if (((uint8_t)t->p[i] & 0xC0) != 0x80)
            s.begin[s.n++] = (uint16_t)i;
    s.begin[s.n] = (uint16_t)t->n;
    if (s.n < 2)
        return;
    for (size_t i = 0; i < s.n; i++)
        s.pair[i] = rank_of_pair(&s, i);
    while (merge_once(&s))
        ;
    if (s.n != 2)
        return;
    put(out, t->n + 1, 8);
    str_add(out, t->p, s.begin[1]);
    str_add(out, " ", 1);
    str_add(out, t->p + s.begin[1], t->n - s.begin[1]);
    ++*count;
}

static bool
put_merges(struct keys *keys, const struct vocab *v, struct err *err)
{
    struct str s = { .max = keys->max };
    uint64_t count = 0;
    for (size_t id = 0; id < v->n; id++)
        if (v->token[id].p && v->token[id].type == TOKEN_NORMAL)
            put_merge(&s, &count, v, id);
    bool ok = count == 0 || keys_put_array(keys, "tokenizer.ggml", "merges", META_STRING, count, &s, err);
    str_clear(&s);
    return ok;
}

/* --- all */

/* Reads the special tokens of tokenizer_config.json. Their ids follow the ids of plain tokens. */
static bool
read_special(struct vocab *v, struct err *err)
{
    static const char *const name[] = { "added_tokens_decoder" };
    struct hf_value list;
    struct added_walk walk;
    struct added_token a;
    bool end;
    if (!hf_value_members(&list, name, 1, &v->config, err) || !added_begin(&walk, &list, HF_ADDED_BY_ID, err))
        return false;
    while (added_next(&walk, v, &a, &end, err) && !end) {
        if (!make_room(v, a.id, err))
            return false;
        if (v->token[a.id].p)
            return err_at(err, ERR_MALFORMED, a.at, "%s: id %" PRIu64 " is already used", list.file, a.id);
        v->token[a.id] = (struct vocab_token){ .p = a.text.p, .n = (uint32_t)a.text.n, .type = TOKEN_CONTROL };
    }
    return err->kind == ERR_NONE;
}

bool
tiktoken_put(struct keys *keys, struct vocab *v, struct err *err)
{
    if (!read_lines(v, err) || !read_special(v, err))
        return false;
    bpe_trim(v);
    return (v->options->size == 0 || tokens_resize(v, v->options->size, err))
        && tokens_put(keys, v, "gpt2", pre_named(v, "kimi-k2"), false, err)
        && put_merges(keys, v, err)
        && special_put(keys, v, 0, err);
}
