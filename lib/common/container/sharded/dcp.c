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

bool
dcp_bad(const struct dcp *d, const char *what)
{
    err_set(d->err, ERR_MALFORMED, "%s", what);
    return err_in_file(d->err, d->file);
}

bool
dcp_bad_tensor(const struct dcp *d, const char *key, const struct source *src, const char *what)
{
    err_set(d->err, ERR_MALFORMED, ERR_TENSOR "%s", key, what);
    return err_in_file(d->err, src ? source_name(src) : d->file);
}

static const char *
name_of_key(const void *of, uint32_t i, size_t *n)
{
    const struct dcp *d = of;
    const struct dcp_key *key = &d->key[i];
    if (d->second) {
        *n = key->full_len;
        return key->full;
    }
    *n = key->name->n;
    return (const char *)key->name->of.text;
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
    key[d->nkeys++] = (struct dcp_key){ .name = name, .tensor = tensor ? dcp_index(meta) : DCP_BYTES, .placed = DCP_NOWHERE };
    d->others += !tensor;
    return table_add(&d->table, name_of_key, d, (const char *)name->of.text, name->n, &i, &again, d->err);
}

struct dcp_key *
dcp_find_key(const struct dcp *d, const uint8_t *name, size_t n)
{
    uint32_t i;
    if (!table_find(&d->table, name_of_key, d, (const char *)name, n, &i))
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
            key = dcp_find_key(d, name->of.text, name->n);
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

/* --- chunks */

/* A chunk: its tile, and the bytes of its archive. */
struct dcp_chunk {
    const struct dcp_key *key;
    const uint64_t *size;
    size_t tile;
    uint64_t at, nbytes;
    uint32_t file;
};

/* Gives the tile of a chunk its place: the tensor of an archive. */
static bool
settle(struct dcp *d, const struct dcp_chunk *c, const struct torch_file *f, const struct torch_tensor *t)
{
    const struct checkpoint_storage *storage = f->storages.nstorages == 1 ? &f->storages.storage[0] : NULL;
    struct mosaic_tile place = { .layout = &t->layout, .at = c->at + t->at, .file = c->file };
    if (storage && storage->at == t->at && storage->nbytes == t->nbytes && layout_is_plain(&t->layout))
        place.crc = storage->crc;
    return (place.crc != 0 || torch_file_checks(f, d->s->catalog, c->file, c->at, d->err))
        && mosaic_settle(d->s->mosaic, c->tile, &place, d->err);
}

/* Reads the header of its archive. */
static bool
open_chunk(struct dcp *d, const struct dcp_chunk *c)
{
    struct source *whole = d->s->src[c->file], *src = NULL;
    struct budget budget = { .limits = *catalog_limits(d->s->catalog) };
    const struct dcp_tensor *meta = &d->tensor[c->key->tensor];
    const char *shown = c->key->shown;
    struct torch_file f = { 0 };
    struct torch_tensor t;
    uint64_t end;
    if (!num_add(&end, c->at, c->nbytes) || end > source_size(whole)) {
        err_set(d->err, ERR_MALFORMED, ERR_TENSOR "truncated: bytes %" PRIu64 " to %" PRIu64 " are needed, but the file has %" PRIu64,
            shown, c->at, c->at + c->nbytes, source_size(whole));
        return err_in_file(d->err, source_name(whole));
    }
    bool ok = source_within(&src, whole, c->at, c->nbytes, source_name(whole), d->err)
        && torch_file_open(&f, src, d->s->how, &budget, d->err) && torch_file_tensor(&f, f.root, shown, &t, d->err);
    if (ok && (t.rank != meta->rank || memcmp(t.shape, c->size, t.rank * sizeof *c->size) != 0))
        ok = dcp_bad_tensor(d, shown, whole, "a stored chunk has another shape than .metadata declares");
    if (ok && t.dtype != meta->type->dtype)
        ok = dcp_bad_tensor(d, shown, whole, "a stored chunk has another type than .metadata declares");
    ok = (ok && settle(d, c, &f, &t)) || err_in_file(d->err, source_name(whole));
    torch_file_clear(&f);
    source_close(src);
    return ok;
}

/* Opens a chunk, whose tile has the range that storage_data tells. */
static bool
read_chunk(struct dcp *d, struct dcp_chunk *c)
{
    const struct mosaic_range range = mosaic_range(d->s->mosaic, c->tile);
    if (range.file == MOSAIC_LATER)
        return dcp_bad_tensor(d, c->key->shown, NULL, "storage_data does not have one of its chunks");
    if (range.file == DCP_TRANSFORMED) {
        err_set(d->err, ERR_UNSUPPORTED, ERR_TENSOR "its chunks are transformed (%s), which is not supported", c->key->shown, d->transform);
        return err_in_file(d->err, d->file);
    }
    if (range.file == DCP_NO_FILE)
        return dcp_bad_tensor(d, c->key->shown, NULL, "storage_data has no name of a file in this directory with an offset and a length");
    c->at = range.at;
    c->nbytes = range.nbytes;
    return sharded_open(d->s, d->files.name[range.file], &c->file, d->err) && open_chunk(d, c);
}

static bool
read_chunks(struct dcp *d, const struct dcp_key *key)
{
    struct mosaic_walk walk = { 0 };
    bool ok = true;
    while (ok && mosaic_walk(d->s->mosaic, key->placed, &walk)) {
        struct dcp_chunk c = { .key = key, .size = walk.size, .tile = walk.tile };
        ok = read_chunk(d, &c);
    }
    return ok;
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

/* Opens all files of the selected chunks, in the order of storage_data, and warns of files without a tensor. */
static bool
open_files(struct dcp *d)
{
    struct names files = { 0 };
    const char *first = NULL;
    uint32_t n = 0, file;
    bool ok = true;
    for (size_t i = 0; ok && i < d->files.n; i++)
        if (i < d->room_used && d->used[i])
            ok = names_add(&files, d->files.name[i], strlen(d->files.name[i]), d->err);
    names_sort(&files);
    ok = ok && sharded_check_files(d->s, &files, d->err);
    names_clear(&files);
    for (size_t i = 0; ok && i < d->files.n; i++)
        if (i < d->room_used && d->used[i])
            ok = sharded_open(d->s, d->files.name[i], &file, d->err);
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

/* Names the selected tensors, so that the pickle can be freed, and tells their metadata which key they have. */
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
        if (d->tensor[key->tensor].key != DCP_NOWHERE)
            ok = dcp_bad(d, "state_dict_metadata has one description for two tensors");
        d->tensor[key->tensor].key = (uint32_t)i;
        name.len = 0;
        dcp_name(d, key, &name);
        str_shown(shown, (const char *)key->name->of.text, key->name->n);
        ok = ok && (!name.failed || err_memory(d->err, name.room));
        if (ok) {
            key->output = copy_name(d, str_or(name.p, ""), name.len);
            key->output_len = name.len;
            key->shown = copy_name(d, shown, strlen(shown));
            key->full = copy_name(d, (const char *)key->name->of.text, key->name->n);
            key->full_len = key->name->n;
        }
        ok = ok && key->output && key->shown && key->full;
    }
    str_clear(&name);
    return ok;
}

/* --- the two passes */

static bool
run_metadata(struct dcp *d, struct source *src)
{
    const struct pickle_taker taker = { .object = dcp_take_object, .pair = dcp_take_pair, .item = dcp_take_item, .of = d };
    d->tensors_read = 0;
    return torch_file_taken(&d->f, src, d->s->how, &taker, catalog_budget(d->s->catalog), d->err) || err_in_file(d->err, d->file);
}

/* Reads the entries of state_dict_metadata. */
static bool
read_keys(struct dcp *d)
{
    const struct pickle_value *root = d->f.root, *tensors = NULL;
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
    return read_paths(d, object_attribute(d->f.pickle, root, "planner_data")) && dcp_select(d) && name_tensors(d);
}

/* Makes room for the tiles of the selected tensors, and a table of their names. */
static bool
begin_second(struct dcp *d)
{
    size_t tiles = 0, axes = 0;
    bool ok = true, again;
    torch_file_clear(&d->f);
    table_clear(&d->table);
    d->second = true;
    for (uint32_t i = 0; ok && i < d->nkeys; i++) {
        const struct dcp_key *key = &d->key[i];
        uint32_t number = i;
        if (!key->selected)
            continue;
        tiles += d->tensor[key->tensor].nchunks;
        axes += d->tensor[key->tensor].nchunks * d->tensor[key->tensor].rank;
        ok = table_add(&d->table, name_of_key, d, key->full, key->full_len, &number, &again, d->err);
    }
    return ok && mosaic_reserve(d->s->mosaic, tiles, axes, d->err);
}

static bool
read_metadata(struct dcp *d, struct source *src)
{
    enum { METADATA_MAX = 1 << 30 };
    uint8_t first = 0;
    if (!limits_check(source_size(src), METADATA_MAX, "bytes of .metadata", d->err)
        || (source_size(src) != 0 && !source_read(src, 0, &first, 1, d->err)))
        return err_in_file(d->err, d->file);
    if (first != 0x80)
        return dcp_bad(d, "not a pickle, as torch.distributed.checkpoint writes it");
    bool ok = run_metadata(d, src) && read_keys(d) && begin_second(d) && run_metadata(d, src) && source_unchanged(src, d->err);
    for (size_t i = 0; ok && i < d->nkeys; i++)
        if (d->key[i].selected && d->key[i].placed == DCP_NOWHERE)
            ok = dcp_bad(d, "a tensor is described once and not again");
    torch_file_clear(&d->f);
    return ok;
}

static bool
dcp_read(struct sharded *s, struct err *err)
{
    struct dcp d = { .s = s, .err = err };
    struct str name = { 0 };
    struct source *src = NULL;
    str_format(&name, "%s/.metadata", s->dir);
    snprintf(d.file, sizeof d.file, "%s", name.failed ? ".metadata" : name.p);
    d.word = array_grow(NULL, 0, &d.room_words, sizeof *d.word, err);      /* empty, but there */
    bool ok = d.word && sharded_source(s, ".metadata", &src, err) && read_metadata(&d, src) && open_files(&d);
    source_close(src);
    torch_file_clear(&d.f);
    for (size_t i = 0; ok && i < d.nkeys; i++)
        if (d.key[i].selected)
            ok = read_chunks(&d, &d.key[i]);
    dcp_clear(&d);
    str_clear(&name);
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
