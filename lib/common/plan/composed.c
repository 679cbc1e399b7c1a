#include "plan/composed.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "base/real.h"
#include "base/search.h"
#include "dtype/half.h"

/* --- order */

void
strided_init(struct strided *s, const uint64_t *dim, uint32_t rank)
{
    uint64_t stride = 1;
    s->first = 0;
    s->layout.rank = rank;
    for (uint32_t i = rank; i-- > 0; stride *= dim[i])
        s->layout.dim[i] = (struct layout_dim){ dim[i], stride };
}

bool
strided_split(struct strided *s, uint32_t d, const uint64_t *n, uint32_t parts)
{
    struct layout *l = &s->layout;
    uint64_t stride = l->dim[d].stride, all = 1;
    for (uint32_t i = 0; i < parts; i++)
        if (!num_mul(&all, all, n[i]))
            return false;
    if (all != l->dim[d].n || parts == 0 || l->rank + parts - 1 > LAYOUT_RANK)
        return false;
    memmove(&l->dim[d + parts], &l->dim[d + 1], (l->rank - d - 1) * sizeof *l->dim);
    for (uint32_t i = parts; i-- > 0; stride *= n[i])
        l->dim[d + i] = (struct layout_dim){ n[i], stride };
    l->rank += parts - 1;
    return true;
}

void
strided_permute(struct strided *s, uint32_t d, const uint32_t *from, uint32_t n)
{
    const struct layout was = s->layout;
    for (uint32_t i = 0; i < n; i++)
        s->layout.dim[d + i] = was.dim[d + from[i]];
}

bool
strided_slice(struct strided *s, uint32_t d, uint64_t from, uint64_t n)
{
    struct layout_dim *dim = &s->layout.dim[d];
    if (from > dim->n || n > dim->n - from)
        return false;
    s->first += from * dim->stride;
    dim->n = n;
    return true;
}

bool
strided_units(struct strided *s, uint32_t elems)
{
    struct layout *l = &s->layout;
    uint32_t last = l->rank;
    while (last != 0 && l->dim[last - 1].n == 1)
        last--;
    if (last == 0 || l->dim[last - 1].stride != 1 || l->dim[last - 1].n % elems != 0 || s->first % elems != 0)
        return false;
    for (uint32_t i = 0; i + 1 < last; i++)
        if (l->dim[i].n != 1 && l->dim[i].stride % elems != 0)
            return false;
    for (uint32_t i = 0; i + 1 < last; i++)
        l->dim[i].stride /= elems;
    l->dim[last - 1].n /= elems;
    l->rank = last;
    s->first /= elems;
    return true;
}

/* --- arithmetic */

struct operation
operation_inverse(struct operation operation)
{
    switch (operation.kind) {
    case OPERATION_ADD:             return (struct operation){ OPERATION_ADD, -operation.value };
    case OPERATION_MULTIPLY:        return (struct operation){ OPERATION_DIVIDE, operation.value };
    case OPERATION_DIVIDE:          return (struct operation){ OPERATION_MULTIPLY, operation.value };
    case OPERATION_NEGATIVE_EXP:    return (struct operation){ .kind = OPERATION_LOG_NEGATIVE };
    default:                        return (struct operation){ .kind = OPERATION_NEGATIVE_EXP };
    }
}

static float
composed_apply(struct operation op, float x)
{
    switch (op.kind) {
    case OPERATION_ADD:             return x + op.value;
    case OPERATION_MULTIPLY:        return x * op.value;
    case OPERATION_DIVIDE:          return x / op.value;
    case OPERATION_NEGATIVE_EXP:    return -real_exp(x);
    default:                        return real_log(-x);
    }
}

void
operations_apply(const struct operation *op, size_t nops, float *x, size_t n, bool half)
{
    for (size_t k = 0; k < nops; k++)
        for (size_t i = 0; i < n; i++) {
            x[i] = composed_apply(op[k], x[i]);
            if (half)
                x[i] = half_to_float(half_of_float(x[i]));
        }
}

/* --- parts */

/* Finds the layout without dimensions of one element, and with contiguous ones merged: NULL if the result is contiguous.
 * Returns false on failure. */
static bool
merge(const struct layout **layout, const struct layout *of, struct catalog *memory, struct err *err)
{
    uint64_t n[LAYOUT_RANK], stride[LAYOUT_RANK];
    struct layout merged;
    for (uint32_t i = 0; i < of->rank; i++) {
        n[i] = of->dim[i].n;
        stride[i] = of->dim[i].stride;
    }
    layout_make(&merged, n, stride, of->rank);
    *layout = NULL;
    if (layout_is_plain(&merged))
        return true;
    void *copy = catalog_alloc(memory, layout_size(&merged), err);
    *layout = copy;
    return copy && memcpy(copy, &merged, layout_size(&merged));
}

