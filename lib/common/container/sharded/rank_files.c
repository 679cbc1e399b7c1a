/* rank_files: one torch.save() of a dictionary for each rank, model_world_size_W_rank_R.pt, with DTensor or ShardedTensor values, and
 * plain tensors that all ranks hold. Source: torch, distributed/tensor/_api.py, distributed/_shard/sharded_tensor/api.py; verl,
 * utils/checkpoint. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "container/sharded/gathered.h"
#include "container/torch/objects.h"

enum { MESH = 8, RANKS_MAX = 1 << 20 };

/* Reads the numbers in a name. */
static bool
read_rank_name(const char *name, uint64_t *world, uint64_t *rank)
{
    char end = 0;
    int used = 0;
    return sscanf(name, "model_world_size_%" SCNu64 "_rank_%" SCNu64 ".pt%n%c", world, rank, &used, &end) == 2 && used != 0
        && name[used] == '\0';
}

static bool
rank_files_probe(const struct sharded *s)
{
    uint64_t world, rank;
    bool found = false;
    for (size_t i = 0; i < s->names.n; i++)
        found = found || read_rank_name(s->names.name[i], &world, &rank);
    return found;
}

struct rank_files {
    struct sharded *s;
    struct err *err;
    uint64_t world, rank;       /* rank: of the open file */
    uint32_t file;
    struct torch_file f;
    struct gathered g;
    bool sharded;               /* a value is */
    const struct pickle_value *mesh;    /* the one that was read last */
    uint64_t size[MESH], at[MESH];      /* its dimensions, and the place of this rank in it */
    uint32_t axes;
};

static bool
rank_bad(const struct rank_files *r, enum err_kind kind, const char *key, const char *what)
{
    err_set(r->err, kind, ERR_TENSOR "%s", key, what);
    return err_in_file(r->err, source_name(r->s->src[r->file]));
}

/* --- the mesh of a DTensor */

/* Finds a name in the state of an object that was made from a type: a dictionary, or a tuple of None and dictionaries. */
static const struct pickle_value *
find_slot(const struct pickle *k, const struct pickle_value *state, const char *name)
{
    const struct pickle_value *found = object_item(k, state, name);
    for (uint32_t i = 0; !found && state->kind == PICKLE_TUPLE && i < state->n; i++)
        found = object_item(k, state->of.item[i], name);
    return found;
}

/* Ranks at the places of a mesh: dimension m has size[m] places, each stride[m] after the one before in the map. */
struct mesh {
    uint32_t rank;
    uint64_t size[MESH], stride[MESH];
    uint64_t *map;              /* n; owned */
    uint64_t n;
};

/* Reads an integer tensor. */
static bool
read_integers(const struct rank_files *r, const struct pickle_value *v, struct mesh *mesh, struct torch_tensor *t, const char *key)
{
    if (!torch_file_tensor(&r->f, v, key, t, r->err))
        return err_in_file(r->err, source_name(r->f.src));
    uint32_t item = dtype_facts(t->dtype)->bytes;
    if ((t->dtype != DTYPE_I32 && t->dtype != DTYPE_I64) || !layout_is_plain(&t->layout) || t->nbytes > (uint64_t)RANKS_MAX * item)
        return rank_bad(r, ERR_MALFORMED, key, "its mesh is not a tensor of ranks");
    mesh->n = t->nbytes / item;
    uint8_t *bytes = malloc((size_t)t->nbytes + 1);
    mesh->map = calloc((size_t)mesh->n + 1, sizeof *mesh->map);
    bool ok = (bytes && mesh->map) || err_memory(r->err, t->nbytes);
    ok = ok && source_read(r->f.src, t->at, bytes, (size_t)t->nbytes, r->err);
    for (uint64_t i = 0; ok && i < mesh->n; i++)
        for (uint32_t b = 0; b < item; b++)
            mesh->map[i] |= (uint64_t)bytes[i * item + b] << 8 * b;
    free(bytes);
    return ok;
}

