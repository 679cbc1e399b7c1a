#include "family/back_keys.h"

#include <math.h>
#include <string.h>

#include "base/push.h"
#include "family/expr.h"

static json_t *
real_of(double x)
{
    if (isfinite(x))
        return json_real(x);
    return json_null();
}

/* Returns a scalar, or NULL for a value that JSON cannot hold. */
static json_t *
scalar_of(const struct meta_value *value)
{
    uint64_t n;
    if (value->type == META_STRING)
        return json_stringn(str_or(value->as.s.p, ""), value->as.s.n);
    if (value->type == META_BOOL)
        return json_boolean(value->as.u != 0);
    if (value->type == META_F32)
        return real_of(push_real_of((float)value->as.f));
    if (value->type == META_F64)
        return real_of(value->as.f);
    if (meta_as_u64(value, &n))
        return n <= INT64_MAX ? json_integer((json_int_t)n) : NULL;
    return json_integer((json_int_t)value->as.i);
}

static bool
is_text(const struct meta_value *value)
{
    return value->type != META_STRING || str_is_utf8(str_or(value->as.s.p, ""), value->as.s.n);
}

static json_t *
array_of(const struct meta_array *a)
{
    struct meta_iter it = meta_first(a);
    struct meta_value value;
    json_t *list = json_array();
    while (list && meta_next(&it, &value)) {
        json_t *one = NULL;
        if (is_text(&value))
            one = scalar_of(&value);
        if (json_array_append_new(list, one ? one : json_null()) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* Returns true for a key that no expression needs, or that is too long for one. */
static bool
is_left_out(const struct meta *m)
{
    const struct meta_value *v = &m->value;
    return memchr(m->key, '\0', m->key_len) || !str_is_utf8(m->key, m->key_len) || !is_text(v)
        || (v->type == META_ARRAY && (v->as.a.count > BACK_ARRAY_MAX || v->as.a.type == META_ARRAY))
        || (v->type == META_ARRAY && m->key_len > 15 && memcmp(m->key, "tokenizer.ggml.", 15) == 0);
}

bool
back_keys(json_t **keys, const struct catalog *catalog, struct err *err)
{
    *keys = json_object();
    if (!*keys)
        return err_memory(err, 1);
    struct str name = { 0 };
    bool ok = true;
    for (size_t i = 0; ok && i < catalog_meta_count(catalog); i++) {
        const struct meta *m = catalog_meta_at(catalog, i);
        if (is_left_out(m))
            continue;
        json_t *value;
        if (m->value.type == META_ARRAY)
            value = array_of(&m->value.as.a);
        else
            value = scalar_of(&m->value);
        name.len = 0;
        str_add(&name, m->key, m->key_len);
        if (value && (name.failed || json_object_set_new_nocheck(*keys, name.p, value) != 0))
            ok = err_memory(err, m->key_len);
    }
    str_clear(&name);
    return ok;
}

/* --- as a family names them */

/* Returns the length of the prefix of a key if it is another name of the architecture, or 0. */
static size_t
other_prefix(const struct model_family *family, const char *key)
{
    for (size_t i = 0; i < family->archs.n; i++) {
        size_t n = strlen(family->archs.at[i]);
        if (strncmp(key, family->archs.at[i], n) == 0 && key[n] == '.')
            return n;
    }
    return 0;
}

bool
back_keys_is_of_tower(const char *name)
{
    static const char *const starts[] = { "vision.", "audio.", "mm." };
    bool is = false;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        is = is || str_begins(name, starts[i]);
    return is;
}

/* Sets a key unless it is there. Consumes the reference. */
static bool
set_missing(json_t *keys, const struct model_family *family, const char *name, json_t *value, struct err *err)
{
    char full[FAMILY_KEY];
    bool ok = value && family_key_name(full, family, name);
    if (ok && !json_object_get(keys, full))
        ok = json_object_set_nocheck(keys, full, value) == 0;
    json_decref(value);
    return ok || err_memory(err, strlen(name));
}

/* Sets *value to the value of a row; for `each`, to a list with a value per block. */
static bool
fallback_value(json_t **value, const struct family_member *row, struct scope *scope, struct err *err)
{
    json_t *blocks = NULL;
    if (!row->each)
        return expr_value(value, row->value, scope, 0, err);
    bool ok = scope_value(&blocks, "block_count", scope, 0, err);
    json_int_t n = json_integer_value(blocks);
    json_decref(blocks);
    *value = json_array();
    ok = ok && (*value || err_memory(err, 1));
    for (json_int_t b = 0; ok && b < n && b < SCOPE_LAYERS_MAX; b++) {
        json_t *one = NULL;
        ok = expr_value(&one, row->value, scope, (uint64_t)b, err)
            && (json_array_append_new(*value, one) == 0 || err_memory(err, 1));
    }
    if (!ok)
        json_decref(*value);
    return ok;
}

static bool
add_fallbacks(json_t *keys, struct scope *scope, struct err *err)
{
    for (size_t i = 0; i < scope->family->fallbacks.n; i++) {
        const struct family_member *row = &scope->family->fallbacks.at[i];
        json_t *value = NULL;
        bool yes;
        if (!expr_true(&yes, row->when, scope, 0, err) || (yes && !fallback_value(&value, row, scope, err)))
            return false;
        if (yes && json_is_null(value))
            json_decref(value);
        else if (yes && !set_missing(keys, scope->family, row->name, value, err))
            return false;
    }
    return true;
}

bool
back_keys_of(json_t **keys, const json_t *stored, struct scope *scope, struct err *err)
{
    const struct model_family *family = scope->family;
    const char *key;
    json_t *value;
    size_t plain = strlen(family->arch);
    scope->keys = *keys = json_object();
    if (!*keys)
        return err_memory(err, 1);
    json_object_foreach((json_t *)stored, key, value) {
        size_t n = other_prefix(family, key);
        size_t skip = 0;
        if (n != 0)
            skip = n;
        else if (strncmp(key, family->arch, plain) == 0 && key[plain] == '.')
            skip = plain;
        if (skip != 0 && back_keys_is_of_tower(key + skip + 1))
            continue;
        if (n != 0 ? !set_missing(*keys, family, key + n + 1, json_incref(value), err)
                : json_object_set_nocheck(*keys, key, value) != 0 && !err_memory(err, strlen(key)))
            return false;
    }
    return add_fallbacks(*keys, scope, err);
}

bool
back_set(json_t *object, const char *path, json_t *value, struct err *err)
{
    const char *dot;
    char name[256];
    while (value && (dot = strchr(path, '.')) != NULL && (size_t)(dot - path) < sizeof name) {
        memcpy(name, path, (size_t)(dot - path));
        name[dot - path] = '\0';
        json_t *inner = json_object_get(object, name);
        if (!json_is_object(inner)) {
            inner = json_object();
            if (json_object_set_new(object, name, inner) != 0) {
                json_decref(value);
                return err_memory(err, strlen(path));
            }
        }
        object = inner;
        path = dot + 1;
    }
    return (value && json_object_set_new(object, path, value) == 0) || err_memory(err, strlen(path));
}
