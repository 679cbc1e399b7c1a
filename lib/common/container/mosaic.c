#include "container/mosaic.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"
#include "base/search.h"
#include "container/gather.h"
#include "source/made.h"

enum { STEP = 256 << 10 };              /* bytes read at once of rows that are short */
enum { COMPARISONS_MAX = 1 << 28 };     /* of tiles, to find overlaps in a tensor */

struct placed_tile {
    uint64_t begin;             /* offset of its first byte in the tensor */
    uint64_t at;                /* offset in the file */
    union {
        const struct layout *layout;
        uint64_t nbytes;        /* of a range that is not its place */
    };
    uint32_t file, crc;
    uint64_t box[];             /* first index of each axis, then the number of indices of each */
};
enum { TILE_WORDS = sizeof(struct placed_tile) / sizeof(uint64_t) };

struct mosaic_placed {
    const char *name, *shown;   /* shown: see struct mosaic_tensor */
    const uint8_t *packed;      /* its shape */
    const uint64_t *grid;
    uint64_t at, nbytes;        /* in the made file */
    size_t first, n;            /* the word of its first tile; tiles */
    uint32_t name_len, rank, axes;
    enum dtype dtype;
    bool ordered;               /* each tile ends before the next one begins */
};

/* Memory that lives as long as the mosaic. */
struct mosaic_block {
    struct mosaic_block *next;
    _Alignas(8) uint8_t bytes[];
};

struct mosaic {
    struct catalog *catalog;            /* until mosaic_source() */
    struct mosaic_block *blocks;        /* owned */
    struct mosaic_placed *tensor;       /* owned */
    size_t n, room;
    uint64_t *words;            /* the tiles; owned */
    size_t nwords, room_words;
    struct source *const *files;
    uint64_t size;
};

static size_t
tile_words(const struct mosaic_placed *t)
{
    return TILE_WORDS + 2 * (size_t)t->axes;
}

static struct placed_tile *
tile_at(const struct mosaic *m, const struct mosaic_placed *t, size_t i)
{
    return (struct placed_tile *)(void *)(m->words + t->first + i * tile_words(t));
}

struct mosaic *
mosaic_new(struct catalog *catalog, struct err *err)
{
    struct mosaic *m = calloc(1, sizeof *m);
    if (!m) {
        err_memory(err, sizeof *m);
        return NULL;
    }
    m->catalog = catalog;
    return m;
}

void
mosaic_free(struct mosaic *m)
{
    if (!m)
        return;
    for (struct mosaic_block *next; m->blocks; m->blocks = next) {
        next = m->blocks->next;
        free(m->blocks);
    }
    free(m->tensor);
    free(m->words);
    free(m);
}

/* --- tensors */

static void *
mosaic_copy(struct mosaic *m, const void *p, size_t n, struct err *err)
{
    struct mosaic_block *block = NULL;
    if (budget_bytes(catalog_budget(m->catalog), sizeof *block + n + 1, "names and shapes", err)
        && !(block = malloc(sizeof *block + n + 1)))
        err_memory(err, sizeof *block + n + 1);
    if (!block)
        return NULL;
    block->next = m->blocks;
    m->blocks = block;
    if (n != 0)
        memcpy(block->bytes, p, n);
    block->bytes[n] = '\0';
    return block->bytes;
}

static bool
product(uint64_t *n, const uint64_t *dim, uint32_t rank)
{
    *n = 1;
    for (uint32_t i = 0; i < rank; i++)
        if (dim[i] == 0) {
            *n = 0;
            return true;
        }
    for (uint32_t i = 0; i < rank; i++)
        if (!num_mul(n, *n, dim[i]))
            return false;
    return true;
}

static const char *
mosaic_shown(const struct mosaic_placed *t, char shown[STR_SHOWN])
{
    if (t->shown)
        return t->shown;
    return str_shown(shown, t->name, t->name_len);
}

/* Computes the bytes of a tensor from its grid, and the end of the file with it. */
static bool
size_of(struct mosaic_placed *p, uint64_t *end, const struct mosaic_tensor *t, const uint64_t *shape)
{
    uint64_t numel, inside;
    return product(&numel, shape, p->rank) && product(&inside, t->grid, t->axes)
        && num_mul(&inside, inside, dtype_facts(t->dtype)->elems) && numel == inside
        && num_mul(&p->nbytes, inside / dtype_facts(t->dtype)->elems, dtype_facts(t->dtype)->bytes) && p->nbytes <= INT64_MAX
        && num_add(end, p->at, p->nbytes) && *end <= INT64_MAX;
}

