/* deepspeed: the directory of a tag: model states with names, shapes, buffers and (stages 0 to 2) the weights; optimizer states with the
 * 32-bit weights in flat vectors. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"
#include "container/sharded/deepspeed_priv.h"
#include "container/torch/objects.h"

static bool
deepspeed_probe(const struct sharded *s)
{
    bool found = false;
    for (size_t i = 0; i < s->names.n; i++)
        found = found || str_ends(s->names.name[i], "_model_states.pt") || str_ends(s->names.name[i], "_optim_states.pt");
    return found && !sharded_has(s, "zero");
}

bool
ds_bad(const struct deepspeed *d, uint32_t file, const char *what)
{
    err_set(d->err, ERR_MALFORMED, "%s", what);
    return err_in_file(d->err, source_name(d->s->src[file]));
}

/* --- names */

static const char *
name_of_item(const void *of, uint32_t i, size_t *n)
{
    const struct pickle_value *v = ((const struct ds_names *)of)->name[i];
    *n = v->n;
    return (const char *)v->of.text;
}

bool
ds_names_add(struct ds_names *names, const struct pickle *k, const struct pickle_value *of, struct err *err)
{
    struct pickle_walk walk = { 0 };
    struct pickle_value *key, *value;
    while (of && (of->kind == PICKLE_DICT || of->kind == PICKLE_LIST) && pickle_next(k, of, &walk, &key, &value)) {
        const struct pickle_value *name = key ? key : value;
        uint32_t i = (uint32_t)names->n;
        bool again;
        if (name->kind != PICKLE_TEXT || name->odd)
            return err_set(err, ERR_MALFORMED, "a name of a parameter is not a text");
        const struct pickle_value **list = array_grow(names->name, names->n, &names->room, sizeof *list, err);
        if (!list)
            return false;
        names->name = list;
        const struct pickle_value **values = array_grow(names->value, names->n, &names->room_values, sizeof *values, err);
        if (!values)
            return false;
        names->value = values;
        if (!table_add(&names->table, name_of_item, names, (const char *)name->of.text, name->n, &i, &again, err))
            return false;
        if (again)
            continue;
        list[names->n] = name;
        values[names->n++] = key ? value : NULL;
    }
    return true;
}

bool
ds_names_find(const struct ds_names *names, const struct pickle_value *name, uint32_t *i)
{
    return table_find(&names->table, name_of_item, names, (const char *)name->of.text, name->n, i);
}

void
ds_names_clear(struct ds_names *names)
{
    free(names->name);
    free(names->value);
    table_clear(&names->table);
    *names = (struct ds_names){ 0 };
}

/* --- the files */

/* Returns the number that follows a word in a name; SIZE_MAX if there is none. */
static size_t
number_after(const char *name, const char *word)
{
    const char *at = strstr(name, word);
    if (!at || !isdigit((unsigned char)at[strlen(word)]))
        return SIZE_MAX;
    return (size_t)strtoul(at + strlen(word), NULL, 10);
}

/* Fails if files show a kind of parallelism that cannot be read. */
static bool
refuse_others(const struct sharded *s, struct err *err)
{
    for (size_t i = 0; i < s->names.n; i++) {
        const char *name = s->names.name[i], *why = NULL;
        char shown[STR_SHOWN];
        size_t rank = number_after(name, "mp_rank_");
        if (strncmp(name, "layer_", 6) == 0 && str_ends(name, "-model_states.pt"))
            why = "a layer of a pipeline";
        else if (str_ends(name, "_states.pt") && (strstr(name, "expert") || strstr(name, "expp_rank")))
            why = "experts of a rank";
        else if (str_ends(name, "_states.pt") && rank != SIZE_MAX && rank > 0)
            why = "tensor parallelism, whose rule is not in the files";
        if (why)
            return err_set(err, ERR_UNSUPPORTED, "%s: %s is not supported", str_shown(shown, name, strlen(name)), why);
    }
    return true;
}

/* Opens the model states of rank 0. Stage 3 has such a file for each rank. */
static bool
open_states(struct deepspeed *d)
{
    static const char one[] = "mp_rank_00_model_states.pt", first[] = "zero_pp_rank_0_mp_rank_00_model_states.pt";
    bool single = sharded_has(d->s, one);
    for (size_t i = 0; i < d->s->names.n && !single && d->stage == 0; i++)
        if (strncmp(d->s->names.name[i], "zero_pp_rank_", strlen("zero_pp_rank_")) == 0 && str_ends(d->s->names.name[i], "_model_states.pt"))
            d->stage = 3;
    return sharded_torch(d->s, &d->states, d->stage == 3 ? first : one, &d->states_file, d->err);
}

