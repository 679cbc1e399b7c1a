/* keys_file: --gguf-metadata, a JSON object. The type of a value is inferred, or given by an object with "type" and "value".
 * Types are inferred as llama.cpp's converters would write the value, because its readers are strict: numbers are u32 and
 * f32, numbers in arrays i32 and f32, unless they do not fit. */
#include <stdio.h>
#include <string.h>

#include "writer/keys_priv.h"
#include "writer/meta_text.h"

enum { ALIGNMENT_MIN = 8 };     /* docs/gguf.md of ggml: a multiple of 8 */

/* The kinds seen in one value, or in all elements of an array. */
struct keys_seen {
    bool string, boolean, real, integer, other;
    bool negative, over_i32, over_u32, over_i64;
};

static void
keys_file_look(struct keys_seen *seen, const struct pull *json, enum pull_token token)
{
    struct pull number = *json;
    uint64_t n = 0;
    seen->string |= token == PULL_STRING;
    seen->boolean |= token == PULL_TRUE || token == PULL_FALSE;
    seen->other |= token != PULL_STRING && token != PULL_TRUE && token != PULL_FALSE && token != PULL_NUMBER;
    if (token != PULL_NUMBER)
        return;
    bool negative = *number.token.p == '-';
    number.token.p += negative;
    number.token.n -= negative;
    if (memchr(number.token.p, '.', number.token.n) || memchr(number.token.p, 'e', number.token.n)
        || memchr(number.token.p, 'E', number.token.n)) {
        seen->real = true;
        return;
    }
    bool fits = pull_as_u64(&number, &n);
    seen->integer = true;
    seen->negative |= negative && n != 0;
    seen->over_i32 |= !fits || n > (uint64_t)INT32_MAX + negative;
    seen->over_u32 |= !fits || n > UINT32_MAX;
    seen->over_i64 |= !fits || n > (uint64_t)INT64_MAX + negative;
}

/* Returns the type of a value, or of an array; NULL if they have no common type. */
static const char *
keys_file_type_of(const struct keys_seen *s, bool array)
{
    bool number = s->real || s->integer;
    if (s->other || s->string + s->boolean + number != 1)
        return NULL;
    if (s->string)
        return array ? "[str]" : "str";
    if (s->boolean)
        return array ? "[bool]" : "bool";
    if (s->real)
        return array ? "[f32]" : "f32";
    if (array && !s->over_i32)
        return "[i32]";
    if (!s->negative && !s->over_u32)
        return array ? "[u32]" : "u32";
    if (!s->over_i32)
        return "i32";
    if (!s->negative && s->over_i64)
        return array ? "[u64]" : "u64";
    if (!s->negative && !array)
        return "u64";
    if (array)
        return "[i64]";
    return "i64";
}

/* Infers the type of the next value, without consuming it. */
static const char *
infer(struct pull json)
{
    struct keys_seen seen = { 0 };
    enum pull_token token = pull_next(&json);
    bool array = token == PULL_ARRAY;
    if (array)
        while ((token = pull_next(&json)) != PULL_ARRAY_END && token != PULL_BAD && !seen.other)
            keys_file_look(&seen, &json, token);
    else
        keys_file_look(&seen, &json, token);
    return keys_file_type_of(&seen, array);
}

static bool
bad_value(const char *key, size_t n, const char *why, struct err *err)
{
    char shown[STR_SHOWN];
    return err_set(err, ERR_MALFORMED, "key %s: %s", str_shown(shown, key, n), why);
}

enum { TYPE_MAX = 4096 };

/* Reads {"type": TYPE, "value": VALUE}: the type, and the position of the value. Moves past the object. */
static bool
read_typed(struct pull *json, char type[TYPE_MAX], struct pull *value, bool *whole)
{
    bool typed = false, valued = false;
    enum pull_token token = pull_next(json);
    while ((token = pull_next(json)) == PULL_KEY) {
        if (pull_text_is(&json->token, "type") && !typed) {
            typed = pull_next(json) == PULL_STRING && !json->token.escaped && json->token.n < TYPE_MAX;
            if (!typed)
                return false;
            memcpy(type, json->token.p, json->token.n);
            type[json->token.n] = '\0';
        } else if (pull_text_is(&json->token, "value") && !valued) {
            *value = *json;
            valued = pull_skip(json);
        } else {
            return false;
        }
    }
    *whole = typed && valued;
    return token == PULL_OBJECT_END;
}

