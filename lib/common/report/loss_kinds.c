/* The kinds and stacks of a map, and their labels. */
#include "report/loss_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { DIGITS = 9 };            /* of a layer's number */
enum { LABEL_DEPTH = 3 };       /* parts of a name that are tried as a label */

static const char *
kind_name(const void *owner, uint32_t i, size_t *n)
{
    const struct loss_map *map = owner;
    *n = map->kinds[i].len;
    return map->names.name[i];
}

/* Returns true if p[0..n) is a number, and sets *number. */
static bool
is_number(const char *p, size_t n, uint64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9')
            return false;
        *number = *number * 10 + (uint64_t)(p[i] - '0');
    }
    return n != 0;
}

/* Appends the name of a tensor's kind. Returns the length of it before the layer's *, or of all of it. */
static size_t
add_kind_name(struct str *key, uint64_t *layer, const char *name, size_t n)
{
    size_t prefix = SIZE_MAX;
    for (size_t at = 0; at <= n;) {
        const char *dot = memchr(name + at, '.', n - at);
        size_t len;
        if (dot)
            len = (size_t)(dot - name) - at;
        else
            len = n - at;
        uint64_t number;
        if (len <= DIGITS && is_number(name + at, len, &number)) {
            if (prefix == SIZE_MAX) {
                *layer = number;
                prefix = key->len;
            }
            str_text(key, "*");
        } else {
            str_add_escaped(key, name + at, len);
        }
        if (dot)
            str_text(key, ".");
        at += len + 1;
    }
    if (prefix == SIZE_MAX)
        return key->len;
    return prefix;
}

/* Finds or adds the kind with this name. */
static bool
find_kind(struct loss_map *map, const struct str *key, size_t prefix, uint32_t *kind, struct err *err)
{
    bool again;
    *kind = (uint32_t)map->nkinds;
    if (!table_add(&map->kind_names, kind_name, map, key->p, key->len, kind, &again, err))
        return false;
    if (again)
        return true;
    struct loss_kind *kinds = array_grow(map->kinds, map->nkinds, &map->kinds_room, sizeof *kinds, err);
    if (!kinds)
        return false;
    map->kinds = kinds;
    kinds[map->nkinds] = (struct loss_kind){ .len = (uint32_t)key->len, .prefix = (uint32_t)prefix };
    if (!names_add(&map->names, key->p, key->len, err))
        return false;
    map->nkinds++;
    return true;
}

/* Finds the place of item i. */
static bool
add_place(struct loss_map *map, size_t i, struct str *key, struct err *err)
{
    const struct loss_item *item = &map->items[i];
    struct loss_place *place = &map->places[i];
    key->len = 0;
    size_t prefix = add_kind_name(key, &place->layer, item->name, item->name_len);
    if (key->failed)
        return err_memory(err, key->room);
    if (!find_kind(map, key, prefix, &place->kind, err))
        return false;
    map->kinds[place->kind].n += item->weighed;
    return true;
}

static bool
add_places(struct loss_map *map, struct err *err)
{
    struct str key = { 0 };
    map->places = calloc(map->n + 1, sizeof *map->places);
    bool ok = map->places || err_memory(err, (map->n + 1) * sizeof *map->places);
    for (size_t i = 0; ok && i < map->n; i++)
        ok = add_place(map, i, &key, err);
    str_clear(&key);
    return ok;
}

/* --- stacks */

static const char *
stack_name(const void *owner, uint32_t i, size_t *n)
{
    const struct loss_map *map = owner;
    uint32_t kind = map->stacks[i].kind;
    *n = map->kinds[kind].prefix;
    return map->names.name[kind];
}

/* Puts a kind into its stack, as the last column. */
static bool
stack_kind(struct loss_map *map, uint32_t k, struct err *err)
{
    struct loss_kind *kind = &map->kinds[k];
    uint32_t i = (uint32_t)map->nstacks;
    bool again;
    struct loss_stack *stacks = array_grow(map->stacks, map->nstacks, &map->stacks_room, sizeof *stacks, err);
    if (!stacks)
        return false;
    map->stacks = stacks;
    if (!table_add(&map->stack_names, stack_name, map, map->names.name[k], kind->prefix, &i, &again, err))
        return false;
    struct loss_stack *stack = &stacks[i];
    if (again) {
        map->kinds[stack->last].next = k + 1;
    } else {
        *stack = (struct loss_stack){ .kind = k };
        map->nstacks++;
    }
    stack->last = k;
    kind->stack = i;
    kind->column = stack->columns++;
    return true;
}

static bool
stack_kinds(struct loss_map *map, struct err *err)
{
    bool ok = true;
    for (uint32_t k = 0; ok && k < map->nkinds; k++)
        if (map->kinds[k].n != 0 && map->kinds[k].prefix != map->kinds[k].len)
            ok = stack_kind(map, k, err);
    return ok;
}

/* --- labels */

static const char *
label_name(const void *owner, uint32_t i, size_t *n)
{
    const struct loss_map *map = owner;
    *n = map->kinds[i].label_len;
    return map->names.name[i] + map->kinds[i].label;
}

/* Sets the label to the last `depth` parts of the name after the layer, without ".weight" unless nothing else is left. It does
 * not start with *, the number of an expert. */
static void
set_label(const char *name, struct loss_kind *kind, unsigned depth)
{
    size_t from = kind->prefix + 1, end = kind->len;
    from += from < end;         /* the dot after the layer */
    str_strip(name, &end, ".weight");
    end = end > from ? end : kind->len;
    size_t at = end;
    for (unsigned parts = 0; at > from; at--)
        if (name[at - 1] == '.' && ++parts >= depth && name[at] != '*')
            break;
    kind->label = (uint32_t)at;
    kind->label_len = (uint32_t)(end - at);
}

/* Gives each kind of a stack without a label the label of this depth, unless several kinds would get the same one. */
static bool
try_labels(struct loss_map *map, const struct loss_stack *stack, unsigned depth, struct err *err)
{
    struct table labels = { 0 };
    bool ok = true;
    for (uint32_t k = stack->kind + 1; ok && k != 0; k = map->kinds[k - 1].next) {
        struct loss_kind *kind = &map->kinds[k - 1];
        uint32_t other = k - 1;
        bool again;
        if (kind->labelled)
            continue;
        set_label(map->names.name[k - 1], kind, depth);
        ok = table_add(&labels, label_name, map, map->names.name[k - 1] + kind->label, kind->label_len, &other, &again, err);
        kind->clashes = ok && again;
        map->kinds[other].clashes = map->kinds[other].clashes || kind->clashes;
    }
    table_clear(&labels);
    for (uint32_t k = stack->kind + 1; k != 0; k = map->kinds[k - 1].next) {
        struct loss_kind *kind = &map->kinds[k - 1];
        kind->labelled = kind->labelled || !kind->clashes;
        kind->clashes = false;
        if (!kind->labelled && depth == LABEL_DEPTH)
            set_label(map->names.name[k - 1], kind, kind->len);
    }
    return ok;
}

static bool
label_kinds(struct loss_map *map, struct err *err)
{
    bool ok = true;
    for (size_t i = 0; i < map->nstacks; i++)
        for (unsigned depth = 1; ok && depth <= LABEL_DEPTH; depth++)
            ok = try_labels(map, &map->stacks[i], depth, err);
    return ok;
}

bool
loss_map_add_kinds(struct loss_map *map, struct err *err)
{
    return add_places(map, err) && stack_kinds(map, err) && label_kinds(map, err);
}
