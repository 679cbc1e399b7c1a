#include "writer/keys_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/limits.h"
#include "base/num.h"
#include "writer/file_type.h"
#include "writer/meta_text.h"
#include "writer/stale.h"

static const char types_key[] = META_TEXT_TYPES, pt[] = "pt";

static bool
keys_is(const char *key, size_t n, const char *name)
{
    return str_is(key, n, name);
}

static bool
is_key(const struct meta *m, const char *name)
{
    return keys_is(m->key, m->key_len, name);
}

/* --- the list */

static const char *
name_of_key(const void *of, uint32_t i, size_t *n)
{
    const struct keys *keys = of;
    *n = keys->list[i].key_len;
    return keys->list[i].key;
}

bool
keys_set(struct keys *keys, const char *key, size_t n, const struct meta_value *value, struct err *err)
{
    uint32_t i = (uint32_t)keys->n;
    bool again;
    struct meta *list = array_grow(keys->list, keys->n, &keys->room, sizeof *list, err);
    if (!list)
        return false;
    keys->list = list;
    list[i] = (struct meta){ .key = key, .key_len = (uint32_t)n, .value = *value };
    if (!table_add(&keys->names, name_of_key, keys, key, n, &i, &again, err))
        return false;
    keys->list[i].value = *value;
    keys->n += !again;
    return true;
}

static struct meta_value *
find(const struct keys *keys, const char *key, size_t n)
{
    uint32_t i;
    if (table_find(&keys->names, name_of_key, keys, key, n, &i))
        return &keys->list[i].value;
    return NULL;
}

const struct meta_value *
keys_find(const struct keys *keys, const char *key)
{
    return find(keys, key, strlen(key));
}

bool
keys_own(struct keys *keys, struct str *s, struct err *err)
{
    struct names *owned = &keys->owned;
    char **all = array_grow(owned->name, owned->n, &owned->room, sizeof *all, err);
    if (!all)
        return false;
    owned->name = all;
    all[owned->n++] = s->p;
    *s = (struct str){ 0 };
    return true;
}

bool
keys_no_room(const struct str *bytes, struct err *err)
{
    if (bytes->full)
        return err_set(err, ERR_LIMIT, "metadata of the output: a value exceeds the limit of %zu " "bytes (%s)", bytes->max,
            limits_origin(bytes->max, limits_default.alloc, "--max-alloc"));
    return err_memory(err, bytes->len);
}

void
keys_clear(struct keys *keys)
{
    free(keys->list);
    table_clear(&keys->names);
    names_clear(&keys->owned);
    *keys = (struct keys){ 0 };
}

static struct meta_value
text_value(const char *text, size_t n)
{
    struct meta_value v = { .type = META_STRING };
    v.as.s.p = text;
    v.as.s.n = n;
    return v;
}

/* Returns true if the output is to be without this key. */
static bool
is_unset(const struct keys_given *given, const char *key, size_t n)
{
    for (size_t i = 0; i < given->unset.n; i++)
        if (keys_is(key, n, given->unset.name[i]))
            return true;
    return false;
}

/* --- keys of the input */

/* State while the keys of an output are made. */
struct making {
    struct keys *keys;
    enum keys_kind kind;
    const struct keys_given *given;
    const struct choice *choice;
    bool changed, quantized;
    int file_type;
};

/* Returns true if the input has only strings; then META_TEXT_TYPES may declare their original types. */
static bool
has_strings_only(const struct catalog *input)
{
    for (size_t i = 0; i < catalog_meta_count(input); i++)
        if (catalog_meta_at(input, i)->value.type != META_STRING)
            return false;
    return true;
}

/* Returns true if a key of the input is kept. Keys about types are kept only for add_facts() to overwrite. */
static bool
is_kept(const struct making *m, const struct meta *meta)
{
    if (m->kind != KEYS_TYPED || !m->changed)
        return !stale_key(meta, m->choice);
    if (is_key(meta, "general.file_type"))
        return m->file_type != FILE_TYPE_NONE;
    if (is_key(meta, "general.quantization_version"))
        return m->quantized;
    return !stale_key(meta, m->choice);
}

/* Adds the keys of the input. Sets *types to the key with the types of the others, or NULL. "format" describes a safetensors
 * file, and is dropped in other formats. */
