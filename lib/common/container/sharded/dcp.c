/* dcp: a checkpoint of torch.distributed.checkpoint. .metadata is a pickle that describes every tensor and its chunks:
 *
 *      state_dict_metadata   key -> TensorStorageMetadata (properties.dtype, size, chunks: offsets, sizes), or bytes
 *      planner_data          key -> path of the key in the nested dictionary that was saved; may be absent
 *      storage_data          MetadataIndex (fqn, offset) -> _StorageInfo (relative_path, offset, length)
 *
 * Each chunk is a whole archive of torch.save() in bytes [offset, offset + length) of a file, with one tensor. Source: torch,
 * distributed/checkpoint/metadata.py and filesystem.py. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"
#include "container/sharded/dcp_priv.h"
#include "container/torch/objects.h"
#include "source/within.h"

static bool
dcp_probe(const struct sharded *s)
{
    return sharded_has(s, ".metadata");
}

/* Returns true for the name of a rank's file, __R_I.distcp, and raises *ranks above R. */
static bool
dcp_file_rank(const char *name, uint64_t *ranks)
{
    size_t n = strlen(name);
    if (strncmp(name, "__", 2) != 0 || !str_strip(name, &n, ".distcp"))
        return false;
    uint64_t rank = strtoull(name + 2, NULL, 10);
    if (rank >= *ranks && rank < UINT32_MAX)
        *ranks = rank + 1;
    return true;
}

/* --- .metadata */

static bool
dcp_bad(const struct dcp *d, const char *what)
{
    err_set(d->err, ERR_MALFORMED, "%s", what);
    return err_in_file(d->err, d->file);
}

static const char *
name_of_key(const void *of, uint32_t i, size_t *n)
{
    const struct pickle_value *v = ((const struct dcp *)of)->key[i].name;
    *n = v->n;
    return (const char *)v->of.text;
}

static bool
add_key(struct dcp *d, const struct pickle_value *name, const struct pickle_value *meta)
{
    bool again = false, tensor = object_is(meta, "TensorStorageMetadata");
    uint32_t i = (uint32_t)d->nkeys;
    if (name->kind != PICKLE_TEXT || name->odd || (!tensor && !object_is(meta, "BytesStorageMetadata")))
        return dcp_bad(d, "state_dict_metadata has an entry that describes neither a tensor nor bytes");
    struct dcp_key *key = NULL;
    if (budget_items(catalog_budget(d->s->catalog), 1, "tensors", d->err))
        key = array_grow(d->key, d->nkeys, &d->room_keys, sizeof *key, d->err);
    if (!key)
        return false;
    d->key = key;
    key[d->nkeys++] = (struct dcp_key){ .name = name, .meta = tensor ? meta : NULL };
    return table_add(&d->table, name_of_key, d, (const char *)name->of.text, name->n, &i, &again, d->err);
}

/* Returns the key of this name, or NULL. */
static struct dcp_key *
find_key(const struct dcp *d, const struct pickle_value *name)
{
    uint32_t i;
    if (!name || name->kind != PICKLE_TEXT || !table_find(&d->table, name_of_key, d, (const char *)name->of.text, name->n, &i))
        return NULL;
    return &d->key[i];
}

static bool
read_paths(struct dcp *d, const struct pickle_value *paths)
{
    struct pickle_walk walk = { 0 };
    struct pickle_value *name, *path;
    while (paths && paths->kind == PICKLE_DICT && pickle_next(d->f.pickle, paths, &walk, &name, &path)) {
        struct dcp_key *key = find_key(d, name);
        if (path->kind != PICKLE_TUPLE || path->n == 0)
            return dcp_bad(d, "planner_data has a path that is not a tuple");
        for (uint32_t i = 0; i < path->n; i++)
            if ((path->of.item[i]->kind != PICKLE_TEXT || path->of.item[i]->odd) && path->of.item[i]->kind != PICKLE_INT)
                return dcp_bad(d, "planner_data has a path whose parts are neither texts nor integers");
        if (key)
            key->path = path;
    }
    return true;
}

static const char *
name_of_file(const void *of, uint32_t i, size_t *n)
{
    const char *name = ((const struct dcp *)of)->files.name[i];
    *n = strlen(name);
    return name;
}

