#include <stdlib.h>
#include <string.h>

#include "adapter/match.h"

enum { IDLE_MAX = 256, IDLE_BYTES = 8 << 20 };     /* factors without users that are kept */

struct adapters {
    struct adapter *list;               /* n of them; owned */
    size_t n;
    struct change_owner owner;
    const struct delta **delta;         /* ndeltas of them, by number; owned */
    size_t ndeltas;
    struct change **change;             /* of nchange chosen tensors; owned */
    size_t nchange;
    struct adapter_effects effects;
};

bool
adapter_check_gguf(const struct adapter *a, struct err *err)
{
    static const char *const known[] = { "adapter.type", "adapter.lora.alpha", "adapter.lora.task_name", "adapter.lora.prompt_prefix" };
    const struct meta *type = catalog_meta_find(a->file.catalog, "adapter.type");
    const struct meta *alpha = catalog_meta_find(a->file.catalog, "adapter.lora.alpha");
    char shown[STR_SHOWN];
    size_t n = 0;
    const char *word = NULL;
    if (type)
        word = meta_bytes(&type->value, &n);
    if (a->family != ADAPTER_GGUF)
        return true;
    if (!word || n != 4 || memcmp(word, "lora", 4) != 0 || catalog_meta_find(a->file.catalog, "adapter.alora.invocation_tokens"))
        return err_set(err, ERR_UNSUPPORTED, "only GGUF adapters of type lora are merged");
    if (alpha && alpha->value.type != META_F32 && alpha->value.type != META_F64)
        return err_set(err, ERR_MALFORMED, "adapter.lora.alpha is not a floating-point number");
    for (size_t i = 0; i < catalog_meta_count(a->file.catalog); i++) {
        const struct meta *meta = catalog_meta_at(a->file.catalog, i);
        bool found = !str_begins(meta->key, "adapter.");
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            found = found || strcmp(meta->key, known[k]) == 0;
        if (!found)
            return err_set(err, ERR_UNSUPPORTED, "key %s is unknown and could change the weights", str_shown(shown,
                meta->key, meta->key_len));
    }
    return true;
}

/* Checks an adapter of llama.cpp against the base. */
static bool
check_gguf_base(const struct adapter *a, const struct adapter_job *job, struct err *err)
{
    const struct meta *own = catalog_meta_find(a->file.catalog, "general.architecture");
    const struct meta *base = catalog_meta_find(job->model->catalog, "general.architecture");
    char shown[STR_SHOWN];
    size_t m = 0, k = 0;
    if (a->family != ADAPTER_GGUF)
        return true;
    if (strcmp(catalog_facts_of(job->model->catalog)->format, "GGUF") != 0)
        return err_set(err, ERR_UNSUPPORTED, "a GGUF adapter needs a GGUF base: convert the base first, or give the "
            "adapter in its original form");
    const char *one = own ? meta_bytes(&own->value, &m) : NULL, *two = base ? meta_bytes(&base->value, &k) : NULL;
    if (!one)
        return err_set(err, ERR_MALFORMED, "the adapter has no general.architecture");
    return (two && m == k && memcmp(one, two, m) == 0) || err_set(err, ERR_MALFORMED, "the adapter belongs to a model of "
        "another general.architecture, %s", str_shown(shown, one, m));
}

static bool
open_all(struct adapters *all, const struct adapter_arguments *args, const struct adapter_job *job, struct err *err)
{
    for (size_t i = 0; i < args->n; i++) {
        struct adapter *a = &all->list[all->n++];
        if (!adapter_open(a, &args->list[i], job, err))
            return false;
        if (!(adapter_check_config(a, err) && adapter_check_gguf(a, err) && check_gguf_base(a, job, err)
                && adapter_read_keys(a, job, err) && adapter_settle_modules(a, job, err)))
            return err_in_file(err, a->shown);
        if (a->tokenizer)
            all->effects.tokenizer = a->folder;
        for (size_t k = 0; k < i; k++)
            if (strcmp(all->list[k].path, a->path) == 0)
                catalog_warn(job->model->catalog, "%s: this adapter is given twice", a->shown);
    }
    return true;
}

/* Runs one of the passes over all adapters. */
static bool
each(const struct adapters *all, struct match_job *m, bool (*pass)(struct match_job *m, const struct adapter *a, struct err *err),
    struct err *err)
{
    for (size_t i = 0; i < all->n; i++)
        if (!pass(m, &all->list[i], err))
            return err_in_file(err, all->list[i].shown);
    return true;
}

/* Numbers the changes and names what they change. */
static bool
number_changes(struct adapters *all, const struct choice *choice, struct err *err)
{
    all->delta = calloc(all->nchange + 1, sizeof(*all->delta));
    if (!all->delta)
        return err_memory(err, all->nchange * sizeof(*all->delta));
    for (size_t i = 0; i < all->nchange; i++) {
        struct delta *d = NULL;
        if (all->change[i])
            d = &all->change[i]->delta;
        if (!d)
            continue;
        const struct tensor t = chosen_source(&choice->list[i]);
        d->number = all->ndeltas;
        d->name = t.name;
        d->name_len = t.name_len;
        if (!shape_numel(&t.shape, &d->numel))
            d->numel = 0;
        d->merges = change_merges(all->change[i]);
        all->delta[all->ndeltas++] = d;
    }
    return true;
}