static bool
check_alignment(const struct meta_value *v, const char **why)
{
    *why = "expected a u32 that is a power of two from 8 to 1048576";
    return v->type == META_U32 && v->as.u >= ALIGNMENT_MIN && v->as.u <= META_ALIGNMENT_MAX
        && (v->as.u & (v->as.u - 1)) == 0;
}

/* Reads the next value and sets the key to it. */
static bool
keys_file_add_value(struct keys *keys, const char *key, size_t n, struct pull *json, struct err *err)
{
    static const char alignment[] = "general.alignment";
    struct pull ahead = *json, value = *json;
    struct str bytes = { .max = keys->max };
    struct meta_value v;
    char text[TYPE_MAX], shown[STR_SHOWN], reason[STR_SHOWN + 160];
    const char *type, *why = NULL;
    bool whole = false;
    if (pull_next(&ahead) == PULL_OBJECT) {
        if (!read_typed(json, text, &value, &whole) || !whole)
            return bad_value(key, n, "expected {\"type\": TYPE, \"value\": VALUE}, found another object", err);
        type = text;
    } else {
        type = infer(*json);
        if (!pull_skip(json))
            return true;        /* the caller reports the fault */
    }
    if (!type)
        return bad_value(key, n, "type cannot be inferred: expected a string, true or false, a number, or an array of one of "
            "these; otherwise give {\"type\": TYPE, \"value\": VALUE}", err);
    bool ok = meta_read_json(&v, &bytes, type, &value, &why);
    if (ok && str_is(key, n, alignment))
        ok = check_alignment(&v, &why);
    if (!ok && why) {
        snprintf(reason, sizeof reason, "as %s: %s", str_shown(shown, type, strlen(type)), why);
        bad_value(key, n, reason, err);
    } else if (!ok) {
        keys_no_room(&bytes, err);
    }
    ok = ok && keys_own(keys, &bytes, err) && keys_set(keys, key, n, &v, err);
    str_clear(&bytes);
    return ok;
}

/* Reads the current key and its value. `mine` has the keys of this file, to detect duplicates. */
static bool
keys_file_add_member(struct keys *keys, struct keys *mine, struct pull *json, struct err *err)
{
    struct str name = { .max = keys->max };
    const char *why;
    const struct meta_value none = { .type = META_BOOL };
    str_add(&name, json->token.p, json->token.n);
    if (name.failed) {
        keys_no_room(&name, err);
        str_clear(&name);
        return false;
    }
    size_t n = pull_unescape(name.p, &json->token), before = mine->n;
    const char *key = name.p;
    bool ok = keys_own(keys, &name, err);
    str_clear(&name);
    if (!ok)
        return false;
    if (keys_refused(key, n, &why))
        return bad_value(key, n, why, err);
    return keys_set(mine, key, n, &none, err) && (mine->n != before || bad_value(key, n, "duplicate key", err))
        && keys_file_add_value(keys, key, n, json, err);
}

bool
keys_add_file(struct keys *keys, const struct keys_given *given, struct err *err)
{
    struct pull json;
    struct keys mine = { 0 };
    char explained[PULL_EXPLAIN];
    bool ok = true;
    pull_init(&json, given->json, given->njson, 0);
    enum pull_token token = pull_next(&json);
    if (token != PULL_OBJECT && !json.fault)
        ok = err_at(err, ERR_MALFORMED, 0, "found %s, expected a JSON object of keys and values", pull_token_name(token));
    while (ok && (token = pull_next(&json)) == PULL_KEY)
        ok = keys_file_add_member(keys, &mine, &json, err);
    if (ok && (token != PULL_OBJECT_END || pull_next(&json) != PULL_END))
        ok = err_at(err, ERR_MALFORMED, pull_fault_at(&json), "not valid JSON: %s", pull_explain(explained, &json));
    keys_clear(&mine);
    char shown[STR_SHOWN];
    return ok || err_in_file(err, str_shown(shown, given->path, strlen(given->path)));
}
