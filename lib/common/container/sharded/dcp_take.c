/* The objects of .metadata, each taken over when the pickle has built it. A checkpoint of 700 tensors on 64 ranks with Adam has half a
 * million of them: as values of the pickle they would take 2 KB a chunk. A selected chunk becomes a tile, and its place is stored in
 * that. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"
#include "container/sharded/dcp_priv.h"
#include "container/torch/objects.h"

/* --- chunks */

static bool
add_box(struct dcp *d, const uint64_t *word, uint32_t n)
{
    struct dcp_chunks *c = &d->chunks;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t *box = array_grow(c->box, c->nbox, &c->room, sizeof *box, d->err);
        if (!box)
            return false;
        c->box = box;
        box[c->nbox++] = word[i];
    }
    return budget_bytes(catalog_budget(d->s->catalog), n * sizeof *word, "chunks", d->err);
}

static bool
take_chunk(struct dcp *d, const struct pickle *k, const struct pickle_value *chunk, int64_t *number)
{
    struct dcp_chunks *c = &d->chunks;
    *number = (int64_t)c->n++;
    if (!d->second)
        return true;
    const struct pickle_value *from = object_attribute(k, chunk, "offsets"), *size = object_attribute(k, chunk, "sizes");
    uint64_t box[2 * LAYOUT_RANK];
    uint32_t rank = 0, sizes = 0;
    if (!from || !size || !object_counts(k, from, box, &rank) || !object_counts(k, size, box + rank, &sizes) || rank != sizes
        || (c->n > 1 && rank != c->rank))
        c->bad = true;
    c->rank = rank;
    return c->bad || add_box(d, box, 2 * rank);
}

bool
dcp_take_item(void *of, const struct pickle_value *item, struct err *err)
{
    struct dcp_chunks *c = &((struct dcp *)of)->chunks;
    (void)err;
    if (dcp_is(item, DCP_CHUNK))
        c->bad = c->bad || dcp_index(item) != c->listed++;
    return true;
}

/* Adds the chunks that were read as the tiles of a selected tensor. */
static bool
add_tiles(struct dcp *d, const struct dcp_tensor *t, struct dcp_key *key)
{
    const struct dcp_chunks *c = &d->chunks;
    const struct mosaic_tensor tensor = { .name = key->output, .name_len = (uint32_t)key->output_len, .shown = key->shown,
        .dtype = t->type->dtype, .grid = d->word + t->shape, .axes = t->rank };
    bool ok = mosaic_begin(d->s->mosaic, &tensor, d->err);
    for (size_t i = 0; ok && i < c->n; i++) {
        const uint64_t *box = c->box + 2 * (size_t)t->rank * i;
        const struct mosaic_tile tile = { .from = box, .size = box + t->rank, .file = MOSAIC_LATER };
        ok = mosaic_add(d->s->mosaic, &tile, d->err);
    }
    key->placed = d->placed++;
    return (ok && mosaic_end(d->s->mosaic, d->err)) || err_in_file(d->err, d->file);
}

/* --- tensors */

/* Finds the type of a tensor, and copies the name of one that amn does not know. */
static bool
find_type(struct dcp *d, struct dcp_tensor *t, const struct pickle *k, const struct pickle_value *properties)
{
    const struct pickle_value *state = NULL, *type;
    char shown[PICKLE_SHOWN], *copy;
    t->bad = "it has no type";
    if (properties)
        state = object_state(k, properties);
    if (!state || state->kind != PICKLE_TUPLE || state->n < 5)
        return true;
    type = state->of.item[0];
    if (type->kind != PICKLE_GLOBAL || type->of.name->facts.role != GLOBAL_DTYPE)
        return true;
    t->bad = NULL;
    t->type = type->of.name->facts.type;
    if (t->type->dtype != DTYPE_UNKNOWN)
        return true;
    pickle_shown(shown, type);
    copy = catalog_alloc(d->s->catalog, strlen(shown) + 1, d->err);
    if (copy)
        t->unknown = strcpy(copy, shown);
    return copy != NULL;
}

/* Returns what is wrong with the chunks of a tensor, or NULL. */
static const char *
check_chunks(const struct dcp *d, const struct dcp_tensor *t, const struct pickle_value *chunks)
{
    const struct dcp_chunks *c = &d->chunks;
    if (!chunks || chunks->kind != PICKLE_LIST)
        return "it has no size or no chunks";
    if (c->bad || chunks->n != 0 || c->n != c->listed || (d->second && c->n != 0 && c->rank != t->rank))
        return "a chunk has other dimensions than the tensor";
    return NULL;
}

