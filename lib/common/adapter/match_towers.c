/* Modules that single files name by a part of the model. */
#include <string.h>

#include "adapter/match_priv.h"

/* Counts the modules of a part of the model. */
struct tower_count {
    size_t n, missing;
    const struct adapter_module *first;         /* of those without a weight */
};

/* Sets what a module changes. One without the prefix of a tower is first looked up by the ordinary steps. */
static bool
find_hits(struct adapter_module *module, struct match_job *m, const struct adapter *a, int tower, struct err *err)
{
    struct tower_hit hit[TOWER_HITS];
    struct weight_place place = { .index = WEIGHT_NONE };
    size_t n;
    if (tower == TOWER_NONE && (!match_module(&place, m, a, module, false, err) || (place.index == WEIGHT_NONE
            && !match_module(&place, m, a, module, true, err))))
        return false;
    if (place.index != WEIGHT_NONE)
        return true;
    if (!towers_find(hit, &n, m->towers, module->name, module->len, err))
        return false;
    struct tower_hit *kept = NULL;
    if (n != 0)
        kept = catalog_alloc(m->job->model->catalog, n * sizeof *hit, err);
    if (n != 0 && !kept)
        return false;
    if (n != 0)
        memcpy(kept, hit, n * sizeof *hit);
    module->hit = kept;
    module->nhits = n;
    return true;
}

/* Decides about a tower with missing modules. `found`: another tower is complete or has some. */
static bool
check_tower(const struct match_job *m, const struct adapter *a, const struct tower_count *count, int tower, bool found,
    struct err *err)
{
    char shown[STR_SHOWN];
    if (count->missing == 0)
        return true;
    str_shown(shown, count->first->name, count->first->len);
    if (count->missing < count->n || !found)
        return err_set(err, ERR_MALFORMED, "the base has no weight for %zu of %zu modules of the %s model, such as %s: the "
            "adapter belongs to another model, or the names of its family are not known", count->missing, count->n, towers_name(tower),
            shown);
    for (size_t i = 0; i < a->n; i++)
        a->module[i].skipped = a->module[i].skipped || towers_of(a->module[i].name, a->module[i].len) == tower;
    catalog_warn(m->job->model->catalog, "%s: skipped %zu modules of the %s model, which the base does not contain", a->shown, count->n,
        towers_name(tower));
    return true;
}

bool
match_towers(struct match_job *m, const struct adapter *a, struct err *err)
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
