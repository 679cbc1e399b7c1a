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

/* Bytes with a checksum, of which some but not all have been read, or which did not match. */
struct verify_member {
    struct extent extent;
    uint32_t crc;
    const struct tensor *tensor;        /* the first tensor of the catalog that uses it */
    struct verify_run *run;             /* n of them, sorted, with gaps between; owned */
    size_t n, room;
};

struct verify {
    const struct model *model;
    const struct kernels *kernels;
    pthread_mutex_t lock;
    struct verify_member *list;         /* n of them, in file order; owned */
    size_t n, room;
    const struct tensor **user;         /* for each check of the catalog: the first tensor that uses it, or NULL: it is not checked; owned */
    bool *done;                         /* likewise: it matches; owned */
};

/* --- the checks */

static int
compare_place(const struct extent *e, uint32_t file, uint64_t at)
{
    if (e->file != file)
        return e->file < file ? -1 : 1;
    return (e->at > at) - (e->at < at);
}

/* Finds the check of the catalog that contains a byte of a file. */
static bool
find_check(const struct verify *v, uint32_t file, uint64_t at, size_t *i)
{
    const struct catalog *catalog = v->model->catalog;
    size_t lo = 0, hi = catalog_check_count(catalog);   /* the first extent that starts after it */
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (compare_place(&catalog_check_at(catalog, mid)->extent, file, at) <= 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == 0)
        return false;
    const struct extent *e = &catalog_check_at(catalog, *i = lo - 1)->extent;
    return e->file == file && at < e->at + e->nbytes;
}

