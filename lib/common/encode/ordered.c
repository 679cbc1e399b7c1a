#include "encode/ordered.h"

#include "base/bytes.h"

bool
ordered_fit(struct encoding *e, uint32_t group)
{
    const struct exact_source *s = &e->exact->source;
    if (s->order && s->norder == e->cols && s->order_group == group)
        e->order = s->order;
    return e->order != NULL;
}

/* Copies the numbers of n columns to `to`, and returns it; NULL for no list. */
static const float *
gather(float *to, const float *list, const uint32_t *column, size_t n)
{
    for (size_t i = 0; list && i < n; i++)
        to[i] = list[column[i]];
    if (list)
        return to;
    return NULL;
}

/* Sources with such groups have integers, so the other hints do not exist. */
void
ordered_begin(struct solve_block *b, const struct encoding *e, const struct encode_run *run, const float *x, uint64_t at,
    uint64_t j, size_t group)
{
    float *room = run->room;
    const uint32_t *column = e->order + j * group;
    solve_begin(b, e, run, x, group, at);
    b->column = column;
    b->x = gather(room, b->x, column, group);
    b->scale = gather(room + GROUPS_MOST, b->scale, column, group);
    b->zero = gather(room + 2 * GROUPS_MOST, b->zero, column, group);
    b->unit = gather(room + 3 * GROUPS_MOST, b->unit, column, group);
}

void
ordered_index(const struct encoding *e, size_t group, uint64_t first, uint64_t count, uint8_t *y)
{
    for (uint64_t i = 0; i < e->cols; i++)
        if (e->order[i] >= first && e->order[i] - first < count)
            store_le32(y + 4 * (e->order[i] - first), (uint32_t)(i / group));
}
