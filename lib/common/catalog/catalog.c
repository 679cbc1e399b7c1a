#include "catalog/catalog.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"
#include "base/str.h"
#include "base/table.h"
#include "base/trim.h"

enum { CHUNK = 64 << 10, LARGE = CHUNK / 8 };

/* An arena: memory that is only freed as a whole; its contents never move. */
struct catalog_chunk {
    struct catalog_chunk *next;
    size_t used, room;
    _Alignas(8) uint8_t bytes[];
};

struct catalog {
    bool lost;                          /* a remark was lost for lack of memory */
    struct budget budget;
    struct catalog_chunk *chunks;               /* the first chunk has room; large pieces have chunks of their own after it */
    struct tensor *tensors;
    size_t ntensors, room_tensors;
    struct table names;                 /* index of the tensors; empty until sealed */
    struct meta *metas;
    size_t nmetas, room_metas;
    struct table keys;
    struct catalog_remark *remarks;
    size_t nremarks, room_remarks;
    struct catalog_check *checks;
    size_t nchecks, room_checks;
    struct catalog_tiles *tiles;
    size_t ntiles, room_tiles;
    struct catalog_config config[CATALOG_CONFIGS];
    size_t nconfigs;
    struct catalog_facts facts;
};

struct catalog *
catalog_new(const struct limits *limits, struct err *err)
{
    struct catalog *c = calloc(1, sizeof *c);
    if (!c) {
        err_memory(err, sizeof *c);
        return NULL;
    }
    c->budget.limits = *limits;
    return c;
}

void
catalog_free(struct catalog *c)
{
    if (!c)
        return;
    for (struct catalog_chunk *next; c->chunks; c->chunks = next) {
        next = c->chunks->next;
        free(c->chunks);
    }
    free(c->tensors);
    table_clear(&c->names);
    table_clear(&c->keys);
    free(c->metas);
    free(c->checks);
    free(c->tiles);
    free(c->remarks);
    free(c);
}

struct budget *
catalog_budget(struct catalog *c)
{
    return &c->budget;
}

const struct limits *
catalog_limits(const struct catalog *c)
{
    return &c->budget.limits;
}

static struct catalog_chunk *
new_chunk(size_t room, struct catalog_chunk *next, struct err *err)
{
    struct catalog_chunk *chunk = malloc(sizeof *chunk + room);
    if (!chunk) {
        err_memory(err, room);
        return NULL;
    }
    *chunk = (struct catalog_chunk){ .next = next, .room = room };
    trim_coarsely(chunk, sizeof *chunk + room);
    return chunk;
}

/* Allocates n bytes aligned to `align`, a power of two up to 8. A large piece gets a chunk of its own, after the one that
 * still has room. */
static void *
catalog_take(struct catalog *c, size_t n, size_t align, struct err *err)
{
    if (!budget_bytes(&c->budget, n, "names, shapes and metadata", err))
        return NULL;
    if (c->chunks && n > LARGE) {
        struct catalog_chunk *own = new_chunk(n, c->chunks->next, err);
        if (!own)
            return NULL;
        own->used = n;
        c->chunks->next = own;
        return own->bytes;
    }
    size_t at = 0;
    if (c->chunks)
        at = (c->chunks->used + align - 1) & ~(align - 1);
    if (!c->chunks || at > c->chunks->room || n > c->chunks->room - at) {
        struct catalog_chunk *chunk = new_chunk(n > CHUNK ? n : CHUNK, c->chunks, err);
        if (!chunk)
            return NULL;
        c->chunks = chunk;
        at = 0;
    }
    c->chunks->used = at + n;
    return c->chunks->bytes + at;
}

void *
catalog_alloc(struct catalog *c, size_t n, struct err *err)
{
    return catalog_take(c, n, 8, err);
}

/* Copies n bytes and appends a NUL. */
static char *
copy_text(struct catalog *c, const char *p, size_t n, struct err *err)
{
    char *copy = catalog_take(c, n + 1, 1, err);
    if (copy) {
        if (n != 0)
            memcpy(copy, p, n);
        copy[n] = '\0';
    }
    return copy;
}

