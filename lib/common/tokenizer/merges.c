/* merges: the merges of a BPE as GGUF stores them: "a b", highest priority first. A space in a or b becomes U+0120. */
#include "tokenizer/vocabulary_priv.h"

#include <string.h>

#include "writer/put.h"

static size_t
spaces_in(const struct hf_string *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        n += s->p[i] == ' ';
    return n;
}

static void
merges_add_member(struct str *s, const struct hf_string *member)
{
    for (size_t i = 0; i < member->n; i++)
        if (member->p[i] == ' ')
            str_add(s, "\xC4\xA0", 2);
        else
            str_add(s, member->p + i, 1);
}

/* --- tokenizer.json's "merges" */

struct merge_walk {
    const struct hf_value *list;
    struct pull json;
    enum pull_token kind;       /* type of all elements; PULL_END before the first */
};

struct merge {
    struct hf_string a, b;
};

/* Starts the walk; sets *none if the list is missing or null. */
static bool
merges_begin(struct merge_walk *walk, const struct hf_value *list, bool *none, struct err *err)
{
    enum pull_token kind = hf_value_kind(list);
    *walk = (struct merge_walk){ .list = list, .kind = PULL_END };
    *none = kind == PULL_END || kind == PULL_NULL;
    if (*none)
        return true;
    if (kind != PULL_ARRAY)
        return hf_value_wrong(list, "an array", err);
    hf_value_pull(&walk->json, list);
    pull_next(&walk->json);
    return true;
}

/* Reads the two strings of an array, after its opening bracket. */
static bool
read_pair(struct merge *merge, struct merge_walk *walk, struct hf_chars *chars, struct err *err)
{
    struct pull *json = &walk->json;
    struct hf_string *const two[] = { &merge->a, &merge->b };
    for (int i = 0; i < 2; i++) {
        if (pull_next(json) != PULL_STRING)
            return hf_value_fault(json, walk->list, "two strings", err);
        if (!hf_string_of(two[i], chars, &json->token, err))
            return false;
    }
    return pull_next(json) == PULL_ARRAY_END || hf_value_fault(json, walk->list, "two strings", err);
}

/* Splits "a b". */
static bool
read_words(struct merge *merge, struct merge_walk *walk, struct hf_chars *chars, struct err *err)
{
    struct hf_string text;
    if (!hf_string_of(&text, chars, &walk->json.token, err))
        return false;
    if (spaces_in(&text) != 1)
        return hf_value_fault(&walk->json, walk->list, "two words separated by one space", err);
    const char *space = memchr(text.p, ' ', text.n);
    size_t n = (size_t)(space - text.p);
    merge->a = (struct hf_string){ text.p, n };
    merge->b = (struct hf_string){ space + 1, text.n - n - 1 };
    return true;
}

static bool
next(struct merge *merge, bool *end, struct merge_walk *walk, struct hf_chars *chars, struct err *err)
{
    enum pull_token token = pull_next(&walk->json);
    *end = token == PULL_ARRAY_END;
    if (*end)
        return true;
    if (walk->kind == PULL_END)
        walk->kind = token;
    if (token != walk->kind || (token != PULL_STRING && token != PULL_ARRAY))
        return hf_value_fault(&walk->json, walk->list, "either strings or pairs of strings", err);
    return (token == PULL_ARRAY ? read_pair : read_words)(merge, walk, chars, err);
}

static bool
read_json(struct str *s, uint64_t *count, struct vocab *v, struct err *err)
{
    struct merge_walk walk;
    struct merge m;
    bool end;
    if (!merges_begin(&walk, &v->model[HF_MERGE_LIST], &end, err))
        return false;
    for (; !end; ++*count) {
        if (!next(&m, &end, &walk, &v->chars, err))
            return false;
        if (end)
            break;
        put(s, m.a.n + m.b.n + 1 + spaces_in(&m.a) + spaces_in(&m.b), 8);
        merges_add_member(s, &m.a);
        str_add(s, " ", 1);
        merges_add_member(s, &m.b);
    }
    return true;
}

bool
merges_score(struct vocab *v, struct err *err)
{
    struct merge_walk walk;
    struct merge m;
    struct str both = { 0 };
    bool end, ok = merges_begin(&walk, &v->model[HF_MERGE_LIST], &end, err);
    for (size_t rank = 0; ok && !end; rank++) {
        size_t id;
        ok = next(&m, &end, &walk, &v->chars, err);
        if (!ok || end)
            break;
        both.len = 0;
        str_add(&both, m.a.p, m.a.n);
        str_add(&both, m.b.p, m.b.n);
        ok = !both.failed || err_memory(err, m.a.n + m.b.n);
        const struct hf_string text = { both.p, both.len };
        if (!ok || both.len == 0 || !tokens_find(v, &text, &id))
            continue;
        if (v->token[id].merges++ == 0)
            v->token[id].score = -(float)rank;
    }
    str_clear(&both);
    return ok;
}

/* --- merges.txt */

/* Returns the number of bytes of white space at the start of p[0..n), as defined by Python's str.split(), or 0. */
static size_t
space_at(const char *p, size_t n)
{
    uint32_t c = 0;
    size_t size = str_utf8_char(p, n, &c);
    bool is = (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 || c == 0xA0 || c == 0x1680
        || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
    if (is)
        return size;
    return 0;
}

/* Reads the next word of a line; n is 0 after the last. */
static struct hf_string
word(const char **p, const char *end)
{
    size_t n;
    while (*p < end && (n = space_at(*p, (size_t)(end - *p))) != 0)
        *p += n;
    struct hf_string w = { *p, 0 };
    while (*p < end && space_at(*p, (size_t)(end - *p)) == 0)
        ++*p;
    w.n = (size_t)(*p - w.p);
    return w;
}

/* Reads two words per line. Like the converter, skips lines with another number of words, and a first line that starts with
 * '#'. */
static void
read_lines(struct str *s, uint64_t *count, const struct hf_text *file)
{
    const char *end = file->p + file->n;
    bool first = true;
    for (const char *p = file->p, *next; p < end; p = next, first = false) {
        const char *stop = p;
        while (stop < end && *stop != '\n' && *stop != '\r')
            stop++;
        if (stop < end)
            next = stop + 1;
        else
            next = stop;
        struct hf_string a = word(&p, stop), b = word(&p, stop), more = word(&p, stop);
        if (b.n == 0 || more.n != 0 || (first && *a.p == '#'))
            continue;
        put(s, a.n + 1 + b.n, 8);
        str_add(s, a.p, a.n);
        str_add(s, " ", 1);
        str_add(s, b.p, b.n);
        ++*count;
    }
}

bool
merges_put(struct keys *keys, struct vocab *v, struct err *err)
{
    struct str s = { .max = keys->max };
    uint64_t count = 0;
    const struct hf_text *file = &v->folder->file[HF_MERGES];
    bool ok = read_json(&s, &count, v, err);
    if (ok && count == 0 && file->p) {
        ok = str_is_utf8(file->p, file->n) || err_set(err, ERR_MALFORMED, "%s is not UTF-8", file->name);
        if (ok)
            read_lines(&s, &count, file);
    }
    ok = ok && (count == 0 || keys_put_array(keys, "tokenizer.ggml", "merges", META_STRING, count, &s, err));
    str_clear(&s);
    return ok;
}
