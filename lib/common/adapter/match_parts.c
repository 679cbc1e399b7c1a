/* Modules that change a part of a weight, or several weights; towers_find() found these. */
#include <inttypes.h>

#include "adapter/match_priv.h"
#include "base/num.h"

static bool
misfit(const struct adapter_module *module, const struct tensor *w, const struct tensor *t, struct err *err)
{
    char a[SHAPE_TEXT], b[SHAPE_TEXT], shown[STR_SHOWN];
    return adapter_fail(module, ERR_MALFORMED, err, "a factor of shape %s does not fit its part of %s of shape %s", shape_text(a, &t->shape),
        str_shown(shown, w->name, w->name_len), shape_text(b, &w->shape));
}

/* Sets the place of a hit. */
static bool
find_place(struct weight_place *place, const struct match_job *m, const struct adapter_module *module, const struct tower_hit *hit, bool bias,
    const struct tensor *t, uint64_t cols, struct err *err)
{
    const struct tensor w = chosen_source(&m->choice->list[hit->index[bias]]);
    place_whole(place, m->choice, hit->index[bias]);
    return (place->rows.cols == cols && place_rows(place, hit->row, hit->rows, cols)) || misfit(module, &w, t, err);
}

/* Checks that the hits of a module take all `rows` rows of a factor, each once. */
static bool
check_rows(const struct match_job *m, const struct adapter_module *module, bool bias, const struct tensor *t, uint64_t rows,
    struct err *err)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < module->nhits; i++) {
        const struct tower_hit *h = &module->hit[i];
        if (h->index[bias] == WEIGHT_NONE)
            return adapter_fail(module, ERR_MALFORMED, err, "the adapter changes a %s, but the base has none", bias ? "bias" : "weight");
        const struct tensor w = chosen_source(&m->choice->list[h->index[bias]]);
        if (h->rows == 0 || h->rows > rows || h->from > rows - h->rows)
            return misfit(module, &w, t, err);
        sum += h->rows;
    }
    const struct tensor w = chosen_source(&m->choice->list[module->hit->index[bias]]);
    return sum == rows || misfit(module, &w, t, err);
}

/* Adds the product of the two factors. */
static bool
add_product(struct match_job *m, const struct adapter *a, const struct adapter_module *module, struct err *err)
{
    const struct tensor *down = module->factor[FACTOR_A], *up = module->factor[FACTOR_B];
    uint64_t r = module->rank, na, nb;
    if (shape_dim(&down->shape, 0) != r || shape_dim(&up->shape, 1) != r)
        return adapter_fail(module, ERR_MALFORMED, err, "factors of rank %" PRIu64 " and %" PRIu64 ", expected %" PRIu64,
            shape_dim(&down->shape, 0), shape_dim(&up->shape, 1), r);
    bool swap = module->hit->transposed;
    if (!shape_numel(&down->shape, &na) || !shape_numel(&up->shape, &nb) || r == 0
            || !check_rows(m, module, false, up, (swap ? na : nb) / r, err))
        return false;
    const uint64_t in = na / r, cols = (swap ? nb : na) / r;
    for (size_t i = 0; i < module->nhits; i++) {
        const struct tower_hit *h = &module->hit[i];
        struct change_step step;
        struct weight_place place;
        struct product *p = catalog_alloc(m->job->model->catalog, sizeof *p, err);
        if (!p || !find_place(&place, m, module, h, false, swap ? up : down, cols, err))
            return false;
        *p = (struct product){ .rank = r, .cols = cols, .l = swap ? (struct factor){ down, h->from, 1, in }
            : (struct factor){ up, h->from * r, r, 1 }, .r = swap ? (struct factor){ up, 0, 1, r } : (struct factor){ down, 0, in, 1 } };
        const struct arranging w = match_arranging(m, a, module, &place, down);
        if (!form_product_fits(p, &w, err) || !form_lowrank_step(&step, &w, p) || !match_add(m, a, module, &place, down, &step, err))
            return false;
    }
    return true;
}

/* Adds a tensor times s. */
static bool
match_parts_add_tensor(struct match_job *m, const struct adapter *a, const struct adapter_module *module, const struct tensor *t,
    double s, bool bias, struct err *err)
{
    uint64_t n, rows = t->shape.rank != 0 ? shape_dim(&t->shape, 0) : 0;
    if (rows == 0 || !shape_numel(&t->shape, &n) || n == 0)
        return adapter_fail(module, ERR_MALFORMED, err, "a scalar difference cannot be applied to part of a weight");
    if (!check_rows(m, module, bias, t, rows, err))
        return false;
    for (size_t i = 0; i < module->nhits; i++) {
        const struct tower_hit *h = &module->hit[i];
        struct change_step step;
        struct weight_place place;
        if (!find_place(&place, m, module, h, bias, t, n / rows, err))
            return false;
        const struct arranging w = match_arranging(m, a, module, &place, t);
        if (!form_add_rows(&step, &w, s, h->from, err) || !match_add(m, a, module, &place, t, &step, err))
            return false;
    }
    return true;
}

bool
match_parts(struct match_job *m, const struct adapter *a, const struct adapter_module *module, struct err *err)
{
    const struct tensor *const *f = module->factor;
    for (enum factor_role i = 0; i < FACTOR_ROLES; i++)
        if (f[i] && i != FACTOR_A && i != FACTOR_B && i != FACTOR_ALPHA && i != FACTOR_B_BIAS && i != FACTOR_DIFF && i != FACTOR_DIFF_BIAS)
            return adapter_fail(module, ERR_UNSUPPORTED, err, "it is a part of a weight of the base, or the other way round: only products of "
                "two factors and differences are merged then");
    if (module->hit->transposed && (f[FACTOR_DIFF] || f[FACTOR_DIFF_BIAS] || f[FACTOR_B_BIAS]))
        return adapter_fail(module, ERR_UNSUPPORTED, err, "the weight of the base is stored transposed: only products of two factors are "
            "merged then");
    return (!f[FACTOR_A] || add_product(m, a, module, err))
        && (!f[FACTOR_DIFF] || match_parts_add_tensor(m, a, module, f[FACTOR_DIFF], a->c, false, err))
        && (!f[FACTOR_DIFF_BIAS] || match_parts_add_tensor(m, a, module, f[FACTOR_DIFF_BIAS], a->c, true, err))
        && (!f[FACTOR_B_BIAS] || match_parts_add_tensor(m, a, module, f[FACTOR_B_BIAS], module->scale, true, err));
}