static bool
add_input(struct making *m, const struct meta **types, struct err *err)
{
    const struct catalog *input = m->choice->input;
    const char *format = catalog_facts_of(input)->format;
    bool strings = has_strings_only(input), is_gguf = format && strcmp(format, "GGUF") == 0, ok = true;
    *types = NULL;
    for (size_t i = 0; ok && i < catalog_meta_count(input); i++) {
        const struct meta *meta = catalog_meta_at(input, i);
        struct meta_value value = meta->value;
        bool about_types = is_key(meta, types_key) && (strings || m->kind == KEYS_TEXT);
        if (about_types && strings)
            *types = meta;
        if (about_types || !is_kept(m, meta) || is_unset(m->given, meta->key, meta->key_len))
            continue;
        if (is_key(meta, "format")) {
            if (m->kind == KEYS_TYPED && !is_gguf)
                continue;
            if (m->kind == KEYS_TEXT)
                value = text_value(pt, 2);
        }
        ok = keys_set(m->keys, meta->key, meta->key_len, &value, err);
    }
    return ok;
}

static bool
add_own(struct making *m, struct err *err)
{
    const struct keys *own = m->given->own;
    for (size_t i = 0; i < own->n; i++)
        if (!is_unset(m->given, own->list[i].key, own->list[i].key_len) && !keys_set(m->keys, own->list[i].key, own->list[i].key_len, &own->list[i].value, err))
            return false;
    m->changed = true;
    return true;
}

static bool
add_job(struct making *m, struct err *err)
{
    const struct keys *job = m->given->job;
    for (size_t i = 0; job && m->kind == KEYS_TYPED && i < job->n; i++)
        if (!is_unset(m->given, job->list[i].key, job->list[i].key_len)
                && !keys_set(m->keys, job->list[i].key, job->list[i].key_len, &job->list[i].value, err))
            return false;
    return true;
}

/* --- original types of strings */

/* Returns a JSON string as a C string, owned by the keys. Neither a type nor a GGUF key contains a zero byte. */
static const char *
take_string(struct keys *keys, const struct pull_text *text, size_t *n, struct err *err)
{
    struct str s = { .max = keys->max };
    str_add(&s, text->p, text->n);
    if (s.failed) {
        keys_no_room(&s, err);
        str_clear(&s);
        return NULL;
    }
    *n = pull_unescape(s.p, text);
    s.p[*n] = '\0';
    const char *p = s.p;
    if (keys_own(keys, &s, err))
        return p;
    str_clear(&s);
    return NULL;
}

static bool
restore(struct making *m, const char *key, size_t n, const char *type, struct err *err)
{
    struct meta_value *v = find(m->keys, key, n);
    struct str bytes = { .max = m->keys->max };
    char shown[STR_SHOWN], shown_type[STR_SHOWN];
    const char *why;
    str_shown(shown, key, n);
    str_shown(shown_type, type, strlen(type));
    if (!v && catalog_meta_find(m->choice->input, key))
        return true;            /* dropped, because it is no longer true */
    if (!v)
        return err_set(err, ERR_MALFORMED, "key %s: lists key %s, which does not exist", types_key, shown);
    if (v->type != META_STRING || !v->as.s.p)
        return err_set(err, ERR_MALFORMED, "key %s: lists key %s twice", types_key, shown);
    bool ok = meta_read_text(v, &bytes, type, v->as.s.p, v->as.s.n, &why);
    if (!ok && why)
        err_set(err, ERR_MALFORMED, "key %s: value is not of type %s, which %s declares: %s", shown, shown_type,
            types_key, why);
    else if (!ok)
        keys_no_room(&bytes, err);
    ok = ok && keys_own(m->keys, &bytes, err);
    str_clear(&bytes);
    return ok;
}

