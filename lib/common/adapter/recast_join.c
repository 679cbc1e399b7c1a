/* Several adapters as one: the factors of a module side by side. B1 A1 + B2 A2 is [B1 B2] times A1 above A2. Source: peft,
 * tuners/lora/model.py, add_weighted_adapter() with "cat", which multiplies each A by weight and scale, and sets alpha to the rank. */
#include <stdlib.h>
#include <string.h>

#include "adapter/recast.h"
#include "base/table.h"

/* Pairs of one module follow each other by `next`. */
struct joining {
    struct recast *r;
    const struct recast_pair *pair;     /* n of them, as read */
    size_t n;
    uint32_t *next;                     /* of each, or UINT32_MAX; owned */
};

static const char *
pair_name(const void *owner, uint32_t number, size_t *n)
{
    const struct joining *j = owner;
    *n = j->pair[number].n;
    return j->pair[number].name;
}

static bool
join_fail(const struct recast_pair *p, const char *why, struct err *err)
{
    char shown[STR_SHOWN];
    return err_set(err, ERR_UNSUPPORTED, "module %s: %s", str_shown(shown, p->name, p->n), why);
}

/* Makes a part of all elements of a factor. */
static bool
add_part(struct composed_part *part, const struct recast *r, const struct chosen *c, struct err *err)
{
    const struct tensor t = chosen_source(c);
    uint64_t dim[LAYOUT_RANK];
    struct strided s;
    for (uint32_t i = 0; i < t.shape.rank; i++)
        dim[i] = shape_dim(&t.shape, i);
    strided_init(&s, dim, t.shape.rank);
    return composed_part_make(part, c->copy, c->decode, &s, r->job->model->catalog, err);
}

/* Has the elements of A multiplied by the weight, then by the scale. */
static bool
scale_part(struct composed_part *part, const struct recast *r, const struct recast_pair *p, struct err *err)
{
    const float by[] = { (float)p->weight, (float)p->scale };
    struct operation *op = catalog_alloc(r->job->model->catalog, 2 * sizeof *op, err);
    if (!op)
        return false;
    part->op = op;
    for (size_t i = 0; i < 2; i++)
        if (by[i] != 1)
            op[part->nops++] = (struct operation){ OPERATION_MULTIPLY, by[i] };
    return true;
}

/* Checks that a pair can be joined with the first one of its module. */
static bool
check_join(const struct recast_pair *first, const struct recast_pair *p, struct err *err)
{
    const struct tensor fa = chosen_source(&first->a), fb = chosen_source(&first->b), a = chosen_source(&p->a), b = chosen_source(&p->b);
    bool same = fa.shape.rank == a.shape.rank && shape_dim(&fb.shape, 0) == shape_dim(&b.shape, 0) && first->embedding == p->embedding;
    for (uint32_t i = 1; same && i < a.shape.rank; i++)
        same = shape_dim(&fa.shape, i) == shape_dim(&a.shape, i);
    for (uint32_t i = 2; same && i < b.shape.rank; i++)
        same = shape_dim(&b.shape, i) == 1;
    if (p->a.composed || p->b.composed)
        return join_fail(p, "its factors are transposed on the way, and are not joined as well: convert the adapter with --to peft first", err);
    return same || join_fail(p, "the adapters have factors of other shapes for it", err);
}

/* Makes the shape of a joined factor: that of `t` with another dimension d. */
static bool
joined_shape(struct shape *shape, const struct recast *r, const struct tensor *t, uint32_t d, uint64_t rank, struct err *err)
{
    uint8_t *packed = catalog_alloc(r->job->model->catalog, LAYOUT_RANK * SHAPE_DIM + 1, err);
    uint64_t dim[LAYOUT_RANK];
    if (!packed)
        return false;
    for (uint32_t i = 0; i < t->shape.rank; i++)
        dim[i] = i == d ? rank : shape_dim(&t->shape, i);
    shape_pack(packed, dim, t->shape.rank);
    *shape = (struct shape){ t->shape.rank, packed };
    return true;
}

/* Sets a factor to the factors of all pairs from `first` on. */
static bool
join_factor(struct chosen *out, const struct joining *j, size_t first, bool b, uint64_t rank, size_t parts, struct err *err)
{
    struct catalog *memory = j->r->job->model->catalog;
    const struct chosen *c = b ? &j->pair[first].b : &j->pair[first].a;
    const struct tensor t = chosen_source(c);
    struct composed *composed = catalog_alloc(memory, sizeof *composed, err);
    struct composed_part *part = catalog_alloc(memory, parts * sizeof *part, err);
    if (!composed || !part || !joined_shape(&composed->shape, j->r, &t, b, rank, err))
        return false;
    *out = (struct chosen){ .composed = composed, .dtype = c->dtype };
    uint64_t end = 0;
    size_t k = 0;
    for (uint32_t i = (uint32_t)first; i != UINT32_MAX; i = j->next[i], k++) {
        const struct recast_pair *p = &j->pair[i];
        c = b ? &p->b : &p->a;
        if (!add_part(&part[k], j->r, c, err) || (!b && !scale_part(&part[k], j->r, p, err)))
            return false;
        end += b ? p->rank : part[k].end;
        part[k].end = end;
        if (c->dtype != out->dtype)
            out->dtype = DTYPE_F32;
    }
    composed->part = part;
    composed->n = k;
    composed->period = b ? rank : 0;
    return true;
}

/* Appends the pair of a module that is joined from those of the list from `first` on. */
static bool
join_module(const struct joining *j, size_t first, struct err *err)
{
    const struct recast_pair *from = &j->pair[first];
    uint64_t rank = 0;
    size_t parts = 0;
    for (uint32_t i = (uint32_t)first; i != UINT32_MAX; i = j->next[i], parts++) {
        if (!check_join(from, &j->pair[i], err))
            return false;
        rank += j->pair[i].rank;
    }
    struct recast_pair *p = recast_add_pair(j->r, from->name, from->n, err);
    if (!p)
        return false;
    p->embedding = from->embedding;
    p->tower = from->tower;
    p->flat = from->flat;
    p->rank = rank;
    p->alpha = (double)rank;
    p->scale = 1;
    p->b = from->b;
    return join_factor(&p->a, j, first, false, rank, parts, err) && (parts == 1 || join_factor(&p->b, j, first, true, rank, parts, err));
}

bool
recast_join(struct recast *r, struct err *err)
{
    struct joining j = { .r = r, .pair = r->pair, .n = r->npairs, .next = malloc((r->npairs + 1) * sizeof *j.next) };
    struct table table = { 0 };
    bool ok = j.next || err_memory(err, r->npairs * sizeof *j.next);
    uint32_t *last = malloc((j.n + 1) * sizeof *last);
    bool *later = calloc(j.n + 1, sizeof *later);
    ok = ok && ((last && later) || err_memory(err, j.n * sizeof *last));
    r->pair = NULL;
    r->npairs = r->room = 0;
    for (uint32_t i = 0; ok && i < j.n; i++) {
        uint32_t number = i;
        bool again = false;
        ok = table_add(&table, pair_name, &j, j.pair[i].name, j.pair[i].n, &number, &again, err);
        j.next[i] = UINT32_MAX;
        later[i] = ok && again;
        if (later[i])
            j.next[last[number]] = i;
        last[number] = i;
    }
    for (size_t i = 0; ok && i < j.n; i++)
        ok = later[i] || join_module(&j, i, err);
    table_clear(&table);
    free(last);
    free(later);
    free(j.next);
    free((void *)j.pair);
    return ok;
}
