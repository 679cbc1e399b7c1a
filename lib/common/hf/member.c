#include "hf/member.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

enum { CHUNK = 64 << 10 };

struct hf_chunk {
    struct hf_chunk *older;
    size_t n, room;
    char p[];
};

void
hf_chars_clear(struct hf_chars *chars)
{
    while (chars->newest) {
        struct hf_chunk *older = chars->newest->older;
        free(chars->newest);
        chars->newest = older;
    }
}

char *
hf_chars_room(struct hf_chars *chars, size_t n, struct err *err)
{
    struct hf_chunk *chunk = chars->newest;
    if (!chunk || chunk->room - chunk->n < n) {
        size_t room = (size_t)num_max(n, CHUNK);
        chunk = malloc(sizeof *chunk + room);
        if (!chunk) {
            err_memory(err, room);
            return NULL;
        }
        *chunk = (struct hf_chunk){ .older = chars->newest, .room = room };
        chars->newest = chunk;
    }
    chunk->n += n;
    return chunk->p + chunk->n - n;
}

bool
hf_string_of(struct hf_string *out, struct hf_chars *chars, const struct pull_text *text, struct err *err)
{
    *out = (struct hf_string){ text->p, text->n };
    if (!text->escaped)
        return true;
    char *p = hf_chars_room(chars, text->n, err);
    if (!p)
        return false;
    *out = (struct hf_string){ p, pull_unescape(p, text) };
    return true;
}

bool
hf_strings_equal(const struct hf_string *a, const struct hf_string *b)
{
    return a->p && b->p && a->n == b->n && memcmp(a->p, b->p, a->n) == 0;
}

bool
hf_string_is(const struct hf_string *s, const char *plain)
{
    return s->p && str_is(s->p, s->n, plain);
}

/* --- values */

void
hf_value_pull(struct pull *json, const struct hf_value *value)
{
    pull_init(json, value->p, value->n, value->at);
    json->words = true;
}

bool
hf_value_fault(const struct pull *json, const struct hf_value *value, const char *expected, struct err *err)
{
    char why[PULL_EXPLAIN];
    if (json->fault != PULL_OK)
        return err_at(err, ERR_MALFORMED, pull_fault_at(json), "%s is not valid JSON: %s", value->file,
            pull_explain(why, json));
    return err_at(err, ERR_MALFORMED, pull_token_at(json), "%s: %s: expected %s", value->file, value->name, expected);
}

bool
hf_value_wrong(const struct hf_value *value, const char *expected, struct err *err)
{
    return err_at(err, ERR_MALFORMED, value->at, "%s: %s is not %s", value->file, value->name, expected);
}

bool
hf_value_file(struct hf_value *out, const struct hf_text *file, struct err *err)
{
    struct pull json;
    *out = (struct hf_value){ .file = file->name, .name = "the file" };
    if (!file->p)
        return true;
    struct hf_value whole = { file->name, "the file", file->p, file->n, 0 };
    hf_value_pull(&json, &whole);
    if (!pull_value_text(&json, &out->p, &out->n) || pull_next(&json) != PULL_END)
        return hf_value_fault(&json, &whole, "a single value", err);
    out->at = (uint64_t)(out->p - file->p);
    return hf_value_kind(out) == PULL_OBJECT || hf_value_wrong(out, "a JSON object", err);
}

enum pull_token
hf_value_kind(const struct hf_value *value)
{
    if (!value->p)
        return PULL_END;
    switch (*value->p) {
    case '{':
        return PULL_OBJECT;
    case '[':
        return PULL_ARRAY;
    case '"':
        return PULL_STRING;
    case 't':
        return PULL_TRUE;
    case 'f':
        return PULL_FALSE;
    case 'n':
        return PULL_NULL;
    default:
        return PULL_NUMBER;
    }
}

static bool
take_member(struct hf_value *out, struct pull *json, const struct hf_value *object, struct err *err)
{
    if (out->p)
        return err_at(err, ERR_MALFORMED, pull_token_at(json), "%s: duplicate member %s", object->file,
            out->name);
    if (!pull_value_text(json, &out->p, &out->n))
        return hf_value_fault(json, object, "a value", err);
    out->at = object->at + (uint64_t)(out->p - object->p);
    return true;
}

bool
hf_value_members(struct hf_value *out, const char *const *names, size_t n, const struct hf_value *object,
    struct err *err)
{
    struct pull json;
    enum pull_token kind = hf_value_kind(object), token;
    for (size_t i = 0; i < n; i++)
        out[i] = (struct hf_value){ .file = object->file, .name = names[i] };
    if (kind == PULL_END || kind == PULL_NULL)
        return true;
    if (kind != PULL_OBJECT)
        return hf_value_wrong(object, "an object", err);
    hf_value_pull(&json, object);
    pull_next(&json);
    while ((token = pull_next(&json)) == PULL_KEY) {
        size_t i = 0;
        while (i < n && !pull_text_is(&json.token, names[i]))
            i++;
        if (i == n ? !pull_skip(&json) : !take_member(&out[i], &json, object, err))
            return hf_value_fault(&json, object, "a value", err);
    }
    return token == PULL_OBJECT_END || hf_value_fault(&json, object, "a member", err);
}

bool
hf_value_string(struct hf_string *out, struct hf_chars *chars, const struct hf_value *value, struct err *err)
{
    struct pull json;
    enum pull_token kind = hf_value_kind(value);
    *out = (struct hf_string){ NULL, 0 };
    if (kind == PULL_END || kind == PULL_NULL)
        return true;
    if (kind != PULL_STRING)
        return hf_value_wrong(value, "a string", err);
    hf_value_pull(&json, value);
    pull_next(&json);
    return hf_string_of(out, chars, &json.token, err);
}

bool
hf_value_bool(bool *out, const struct hf_value *value, bool otherwise, struct err *err)
{
    enum pull_token kind = hf_value_kind(value);
    if (kind == PULL_END || kind == PULL_NULL)
        *out = otherwise;
    else
        *out = kind == PULL_TRUE;
    return kind == PULL_END || kind == PULL_NULL || kind == PULL_TRUE || kind == PULL_FALSE
        || hf_value_wrong(value, "true or false", err);
}

bool
hf_array_next(struct hf_value *one, bool *end, struct pull *json, const struct hf_value *array, struct err *err)
{
    struct pull ahead = *json;
    *one = *array;
    *end = pull_next(&ahead) == PULL_ARRAY_END;
    if (!*end && !pull_value_text(json, &one->p, &one->n))
        return hf_value_fault(json, array, "a value", err);
    one->at = array->at + (uint64_t)(one->p - array->p);
    return true;
}

bool
hf_array_begin(struct pull *json, const struct hf_value *array, struct err *err)
{
    if (hf_value_kind(array) != PULL_ARRAY)
        return hf_value_wrong(array, "an array", err);
    hf_value_pull(json, array);
    pull_next(json);
    return true;
}

bool
hf_value_u64(uint64_t *n, const struct hf_value *value, struct err *err)
{
    struct pull json;
    if (hf_value_kind(value) != PULL_NUMBER)
        return hf_value_wrong(value, "an integer", err);
    hf_value_pull(&json, value);
    pull_next(&json);
    return pull_as_u64(&json, n) || hf_value_wrong(value, "a non-negative integer", err);
}
