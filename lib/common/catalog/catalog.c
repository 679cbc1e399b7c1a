#include "catalog/catalog.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/num.h"
#include "base/str.h"

enum { CHUNK = 64 << 10 };

/* Memory that is only ever given back as a whole; what is in it never moves. */
struct chunk {
    struct chunk *next;
    size_t used, room;
    _Alignas(8) uint8_t bytes[];
};

/* One place of the index of names: 1 + index of a tensor, 0 when free, and what its hash begins with. */
struct slot {
    uint32_t tensor, tag;
};

struct catalog {
    struct chunk *chunks;
    struct tensor *tensors;
    size_t ntensors, room_tensors;
    struct slot *slots;                 /* by the hash of the name; NULL until sealed */
    size_t mask;                        /* slots - 1, a power of two less one */
    struct hash_key key;
    struct meta *metas;
    size_t nmetas, room_metas;
    struct catalog_remark *remarks;
    size_t nremarks, room_remarks;
    struct catalog_config config[CATALOG_CONFIGS];
    size_t nconfigs;
    struct catalog_facts facts;
};

struct catalog *
catalog_new(struct err *err)
{
    struct catalog *c = calloc(1, sizeof *c);
    if (!c)
        err_memory(err, sizeof *c);
    return c;
}

void
catalog_free(struct catalog *c)
{
    if (!c)
        return;
    for (struct chunk *next; c->chunks; c->chunks = next) {
        next = c->chunks->next;
        free(c->chunks);
    }
    free(c->tensors);
    free(c->slots);
    free(c->metas);
    free(c->remarks);
    free(c);
}

void *
catalog_alloc(struct catalog *c, size_t n, struct err *err)
{
    n = (n + 7) & ~(size_t)7;
    if (!c->chunks || n > c->chunks->room - c->chunks->used) {
        size_t room = n > CHUNK ? n : CHUNK;
        struct chunk *chunk = malloc(sizeof *chunk + room);
        if (!chunk) {
            err_memory(err, room);
            return NULL;
        }
        *chunk = (struct chunk){ .next = c->chunks, .room = room };
        c->chunks = chunk;
    }
    void *p = c->chunks->bytes + c->chunks->used;
    c->chunks->used += n;
    return p;
}

/* n bytes of p and a NUL, for as long as the catalog lives. */
static char *
copy_text(struct catalog *c, const char *p, size_t n, struct err *err)
{
    char *copy = catalog_alloc(c, n + 1, err);
    if (copy) {
        if (n != 0)
            memcpy(copy, p, n);
        copy[n] = '\0';
    }
    return copy;
}

/* The array with room for one more item of `size` bytes after n, moved when it was full; NULL on failure. */
static void *
grown(void *array, size_t n, size_t *room, size_t size, struct err *err)
{
    if (n < *room)
        return array;
    size_t more = *room ? 2 * *room : 64;
    void *moved = realloc(array, more * size);
    if (moved)
        *room = more;
    else
        err_memory(err, more * size);
    return moved;
}

bool
catalog_add(struct catalog *c, const struct tensor *t, struct err *err)
{
    struct tensor *tensors = grown(c->tensors, c->ntensors, &c->room_tensors, sizeof *tensors, err);
    if (!tensors)
        return false;
    c->tensors = tensors;
    struct tensor copy = *t;
    uint64_t *dim = catalog_alloc(c, t->shape.rank * sizeof *dim, err);
    copy.name = copy_text(c, t->name, t->name_len, err);
    if (!dim || !copy.name)
        return false;
    if (t->shape.rank != 0)
        memcpy(dim, t->shape.dim, t->shape.rank * sizeof *dim);
    copy.shape.dim = dim;
    copy.listed = (uint32_t)c->ntensors;
    c->tensors[c->ntensors++] = copy;
    return true;
}

bool
catalog_add_meta(struct catalog *c, const struct meta *m, struct err *err)
{
    struct meta *metas = grown(c->metas, c->nmetas, &c->room_metas, sizeof *metas, err);
    if (!metas)
        return false;
    c->metas = metas;
    c->metas[c->nmetas++] = *m;
    return true;
}