/* Reads a number, or numbers that are one after the other. */
static bool
read_axes(const struct pickle *k, const struct pickle_value *v, uint64_t n[LAYOUT_RANK], uint32_t *rank)
{
    *rank = 1;
    return v && (object_count(v, &n[0]) || object_counts(k, v, n, rank));
}

/* Adds one axis of a layout: shape and stride. */
static bool
add_axes(const struct pickle *k, const struct pickle_value *layout, struct mesh *mesh)
{
    uint64_t size[LAYOUT_RANK], stride[LAYOUT_RANK];
    uint32_t n, m;
    if (!read_axes(k, object_attribute(k, layout, "shape"), size, &n) || !read_axes(k, object_attribute(k, layout, "stride"), stride, &m)
        || n != m || mesh->rank + n > MESH)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        mesh->size[mesh->rank] = size[i];
        mesh->stride[mesh->rank++] = stride[i];
    }
    return true;
}

static bool
read_layout(const struct rank_files *r, const struct pickle_value *layout, struct mesh *mesh)
{
    const struct pickle *k = r->f.pickle;
    const struct pickle_value *axes = object_attribute(k, layout, "axes");
    struct pickle_walk walk = { 0 };
    struct pickle_value *key, *axis;
    if (!axes)
        return add_axes(k, layout, mesh);
    while ((axes->kind == PICKLE_TUPLE || axes->kind == PICKLE_LIST) && pickle_next(k, axes, &walk, &key, &axis)) {
        uint32_t before = mesh->rank;
        if (!add_axes(k, axis, mesh) || mesh->rank != before + 1)
            return false;
    }
    return mesh->rank != 0;
}

static bool
read_mesh(const struct rank_files *r, const struct pickle_value *v, struct mesh *mesh, const char *key)
{
    const struct pickle *k = r->f.pickle;
    const struct pickle_value *layout = object_attribute(k, v, "_layout"), *map = object_attribute(k, v, "_rank_map"),
        *old = object_attribute(k, v, "mesh");
    struct torch_tensor t;
    if (layout && map)
        return read_integers(r, map, mesh, &t, key)
            && (read_layout(r, layout, mesh) || rank_bad(r, ERR_MALFORMED, key, "its mesh has no shape"));
    if (!old)
        old = object_attribute(k, v, "_mesh");
    if (!old || !torch_file_is_tensor(&r->f, old))
        return rank_bad(r, ERR_MALFORMED, key, "its mesh has no ranks");
    if (!read_integers(r, old, mesh, &t, key))
        return false;
    if (t.rank == 0 || t.rank > MESH)
        return rank_bad(r, ERR_MALFORMED, key, "its mesh has too many dimensions");
    mesh->rank = t.rank;
    uint64_t stride = 1;
    for (uint32_t i = t.rank; i-- > 0; stride *= t.shape[i]) {
        mesh->size[i] = t.shape[i];
        mesh->stride[i] = stride;
    }
    return true;
}

/* Finds the place of this rank in a mesh. */
static bool
find_place(struct rank_files *r, const struct mesh *mesh, const char *key)
{
    uint64_t places = 1;
    bool found = false;
    for (uint32_t m = 0; m < mesh->rank; m++)
        if (!num_mul(&places, places, mesh->size[m]) || places > RANKS_MAX)
            return rank_bad(r, ERR_MALFORMED, key, "its mesh is larger than any job");
    for (uint64_t p = 0; p < places; p++) {
        uint64_t at[MESH], index = 0, rest = p;
        for (uint32_t m = mesh->rank; m-- > 0; rest /= mesh->size[m]) {
            at[m] = rest % mesh->size[m];
            index += at[m] * mesh->stride[m];
        }
        if (index >= mesh->n)
            return rank_bad(r, ERR_MALFORMED, key, "its mesh has places without a rank");
        if (mesh->map[index] >= r->world) {
            err_set(r->err, ERR_OPEN, "a file of the checkpoint is missing: model_world_size_%" PRIu64 "_rank_%" PRIu64 ".pt", r->world,
                mesh->map[index]);
            return err_in_file(r->err, source_name(r->f.src));
        }
        if (mesh->map[index] == r->rank && !found) {
            found = true;
            memcpy(r->at, at, sizeof at);
        }
    }
    r->axes = mesh->rank;
    memcpy(r->size, mesh->size, sizeof r->size);
    return found || rank_bad(r, ERR_MALFORMED, key, "its mesh does not have the rank of this file");
}