static bool
read_states(struct deepspeed *d)
{
    const struct pickle *k = d->states.pickle;
    const struct pickle_value *root = d->states.root, *module = object_item(k, root, "module"), *buffers = object_item(k, root,
        "buffer_names"), *world = object_item(k, root, "dp_world_size");
    if (!module || module->kind != PICKLE_DICT || !buffers)
        return ds_bad(d, d->states_file, "it has no module or no buffer_names, as model states of DeepSpeed have");
    if (!world || !object_count(world, &d->world) || d->world == 0)
        d->world = 1;
    if (d->world > 1 << 20)
        return err_set(d->err, ERR_LIMIT, "number of ranks exceeds the limit of 1048576 (built in)");
    d->s->ranks = d->world;
    return (ds_names_add(&d->module, k, module, d->err) && ds_names_add(&d->buffers, k, buffers, d->err)
        && ds_names_add(&d->shared, k, object_item(k, root, "shared_params"), d->err)
        && ds_names_add(&d->frozen, k, object_item(k, root, "frozen_param_shapes"), d->err)
        && ds_names_add(&d->fragments, k, object_item(k, root, "frozen_param_fragments"), d->err))
        || err_in_file(d->err, source_name(d->s->src[d->states_file]));
}

/* --- tensors */

bool
ds_add_run(struct deepspeed *d, uint32_t file, uint64_t at, uint64_t to, uint64_t n)
{
    const struct mosaic_tile tile = { .from = &to, .size = &n, .at = at, .file = file };
    return mosaic_add(d->s->mosaic, &tile, d->err);
}

/* A tensor that is about to be written. */
struct ds_output {
    struct str name;
    char shown[STR_SHOWN];
};

static bool
name_output(struct deepspeed *d, struct ds_output *o, const struct pickle_value *name)
{
    o->name.len = 0;
    sharded_add_name(&o->name, (const char *)name->of.text, name->n);
    str_shown(o->shown, (const char *)name->of.text, name->n);
    return !o->name.failed || err_memory(d->err, o->name.room);
}

/* Writes a tensor of the model states. */
static bool
add_stored(struct deepspeed *d, const struct ds_output *o, const struct pickle_value *v)
{
    struct torch_tensor t;
    return (torch_file_tensor(&d->states, v, o->shown, &t, d->err)
        && sharded_add_whole(d->s, d->states_file, o->name.p, o->name.len, &t, d->err))
        || err_in_file(d->err, source_name(d->s->src[d->states_file]));
}

/* Adds what rank r has of a frozen parameter, from element *at on. */
static bool
add_fragment(struct deepspeed *d, const struct torch_file *f, uint32_t file, const char *shown, const struct pickle_value *v,
    enum dtype dtype, uint64_t *at, uint64_t numel)
{
    struct torch_tensor t;
    if (!v || !torch_file_tensor(f, v, shown, &t, d->err))
        return ds_bad(d, file, "it lacks a part of a frozen parameter");
    if (t.dtype != dtype || !layout_is_plain(&t.layout))
        return ds_bad(d, file, "a part of a frozen parameter has another type than that of rank 0");
    uint32_t item = dtype_facts(dtype)->bytes;
    uint64_t n = num_min(t.nbytes / item, numel - *at);
    if (n != 0 && !ds_add_run(d, file, t.at, *at, n))
        return false;
    *at += n;
    return true;
}

/* Adds the parts of a frozen parameter that are in the model states of the other ranks. */
static bool
add_fragments(struct deepspeed *d, const struct ds_output *o, const struct pickle_value *name, enum dtype dtype, uint64_t at,
    uint64_t numel)
{
    bool ok = true;
    char *key = strndup((const char *)name->of.text, name->n);
    if (!key)
        return err_memory(d->err, name->n);
    for (uint64_t r = 1; ok && r < d->world; r++) {
        char file_name[96];
        uint32_t file = 0;
        struct torch_file f = { 0 };
        snprintf(file_name, sizeof file_name, "zero_pp_rank_%" PRIu64 "_mp_rank_00_model_states.pt", r);
        ok = sharded_torch(d->s, &f, file_name, &file, d->err)
            && add_fragment(d, &f, file, o->shown, object_item(f.pickle, object_item(f.pickle, f.root, "frozen_param_fragments"), key),
                dtype, &at, numel);
        torch_file_clear(&f);
    }
    free(key);
    return ok;
}