/* Replaces the part by a tensor that has its layout. */
static bool
set_layout(struct composed_part *part, struct catalog *memory, struct err *err)
{
    struct tensor *t = catalog_alloc(memory, sizeof *t, err);
    uint64_t size = dtype_facts(part->copy->dtype)->bytes;
    if (!t)
        return false;
    *t = *part->copy;
    t->layout = part->layout;
    t->extent.at += part->first * size;
    t->extent.nbytes = part->end * size;
    *part = (struct composed_part){ .copy = t, .end = part->end };
    return true;
}

/* Finds whole transposed matrices that contain a transposed part whose rows are not adjacent in them: every second row of a
 * matrix with interleaved rows. Sets the layout of the matrices, and the rows of these that the part selects. */
static bool
find_rows(struct layout *whole, struct layout *rows, uint64_t *first, const struct composed_part *part)
{
    const struct layout *l = part->layout;
    uint32_t n = l->rank;
    uint64_t numel, cols = l->dim[n - 1].n, units = l->dim[n - 1].stride, matrix;
    if (n < 2 || l->dim[n - 2].stride <= 1 || l->dim[n - 2].stride >= units || !shape_numel(&part->copy->shape, &numel)
            || !num_mul(&matrix, cols, units) || numel % matrix != 0)
        return false;
    uint64_t at = part->first % matrix;
    *rows = *l;
    for (uint32_t i = 0; i + 2 < n; i++)
        if (l->dim[i].stride % matrix != 0)
            return false;
    if (at >= units || (l->dim[n - 2].n - 1) * l->dim[n - 2].stride >= units - at)
        return false;
    layout_make(whole, (const uint64_t[]){ numel / matrix, units, cols }, (const uint64_t[]){ matrix, 1, units }, 3);
    rows->dim[n - 2].stride *= cols;
    rows->dim[n - 1].stride = 1;
    *first = part->first - at + at * cols;
    return true;
}

/* Replaces the part by rows of transposed matrices, which the pipeline reads in panels. */
static bool
set_rows(struct composed_part *part, struct catalog *memory, struct err *err)
{
    struct layout whole, rows;
    uint64_t first;
    if (!find_rows(&whole, &rows, &first, part))
        return set_layout(part, memory, err);
    struct tensor *t = catalog_alloc(memory, sizeof *t, err);
    void *w = catalog_alloc(memory, layout_size(&whole), err), *r = catalog_alloc(memory, layout_size(&rows), err);
    if (!t || !w || !r)
        return false;
    *t = *part->copy;
    t->layout = memcpy(w, &whole, layout_size(&whole));
    *part = (struct composed_part){ .copy = t, .first = first, .layout = memcpy(r, &rows, layout_size(&rows)), .end = part->end };
    return true;
}

bool
composed_part_make(struct composed_part *part, const struct tensor *copy, const struct weight *decode,
    const struct strided *s, struct catalog *memory, struct err *err)
{
    const struct layout *layout;
    *part = (struct composed_part){ .copy = copy, .decode = decode, .first = s->first, .end = 1 };
    for (uint32_t i = 0; i < s->layout.rank; i++)
        part->end *= s->layout.dim[i].n;
    if (!merge(&layout, &s->layout, memory, err))
        return false;
    part->layout = layout;
    return !layout || !copy || copy->layout || copy->changed || layout->dim[layout->rank - 1].stride == 1 || set_rows(part, memory, err);
}

static uint64_t
composed_end_of(const void *of, size_t i)
{
    const struct composed *composed = of;
    return composed->part[i].end;
}

size_t
composed_size(const struct composed *composed, enum dtype dtype)
{
    if (composed->n != 0 && composed->part[0].repack)
        return repack_facts(composed->part[0].repack->kind)->out;
    return dtype_facts(dtype)->bytes;
}

size_t
composed_find(const struct composed *composed, uint64_t element)
{
    return search_end_after(composed, composed->n, composed_end_of, composed->period != 0 ? element % composed->period : element);
}

uint64_t
composed_begin(const struct composed *composed, size_t part)
{
    if (part != 0)
        return composed->part[part - 1].end;
    return 0;
}

uint64_t
composed_run_length(const struct composed *composed, uint64_t element)
{
    uint64_t place = element;
    if (composed->period != 0)
        place = element % composed->period;
    return composed->part[composed_find(composed, element)].end - place;
}

bool
composed_part_range(const struct composed *composed, size_t part, uint64_t first, uint64_t last, uint64_t *from,
    uint64_t *to)
{
    uint64_t begin = composed_begin(composed, part), end = composed->part[part].end, run = end - begin;
    uint64_t period = composed->period;
    if (period == 0) {
        *from = num_max(first, begin) - begin;
        *to = num_max(num_min(last, end), begin) - begin;
    } else {
        *from = first / period * run + (num_min(num_max(first % period, begin), end) - begin);
        *to = last / period * run + (num_min(num_max(last % period, begin), end) - begin);
    }
    return *from < *to;
}

/* A part that is being read. */
struct composed_walk {
    const struct composed_part *part;
    size_t number, size, room;  /* room: bytes of the tile */
    uint8_t *tile;
    composed_read *read;
    void *of;
};

/* Makes at most n elements, starting at place `at`, of a matrix that is stored transposed: whole rows, or some of one. Reads as
 * much of each stored row as fits the tile. Returns how many elements were made; 0 is a failure. */
