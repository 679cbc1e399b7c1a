#include "pipeline/block.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"

enum {
    PART_ALIGN = 64,            /* parts in the window start at multiples of a cache line */
    ELEM_MAX = 8                /* bytes of the widest element */
};

bool
bench_init(struct bench *b, size_t block, struct err *err)
{
    void *p;
    size_t n = block + BLOCK_WINDOW + BLOCK_SPARE;
    if (posix_memalign(&p, 4096, n) != 0)
        return err_memory(err, n);
    b->out = p;
    b->in = b->out + block;
    b->spare = b->in + BLOCK_WINDOW;
    return true;
}

void
bench_clear(struct bench *b)
{
    free(b->out);
    b->out = NULL;
}

/* Bytes of a tensor that no other block needs; where the output leaves the page cache alone, so do they. */
static bool
read_once(const struct pipeline *p, const struct extent *e, uint64_t from, uint8_t *y, uint64_t n, struct err *err)
{
    struct source *src = p->model->src[e->file];
    if (!source_read(src, e->at + from, y, (size_t)n, err))
        return false;
    if (sink_is_direct(p->sink))
        source_drop(src, e->at + from, e->at + from + n);
    return true;
}

/* The spans of all parts for a run of elements; the bytes they take in the window. */
static uint64_t
find_spans(const struct weight *w, struct span spans[SCHEME_PARTS], uint64_t first, uint64_t count)
{
    uint64_t total = 0;
    for (unsigned p = 0; p < SCHEME_PARTS; p++) {
        w->scheme->span(&spans[p], w, p, first, count);
        total += (spans[p].len * spans[p].count + PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN;
    }
    return total;
}

static bool
read_spans(const struct pipeline *p, const struct weight *w, const struct span spans[SCHEME_PARTS], uint8_t *window,
    uint8_t *in[SCHEME_PARTS], struct err *err)
{
    for (unsigned part = 0; part < SCHEME_PARTS; part++) {
        const struct span *s = &spans[part];
        in[part] = window;
        for (uint64_t i = 0; i < s->count; i++) {
            const struct extent *e = &w->part[part]->extent;
            uint64_t at = s->at + i * s->stride;
            uint8_t *to = window + i * s->len;
            if (!(part == 0 ? read_once(p, e, at, to, s->len, err)
                    : source_read(p->model->src[e->file], e->at + at, to, s->len, err)))
                return false;
        }
        window += (s->len * s->count + PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN;
    }
    return true;
}

static uint64_t
count_infinite(const uint8_t *y, uint64_t n)
{
    uint64_t infinite = 0;
    for (uint64_t i = 0; i < n; i++)
        infinite += (load_le16(y + 2 * i) & 0x7FFF) == 0x7C00;
    return infinite;
}

/* Decode elements [first, first + count) of a weight to y, as many at a time as the window holds. */
static bool
decode_run(const struct pipeline *p, struct bench *b, const struct weight *w, enum dtype to, uint64_t first,
    uint64_t count, uint8_t *y, struct err *err)
{
    size_t size = dtype_facts(to)->bytes;
    bool crooked = (uintptr_t)y % size != 0;        /* kernels store whole elements */
    while (count != 0) {
        struct span spans[SCHEME_PARTS];
        uint8_t *in[SCHEME_PARTS];
        uint64_t n = crooked ? num_min(count, BLOCK_SPARE / size) : count;
        while (find_spans(w, spans, first, n) > BLOCK_WINDOW)
            if ((n /= 2) == 0)
                return err_set(err, ERR_BUG, w->part[0]->extent.at, "one element needs more than the window");
        if (!read_spans(p, w, spans, b->in, in, err))
            return false;
        w->scheme->decode(w, p->kernels, in, first, n, to, crooked ? b->spare : y);
        if (crooked)
            memcpy(y, b->spare, (size_t)n * size);
        if (to == DTYPE_F16)
            b->infinite += count_infinite(y, n);
        y += n * size;
        first += n;
        count -= n;
    }
    return true;
}

/* Elements [first, first + count) of a big-endian tensor, turned around. */
static bool
swap_run(const struct pipeline *p, const struct tensor *t, uint64_t first, uint64_t count, uint8_t *y, struct err *err)
{
    const struct dtype_facts *f = dtype_facts(t->dtype);
    size_t n = (size_t)count * f->bytes;
    if (!read_once(p, &t->extent, first * f->bytes, y, n, err))
        return false;
    bytes_swap(y, f->word, n / f->word);
    return true;
}

static bool
element_run(const struct pipeline *p, struct bench *b, const struct step *step, enum dtype to, uint64_t first,
    uint64_t count, uint8_t *y, struct err *err)
{
    return step->decode ? decode_run(p, b, step->decode, to, first, count, y, err)
        : swap_run(p, step->copy, first, count, y, err);
}

/* Bytes [from, to) of an output tensor; the first and the last element may be cut. */
static bool
tensor_bytes(const struct pipeline *p, struct bench *b, size_t i, uint64_t from, uint64_t to, uint8_t *y,
    struct err *err)
{
    const struct step *step = plan_step(p->plan, i);
    const struct tensor *copy = step->copy;
    if (copy && !(copy->big_endian && dtype_facts(copy->dtype)->word > 1))
        return read_once(p, &copy->extent, from, y, to - from, err);
    enum dtype type = catalog_at(plan_output(p->plan), i)->dtype;
    uint64_t size = dtype_facts(type)->bytes;
    _Alignas(ELEM_MAX) uint8_t one[ELEM_MAX];
    if (from % size != 0) {
        uint64_t skip = from % size, n = num_min(size - skip, to - from);
        if (!element_run(p, b, step, type, from / size, 1, one, err))
            return false;
        memcpy(y, one + skip, (size_t)n);
        y += n;
        from += n;
    }
    uint64_t whole = (to - from) / size, rest = (to - from) % size;
    if (whole != 0 && !element_run(p, b, step, type, from / size, whole, y, err))
        return false;
    if (rest == 0)
        return true;
    if (!element_run(p, b, step, type, from / size + whole, 1, one, err))
        return false;
    memcpy(y + whole * size, one, (size_t)rest);
    return true;
}

bool
block_make(const struct pipeline *p, struct bench *b, uint64_t from, uint64_t to, struct err *err)
{
    uint8_t *y = b->out;
    if (from < p->header_len) {
        size_t n = (size_t)(num_min(to, p->header_len) - from);
        memcpy(y, p->header + from, n);
        y += n;
        from += n;
    }
    for (size_t i = from < to ? plan_find(p->plan, from - p->header_len) : 0; from < to; i++) {
        const struct extent *e = &catalog_at(plan_output(p->plan), i)->extent;
        uint64_t start = p->header_len + e->at, end = num_min(to, start + e->nbytes);
        if (from >= end)
            continue;           /* no elements */
        if (!tensor_bytes(p, b, i, from - start, end - start, y, err))
            return false;
        y += end - from;
        from = end;
    }
    return true;
}
