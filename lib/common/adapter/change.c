#include "adapter/change.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"

/* A part of a run: `rows` rows from `row` on, columns [col, col + cols), whose elements are at v, one row after each `stride`. */
struct change_rect {
    uint64_t row, col;
    size_t rows, cols, stride;
    double *v;
};

/* How a step changes elements. */
struct change_form {
    bool (*apply)(const struct change *c, const struct change_step *step, const struct change_rect *rect, struct err *err);
};

/* --- low rank */

/* The source of a resident R. */
struct change_right {
    const struct change *c;
    const struct change_step *step;
};

enum { SLAB = 64 << 10 };               /* floats of R that are read at a time */

/* Reads R and arranges it in panels. */
static bool
load_right(const void *of_right, float *p, struct err *err)
{
    const struct change_right *of = of_right;
    const struct change_owner *owner = of->c->owner;
    size_t rank = (size_t)of->step->rank, cols = (size_t)of->c->cols;
    size_t some = num_min(rank, num_max(SLAB / num_max(cols, 1), 1));
    float *x = malloc(some * cols * sizeof *x);
    if (!x)
        return err_memory(err, some * cols * sizeof *x);
    memset(p, 0, lowrank_floats(rank, cols) * sizeof *p);
    bool ok = true;
    for (size_t k = 0; ok && k < rank; k += some) {
        size_t n = num_min(some, rank - k);
        ok = factor_read(owner->model, owner->k, &of->step->r, k, n, cols, x, err);
        for (size_t i = 0; ok && i < n; i++)
            for (size_t j = 0; j < cols; j++)
                p[lowrank_at(rank, k + i, j)] = x[i * cols + j];
    }
    free(x);
    return ok;
}

static bool
apply_lowrank(const struct change *c, const struct change_step *step, const struct change_rect *rect, struct err *err)
{
    const struct change_owner *owner = c->owner;
    size_t rank = (size_t)step->rank, n = rect->rows * rank;
    const struct change_right right = { c, step };
    float *narrow = malloc(n * sizeof *narrow);
    double *l = malloc(n * sizeof *l);
    const float *r = NULL;
    bool ok = (narrow && l) || err_memory(err, n * sizeof *l);
    ok = ok && factor_read(owner->model, owner->k, &step->l, rect->row - step->row, rect->rows, rank, narrow, err)
        && (r = residents_take(owner->residents, step, lowrank_floats(rank, (size_t)c->cols), load_right, &right, err)) != NULL;
    for (size_t i = 0; ok && i < n; i++)
        l[i] = narrow[i];
    if (ok) {
        const struct lowrank p = { l, r, rank, rect->rows, (size_t)rect->col, rect->cols, step->s };
        owner->k->lowrank_add(rect->v, rect->stride, &p);
        residents_release(owner->residents, r);
    }
    free(narrow);
    free(l);
    return ok;
}

const struct change_form change_lowrank = { apply_lowrank };

/* --- element by element */

static bool
apply_add(const struct change *c, const struct change_step *step, const struct change_rect *rect, struct err *err)
{
    enum { FEW = 512 };
    float x[FEW];
    bool whole = rect->cols == c->cols && rect->stride == c->cols;      /* then all rows are one run */
    const size_t rows = whole ? 1 : rect->rows, cols = whole ? rect->rows * rect->cols : rect->cols;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0, some; j < cols; j += some) {
            uint64_t at = (rect->row - step->row + i) * c->cols + rect->col + j;
            double *v = rect->v + i * rect->stride + j;
            some = num_min(cols - j, FEW);
            if (!factor_elements(c->owner->model, c->owner->k, step->l.t, step->l.first + at, some, x, err))
                return false;
            for (size_t e = 0; e < some; e++) {
                double product = step->s * (double)x[e];
                v[e] += product;
            }
        }
    return true;
}

const struct change_form change_add = { apply_add };

/* --- the whole */

/* Applies a step to the rows of a rectangle that it changes. */
static bool
apply_step(const struct change *c, const struct change_step *step, struct change_rect rect, struct err *err)
{
    uint64_t from = num_max(rect.row, step->row), to = num_min(rect.row + rect.rows, step->row + step->rows);
    if (from >= to)
        return true;
    rect.v += (from - rect.row) * rect.stride;
    rect.row = from;
    rect.rows = (size_t)(to - from);
    return step->form->apply(c, step, &rect, err);
}

/* Cuts a run into rectangles: the rest of a row, whole rows, the beginning of a row. */
static bool
apply(const struct delta *delta, const struct delta_run *run, struct err *err)
{
    const struct change *c = (const struct change *)delta;
    const uint64_t end = run->first + run->n;
    for (uint64_t at = run->first, n; at < end; at += n) {
        struct change_rect rect = { at / c->cols, at % c->cols, 1, 0, (size_t)c->cols, run->v + (at - run->first) };
        n = num_min(c->cols - rect.col, end - at);
        if (rect.col == 0 && n == c->cols)
            n = (rect.rows = (size_t)((end - at) / c->cols)) * c->cols;
        rect.cols = (size_t)(rect.rows > 1 ? c->cols : n);
        for (size_t i = 0; i < c->n; i++)
            if (!apply_step(c, &c->step[i], rect, err))
                return false;
    }
    return true;
}

static const struct tensor *
input(const struct delta *delta, size_t i)
{
    const struct change *c = (const struct change *)delta;
    for (size_t k = 0; k < c->n; k++) {
        size_t n = c->step[k].r.t ? CHANGE_INPUTS : 1;
        if (i < n)
            return i == 0 ? c->step[k].l.t : c->step[k].r.t;
        i -= n;
    }
    return NULL;
}

struct change *
change_new(const struct change_owner *owner, enum dtype dtype, struct err *err)
{
    struct change *c = calloc(1, sizeof *c);
    if (!c) {
        err_memory(err, sizeof *c);
        return NULL;
    }
    *c = (struct change){ .delta = { .apply = apply, .input = input, .from = dtype == DTYPE_F64 ? DTYPE_F64 : DTYPE_F32 },
        .owner = owner };
    return c;
}

void
change_free(struct change *c)
{
    if (!c)
        return;
    free(c->step);
    free(c);
}

/* Mixes a number into the fingerprint. */
static void
mix(uint64_t *hash, uint64_t x)
{
    *hash = (*hash ^ x) * 0x9E3779B97F4A7C15u;
    *hash ^= *hash >> 29;
}

static void
mix_factor(uint64_t *hash, const struct factor *f)
{
    const uint64_t facts[] = { f->t ? f->t->extent.file : 0, f->t ? f->t->extent.at : 0, f->t ? f->t->dtype : 0, f->first, f->di,
        f->dk };
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        mix(hash, facts[i]);
}

bool
change_step_add(struct change *c, const struct change_step *step, struct err *err)
{
    uint64_t s;
    struct change_step *list = array_grow(c->step, c->n, &c->room, sizeof *list, err);
    if (!list)
        return false;
    c->step = list;
    list[c->n++] = *step;
    memcpy(&s, &step->s, sizeof s);
    mix(&c->delta.fingerprint, s);
    mix(&c->delta.fingerprint, step->row);
    mix(&c->delta.fingerprint, step->rows);
    mix(&c->delta.fingerprint, step->form == &change_add);
    mix_factor(&c->delta.fingerprint, &step->l);
    mix_factor(&c->delta.fingerprint, &step->r);
    return true;
}