/* Takes back the changes of tensors that the globs do not select. was: nwas entries, as they were without adapters. */
static bool
keep_others(struct match_job *m, const struct chosen *was, size_t nwas, struct err *err)
{
    const struct naming *which = m->job->which;
    struct choice *choice = m->choice;
    size_t left = 0, merged = 0;
    char shown[STR_SHOWN];
    struct tensor first = { 0 };
    if (!naming_check(which, choice, err))
        return false;
    for (size_t i = 0; i < choice->n; i++) {
        bool changed = m->change[i] || m->replaced[i], selected = naming_selects(which, &choice->list[i]);
        merged += changed && selected;
        if (!changed || selected)
            continue;
        const struct tensor t = chosen_source(&choice->list[i]);
        if (m->replaced[i] || i >= nwas)
            return err_set(err, ERR_USAGE, "the adapter replaces %s as a whole: have --include and --exclude select it",
                str_shown(shown, t.name, t.name_len));
        first = left++ == 0 ? t : first;
        choice->list[i] = was[i];
        change_free(m->change[i]);
        m->change[i] = NULL;
    }
    str_shown(shown, str_or(first.name, ""), first.name_len);
    if (left != 0 && merged == 0)
        return err_set(err, ERR_USAGE, "--include and --exclude select no weight that the adapter changes (it changes %s)", shown);
    if (left != 0)
        catalog_warn(m->job->model->catalog, "%zu weight%s that the adapter changes %s left as %s, because of --include or --exclude "
            "(first: %s)", left, str_plural(left), left == 1 ? "is" : "are", left == 1 ? "it is" : "they are", shown);
    return true;
}

bool
adapters_apply(struct adapters **out, const struct adapter_arguments *args, const struct adapter_job *job, struct choice *choice,
    struct err *err)
{
    *out = NULL;
    if (args->n == 0)
        return true;
    struct adapters *all = calloc(1, sizeof *all);
    if (!all)
        return err_memory(err, sizeof *all);
    *out = all;
    struct match_job m = { .job = job, .choice = choice, .owner = &all->owner, .head = WEIGHT_NONE, .effects = &all->effects,
        .change = calloc(choice->n + 1, sizeof *m.change), .replaced = calloc(choice->n + 1, sizeof *m.replaced) };
    m.towers = towers_new(choice);
    size_t nwas = choice->n;
    const bool some = job->which && job->which->nglobs != 0;
    struct chosen *was = some ? malloc((nwas + 1) * sizeof *was) : NULL;
    if (was)
        memcpy(was, choice->list, nwas * sizeof *was);
    all->owner = (struct change_owner){ job->model, job->kernels, cache_new(IDLE_MAX, IDLE_BYTES, err) };
    m.list = all->list = calloc(args->n, sizeof *all->list);
    bool ok = (was || !some || err_memory(err, nwas * sizeof *was)) && all->owner.resident && ((all->list && m.change && m.replaced) || err_memory(err, choice->n * sizeof *m.change));
    ok = ok && (m.towers || err_memory(err, 1));
    ok = ok && (m.names = weight_names_new(choice, err)) != NULL && open_all(all, args, job, err);
    m.n = all->n;
    ok = ok && each(all, &m, match_towers, err) && match_tied(&m, err) && each(all, &m, match_replace, err)
        && each(all, &m, match_steps, err) && (!was || keep_others(&m, was, nwas, err));
    free(was);
    all->change = m.change;
    if (m.change)
        all->nchange = choice->n;
    else
        all->nchange = 0;
    weight_names_free(m.names);
    translation_free(m.translation);
    towers_free(m.towers);
    free(m.replaced);
    return ok && number_changes(all, choice, err);
}

struct adapter_effects
adapters_effects(const struct adapters *all)
{
    return all ? all->effects : (struct adapter_effects){ 0 };
}

void
adapters_free(struct adapters *all)
{
    if (!all)
        return;
    for (size_t i = 0; all->list && i < all->n; i++)
        adapter_clear(&all->list[i]);
    for (size_t i = 0; all->change && i < all->nchange; i++)
        change_free(all->change[i]);
    cache_free(all->owner.resident);
    free(all->list);
    free(all->change);
    free(all->delta);
    free(all);
}

void
adapters_read_again(struct adapters *all)
{
    for (size_t i = 0; all && i < all->nchange; i++)
        if (all->change[i])
            all->change[i]->delta.again = true;
}

const struct delta *const *
adapters_deltas(const struct adapters *all, size_t *n)
{
    *n = 0;
    if (!all)
        return NULL;
    *n = all->ndeltas;
    return all->delta;
}
