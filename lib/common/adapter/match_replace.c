/* Tensors of an adapter that replace tensors of the base, or are new. */
#include <inttypes.h>
#include <string.h>

#include "adapter/match_priv.h"

static bool
is_gguf(const struct match_job *m)
{
    return strcmp(catalog_facts_of(m->job->model->catalog)->format, "GGUF") == 0;
}

/* Checks that a tensor can replace another one. Only embeddings and heads may have another number of rows. */
static bool
check_shape(struct match_job *m, const struct adapter_module *module, const struct shape *was, const struct tensor *t,
    struct err *err)
{
    char one[SHAPE_TEXT], two[SHAPE_TEXT];
    bool embeds = adapter_is_embedding(module);
    bool same = was->rank == t->shape.rank && shape_same(was, &t->shape, t->shape.rank);
    bool resized = !same && (embeds || adapter_is_head(module)) && was->rank == 2 && t->shape.rank == 2
        && shape_dim(was, 1) == shape_dim(&t->shape, 1) && shape_dim(&t->shape, 0) != 0;
    if (resized && is_gguf(m))
        return adapter_fail(module, ERR_UNSUPPORTED, err, "it resizes the vocabulary, which is not supported for GGUF");
    if (resized && embeds)
        m->effects->vocabulary = shape_dim(&t->shape, 0);
    return same || resized || adapter_fail(module, ERR_MALFORMED, err, "a tensor of shape %s cannot replace one of shape %s",
        shape_text(one, &t->shape), shape_text(two, was));
}

static bool
check_equal(const struct match_job *m, const struct adapter_module *module, const struct tensor *a, const struct tensor *b,
    struct err *err)
{
    bool same;
    return model_same(&same, m->job->model, a, b, err) && (same || adapter_fail(module, ERR_MALFORMED, err, "two tensors replace it, and they "
        "differ"));
}

/* Appends a tensor without a counterpart in the base, such as the head of a classifier. */
static bool
add_new(struct match_job *m, const struct adapter_module *module, const struct tensor *t, bool bias, struct err *err)
{
    const struct chosen chosen = { .copy = t, .dtype = t->dtype };
    struct str name = { 0 };
    char shown[STR_SHOWN];
    size_t index;
    if (is_gguf(m))
        return adapter_fail(module, ERR_UNSUPPORTED, err, "the base has no tensor that its saved one could replace");
    str_add(&name, module->name, module->len);
    str_text(&name, bias ? ".bias" : ".weight");
    bool ok = (!name.failed || err_memory(err, name.room)) && match_append(&index, m, &chosen, name.p, name.len, err);
    if (ok) {
        m->replaced[index] = true;
        catalog_warn(m->job->model->catalog, "%s: a new tensor: the base has none of this name", str_shown(shown,
            name.p, name.len));
    }
    str_clear(&name);
    return ok;
}

/* Replaces a tensor that the base stores in another order, or changed by an operation. */
static bool
set_in_place(struct match_job *m, const struct adapter *a, const struct adapter_module *module, const struct weight_place *place,
    const struct tensor *t, struct err *err)
{
    struct change_step step;
    const struct arranging w = match_arranging(m, a, module, place, t);
    const struct change *change = m->change[place->index];
    for (size_t i = 0; change && i < change->n; i++)
        if (change->step[i].form->phase == CHANGE_REPLACE && change->step[i].rows.first == place->rows.first)
            return adapter_fail(module, ERR_MALFORMED, err, "two adapters replace it");
    return form_set(&step, &w, err) && match_add(m, a, module, place, t, &step, err);
}

/* Returns true if a place is a whole tensor, stored as it is. */
static bool
is_whole(const struct weight_place *place, const struct shape *of)
{
    uint64_t numel;
    return of->rank == place->shape.rank && shape_same(of, &place->shape, of->rank) && place->nops == 0 && !place->transposed
        && place->rows.first == 0 && place->rows.dims == 1 && place->rows.dim[0].stride == place->rows.cols && shape_numel(of, &numel)
        && numel == place->rows.dim[0].n * place->rows.cols;
}

/* Makes the tied head start from an embedding that was saved with the base, before the adapter was made. */
static void
set_head(struct chosen *head, const struct tensor *t)
{
    *head = (struct chosen){ .copy = t, .dtype = head->dtype, .name = head->name, .name_len = head->name_len };
}

static bool
replace(struct match_job *m, const struct adapter *a, const struct adapter_module *module, const struct tensor *t, bool bias,
    struct err *err)
{
    char shown[STR_SHOWN];
    struct weight_place place;
    if (!match_module(&place, m, a, module, bias, err))
        return false;
    if (place.index == WEIGHT_NONE && bias && module->factor[FACTOR_SET] == NULL)
        return adapter_fail(module, ERR_MALFORMED, err, "the adapter has a bias, but the base has none");
    if (place.index == WEIGHT_NONE)
        return module->factor[FACTOR_BASE] ? match_missing(m, a, module, err) : add_new(m, module, t, bias, err);
    struct chosen *c = &m->choice->list[place.index];
    const struct tensor was = chosen_source(c);
    if (m->replaced[place.index])
        return adapter_fail(module, ERR_MALFORMED, err, "two adapters replace it");
    if (!check_shape(m, module, &place.shape, t, err))
        return false;
    if (a->c != 1)
        catalog_warn(m->job->model->catalog, "%s: replaced as a whole: the scale of the adapter has no effect on it",
            str_shown(shown, module->name, module->len));
    if (!is_whole(&place, &was.shape))
        return set_in_place(m, a, module, &place, t, err);
    m->replaced[place.index] = true;
    *c = (struct chosen){ .copy = t, .dtype = c->kept ? m->job->element : c->dtype, .name = was.name, .name_len = was.name_len };
    if (m->head != WEIGHT_NONE && module->factor[FACTOR_BASE] && adapter_is_embedding(module) && !m->replaced[m->head])
        set_head(&m->choice->list[m->head], t);
    return true;
}

/* Replaces the weight or the bias of a module. */
static bool
replace_one(struct match_job *m, const struct adapter *a, const struct adapter_module *module, bool bias, struct err *err)
{
    const struct tensor *base = module->factor[bias ? FACTOR_BASE_BIAS : FACTOR_BASE];
    const struct tensor *set = module->factor[bias ? FACTOR_SET_BIAS : FACTOR_SET];
    const struct tensor *again = module->again[bias];
    if ((again && !check_equal(m, module, set, again, err)) || (base && set && !check_equal(m, module, set, base, err)))
        return false;
    return !(base || set) || a->c == 0 || replace(m, a, module, set ? set : base, bias, err);
}

/* Checks that a head which was parted from an embedding has as many rows. */
static bool
check_head(const struct match_job *m, struct err *err)
{
    const struct tensor head = m->head != WEIGHT_NONE ? chosen_source(&m->choice->list[m->head]) : (struct tensor){ 0 };
    return m->head == WEIGHT_NONE || m->effects->vocabulary == 0 || shape_dim(&head.shape, 0) == m->effects->vocabulary
        || err_set(err, ERR_MALFORMED, "the adapter has an embedding of %" PRIu64 " rows, but no head, which the "
            "base ties to one of %" PRIu64, m->effects->vocabulary, shape_dim(&head.shape, 0));
}

bool
match_replace(struct match_job *m, const struct adapter *a, struct err *err)
{
    for (size_t i = 0; i < a->n; i++)
        if (!a->module[i].skipped && (!replace_one(m, a, &a->module[i], false, err) || !replace_one(m, a, &a->module[i], true, err)))
            return false;
    return check_head(m, err);
}
