#include "adapter/form.h"

#include <inttypes.h>

#include "base/num.h"

static const struct form_facts forms[] = {
    { .sign = FACTOR_A, .norms = true, .arrange = form_lowrank },
    { .sign = FACTOR_HADA_1A, .norms = true, .arrange = form_hadamard },
    { .sign = FACTOR_LOKR_1, .norms = true, .arrange = form_kronecker },
    { .sign = FACTOR_LOKR_1A, .norms = true, .arrange = form_kronecker },
    { .sign = FACTOR_IA3, .arrange = form_scale },
    { .sign = FACTOR_IA3, .bias = true, .optional = true, .arrange = form_scale_bias },
    { .sign = FACTOR_DIFF, .arrange = form_add },
    { .sign = FACTOR_DIFF_BIAS, .bias = true, .arrange = form_add },
    { .sign = FACTOR_B_BIAS, .bias = true, .arrange = form_add_bias },
    { .sign = FACTOR_TOKENS, .arrange = form_tokens },
};

const struct form_facts *
form_at(size_t i)
{
    if (i < sizeof forms / sizeof *forms)
        return &forms[i];
    return NULL;
}

bool
form_misfit(const struct arranging *w, const struct tensor *t, struct err *err)
{
    char shape[SHAPE_TEXT], of[SHAPE_TEXT], shown[STR_SHOWN];
    return adapter_fail(w->module, ERR_MALFORMED, err, "%s of shape %s does not fit a weight of shape %s", str_shown(shown, t->name,
        t->name_len), shape_text(shape, &t->shape), shape_text(of, &w->place->shape));
}

bool
form_swaps(const struct arranging *w)
{
    bool stored = adapter_flag(w->a, "fan_in_fan_out") && w->place->shape.rank == 2 && w->module->order == ORDER_LINEAR;
    return stored != w->place->transposed;
}

bool
form_product_fits(const struct product *p, const struct arranging *w, struct err *err)
{
    return product_fits(p, w->most) || adapter_fail(w->module, ERR_LIMIT, err, "rank %" PRIu64 " and %" PRIu64 " columns exceed the "
        "limit of %" PRIu64 " bytes (--max-alloc)", p->rank, p->cols, w->most);
}

/* Sets the three factors of a product whose middle one is a core. */
static bool
set_core(struct product *p, const struct product_parts *parts, const struct arranging *w, struct err *err)
{
    const struct tensor *core = parts->core;
    uint64_t numel, nr;
    if (core->shape.rank < 2 || !shape_numel(&core->shape, &numel) || numel == 0 || !shape_numel(&parts->r->shape, &nr))
        return form_misfit(w, core, err);
    p->rank = shape_dim(&core->shape, 0);
    p->inner = shape_dim(&core->shape, 1);
    p->positions = numel / p->rank / p->inner;
    p->core = core;
    if (parts->r->shape.rank < 2 || shape_dim(&parts->r->shape, 0) != p->inner || parts->cols % p->positions != 0
            || nr / p->inner != parts->cols / p->positions)
        return form_misfit(w, parts->r, err);
    p->r = (struct factor){ parts->r, 0, parts->cols / p->positions, 1 };
    return true;
}

bool
form_product(struct product *p, const struct product_parts *parts, const struct arranging *w, struct err *err)
{
    uint64_t nl, nr;
    *p = (struct product){ .cols = parts->cols };
    if (parts->core) {
        if (!set_core(p, parts, w, err))
            return false;
    } else {
        if (parts->r->shape.rank >= 2)
            p->rank = shape_dim(&parts->r->shape, 0);
        else
            p->rank = 0;
        if (p->rank == 0 || !shape_numel(&parts->r->shape, &nr) || nr / p->rank != parts->cols)
            return form_misfit(w, parts->r, err);
        p->r = (struct factor){ parts->r, 0, parts->cols, 1 };
    }
    if (!shape_numel(&parts->l->shape, &nl) || parts->l->shape.rank < 2
            || shape_dim(&parts->l->shape, parts->turned ? 0 : 1) != p->rank || nl / p->rank != parts->rows)
        return form_misfit(w, parts->l, err);
    p->l = parts->turned ? (struct factor){ parts->l, 0, 1, parts->rows } : (struct factor){ parts->l, 0, p->rank, 1 };
    return form_product_fits(p, w, err);
}
