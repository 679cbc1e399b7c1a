/* The objects of .metadata, each taken over when the pickle has built it. A checkpoint of 700 tensors on 64 ranks with Adam has half a
 * million of them: as values of the pickle they would take 2 KB a chunk, as numbers they take 100 bytes. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "container/sharded/dcp_priv.h"
#include "container/torch/objects.h"

static bool
add_words(struct dcp *d, const uint64_t *word, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint64_t *words = array_grow(d->word, d->nwords, &d->room_words, sizeof *words, d->err);
        if (!words)
            return false;
        d->word = words;
        words[d->nwords++] = word[i];
    }
    return budget_bytes(catalog_budget(d->s->catalog), n * sizeof *word, "chunks", d->err);
}

/* --- chunks */

/* A chunk is the index of its first word, and its rank; RANKS: it is malformed. */
enum { CHUNK_BAD = LAYOUT_RANK + 1, RANKS };

static bool
take_chunk(struct dcp *d, const struct pickle *k, const struct pickle_value *chunk, int64_t *number)
{
    const struct pickle_value *from = object_attribute(k, chunk, "offsets"), *size = object_attribute(k, chunk, "sizes");
    uint64_t box[2 * LAYOUT_RANK];
    uint32_t rank = 0, sizes = 0;
    *number = CHUNK_BAD;
    if (!from || !size || !object_counts(k, from, box, &rank) || !object_counts(k, size, box + rank, &sizes) || rank != sizes)
        return true;
    *number = (int64_t)(d->nwords * RANKS + rank);
    return add_words(d, box, 2 * rank);
}

/* Finds the chunks of a tensor, whose words follow each other. Returns what is wrong, or NULL. */
static const char *
find_chunks(struct dcp_tensor *t, const struct pickle *k, const struct pickle_value *chunks)
{
    struct pickle_walk walk = { 0 };
    struct pickle_value *key, *chunk;
    if (!chunks || (chunks->kind != PICKLE_LIST && chunks->kind != PICKLE_TUPLE))
        return "it has no size or no chunks";
    while (pickle_next(k, chunks, &walk, &key, &chunk)) {
        size_t at = dcp_index(chunk) / RANKS;
        if (t->nchunks == 0)
            t->chunks = at;
        if (!dcp_is(chunk, DCP_CHUNK) || dcp_index(chunk) % RANKS != t->rank
            || at != t->chunks + 2 * (size_t)t->rank * t->nchunks++)
            return "a chunk has other dimensions than the tensor";
    }
    return NULL;
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

static bool
take_tensor(struct dcp *d, const struct pickle *k, const struct pickle_value *meta, int64_t *number)
{
    const struct pickle_value *size = object_attribute(k, meta, "size");
    uint64_t shape[LAYOUT_RANK];
    struct dcp_tensor t = { 0 };
    if (!size || !object_counts(k, size, shape, &t.rank))
        t.bad = "it has no size or no chunks";
    if (!t.bad && !find_type(d, &t, k, object_attribute(k, meta, "properties")))
        return false;
    if (!t.bad)
        t.bad = find_chunks(&t, k, object_attribute(k, meta, "chunks"));
    t.shape = d->nwords;
    struct dcp_tensor *list = NULL;
    if (t.bad || add_words(d, shape, t.rank))
        list = array_grow(d->tensor, d->ntensors, &d->room_tensors, sizeof *list, d->err);
    if (!list)
        return false;
    d->tensor = list;
    *number = (int64_t)d->ntensors;
    list[d->ntensors++] = t;
    return true;
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
    list = array_grow(d->info, d->ninfos, &d->room_infos, sizeof *list, d->err);
    if (!list)
        return false;
    d->info = list;
    *number = (int64_t)d->ninfos;
    list[d->ninfos++] = own;
    return budget_bytes(catalog_budget(d->s->catalog), sizeof *list, "chunks", d->err);
}

/* An index is a place whose info is known when the pair is. */
static bool
take_index(struct dcp *d, const struct pickle *k, const struct pickle_value *index, int64_t *number)
{
    const struct pickle_value *name = object_attribute(k, index, "fqn"), *offset = object_attribute(k, index, "offset");
    uint64_t from[LAYOUT_RANK];
    struct dcp_place place = { .words = d->nwords, .info = DCP_NOWHERE };
    if (name && name->kind == PICKLE_TEXT) {
        place.name = name->of.text;
        place.name_len = name->n;
    }
    if (offset && !object_counts(k, offset, from, &place.rank))
        place.rank = 0;
    struct dcp_place *list = NULL;
    if (add_words(d, from, place.rank))
        list = array_grow(d->place, d->nplaces, &d->room_places, sizeof *list, d->err);
    if (!list)
        return false;
    d->place = list;
    *number = (int64_t)d->nplaces;
    list[d->nplaces++] = place;
    return budget_bytes(catalog_budget(d->s->catalog), sizeof *list, "chunks", d->err);
}

/* An entry of all_local_plans, which Megatron adds and nothing needs. */
static bool
take_plan(struct dcp *d, const struct pickle *k, const struct pickle_value *plan, int64_t *number)
{
    (void)d, (void)k, (void)plan;
    *number = 0;
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
    if (*taken && !classes[kind].take(d, k, object, number))
        return false;
    *number = *number * DCP_KINDS + kind;
    return true;
}

bool
dcp_take_pair(void *of, const struct pickle_value *key, const struct pickle_value *value, struct err *err)
{
    struct dcp *d = of;
    if (!dcp_is(key, DCP_INDEX) || !dcp_is(value, DCP_INFO))
        return err_set(err, ERR_MALFORMED, "storage_data has an entry of another kind");
    d->place[dcp_index(key)].info = (uint32_t)dcp_index(value);
    return true;
}

void
dcp_clear(struct dcp *d)
{
    free(d->place);
    free(d->info);
    free(d->tensor);
    free(d->word);
    table_clear(&d->by_name);
    names_clear(&d->files);
}