bool
mosaic_begin(struct mosaic *m, const struct mosaic_tensor *t, struct err *err)
{
    uint8_t packed[LAYOUT_RANK * SHAPE_DIM];
    uint64_t shape[LAYOUT_RANK], end = 0;
    char shown[STR_SHOWN];
    struct mosaic_placed p = { .name = t->name, .name_len = t->name_len, .shown = t->shown, .at = m->size, .first = m->nwords,
        .rank = t->shape ? t->rank : t->axes, .axes = t->axes, .dtype = t->dtype };
    if (p.rank > LAYOUT_RANK || t->axes > MOSAIC_AXES)
        return err_set(err, ERR_LIMIT, ERR_TENSOR "%u dimensions exceed the limit of %d (built in)", mosaic_shown(&p, shown),
            (unsigned)p.rank, LAYOUT_RANK);
    memcpy(shape, t->shape ? t->shape : t->grid, p.rank * sizeof *shape);
    if (!t->shape && p.rank != 0 && !num_mul(&shape[p.rank - 1], shape[p.rank - 1], dtype_facts(t->dtype)->elems))
        shape[p.rank - 1] = 0;
    if (!size_of(&p, &end, t, shape))
        return err_set(err, ERR_MALFORMED, ERR_TENSOR "size overflows 63 bits", mosaic_shown(&p, shown));
    struct mosaic_placed *list = array_grow(m->tensor, m->n, &m->room, sizeof *list, err);
    if (!list)
        return false;
    m->tensor = list;
    p.name = mosaic_copy(m, t->name, t->name_len, err);
    p.packed = mosaic_copy(m, packed, shape_pack(packed, shape, p.rank), err);
    p.grid = mosaic_copy(m, t->grid, t->axes * sizeof *t->grid, err);
    if (!p.name || !p.packed || !p.grid)
        return false;
    list[m->n++] = p;
    m->size = end;
    return true;
}

static bool
mosaic_make_room(struct mosaic *m, size_t room, struct err *err)
{
    if (!budget_bytes(catalog_budget(m->catalog), (room - m->room_words) * sizeof *m->words, "tiles", err))
        return false;
    uint64_t *words = realloc(m->words, room * sizeof *words);
    if (!words)
        return err_memory(err, room * sizeof *words);
    m->words = words;
    m->room_words = room;
    return true;
}

static bool
mosaic_grow(struct mosaic *m, size_t n, struct err *err)
{
    enum { LEAST = 1024 };
    if (n <= m->room_words - m->nwords)
        return true;
    return mosaic_make_room(m, (size_t)num_max(num_max(LEAST, m->room_words + m->room_words / 2), m->nwords + n), err);
}

bool
mosaic_reserve(struct mosaic *m, size_t tiles, size_t axes, struct err *err)
{
    uint64_t n, boxes;
    if (!num_mul(&n, tiles, TILE_WORDS) || !num_mul(&boxes, axes, 2) || !num_add(&n, n, boxes) || !num_add(&n, n, m->nwords)
        || n > SIZE_MAX / sizeof *m->words)
        return err_memory(err, SIZE_MAX);
    return n <= m->room_words || mosaic_make_room(m, (size_t)n, err);
}

/* Returns the bytes of elements that differ by one in the index of an axis. */
static uint64_t
stride_of(const struct mosaic_placed *t, uint32_t axis)
{
    uint64_t stride = dtype_facts(t->dtype)->bytes;
    for (uint32_t i = axis + 1; i < t->axes; i++)
        stride *= t->grid[i];
    return stride;
}

static bool
mosaic_bad(const struct mosaic_placed *t, struct err *err, const char *what)
{
    char shown[STR_SHOWN];
    return err_set(err, ERR_MALFORMED, ERR_TENSOR "%s", mosaic_shown(t, shown), what);
}

/* Sets *own to a copy of a layout; NULL if it is plain. */
static bool
copy_layout(struct mosaic *m, const struct layout **own, const struct layout *layout, struct err *err)
{
    *own = NULL;
    if (!layout || layout_is_plain(layout))
        return true;
    *own = mosaic_copy(m, layout, layout_size(layout), err);
    return *own != NULL;
}

