#include "pipeline/verify.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"
#include "base/str.h"
#include "kernel/crc.h"

enum { STEP = 256 << 10 };

/* Bytes [from, to), relative to the start of a checked extent. */
struct verify_run {
    uint64_t from, to;
    uint32_t crc;
};

struct verify_member {
    const struct catalog_check *check;
    const struct tensor *tensor;        /* the first output tensor that uses it; NULL: unused, not checked */
    struct verify_run *run;                    /* n of them, sorted, with gaps between; owned */
    size_t n, room;
};

struct verify {
    const struct model *model;
    const struct kernels *kernels;
    pthread_mutex_t lock;
    struct verify_member *list;               /* n of them, in file order; owned */
    size_t n;
};

/* --- the checks */

/* Returns the checked extent that contains a byte of a file, or NULL. */
static struct verify_member *
verify_find(struct verify *v, uint32_t file, uint64_t at)
{
    size_t lo = 0, hi = v->n;           /* the first extent that starts after it */
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct extent *has = &v->list[mid].check->extent;
        if (has->file < file || (has->file == file && has->at <= at))
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == 0)
        return NULL;
    const struct extent *e = &v->list[lo - 1].check->extent;
    if (e->file == file && at < e->at + e->nbytes)
        return &v->list[lo - 1];
    return NULL;
}

/* Marks the check of a byte as used by a tensor. */
static void
mark(struct verify *v, const struct tensor *t, uint32_t file, uint64_t at)
{
    struct verify_member *c = verify_find(v, file, at);
    if (c && !c->tensor)
        c->tensor = t;
}

static void
find_of_piece(struct verify *v, const struct piece *piece)
{
    struct catalog_tile tile;
    for (unsigned part = 0; part < SCHEME_PARTS; part++) {
        const struct tensor *t = piece_input(piece, part);
        if (t && t->extent.nbytes != 0)
            mark(v, t, t->extent.file, t->extent.at);
        for (size_t i = 0; t && catalog_next_tile(v->model->catalog, t, 0, t->extent.nbytes, &i, &tile);)
            mark(v, t, tile.file, tile.at);
    }
}

/* Lists all checks of the catalog and marks those that the pieces use. */
static bool
find_checks(struct verify *v, const struct pieces *pieces, struct err *err)
{
    size_t n = catalog_check_count(v->model->catalog);
    v->list = calloc(n, sizeof *v->list);
    if (!v->list)
        return err_memory(err, n * sizeof *v->list);
    for (; v->n < n; v->n++)
        v->list[v->n].check = catalog_check_at(v->model->catalog, v->n);
    for (size_t i = 0; i < pieces_count(pieces); i++) {
        const struct piece *piece;
        for (size_t k = 0; (piece = piece_component(pieces_at(pieces, i), k)) != NULL; k++)
            find_of_piece(v, piece);
    }
    return true;
}

bool
verify_new(struct verify **out, const struct model *model, const struct pieces *pieces, const struct kernels *kernels,
    struct err *err)
{
    *out = NULL;
    if (catalog_check_count(model->catalog) == 0)
        return true;
    struct verify *v = calloc(1, sizeof *v);
    if (!v)
        return err_memory(err, sizeof *v);
    v->model = model;
    v->kernels = kernels;
    pthread_mutex_init(&v->lock, NULL);
    if (find_checks(v, pieces, err)) {
        *out = v;
        return true;
    }
    verify_free(v);
    return false;
}

void
verify_free(struct verify *v)
{
    if (!v)
        return;
    for (size_t i = 0; i < v->n; i++)
        free(v->list[i].run);
    free(v->list);
    pthread_mutex_destroy(&v->lock);
    free(v);
}

/* --- runs */

/* Returns the index at which to insert a run that starts at `from`. Searches from the end, because runs arrive nearly in
 * order. */
static size_t
verify_place_of(const struct verify_member *c, uint64_t from)
{
    size_t i = c->n;
    while (i != 0 && c->run[i - 1].from >= from)
        i--;
    return i;
}

/* Merges run i + 1 into run i if they are adjacent. */
static void
verify_join(struct verify_member *c, size_t i)
{
    struct verify_run *a = &c->run[i], *b = a + 1;
    if (i + 1 >= c->n || a->to != b->from)
        return;
    a->crc = crc_joined(a->crc, b->crc, b->to - b->from);
    a->to = b->to;
    memmove(b, b + 1, (c->n - i - 2) * sizeof *b);
    c->n--;
}

