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
    bool again = false, tensor = dcp_is(meta, DCP_TENSOR);
    uint32_t i = (uint32_t)d->nkeys;
    if (name->kind != PICKLE_TEXT || name->odd || (!tensor && !object_is(meta, "BytesStorageMetadata")))
        return dcp_bad(d, "state_dict_metadata has an entry that describes neither a tensor nor bytes");
    struct dcp_key *key = NULL;
    if (budget_items(catalog_budget(d->s->catalog), 1, "tensors", d->err))
        key = array_grow(d->key, d->nkeys, &d->room_keys, sizeof *key, d->err);
    if (!key)
        return false;
    d->key = key;
    key[d->nkeys++] = (struct dcp_key){ .name = name, .tensor = tensor ? dcp_index(meta) : DCP_BYTES };
    d->others += !tensor;
    return table_add(&d->table, name_of_key, d, (const char *)name->of.text, name->n, &i, &again, d->err);
}

/* Returns the key of this name, or NULL. */
static struct dcp_key *
find_key(const struct dcp *d, const uint8_t *name, size_t n)
{
    uint32_t i;
    if (!name || !table_find(&d->table, name_of_key, d, (const char *)name, n, &i))
        return NULL;
    return &d->key[i];
}

static bool
read_paths(struct dcp *d, const struct pickle_value *paths)
{
    struct pickle_walk walk = { 0 };
    struct pickle_value *name, *path;
    while (paths && paths->kind == PICKLE_DICT && pickle_next(d->f.pickle, paths, &walk, &name, &path)) {
        struct dcp_key *key = NULL;
        if (name->kind == PICKLE_TEXT)
            key = find_key(d, name->of.text, name->n);
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

/* Keeps the places of the chunks of selected tensors, in the order of the tensors and offsets. */
static int
compare_places(const void *a, const void *b)
{
    const struct dcp_place *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    for (uint32_t i = 0; i < x->rank; i++)
        if (x->offset[i] != y->offset[i])
            return x->offset[i] < y->offset[i] ? -1 : 1;
    return 0;
}

static bool
select_places(struct dcp *d)
{
    size_t n = 0;
    for (size_t i = 0; i < d->nplaces; i++) {
        struct dcp_place place = d->place[i];
        const struct dcp_key *key = find_key(d, place.name, place.name_len);
        if (!key || !key->selected || place.info == DCP_NOWHERE)
            continue;
        place.key = (uint32_t)(key - d->key);
        place.offset = d->word + place.words;           /* the words no longer move */
        d->place[n++] = place;
    }
    d->nplaces = n;
    array_sort(d->place, n, sizeof *d->place, compare_places);
    for (size_t i = 1; i < n; i++)
        if (compare_places(&d->place[i - 1], &d->place[i]) == 0)
            return dcp_bad(d, "storage_data has a chunk twice");
    return true;
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
    const uint64_t *from, *size;
    uint64_t at, nbytes;
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

/* Finds where a chunk is stored. */
static bool
find_place(struct dcp *d, const struct dcp_key *key, struct dcp_chunk *c)
{
    const struct dcp_place want = { .key = (uint32_t)(key - d->key), .rank = c->rank, .offset = c->from }, *place = NULL;
    if (d->nplaces != 0)
        place = bsearch(&want, d->place, d->nplaces, sizeof *place, compare_places);
    if (!place)
        return chunk_bad(d, c->key, NULL, "storage_data does not have one of its chunks");
    const struct dcp_info *info = &d->info[place->info];
    if (info->file == DCP_TRANSFORMED) {
        err_set(d->err, ERR_UNSUPPORTED, ERR_TENSOR "its chunks are transformed (%s), which is not supported", c->key, d->transform);
        return err_in_file(d->err, d->file);
    }
    if (info->file == DCP_NO_FILE)
        return chunk_bad(d, c->key, NULL, "storage_data has no name of a file in this directory with an offset and a length");
    c->at = info->at;
    c->nbytes = info->nbytes;
    return sharded_open(d->s, d->files.name[info->file], &c->file, d->err);
}

/* Adds chunk i of a tensor, unless it is empty. */
static bool
read_chunk(struct dcp *d, const struct dcp_key *key, const struct dcp_tensor *t, struct dcp_chunk *c, size_t i)
{
    bool empty = false;
    c->from = d->word + t->chunks + 2 * (size_t)t->rank * i;
    c->size = c->from + t->rank;
    for (uint32_t k = 0; k < t->rank; k++)
        empty = empty || c->size[k] == 0;
    return empty || (find_place(d, key, c) && add_chunk(d, c));
}

static bool
add_tensor(struct dcp *d, const struct dcp_key *key)
{
    const struct dcp_tensor *t = &d->tensor[key->tensor];
    struct dcp_chunk c = { .key = key->shown, .rank = t->rank };
    if (t->bad)
        return chunk_bad(d, c.key, NULL, t->bad);
    if (t->unknown)
        return err_set(d->err, ERR_UNSUPPORTED, ERR_TENSOR "type %s is not supported", c.key, t->unknown);
    c.dtype = t->type->dtype;
    const struct mosaic_tensor tensor = { .name = key->output, .name_len = (uint32_t)key->output_len, .shown = c.key, .dtype = c.dtype,
        .grid = d->word + t->shape, .axes = t->rank };
    bool ok = mosaic_begin(d->s->mosaic, &tensor, d->err);
    for (size_t i = 0; ok && i < t->nchunks; i++)
        ok = read_chunk(d, key, t, &c, i);
    return (ok && mosaic_end(d->s->mosaic, d->err)) || err_in_file(d->err, d->file);
}

uint64_t
dcp_nbytes(const struct dcp *d, const struct dcp_key *key)
{
    const struct dcp_tensor *t = &d->tensor[key->tensor];
    if (t->bad || !t->type)
        return 0;
    uint64_t n = t->type->item;
    for (uint32_t i = 0; i < t->rank; i++)
        if (!num_mul(&n, n, d->word[t->shape + i]))
            return 0;
    return n;
}

/* --- the checkpoint */

/* Checks that all files of the selected chunks are there, and warns of files without a tensor. */
static bool
check_files(struct dcp *d)
{
    struct names files = { 0 };
    const char *first = NULL;
    uint32_t n = 0, file;
    bool ok = true, *used = calloc(d->files.n + 1, sizeof *used);
    for (size_t i = 0; used && i < d->nplaces; i++)
        if (d->info[d->place[i].info].file < DCP_NO_FILE)
            used[d->info[d->place[i].info].file] = true;
    for (size_t i = 0; used && ok && i < d->files.n; i++)
        if (used[i])
            ok = names_add(&files, d->files.name[i], strlen(d->files.name[i]), d->err);
    free(used);
    names_sort(&files);
    ok = (used || err_memory(d->err, d->files.n)) && ok && sharded_check_files(d->s, &files, d->err);
    names_clear(&files);
    for (size_t i = 0; ok && i < d->s->names.n; i++) {
        const char *name = d->s->names.name[i];
        if (dcp_file_rank(name, &d->s->ranks) && !dcp_file_find(d, name, &file) && n++ == 0)
            first = name;
    }
    char shown[STR_SHOWN];
    if (n != 0)
        catalog_warn(d->s->catalog, ".metadata does not list %" PRIu32 " of the .distcp files (the first is %s)", n, str_shown(shown, first, strlen(first)));
    return ok;
}

static char *
copy_name(struct dcp *d, const char *p, size_t n)
{
    char *copy = catalog_alloc(d->s->catalog, n + 1, d->err);
    if (copy && n != 0)
        memcpy(copy, p, n);
    if (copy)
        copy[n] = '\0';
    return copy;
}

/* Names the selected tensors, so that the pickle and its text can be freed before the chunks are opened. */
static bool
name_tensors(struct dcp *d)
{
    struct str name = { 0 };
    char shown[STR_SHOWN];
    bool ok = true;
    for (size_t i = 0; ok && i < d->nkeys; i++) {
        struct dcp_key *key = &d->key[i];
        if (!key->selected)
            continue;
        name.len = 0;
        dcp_name(d, key, &name);
        str_shown(shown, (const char *)key->name->of.text, key->name->n);
        ok = !name.failed || err_memory(d->err, name.room);
        if (ok) {
            key->output = copy_name(d, str_or(name.p, ""), name.len);
            key->output_len = name.len;
            key->shown = copy_name(d, shown, strlen(shown));
        }
        ok = ok && key->output && key->shown;
    }
    str_clear(&name);
    return ok;
}

static bool
read_root(struct dcp *d, const uint8_t *bytes, size_t n)
{
    const struct pickle_value *root, *tensors = NULL;
    if (n == 0 || bytes[0] != 0x80)
        return dcp_bad(d, "not a pickle, as torch.distributed.checkpoint writes it");
    const struct pickle_taker taker = { .object = dcp_take_object, .pair = dcp_take_pair, .of = d };
    if (!torch_file_bare(&d->f, bytes, n, d->s->how, &taker, catalog_budget(d->s->catalog), d->err))
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
    const struct pickle_value *storage = object_attribute(d->f.pickle, root, "storage_data");
    if (!storage || storage->kind != PICKLE_DICT || storage->n != 0)
        return dcp_bad(d, storage && storage->kind == PICKLE_DICT ? "storage_data has an entry of another kind" : "it has no storage_data");
    if (d->others != 0)
        catalog_note(d->s->catalog, "entries that are not tensors: %" PRIu64, d->others);
    return read_paths(d, object_attribute(d->f.pickle, root, "planner_data")) && dcp_select(d) && select_places(d) && name_tensors(d);
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
    d.word = array_grow(NULL, 0, &d.room_words, sizeof *d.word, err);      /* empty, but there */
    bool ok = d.word && sharded_load(s, ".metadata", PICKLE_MAX, &bytes, &n, err) && read_root(&d, bytes, n);
    torch_file_clear(&d.f);
    free(bytes);
    ok = ok && check_files(&d);
    for (size_t i = 0; ok && i < d.nkeys; i++)
        if (d.key[i].selected)
            ok = add_tensor(&d, &d.key[i]);
    table_clear(&d.table);
    dcp_clear(&d);
    str_clear(&name);
    free(d.key);
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