bool
mosaic_add(struct mosaic *m, const struct mosaic_tile *tile, struct err *err)
{
    struct mosaic_placed *t = &m->tensor[m->n - 1];
    uint64_t end, begin = 0, stride = dtype_facts(t->dtype)->bytes;
    bool empty = t->nbytes == 0;
    for (uint32_t i = t->axes; i-- > 0; stride *= t->grid[i]) {
        if (!num_add(&end, tile->from[i], tile->size[i]) || end > t->grid[i])
            return mosaic_bad(t, err, "a piece reaches beyond its shape");
        begin += tile->from[i] * stride;
        empty = empty || tile->size[i] == 0;
    }
    if (empty)
        return true;
    const struct layout *layout;
    if (!copy_layout(m, &layout, tile->layout, err) || !mosaic_grow(m, tile_words(t), err))
        return false;
    struct placed_tile *new = tile_at(m, t, t->n);
    *new = (struct placed_tile){ .begin = begin, .at = tile->at, .layout = layout, .file = tile->file, .crc = tile->crc };
    memcpy(new->box, tile->from, t->axes * sizeof *new->box);
    memcpy(new->box + t->axes, tile->size, t->axes * sizeof *new->box);
    m->nwords += tile_words(t);
    t->n++;
    return true;
}

/* --- the tiling */

/* By position; equal ones by file, so that the first rank's bytes count. */
static int
compare_tile(const void *a, const void *b)
{
    const struct placed_tile *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Removes all but the first of tiles with the same box. */
static void
drop_copies(struct mosaic *m, struct mosaic_placed *t)
{
    size_t kept = 0, words = tile_words(t);
    for (size_t i = 0; i < t->n; i++) {
        const struct placed_tile *this = tile_at(m, t, i), *last = NULL;
        if (kept != 0)
            last = tile_at(m, t, kept - 1);
        if (last && memcmp(last->box, this->box, 2 * t->axes * sizeof *this->box) == 0)
            continue;
        memmove(tile_at(m, t, kept++), this, words * sizeof(uint64_t));
    }
    t->n = kept;
    m->nwords = t->first + kept * words;
}

static bool
tiles_overlap(const struct placed_tile *a, const struct placed_tile *b, uint32_t axes)
{
    for (uint32_t i = 0; i < axes; i++)
        if (a->box[i] >= b->box[i] + b->box[axes + i] || b->box[i] >= a->box[i] + a->box[axes + i])
            return false;
    return true;
}

/* Returns the offset after the last byte of a tile in its tensor. */
static uint64_t
tile_end(const struct mosaic_placed *t, const struct placed_tile *tile)
{
    uint64_t end = tile->begin, stride = dtype_facts(t->dtype)->bytes;
    for (uint32_t i = t->axes; i-- > 0; stride *= t->grid[i])
        end += (tile->box[t->axes + i] - 1) * stride;
    return end + dtype_facts(t->dtype)->bytes;
}

/* Compares each tile with those after it that begin before it ends. */
static bool
check_overlap(const struct mosaic *m, struct mosaic_placed *t, struct err *err)
{
    uint64_t compared = 0;
    t->ordered = true;
    for (size_t i = 0; i < t->n; i++) {
        const struct placed_tile *this = tile_at(m, t, i);
        uint64_t end = tile_end(t, this);
        for (size_t j = i + 1; j < t->n && tile_at(m, t, j)->begin < end; j++) {
            t->ordered = false;
            if (tiles_overlap(this, tile_at(m, t, j), t->axes))
                return mosaic_bad(t, err, "two pieces overlap");
            if (++compared > COMPARISONS_MAX)
                return err_set(err, ERR_LIMIT, "the pieces of a tensor interleave too much to be compared (built in)");
        }
    }
    return true;
}

bool
mosaic_end(struct mosaic *m, struct err *err)
{
    struct mosaic_placed *t = &m->tensor[m->n - 1];
    uint64_t covered = 0;
    array_sort(m->words + t->first, t->n, tile_words(t) * sizeof *m->words, compare_tile);
    drop_copies(m, t);
    for (size_t i = 0; i < t->n; i++) {
        const struct placed_tile *tile = tile_at(m, t, i);
        uint64_t n = dtype_facts(t->dtype)->bytes;
        for (uint32_t d = 0; d < t->axes; d++)
            n *= tile->box[t->axes + d];
        if (n > t->nbytes - covered)
            return mosaic_bad(t, err, "two pieces overlap");
        covered += n;
    }
    if (!check_overlap(m, t, err))
        return false;
    char shown[STR_SHOWN];
    const char *name = mosaic_shown(t, shown);
    t->shown = NULL;
    return covered == t->nbytes || err_set(err, ERR_MALFORMED, ERR_TENSOR "its pieces have %" PRIu64 " of %" PRIu64 " bytes: there is a "
        "hole", name, covered, t->nbytes);
}

/* --- tiles whose place is known later */

static struct placed_tile *
tile_of_word(const struct mosaic *m, size_t word)
{
    return (struct placed_tile *)(void *)(m->words + word);
}

bool
mosaic_find(const struct mosaic *m, size_t i, const uint64_t *from, size_t *tile)
{
    const struct mosaic_placed *t = &m->tensor[i];
    size_t lo = 0, hi = t->n;
    uint64_t begin = 0;
    for (uint32_t d = 0; d < t->axes; d++) {
        if (from[d] >= t->grid[d])
            return false;
        begin += from[d] * stride_of(t, d);
    }
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (tile_at(m, t, mid)->begin < begin)
            lo = mid + 1;
        else
            hi = mid;
    }
    *tile = t->first + lo * tile_words(t);
    return lo < t->n && tile_at(m, t, lo)->begin == begin;
}

