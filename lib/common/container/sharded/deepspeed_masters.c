/* The 32-bit weights in the optimizer states of DeepSpeed.
 *
 *      stages 1, 2   a group of parameters is one vector, cut into a partition for each rank; the parameters follow each other in it, in
 *                    the order of param_shapes, each with padding after it
 *      stage 3       every rank has a part of every parameter: ceil(numel / ranks) elements, in the order of param_shapes
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"
#include "container/sharded/deepspeed_priv.h"
#include "container/torch/objects.h"

static const char suffix[] = "_mp_rank_00_optim_states.pt";

/* Returns the text before "zero_pp_rank_" in the names of the optimizer files: "bf16_". */
static void
find_prefix(const struct sharded *s, char prefix[16])
{
    prefix[0] = '\0';
    for (size_t i = 0; i < s->names.n; i++) {
        const char *name = s->names.name[i], *at = strstr(name, "zero_pp_rank_");
        if (at && at - name < 16 && str_ends(name, suffix)) {
            memcpy(prefix, name, (size_t)(at - name));
            prefix[at - name] = '\0';
            return;
        }
    }
}

/* Lists the files of all ranks. */
static bool
list_files(struct deepspeed *d, struct names *files)
{
    char prefix[16], name[96];
    find_prefix(d->s, prefix);
    for (uint64_t r = 0; r < d->world; r++) {
        int n = snprintf(name, sizeof name, "%szero_pp_rank_%" PRIu64 "%s", prefix, r, suffix);
        if (!names_add(files, name, (size_t)n, d->err))
            return false;
    }
    snprintf(name, sizeof name, "%szero_pp_rank_%" PRIu64 "%s", prefix, d->world, suffix);
    if (sharded_has(d->s, name)) {
        err_set(d->err, ERR_MALFORMED, "a file of rank %" PRIu64 " of %" PRIu64 ": two checkpoints were saved into this directory", d->world,
            d->world);
        return err_in_file(d->err, name);
    }
    return sharded_check_files(d->s, files, d->err);
}

/* --- parameters */

static bool
add_params(struct deepspeed *d, const struct pickle_value *shapes)
{
    size_t before = d->params.n;
    if (shapes->kind != PICKLE_DICT || !ds_names_add(&d->params, d->states.pickle, shapes, d->err))
        return ds_bad(d, d->states_file, "param_shapes does not list names and shapes");
    struct ds_param *param = realloc(d->param, (d->params.n + 1) * sizeof *param);
    if (!param)
        return err_memory(d->err, d->params.n * sizeof *param);
    d->param = param;
    for (size_t i = before; i < d->params.n; i++) {
        uint64_t shape[LAYOUT_RANK], numel = 1;
        uint32_t rank;
        if (!object_counts(d->states.pickle, d->params.value[i], shape, &rank))
            return ds_bad(d, d->states_file, "param_shapes has a value that is not a shape");
        for (uint32_t k = 0; k < rank; k++)
            if (!num_mul(&numel, numel, shape[k]) || numel > INT64_MAX / 8)
                return ds_bad(d, d->states_file, "param_shapes has a shape whose size overflows");
        param[i] = (struct ds_param){ .numel = numel, .group = d->ngroups };
    }
    d->ngroups++;
    return true;
}

/* Reads param_shapes: a list of dictionaries, one for each group, or one dictionary. */
static bool
read_params(struct deepspeed *d)
{
    const struct pickle *k = d->states.pickle;
    const struct pickle_value *shapes = object_item(k, d->states.root, "param_shapes");
    struct pickle_walk walk = { 0 };
    struct pickle_value *key, *group;
    if (shapes && shapes->kind == PICKLE_DICT)
        return add_params(d, shapes);
    if (!shapes || shapes->kind != PICKLE_LIST || shapes->n == 0)
        return err_set(d->err, ERR_UNSUPPORTED, "--state master: the checkpoint does not tell where the 32-bit weights are (no "
            "param_shapes), as that of an optimizer without ZeRO");
    while (pickle_next(k, shapes, &walk, &key, &group))
        if (!add_params(d, group))
            return false;
    return true;
}

/* --- vectors */

