/* Adds steps to the changes of weights, and tensors to the choice. */
#include <stdlib.h>
#include <string.h>

#include "adapter/match_priv.h"

bool
match_append(size_t *index, struct match_job *m, const struct chosen *chosen, const char *name, size_t n, struct err *err)
{
    struct chosen one = *chosen;
    size_t was = m->choice->n, size = (was + 2) * sizeof *m->change;
    struct change **change = realloc(m->change, size);
    if (!change)
        return err_memory(err, size);
    m->change = change;
    bool *replaced = realloc(m->replaced, (was + 2) * sizeof *replaced);
    if (!replaced)
        return err_memory(err, (was + 2) * sizeof *replaced);
    m->replaced = replaced;
    change[was] = NULL;
    replaced[was] = false;
    if (!names_add(&m->choice->names, name, n, err))
        return false;
    one.name = m->choice->names.name[m->choice->names.n - 1];
    one.name_len = (uint32_t)n;
    *index = was;
    return choice_append(m->choice, &one, err) && weight_names_add(m->names, one.name, n, was, err);
}

/* Returns the change of a chosen tensor, making it if necessary. NULL on failure. */
static struct change *
match_add_take(const struct match_job *m, size_t index, struct err *err)
{
    struct chosen *c = &m->choice->list[index];
    const struct tensor t = chosen_source(c);
    struct catalog *memory = m->job->model->catalog;
    char shown[STR_SHOWN];
    if (m->change[index])
        return m->change[index];
    if (c->copy && !c->kept && !dtype_is_float(c->copy->dtype)) {
        err_set(err, ERR_MALFORMED, ERR_TENSOR "an adapter changes it, but its type is %s", str_shown(shown, t.name,
            t.name_len), dtype_name(c->copy->dtype));
        return NULL;
    }
    struct change *change = change_new(m->owner, c->copy && !c->kept ? c->copy->dtype : DTYPE_UNKNOWN, err);
    m->change[index] = change;
    if (!change)
        return NULL;
    if (c->kept)
        *c = (struct chosen){ .decode = c->kept, .dtype = m->job->element, .name = c->name, .name_len = c->name_len };
    if (c->decode) {
        struct weight *w = catalog_alloc(memory, sizeof *w, err);
        if (!w)
            return NULL;
        *w = *c->decode;
        w->delta = &change->delta;
        c->decode = w;
        return change;
    }
    struct changed_tensor *copy = catalog_alloc(memory, sizeof *copy, err);
    if (!copy)
        return NULL;
    *copy = (struct changed_tensor){ *c->copy, &change->delta };
    copy->tensor.changed = true;
    c->copy = &copy->tensor;
    return change;
}

struct arranging
match_arranging(const struct match_job *m, const struct adapter *a, const struct adapter_module *module, const struct weight_place *place,
    const struct tensor *t)
{
    return (struct arranging){ a, module, place, t, m->job->model->catalog, m->job->limits->alloc };
}

/* Lists the tensors that the form of a step reads. */
static bool
list_inputs(struct change_step *step, const struct adapter_module *module, const struct tensor *t, struct catalog *memory,
    struct err *err)
{
    static const enum factor_role forms[] = { FACTOR_A, FACTOR_B, FACTOR_MID, FACTOR_MAGNITUDE, FACTOR_DORA_SCALE, FACTOR_HADA_1A,
        FACTOR_HADA_1B, FACTOR_HADA_2A, FACTOR_HADA_2B, FACTOR_HADA_T1, FACTOR_HADA_T2, FACTOR_LOKR_1, FACTOR_LOKR_1A,
        FACTOR_LOKR_1B, FACTOR_LOKR_2, FACTOR_LOKR_2A, FACTOR_LOKR_2B, FACTOR_LOKR_T2 };
    const struct tensor *found[sizeof forms / sizeof *forms];
    bool several = false;
    size_t n = 0;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const struct tensor *one = module->factor[forms[i]];
        several = several || one == t;
        if (one)
            found[n++] = one;
    }
    if (!several)
        found[(n = 1) - 1] = t;
    const struct tensor **list = catalog_alloc(memory, n * sizeof *list, err);
    if (!list)
        return false;
    memcpy(list, found, n * sizeof *list);
    step->input = list;
    step->ninputs = n;
    return true;
}

bool
match_add(struct match_job *m, const struct adapter *a, const struct adapter_module *module, const struct weight_place *place,
    const struct tensor *t, struct change_step *step, struct err *err)
{
    step->adapter = (unsigned)(a - m->list);
    if (a->c == 0)
        return true;
    if (step->form->phase != CHANGE_REPLACE && place->nops != 0)
        return adapter_fail(module, ERR_UNSUPPORTED, err, "the base stores this weight transformed (such as norm + 1)");
    struct change *change = match_add_take(m, place->index, err);
    for (size_t i = 0; change && step->form->phase == CHANGE_TOKENS && i < change->n; i++)
        if (change->step[i].form->phase == CHANGE_TOKENS && form_tokens_overlap(&change->step[i], step))
            return adapter_fail(module, ERR_MALFORMED, err, "two adapters replace one row");
    return change && list_inputs(step, module, t, m->job->model->catalog, err) && change_step_add(change, step, err);
}
