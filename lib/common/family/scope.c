/* Names in expressions. */
#include "family/scope.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "family/expr_priv.h"

/* --- objects */

/* Sets *found to a member of an object by a name of n bytes; borrowed; NULL if it has none. */
static bool
member(json_t **found, const json_t *object, const char *name, size_t n, struct err *err)
{
    struct str copy = { 0 };
    str_add(&copy, name, n);
    bool ok = !copy.failed || err_memory(err, n + 1);
    if (ok)
        *found = json_object_get(object, copy.p);
    else
        *found = NULL;
    str_clear(&copy);
    return ok;
}

/* Walks from *value along the names in `path`, which begins with a dot or is empty. *value is borrowed, or NULL. */
static bool
walk(json_t **value, const char *path, struct err *err)
{
    while (*value && *path == '.') {
        size_t n = strcspn(++path, ".");
        if (!member(value, *value, path, n, err))
            return false;
        path += n;
    }
    return true;
}

static bool
give(json_t **value, json_t *borrowed)
{
    if (borrowed)
        *value = json_incref(borrowed);
    else
        *value = json_null();
    return true;
}

static bool
give_number(json_t **value, uint64_t n, struct err *err)
{
    *value = json_integer((json_int_t)n);
    return *value || err_memory(err, 0);
}

/* --- built-ins */

static bool
scope_is(const char *name, size_t n, const char *word)
{
    return str_is(name, n, word);
}

bool
scope_is_builtin(const char *name)
{
    static const char *const words[] = { "b", "arch", "class", "mtp", "file_type", "tokens", "vocab_rows", "rope",
        "rope_local", "rope_all", "tokenizer_config", "generation_config", "file", "preprocessor" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(name, words[i]) == 0)
            return true;
    return false;
}

/* Returns the object of a built-in, name[0..n); sets *known. */
static json_t *
builtin_object(const struct scope *s, const char *name, size_t n, bool *known)
{
    const struct {
        const char *name;
        json_t *object;
    } objects[] = { { "rope", s->rope }, { "rope_local", s->rope_local }, { "rope_all", s->rope_all },
        { "tokenizer_config", s->tokenizer_config }, { "generation_config", s->generation_config }, { "file", s->file },
        { "preprocessor", s->preprocessor } };
    *known = true;
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        if (scope_is(name, n, objects[i].name))
            return objects[i].object;
    *known = false;
    return NULL;
}

/* Sets *value if the name is a built-in without members. */
static bool
builtin(json_t **value, const struct scope *s, const char *name, size_t n, uint64_t b, struct err *err)
{
    *value = NULL;
    if (scope_is(name, n, "b"))
        return give_number(value, b, err);
    if (scope_is(name, n, "file_type"))
        return give_number(value, s->file_type, err);
    if (scope_is(name, n, "tokens"))
        return give_number(value, s->tokens, err);
    if (scope_is(name, n, "vocab_rows"))
        return give_number(value, s->vocab_rows, err);
    if (scope_is(name, n, "mtp"))
        *value = json_boolean(s->mtp);
    if (scope_is(name, n, "arch"))
        *value = json_string(s->family->arch);
    if (scope_is(name, n, "class"))
        *value = s->class ? json_string(s->class) : json_null();
    return *value || !(scope_is(name, n, "class") || scope_is(name, n, "arch")) || err_memory(err, 0);
}

/* --- lets and members */

static int
compare_let(const void *a, const void *b)
{
    return strcmp(a, ((const struct family_let *)b)->name);
}

static const struct family_let *
find_let(const struct model_family *family, const char *name, size_t n)
{
    char copy[64];
    if (n >= sizeof copy || family->lets.n == 0)
        return NULL;
    memcpy(copy, name, n);
    copy[n] = '\0';
    return bsearch(copy, family->lets.at, family->lets.n, sizeof *family->lets.at, compare_let);
}

static bool
let_value(json_t **value, const struct family_let *let, const char *rest, struct scope *scope, uint64_t b, struct err *err)
{
    json_t *whole;
    if (!expr_value(&whole, let->value, scope, b, err))
        return false;
    json_t *found = whole;
    bool ok = walk(&found, rest, err) && give(value, found);
    json_decref(whole);
    return ok;
}

/* The reserved lets, if the family has none of that name. */
static bool
reserved(json_t **value, const char *name, struct scope *scope, uint64_t b, struct err *err)
{
    if (strcmp(name, "main") == 0)
        return scope_value(value, "layers", scope, b, err);
    json_t *blocks = family_key_value(scope->keys, scope->family, "block_count");
    return give(value, blocks ? blocks : json_object_get(scope->config, "num_hidden_layers"));
}

bool
scope_value(json_t **value, const char *name, struct scope *scope, uint64_t b, struct err *err)
{
    size_t n = strcspn(name, ".");
    json_t *found = NULL;
    if (name[n] == '.')
        found = family_key_value(scope->keys, scope->family, name);
    bool known;
    if (found)
        return give(value, found);
    json_t *object = builtin_object(scope, name, n, &known);
    if (known)
        return walk(&object, name + n, err) && give(value, object);
    if (!builtin(value, scope, name, n, b, err) || *value)
        return *value != NULL;
    const struct family_let *let = find_let(scope->family, name, n);
    if (let)
        return let_value(value, let, name + n, scope, b, err);
    if (strcmp(name, "layers") == 0 || strcmp(name, "main") == 0)
        return reserved(value, name, scope, b, err);
    found = family_key_value(scope->keys, scope->family, name);
    return (found || (member(&found, scope->config, name, n, err) && walk(&found, name + n, err))) && give(value, found);
}

bool
scope_layers(uint64_t *n, const char *name, struct scope *scope, struct err *err)
{
    json_t *value;
    *n = 0;
    if (!scope_value(&value, name, scope, 0, err))
        return false;
    double x = json_number_value(value);
    bool ok = json_is_number(value) && x >= 0 && x <= SCOPE_LAYERS_MAX && x == floor(x);
    if (ok)
        *n = (uint64_t)x;
    else
        *n = 0;
    json_decref(value);
    return ok || err_set(err, ERR_MALFORMED,
        "the number of layers ('%s' of family %s) is not an integer from 0 to %d",
        name, scope->family->name, SCOPE_LAYERS_MAX);
}
