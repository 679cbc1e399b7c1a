/* Modules that single files name by a part of the model, and those that are a part of a weight. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/match.h"
#include "base/num.h"

/* --- which weights */

/* Counts the modules of a part of the model. */
struct tower_count {
    size_t n, missing;
    const struct adapter_module *first;         /* of those without a weight */
};

/* Sets what a module changes. One without the prefix of a tower is first looked up by the ordinary steps. */
static bool
find_hits(struct adapter_module *module, const struct match_job *m, const struct adapter *a, int tower, struct err *err)
{
    struct tower_hit hit[TOWER_HITS];
    size_t weight = WEIGHT_NONE, bias = WEIGHT_NONE, n;
    if (tower == TOWER_NONE && (!match_find(&weight, m, a, module, MATCH_WEIGHT, err) || (weight == WEIGHT_NONE
            && !match_find(&bias, m, a, module, MATCH_BIAS, err))))
        return false;
    if (weight != WEIGHT_NONE || bias != WEIGHT_NONE)
        return true;
    if (!towers_find(hit, &n, m->towers, module->name, module->len, err))
        return false;
    struct tower_hit *kept = n != 0 ? catalog_alloc(m->job->model->catalog, n * sizeof *hit, err) : NULL;
    if (n != 0 && !kept)
        return false;
    if (n != 0)
        memcpy(kept, hit, n * sizeof *hit);
    module->hit = kept;
    module->nhits = n;
    return true;
}

/* Decides about a tower of which modules are missing. `found`: another one is complete or has some. */
static bool
check_tower(const struct match_job *m, const struct adapter *a, const struct tower_count *count, int tower, bool found,
    struct err *err)
{
    char shown[STR_SHOWN];
    if (count->missing == 0)
        return true;
    str_shown(shown, count->first->name, count->first->len);
    if (count->missing < count->n || !found)
        return err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, "the base has no weight for %zu of %zu modules of the %s model, such as %s: the "
            "adapter belongs to another model, or the names of its family are not known", count->missing, count->n, towers_name(tower),
            shown);
    for (size_t i = 0; i < a->n; i++)
        a->module[i].skipped = a->module[i].skipped || towers_of(a->module[i].name, a->module[i].len) == tower;
    catalog_warn(m->job->model->catalog, "%s: skipped %zu modules of the %s model, which the base does not contain", a->shown, count->n,
        towers_name(tower));
    return true;
}

bool
match_towers(const struct match_job *m, const struct adapter *a, struct err *err)
{
    struct tower_count count[TOWERS] = { 0 };
    bool found = false;
    if (a->family != ADAPTER_SINGLE)
        return true;
    for (size_t i = 0; i < a->n; i++) {
        struct adapter_module *module = &a->module[i];
        int tower = towers_of(module->name, module->len);
        if (!find_hits(module, m, a, tower, err))
            return false;
        found = found || tower == TOWER_NONE || module->nhits != 0;
        if (tower == TOWER_NONE)
            continue;
        count[tower].n++;
        count[tower].missing += module->nhits == 0;
        if (module->nhits == 0 && !count[tower].first)
            count[tower].first = module;
    }
    for (int i = 0; i < TOWERS; i++)
        if (!check_tower(m, a, &count[i], i, found, err))
            return false;
    return true;
}

/* --- parts of weights */

static bool
misfit(const struct adapter_module *module, const struct tensor *w, const struct tensor *t, struct err *err)
{
    char a[SHAPE_TEXT], b[SHAPE_TEXT], shown[STR_SHOWN];
    return adapter_fail(module, ERR_MALFORMED, err, "a factor of shape %s does not fit its part of %s of shape %s", shape_text(a, &t->shape),
        str_shown(shown, w->name, w->name_len), shape_text(b, &w->shape));
}

/* Appends a step to what a hit changes of its weight or bias. The factors of the step are complete but for what the rows decide. */
static bool
add_step(const struct match_job *m, const struct adapter *a, const struct tower_hit *hit, enum match_kind kind,
    struct change_step *step, struct err *err)
{
    step->row = hit->row;
    step->rows = hit->rows;
    step->l.first = hit->from * step->l.di;
    struct change *change = a->c != 0 ? match_change(m, hit->index[kind], err) : NULL;
    return a->c == 0 || (change && change_step_add(change, step, err));
}