/* Numbers the file of a chunk; UINT32_MAX if its name is not that of a file in the directory. */
static bool
number_file(struct dcp *d, const struct pickle_value *info, uint32_t *file)
{
    const struct pickle_value *path = object_attribute(d->f.pickle, info, "relative_path");
    bool again;
    *file = UINT32_MAX;
    if (!path || path->kind != PICKLE_TEXT || !sharded_is_component((const char *)path->of.text, path->n))
        return true;
    *file = (uint32_t)d->files.n;
    return table_find(&d->by_name, name_of_file, d, (const char *)path->of.text, path->n, file)
        || (names_add(&d->files, (const char *)path->of.text, path->n, d->err)
            && table_add(&d->by_name, name_of_file, d, (const char *)path->of.text, path->n, file, &again, d->err));
}

/* Finds where the chunks of the selected tensors are stored. */
static bool
read_places(struct dcp *d, const struct pickle_value *storage)
{
    struct pickle_walk walk = { 0 };
    struct pickle_value *index, *info;
    uint32_t file;
    if (!storage || storage->kind != PICKLE_DICT)
        return dcp_bad(d, "it has no storage_data");
    while (pickle_next(d->f.pickle, storage, &walk, &index, &info)) {
        if (!object_is(index, "MetadataIndex") || !object_is(info, "_StorageInfo"))
            return dcp_bad(d, "storage_data has an entry of another kind");
        const struct dcp_key *key = find_key(d, object_attribute(d->f.pickle, index, "fqn"));
        if (!number_file(d, info, &file))
            return false;
        if (!key || !key->selected)
            continue;
        struct dcp_place *place = array_grow(d->place, d->nplaces, &d->room_places, sizeof *place, d->err);
        if (!place)
            return false;
        d->place = place;
        place[d->nplaces++] = (struct dcp_place){ .key = (uint32_t)(key - d->key), .file = file, .info = info,
            .offset = object_attribute(d->f.pickle, index, "offset") };
    }
    return true;
}

/* Returns the items of a torch.Size or a tuple; *n of them. */
static struct pickle_value *const *
items_of(const struct pickle_value *v, uint32_t *n)
{
    *n = 0;
    if (v && v->kind == PICKLE_CALL && pickle_role(v) == GLOBAL_SIZE && v->of.item[1]->n == 1)
        v = v->of.item[1]->of.item[0];
    if (!v || v->kind != PICKLE_TUPLE)
        return NULL;
    *n = v->n;
    return v->of.item;
}

static int
compare_places(const void *a, const void *b)
{
    const struct dcp_place *x = a, *y = b;
    uint32_t nx, ny;
    struct pickle_value *const *p = items_of(x->offset, &nx), *const *q = items_of(y->offset, &ny);
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    for (uint32_t i = 0; i < nx && i < ny; i++)
        if (p[i]->of.integer != q[i]->of.integer)
            return p[i]->of.integer < q[i]->of.integer ? -1 : 1;
    return (nx > ny) - (nx < ny);
}

/* --- chunks */

static bool
chunk_bad(const struct dcp *d, const char *key, const struct source *src, const char *what)
{
    err_set(d->err, ERR_MALFORMED, ERR_TENSOR "%s", key, what);
    return err_in_file(d->err, src ? source_name(src) : d->file);
}

/* A chunk: its box, and the bytes of its archive. */
struct dcp_chunk {
    uint64_t from[LAYOUT_RANK], size[LAYOUT_RANK], at, nbytes;
    uint32_t rank, file;
    const char *key;            /* escaped */
    enum dtype dtype;
};

