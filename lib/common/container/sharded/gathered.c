#include "container/sharded/gathered.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct gathered_piece {
    uint32_t tensor, file;
    uint64_t at;
    const struct layout *layout;
    size_t box;                 /* in gathered.box: first indices, then numbers of indices */
};

static const char *
name_of_gathered(const void *of, uint32_t i, size_t *n)
{
    const struct gathered_tensor *t = &((const struct gathered *)of)->tensor[i];
    *n = t->name_len;
    return t->name;
}

static void *
gathered_copy(struct sharded *s, const void *p, size_t n, struct err *err)
{
    void *copy = catalog_alloc(s->catalog, n + 1, err);
    if (copy && n != 0)
        memcpy(copy, p, n);
    return copy;
}

bool
gathered_add(struct gathered *g, struct sharded *s, const struct gathered_tensor *facts, struct gathered_tensor **t, bool *again,
    struct err *err)
{
    uint32_t i = (uint32_t)g->n;
    struct gathered_tensor *list = array_grow(g->tensor, g->n, &g->room, sizeof *list, err);
    if (!list)
        return false;
    g->tensor = list;
    if (!table_add(&g->table, name_of_gathered, g, facts->name, facts->name_len, &i, again, err))
        return false;
    *t = &list[i];
    if (*again)
        return true;
    list[i] = *facts;
    list[i].name = gathered_copy(s, facts->name, facts->name_len, err);
    list[i].shape = gathered_copy(s, facts->shape, facts->rank * sizeof *facts->shape, err);
    g->n += list[i].name && list[i].shape;
    return list[i].name && list[i].shape;
}

bool
gathered_piece(struct gathered *g, struct sharded *s, const struct gathered_tensor *t, const struct mosaic_tile *tile, struct err *err)
{
    struct gathered_piece *list = array_grow(g->piece, g->npieces, &g->room_pieces, sizeof *list, err);
    if (!list)
        return false;
    g->piece = list;
    list += g->npieces;
    *list = (struct gathered_piece){ .tensor = (uint32_t)(t - g->tensor), .file = tile->file, .at = tile->at, .box = g->nbox };
    if (tile->layout && !layout_is_plain(tile->layout)) {
        list->layout = gathered_copy(s, tile->layout, layout_size(tile->layout), err);
        if (!list->layout)
            return false;
    }
    for (uint32_t i = 0; i < 2 * t->rank; i++) {
        uint64_t *box = array_grow(g->box, g->nbox, &g->room_box, sizeof *box, err);
        if (!box)
            return false;
        g->box = box;
        box[g->nbox++] = i < t->rank ? tile->from[i] : tile->size[i - t->rank];
    }
    g->npieces++;
    return true;
}

static int
compare_piece(const void *a, const void *b)
{
    const struct gathered_piece *x = a, *y = b;
    if (x->tensor != y->tensor)
        return x->tensor < y->tensor ? -1 : 1;
    return (x->box > y->box) - (x->box < y->box);
}

static bool
finish_one(const struct gathered *g, struct sharded *s, size_t i, size_t *piece, struct str *name, struct err *err)
{
    const struct gathered_tensor *t = &g->tensor[i];
    char shown[STR_SHOWN];
    name->len = 0;
    sharded_add_name(name, t->name, t->name_len);
    if (name->failed)
        return err_memory(err, name->room);
    const struct mosaic_tensor tensor = { .name = str_or(name->p, ""), .name_len = (uint32_t)name->len,
        .shown = str_shown(shown, t->name, t->name_len), .dtype = t->dtype, .grid = t->shape, .axes = t->rank };
    if (!mosaic_begin(s->mosaic, &tensor, err))
        return false;
    for (; *piece < g->npieces && g->piece[*piece].tensor == i; ++*piece) {
        const struct gathered_piece *p = &g->piece[*piece];
        const struct mosaic_tile tile = { .from = g->box + p->box, .size = g->box + p->box + t->rank, .layout = p->layout, .at = p->at,
            .file = p->file };
        if (!mosaic_add(s->mosaic, &tile, err))
            return err_in_file(err, source_name(s->src[p->file]));
    }
    return mosaic_end(s->mosaic, err);
}

bool
gathered_finish(struct gathered *g, struct sharded *s, struct err *err)
{
    struct str name = { 0 };
    size_t piece = 0;
    bool ok = true;
    array_sort(g->piece, g->npieces, sizeof *g->piece, compare_piece);
    for (size_t i = 0; ok && i < g->n; i++)
        ok = finish_one(g, s, i, &piece, &name, err);
    str_clear(&name);
    return ok;
}

void
gathered_clear(struct gathered *g)
{
    free(g->tensor);
    free(g->piece);
    free(g->box);
    table_clear(&g->table);
    *g = (struct gathered){ 0 };
}
