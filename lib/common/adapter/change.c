#include "adapter/change.h"

#include <stdlib.h>
#include <string.h>

#include "adapter/dora.h"
#include "base/array.h"
#include "base/num.h"
#include "scheme/scheme.h"

uint64_t
change_rows_count(const struct change_rows *r)
{
    uint64_t n = 1;
    for (unsigned d = 0; d < r->dims; d++)
        n *= r->dim[d].n;
    return n;
}

uint64_t
change_rows_at(const struct change_rows *r, uint64_t i)
{
    uint64_t at = r->first;
    for (unsigned d = r->dims; d-- != 0; i /= r->dim[d].n)
        at += i % r->dim[d].n * r->dim[d].stride;
    return at;
}

/* A step while it is applied to a run. */
struct stepping {
    const struct change *c;
    const struct change_step *step;
    const struct delta_run *run;
};

static bool
apply_part(const struct stepping *s, const struct product_part *part, struct err *err)
{
    if (s->step->dora)
        return dora_apply(s->c, s->step, s->run, part, err);
    return s->step->form->apply(s->c->owner, s->step, part, err);
}

/* Returns a part that begins at element `at` of a run. */
static struct product_part
part_at(const struct delta_run *run, uint64_t at)
{
    return run->codes ? (struct product_part){ .codes = run->codes + at * PRODUCT_CODE, .sums = run->sums }
        : (struct product_part){ .v = run->v + at };
}

/* Applies a step to n rows that begin at element `at`, `stride` elements apart, as far as the run contains them, in as few
 * parts as possible. `row` is the number of the first row. */
static bool
apply_rows(const struct stepping *s, uint64_t row, uint64_t n, uint64_t at, uint64_t stride, struct err *err)
{
    const uint64_t from = s->run->first, end = from + s->run->n, cols = s->step->rows.cols;
    uint64_t i = at + cols > from ? 0 : num_min(n, (from - at - cols) / stride + 1), some;
    for (; i < n && at + i * stride < end; i += some) {
        uint64_t here = at + i * stride, skip = here < from ? from - here : 0;
        struct product_part part = part_at(s->run, here + skip - from);
        part.row = row + i;
        part.col = skip;
        part.rows = 1;
        part.cols = (size_t)(num_min(cols, end - here) - skip);
        part.stride = (size_t)stride;
        some = 1;
        while (part.cols == cols && i + some < n && here + some * stride + cols <= end)
            some++;
        part.rows = (size_t)some;
        if (!apply_part(s, &part, err))
            return false;
    }
    return true;
}

/* Applies a step to the elements of a run. */
static bool
apply_step(const struct stepping *s, struct err *err)
{
    const struct change_rows *rows = &s->step->rows;
    const unsigned last = rows->dims - 1;
    const uint64_t n = rows->dim[last].n, total = change_rows_count(rows);
    for (uint64_t row = 0; row < total; row += n)
        if (!apply_rows(s, row, n, change_rows_at(rows, row), rows->dim[last].stride, err))
            return false;
    return true;
}

bool
change_apply(const struct change *c, size_t n, const struct delta_run *run, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct stepping s = { c, &c->step[i], run };
        if (!apply_step(&s, err))
            return false;
    }
    return true;
}

static bool
apply(const struct delta *delta, const struct delta_run *run, struct err *err)
{
    const struct change *c = (const struct change *)delta;
    return change_apply(c, c->n, run, err);
}

bool
change_merges(const struct change *c)
{
    const struct change_rows *rows = &c->step->rows;
    return c->n == 1 && c->step->merges && !c->step->dora && rows->dims == 1 && rows->first == 0
        && rows->dim[0].stride == rows->cols && change_rows_count(rows) * rows->cols == c->delta.numel;
}

/* Returns true if a step reads the same tensors as the step before, as the steps of experts do. */
static bool
is_like_previous(const struct change *c, size_t k)
{
    const struct change_step *step = &c->step[k];
    return k != 0 && step->ninputs == step[-1].ninputs && memcmp(step->input, step[-1].input, step->ninputs * sizeof *step->input) == 0;
}

static const struct tensor *
input(const struct delta *delta, size_t i)
{
    const struct change *c = (const struct change *)delta;
    for (size_t k = 0; k < c->n; k++) {
        if (is_like_previous(c, k))
            continue;
        if (i < c->step[k].ninputs)
            return c->step[k].input[i];
        i -= c->step[k].ninputs;
    }
    return NULL;
}

enum { QUANTIZED = 2 };                 /* bytes; no scheme has codes of more than about one */

struct change *
change_new(const struct change_owner *owner, enum dtype dtype, struct err *err)
{
    struct change *c = calloc(1, sizeof *c);
    if (!c) {
        err_memory(err, sizeof *c);
        return NULL;
    }
    *c = (struct change){ .delta = { .apply = apply, .input = input, .from = dtype == DTYPE_F64 ? DTYPE_F64 : DTYPE_F32 },
        .owner = owner, .size = dtype == DTYPE_UNKNOWN ? QUANTIZED : dtype_facts(dtype)->bytes };
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

/* Mixes a step into the fingerprint: which tensors it reads, where it is and by what it is multiplied. */
static void
mix_step(uint64_t *hash, const struct change_step *step)
{
    uint64_t s;
    memcpy(&s, &step->s, sizeof s);
    mix(hash, s);
    mix(hash, step->more);
    for (const char *p = step->form->name; *p; p++)
        mix(hash, (uint8_t)*p);
    mix(hash, step->rows.first);
    mix(hash, step->rows.cols);
    for (unsigned d = 0; d < step->rows.dims; d++) {
        mix(hash, step->rows.dim[d].n);
        mix(hash, step->rows.dim[d].stride);
    }
    for (size_t i = 0; i < step->ninputs; i++) {
        mix(hash, step->input[i]->extent.file);
        mix(hash, step->input[i]->extent.at);
        mix(hash, step->input[i]->dtype);
    }
    if (step->dora)
        dora_mix(step->dora, hash);
}

bool
change_step_add(struct change *c, const struct change_step *step, struct err *err)
{
    size_t at = c->n;
    c->norms = c->norms || step->dora;
    c->several = c->several || (at != 0 && step->adapter != c->step[0].adapter);
    if (c->norms && c->several)
        return err_set(err, ERR_UNSUPPORTED, "DoRA and another adapter on one weight are not merged together: merge "
            "them in two runs");
    struct change_step *list = array_grow(c->step, c->n, &c->room, sizeof *list, err);
    if (!list)
        return false;
    c->step = list;
    while (at != 0 && list[at - 1].form->phase > step->form->phase)
        at--;
    memmove(list + at + 1, list + at, (c->n - at) * sizeof *list);
    list[at] = *step;
    c->n++;
    c->delta.again = c->delta.again || (step->dora && (step->dora->columns || step->rows.cols > SCHEME_BACK / c->size));
    mix_step(&c->delta.fingerprint, step);
    return true;
}
