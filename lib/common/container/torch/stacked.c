/* stacked: checkpoints of torch 0.1.10 to 1.5, and later ones saved in this format on request:
 *
 *      | magic number | protocol version | facts of the machine | object | list of storage keys |      five pickles
 *      | numel i64 | elements | numel i64 | elements | ...                  a storage for each key, in that order
 *
 * The object gives the numel of each storage, so everything is known once the pickles have been read; the counts between the
 * storages must agree. Elements are little-endian on every machine. Source: torch, serialization.py, _legacy_load().
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/num.h"
#include "container/torch/checkpoint_priv.h"
#include "container/container.h"
#include "source/watch.h"

enum { MAGIC, VERSION, MACHINE, OBJECT, KEYS, PICKLES };
enum { COUNT = 8, STEP = 16 << 10, PROTOCOL_VERSION = 1001 };

struct stacked {
    struct source *src;
    struct catalog *catalog;
    const struct container_options *options;
    struct err *err;
    const uint8_t *head;
    uint64_t have, size;                /* size: SOURCE_SIZE_UNKNOWN until a pipe ends */
    uint64_t begin[PICKLES + 1];        /* start of each pickle, and of what follows them */
    struct pickle *pickle[PICKLES];
    const struct pickle_value *root[PICKLES];
    struct checkpoint checkpoint;
};

/* Recognizes PROTO 2 to 5, an optional FRAME, and 0x1950a86a20f9469cfc6c as a LONG1, without running anything. An input
 * truncated within them matches too. */
static bool
stacked_probe(const uint8_t *head, size_t n, uint64_t size)
{
    static const uint8_t magic[] = { OP_LONG1, 10, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, OP_STOP };
    enum { PROTO = 2, FRAME = 9 };
    size_t at = PROTO;
    if (n > PROTO && head[PROTO] == OP_FRAME)
        at = PROTO + FRAME;
    (void)size;
    return n > at && head[0] == OP_PROTO && head[1] >= 2 && head[1] <= 5
        && memcmp(head + at, magic, (size_t)num_min(n - at, sizeof magic)) == 0;
}

/* --- the pickles */

/* Makes more of the head visible, which may move it. */
static bool
grow_head(struct stacked *s, uint64_t begin)
{
    uint64_t want = num_max(2 * s->have, STEP), before = s->have;
    if (s->have - begin > PICKLE_MAX)
        return err_at(s->err, ERR_LIMIT, begin, "size of the pickles exceeds the limit of %d bytes (built in)", PICKLE_MAX);
    if (!budget_bytes(catalog_budget(s->catalog), want - before, "pickle bytes", s->err)
        || !source_head(s->src, num_min(want, SOURCE_HEAD_MAX), &s->head, &s->have, s->err))
        return false;
    if (s->have < want && s->have < SOURCE_HEAD_MAX)
        s->size = s->have;
    return s->have > before || err_at(s->err, ERR_MALFORMED, s->have, "truncated in the pickles, after %" PRIu64 " bytes "
        "(incomplete download or copy?)", s->have);
}

/* Finds the end of each pickle before any is run, so that the head does not move then. A pickle without STOP ends the
 * search. */
static bool
find_pickles(struct stacked *s)
{
    if (!grow_head(s, 0))
        return false;
    for (int i = 0; i < PICKLES; i++) {
        uint64_t begin = s->begin[i];
        size_t from = 0, n;
        while ((n = pickle_length(s->head + begin, (size_t)(s->have - begin), &from)) == 0)
            if (!grow_head(s, begin))
                return false;
        s->begin[i + 1] = begin + n;
        if (s->head[begin + n - 1] != OP_STOP)
            s->begin[PICKLES] = begin + n;
        if (s->begin[PICKLES] != 0)
            return true;
    }
    return true;
}

