/* Tensors of one number that a GGUF file has as a key: made again for the keys whose expression is value("NAME", rank). */
#include <string.h>

#include "dtype/bfloat16.h"
#include "dtype/half.h"
#include "family/back_priv.h"
#include "family/compose.h"
#include "family/expr_priv.h"
#include "family/pattern.h"

enum { VALUE_RANK = 4 };

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
        const json_t *value = NULL;
        if (key->name && find_value(&pattern, &rank, key->value))
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