/* Reads the header of its archive and adds its tile. */
static bool
add_chunk(struct dcp *d, const struct dcp_chunk *c)
{
    struct source *whole = d->s->src[c->file], *src = NULL;
    struct budget budget = { .limits = *catalog_limits(d->s->catalog) };
    struct torch_file f = { 0 };
    struct torch_tensor t;
    uint64_t end;
    if (!num_add(&end, c->at, c->nbytes) || end > source_size(whole)) {
        err_set(d->err, ERR_MALFORMED, ERR_TENSOR "truncated: bytes %" PRIu64 " to %" PRIu64 " are needed, but the file has %" PRIu64,
            c->key, c->at, c->at + c->nbytes, source_size(whole));
        return err_in_file(d->err, source_name(whole));
    }
    bool ok = source_within(&src, whole, c->at, c->nbytes, source_name(whole), d->err)
        && torch_file_open(&f, src, d->s->how, &budget, d->err)
        && torch_file_checks(&f, d->s->catalog, c->file, c->at, d->err) && torch_file_tensor(&f, f.root, c->key, &t, d->err);
    if (ok && (t.rank != c->rank || memcmp(t.shape, c->size, c->rank * sizeof *c->size) != 0))
        ok = chunk_bad(d, c->key, whole, "a stored chunk has another shape than .metadata declares");
    if (ok && t.dtype != c->dtype)
        ok = chunk_bad(d, c->key, whole, "a stored chunk has another type than .metadata declares");
    if (ok) {
        const struct mosaic_tile tile = { .from = c->from, .size = c->size, .layout = &t.layout, .at = c->at + t.at, .file = c->file };
        ok = mosaic_add(d->s->mosaic, &tile, d->err);
    } else {
        err_in_file(d->err, source_name(whole));
    }
    torch_file_clear(&f);
    source_close(src);
    return ok;
}

/* Reads where a chunk is stored. */
static bool
read_info(struct dcp *d, struct dcp_chunk *c, const struct dcp_place *place)
{
    const struct pickle *k = d->f.pickle;
    const struct pickle_value *info = place->info, *at = object_attribute(k, info, "offset"),
        *length = object_attribute(k, info, "length"), *made = object_attribute(k, info, "transform_descriptors");
    char shown[PICKLE_SHOWN];
    struct pickle_walk walk = { 0 };
    struct pickle_value *key, *word;
    if (made && made->kind != PICKLE_NONE && made->n != 0) {
        bool first = pickle_next(k, made, &walk, &key, &word) && word->kind == PICKLE_TEXT;
        err_set(d->err, ERR_UNSUPPORTED, ERR_TENSOR "its chunks are transformed (%s), which is not supported", c->key,
            first ? pickle_quoted(shown, word->of.text, word->n) : "unknown");
        return err_in_file(d->err, d->file);
    }
    if (place->file == UINT32_MAX || !at || !object_count(at, &c->at) || !length || !object_count(length, &c->nbytes))
        return chunk_bad(d, c->key, NULL, "storage_data has no name of a file in this directory with an offset and a length");
    return sharded_open(d->s, d->files.name[place->file], &c->file, d->err);
}

static bool
read_chunk(struct dcp *d, const struct dcp_key *key, struct dcp_chunk *c, const struct pickle_value *chunk, bool *empty)
{
    const struct pickle *k = d->f.pickle;
    const struct pickle_value *from = object_attribute(k, chunk, "offsets"), *size = object_attribute(k, chunk, "sizes");
    uint32_t rank = 0, sizes = 0;
    if (!from || !size || !object_counts(k, from, c->from, &rank) || !object_counts(k, size, c->size, &sizes) || rank != c->rank
        || sizes != c->rank)
        return chunk_bad(d, c->key, NULL, "a chunk has other dimensions than the tensor");
    *empty = false;
    for (uint32_t i = 0; i < rank; i++)
        *empty = *empty || c->size[i] == 0;
    const struct dcp_place want = { .key = (uint32_t)(key - d->key), .offset = from }, *place = NULL;
    if (!*empty && d->nplaces != 0)
        place = bsearch(&want, d->place, d->nplaces, sizeof *place, compare_places);
    return *empty || (place ? read_info(d, c, place) : chunk_bad(d, c->key, NULL, "storage_data does not have one of its chunks"));
}

/* Returns the type that the metadata of a tensor name, or NULL. */
static const struct pickle_value *
type_of(const struct dcp *d, const struct pickle_value *meta)
{
    const struct pickle_value *properties = object_attribute(d->f.pickle, meta, "properties"), *state = NULL;
    if (properties)
        state = object_state(d->f.pickle, properties);
    if (!state || state->kind != PICKLE_TUPLE || state->n < 5 || state->of.item[0]->kind != PICKLE_GLOBAL
        || state->of.item[0]->of.name->facts.role != GLOBAL_DTYPE)
        return NULL;
    return state->of.item[0];
}

