/* Tensors of one number, or of a few integers, that a GGUF file has as a key: made again for the keys whose expression is
 * value("NAME", rank) or data("NAME", layer). */
#include <string.h>

#include "dtype/bfloat16.h"
#include "dtype/half.h"
#include "family/back_priv.h"
#include "family/compose.h"
#include "family/expr_priv.h"
#include "family/pattern.h"

enum { VALUE_RANK = 4, LIST_MAX = 256 };

/* Sets *name and *layer if an expression is data("NAME", layer): a list of integers that is a tensor. */
static bool
find_list(const char **name, uint64_t *layer, struct back_work *w, const struct expr *e, struct err *err)
{
    const struct expr_node *root = &e->node[e->root];
    *name = NULL;
    if (root->kind != NODE_CALL || root->function != expr_function("data", 4) || root->a == EXPR_NONE)
        return true;
    struct expr second = *e;
    second.root = e->node[root->a].next;
    if (second.root == EXPR_NONE || e->node[root->a].kind != NODE_VALUE)
        return true;
    *name = json_string_value(e->node[root->a].value);
    return expr_size(layer, &second, w->scope, 0, err);
}

/* Adds a tensor of 64-bit integers. */
static bool
add_list(struct back_work *w, const char *pattern, uint64_t layer, const json_t *list, struct err *err)
{
    struct chosen *out = back_rows_new(w, err);
    struct str text = { 0 };
    const char *name;
    uint32_t length;
    int64_t x[LIST_MAX];
    size_t n = json_array_size(list);
    if (n > LIST_MAX)
        return err_set(err, ERR_LIMIT, "%s: more than %d integers", pattern, LIST_MAX);
    for (size_t i = 0; i < n; i++)
        x[i] = json_integer_value(json_array_get(list, i));
    pattern_fill(&text, pattern, layer, 0);
    if (!pattern_name(&name, &length, &text, w->memory, err) || !out || !compose_integers(out, name, x, n, w->memory, err))
        return false;
    w->nout++;
    return true;
}

/* Sets *name and *rank if an expression is value("NAME") or value("NAME", rank); the rank is 1 if absent. */
static bool
find_value(const char **name, uint32_t *rank, const struct expr *e)
{
    const struct expr_node *root = &e->node[e->root];
    if (root->kind != NODE_CALL || root->function != expr_function("value", 5) || root->a == EXPR_NONE)
        return false;
    const struct expr_node *first = &e->node[root->a], *second = first->next != EXPR_NONE ? &e->node[first->next] : NULL;
    *rank = 1;
    if (second && second->kind == NODE_VALUE && json_is_integer(second->value))
        *rank = (uint32_t)json_integer_value(second->value);
    if (first->kind == NODE_VALUE)
        *name = json_string_value(first->value);
    else
        *name = NULL;
    return *name && *rank <= VALUE_RANK;
}

/* Adds a tensor of one number: of the element type, unless that would change it. */
static bool
back_values_add_value(struct back_work *w, const char *pattern, uint32_t rank, const json_t *value, uint64_t b, struct err *err)
{
    static const uint64_t ones[VALUE_RANK] = { 1, 1, 1, 1 };
    float x = (float)json_number_value(value);
    enum dtype to = w->how->matrices;
    float back;
    if (to == DTYPE_F16)
        back = half_to_float(half_of_float(x));
    else if (to == DTYPE_BF16)
        back = bfloat16_to_float(bfloat16_of_float(x));
    else
        back = x;
    struct chosen *out = back_rows_new(w, err);
    struct str text = { 0 };
    const char *name;
    uint32_t n;
    pattern_fill(&text, pattern, b, 0);
    if (!pattern_name(&name, &n, &text, w->memory, err) || !out
            || !compose_numbers(out, name, &x, ones, rank, w->memory, err))
        return false;
    if (w->how->exact || back == x)
        out->dtype = to;
    w->nout++;
    return true;
}

bool
back_values_add(struct back_work *w, struct err *err)
{
    for (size_t i = 0; w->keys && i < w->family->keys.n; i++) {
        const struct family_key *key = &w->family->keys.at[i];
        const char *pattern = NULL;
        uint32_t rank = 1;
        uint64_t layer;
        const json_t *value = NULL;
        if (!key->name)
            continue;
        if (!find_list(&pattern, &layer, w, key->value, err))
            return false;
        const json_t *list = pattern ? family_key_value(w->keys, w->family, key->name) : NULL;
        if (list && !add_list(w, pattern, layer, list, err))
            return false;
        if (find_value(&pattern, &rank, key->value))
            value = family_key_value(w->keys, w->family, key->name);
        size_t n = 1;
        if (key->each)
            n = json_array_size(value);
        for (size_t b = 0; b < n && b < SCOPE_LAYERS_MAX; b++) {
            const json_t *one = value;
            if (key->each)
                one = json_array_get(value, b);
            if (json_is_number(one) && !back_values_add_value(w, pattern, rank, one, b, err))
                return false;
        }
    }
    return true;
}
