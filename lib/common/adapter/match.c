#include "adapter/match.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/dora.h"
#include "hf/folder.h"

/* --- names */

/* Decides if an adapter names weights as Hugging Face does, and the base as llama.cpp does. */
static bool
needs_translation(bool *needs, struct match_job *m, const struct adapter *a, struct err *err)
{
    *needs = false;
    if (a->family == ADAPTER_GGUF || strcmp(catalog_facts_of(m->job->model->catalog)->format, "GGUF") != 0)
        return true;
    if (!m->looked && !translation_new(&m->translation, m->job->model, m->choice, m->head, err))
        return false;
    m->looked = true;
    *needs = m->translation != NULL;
    return true;
}

bool
match_config(json_t **config, const struct match_job *m, struct err *err)
{
    const struct catalog_config *base = hf_folder_config(m->job->model->catalog);
    *config = NULL;
    return !base || tree_read(config, base->text, base->n, base->name, err);
}

bool
match_find(struct weight_place *place, struct match_job *m, const struct adapter *a, const char *name, size_t n,
    enum weight_search how, struct err *err)
{
    bool translated;
    size_t found = WEIGHT_NONE;
    *place = (struct weight_place){ .index = WEIGHT_NONE };
    if (!needs_translation(&translated, m, a, err))
        return false;
    if (translated && !weight_names_find(&found, translation_names(m->translation), name, n, how, err))
        return false;
    if (found != WEIGHT_NONE)
        return translation_place(place, m->translation, found, err);
    if (!weight_names_find(&found, m->names, name, n, translated ? WEIGHT_EXACT : how, err))
        return false;
    if (found != WEIGHT_NONE)
        place_whole(place, m->choice, found);
    return true;
}

bool
match_module(struct weight_place *place, struct match_job *m, const struct adapter *a, const struct adapter_module *module, bool bias,
    struct err *err)
{
    struct str name = { 0 };
    if (module->nhits != 0) {
        *place = (struct weight_place){ .index = module->hit->index[bias] };
        if (place->index != WEIGHT_NONE)
            place_whole(place, m->choice, place->index);
        return true;
    }
    str_add(&name, module->name, module->len);
    if (!module->whole)
        str_text(&name, bias ? ".bias" : ".weight");
    bool ok = (!name.failed || err_memory(err, name.room))
        && match_find(place, m, a, name.p, name.len, a->family == ADAPTER_GGUF ? WEIGHT_EXACT
            : WEIGHT_ENDS, err);
    str_clear(&name);
    return ok && (place->index != WEIGHT_NONE || bias || match_expert(place, m, a, module, err));
}

/* --- tensors of the choice */

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
take(const struct match_job *m, size_t index, struct err *err)
{
    struct chosen *c = &m->choice->list[index];
    const struct tensor t = chosen_source(c);
    struct catalog *memory = m->job->model->catalog;
    char shown[STR_SHOWN];
    if (m->change[index])
        return m->change[index];
    if (c->copy && !c->kept && !dtype_is_float(c->copy->dtype)) {
        err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, ERR_TENSOR "an adapter changes it, but its type is %s", str_shown(shown, t.name,
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

/* --- steps */

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
    struct change *change = take(m, place->index, err);
    for (size_t i = 0; change && step->form->phase == CHANGE_TOKENS && i < change->n; i++)
        if (change->step[i].form->phase == CHANGE_TOKENS && form_tokens_overlap(&change->step[i], step))
            return adapter_fail(module, ERR_MALFORMED, err, "two adapters replace one row");
    return change && list_inputs(step, module, t, m->job->model->catalog, err) && change_step_add(change, step, err);
}

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

/* Fails for a module without a weight. */
bool
match_missing(struct match_job *m, const struct adapter *a, const struct adapter_module *module, struct err *err)
{
    struct str name = { 0 };
    struct weight_place found;
    str_add(&name, module->name, module->len);
    str_text(&name, ".in_proj_weight");
    bool ok = (!name.failed || err_memory(err, name.room)) && match_find(&found, m, a, name.p, name.len, WEIGHT_EXACT, err);
    str_clear(&name);
    if (!ok)
        return false;
    if (found.index != WEIGHT_NONE || memmem(module->name, module->len, "base_layer.out_proj", 19))
        return adapter_fail(module, ERR_UNSUPPORTED, err, "adapters of torch.nn.MultiheadAttention are not merged: peft adds a "
            "part of them twice");
    const char *index = catalog_facts_of(m->job->model->catalog)->index;
    if (index)
        return adapter_fail(module, ERR_MALFORMED, err, "the base has no weight for it: this is one shard; give the directory or %s",
            index);
    return adapter_fail(module, ERR_MALFORMED, err, "the base has no weight of this name: the adapter belongs to another model, or "
        "its names are not supported");
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