static bool
run_pickles(struct stacked *s)
{
    for (int i = 0; i < PICKLES; i++) {
        uint64_t begin = s->begin[i];
        size_t used;
        if (!pickle_run(&s->pickle[i], &s->root[i], s->head + begin, (size_t)(s->have - begin), &used, begin,
                catalog_budget(s->catalog), s->err) || (i != OBJECT && !pickle_is_plain(s->pickle[i], s->err)))
            return false;
    }
    return true;
}

static bool
check_facts(struct stacked *s)
{
    char shown[PICKLE_SHOWN];
    const struct pickle_value *version = s->root[VERSION];
    if (version->kind != PICKLE_INT || version->of.integer != PROTOCOL_VERSION)
        return err_at(s->err, ERR_UNSUPPORTED, s->begin[VERSION], "protocol version is %s, expected %d",
            pickle_shown(shown, version), PROTOCOL_VERSION);
    return s->root[MACHINE]->kind == PICKLE_DICT || err_at(s->err, ERR_MALFORMED, s->begin[MACHINE], "description of the "
        "machine that wrote it is %s, expected a dictionary", pickle_shown(shown, s->root[MACHINE]));
}

/* --- the storages */

/* Returns the storage of a key in the list; each may occur once. */
static struct checkpoint_storage *
take_key(struct stacked *s, const struct pickle_value *key)
{
    char shown[PICKLE_SHOWN];
    struct checkpoint_storage *storage = NULL;
    if (key->kind == PICKLE_TEXT)
        storage = checkpoint_find(&s->checkpoint, (const char *)key->of.text, key->n);
    if (storage && storage->at == 0)
        return storage;
    err_at(s->err, ERR_MALFORMED, s->begin[KEYS], "list of storages has %s, %s", pickle_shown(shown, key),
        storage ? "twice" : "which the object does not use");
    return NULL;
}

/* Sets the offset of each storage: they follow the pickles in list order. *end: after the last one. */
static bool
place(struct stacked *s, uint64_t *end)
{
    const struct pickle_value *list = s->root[KEYS];
    struct pickle_walk walk = { 0 };
    struct pickle_value *none, *key;
    char shown[PICKLE_SHOWN];
    *end = s->begin[PICKLES];
    if (list->kind != PICKLE_LIST || list->n != s->checkpoint.nstorages)
        return err_at(s->err, ERR_MALFORMED, s->begin[KEYS], "list of storages is %s, expected a list of the %zu that the "
            "object uses", pickle_shown(shown, list), s->checkpoint.nstorages);
    while (pickle_next(s->pickle[KEYS], list, &walk, &none, &key)) {
        struct checkpoint_storage *storage = take_key(s, key);
        if (!storage)
            return false;
        if (!num_add(&storage->at, *end, COUNT) || !num_add(end, storage->at, storage->nbytes))
            return err_at(s->err, ERR_MALFORMED, s->begin[KEYS], "total size of the storages overflows 64 bits");
    }
    return true;
}

/* The counts before the storages, in file order. */
struct counts {
    size_t n, next;
    uint8_t bytes[COUNT];               /* the part of the next count seen so far */
    struct count { uint64_t at, numel; } of[];
};

static int
compare_counts(const void *pa, const void *pb)
{
    const struct count *a = pa, *b = pb;
    return (a->at > b->at) - (a->at < b->at);
}

static struct counts *
make_counts(struct stacked *s)
{
    size_t n = s->checkpoint.nstorages, size = sizeof(struct counts) + n * sizeof(struct count);
    struct counts *counts = NULL;
    if (budget_bytes(catalog_budget(s->catalog), size, "storages", s->err))
        counts = malloc(size);
    if (!counts) {
        err_memory(s->err, size);
        return NULL;
    }
    *counts = (struct counts){ .n = n };
    for (size_t i = 0; i < n; i++)
        counts->of[i] = (struct count){ s->checkpoint.storage[i].at - COUNT, s->checkpoint.storage[i].numel };
    qsort(counts->of, n, sizeof *counts->of, compare_counts);
    return counts;
}