/* The optimizer states of a rank. */
struct optim {
    uint32_t file;
    struct torch_file f;
    const struct pickle_value *state;
};

static bool
add_vectors(struct deepspeed *d, struct optim *o, const struct pickle_value *list)
{
    struct pickle_walk walk = { 0 };
    struct pickle_value *key, *v;
    struct torch_tensor t;
    for (uint32_t group = 0; pickle_next(o->f.pickle, list, &walk, &key, &v); group++) {
        if (!torch_file_tensor(&o->f, v, "of the optimizer", &t, d->err))
            return err_in_file(d->err, source_name(d->s->src[o->file]));
        if (t.dtype != DTYPE_F32 || !layout_is_plain(&t.layout))
            return ds_bad(d, o->file, "the weights of the optimizer are not one vector of F32 a group");
        struct ds_vector *vector = array_grow(d->vector, d->nvectors, &d->room_vectors, sizeof *vector, d->err);
        if (!vector)
            return false;
        d->vector = vector;
        vector[d->nvectors++] = (struct ds_vector){ .file = o->file, .group = group, .at = t.at, .n = t.nbytes / 4 };
    }
    return true;
}

/* Returns the largest of partition_count, a number or a list of numbers; 0 if there is none. */
static uint64_t
partition_count(const struct optim *o)
{
    const struct pickle_value *v = object_item(o->f.pickle, o->state, "partition_count");
    struct pickle_walk walk = { 0 };
    struct pickle_value *key, *item;
    uint64_t most = 0, n;
    if (v && v->kind == PICKLE_LIST)
        while (pickle_next(o->f.pickle, v, &walk, &key, &item))
            most = object_count(item, &n) ? num_max(most, n) : most;
    else if (v && object_count(v, &n))
        most = n;
    return most;
}

static bool
read_optim(struct deepspeed *d, struct optim *o)
{
    const struct pickle *k = o->f.pickle;
    const char *list = d->stage == 3 ? "fp32_flat_groups" : "single_partition_of_fp32_groups";
    uint64_t stage = 1;
    o->state = object_item(k, o->f.root, "optimizer_state_dict");
    if (!o->state || o->state->kind != PICKLE_DICT)
        return ds_bad(d, o->file, "it has no optimizer_state_dict");
    const struct pickle_value *zero = object_item(k, o->state, "zero_stage"), *groups = object_item(k, o->state, list);
    if ((zero && !object_count(zero, &stage)) || (stage == 3) != (d->stage == 3))
        return ds_bad(d, o->file, "its zero_stage contradicts the model states");
    if (d->nvectors != 0 && stage != d->zero_stage)
        return ds_bad(d, o->file, "its zero_stage is not that of rank 0");
    d->zero_stage = stage;
    if (!groups && stage < 3)
        return err_set(d->err, ERR_UNSUPPORTED, "--state master: the optimizer states have no 32-bit groups of parameters (%s)", list);
    if (partition_count(o) != d->world && (d->stage != 3 || partition_count(o) != 0))
        return ds_bad(d, o->file, "its partition_count is not the number of ranks");
    if (groups->kind != PICKLE_LIST || (d->stage != 3 && groups->n != d->ngroups))
        return ds_bad(d, o->file, "it has another number of groups than param_shapes");
    return add_vectors(d, o, groups);
}

/* --- places */

/* Steps through lists of numbers, one list for each group. */
struct paddings {
    const struct pickle *k;
    const struct pickle_value *groups, *group;  /* NULL: none */
    struct pickle_walk at_group, at;
};

static bool
is_list(const struct pickle_value *v)
{
    return v && (v->kind == PICKLE_LIST || v->kind == PICKLE_TUPLE);
}

static void
next_group(struct paddings *p)
{
    struct pickle_value *key, *group;
    p->group = NULL;
    p->at = (struct pickle_walk){ 0 };
    if (is_list(p->groups) && pickle_next(p->k, p->groups, &p->at_group, &key, &group) && is_list(group))
        p->group = group;
}

