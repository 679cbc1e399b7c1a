/* Keys, and the texts of `refuse` and `warn`. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "family/config_priv.h"
#include "family/rope_keys.h"
#include "hf/generation.h"

/* --- one value */

static const char *
expected_of(enum meta_type type)
{
    static const char *const texts[] = { [META_U32] = "an integer from 0 to 4294967295",
        [META_U64] = "an integer from 0",
        [META_I32] = "an integer from -2147483648 to 2147483647", [META_F32] = "a number in the range of F32",
        [META_BOOL] = "true or false", [META_STRING] = "a string" };
    return texts[type];
}

/* Sets *value to a JSON value as a key's type. Strings are borrowed. An integer written as a fraction does not fit. */
static bool
keys_value_of(struct meta_value *value, enum meta_type type, const json_t *json)
{
    json_int_t n = json_integer_value(json);
    float x = (float)json_number_value(json);
    *value = (struct meta_value){ .type = type };
    switch (type) {
    case META_U32:
        value->as.u = (uint64_t)n;
        return json_is_integer(json) && n >= 0 && n <= UINT32_MAX;
    case META_U64:
        value->as.u = (uint64_t)n;
        return json_is_integer(json) && n >= 0;
    case META_I32:
        value->as.i = n;
        return json_is_integer(json) && n >= INT32_MIN && n <= INT32_MAX;
    case META_F32:
        if (json_is_string(json) && strcmp(json_string_value(json), "-Infinity") == 0) {
            value->as.f = (double)-INFINITY;
            return true;
        }
        value->as.f = (double)x;
        return json_is_number(json) && isfinite(x);
    case META_BOOL:
        value->as.u = json_is_true(json);
        return json_is_boolean(json);
    default:
        break;
    }
    value->as.s.p = json_string_value(json);
    value->as.s.n = json_string_length(json);
    return json_is_string(json);
}

static void
add_number(struct str *bytes, uint64_t n, unsigned size)
{
    char p[8];
    for (unsigned i = 0; i < size; i++)
        p[i] = (char)(n >> 8 * i);
    str_add(bytes, p, size);
}

/* Appends a value as a GGUF file stores it. */
static void
add_element(struct str *bytes, const struct meta_value *value)
{
    switch (value->type) {
    case META_STRING:
        add_number(bytes, value->as.s.n, 8);
        str_add(bytes, value->as.s.p, value->as.s.n);
        break;
    case META_F32:
        add_number(bytes, meta_float_bits(value), 4);
        break;
    case META_I32:
        add_number(bytes, (uint64_t)value->as.i, 4);
        break;
    case META_U64:
        add_number(bytes, value->as.u, 8);
        break;
    default:
        add_number(bytes, value->as.u, value->type == META_BOOL ? 1 : 4);
    }
}

static bool
put_list(struct keys *keys, const char *prefix, const struct family_key *key, const json_t *list, const char *name,
    struct err *err)
{
    struct str bytes = { .max = keys->max };
    size_t n = json_array_size(list);
    if (!json_is_array(list))
        return config_wrong(name, "a list", err);
    for (size_t i = 0; i < n; i++) {
        struct meta_value value;
        if (!keys_value_of(&value, key->type, json_array_get(list, i))) {
            str_clear(&bytes);
            return err_set(err, ERR_MALFORMED, "config.json: element %zu of %s is not %s", i, name,
                expected_of(key->type));
        }
        add_element(&bytes, &value);
    }
    return n == 0 || keys_put_array(keys, prefix, key->name, key->type, n, &bytes, err);
}

bool
config_put(struct keys *keys, const char *prefix, const struct family_key *key, const json_t *value, const char *name,
    struct err *err)
{
    struct meta_value v;
    if (key->array)
        return put_list(keys, prefix, key, value, name, err);
    if (!keys_value_of(&v, key->type, value))
        return config_wrong(name, expected_of(key->type), err);
    if (key->type != META_STRING)
        return keys_put(keys, prefix, key->name, &v, err);
    return v.as.s.n == 0 || keys_put_text(keys, prefix, key->name, v.as.s.p, v.as.s.n, err);
}

/* --- rows */

static bool
list_value(json_t **value, const struct family_key *key, struct scope *scope, struct err *err)
{
    uint64_t n;
    *value = json_array();
    if (!*value)
        return err_memory(err, 0);
    if (!scope_layers(&n, "layers", scope, err))
        return false;
    for (uint64_t b = 0; b < n; b++) {
        json_t *one;
        if (!expr_value(&one, key->value, scope, b, err))
            return false;
        if (json_array_append_new(*value, one) != 0)
            return err_memory(err, 0);
    }
    return true;
}

static bool
put_row(struct keys *keys, struct family_config *c, const struct family_key *row, struct err *err)
{
    struct family_key key = *row;
    json_t *value = NULL;
    bool applies;
    const char *prefix = family_key_prefix(c->family, &key.name);
    if (!expr_true(&applies, key.when, &c->scope, 0, err))
        return false;
    if (!applies)
        return true;
    bool ok;
    if (key.each)
        ok = list_value(&value, &key, &c->scope, err);
    else
        ok = expr_value(&value, key.value, &c->scope, 0, err);
    if (ok && !json_is_null(value))
        ok = config_put(keys, prefix, &key, value, expr_text(key.value), err);
    json_decref(value);
    return ok;
}

