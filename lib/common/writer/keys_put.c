/* Keys made by amn rather than copied. */

#include "writer/keys_priv.h"

bool
keys_put(struct keys *keys, const char *prefix, const char *key, const struct meta_value *value, struct err *err)
{
    struct str name = { 0 };
    str_format(&name, "%s%s%s", str_or(prefix, ""), prefix ? "." : "", key);
    const char *p = name.p;
    size_t n = name.len;
    bool ok;
    if (name.failed)
        ok = err_memory(err, name.len);
    else
        ok = keys_own(keys, &name, err) && keys_set(keys, p, n, value, err);
    str_clear(&name);
    return ok;
}

bool
keys_put_u32(struct keys *keys, const char *prefix, const char *key, uint32_t n, struct err *err)
{
    return keys_put(keys, prefix, key, &(const struct meta_value){ .type = META_U32, .as.u = n }, err);
}

bool
keys_put_i32(struct keys *keys, const char *prefix, const char *key, int32_t n, struct err *err)
{
    return keys_put(keys, prefix, key, &(const struct meta_value){ .type = META_I32, .as.i = n }, err);
}

bool
keys_put_f32(struct keys *keys, const char *prefix, const char *key, float x, struct err *err)
{
    return keys_put(keys, prefix, key, &(const struct meta_value){ .type = META_F32, .as.f = (double)x }, err);
}

bool
keys_put_bool(struct keys *keys, const char *prefix, const char *key, bool yes, struct err *err)
{
    return keys_put(keys, prefix, key, &(const struct meta_value){ .type = META_BOOL, .as.u = yes }, err);
}

/* Sets a key to a value that borrows the bytes, and gives the bytes to the keys. */
static bool
put_bytes(struct keys *keys, const char *prefix, const char *key, struct meta_value *value, struct str *bytes,
    struct err *err)
{
    meta_move(value, bytes->p);
    bool ok;
    if (bytes->failed)
        ok = keys_no_room(bytes, err);
    else
        ok = (!bytes->p || keys_own(keys, bytes, err)) && keys_put(keys, prefix, key, value, err);
    str_clear(bytes);
    return ok;
}

bool
keys_put_text(struct keys *keys, const char *prefix, const char *key, const char *p, size_t n, struct err *err)
{
    struct str text = { .max = keys->max };
    struct meta_value value = { .type = META_STRING };
    str_add(&text, p, n);
    value.as.s.n = n;
    return put_bytes(keys, prefix, key, &value, &text, err);
}

bool
keys_put_array(struct keys *keys, const char *prefix, const char *key, enum meta_type type, uint64_t count,
    struct str *bytes, struct err *err)
{
    struct meta_value value = { .type = META_ARRAY };
    value.as.a = (struct meta_array){ .type = type, .count = count, .nbytes = bytes->len };
    return put_bytes(keys, prefix, key, &value, bytes, err);
}