static bool
take_mesh(struct rank_files *r, const struct pickle_value *v, const char *key)
{
    struct mesh mesh = { 0 };
    if (v == r->mesh)
        return true;
    bool ok = v->kind == PICKLE_CALL ? read_mesh(r, v, &mesh, key) && find_place(r, &mesh, key)
        : rank_bad(r, ERR_MALFORMED, key, "it has no mesh");
    free(mesh.map);
    r->mesh = ok ? v : NULL;
    return ok;
}

/* --- pieces */

/* A value that is one piece or several of a tensor. */
struct rank_value {
    const char *key;            /* escaped */
    struct gathered_tensor *t;
    const struct pickle_value *state;
};

/* Adds the block [from, from + size) of a tensor, which a stored tensor holds. */
static bool
add_block(struct rank_files *r, const struct rank_value *v, const struct pickle_value *local, const uint64_t *from, const uint64_t *size)
{
    struct torch_tensor t;
    if (!local || !torch_file_tensor(&r->f, local, v->key, &t, r->err))
        return rank_bad(r, ERR_MALFORMED, v->key, "it has no local tensor");
    if (t.rank != v->t->rank || memcmp(t.shape, size, t.rank * sizeof *size) != 0)
        return rank_bad(r, ERR_MALFORMED, v->key, "its piece has another shape than its place in the tensor");
    if (t.dtype != v->t->dtype)
        return rank_bad(r, ERR_MALFORMED, v->key, "its piece has another type than the tensor");
    for (uint32_t i = 0; i < t.rank; i++)
        if (size[i] == 0)
            return true;
    const struct mosaic_tile tile = { .from = from, .size = size, .layout = &t.layout, .at = t.at, .file = r->file };
    return gathered_piece(&r->g, r->s, v->t, &tile, r->err);
}

/* Cuts a block down by one placement. */
static bool
apply_placement(struct rank_files *r, const struct rank_value *v, const struct pickle_value *p, uint32_t m, uint64_t *from, uint64_t *size)
{
    const struct pickle_value *dim = object_attribute(r->f.pickle, p, "dim");
    uint64_t d;
    if (!dim || !object_count(dim, &d) || d >= v->t->rank)
        return rank_bad(r, ERR_MALFORMED, v->key, "it is split along a dimension that it does not have");
    uint64_t n = size[d], part = num_ceil_div(n, r->size[m]), skip = n;
    if (part == 0 || r->at[m] < n / part + 1)
        skip = num_min(r->at[m] * part, n);
    from[d] += skip;
    size[d] = num_min(part, n - skip);
    return true;
}