static bool
add_tensor(struct dcp *d, const struct pickle *k, const struct pickle_value *meta)
{
    const struct pickle_value *size = object_attribute(k, meta, "size");
    uint64_t shape[LAYOUT_RANK];
    struct dcp_tensor t = { .key = DCP_NOWHERE, .nchunks = d->chunks.n, .shape = d->nwords };
    if (!size || !object_counts(k, size, shape, &t.rank))
        t.bad = "it has no size or no chunks";
    if (!t.bad && !find_type(d, &t, k, object_attribute(k, meta, "properties")))
        return false;
    for (uint32_t i = 0; !t.bad && i < t.rank; i++) {
        uint64_t *words = array_grow(d->word, d->nwords, &d->room_words, sizeof *words, d->err);
        if (!words)
            return false;
        d->word = words;
        words[d->nwords++] = shape[i];
    }
    struct dcp_tensor *list = NULL;
    if (budget_bytes(catalog_budget(d->s->catalog), sizeof *list + t.rank * sizeof *shape, "tensors", d->err))
        list = array_grow(d->tensor, d->ntensors, &d->room_tensors, sizeof *list, d->err);
    if (!list)
        return false;
    d->tensor = list;
    list[d->ntensors++] = t;
    return true;
}

/* In the second pass: adds the tiles of tensor i if it is selected. */
static bool
read_tensor(struct dcp *d, size_t i, const struct pickle *k, const struct pickle_value *meta)
{
    if (i >= d->ntensors || d->tensor[i].key == DCP_NOWHERE)
        return true;
    const struct dcp_tensor *t = &d->tensor[i];
    struct dcp_key *key = &d->key[t->key];
    const char *bad = t->bad;
    if (!bad)
        bad = check_chunks(d, t, object_attribute(k, meta, "chunks"));
    if (bad)
        return dcp_bad_tensor(d, key->shown, NULL, bad);
    if (t->unknown)
        return err_set(d->err, ERR_UNSUPPORTED, ERR_TENSOR "type %s is not supported", key->shown, t->unknown);
    return add_tiles(d, t, key);
}

static bool
take_tensor(struct dcp *d, const struct pickle *k, const struct pickle_value *meta, int64_t *number)
{
    *number = (int64_t)d->tensors_read++;
    bool ok = d->second ? read_tensor(d, (size_t)*number, k, meta) : add_tensor(d, k, meta);
    d->chunks = (struct dcp_chunks){ .box = d->chunks.box, .room = d->chunks.room };
    return ok;
}

/* --- places */

static const char *
name_of_file(const void *of, uint32_t i, size_t *n)
{
    const char *name = ((const struct dcp *)of)->files.name[i];
    *n = strlen(name);
    return name;
}

bool
dcp_file_find(const struct dcp *d, const char *name, uint32_t *file)
{
    return table_find(&d->by_name, name_of_file, d, name, strlen(name), file);
}

/* Numbers the file of a chunk; DCP_NO_FILE if no file of the directory can have this name. */
static bool
number_file(struct dcp *d, const struct pickle_value *path, uint32_t *file)
{
    bool again;
    *file = DCP_NO_FILE;
    if (!path || path->kind != PICKLE_TEXT || !sharded_is_component((const char *)path->of.text, path->n))
        return true;
    *file = (uint32_t)d->files.n;
    return table_find(&d->by_name, name_of_file, d, (const char *)path->of.text, path->n, file)
        || (names_add(&d->files, (const char *)path->of.text, path->n, d->err)
            && table_add(&d->by_name, name_of_file, d, (const char *)path->of.text, path->n, file, &again, d->err));
}

static bool
take_info(struct dcp *d, const struct pickle *k, const struct pickle_value *info, int64_t *number)
{
    struct dcp_info own = { 0 }, *list;
    const struct pickle_value *at = object_attribute(k, info, "offset"), *length = object_attribute(k, info, "length"),
        *made = object_attribute(k, info, "transform_descriptors");
    struct pickle_walk walk = { 0 };
    struct pickle_value *key, *word;
    if (!d->second)
        return true;
    if (!number_file(d, object_attribute(k, info, "relative_path"), &own.file))
        return false;
    if (!at || !object_count(at, &own.at) || !length || !object_count(length, &own.nbytes))
        own.file = DCP_NO_FILE;
    if (made && made->kind != PICKLE_NONE && made->n != 0) {
        bool first = pickle_next(k, made, &walk, &key, &word) && word->kind == PICKLE_TEXT;
        own.file = DCP_TRANSFORMED;
        if (first)
            pickle_quoted(d->transform, word->of.text, word->n);
        else
            strcpy(d->transform, "unknown");
    }
    if (d->infos_left == 0) {
        d->infos_gone += d->ninfos;
        d->ninfos = 0;
    }
    list = array_grow(d->info, d->ninfos, &d->room_infos, sizeof *list, d->err);
    if (!list)
        return false;
    d->info = list;
    *number = (int64_t)(d->infos_gone + d->ninfos);
    list[d->ninfos++] = own;
    d->infos_left++;
    return budget_bytes(catalog_budget(d->s->catalog), sizeof *list, "chunks", d->err);
}