/* Writes frozen parameter i. */
static bool
add_frozen(struct deepspeed *d, const struct ds_output *o, uint32_t i)
{
    struct torch_tensor t;
    uint64_t shape[LAYOUT_RANK], numel = 1, at = 0;
    uint32_t k, rank;
    if (!ds_names_find(&d->fragments, d->frozen.name[i], &k)
        || !object_counts(d->states.pickle, d->frozen.value[i], shape, &rank))
        return ds_bad(d, d->states_file, "frozen_param_shapes and frozen_param_fragments do not fit");
    if (!torch_file_tensor(&d->states, d->fragments.value[k], o->shown, &t, d->err))
        return err_in_file(d->err, source_name(d->s->src[d->states_file]));
    for (uint32_t j = 0; j < rank; j++)
        if (!num_mul(&numel, numel, shape[j]))
            return ds_bad(d, d->states_file, "frozen_param_shapes has a shape whose size overflows");
    const struct mosaic_tensor tensor = { .name = o->name.p, .name_len = (uint32_t)o->name.len, .shown = o->shown, .dtype = t.dtype,
        .shape = shape, .rank = rank, .grid = &numel, .axes = 1 };
    return mosaic_begin(d->s->mosaic, &tensor, d->err)
        && add_fragment(d, &d->states, d->states_file, o->shown, d->fragments.value[k], t.dtype, &at, numel)
        && (d->stage != 3 || add_fragments(d, o, d->frozen.name[i], t.dtype, at, numel)) && mosaic_end(d->s->mosaic, d->err);
}

/* Writes one name of the module, or of a parameter that is not in it; v: its value in the module, or NULL. Counts it as left out if nothing
 * says where it is. */
static bool
add_one(struct deepspeed *d, struct ds_output *o, const struct pickle_value *name, const struct pickle_value *v, uint64_t *left,
    char first[STR_SHOWN])
{
    const struct pickle_value *of = name;
    uint32_t i;
    if (!name_output(d, o, name))
        return false;
    if (ds_names_find(&d->buffers, name, &i) && v)
        return add_stored(d, o, v);
    for (unsigned steps = 0; steps < 8 && ds_names_find(&d->shared, of, &i) && d->shared.value[i]->kind == PICKLE_TEXT; steps++)
        of = d->shared.value[i];
    if (ds_names_find(&d->params, of, &i))
        return ds_masters_add(d, i, &o->name, o->shown);
    if (ds_names_find(&d->frozen, of, &i) && d->fragments.n != 0)
        return add_frozen(d, o, i);
    if (d->stage != 3 && v)
        return add_stored(d, o, v);
    if ((*left)++ == 0)
        memcpy(first, o->shown, STR_SHOWN);
    return true;
}

static bool
add_all(struct deepspeed *d)
{
    struct ds_output o = { 0 };
    char first[STR_SHOWN];
    uint64_t left = 0;
    uint32_t i;
    bool ok = true;
    const struct ds_names *more[] = { &d->params, &d->frozen };
    for (size_t k = 0; ok && k < d->module.n; k++)
        if (torch_file_is_tensor(&d->states, d->module.value[k]))
            ok = add_one(d, &o, d->module.name[k], d->module.value[k], &left, first);
    for (size_t m = 0; m < 2; m++)
        for (size_t k = 0; ok && k < more[m]->n; k++)
            if (!ds_names_find(&d->module, more[m]->name[k], &i))
                ok = add_one(d, &o, more[m]->name[k], NULL, &left, first);
    if (ok && left != 0)
        catalog_warn(d->s->catalog, "left out: %" PRIu64 " tensors of the module that are neither parameters nor buffers (the first is %s)", left,
            first);
    str_clear(&o.name);
    return ok;
}

/* Writes the module as it is stored. */
static bool
add_module(struct deepspeed *d)
{
    struct ds_output o = { 0 };
    bool ok = true;
    for (size_t k = 0; ok && k < d->module.n; k++)
        if (torch_file_is_tensor(&d->states, d->module.value[k]))
            ok = name_output(d, &o, d->module.name[k]) && add_stored(d, &o, d->module.value[k]);
    str_clear(&o.name);
    return ok;
}

static bool
deepspeed_read(struct sharded *s, struct err *err)
{
    struct deepspeed d = { .s = s, .err = err };
    bool master = sharded_wants(s, "master"), ok = refuse_others(s, err) && open_states(&d) && read_states(&d);
    s->kind = d.stage == 3 ? "deepspeed-zero3" : "deepspeed";
    if (ok && d.stage == 3 && !master)
        catalog_tell(s->catalog, "the checkpoint has the weights as F32 only, as the optimizer keeps them; --dtype bf16 gives those of the "
            "forward pass");
    if (ok && (master || d.stage == 3))
        ok = ds_masters_read(&d) && add_all(&d);
    else if (ok)
        ok = add_module(&d);
    torch_file_clear(&d.states);
    struct ds_names *const all[] = { &d.module, &d.buffers, &d.shared, &d.frozen, &d.fragments, &d.params };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ds_names_clear(all[i]);
    free(d.param);
    free(d.vector);
    free(d.first);
    return ok;
}

const struct sharded_format sharded_deepspeed = { .kind = "deepspeed", .master = true, .probe = deepspeed_probe, .read = deepspeed_read };