/* Adds a run. Bytes that were already seen are not counted again. */
static bool
add(struct verify_member *c, const struct verify_run *run, struct err *err)
{
    size_t i = verify_place_of(c, run->from);
    if ((i != 0 && c->run[i - 1].to > run->from) || (i < c->n && c->run[i].from < run->to))
        return true;
    if (!c->run && (c->run = malloc(sizeof *c->run)) != NULL)
        c->room = 1;                    /* enough for small tensors, which can be numerous */
    struct verify_run *list = array_grow(c->run, c->n, &c->room, sizeof *list, err);
    if (!list)
        return false;
    c->run = list;
    memmove(list + i + 1, list + i, (c->n - i) * sizeof *list);
    list[i] = *run;
    c->n++;
    verify_join(c, i);
    if (i != 0)
        verify_join(c, i - 1);
    return true;
}

static bool
add_locked(struct verify *v, struct verify_member *c, const struct verify_run *run, struct err *err)
{
    pthread_mutex_lock(&v->lock);
    bool ok = add(c, run, err);
    pthread_mutex_unlock(&v->lock);
    return ok;
}

static bool
add_bytes(struct verify *v, uint32_t file, uint64_t at, const uint8_t *p, size_t n, struct err *err)
{
    struct verify_member *c = verify_find(v, file, at);
    if (!c || !c->tensor || n == 0)
        return true;
    const struct verify_run run = { at - c->check->extent.at, at - c->check->extent.at + n, v->kernels->crc(0, p, n) };
    return add_locked(v, c, &run, err);
}

/* Adds what bytes p, from offset `from` of a tensor on, have of tile i. In the tile, they follow each other. */
static bool
add_tile(struct verify *v, const struct tensor *t, size_t i, const struct catalog_tile *tile, uint64_t from, const uint8_t *p,
    struct err *err)
{
    struct verify_member *c = verify_find(v, tile->file, tile->at);
    if (!c || !c->tensor || tile->gaps)
        return true;
    struct verify_run run = { tile->at - c->check->extent.at, tile->at - c->check->extent.at + tile->nbytes, 0 };
    for (uint64_t done = 0, n; done < tile->nbytes; done += n) {
        uint64_t at = catalog_place(v->model->catalog, t, i, tile->skip + done, &n);
        n = num_min(n, tile->nbytes - done);
        run.crc = v->kernels->crc(run.crc, p + (at - from), (size_t)n);
    }
    return add_locked(v, c, &run, err);
}

bool
verify_add(struct verify *v, const struct tensor *t, uint64_t from, const uint8_t *p, size_t n, struct err *err)
{
    struct catalog_tile tile;
    bool ok = add_bytes(v, t->extent.file, t->extent.at + from, p, n, err);
    for (size_t i = 0; ok && catalog_next_tile(v->model->catalog, t, from, from + n, &i, &tile);)
        ok = add_tile(v, t, i - 1, &tile, from, p, err);
    return ok;
}

/* --- the end */

/* Reads bytes [from, to) of a checked extent. */
static bool
read_gap(struct verify *v, struct verify_member *c, uint64_t from, uint64_t to, uint8_t *buf, struct err *err)
{
    const struct extent *e = &c->check->extent;
    for (uint64_t n; from < to; from += n) {
        n = num_min(STEP, to - from);
        if (!source_read(v->model->src[e->file], e->at + from, buf, (size_t)n, err)
            || !add_bytes(v, e->file, e->at + from, buf, (size_t)n, err))
            return false;
    }
    return true;
}

static bool
read_gaps(struct verify *v, struct verify_member *c, uint8_t *buf, struct err *err)
{
    uint64_t nbytes = c->check->extent.nbytes;
    while (c->n == 0 || c->run[0].from != 0 || c->run[0].to != nbytes) {
        uint64_t from = 0;
        if (c->n != 0 && c->run[0].from == 0)
            from = c->run[0].to;
        size_t next = from != 0;
        if (!read_gap(v, c, from, next < c->n ? c->run[next].from : nbytes, buf, err))
            return false;
    }
    return true;
}

static bool
compare_crc(const struct verify *v, const struct verify_member *c, struct err *err)
{
    char name[STR_SHOWN];
    if (c->n != 1 || c->run[0].to - c->run[0].from != c->check->extent.nbytes || c->run[0].crc == c->check->crc)
        return true;
    err_at(err, ERR_MALFORMED, c->check->extent.at, "tensor %s: CRC-32 mismatch: expected %08" PRIx32 ", found "
        "%08" PRIx32 "; the file is damaged, download it again (--no-verify reads it anyway)",
        str_shown(name, c->tensor->name, c->tensor->name_len), c->check->crc, c->run[0].crc);
    return err_in_file(err, source_name(v->model->src[c->check->extent.file]));
}

bool
verify_end(struct verify *v, bool all, struct err *err)
{
    bool ok = true;
    uint8_t *buf = NULL;
    if (all)
        buf = malloc(STEP);
    if (all && !buf)
        return err_memory(err, STEP);
    for (size_t i = 0; ok && i < v->n; i++)
        ok = !v->list[i].tensor || ((!all || read_gaps(v, &v->list[i], buf, err)) && compare_crc(v, &v->list[i], err));
    free(buf);
    return ok;
}