static const struct layout *
copy_layout(struct catalog *c, const struct layout *layout, struct err *err)
{
    size_t n = layout_size(layout);
    void *copy = catalog_alloc(c, n, err);
    if (copy)
        memcpy(copy, layout, n);
    return copy;
}

bool
catalog_add(struct catalog *c, const struct tensor *t, struct err *err)
{
    struct tensor *tensors = NULL;
    if (budget_bytes(&c->budget, sizeof *t, "tensors", err))
        tensors = array_grow(c->tensors, c->ntensors, &c->room_tensors, sizeof *tensors, err);
    if (!tensors)
        return false;
    c->tensors = tensors;
    struct tensor copy = *t;
    size_t n = shape_packed_len(&t->shape);
    uint8_t *packed = catalog_take(c, n, 1, err);
    if (packed)
        copy.name = copy_text(c, t->name, t->name_len, err);
    else
        copy.name = NULL;
    if (!copy.name)
        return false;
    if (n != 0)
        memcpy(packed, t->shape.packed, n);
    copy.shape.packed = packed;
    if (t->layout && !(copy.layout = copy_layout(c, t->layout, err)))
        return false;
    copy.listed = (uint32_t)c->ntensors;
    c->tensors[c->ntensors++] = copy;
    return true;
}

static const char *
name_of_key(const void *catalog, uint32_t i, size_t *n)
{
    const struct meta *m = &((const struct catalog *)catalog)->metas[i];
    *n = m->key_len;
    return m->key;
}

/* Copies what m borrows into the catalog. */
static bool
keep_meta(struct catalog *c, struct meta *m, struct err *err)
{
    size_t n;
    const void *bytes = meta_bytes(&m->value, &n);
    char *key = copy_text(c, m->key, m->key_len, err), *copy = key ? copy_text(c, bytes, n, err) : NULL;
    if (!copy)
        return false;
    m->key = key;
    meta_move(&m->value, copy);
    return true;
}

bool
catalog_add_meta(struct catalog *c, const struct meta *m, uint32_t *again, struct err *err)
{
    uint32_t i = (uint32_t)c->nmetas;
    bool there;
    struct meta *metas = NULL;
    if (budget_bytes(&c->budget, sizeof *m, "metadata keys", err))
        metas = array_grow(c->metas, c->nmetas, &c->room_metas, sizeof *metas, err);
    if (!metas)
        return false;
    c->metas = metas;
    if (!table_add(&c->keys, name_of_key, c, m->key, m->key_len, &i, &there, err))
        return false;
    *again = META_NO_FILE;
    if (there) {
        *again = metas[i].file;
        metas[i].file = m->file;
        return true;
    }
    metas[i] = *m;
    c->nmetas++;
    return keep_meta(c, &metas[i], err);
}

static int
compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int
compare_extent(const struct extent *a, const struct extent *b)
{
    int by = compare_u64(a->file, b->file);
    if (by == 0)
        by = compare_u64(a->at, b->at);
    if (by)
        return by;
    return compare_u64(a->nbytes, b->nbytes);
}

static int
compare_position(const void *pa, const void *pb)
{
    const struct tensor *a = pa, *b = pb;
    int by = compare_extent(&a->extent, &b->extent);
    if (by)
        return by;
    return compare_u64(a->listed, b->listed);
}

static int
compare_checks(const void *pa, const void *pb)
{
    const struct catalog_check *a = pa, *b = pb;
    return compare_extent(&a->extent, &b->extent);
}

void
catalog_filter(struct catalog *c, bool (*keep)(void *ctx, const struct tensor *t), void *ctx)
{
    size_t n = 0;
    for (size_t i = 0; i < c->ntensors; i++)
        if (keep(ctx, &c->tensors[i]))
            c->tensors[n++] = c->tensors[i];
    c->ntensors = n;
}

