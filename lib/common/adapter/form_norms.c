/* DoRA: which norms a module has, and of what. */
#include <inttypes.h>

#include "adapter/dora.h"
#include "adapter/form.h"

/* Decides what the values of dora_scale belong to: [out, 1, ...] to the outputs, [1, in, 1, ...] to the inputs. */
static bool
is_of_inputs(const struct shape *s)
{
    return s->rank >= 2 && shape_dim(s, 0) == 1 && shape_dim(s, 1) != 1;
}

bool
form_norms(struct change_step *step, const struct arranging *w, struct err *err)
{
    const struct adapter_module *m = w->module;
    const struct tensor *t = m->factor[FACTOR_MAGNITUDE], *lycoris = m->factor[FACTOR_DORA_SCALE];
    const struct shape *shape = &w->place->shape;
    uint64_t n, rows = change_rows_count(&w->place->rows), cols = w->place->rows.cols, inputs = cols;
    if (!t && !lycoris)
        return true;
    if (t && lycoris)
        return adapter_fail(m, ERR_MALFORMED, err, "it has lora_magnitude_vector and dora_scale");
    struct dora *dora = catalog_alloc(w->memory, sizeof *dora, err);
    if (!dora)
        return false;
    struct dora_last *last = catalog_alloc(w->memory, sizeof *last, err);
    if (!last)
        return false;
    atomic_flag_clear(&last->busy);
    last->row = UINT64_MAX;
    last->norm = 0;
    bool embeds = m->order == ORDER_EMBEDDING || m->order == ORDER_ROWS;
    bool of_inputs = lycoris && is_of_inputs(&lycoris->shape);
    *dora = (struct dora){ .m = t ? t : lycoris, .columns = of_inputs || (embeds != form_swaps(w)), .each = 1, .last = last,
        .epsilon = lycoris ? 0x1p-23 : 0, .c = w->a->c };
    if (of_inputs && shape->rank > 2)
        inputs = shape_dim(shape, 1);
    dora->each = cols / inputs;
    if (!shape_numel(&dora->m->shape, &n) || n != (dora->columns ? inputs : rows))
        return form_misfit(w, dora->m, err);
    step->dora = dora;
    step->s = m->whole_scale;
    return true;
}