/* Returns the padding after the next parameter of the group. */
static uint64_t
next_padding(struct paddings *p)
{
    struct pickle_value *key, *item;
    uint64_t n = 0;
    if (p->group && pickle_next(p->k, p->group, &p->at, &key, &item))
        object_count(item, &n);
    return n;
}

/* Places the parameters of all groups one after the other, as the optimizer states of a rank say; sets end[] of each group. Another
 * rank after the first one must say the same. */
static bool
place_groups(struct deepspeed *d, const struct optim *o, bool first, uint64_t *end)
{
    struct paddings p = { .k = o->f.pickle, .groups = object_item(o->f.pickle, o->state, "param_alignment_paddings") };
    uint64_t at = 0;
    for (size_t i = 0; i < d->params.n; i++) {
        struct ds_param *param = &d->param[i];
        if (i == 0 || param->group != param[-1].group) {
            next_group(&p);
            at = 0;
        }
        if (!first && param->at != at)
            return ds_bad(d, o->file, "its param_alignment_paddings are not those of rank 0");
        param->at = at;
        if (!num_add(&at, at, param->numel) || !num_add(&at, at, next_padding(&p)))
            return ds_bad(d, d->states_file, "param_shapes has shapes whose sizes overflow");
        end[param->group] = at;
    }
    return true;
}

static bool
place_partitions(struct deepspeed *d, uint64_t *end)
{
    *end = 0;
    for (size_t i = 0; i < d->params.n; i++) {
        d->param[i].at = *end;
        if (!num_add(end, *end, num_ceil_div(d->param[i].numel, d->world)))
            return ds_bad(d, d->states_file, "param_shapes has shapes whose sizes overflow");
    }
    return true;
}

/* Checks where a rank says that its parts of the parameters of a group are. */
static bool
check_mapping(struct deepspeed *d, const struct optim *o, const struct pickle_value *map, uint32_t group, uint64_t base, uint64_t n)
{
    struct pickle_walk walk = { 0 };
    struct pickle_value *name, *address;
    while (map->kind == PICKLE_DICT && pickle_next(o->f.pickle, map, &walk, &name, &address)) {
        const struct pickle_value *start = object_attribute(o->f.pickle, address, "start"),
            *numel = object_attribute(o->f.pickle, address, "numel");
        uint64_t at, len;
        uint32_t i;
        if (name->kind != PICKLE_TEXT || !ds_names_find(&d->params, name, &i) || d->param[i].group != group || !start
            || !object_count(start, &at) || !numel || !object_count(numel, &len))
            return ds_bad(d, o->file, "param_slice_mappings has an entry that is not one of param_shapes");
        const struct ds_param *p = &d->param[i];
        uint64_t from = num_max(p->at, base), to = num_min(p->at + p->numel, base + n);
        if (from > to || at != from - base || len != to - from)
            return ds_bad(d, o->file, "param_slice_mappings contradicts param_shapes");
    }
    return true;
}

/* --- all ranks */

static bool
open_rank(struct deepspeed *d, struct optim *o, const char *name)
{
    return sharded_torch(d->s, &o->f, name, &o->file, d->err)
        && (read_optim(d, o) || err_in_file(d->err, source_name(d->s->src[o->file])));
}

/* Checks the mappings of a rank, whose groups begin at base[]; adds the lengths of its vectors to these. */
static bool
check_rank(struct deepspeed *d, const struct optim *o, size_t first, uint64_t *base)
{
    const struct pickle_value *maps = object_item(o->f.pickle, o->state, "param_slice_mappings");
    struct pickle_walk walk = { 0 };
    struct pickle_value *key, *map;
    for (uint32_t g = 0; g < d->ngroups; g++) {
        uint64_t n = d->vector[first + g].n;
        if (maps && maps->kind == PICKLE_LIST && pickle_next(o->f.pickle, maps, &walk, &key, &map)
            && !check_mapping(d, o, map, g, base[g], n))
            return false;
        base[g] += n;
    }
    return true;
}

