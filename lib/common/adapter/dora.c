#include "adapter/dora.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

enum { LANES = 8, CHUNK = 4096 };       /* elements of a row that are read at a time */

/* A step while norms are computed. */
struct norming {
    const struct change *c;
    const struct change_step *step;
    const struct delta_run *run;
};

/* Reads n elements of a row from `col` on, with the change that precedes the norms. */
static bool
read_changed(const struct norming *of, uint64_t row, uint64_t col, size_t n, double *v, struct err *err)
{
    const struct delta_run part = { .k = of->run->k, .first = change_rows_at(&of->step->rows, row) + col, .n = n, .v = v,
        .read = of->run->read, .of = of->run->of };
    const struct product_part own = { .row = row, .col = col, .rows = 1, .cols = n, .stride = n, .v = v };
    return part.read(part.of, part.first, n, v, err) && change_apply(of->c, (size_t)(of->step - of->c->step), &part, err)
        && of->step->form->apply(of->c->owner, of->step, &own, err);
}

/* --- rows */

/* Adds the squares of n elements, rounded to F32, to the sums; the first belongs to lane 0. */
static void
add_squares(double sum[LANES], const double *v, size_t n)
{
    for (size_t j = 0; j + LANES <= n; j += LANES)
        for (size_t l = 0; l < LANES; l++) {
            double x = (float)v[j + l], square = x * x;
            sum[l] += square;
        }
    for (size_t j = n / LANES * LANES; j < n; j++) {
        double x = (float)v[j], square = x * x;
        sum[j % LANES] += square;
    }
}

static double
root(const double p[LANES])
{
    return sqrt(((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7])));
}

/* Computes the norm of a row when some of its elements are not at hand. */
static bool
row_norm(const struct norming *of, uint64_t row, double *norm, struct err *err)
{
    double sum[LANES] = { 0 }, *v = malloc(CHUNK * sizeof *v);
    bool ok = v || err_memory(err, CHUNK * sizeof *v);
    for (uint64_t col = 0, cols = of->step->rows.cols, n; ok && col < cols; col += n) {
        n = num_min(cols - col, CHUNK);
        ok = read_changed(of, row, col, (size_t)n, v, err);
        if (ok)
            add_squares(sum, v, (size_t)n);
    }
    free(v);
    *norm = root(sum);
    return ok;
}

/* Finds or remembers the norm of a row. Nothing depends on it but time, and how far a block goes back in its source. */
static bool
find_last(struct dora_last *last, uint64_t row, double *norm)
{
    if (atomic_flag_test_and_set_explicit(&last->busy, memory_order_acquire))
        return false;
    bool found = last->row == row;
    if (found)
        *norm = last->norm;
    else
        *norm = 0;
    atomic_flag_clear_explicit(&last->busy, memory_order_release);
    return found;
}

static void
keep_last(struct dora_last *last, uint64_t row, double norm)
{
    if (atomic_flag_test_and_set_explicit(&last->busy, memory_order_acquire))
        return;
    last->row = row;
    last->norm = norm;
    atomic_flag_clear_explicit(&last->busy, memory_order_release);
}

/* Sets the factor of a row. */
static bool
row_factor(const struct norming *of, const struct product_part *part, size_t i, double *g, struct err *err)
{
    const struct dora *dora = of->step->dora;
    double norm, sum[LANES] = { 0 };
    float m;
    if (part->cols == of->step->rows.cols) {
        add_squares(sum, part->v + i * part->stride, part->cols);
        norm = root(sum);
    } else if (!find_last(dora->last, part->row + i, &norm)) {
        if (!row_norm(of, part->row + i, &norm, err))
            return false;
        keep_last(dora->last, part->row + i, norm);
    }
    if (!factor_elements(of->c->owner->model, of->c->owner->k, dora->m, part->row + i, 1, &m, err))
        return false;
    norm += dora->epsilon;
    *g = (double)m / norm;
    return true;
}

/* --- columns */

