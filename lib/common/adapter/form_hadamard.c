/* LoHa: v + s * (t1 * t2), element by element; t1 and t2 are products of two thin matrices. */
#include <stdlib.h>

#include "adapter/form.h"
#include "base/num.h"

enum { ROWS = 16 };                     /* rows that are made at a time */

/* Adds s * t1 * t2 to some rows. */
static void
form_hadamard_add(const struct product_part *part, double s, const double *t1, const double *t2)
{
    for (size_t i = 0; i < part->rows; i++) {
        double *v = part->v + i * part->stride;
        for (size_t j = 0; j < part->cols; j++) {
            double t = t1[i * part->cols + j] * t2[i * part->cols + j], st = s * t;
            v[j] += st;
        }
    }
}

static bool
form_hadamard_apply(const struct change_owner *o, const struct change_step *step, const struct product_part *whole, struct err *err)
{
    const struct product *p = step->own;
    size_t most = whole->rows < ROWS ? whole->rows : ROWS, size = most * whole->cols;
    double *t = malloc(2 * size * sizeof *t);
    bool ok = t || err_memory(err, 2 * size * sizeof *t);
    for (size_t i = 0; ok && i < whole->rows; i += most) {
        size_t rows = (size_t)num_min(most, whole->rows - i);
        struct product_part part = *whole;
        part.row += i;
        part.rows = rows;
        part.v += i * whole->stride;
        struct product_part one = part, two = part;
        one.stride = two.stride = part.cols;
        one.v = t;
        two.v = t + size;
        ok = product_set(o, &p[0], &one, err) && product_set(o, &p[1], &two, err);
        if (ok)
            form_hadamard_add(&part, step->s, one.v, two.v);
    }
    free(t);
    return ok;
}

static const struct change_form hadamard = { "LoHa", CHANGE_ADD, form_hadamard_apply };

bool
form_hadamard(struct change_step *step, const struct arranging *w, struct err *err)
{
    const struct tensor *const *f = w->module->factor;
    const uint64_t rows = change_rows_count(&w->place->rows), cols = w->place->rows.cols;
    struct product *p = catalog_alloc(w->memory, 2 * sizeof *p, err);
    const struct product_parts one = { f[FACTOR_HADA_1A], f[FACTOR_HADA_1B], f[FACTOR_HADA_T1], rows, cols, f[FACTOR_HADA_T1] };
    const struct product_parts two = { f[FACTOR_HADA_2A], f[FACTOR_HADA_2B], f[FACTOR_HADA_T2], rows, cols, f[FACTOR_HADA_T2] };
    if (!p)
        return false;
    *step = (struct change_step){ .form = &hadamard, .rows = w->place->rows, .s = w->module->scale, .own = p };
    return form_product(&p[0], &one, w, err) && form_product(&p[1], &two, w, err);
}