/* Adds the block of a DTensor: placements that are Shard come first, then those that are _StridedShard. */
static bool
add_dtensor(struct rank_files *r, const struct rank_value *v)
{
    const struct pickle *k = r->f.pickle;
    const struct pickle_value *spec = find_slot(k, v->state, "_spec"), *mesh = NULL, *places = NULL;
    uint64_t from[LAYOUT_RANK] = { 0 }, size[LAYOUT_RANK];
    if (spec && spec->kind == PICKLE_CALL) {
        mesh = object_attribute(k, spec, "mesh");
        places = object_attribute(k, spec, "placements");
    }
    if (!mesh || !places || places->kind != PICKLE_TUPLE)
        return rank_bad(r, ERR_MALFORMED, v->key, "it has no mesh or no placements");
    if (!take_mesh(r, mesh, v->key))
        return false;
    if (places->n != r->axes)
        return rank_bad(r, ERR_MALFORMED, v->key, "it has another number of placements than its mesh has dimensions");
    memcpy(size, v->t->shape, v->t->rank * sizeof *size);
    for (unsigned strided = 0; strided < 2; strided++)
        for (uint32_t m = 0; m < places->n; m++) {
            const struct pickle_value *p = places->of.item[m];
            if (object_is(p, "Partial") || object_is(p, "_Partial"))
                return rank_bad(r, ERR_UNSUPPORTED, v->key, "its values are partial sums, which are not supported");
            if (object_is(p, strided ? "_StridedShard" : "Shard") && !apply_placement(r, v, p, m, from, size))
                return false;
            if (!object_is(p, "Shard") && !object_is(p, "_StridedShard") && !object_is(p, "Replicate"))
                return rank_bad(r, ERR_UNSUPPORTED, v->key, "it has a placement that is not supported");
        }
    return add_block(r, v, find_slot(k, v->state, "_local_tensor"), from, size);
}

/* Reads shard_offsets and shard_sizes. */
static bool
read_shard(const struct rank_files *r, const struct pickle_value *meta, uint32_t rank, uint64_t *from, uint64_t *size)
{
    const struct pickle *k = r->f.pickle;
    uint32_t n, m;
    const struct pickle_value *offsets = NULL, *sizes = NULL;
    if (meta && meta->kind == PICKLE_CALL) {
        offsets = object_attribute(k, meta, "shard_offsets");
        sizes = object_attribute(k, meta, "shard_sizes");
    }
    return offsets && sizes && object_counts(k, offsets, from, &n) && object_counts(k, sizes, size, &m) && n == rank && m == rank;
}

/* Checks that the list of all ranks' shards has this one. */
static bool
is_listed(const struct rank_files *r, const struct pickle_value *list, uint32_t rank, const uint64_t *from, const uint64_t *size)
{
    struct pickle_walk walk = { 0 };
    struct pickle_value *key, *meta;
    uint64_t a[LAYOUT_RANK], b[LAYOUT_RANK];
    while (list && list->kind == PICKLE_LIST && pickle_next(r->f.pickle, list, &walk, &key, &meta))
        if (read_shard(r, meta, rank, a, b) && memcmp(a, from, rank * sizeof *a) == 0 && memcmp(b, size, rank * sizeof *b) == 0)
            return true;
    return false;
}

/* Adds the blocks of a ShardedTensor: (local shards, metadata, process group, sharding spec, flag). */
static bool
add_sharded(struct rank_files *r, const struct rank_value *v)
{
    const struct pickle *k = r->f.pickle;
    const struct pickle_value *state = v->state, *all = NULL;
    uint64_t from[LAYOUT_RANK], size[LAYOUT_RANK];
    if (state->kind != PICKLE_TUPLE || state->n != 5 || state->of.item[0]->kind != PICKLE_LIST || state->of.item[1]->kind != PICKLE_CALL)
        return rank_bad(r, ERR_MALFORMED, v->key, "it has no local shards");
    all = object_attribute(k, state->of.item[1], "shards_metadata");
    struct pickle_walk walk = { 0 };
    struct pickle_value *key, *shard;
    while (pickle_next(k, state->of.item[0], &walk, &key, &shard)) {
        const struct pickle_value *meta = NULL, *tensor = NULL;
        if (shard->kind == PICKLE_CALL) {
            meta = object_attribute(k, shard, "metadata");
            tensor = object_attribute(k, shard, "tensor");
        }
        if (!read_shard(r, meta, v->t->rank, from, size))
            return rank_bad(r, ERR_MALFORMED, v->key, "a local shard has no place in the tensor");
        if (!is_listed(r, all, v->t->rank, from, size))
            return rank_bad(r, ERR_MALFORMED, v->key, "a local shard is not in shards_metadata");
        if (!add_block(r, v, tensor, from, size))
            return false;
    }
    return true;
}

/* --- one file */