static const char *
name_of_tensor(const void *catalog, uint32_t i, size_t *n)
{
    const struct tensor *t = &((const struct catalog *)catalog)->tensors[i];
    *n = t->name_len;
    return t->name;
}

bool
catalog_seal(struct catalog *c, struct err *err)
{
    array_sort(c->tensors, c->ntensors, sizeof *c->tensors, compare_position);
    array_sort(c->checks, c->nchecks, sizeof *c->checks, compare_checks);
    size_t kept = 0;
    for (size_t i = 0; i < c->nchecks; i++)
        if (kept == 0 || compare_checks(&c->checks[kept - 1], &c->checks[i]) != 0)
            c->checks[kept++] = c->checks[i];
    c->nchecks = kept;
    if (!table_reserve(&c->names, c->ntensors, err))
        return false;
    for (uint32_t i = 0; i < c->ntensors; i++) {
        const struct tensor *t = &c->tensors[i];
        uint32_t number = i;
        bool again;
        if (!table_add(&c->names, name_of_tensor, c, t->name, t->name_len, &number, &again, err))
            return false;
        char shown[STR_SHOWN];
        if (again)
            return err_set(err, ERR_MALFORMED, ERR_TENSOR "duplicate name: two tensors of the model have "
                "it", str_shown(shown, t->name, t->name_len));
    }
    return true;
}

size_t
catalog_count(const struct catalog *c)
{
    return c->ntensors;
}

const struct tensor *
catalog_at(const struct catalog *c, size_t i)
{
    return &c->tensors[i];
}

size_t
catalog_index(const struct catalog *c, const struct tensor *t)
{
    return (size_t)(t - c->tensors);
}

const struct tensor *
catalog_find(const struct catalog *c, const char *name, size_t n)
{
    uint32_t i;
    if (table_find(&c->names, name_of_tensor, c, name, n, &i))
        return &c->tensors[i];
    return NULL;
}

size_t
catalog_meta_count(const struct catalog *c)
{
    return c->nmetas;
}

const struct meta *
catalog_meta_at(const struct catalog *c, size_t i)
{
    return &c->metas[i];
}

const struct meta *
catalog_meta_find(const struct catalog *c, const char *key)
{
    uint32_t i;
    if (table_find(&c->keys, name_of_key, c, key, strlen(key), &i))
        return &c->metas[i];
    return NULL;
}

struct catalog_facts *
catalog_facts(struct catalog *c)
{
    return &c->facts;
}

const struct catalog_facts *
catalog_facts_of(const struct catalog *c)
{
    return &c->facts;
}

bool
catalog_add_check(struct catalog *c, const struct extent *extent, uint32_t crc, struct err *err)
{
    struct catalog_check *checks = NULL;
    if (budget_bytes(&c->budget, sizeof *checks, "members", err))
        checks = array_grow(c->checks, c->nchecks, &c->room_checks, sizeof *checks, err);
    if (!checks)
        return false;
    c->checks = checks;
    checks[c->nchecks++] = (struct catalog_check){ *extent, crc };
    return true;
}

size_t
catalog_check_count(const struct catalog *c)
{
    return c->nchecks;
}

const struct catalog_check *
catalog_check_at(const struct catalog *c, size_t i)
{
    return &c->checks[i];
}

bool
catalog_add_tiles(struct catalog *c, const struct catalog_tiles *tiles, struct err *err)
{
    struct catalog_tiles *list = array_grow(c->tiles, c->ntiles, &c->room_tiles, sizeof *list, err);
    if (!list)
        return false;
    c->tiles = list;
    list[c->ntiles++] = *tiles;
    return true;
}

bool
catalog_copy_tiles(struct catalog *c, const struct catalog *of, uint32_t first, struct err *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < of->ntiles; i++) {
        struct catalog_tiles tiles = of->tiles[i];
        tiles.file += first;
        tiles.first += first;
        ok = catalog_add_tiles(c, &tiles, err);
    }
    return ok;
}

