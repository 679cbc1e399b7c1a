/* Adds the steps of each module: for experts, for parts, or for a whole weight by the form of the factors. */
#include "adapter/dora.h"
#include "adapter/match_priv.h"

/* Adds what a form of a module changes. */
static bool
add_form(struct match_job *m, const struct adapter *a, const struct adapter_module *module, const struct form_facts *form, struct err *err)
{
    const struct tensor *t = module->factor[form->sign];
    struct weight_place place;
    struct change_step step;
    if (!match_module(&place, m, a, module, form->bias, err))
        return false;
    if (place.index == WEIGHT_NONE && form->optional)
        return true;
    if (place.index == WEIGHT_NONE)
        return form->bias ? adapter_fail(module, ERR_MALFORMED, err, "the adapter changes a bias, but the base has none")
            : match_missing(m, a, module, err);
    const struct arranging w = match_arranging(m, a, module, &place, t);
    if (!form->arrange(&step, &w, err))
        return false;
    if (step.form && !((!form->norms || form_norms(&step, &w, err)) && match_add(m, a, module, &place, t, &step, err)))
        return false;
    bool both = form->sign == FACTOR_TOKENS && m->head != WEIGHT_NONE && place.index != m->head && adapter_is_embedding(module);
    if (!both)
        return true;
    place_whole(&place, m->choice, m->head);            /* rows of tokens stay tied */
    return form->arrange(&step, &w, err) && match_add(m, a, module, &place, t, &step, err);
}

bool
match_steps(struct match_job *m, const struct adapter *a, struct err *err)
{
    for (size_t i = 0; i < a->n; i++) {
        const struct adapter_module *module = &a->module[i];
        bool parts = module->nhits != 0 && module->hit->part, taken = module->skipped || parts;
        if (parts && !module->skipped && !match_parts(m, a, module, err))
            return false;
        if (!taken && !match_experts(&taken, m, a, module, err))
            return false;
        for (size_t f = 0; !taken && form_at(f); f++)
            if (module->factor[form_at(f)->sign] && !add_form(m, a, module, form_at(f), err))
                return false;
    }
    return true;
}