static bool
check_count(const struct count *count, const uint8_t *p, struct err *err)
{
    uint64_t numel = load_le64(p);
    return numel == count->numel || err_at(err, ERR_MALFORMED, count->at, "storage is preceded by the count %" PRId64 ", but "
        "has %" PRIu64 " elements in the pickle", (int64_t)numel, count->numel);
}

static bool
see_counts(void *of, uint64_t at, const uint8_t *p, size_t n, struct err *err)
{
    struct counts *c = of;
    for (uint64_t end = at + n; c->next < c->n && c->of[c->next].at < end; c->next++) {
        const struct count *count = &c->of[c->next];
        uint64_t from = num_max(count->at, at), to = num_min(count->at + COUNT, end);
        if (to > from)
            memcpy(c->bytes + (from - count->at), p + (from - at), (size_t)(to - from));
        if (to < count->at + COUNT)
            return true;                /* the rest is in the next call */
        if (!check_count(count, c->bytes, err))
            return false;
    }
    return true;
}

static bool
see_end(void *of, uint64_t at, struct err *err)
{
    const struct counts *c = of;
    return c->next == c->n || err_at(err, ERR_MALFORMED, at, "truncated after %" PRIu64 " bytes, before storage %zu of %zu "
        "(incomplete download or copy?)", at, c->next + 1, c->n);
}

/* Checks all counts now; if the source is not seekable, as they pass. */
static bool
check_counts(struct stacked *s)
{
    struct counts *counts = make_counts(s);
    uint8_t bytes[COUNT];
    bool ok = counts != NULL;
    if (ok && !source_seekable(s->src)) {
        const struct watcher watcher = { see_counts, see_end, free, counts };
        return source_watch(s->src, s->begin[PICKLES], &watcher, s->err);
    }
    for (size_t i = 0; ok && i < counts->n; i++)
        ok = source_read(s->src, counts->of[i].at, bytes, COUNT, s->err) && check_count(&counts->of[i], bytes, s->err);
    free(counts);
    return ok;
}

static bool
check_end(struct stacked *s, uint64_t end)
{
    uint64_t size = s->size;
    if (size == SOURCE_SIZE_UNKNOWN || size == end)
        return true;
    if (size < end)
        return err_at(s->err, ERR_MALFORMED, size, SOURCE_TRUNCATED, size, end);
    return err_at(s->err, ERR_MALFORMED, end, "file has %" PRIu64 " bytes, expected %" PRIu64 ": %" PRIu64 " trailing bytes "
        "after the last storage", size, end, size - end);
}

/* --- the container */

static bool
read_all(struct stacked *s, uint32_t file)
{
    const struct checkpoint_options options = { .stacked = true, .root = s->options->root };
    uint64_t end = 0;
    if (!find_pickles(s) || !run_pickles(s) || !check_facts(s)
        || !checkpoint_read(&s->checkpoint, s->pickle[OBJECT], &options, catalog_budget(s->catalog), s->err)
        || !place(s, &end) || !check_end(s, end) || !check_counts(s))
        return false;
    struct catalog_facts *facts = catalog_facts(s->catalog);
    facts->format = "PyTorch";
    facts->header_end = s->begin[PICKLES];
    facts->file_end = end;
    source_promise(s->src, end);
    return checkpoint_add(&s->checkpoint, s->catalog, file, false, s->err);
}

static bool
stacked_read(struct catalog *c, struct source *src, uint32_t file, const struct container_options *options,
    struct err *err)
{
    struct stacked s = { .src = src, .catalog = c, .options = options, .err = err, .size = source_size(src) };
    bool ok = read_all(&s, file);
    checkpoint_clear(&s.checkpoint);
    for (int i = 0; i < PICKLES; i++)
        pickle_free(s.pickle[i]);
    return ok;
}

const struct container container_stacked = {
    .name = "PyTorch checkpoint (stacked pickles)",
    .probe = stacked_probe,
    .read = stacked_read,
    .has_configs = true,
};