static int
compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int
compare_position(const void *pa, const void *pb)
{
    const struct tensor *a = pa, *b = pb;
    int by = compare_u64(a->extent.file, b->extent.file);
    if (by == 0)
        by = compare_u64(a->extent.at, b->extent.at);
    if (by == 0)
        by = compare_u64(a->extent.nbytes, b->extent.nbytes);
    return by ? by : compare_u64(a->listed, b->listed);
}

/* The slot of a name: the one that holds its tensor, or the free one where it belongs. */
static struct slot *
find_slot(const struct catalog *c, const char *name, size_t n, uint32_t *tag)
{
    uint64_t hash = hash_bytes(c->key, name, n);
    *tag = (uint32_t)(hash >> 32);
    for (size_t i = (size_t)hash;; i++) {
        struct slot *slot = &c->slots[i & c->mask];
        if (slot->tensor == 0)
            return slot;
        const struct tensor *t = &c->tensors[slot->tensor - 1];
        if (slot->tag == *tag && t->name_len == n && memcmp(t->name, name, n) == 0)
            return slot;
    }
}

bool
catalog_seal_as_added(struct catalog *c, struct err *err)
{
    size_t nslots = 16;
    while (nslots < 2 * c->ntensors)
        nslots *= 2;
    c->slots = calloc(nslots, sizeof *c->slots);
    if (!c->slots)
        return err_memory(err, nslots * sizeof *c->slots);
    c->mask = nslots - 1;
    c->key = hash_new_key();
    for (size_t i = 0; i < c->ntensors; i++) {
        const struct tensor *t = &c->tensors[i];
        uint32_t tag;
        struct slot *slot = find_slot(c, t->name, t->name_len, &tag);
        if (slot->tensor != 0) {
            char shown[STR_SHOWN];
            return err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, "two tensors have the name %s",
                str_shown(shown, t->name, t->name_len));
        }
        *slot = (struct slot){ (uint32_t)i + 1, tag };
    }
    return true;
}

bool
catalog_seal(struct catalog *c, struct err *err)
{
    if (c->ntensors != 0)
        qsort(c->tensors, c->ntensors, sizeof *c->tensors, compare_position);
    return catalog_seal_as_added(c, err);
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
    uint32_t tag, found = find_slot(c, name, n, &tag)->tensor;
    return found ? &c->tensors[found - 1] : NULL;
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
    size_t n = strlen(key);
    for (size_t i = 0; i < c->nmetas; i++)
        if (c->metas[i].key_len == n && memcmp(c->metas[i].key, key, n) == 0)
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
catalog_add_config(struct catalog *c, const struct catalog_config *config, struct err *err)
{
    if (c->nconfigs == CATALOG_CONFIGS)
        return err_set(err, ERR_BUG, ERR_NO_OFFSET, "more than %d side files", CATALOG_CONFIGS);
    struct catalog_config copy = { .n = config->n };
    copy.name = copy_text(c, config->name, strlen(config->name), err);
    copy.text = copy_text(c, config->text, config->n, err);
    if (!copy.name || !copy.text)
        return false;
    c->config[c->nconfigs++] = copy;
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
remark(struct catalog *c, bool warning, const char *format, va_list args)
{
    struct err ignored;     /* a remark that finds no memory is not worth a failure */
    err_init(&ignored);
    char text[ERR_TEXT];
    int n = vsnprintf(text, sizeof text, format, args);
    char *copy = n < 0 ? NULL : copy_text(c, text, num_min((size_t)n, sizeof text - 1), &ignored);
    struct catalog_remark *remarks = grown(c->remarks, c->nremarks, &c->room_remarks, sizeof *remarks, &ignored);
    if (remarks)
        c->remarks = remarks;
    if (copy && remarks)
        c->remarks[c->nremarks++] = (struct catalog_remark){ warning, copy };
}

void
catalog_warn(struct catalog *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    remark(c, true, format, args);
    va_end(args);
}

void
catalog_note(struct catalog *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    remark(c, false, format, args);
    va_end(args);
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