static const struct catalog_tiles *
tiles_of(const struct catalog *c, uint32_t file)
{
    for (size_t i = 0; i < c->ntiles; i++)
        if (c->tiles[i].file == file)
            return &c->tiles[i];
    return NULL;
}

bool
catalog_has_tiles(const struct catalog *c)
{
    return c->ntiles != 0;
}

bool
catalog_is_made(const struct catalog *c, uint32_t file)
{
    return tiles_of(c, file) != NULL;
}

bool
catalog_next_tile(const struct catalog *c, const struct tensor *t, uint64_t from, uint64_t to, size_t *i,
    struct catalog_tile *tile)
{
    const struct catalog_tiles *tiles = tiles_of(c, t->extent.file);
    if (!tiles || !tiles->next(tiles->of, t, from, to, i, tile))
        return false;
    tile->file += tiles->first;
    return true;
}

uint64_t
catalog_place(const struct catalog *c, const struct tensor *t, size_t i, uint64_t byte, uint64_t *run)
{
    const struct catalog_tiles *tiles = tiles_of(c, t->extent.file);
    return tiles->place(tiles->of, t, i, byte, run);
}

bool
catalog_add_config(struct catalog *c, const struct catalog_config *config, struct err *err)
{
    if (c->nconfigs == CATALOG_CONFIGS)
        return err_set(err, ERR_BUG, "too many configs: the limit is %d", CATALOG_CONFIGS);
    struct catalog_config copy = { .n = config->n };
    copy.name = copy_text(c, config->name, strlen(config->name), err);
    copy.text = copy_text(c, config->text, config->n, err);
    if (!copy.name || !copy.text)
        return false;
    c->config[c->nconfigs++] = copy;
    return true;
}

bool
catalog_set_config(struct catalog *c, const struct catalog_config *config, struct err *err)
{
    for (size_t i = 0; i < c->nconfigs; i++)
        if (strcmp(c->config[i].name, config->name) == 0)
            return catalog_replace_config(c, i, config->text, config->n, err);
    return catalog_add_config(c, config, err);
}

bool
catalog_replace_config(struct catalog *c, size_t i, const char *text, size_t n, struct err *err)
{
    const char *copy = copy_text(c, text, n, err);
    if (!copy)
        return false;
    c->config[i].text = copy;
    c->config[i].n = n;
    return true;
}

size_t
catalog_config_count(const struct catalog *c)
{
    return c->nconfigs;
}

const struct catalog_config *
catalog_config_at(const struct catalog *c, size_t i)
{
    return &c->config[i];
}

static void
remark(struct catalog *c, bool warning, bool told, const char *format, va_list args)
{
    struct err ignored;     /* callers that need to know use catalog_remarks_kept() */
    err_init(&ignored);
    char text[ERR_TEXT];
    int n = vsnprintf(text, sizeof text, format, args);
    char *copy = n < 0 ? NULL : copy_text(c, text, num_min((size_t)n, sizeof text - 1), &ignored);
    struct catalog_remark *remarks = array_grow(c->remarks, c->nremarks, &c->room_remarks, sizeof *remarks, &ignored);
    if (remarks)
        c->remarks = remarks;
    if (copy && remarks)
        c->remarks[c->nremarks++] = (struct catalog_remark){ warning, told, copy };
    else
        c->lost = true;
}

void
catalog_warn(struct catalog *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    remark(c, true, false, format, args);
    va_end(args);
}

void
catalog_note(struct catalog *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    remark(c, false, false, format, args);
    va_end(args);
}

void
catalog_tell(struct catalog *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    remark(c, false, true, format, args);
    va_end(args);
}

bool
catalog_remarks_kept(const struct catalog *c, struct err *err)
{
    return !c->lost || err_set(err, ERR_MEMORY, "out of memory while recording a remark about the input");
}

size_t
catalog_remark_count(const struct catalog *c)
{
    return c->nremarks;
}

const struct catalog_remark *
catalog_remark_at(const struct catalog *c, size_t i)
{
    return &c->remarks[i];
}
