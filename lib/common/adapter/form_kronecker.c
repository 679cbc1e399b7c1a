/* LoKr: v + s * (w1 * w2), where w1 has an element for each block of w2's size. w1 is held in memory; rows of w2 are read, or
 * made from two or three factors, when they are needed. */
#include <inttypes.h>
#include <stdlib.h>

#include "adapter/form.h"
#include "base/num.h"

/* A matrix that is stored, or a product rounded to F32. */
struct side {
    uint64_t rows, cols;
    const struct tensor *whole;         /* or NULL: */
    struct product product;
};

struct kron {
    struct side one, two;
};

/* Reads or makes n rows of a side; t has room for them. */
static bool
side_rows(const struct change_owner *o, const struct side *s, uint64_t row, size_t n, float *out, double *t, struct err *err)
{
    size_t cols = (size_t)s->cols;
    const struct product_part part = { .row = row, .rows = n, .cols = cols, .stride = cols, .v = t };
    if (s->whole)
        return factor_elements(o->model, o->k, s->whole, row * cols, n * cols, out, err);
    if (!product_set(o, &s->product, &part, err))
        return false;
    for (size_t i = 0; i < n * cols; i++)
        out[i] = (float)t[i];
    return true;
}

/* The source of a resident w1. */
struct loading {
    const struct change_owner *o;
    const struct side *side;
};

static bool
load_side(const void *loading, uint64_t part, float *out, struct err *err)
{
    (void)part;
    const struct loading *of = loading;
    size_t cols = (size_t)of->side->cols, rows = (size_t)of->side->rows;
    double *t = malloc(cols * sizeof *t);
    bool ok = t || err_memory(err, cols * sizeof *t);
    for (size_t i = 0; ok && i < rows; i++)
        ok = side_rows(of->o, of->side, i, 1, out + i * cols, t, err);
    free(t);
    return ok;
}

/* Adds one row: `one` is a row of w1, `two` one of w2. */
static void
form_kronecker_add_row(const struct product_part *part, double *v, double s, const float *one, const float *two, size_t cols2)
{
    for (size_t j = 0, n; j < part->cols; j += n) {
        size_t col = (size_t)part->col + j, skip = col % cols2;
        double a = (double)one[col / cols2];
        n = num_min(cols2 - skip, part->cols - j);
        for (size_t e = 0; e < n; e++) {
            double product = a * (double)two[skip + e], sp = s * product;
            v[j + e] += sp;
        }
    }
}

static bool
form_kronecker_apply(const struct change_owner *o, const struct change_step *step, const struct product_part *part, struct err *err)
{
    const struct kron *kron = step->own;
    const struct loading loading = { o, &kron->one };
    size_t cols = (size_t)kron->two.cols;
    float *two = malloc(cols * sizeof *two);
    double *t = malloc(cols * sizeof *t);
    bool ok = (two && t) || err_memory(err, cols * sizeof *t);
    const struct cache_fill fill = { (size_t)(kron->one.rows * kron->one.cols), 1, load_side, NULL, &loading };
    const float *one = NULL;
    if (ok)
        one = cache_take(o->resident, kron, &fill, err);
    ok = one != NULL;
    for (size_t i = 0; ok && i < part->rows; i++) {
        uint64_t row = part->row + i;
        ok = side_rows(o, &kron->two, row % kron->two.rows, 1, two, t, err);
        if (ok)
            form_kronecker_add_row(part, part->v + i * part->stride, step->s, one + row / kron->two.rows * kron->one.cols, two, cols);
    }
    if (one)
        cache_release(o->resident, one);
    free(two);
    free(t);
    return ok;
}

static const struct change_form kronecker = { "LoKr", CHANGE_ADD, form_kronecker_apply };

/* Sets the size of a side from its factors. Returns false if they have none. */
static bool
form_kronecker_measure(struct side *s, const struct tensor *a, const struct tensor *b, const struct tensor *core)
{
    uint64_t na, nb, nc = 1, r = core && core->shape.rank >= 2 ? shape_dim(&core->shape, 0) : 0;
    if (s->whole) {
        if (s->whole->shape.rank != 0)
            s->rows = shape_dim(&s->whole->shape, 0);
        else
            s->rows = 0;
        return s->rows != 0 && shape_numel(&s->whole->shape, &na) && (s->cols = na / s->rows) != 0;
    }
    uint64_t rb = 0;
    if (b->shape.rank >= 2)
        rb = shape_dim(&b->shape, 0);
    if (rb == 0 || (core && r == 0) || !shape_numel(&a->shape, &na) || !shape_numel(&b->shape, &nb)
            || (core && (!shape_numel(&core->shape, &nc) || !num_mul(&nb, nb / rb, nc / r / rb))))
        return false;
    s->rows = na / (core ? r : rb);
    if (core)
        s->cols = nb;
    else
        s->cols = nb / rb;
    return s->rows != 0 && s->cols != 0;
}

/* Sets one side from its factors: whole, or a and b, with or without a core. */
static bool
set_side(struct side *s, const struct arranging *w, enum factor_role whole, struct err *err)
{
    const struct tensor *const *f = w->module->factor;
    const struct tensor *a = f[whole + 1], *b = f[whole + 2], *core = whole == FACTOR_LOKR_2 ? f[FACTOR_LOKR_T2] : NULL;
    *s = (struct side){ .whole = f[whole] };
    if (!form_kronecker_measure(s, a, b, core))
        return form_misfit(w, s->whole ? s->whole : b, err);
    const struct product_parts parts = { a, b, core, s->rows, s->cols, core };
    return s->whole || form_product(&s->product, &parts, w, err);
}

bool
form_kronecker(struct change_step *step, const struct arranging *w, struct err *err)
{
    uint64_t rows, cols, held;
    struct kron *kron = catalog_alloc(w->memory, sizeof *kron, err);
    if (!kron)
        return false;
    *step = (struct change_step){ .form = &kronecker, .rows = w->place->rows, .s = w->module->scale, .own = kron };
    if (!set_side(&kron->one, w, FACTOR_LOKR_1, err) || !set_side(&kron->two, w, FACTOR_LOKR_2, err))
        return false;
    if (!num_mul(&rows, kron->one.rows, kron->two.rows) || !num_mul(&cols, kron->one.cols, kron->two.cols)
            || rows != change_rows_count(&w->place->rows) || cols != w->place->rows.cols)
        return form_misfit(w, w->t, err);
    return (num_mul(&held, kron->one.rows * sizeof(float), kron->one.cols) && held <= w->most)
        || adapter_fail(w->module, ERR_LIMIT, err, "lokr_w1 exceeds the limit of %" PRIu64 " bytes (--max-alloc)", w->most);
}