struct mosaic_range
mosaic_range(const struct mosaic *m, size_t tile)
{
    const struct placed_tile *t = tile_of_word(m, tile);
    return (struct mosaic_range){ .at = t->at, .nbytes = t->nbytes, .file = t->file };
}

void
mosaic_set_range(struct mosaic *m, size_t tile, const struct mosaic_range *range)
{
    struct placed_tile *t = tile_of_word(m, tile);
    t->at = range->at;
    t->nbytes = range->nbytes;
    t->file = range->file;
}

bool
mosaic_walk(const struct mosaic *m, size_t i, struct mosaic_walk *walk)
{
    const struct mosaic_placed *t = &m->tensor[i];
    if (walk->n == t->n)
        return false;
    walk->tile = t->first + walk->n++ * tile_words(t);
    walk->from = tile_of_word(m, walk->tile)->box;
    walk->size = walk->from + t->axes;
    return true;
}

bool
mosaic_settle(struct mosaic *m, size_t tile, const struct mosaic_tile *place, struct err *err)
{
    struct placed_tile *t = tile_of_word(m, tile);
    t->at = place->at;
    t->file = place->file;
    t->crc = place->crc;
    return copy_layout(m, &t->layout, place->layout, err);
}

/* --- reading */

/* How a tile lies in its tensor: `count` rows of `run` bytes. */
struct tile_rows {
    const struct mosaic_placed *t;
    const struct placed_tile *tile;
    uint32_t axis;              /* the axis of the rows: all axes after it are whole */
    uint64_t run, count;
};

static struct tile_rows
rows_of(const struct mosaic_placed *t, const struct placed_tile *tile)
{
    struct tile_rows r = { .t = t, .tile = tile, .axis = t->axes, .run = dtype_facts(t->dtype)->bytes, .count = 1 };
    const uint64_t *size = tile->box + t->axes;
    bool whole = true;
    while (r.axis > 0 && whole) {
        r.axis--;
        r.run *= size[r.axis];
        whole = size[r.axis] == t->grid[r.axis];
    }
    for (uint32_t i = 0; i < r.axis; i++)
        r.count *= size[i];
    return r;
}

/* Returns the offset of row i in the tensor. */
static uint64_t
row_at(const struct tile_rows *r, uint64_t i)
{
    uint64_t at = r->tile->begin;
    for (uint32_t d = r->axis; d-- > 0; i /= r->tile->box[r->t->axes + d])
        at += i % r->tile->box[r->t->axes + d] * stride_of(r->t, d);
    return at;
}