static bool
read_dtype(struct dcp *d, struct dcp_chunk *c, const struct pickle_value *meta)
{
    const struct pickle_value *type = type_of(d, meta);
    char shown[PICKLE_SHOWN];
    if (!type)
        return chunk_bad(d, c->key, NULL, "it has no type");
    c->dtype = type->of.name->facts.type->dtype;
    return c->dtype != DTYPE_UNKNOWN || err_set(d->err, ERR_UNSUPPORTED, ERR_TENSOR "type %s is not supported", c->key,
        pickle_shown(shown, type));
}

uint64_t
dcp_nbytes(const struct dcp *d, const struct dcp_key *key)
{
    const struct pickle_value *type = type_of(d, key->meta), *size = object_attribute(d->f.pickle, key->meta, "size");
    uint64_t shape[LAYOUT_RANK], n;
    uint32_t rank;
    if (!type || !size || !object_counts(d->f.pickle, size, shape, &rank))
        return 0;
    n = type->of.name->facts.type->item;
    for (uint32_t i = 0; i < rank; i++)
        if (!num_mul(&n, n, shape[i]))
            return 0;
    return n;
}

static bool
add_tensor(struct dcp *d, const struct dcp_key *key, struct str *name)
{
    const struct pickle *k = d->f.pickle;
    char shown[STR_SHOWN];
    uint64_t shape[LAYOUT_RANK];
    struct dcp_chunk c = { .key = str_shown(shown, (const char *)key->name->of.text, key->name->n) };
    const struct pickle_value *size = object_attribute(k, key->meta, "size"), *chunks = object_attribute(k, key->meta, "chunks");
    if (!size || !object_counts(k, size, shape, &c.rank) || !chunks || (chunks->kind != PICKLE_LIST && chunks->kind != PICKLE_TUPLE))
        return chunk_bad(d, c.key, NULL, "it has no size or no chunks");
    name->len = 0;
    dcp_name(d, key, name);
    if (name->failed)
        return err_memory(d->err, name->room);
    const struct mosaic_tensor t = { .name = name->p, .name_len = (uint32_t)name->len, .shown = c.key, .grid = shape, .axes = c.rank };
    struct mosaic_tensor tensor = t;
    bool ok = read_dtype(d, &c, key->meta);
    tensor.dtype = c.dtype;
    ok = ok && mosaic_begin(d->s->mosaic, &tensor, d->err);
    struct pickle_walk walk = { 0 };
    struct pickle_value *ignored, *chunk;
    while (ok && pickle_next(k, chunks, &walk, &ignored, &chunk)) {
        bool empty = false;
        ok = read_chunk(d, key, &c, chunk, &empty) && (empty || add_chunk(d, &c));
    }
    return (ok && mosaic_end(d->s->mosaic, d->err)) || err_in_file(d->err, d->file);
}

/* --- the checkpoint */

/* Checks that all files of the selected chunks are there, and warns of files that no tensor is in. */
static bool
check_files(struct dcp *d)
{
    struct names files = { 0 };
    const char *first = NULL;
    uint32_t n = 0, file;
    bool ok = true, *used = calloc(d->files.n + 1, sizeof *used);
    for (size_t i = 0; used && i < d->nplaces; i++)
        if (d->place[i].file != UINT32_MAX)
            used[d->place[i].file] = true;
    for (size_t i = 0; used && ok && i < d->files.n; i++)
        if (used[i])
            ok = names_add(&files, d->files.name[i], strlen(d->files.name[i]), d->err);
    free(used);
    names_sort(&files);
    ok = (used || err_memory(d->err, d->files.n)) && ok && sharded_check_files(d->s, &files, d->err);
    names_clear(&files);
    for (size_t i = 0; ok && i < d->s->names.n; i++) {
        const char *name = d->s->names.name[i];
        if (dcp_file_rank(name, &d->s->ranks) && !table_find(&d->by_name, name_of_file, d, name, strlen(name), &file) && n++ == 0)
            first = name;
    }
    char shown[STR_SHOWN];
    if (n != 0)
        catalog_warn(d->s->catalog, ".metadata does not list %" PRIu32 " of the .distcp files (the first is %s): they are of another save, or "
            "hold no tensors", n, str_shown(shown, first, strlen(first)));
    return ok;
}