static bool
restore_all(struct making *m, const struct meta *types, struct err *err)
{
    struct pull json;
    const char *key, *type;
    size_t n, ntype;
    if (!types)
        return true;
    pull_init(&json, types->value.as.s.p, types->value.as.s.n, 0);
    enum pull_token token = pull_next(&json);
    while (token == PULL_OBJECT && pull_next(&json) == PULL_KEY) {
        if (!(key = take_string(m->keys, &json.token, &n, err)))
            return false;
        if (pull_next(&json) != PULL_STRING)
            break;
        if (!(type = take_string(m->keys, &json.token, &ntype, err)) || !restore(m, key, n, type, err))
            return false;
    }
    return (token == PULL_OBJECT && pull_next(&json) == PULL_END) || err_set(err, ERR_MALFORMED, "key %s: not "
        "a JSON object of keys and types", types_key);
}

/* --- keys of the output */

static bool
set_u32(struct keys *keys, const char *key, uint64_t n, struct err *err)
{
    const struct meta_value v = { .type = META_U32, .as.u = n };
    return keys_set(keys, key, strlen(key), &v, err);
}

/* Sets the keys about tensor types in a GGUF file if they differ from the input's. Skips tensors that are neither a model
 * nor quantized. */
static bool
add_facts(struct making *m, struct err *err)
{
    static const char type[] = "general.file_type", version[] = "general.quantization_version";
    bool says = m->quantized || keys_find(m->keys, type) || keys_find(m->keys, "general.architecture");
    size_t n = 0;
    const struct meta_value *kind = keys_find(m->keys, "general.type");
    const char *word = kind ? meta_bytes(kind, &n) : NULL;
    bool adapter = word && keys_is(word, n, "adapter");         /* has no type of the file */
    if (m->kind != KEYS_TYPED || !m->changed || !says || adapter)
        return true;
    return (m->file_type == FILE_TYPE_NONE || is_unset(m->given, type, sizeof type - 1) || set_u32(m->keys, type, (uint64_t)m->file_type, err))
        && (!m->quantized || keys_find(m->keys, version) || is_unset(m->given, version, sizeof version - 1) || set_u32(m->keys, version, KEYS_QUANTIZATION_VERSION, err));
}

/* Describes quantization that shapes do not show, for scheme/config.h. */
static bool
add_quantization(struct making *m, struct err *err)
{
    const struct str *text = m->given->quantization;
    return !text || text->len == 0 || m->kind != KEYS_TEXT
        || keys_put_text(m->keys, NULL, "quantization_config", text->p, text->len, err);
}

/* --- keys of the command line */

bool
keys_refused(const char *key, size_t n, const char **why)
{
    static const char *const split[] = { "split.no", "split.count", "split.tensors.count" };
    *why = NULL;
    if (n == 0)
        *why = "empty key";
    else if (n > META_KEY_MAX)
        *why = "a key may have at most 65535 bytes";
    else if (memchr(key, '\0', n))
        *why = "key contains a NUL byte";
    else if (!str_is_utf8(key, n))
        *why = "key is not valid UTF-8";
    else if (str_prefixed(key, n, "GGUF."))
        *why = "GGUF.* keys describe the file header, which is generated";
    for (size_t i = 0; i < sizeof split / sizeof *split; i++)
        if (keys_is(key, n, split[i]))
            *why = "split keys are generated";
    return *why != NULL;
}

bool
keys_give(struct keys_given *given, enum keys_kind kind, const char *option, const char *arg, struct err *err)
{
    const char *equals = strchr(arg, '='), *why = NULL;
    size_t all = strlen(arg), n = equals ? (size_t)(equals - arg) : all;
    char shown[STR_SHOWN];
    if (!equals)
        why = "expected KEY=VALUE";
    else if (n == 0)
        why = "empty key";
    else if (!str_is_utf8(arg, all))
        why = "not valid UTF-8";
    else if (kind == KEYS_TEXT && keys_is(arg, n, types_key))
        why = "this key describes the types of the others and is generated";
    else if (kind == KEYS_TYPED)
        keys_refused(arg, n, &why);
    if (why)
        return err_set(err, ERR_USAGE, "--%s '%s': %s", option, str_shown(shown, arg, n), why);
    return names_add(kind == KEYS_TEXT ? &given->text : &given->typed, arg, all, err);
}

bool
keys_unset(struct keys_given *given, const char *option, const char *key, struct err *err)
{
    char shown[STR_SHOWN];
    const char *why;
    if (keys_refused(key, strlen(key), &why))
        return err_set(err, ERR_USAGE, "--%s '%s': %s", option, str_shown(shown, key, strlen(key)), why);
    return names_add(&given->unset, key, strlen(key), err);
}