static uint64_t
run_transposed(const struct composed_walk *w, uint64_t at, uint64_t n, uint8_t *y, struct err *err)
{
    const struct layout *l = w->part->layout;
    const struct layout_dim cols = l->dim[l->rank - 1];
    uint64_t room = w->room / w->size, col = at % cols.n, rows = 1;
    if (l->rank > 1 && l->dim[l->rank - 2].stride == 1 && col == 0 && n >= cols.n && room >= cols.n)
        rows = num_min(l->dim[l->rank - 2].n - at / cols.n % l->dim[l->rank - 2].n, num_min(n, room) / cols.n);
    uint64_t width = num_min(num_min(cols.n - col, n), room), from = w->part->first + layout_at(l, at);
    for (uint64_t c = 0; c < width; c++) {
        if (!w->read(w->of, w->number, from + c * cols.stride, rows, w->tile, err))
            return 0;
        for (uint64_t r = 0; r < rows; r++)
            memcpy(y + (r * width + c) * w->size, w->tile + r * w->size, w->size);
    }
    return rows * width;
}

/* Makes at most n elements of a part, starting at place `at`. Returns how many; 0 is a failure. */
static uint64_t
run_part(const struct composed_walk *w, uint64_t at, uint64_t n, uint8_t *y, struct err *err)
{
    const struct layout *l = w->part->layout;
    if (l && l->dim[l->rank - 1].stride != 1)
        return run_transposed(w, at, n, y, err);
    if (l)
        n = num_min(n, l->dim[l->rank - 1].n - at % l->dim[l->rank - 1].n);
    if (w->read(w->of, w->number, w->part->first + (l ? layout_at(l, at) : at), n, y, err))
        return n;
    return 0;
}

/* Makes n elements of a part, starting at place `at`. */
static bool
run_all(const struct composed_walk *w, uint64_t at, uint64_t n, uint8_t *y, struct err *err)
{
    for (uint64_t run; n != 0; at += run, n -= run, y += run * w->size)
        if ((run = run_part(w, at, n, y, err)) == 0)
            return false;
    return true;
}

/* Makes whole periods, starting with period `at`: reads what each part has of all of them at once, and scatters it. Returns
 * how many; 0 is a failure. */
static uint64_t
run_periods(struct composed_walk *w, const struct composed *composed, uint64_t at, uint64_t n, uint8_t *y, struct err *err)
{
    enum { HALF = COMPOSED_TILE / 2 };
    const size_t size = w->size, period = (size_t)composed->period * size;
    uint8_t *buf = w->tile;
    n = num_min(n, HALF / period);
    w->tile += HALF;
    w->room = HALF;
    bool ok = true;
    for (w->number = 0; ok && w->number < composed->n; w->number++) {
        size_t begin = (size_t)composed_begin(composed, w->number) * size, run;
        w->part = &composed->part[w->number];
        run = (size_t)w->part->end * size - begin;
        ok = run_all(w, at * (run / size), n * (run / size), buf, err);
        for (uint64_t k = 0; ok && k < n; k++)
            memcpy(y + k * period + begin, buf + k * run, run);
    }
    w->tile = buf;
    w->room = COMPOSED_TILE;
    if (ok)
        return n;
    return 0;
}

/* Makes elements of parts that alternate. */
static bool
run_alternating(struct composed_walk *w, const struct composed *composed, uint64_t first, uint64_t n, uint8_t *y,
    struct err *err)
{
    uint64_t period = composed->period, few = COMPOSED_TILE / 16 / w->size;
    for (uint64_t run; n != 0; first += run, n -= run, y += run * w->size) {
        if (first % period == 0 && n >= period && period <= few) {
            if ((run = period * run_periods(w, composed, first / period, n / period, y, err)) == 0)
                return false;
            continue;
        }
        w->number = composed_find(composed, first);
        w->part = &composed->part[w->number];
        uint64_t begin = composed_begin(composed, w->number), of_part = w->part->end - begin;
        run = num_min(n, w->part->end - first % period);
        if (!run_all(w, first / period * of_part + first % period - begin, run, y, err))
            return false;
    }
    return true;
}

bool
composed_run(const struct composed *composed, uint64_t first, uint64_t n, size_t size, uint8_t *y, uint8_t *tile,
    composed_read *read, void *of, struct err *err)
{
    struct composed_walk w = { .size = size, .room = COMPOSED_TILE, .tile = tile, .read = read, .of = of };
    if (composed->n == 0) {
        memcpy(y, (const uint8_t *)composed->numbers + first * size, (size_t)n * size);
        return true;
    }
    if (composed->period != 0)
        return run_alternating(&w, composed, first, n, y, err);
    uint64_t run;
    for (w.number = composed_find(composed, first); n != 0; w.number++, first += run, n -= run, y += run * size) {
        w.part = &composed->part[w.number];
        run = num_min(n, w.part->end - first);
        if (!run_all(&w, first - composed_begin(composed, w.number), run, y, err))
            return false;
    }
    return true;
}