/* Returns the first row that ends after byte `from` of the tensor. */
static uint64_t
row_after(const struct tile_rows *r, uint64_t from)
{
    uint64_t lo = 0, hi = r->count;
    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;
        if (row_at(r, mid) + r->run <= from)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Reads bytes [from, from + n) of a tile, its elements in row-major order. */
static bool
read_tile(const struct mosaic *m, const struct tile_rows *r, uint64_t from, void *buf, size_t n, struct err *err)
{
    const struct tensor t = { .dtype = r->t->dtype, .layout = r->tile->layout, .extent = { .at = r->tile->at } };
    struct source *src = m->files[r->tile->file];
    return gather(src, &t, from, buf, n, err) || err_in_file(err, source_name(src));
}

/* Writes what rows [first, last) have of bytes [from, to) of the tensor to y; together they fit into `room`. */
static bool
spread(const struct mosaic *m, const struct tile_rows *r, uint64_t first, uint64_t last, uint64_t from, uint64_t to, uint8_t *y,
    uint8_t *room, struct err *err)
{
    if (!read_tile(m, r, first * r->run, room, (size_t)((last - first) * r->run), err))
        return false;
    for (uint64_t i = first; i < last; i++, room += r->run) {
        uint64_t at = row_at(r, i), a = num_max(at, from), b = num_min(at + r->run, to);
        memcpy(y + (a - from), room + (a - at), (size_t)(b - a));
    }
    return true;
}

/* Writes what a tile has of bytes [from, to) of its tensor to y. *room has STEP bytes, or is NULL until it is needed. */
static bool
copy_tile(const struct mosaic *m, const struct tile_rows *r, uint64_t from, uint64_t to, uint8_t *y, uint8_t **room, struct err *err)
{
    uint64_t at;
    for (uint64_t i = row_after(r, from), n; i < r->count && (at = row_at(r, i)) < to; i += n) {
        n = 1;
        if (r->run <= STEP / 2)
            n = num_min(STEP / r->run, row_after(r, to - 1) + 1 - i);
        if (i + n > r->count)
            n = r->count - i;
        if (n > 1 && row_at(r, i + n - 1) >= to)
            n--;
        if (n > 1 && !*room && !(*room = malloc(STEP)))
            return err_memory(err, STEP);
        uint64_t a = num_max(at, from), b = num_min(at + r->run, to);
        if (n > 1 ? !spread(m, r, i, i + n, from, to, y, *room, err)
            : !read_tile(m, r, i * r->run + (a - at), y + (a - from), (size_t)(b - a), err))
            return false;
    }
    return true;
}

static uint64_t
end_of_placed(const void *of, size_t i)
{
    const struct mosaic_placed *t = &((const struct mosaic *)of)->tensor[i];
    return t->at + t->nbytes;
}

struct tiles_of {
    const struct mosaic *m;
    const struct mosaic_placed *t;
};

static uint64_t
end_of_tile(const void *of, size_t i)
{
    const struct tiles_of *o = of;
    return tile_end(o->t, tile_at(o->m, o->t, i));
}

/* Returns the first tile that can have bytes after `from`. */
static size_t
first_tile(const struct mosaic *m, const struct mosaic_placed *t, uint64_t from)
{
    const struct tiles_of of = { m, t };
    if (!t->ordered)
        return 0;
    return search_end_after(&of, t->n, end_of_tile, from);
}

static bool
mosaic_read_tensor(const struct mosaic *m, const struct mosaic_placed *t, uint64_t from, uint64_t to, uint8_t *y, struct err *err)
{
    uint8_t *room = NULL;
    bool ok = true;
    for (size_t i = first_tile(m, t, from); ok && i < t->n && tile_at(m, t, i)->begin < to; i++) {
        const struct tile_rows r = rows_of(t, tile_at(m, t, i));
        ok = copy_tile(m, &r, from, to, y, &room, err);
    }
    free(room);
    return ok;
}

static bool
mosaic_read(const void *of, uint64_t at, void *buf, size_t n, struct err *err)
{
    const struct mosaic *m = of;
    uint8_t *y = buf;
    bool ok = true;
    for (size_t i = search_end_after(m, m->n, end_of_placed, at); ok && n != 0; i++) {
        const struct mosaic_placed *t = &m->tensor[i];
        size_t some = (size_t)num_min(n, t->at + t->nbytes - at);
        if (some != 0)
            ok = mosaic_read_tensor(m, t, at - t->at, at - t->at + some, y, err);
        y += some;
        at += some;
        n -= some;
    }
    return ok;
}

/* A tile of short rows is dropped with the last of them. */
static void
mosaic_drop(const void *of, uint64_t from, uint64_t to)
{
    const struct mosaic *m = of;
    for (size_t i = search_end_after(m, m->n, end_of_placed, from); i < m->n && m->tensor[i].at < to; i++) {
        const struct mosaic_placed *t = &m->tensor[i];
        uint64_t a = num_max(from, t->at) - t->at, b = num_min(to - t->at, t->nbytes);
        for (size_t k = first_tile(m, t, a); k < t->n && tile_at(m, t, k)->begin < b; k++) {
            const struct placed_tile *tile = tile_at(m, t, k);
            const struct tile_rows r = rows_of(t, tile);
            if (tile->layout || tile_end(t, tile) <= a)
                continue;
            if (r.count == 1)
                source_drop(m->files[tile->file], tile->at + num_max(a, tile->begin) - tile->begin,
                    tile->at + num_min(b, tile->begin + r.run) - tile->begin);
            else
                source_drop(m->files[tile->file], tile->at + row_after(&r, a) * r.run, tile->at + row_after(&r, b) * r.run);
        }
    }
}

/* --- where tiles lie */

static uint64_t
begin_of_placed(const void *of, size_t i)
{
    return ((const struct mosaic *)of)->tensor[i].at + 1;
}

/* Returns the tensor of the mosaic that is this one of the catalog. Of empty ones, which share a place, any has no tiles. */
static const struct mosaic_placed *
placed_of(const struct mosaic *m, const struct tensor *t)
{
    for (size_t k = search_end_after(m, m->n, begin_of_placed, t->extent.at); k < m->n && m->tensor[k].at == t->extent.at; k++)
        if (m->tensor[k].nbytes == t->extent.nbytes)
            return &m->tensor[k];
    return NULL;
}

/* Returns the number of bytes that a tile has before byte `at` of its tensor. */
static uint64_t
bytes_before(const struct tile_rows *r, uint64_t at)
{
    uint64_t i = row_after(r, at), n = i * r->run;
    if (i < r->count && row_at(r, i) < at)
        n += at - row_at(r, i);
    return n;
}

static bool
mosaic_next_tile(const void *of, const struct tensor *t, uint64_t from, uint64_t to, size_t *i, struct catalog_tile *tile)
{
    const struct mosaic *m = of;
    const struct mosaic_placed *p = placed_of(m, t);
    if (!p || *i >= p->n)
        return false;
    for (size_t k = num_max(*i, first_tile(m, p, from)); k < p->n && tile_at(m, p, k)->begin < to; k++) {
        const struct placed_tile *this = tile_at(m, p, k);
        const struct tile_rows r = rows_of(p, this);
        uint64_t a = bytes_before(&r, from), b = bytes_before(&r, to);
        if (a == b)
            continue;
        *tile = (struct catalog_tile){ .file = this->file, .at = this->at + a, .nbytes = b - a, .skip = a, .from = this->box,
            .size = this->box + p->axes, .axes = p->axes, .gaps = this->layout != NULL, .crc = this->crc, .whole = r.run * r.count };
        if (tile->gaps) {
            tile->at = this->at;
            tile->nbytes = r.run * r.count;
        }
        *i = k + 1;
        return true;
    }
    return false;
}

static uint64_t
mosaic_place(const void *of, const struct tensor *t, size_t i, uint64_t byte, uint64_t *run)
{
    const struct mosaic *m = of;
    const struct mosaic_placed *p = placed_of(m, t);
    const struct tile_rows r = rows_of(p, tile_at(m, p, i));
    *run = r.run - byte % r.run;
    return row_at(&r, byte / r.run) + byte % r.run;
}

/* --- the file */

static void
mosaic_close(void *of)
{
    mosaic_free(of);
}

bool
mosaic_source(struct source **src, struct mosaic *m, struct source *const *files, uint32_t n, const char *shown, struct err *err)
{
    const struct made_bytes made = { .read = mosaic_read, .drop = mosaic_drop, .close = mosaic_close, .of = m };
    const struct catalog_tiles tiles = { .next = mosaic_next_tile, .place = mosaic_place, .of = m, .file = n };
    m->files = mosaic_copy(m, files, n * sizeof *files, err);
    if (!m->files)
        return false;
    for (size_t i = 0; i < m->n; i++) {
        const struct mosaic_placed *p = &m->tensor[i];
        const struct tensor t = { .name = p->name, .name_len = p->name_len, .dtype = p->dtype,
            .shape = { .rank = p->rank, .packed = p->packed }, .extent = { .file = n, .at = p->at, .nbytes = p->nbytes } };
        if (!catalog_add(m->catalog, &t, err))
            return false;
    }
    return catalog_add_tiles(m->catalog, &tiles, err) && source_of_made(src, &made, m->size, shown, err);
}