/* An index becomes 1 + the number of its tile, or 0 if that is not needed. */
static bool
take_index(struct dcp *d, const struct pickle *k, const struct pickle_value *index, int64_t *number)
{
    if (!d->second)
        return true;
    const struct pickle_value *name = object_attribute(k, index, "fqn"), *offset = object_attribute(k, index, "offset");
    const struct dcp_key *key = NULL;
    uint64_t from[LAYOUT_RANK];
    uint32_t rank = 0;
    size_t tile;
    if (name && name->kind == PICKLE_TEXT)
        key = dcp_find_key(d, name->of.text, name->n);
    if (!key || !key->selected || !offset || !object_counts(k, offset, from, &rank) || rank != d->tensor[key->tensor].rank)
        return true;
    if (key->placed == DCP_NOWHERE)
        return dcp_bad(d, "storage_data comes before state_dict_metadata");
    if (mosaic_find(d->s->mosaic, key->placed, from, &tile))
        *number = (int64_t)tile + 1;
    return true;
}

/* An entry of all_local_plans, which Megatron adds and nothing needs. */
static bool
take_plan(struct dcp *d, const struct pickle *k, const struct pickle_value *plan, int64_t *number)
{
    (void)d, (void)k, (void)plan, (void)number;
    return true;
}

/* --- the pickle */

static const struct {
    const char *name;
    bool (*take)(struct dcp *d, const struct pickle *k, const struct pickle_value *v, int64_t *number);
} classes[DCP_KINDS] = {
    [DCP_CHUNK] = { .name = "ChunkStorageMetadata", .take = take_chunk },
    [DCP_TENSOR] = { .name = "TensorStorageMetadata", .take = take_tensor },
    [DCP_INDEX] = { .name = "MetadataIndex", .take = take_index },
    [DCP_INFO] = { .name = "_StorageInfo", .take = take_info },
    [DCP_PLAN] = { .name = "WriteItem", .take = take_plan },
};

bool
dcp_take_object(void *of, const struct pickle *k, const struct pickle_value *object, int64_t *number, bool *taken, struct err *err)
{
    struct dcp *d = of;
    int kind = 0;
    (void)err;                  /* d->err */
    while (kind < DCP_KINDS && !object_is(object, classes[kind].name))
        kind++;
    *taken = kind < DCP_KINDS;
    *number = 0;
    if (*taken && !classes[kind].take(d, k, object, number))
        return false;
    *number = *number * DCP_KINDS + kind;
    return true;
}

/* Marks a file as one that is read. */
static bool
use_file(struct dcp *d, uint32_t file)
{
    while (file >= d->room_used) {
        size_t before = d->room_used;
        bool *used = array_grow(d->used, before, &d->room_used, sizeof *used, d->err);
        if (!used)
            return false;
        d->used = used;
        memset(used + before, 0, (d->room_used - before) * sizeof *used);
    }
    d->used[file] = true;
    return true;
}

bool
dcp_take_pair(void *of, const struct pickle_value *key, const struct pickle_value *value, struct err *err)
{
    struct dcp *d = of;
    (void)err;                  /* d->err */
    if (!dcp_is(key, DCP_INDEX) || !dcp_is(value, DCP_INFO))
        return dcp_bad(d, "storage_data has an entry of another kind");
    if (!d->second)
        return true;
    size_t tile = dcp_index(key), i = dcp_index(value) - d->infos_gone;
    if (dcp_index(value) < d->infos_gone || i >= d->ninfos)
        return dcp_bad(d, "storage_data has a place twice");
    struct dcp_info *info = &d->info[i];
    const struct mosaic_range range = { .at = info->at, .nbytes = info->nbytes, .file = info->file };
    d->infos_left -= !info->paired;
    info->paired = true;
    if (tile == 0)
        return true;
    if (mosaic_range(d->s->mosaic, tile - 1).file != MOSAIC_LATER)
        return dcp_bad(d, "storage_data has a chunk twice");
    mosaic_set_range(d->s->mosaic, tile - 1, &range);
    return range.file >= DCP_NO_FILE || use_file(d, range.file);
}

void
dcp_clear(struct dcp *d)
{
    free(d->key);
    free(d->tensor);
    free(d->word);
    free(d->chunks.box);
    free(d->info);
    free(d->used);
    table_clear(&d->table);
    table_clear(&d->by_name);
    names_clear(&d->files);
}
