#include "container/torch/objects.h"

#include "catalog/layout.h"

static bool
named(const struct pickle_name *own, const char *name)
{
    const char *dot = strrchr(own->text, '.');
    return strcmp(own->text, name) == 0 || (dot && strcmp(dot + 1, name) == 0);
}

bool
object_is_global(const struct pickle_value *v, const char *name)
{
    return v->kind == PICKLE_GLOBAL && named(v->of.name, name);
}

bool
object_is(const struct pickle_value *v, const char *name)
{
    return v->kind == PICKLE_CALL && named(v->of.item[0]->of.name, name);
}

const struct pickle_value *
object_state(const struct pickle *k, const struct pickle_value *v)
{
    struct pickle_walk walk = { 0 };
    struct pickle_value *key, *value;
    if (!pickle_is_opaque(v) || !v->of.item[2] || !pickle_next(k, v->of.item[2], &walk, &key, &value))
        return NULL;
    return value;
}

const struct pickle_value *
object_item(const struct pickle *k, const struct pickle_value *dict, const char *key)
{
    struct pickle_walk walk = { 0 };
    struct pickle_value *this, *value;
    while (dict && dict->kind == PICKLE_DICT && pickle_next(k, dict, &walk, &this, &value))
        if (pickle_is_text(this, key))
            return value;
    return NULL;
}

const struct pickle_value *
object_attribute(const struct pickle *k, const struct pickle_value *v, const char *name)
{
    const struct pickle_value *state = object_state(k, v), *found = NULL;
    if (!state || state->kind != PICKLE_TUPLE || state->n != 2)
        return object_item(k, state, name);
    for (uint32_t i = 0; i < state->n && !found; i++)
        found = object_item(k, state->of.item[i], name);
    return found;
}

bool
object_count(const struct pickle_value *v, uint64_t *n)
{
    if (v->kind == PICKLE_CALL && pickle_is_opaque(v) && v->of.item[1]->n == 1)
        v = v->of.item[1]->of.item[0];
    *n = (uint64_t)v->of.integer;
    return v->kind == PICKLE_INT && v->of.integer >= 0;
}

bool
object_counts(const struct pickle *k, const struct pickle_value *v, uint64_t *n, uint32_t *rank)
{
    struct pickle_walk walk = { 0 };
    struct pickle_value *key, *item;
    *rank = 0;
    if (v->kind == PICKLE_CALL && pickle_role(v) == GLOBAL_SIZE && v->of.item[1]->n == 1)
        v = v->of.item[1]->of.item[0];
    if ((v->kind != PICKLE_TUPLE && v->kind != PICKLE_LIST) || v->n > LAYOUT_RANK)
        return false;
    while (pickle_next(k, v, &walk, &key, &item)) {
        if (item->kind != PICKLE_INT || item->of.integer < 0)
            return false;
        n[(*rank)++] = (uint64_t)item->of.integer;
    }
    return true;
}