/* Checks that the hits of a module take all `rows` rows of a factor, each once. */
static bool
check_rows(const struct match_job *m, const struct adapter_module *module, enum match_kind kind, const struct tensor *t, uint64_t rows,
    struct err *err)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < module->nhits; i++) {
        const struct tower_hit *h = &module->hit[i];
        if (h->index[kind] == WEIGHT_NONE)
            return adapter_fail(module, ERR_MALFORMED, err, "the adapter changes a %s that the base has not", kind == MATCH_BIAS ? "bias"
                : "weight");
        const struct tensor w = chosen_source(&m->choice->list[h->index[kind]]);
        if (h->rows == 0 || h->rows > rows || h->from > rows - h->rows || h->row + h->rows > shape_dim(&w.shape, 0))
            return misfit(module, &w, t, err);
        sum += h->rows;
    }
    const struct tensor w = chosen_source(&m->choice->list[module->hit->index[kind]]);
    return sum == rows || misfit(module, &w, t, err);
}

/* Adds the product of the two factors. */
static bool
add_product(const struct match_job *m, const struct adapter *a, const struct adapter_module *module, struct err *err)
{
    const struct tensor *down = module->factor[FACTOR_A], *up = module->factor[FACTOR_B];
    uint64_t r = module->rank, na, nb, rows, cols;
    if (shape_dim(&down->shape, 0) != r || shape_dim(&up->shape, 1) != r)
        return adapter_fail(module, ERR_MALFORMED, err, "factors of rank %" PRIu64 " and %" PRIu64 ", expected %" PRIu64,
            shape_dim(&down->shape, 0), shape_dim(&up->shape, 1), r);
    const struct tower_hit *first = module->hit;
    bool swap = first->transposed;
    if (!shape_numel(&down->shape, &na) || !shape_numel(&up->shape, &nb) || r == 0
            || !check_rows(m, module, MATCH_WEIGHT, up, (swap ? na : nb) / r, err))
        return false;
    for (size_t i = 0; i < module->nhits; i++) {
        const struct tower_hit *h = &module->hit[i];
        const struct tensor w = chosen_source(&m->choice->list[h->index[MATCH_WEIGHT]]);
        struct change_step step = { .form = &change_lowrank, .s = module->scale, .rank = r,
            .l = swap ? (struct factor){ down, 0, 1, na / r } : (struct factor){ up, 0, r, 1 },
            .r = swap ? (struct factor){ up, 0, 1, r } : (struct factor){ down, 0, na / r, 1 } };
        if (!match_measure(&w, &rows, &cols) || cols != (swap ? nb : na) / r)
            return misfit(module, &w, swap ? up : down, err);
        if (!match_fits(m, module, r, cols, err) || !add_step(m, a, h, MATCH_WEIGHT, &step, err))
            return false;
    }
    return true;
}

/* Adds a tensor times s. */
static bool
add_tensor(const struct match_job *m, const struct adapter *a, const struct adapter_module *module, const struct tensor *t, double s,
    enum match_kind kind, struct err *err)
{
    uint64_t n, rows, cols;
    if (t->shape.rank == 0 || !shape_numel(&t->shape, &n) || n == 0)
        return adapter_fail(module, ERR_MALFORMED, err, "a number cannot be added to a part of a weight");
    if (!check_rows(m, module, kind, t, shape_dim(&t->shape, 0), err))
        return false;
    for (size_t i = 0; i < module->nhits; i++) {
        const struct tower_hit *h = &module->hit[i];
        const struct tensor w = chosen_source(&m->choice->list[h->index[kind]]);
        if (!match_measure(&w, &rows, &cols) || n / shape_dim(&t->shape, 0) != cols)
            return misfit(module, &w, t, err);
        struct change_step step = { .form = &change_add, .s = s, .l = { t, 0, cols, 1 } };
        if (!add_step(m, a, h, kind, &step, err))
            return false;
    }
    return true;
}

bool
match_parts(const struct match_job *m, const struct adapter *a, const struct adapter_module *module, struct err *err)
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
        && (!f[FACTOR_DIFF] || add_tensor(m, a, module, f[FACTOR_DIFF], a->c, MATCH_WEIGHT, err))
        && (!f[FACTOR_DIFF_BIAS] || add_tensor(m, a, module, f[FACTOR_DIFF_BIAS], a->c, MATCH_BIAS, err))
        && (!f[FACTOR_B_BIAS] || add_tensor(m, a, module, f[FACTOR_B_BIAS], module->scale, MATCH_BIAS, err));
}