void
keys_given_clear(struct keys_given *given)
{
    names_clear(&given->unset);
    names_clear(&given->text);
    names_clear(&given->typed);
    *given = (struct keys_given){ 0 };
}

/* Writes the type of a key: that in the output or the input, or else, for typed keys, the known one; none means a string. */
static void
keys_find_type(struct str *type, const struct making *m, const char *key, size_t n)
{
    const struct meta_value *old = find(m->keys, key, n);
    const struct catalog *input = m->choice->input;
    for (size_t i = 0; !old && i < catalog_meta_count(input); i++)
        if (catalog_meta_at(input, i)->key_len == n && memcmp(catalog_meta_at(input, i)->key, key, n) == 0)
            old = &catalog_meta_at(input, i)->value;
    const char *known = old || m->kind != KEYS_TYPED ? NULL : known_keys_type(key, n);
    if (old && old->type != META_STRING)
        meta_text_type(type, old);
    else if (known)
        str_text(type, known);
}

/* Sets a key to a text, converted to the type of the key. */
static bool
set_text(const struct making *m, const char *key, size_t n, const char *text, struct err *err)
{
    struct keys *keys = m->keys;
    struct meta_value value = text_value(text, strlen(text));
    struct str type = { 0 }, bytes = { .max = keys->max };
    char shown[STR_SHOWN];
    const char *why = NULL;
    keys_find_type(&type, m, key, n);
    if (type.len == 0 && !type.failed)
        return keys_set(keys, key, n, &value, err);
    bool ok = !type.failed && meta_read_text(&value, &bytes, type.p, text, strlen(text), &why);
    if (!ok && why)
        err_set(err, ERR_USAGE, "%s %s: value is not of type %s, the type of this key: %s",
            m->kind == KEYS_TEXT ? "--metadata" : "--gguf-kv", str_shown(shown, key, n), type.p, why);
    else if (!ok)
        keys_no_room(&bytes, err);
    ok = ok && keys_own(keys, &bytes, err) && keys_set(keys, key, n, &value, err);
    str_clear(&bytes);
    str_clear(&type);
    return ok;
}

static bool
add_pairs(struct making *m, struct err *err)
{
    const struct names *pairs = m->kind == KEYS_TEXT ? &m->given->text : &m->given->typed;
    bool ok = true;
    for (size_t i = 0; ok && i < pairs->n; i++) {
        const char *key = pairs->name[i], *text = strchr(key, '=') + 1;
        size_t n = (size_t)(text - key) - 1;
        ok = set_text(m, key, n, text, err);
    }
    return ok;
}

/* Checks that every key to leave out was there. */
static bool
check_unset(const struct making *m, struct err *err)
{
    const struct keys_given *given = m->given;
    char shown[STR_SHOWN];
    for (size_t i = 0; i < given->unset.n; i++) {
        const char *key = given->unset.name[i];
        if (!catalog_meta_find(m->choice->input, key) && !(given->own && keys_find(given->own, key))
                && !(given->job && keys_find(given->job, key)))
            return err_set(err, ERR_USAGE, "--gguf-unset %s: the output has no such key",
                str_shown(shown, key, strlen(key)));
    }
    return true;
}

bool
keys_make(struct keys *keys, enum keys_kind kind, const struct keys_given *given, const struct choice *choice,
    struct err *err)
{
    const struct meta *types;
    struct making m = { .keys = keys, .kind = kind, .given = given, .choice = choice,
        .changed = choice->decodes || file_type_changed(choice), .quantized = file_type_is_quantized(choice),
        .file_type = file_type(choice) };
    *keys = (struct keys){ .max = catalog_limits(choice->input)->alloc };
    if (kind == KEYS_NONE)
        return true;
    return (given->own ? add_own(&m, err) : given->none || (add_input(&m, &types, err) && restore_all(&m, types, err)))
        && add_facts(&m, err) && add_quantization(&m, err) && add_job(&m, err)
        && (!given->json || keys_add_file(keys, given, err))
        && add_pairs(&m, err) && check_unset(&m, err);
}