static bool
no_value(const struct family_config *c, const struct family_key *row, const char *name, struct scope *scope, struct err *err)
{
    struct str lacking = { 0 };
    size_t n;
    if (family_lacking(&lacking, &n, row->value, scope, err)) {
        const char *what;
        if (n != 0)
            what = lacking.p;
        else
            what = expr_text(row->value);
        err_set(err, ERR_MALFORMED, "config.json: %s %s missing, but family %s makes key %s of %s",
            what, n < 2 ? "is" : "are", c->family->name, name, n < 2 ? "it" : "one of them");
    }
    str_clear(&lacking);
    return false;
}

bool
family_config_check_keys(const struct keys *keys, struct family_config *c, struct err *err)
{
    for (size_t i = 0; i < c->family->keys.n; i++) {
        const struct family_key *row = &c->family->keys.at[i];
        char name[FAMILY_KEY];
        bool decides;
        if (row->optional)
            continue;
        if (!family_key_decides(&decides, c->family, i, &c->scope, err))
            return false;
        if (decides && family_key_name(name, c->family, row->name) && !keys_find(keys, name))
            return no_value(c, row, name, &c->scope, err);
    }
    return true;
}

bool
family_config_keys(struct keys *keys, struct family_config *c, struct err *err)
{
    const struct model_family *family = c->family;
    const char *type = "model";
    if (family->tower)
        type = "mmproj";
    if (!keys_put_text(keys, "general", "architecture", family->arch, strlen(family->arch), err)
            || !keys_put_text(keys, "general", "type", type, strlen(type), err)
            || !hf_generation_keys(keys, c->generation_config, err))
        return false;
    for (size_t i = 0; i < family->keys.n; i++) {
        const struct family_key *key = &family->keys.at[i];
        if (!key->name ? !rope_keys_put(keys, c, err)
                : !str_begins(key->name, "tokenizer.") && !put_row(keys, c, key, err))
            return false;
    }
    return true;
}

bool
family_tokenizer_keys(struct keys *keys, struct family_config *c, bool early, struct err *err)
{
    for (size_t i = 0; i < c->family->keys.n; i++) {
        const struct family_key *key = &c->family->keys.at[i];
        if (key->name && key->early == early && str_begins(key->name, "tokenizer.") && !put_row(keys, c, key, err))
            return false;
    }
    return true;
}

/* --- refuse, warn */

/* Appends a value as a message shows it. */
static void
add_shown(struct str *out, const json_t *value)
{
    if (json_is_string(value))
        str_add_escaped(out, json_string_value(value), json_string_length(value));
    else if (json_is_integer(value))
        str_format(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        str_format(out, "%.4g", json_real_value(value));
    else if (json_is_boolean(value))
        str_text(out, json_is_true(value) ? "true" : "false");
    else
        str_text(out, json_is_null(value) ? "null" : "...");
}

/* Returns the file that a text is about: a row that asks about tensors is about those. */
static const char *
subject(const struct family_text *row)
{
    static const char *const functions[] = { "has", "dim", "rows", "count", "number" };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (expr_calls(row->when, functions[i]))
            return "";
    return "config.json: ";
}

/* Replaces each {NAME} in a text. */
static bool
keys_fill(struct str *out, const char *text, struct family_config *c, struct err *err)
{
    while (*text != '\0') {
        const char *open = strchr(text, '{'), *close = open ? strchr(open, '}') : NULL;
        size_t n = 0;
        if (close)
            n = (size_t)(close - open - 1);
        char name[128];
        json_t *value;
        if (!close || n >= sizeof name) {
            str_text(out, text);
            break;
        }
        str_add(out, text, (size_t)(open - text));
        memcpy(name, open + 1, n);
        name[n] = '\0';
        if (!scope_value(&value, name, &c->scope, 0, err))
            return false;
        add_shown(out, value);
        json_decref(value);
        text = close + 1;
    }
    return !out->failed || err_memory(err, out->room);
}

bool
family_config_refuse(struct family_config *c, struct err *err)
{
    for (size_t i = 0; i < c->family->refuses.n; i++) {
        const struct family_text *row = &c->family->refuses.at[i];
        struct str text = { 0 };
        bool applies;
        if (!expr_true(&applies, row->when, &c->scope, 0, err))
            return false;
        if (!applies)
            continue;
        if (keys_fill(&text, row->text, c, err))
            err_set(err, row->malformed ? ERR_MALFORMED : ERR_UNSUPPORTED, "%s%s", subject(row), str_or(text.p, ""));
        str_clear(&text);
        return false;
    }
    return true;
}

bool
family_config_warn(struct family_config *c, struct catalog *catalog, struct err *err)
{
    char shown[STR_SHOWN];
    const json_t *type = json_object_get(c->members, "model_type");
    if (c->unknown_type)
        catalog_warn(catalog, "config.json: unknown model_type '%s': members that are missing get the defaults of %s",
            str_shown(shown, json_string_value(type), json_string_length(type)), c->class);
    for (size_t i = 0; i < c->family->warns.n; i++) {
        const struct family_text *row = &c->family->warns.at[i];
        struct str text = { 0 };
        bool applies;
        if (!expr_true(&applies, row->when, &c->scope, 0, err))
            return false;
        bool ok = !applies || keys_fill(&text, row->text, c, err);
        if (ok && applies)
            catalog_warn(catalog, "%s%s", subject(row), str_or(text.p, ""));
        str_clear(&text);
        if (!ok)
            return false;
    }
    return true;
}
