/* Finds weights of the base by the names that an adapter has for them. */
#include <string.h>

#include "adapter/match_priv.h"
#include "hf/folder.h"

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
match_named(struct weight_place *place, struct match_job *m, const struct adapter *a, const struct adapter_module *module,
    bool bias, struct err *err)
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
    return ok;
}

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