/* Marks the check of a byte as used by a tensor. */
static void
mark(struct verify *v, const struct tensor *t, uint32_t file, uint64_t at)
{
    size_t i;
    if (find_check(v, file, at, &i) && !v->user[i])
        v->user[i] = t;
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

/* Marks the checks of the catalog that the pieces use. */
static bool
find_checks(struct verify *v, const struct pieces *pieces, struct err *err)
{
    size_t n = catalog_check_count(v->model->catalog);
    v->user = calloc(n + 1, sizeof *v->user);
    v->done = calloc(n + 1, sizeof *v->done);
    if (!v->user || !v->done)
        return err_memory(err, n * sizeof *v->user);
    for (size_t i = 0; n != 0 && i < pieces_count(pieces); i++) {
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
    if (catalog_check_count(model->catalog) == 0 && !catalog_has_tiles(model->catalog))
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
    free(v->user);
    free(v->done);
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

/* Finds the member that begins at a place of a file, or where it belongs. */
static bool
find_member(const struct verify *v, const struct extent *e, size_t *i)
{
    size_t lo = 0, hi = v->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (compare_place(&v->list[mid].extent, e->file, e->at) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    *i = lo;
    return lo < v->n && compare_place(&v->list[lo].extent, e->file, e->at) == 0;
}

/* Finds a member, or adds it. Sets *i to its index. */
static bool
need_member(struct verify *v, const struct verify_member *of, size_t *i, struct err *err)
{
    if (find_member(v, &of->extent, i)) {
        if (of->tensor < v->list[*i].tensor)
            v->list[*i].tensor = of->tensor;
        return true;
    }
    struct verify_member *list = array_grow(v->list, v->n, &v->room, sizeof *list, err);
    if (!list)
        return false;
    v->list = list;
    memmove(list + *i + 1, list + *i, (v->n - *i) * sizeof *list);
    list[*i] = *of;
    v->n++;
    return true;
}

static bool
is_complete(const struct verify_member *c)
{
    return c->n == 1 && c->run[0].to - c->run[0].from == c->extent.nbytes;
}

/* Adds a run of a member, which is removed when it is complete and matches. `done`, unless it is NULL, tells later calls. */
static bool
add_to_member(struct verify *v, const struct verify_member *of, const struct verify_run *run, bool *done, struct err *err)
{
    size_t i;
    if ((done && *done) || run->from == run->to)
        return true;
    if (!need_member(v, of, &i, err) || !add(&v->list[i], run, err))
        return false;
    struct verify_member *c = &v->list[i];
    if (!is_complete(c) || c->run[0].crc != c->crc)
        return true;
    free(c->run);
    memmove(c, c + 1, (v->n - i - 1) * sizeof *c);
    v->n--;
    if (done)
        *done = true;
    return true;
}

static bool
add_locked(struct verify *v, const struct verify_member *of, const struct verify_run *run, bool *done, struct err *err)
{
    pthread_mutex_lock(&v->lock);
    bool ok = add_to_member(v, of, run, done, err);
    pthread_mutex_unlock(&v->lock);
    return ok;
}

/* Returns check i of the catalog as a member without runs. */
static struct verify_member
member_of_check(const struct verify *v, size_t i)
{
    const struct catalog_check *check = catalog_check_at(v->model->catalog, i);
    return (struct verify_member){ .extent = check->extent, .crc = check->crc, .tensor = v->user[i] };
}

static bool
add_bytes(struct verify *v, uint32_t file, uint64_t at, const uint8_t *p, size_t n, struct err *err)
{
    size_t i;
    if (n == 0 || !find_check(v, file, at, &i) || !v->user[i])
        return true;
    const struct verify_member of = member_of_check(v, i);
    const struct verify_run run = { at - of.extent.at, at - of.extent.at + n, v->kernels->crc(0, p, n) };
    return add_locked(v, &of, &run, &v->done[i], err);
}

/* Finds the checksum of a tile: its own, or that of the storage that it is part of. *done is NULL for its own. */
static bool
member_of_tile(struct verify *v, const struct tensor *t, const struct catalog_tile *tile, struct verify_member *of, bool **done)
{
    size_t i;
    *done = NULL;
    *of = (struct verify_member){ .extent = { .file = tile->file, .at = tile->at - tile->skip, .nbytes = tile->whole }, .crc = tile->crc,
        .tensor = t };
    if (tile->gaps || tile->crc != 0)
        return !tile->gaps;
    if (!find_check(v, tile->file, tile->at, &i) || !v->user[i])
        return false;
    *of = member_of_check(v, i);
    *done = &v->done[i];
    return true;
}

/* Adds what bytes p, from offset `from` of a tensor on, have of tile i. In the tile, they follow each other. */
static bool
add_tile(struct verify *v, const struct tensor *t, size_t i, const struct catalog_tile *tile, uint64_t from, const uint8_t *p,
    struct err *err)
{
    struct verify_member of;
    bool *done;
    if (!member_of_tile(v, t, tile, &of, &done))
        return true;
    struct verify_run run = { tile->at - of.extent.at, tile->at - of.extent.at + tile->nbytes, 0 };
    for (uint64_t had = 0, n; had < tile->nbytes; had += n) {
        uint64_t at = catalog_place(v->model->catalog, t, i, tile->skip + had, &n);
        n = num_min(n, tile->nbytes - had);
        run.crc = v->kernels->crc(run.crc, p + (at - from), (size_t)n);
    }
    return add_locked(v, &of, &run, done, err);
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

/* Reads bytes [from, to) of a member. */
static bool
read_gap(struct verify *v, const struct verify_member *of, uint64_t from, uint64_t to, uint8_t *buf, struct err *err)
{
    for (uint64_t n; from < to; from += n) {
        n = num_min(STEP, to - from);
        if (!source_read(v->model->src[of->extent.file], of->extent.at + from, buf, (size_t)n, err))
            return false;
        const struct verify_run run = { from, from + n, v->kernels->crc(0, buf, (size_t)n) };
        if (!add_to_member(v, of, &run, NULL, err))
            return false;
    }
    return true;
}

/* Reads what is missing of a member, which then is complete, or gone because it matches. */
static bool
read_gaps(struct verify *v, struct verify_member of, uint8_t *buf, struct err *err)
{
    size_t i;
    of.run = NULL;
    of.n = of.room = 0;
    while (find_member(v, &of.extent, &i) && !is_complete(&v->list[i])) {
        const struct verify_member *c = &v->list[i];
        uint64_t from = 0, to = c->extent.nbytes;
        if (c->n != 0 && c->run[0].from == 0)
            from = c->run[0].to;
        size_t next = from != 0;
        if (next < c->n)
            to = c->run[next].from;
        if (!read_gap(v, &of, from, to, buf, err))
            return false;
    }
    return true;
}

/* Reads what was not read of everything that the output needs. */
static bool
read_rest(struct verify *v, uint8_t *buf, struct err *err)
{
    size_t i, n = catalog_check_count(v->model->catalog);
    for (size_t k = 0; k < n; k++) {
        const struct verify_member of = member_of_check(v, k);
        if (of.tensor && !v->done[k] && of.extent.nbytes != 0 && !need_member(v, &of, &i, err))
            return false;
    }
    for (i = 0; i < v->n;) {
        size_t before = v->n;
        if (!read_gaps(v, v->list[i], buf, err))
            return false;
        i += v->n == before;            /* it is complete, but does not match */
    }
    return true;
}

static bool
compare_crc(const struct verify *v, const struct verify_member *c, struct err *err)
{
    char name[STR_SHOWN];
    if (!is_complete(c) || c->run[0].crc == c->crc)
        return true;
    err_at(err, ERR_MALFORMED, c->extent.at, "tensor %s: CRC-32 mismatch: expected %08" PRIx32 ", found "
        "%08" PRIx32 "; the file is damaged, download it again (--no-verify reads it anyway)",
        str_shown(name, c->tensor->name, c->tensor->name_len), c->crc, c->run[0].crc);
    return err_in_file(err, source_name(v->model->src[c->extent.file]));
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
    if (all)
        ok = read_rest(v, buf, err);
    for (size_t i = 0; ok && i < v->n; i++)
        ok = compare_crc(v, &v->list[i], err);
    free(buf);
    return ok;
}