static bool
read_root(struct dcp *d, const uint8_t *bytes, size_t n)
{
    const struct pickle_value *root, *tensors = NULL;
    if (n == 0 || bytes[0] != 0x80)
        return dcp_bad(d, "not a pickle, as torch.distributed.checkpoint writes it");
    if (!torch_file_bare(&d->f, bytes, n, d->s->how, catalog_budget(d->s->catalog), d->err))
        return err_in_file(d->err, d->file);
    root = d->f.root;
    if (object_is(root, "Metadata")) {
        tensors = object_attribute(d->f.pickle, root, "state_dict_metadata");
        if (!tensors) {
            err_set(d->err, ERR_UNSUPPORTED, "a distributed checkpoint (DCP) whose Metadata has no state_dict_metadata: a form of "
                "torch.distributed that is not known");
            return err_in_file(d->err, d->file);
        }
    }
    if (!tensors || tensors->kind != PICKLE_DICT)
        return dcp_bad(d, "the pickle does not describe a checkpoint");
    struct pickle_walk walk = { 0 };
    struct pickle_value *name, *meta;
    while (pickle_next(d->f.pickle, tensors, &walk, &name, &meta))
        if (!add_key(d, name, meta))
            return false;
    return read_paths(d, object_attribute(d->f.pickle, root, "planner_data")) && dcp_select(d)
        && read_places(d, object_attribute(d->f.pickle, root, "storage_data"));
}

static bool
dcp_read(struct sharded *s, struct err *err)
{
    struct dcp d = { .s = s, .err = err };
    struct str name = { 0 };
    uint8_t *bytes = NULL;
    size_t n = 0;
    str_format(&name, "%s/.metadata", s->dir);
    snprintf(d.file, sizeof d.file, "%s", name.failed ? ".metadata" : name.p);
    bool ok = sharded_load(s, ".metadata", PICKLE_MAX, &bytes, &n, err) && read_root(&d, bytes, n);
    if (ok)
        array_sort(d.place, d.nplaces, sizeof *d.place, compare_places);
    ok = ok && check_files(&d);
    for (size_t i = 0; ok && i < d.nkeys; i++)
        if (d.key[i].selected)
            ok = add_tensor(&d, &d.key[i], &name);
    torch_file_clear(&d.f);
    table_clear(&d.table);
    table_clear(&d.by_name);
    names_clear(&d.files);
    str_clear(&name);
    free(d.key);
    free(d.place);
    free(bytes);
    return ok;
}

const struct sharded_format sharded_dcp = { .kind = "dcp", .all = true, .root = true, .probe = dcp_probe, .read = dcp_read };

/* --- without .metadata */

static bool
incomplete_probe(const struct sharded *s)
{
    uint64_t ranks = 0;
    bool found = false;
    for (size_t i = 0; i < s->names.n; i++)
        found = found || dcp_file_rank(s->names.name[i], &ranks);
    return found;
}

static bool
incomplete_read(struct sharded *s, struct err *err)
{
    char shown[STR_SHOWN];
    for (size_t i = 0; i < s->names.n; i++) {
        const char *name = s->names.name[i];
        if (strncmp(name, "__", 2) == 0 && str_ends(name, ".metadata"))
            return err_set(err, ERR_UNSUPPORTED, "each rank has metadata of its own (%s): a checkpoint that was saved without "
                "coordination is not supported", str_shown(shown, name, strlen(name)));
    }
    return err_set(err, ERR_OPEN, "a file of the checkpoint is missing: .metadata, which is written last (the save did not finish, or the "
        "copy left out hidden files)");
}

const struct sharded_format sharded_dcp_incomplete = { .kind = "dcp", .all = true, .root = true, .probe = incomplete_probe,
    .read = incomplete_read };