/* Returns the arguments of a value that torch rebuilds from a type: function, type, arguments, state; NULL if it is none. */
static struct pickle_value *const *
typed_args(const struct pickle_value *v)
{
    for (unsigned depth = 0; depth < 4 && v->kind == PICKLE_CALL; depth++) {
        enum pickle_role role = pickle_role(v);
        struct pickle_value *const *item = v->of.item[1]->of.item;
        if (role == GLOBAL_REBUILD_PARAMETER && v->of.item[1]->n != 0)
            v = item[0];
        else if (role == GLOBAL_FROM_TYPE && v->of.item[1]->n == 4 && item[0]->kind == PICKLE_GLOBAL
            && item[0]->of.name->facts.role == GLOBAL_WRAPPER && item[2]->kind == PICKLE_TUPLE && item[2]->n == 8)
            return item;
        else
            return NULL;
    }
    return NULL;
}

static bool
is_flat(const struct pickle_value *key)
{
    static const char flat[] = "flat_param";
    size_t n = strlen(flat);
    if (key->n < n || memcmp(key->of.text + key->n - n, flat, n) != 0)
        return false;
    return key->n == n || key->of.text[key->n - n - 1] == '.' || key->of.text[key->n - n - 1] == '_';
}

/* Describes the whole tensor that a value is a part of, or is. */
static bool
describe(struct rank_files *r, const struct pickle_value *v, struct pickle_value *const *args, const char *shown,
    struct gathered_tensor *facts, struct torch_tensor *t, uint64_t *shape)
{
    facts->shape = shape;
    if (!args) {
        if (!torch_file_tensor(&r->f, v, shown, t, r->err))
            return err_in_file(r->err, source_name(r->f.src));
        facts->whole = true;
        facts->dtype = t->dtype;
        facts->rank = t->rank;
        memcpy(shape, t->shape, t->rank * sizeof *shape);
        return true;
    }
    const struct pickle_value *dtype = args[2]->of.item[1], *size = args[2]->of.item[2];
    if (dtype->kind != PICKLE_GLOBAL || dtype->of.name->facts.role != GLOBAL_DTYPE || !object_counts(r->f.pickle, size, shape, &facts->rank))
        return rank_bad(r, ERR_MALFORMED, shown, "it has no shape or no type");
    facts->dtype = dtype->of.name->facts.type->dtype;
    return facts->dtype != DTYPE_UNKNOWN || rank_bad(r, ERR_UNSUPPORTED, shown, "its type is not supported");
}

static bool
add_value(struct rank_files *r, const struct pickle_value *key, const struct pickle_value *v)
{
    static const uint64_t origin[LAYOUT_RANK];
    char shown[STR_SHOWN];
    uint64_t shape[LAYOUT_RANK];
    bool again = false;
    struct torch_tensor t;
    struct gathered_tensor facts = { .name = (const char *)key->of.text, .name_len = key->n };
    struct pickle_value *const *args = typed_args(v);
    struct rank_value of = { .key = str_shown(shown, (const char *)key->of.text, key->n) };
    if (key->kind != PICKLE_TEXT || key->odd)
        return rank_bad(r, ERR_MALFORMED, "of a rank", "its key is not a text");
    if (is_flat(key))
        return rank_bad(r, ERR_UNSUPPORTED, of.key, "a flat parameter (flat_param): names and shapes are not in the file; save with another "
            "state_dict_type");
    if (!describe(r, v, args, of.key, &facts, &t, shape) || !gathered_add(&r->g, r->s, &facts, &of.t, &again, r->err))
        return false;
    if (again != (r->rank != 0))
        return rank_bad(r, ERR_MALFORMED, of.key, "not all files have it");
    if (of.t->whole != facts.whole || of.t->dtype != facts.dtype || of.t->rank != facts.rank
        || memcmp(of.t->shape, shape, facts.rank * sizeof *shape) != 0)
        return rank_bad(r, ERR_MALFORMED, of.key, "its type or shape is not that in the file of rank 0");
    of.t->seen = (uint32_t)r->rank + 1;
    if (!args && r->rank != 0)
        return true;
    if (!args) {
        const struct mosaic_tile tile = { .from = origin, .size = of.t->shape, .layout = &t.layout, .at = t.at, .file = r->file };
        return t.nbytes == 0 || gathered_piece(&r->g, r->s, of.t, &tile, r->err);
    }
    r->sharded = true;
    of.state = args[3];
    if (object_is_global(args[1], "DTensor"))
        return add_dtensor(r, &of);
    return object_is_global(args[1], "ShardedTensor") ? add_sharded(r, &of) : rank_bad(r, ERR_UNSUPPORTED, of.key, "its class is not supported");
}

