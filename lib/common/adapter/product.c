#include "adapter/product.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"

enum { SLAB = 64 << 10 };               /* floats of a factor that are read at a time */

/* The source of a resident R. */
struct right {
    const struct change_owner *owner;
    const struct product *p;
};

/* Reads R and arranges it in panels. */
static bool
load_plain(const struct right *of, float *p, float *x, size_t some, struct err *err)
{
    size_t rank = (size_t)of->p->rank, cols = (size_t)of->p->cols;
    for (size_t k = 0, n; k < rank; k += n) {
        n = num_min(some, rank - k);
        if (!factor_read(of->owner->model, of->owner->k, &of->p->r, k, n, cols, x, err))
            return false;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < cols; j++)
                p[lowrank_at(rank, k + i, j)] = x[i * cols + j];
    }
    return true;
}

/* Makes row k of R from row k of the core and all of b. */
static void
make_row(const struct product *of, float *p, size_t k, const float *core, const float *b)
{
    size_t nx = (size_t)of->positions, nq = (size_t)of->cols / nx, inner = (size_t)of->inner, rank = (size_t)of->rank;
    for (size_t q = 0; q < nq; q++)
        for (size_t x = 0; x < nx; x++) {
            double t = 0;
            for (size_t j = 0; j < inner; j++)
                t += (double)core[j * nx + x] * (double)b[j * nq + q];
            p[lowrank_at(rank, k, q * nx + x)] = (float)t;
        }
}

static bool
load_core(const struct right *of, float *p, float *core, float *b, struct err *err)
{
    const struct change_owner *o = of->owner;
    size_t row = (size_t)(of->p->inner * of->p->positions);
    bool ok = factor_read(o->model, o->k, &of->p->r, 0, (size_t)of->p->inner, (size_t)(of->p->cols / of->p->positions), b, err);
    for (size_t k = 0; ok && k < of->p->rank; k++) {
        ok = factor_elements(o->model, o->k, of->p->core, k * row, row, core, err);
        if (ok)
            make_row(of->p, p, k, core, b);
    }
    return ok;
}

static bool
load_right(const void *of_right, uint64_t part, float *p, struct err *err)
{
    (void)part;
    const struct right *of = of_right;
    size_t rank = (size_t)of->p->rank, cols = (size_t)of->p->cols;
    size_t some = num_min(rank, num_max(SLAB / num_max(cols, 1), 1)), core = (size_t)(of->p->inner * of->p->positions);
    size_t n;
    if (of->p->core)
        n = core + (size_t)of->p->inner * cols / (size_t)of->p->positions;
    else
        n = some * cols;
    float *x = malloc(n * sizeof *x);
    if (!x)
        return err_memory(err, n * sizeof *x);
    bool ok;
    if (of->p->core)
        ok = load_core(of, p, x, x + core, err);
    else
        ok = load_plain(of, p, x, some, err);
    free(x);
    return ok;
}

bool
product_fits(const struct product *p, uint64_t most)
{
    uint64_t floats, more = 0;
    most = num_min(most, SIZE_MAX / 8) / sizeof(float);
    return num_mul(&floats, p->rank, num_max(p->cols, LOWRANK_PANEL)) && floats <= most && p->rank <= most
        && (!p->core || (num_mul(&more, p->inner, p->cols) && more <= most && num_mul(&more, p->inner, p->positions)
            && more <= most));
}

/* Makes some rows of the product; l and narrow have room for rows of L. */
static bool
make_rows(const struct change_owner *o, const struct product *p, const struct product_part *part, const float *r, double *l,
    float *narrow, const double *s, struct err *err)
{
    size_t rank = (size_t)p->rank, n = part->rows * rank;
    if (!factor_read(o->model, o->k, &p->l, part->row, part->rows, rank, narrow, err))
        return false;
    for (size_t i = 0; i < n; i++)
        l[i] = narrow[i];
    const struct lowrank of = { l, r, rank, part->rows, (size_t)part->col, part->cols, s ? *s : 0 };
    if (part->codes)
        o->k->lowrank_merge(part->codes, part->stride, &of, part->sums);
    else if (s)
        o->k->lowrank_add(part->v, part->stride, &of);
    else
        o->k->lowrank_product(part->v, part->stride, &of);
    return true;
}

/* Makes the product a few rows at a time; adds it with *s if s is not NULL. */
static bool
product_make(const struct change_owner *o, const struct product *p, struct product_part part, const double *s, struct err *err)
{
    const struct right right = { o, p };
    const struct cache_fill fill = { lowrank_floats((size_t)p->rank, (size_t)p->cols), 1, load_right, NULL, &right };
    size_t rank = (size_t)p->rank, end = part.rows, some = num_min(part.rows, num_max(SLAB / rank, 6)), n = some * rank;
    float *narrow = malloc(n * sizeof *narrow);
    double *l = malloc(n * sizeof *l);
    bool ok = (narrow && l) || err_memory(err, n * sizeof *l);
    const float *r = NULL;
    if (ok)
        r = cache_take(o->resident, p, &fill, err);
    ok = r != NULL;
    for (size_t i = 0; ok && i < end; i += some) {
        part.rows = num_min(some, end - i);
        ok = make_rows(o, p, &part, r, l, narrow, s, err);
        part.row += part.rows;
        if (part.codes)
            part.codes += part.rows * part.stride * PRODUCT_CODE;
        else
            part.v += part.rows * part.stride;
    }
    if (r)
        cache_release(o->resident, r);
    free(narrow);
    free(l);
    return ok;
}

bool
product_set(const struct change_owner *o, const struct product *p, const struct product_part *part, struct err *err)
{
    return product_make(o, p, *part, NULL, err);
}

bool
product_add(const struct change_owner *o, const struct product *p, const struct product_part *part, double s, struct err *err)
{
    return product_make(o, p, *part, &s, err);
}