static bool
check_ends(struct deepspeed *d, const uint64_t *end, const uint64_t *base)
{
    for (uint32_t g = 0; g < d->ngroups; g++)
        if (num_ceil_div(end[g], 2 * d->world) != num_ceil_div(base[g], 2 * d->world)) {
            err_set(d->err, ERR_MALFORMED, "param_shapes needs %" PRIu64 " elements of group %" PRIu32 ", but the optimizer states have %" PRIu64,
                end[g], g, base[g]);
            return err_in_file(d->err, source_name(d->s->src[d->states_file]));
        }
    return true;
}

static bool
check_partitions(struct deepspeed *d, uint64_t end)
{
    for (uint64_t r = 0; r < d->world; r++) {
        uint64_t n = 0;
        for (size_t v = d->first[r]; v < d->first[r + 1]; v++)
            n += d->vector[v].n;
        if (n != end) {
            err_set(d->err, ERR_MALFORMED, "%" PRIu64 " elements are used of %" PRIu64 ": param_shapes does not fit these optimizer states", end, n);
            return err_in_file(d->err, source_name(d->s->src[d->vector[d->first[r]].file]));
        }
    }
    return true;
}

/* Reads the files, rank after rank. end and base have an item for each group. */
static bool
read_ranks(struct deepspeed *d, const struct names *files, uint64_t *end, uint64_t *base)
{
    bool ok = true;
    for (uint64_t r = 0; ok && r < d->world; r++) {
        struct optim o = { 0 };
        d->first[r] = d->nvectors;
        ok = open_rank(d, &o, files->name[r]);
        ok = ok && (d->stage == 3 || (place_groups(d, &o, r == 0, end) && check_rank(d, &o, d->first[r], base)));
        torch_file_clear(&o.f);
    }
    d->first[d->world] = d->nvectors;
    if (ok && d->stage == 3)
        return place_partitions(d, end) && check_partitions(d, end[0]);
    return ok && check_ends(d, end, base);
}

bool
ds_masters_read(struct deepspeed *d)
{
    struct names files = { 0 };
    bool ok = read_params(d) && list_files(d, &files);
    uint64_t *ends = NULL;
    if (ok) {
        ends = calloc(2 * (size_t)d->ngroups + 1, sizeof *ends);
        d->first = calloc((size_t)d->world + 1, sizeof *d->first);
        ok = (ends && d->first) || err_memory(d->err, d->ngroups * sizeof *ends);
    }
    ok = ok && read_ranks(d, &files, ends, ends + d->ngroups);
    free(ends);
    names_clear(&files);
    return ok;
}

/* --- tiles */

/* Adds elements [from, from + n) of what the vectors [first, last) are together, from element `to` of the tensor on. */
static bool
add_span(struct deepspeed *d, size_t first, size_t last, size_t step, uint64_t from, uint64_t n, uint64_t to)
{
    uint64_t begin = 0;
    for (size_t v = first; v < last && n != 0; v += step) {
        const struct ds_vector *this = &d->vector[v];
        uint64_t end = begin + this->n;
        if (from < end) {
            uint64_t some = num_min(n, end - from);
            if (!ds_add_run(d, this->file, this->at + 4 * (from - begin), to, some))
                return false;
            from += some;
            to += some;
            n -= some;
        }
        begin = end;
    }
    return true;
}

bool
ds_masters_add(struct deepspeed *d, uint32_t i, const struct str *name, const char *shown)
{
    const struct ds_param *p = &d->param[i];
    uint64_t shape[LAYOUT_RANK], part = num_ceil_div(p->numel, d->world);
    struct mosaic_tensor t = { .name = name->p, .name_len = (uint32_t)name->len, .shown = shown, .dtype = DTYPE_F32, .shape = shape,
        .grid = &p->numel, .axes = 1 };
    bool ok = object_counts(d->states.pickle, d->params.value[i], shape, &t.rank) && mosaic_begin(d->s->mosaic, &t, d->err);
    if (ok && d->stage != 3)
        ok = add_span(d, p->group, d->nvectors, d->ngroups, p->at, p->numel, 0);
    for (uint64_t r = 0; ok && d->stage == 3 && r < d->world && r * part < p->numel; r++)
        ok = add_span(d, d->first[r], d->first[r + 1], 1, p->at, num_min(part, p->numel - r * part), r * part);
    return ok && mosaic_end(d->s->mosaic, d->err);
}