static bool
read_rank(struct rank_files *r)
{
    struct pickle_walk walk = { 0 };
    struct pickle_value *key, *v;
    const struct pickle_value *root = r->f.root;
    if (root->kind != PICKLE_DICT)
        return rank_bad(r, ERR_MALFORMED, "of a rank", "the file does not hold a dictionary");
    while (pickle_next(r->f.pickle, root, &walk, &key, &v))
        if ((torch_file_is_tensor(&r->f, v) || typed_args(v)) && !add_value(r, key, v))
            return false;
    for (size_t i = 0; i < r->g.n; i++)
        if (r->g.tensor[i].seen != r->rank + 1) {
            char shown[STR_SHOWN];
            return rank_bad(r, ERR_MALFORMED, str_shown(shown, r->g.tensor[i].name, r->g.tensor[i].name_len), "not all files have it");
        }
    return true;
}

static bool
open_rank(struct rank_files *r, const char *name)
{
    bool ok = sharded_torch(r->s, &r->f, name, &r->file, r->err) && read_rank(r);
    r->mesh = NULL;
    torch_file_clear(&r->f);
    return ok;
}

/* --- all files */

/* Lists the files of all ranks, and checks that they are there and that there is no other. */
static bool
list_ranks(struct rank_files *r, struct names *files)
{
    uint64_t world, rank;
    char name[96];
    for (size_t i = 0; i < r->s->names.n; i++) {
        if (!read_rank_name(r->s->names.name[i], &world, &rank))
            continue;
        if (r->world != 0 && world != r->world)
            return err_set(r->err, ERR_USAGE, "the directory has several checkpoints, of %" PRIu64 " and %" PRIu64 " ranks", r->world, world);
        r->world = world;
        if (rank >= world) {
            err_set(r->err, ERR_MALFORMED, "a file of rank %" PRIu64 " of %" PRIu64, rank, world);
            return err_in_file(r->err, r->s->names.name[i]);
        }
    }
    if (r->world > RANKS_MAX)
        return err_set(r->err, ERR_LIMIT, "number of ranks exceeds the limit of %d (built in)", RANKS_MAX);
    for (rank = 0; rank < r->world; rank++) {
        int n = snprintf(name, sizeof name, "model_world_size_%" PRIu64 "_rank_%" PRIu64 ".pt", r->world, rank);
        if (!names_add(files, name, (size_t)n, r->err))
            return false;
    }
    return sharded_check_files(r->s, files, r->err);
}

static bool
rank_files_read(struct sharded *s, struct err *err)
{
    struct rank_files r = { .s = s, .err = err };
    struct names files = { 0 };
    bool ok = list_ranks(&r, &files);
    s->ranks = r.world;
    for (r.rank = 0; ok && r.rank < r.world; r.rank++)
        ok = open_rank(&r, files.name[r.rank]);
    if (ok && r.world > 1 && !r.sharded) {
        err_set(err, ERR_UNSUPPORTED, "the layout over ranks is not recorded: all tensors are plain, and nothing says how they were split");
        ok = err_in_file(err, source_name(s->src[0]));
    }
    ok = ok && gathered_finish(&r.g, s, err);
    gathered_clear(&r.g);
    names_clear(&files);
    return ok;
}

const struct sharded_format sharded_rank_files = { .kind = "rank-files", .probe = rank_files_probe, .read = rank_files_read };