static bool
sum_columns(const struct norming *of, double *sum, double *v, struct err *err)
{
    const struct dora *dora = of->step->dora;
    for (uint64_t row = 0, rows = change_rows_count(&of->step->rows), cols = of->step->rows.cols; row < rows; row++)
        for (uint64_t col = 0, n; col < cols; col += n) {
            n = num_min(cols - col, CHUNK);
            if (!read_changed(of, row, col, (size_t)n, v, err))
                return false;
            for (uint64_t j = 0; j < n; j++) {
                double x = (float)v[j], square = x * x;
                sum[(col + j) / dora->each] += square;
            }
        }
    return true;
}

/* Reads the whole weight, and sets the factor of each column, as doubles. */
static bool
load_columns(const void *norming, uint64_t part, float *p, struct err *err)
{
    (void)part;
    const struct norming *of = norming;
    const struct dora *dora = of->step->dora;
    size_t n = (size_t)(of->step->rows.cols / dora->each);
    double *sum = calloc(n, sizeof *sum), *v = malloc(CHUNK * sizeof *v);
    float *m = malloc(n * sizeof *m);
    bool ok = (sum && v && m) || err_memory(err, n * sizeof *sum);
    ok = ok && sum_columns(of, sum, v, err)
        && factor_elements(of->c->owner->model, of->c->owner->k, dora->m, 0, n, m, err);
    for (size_t j = 0; ok && j < n; j++) {
        double norm = sqrt(sum[j]);
        norm += dora->epsilon;
        sum[j] = (double)m[j] / norm;
    }
    if (ok)
        memcpy(p, sum, n * sizeof *sum);
    free(sum);
    free(v);
    free(m);
    return ok;
}

/* --- both */

/* Sets v to g times its value in F32, or to the point between w and that. */
static double
scaled(double v, double g, const double *w, double c)
{
    double y = g * (double)(float)v;
    if (!w)
        return y;
    double difference = y - *w, some = c * difference;
    return *w + some;
}

/* Scales a part; `before` has its elements before the step if c is not 1, else it is NULL. */
static bool
scale_part(const struct norming *of, const struct product_part *part, const double *before, struct err *err)
{
    const struct dora *dora = of->step->dora;
    size_t n = (size_t)(of->step->rows.cols / dora->each);
    const struct cache_fill fill = { 2 * n, 1, load_columns, NULL, of };
    const float *held = NULL;
    if (dora->columns && !(held = cache_take(of->c->owner->resident, dora, &fill, err)))
        return false;
    const double *columns = (const double *)(const void *)held;
    bool ok = true;
    for (size_t i = 0; ok && i < part->rows; i++) {
        double g = 0, *v = part->v + i * part->stride;
        ok = columns || row_factor(of, part, i, &g, err);
        for (size_t j = 0; ok && j < part->cols; j++)
            v[j] = scaled(v[j], columns ? columns[(part->col + j) / dora->each] : g, before ? before + i * part->cols + j : NULL,
                dora->c);
    }
    if (held)
        cache_release(of->c->owner->resident, held);
    return ok;
}

bool
dora_apply(const struct change *c, const struct change_step *step, const struct delta_run *run, const struct product_part *part,
    struct err *err)
{
    const struct norming of = { c, step, run };
    double *before = NULL;
    if (step->dora->c != 1) {
        before = malloc(part->rows * part->cols * sizeof *before);
        if (!before)
            return err_memory(err, part->rows * part->cols * sizeof *before);
        for (size_t i = 0; i < part->rows; i++)
            memcpy(before + i * part->cols, part->v + i * part->stride, part->cols * sizeof *before);
    }
    bool ok = step->form->apply(c->owner, step, part, err) && scale_part(&of, part, before, err);
    free(before);
    return ok;
}

void
dora_mix(const struct dora *dora, uint64_t *hash)
{
    uint64_t c;
    memcpy(&c, &dora->c, sizeof c);
    *hash = (*hash ^ c ^ dora->each ^ dora->columns) * 0x9E3779B97F4A7C15u;
}
