/* LoRA: v + s * (L R). */
#include <inttypes.h>

#include "adapter/form.h"
#include "base/num.h"

static bool
form_lowrank_apply(const struct change_owner *o, const struct change_step *step, const struct product_part *part, struct err *err)
{
    return product_add(o, step->own, part, step->s, err);
}

static const struct change_form lowrank = { "LoRA", CHANGE_ADD, form_lowrank_apply };

/* Returns the dimension of a factor that is the rank. */
static uint64_t
rank_of(const struct adapter_module *m, enum factor_role role)
{
    const struct shape *s = &m->factor[role]->shape;
    bool last;
    if (role == FACTOR_A)
        last = m->order == ORDER_MLX || m->order == ORDER_ROWS;
    else
        last = m->order != ORDER_MLX;
    if (s->rank < 2)
        return 0;
    return shape_dim(s, last ? 1 : 0);
}

/* Sets L and R of two factors, in any of the orders in which they are stored. */
static bool
set_factors(struct product *p, const struct arranging *w, uint64_t rows, uint64_t cols, struct err *err)
{
    const struct adapter_module *m = w->module;
    const struct tensor *a = m->factor[FACTOR_A], *b = m->factor[FACTOR_B];
    uint64_t na, nb, r = m->rank, ra = rank_of(m, FACTOR_A), rb = rank_of(m, FACTOR_B);
    char shown[STR_SHOWN];
    bool mlx = m->order == ORDER_MLX, first = m->order == ORDER_ROWS, swap = form_swaps(w);
    if (ra != r || rb != r)
        return adapter_fail(m, ERR_MALFORMED, err, "factors of rank %" PRIu64 " and %" PRIu64 ", expected %" PRIu64, ra, rb, r);
    if (!shape_numel(&a->shape, &na) || !shape_numel(&b->shape, &nb) || r == 0)
        return form_misfit(w, a, err);
    uint64_t in = na / r, out = nb / r;
    bool embeds = m->order == ORDER_EMBEDDING || first
        || (mlx && in == rows && out == cols && (in != out || adapter_is_embedding(m)));
    if (embeds)
        swap = !w->place->transposed;
    if (in != (swap ? rows : cols))
        return form_misfit(w, a, err);
    if (out != (swap ? cols : rows))
        return form_misfit(w, b, err);
    struct factor of_a = mlx || first ? (struct factor){ a, 0, r, 1 } : (struct factor){ a, 0, 1, in };    /* [in, r] */
    struct factor of_b = mlx ? (struct factor){ b, 0, 1, out } : (struct factor){ b, 0, r, 1 };            /* [out, r] */
    if (r > num_min(rows, cols))
        catalog_note(w->memory, "%s: rank %" PRIu64 " exceeds the smaller dimension of its weight, %" PRIu64,
            str_shown(shown, m->name, m->len), r, num_min(rows, cols));
    p->rank = r;
    p->cols = cols;
    if (swap) {
        p->l = of_a;
        p->r = of_b;
    } else {
        p->l = of_b;
        p->r = of_a;
    }
    p->r = (struct factor){ p->r.t, p->r.first, p->r.dk, p->r.di };
    return form_product_fits(p, w, err);
}

bool
form_lowrank_step(struct change_step *step, const struct arranging *w, const struct product *p)
{
    *step = (struct change_step){ .form = &lowrank, .rows = w->place->rows, .s = w->module->scale, .own = p, .merges = true };
    return true;
}

bool
form_lowrank(struct change_step *step, const struct arranging *w, struct err *err)
{
    const struct adapter_module *m = w->module;
    const struct tensor *a = m->factor[FACTOR_A], *mid = m->factor[FACTOR_MID];
    const struct shape *shape = &w->place->shape;
    const uint64_t rows = change_rows_count(&w->place->rows), cols = w->place->rows.cols;
    struct product *p = catalog_alloc(w->memory, sizeof *p, err);
    if (!p)
        return false;
    if (shape->rank < 2)
        return form_misfit(w, a, err);
    if (!mid && m->order == ORDER_LINEAR && a->shape.rank > 2 && shape->rank == a->shape.rank
            && shape_dim(&a->shape, 1) != shape_dim(shape, 1))
        return adapter_fail(m, ERR_UNSUPPORTED, err, "grouped convolutions are not supported");
    *p = (struct product){ 0 };
    form_lowrank_step(step, w, p);
    if (!mid)
        return set_factors(p, w, rows, cols, err);
    const struct product_parts parts = { m->factor[FACTOR_B], a, mid, rows, cols, false };
    return form_product(p, &parts, w, err);
}
