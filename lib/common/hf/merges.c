/* merges: those of a BPE as GGUF has them: "a b", best first. A space in a member is U+0120. */
#include "hf/vocabulary_priv.h"

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
add_member(struct str *s, const struct hf_string *member)
{
    for (size_t i = 0; i < member->n; i++)
        if (member->p[i] == ' ')
            str_add(s, "\xC4\xA0", 2);
        else
            str_add(s, member->p + i, 1);
}

/* The two strings of an array that has begun. */
static bool
add_pair(struct str *s, struct hf_vocab *v, struct pull *json, const struct hf_value *merges, struct err *err)
{
    struct hf_string a, b;
    if (pull_next(json) != PULL_STRING)
        return hf_value_fault(json, merges, "two strings", err);
    if (!hf_string_of(&a, &v->chars, &json->token, err))
        return false;
    if (pull_next(json) != PULL_STRING)
        return hf_value_fault(json, merges, "two strings", err);
    if (!hf_string_of(&b, &v->chars, &json->token, err))
        return false;
    if (pull_next(json) != PULL_ARRAY_END)
        return hf_value_fault(json, merges, "two strings", err);
    put(s, a.n + b.n + 1 + spaces_in(&a) + spaces_in(&b), 8);
    add_member(s, &a);
    str_add(s, " ", 1);
    add_member(s, &b);
    return true;
}

static bool
read_json(struct str *s, uint64_t *count, struct hf_vocab *v, const struct hf_value *merges, struct err *err)
{
    struct pull json;
    enum pull_token token, first = PULL_END, kind = hf_value_kind(merges);
    if (kind == PULL_END || kind == PULL_NULL)
        return true;
    if (kind != PULL_ARRAY)
        return hf_value_wrong(merges, "an array", err);
    hf_value_pull(&json, merges);
    pull_next(&json);
    for (; (token = pull_next(&json)) != PULL_ARRAY_END; ++*count) {
        struct hf_string text;
        first = *count == 0 ? token : first;
        if (token != first || (token != PULL_STRING && token != PULL_ARRAY))
            return hf_value_fault(&json, merges, "strings, or pairs of strings", err);
        if (token == PULL_ARRAY ? !add_pair(s, v, &json, merges, err)
            : !hf_string_of(&text, &v->chars, &json.token, err))
            return false;
        if (token == PULL_STRING && spaces_in(&text) != 1)
            return hf_value_fault(&json, merges, "two members with a space between", err);
        if (token == PULL_STRING)
            put_counted(s, text.p, text.n);
    }
    return true;
}

/* --- merges.txt */

/* Bytes of white space, as Python's str.split() knows it, at p[0..n). */
static size_t
space_at(const char *p, size_t n)
{
    uint32_t c = 0;
    size_t size = str_utf8_char(p, n, &c);
    bool is = (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 || c == 0xA0 || c == 0x1680
        || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
    return is ? size : 0;
}

/* The next word of a line; none is empty. */
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

/* Two words a line; lines of another number are passed over, as the reference does, and a first one with '#'. */
static void
read_lines(struct str *s, uint64_t *count, const struct hf_text *file)
{
    const char *end = file->p + file->n;
    bool first = true;
    for (const char *p = file->p, *next; p < end; p = next, first = false) {
        const char *stop = p;
        while (stop < end && *stop != '\n' && *stop != '\r')
            stop++;
        next = stop < end ? stop + 1 : stop;
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
hf_merges_put(struct keys *keys, struct hf_vocab *v, struct err *err)
{
    struct str s = { .max = keys->max };
    uint64_t count = 0;
    const struct hf_text *file = &v->folder->file[HF_MERGES];
    bool ok = read_json(&s, &count, v, &v->model[HF_MERGE_LIST], err);
    if (ok && count == 0 && file->p) {
        ok = str_is_utf8(file->p, file->n) || err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, "%s is not UTF-8", file->name);
        if (ok)
            read_lines(&s, &count, file);
    }
    ok = ok && (count == 0 || keys_put_array(keys, "tokenizer.ggml", "merges", META_STRING, count, &s, err));
    str_clear(&s);
    return ok;
}
