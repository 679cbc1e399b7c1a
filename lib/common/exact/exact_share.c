/* Loaders concatenate weights such as q_proj, k_proj and v_proj and keep one tensor scale for all three, so an exact encoding must
 * share a scale. It is found by trying the weights as one, which has the rows of all of them. */
#include <math.h>

#include "base/bytes.h"
#include "exact/exact_priv.h"
#include "model/model.h"
#include "plan/fused.h"

static const struct chosen *
member_at(const struct choice *choice, const struct fused *f, size_t i)
{
    return &choice->list[f->member[i].encoding->place];
}

/* Makes a shape of the rows of all members. */
static bool
make_shape(struct shape *shape, const struct fused *f, struct catalog *memory, struct err *err)
{
    uint64_t dim[2] = { 0, f->all.cols };
    uint8_t *packed = catalog_alloc(memory, 2 * (size_t)SHAPE_DIM, err);
    if (!packed)
        return false;
    for (size_t i = 0; i < f->n; i++)
        dim[0] += f->member[i].encoding->rows;
    shape_pack(packed, dim, 2);
    *shape = (struct shape){ 2, packed };
    return true;
}

/* Adds the parts of a weight at the end of those of a composed one. Returns false if their elements alternate. */
static bool
add_parts(struct composed *whole, struct composed_part *list, const struct chosen *c, uint64_t numel)
{
    uint64_t begin = 0;
    if (whole->n != 0)
        begin = list[whole->n - 1].end;
    if (!c->composed) {
        list[whole->n++] = (struct composed_part){ .copy = c->copy, .decode = c->decode, .end = begin + numel };
        return true;
    }
    for (size_t k = 0; k < c->composed->n; k++) {
        list[whole->n] = c->composed->part[k];
        list[whole->n++].end += begin;
    }
    return c->composed->period == 0 && c->composed->n != 0;
}

/* Makes one weight of the members: sets a->trial and its terms. *stacks is false if that is impossible. */
static bool
make_whole(struct exact_attempt *a, const struct fused *f, bool *stacks, struct err *err)
{
    struct catalog *memory = a->job->p->model->catalog;
    const struct chosen *first = member_at(a->job->choice, f, 0);
    const struct tensor t = chosen_source(first);
    size_t n = 0;
    bool quantized = false;
    for (size_t i = 0; i < f->n; i++) {
        const struct chosen *c = member_at(a->job->choice, f, i);
        n += c->composed ? c->composed->n : 1;
        quantized = quantized || chosen_is_quantized(c);
    }
    struct composed *whole = catalog_alloc(memory, sizeof *whole, err);
    struct composed_part *list = NULL;
    if (whole)
        list = catalog_alloc(memory, n * sizeof *list, err);
    if (!list)
        return false;
    *whole = (struct composed){ .part = list };
    if (!make_shape(&whole->shape, f, memory, err))
        return false;
    *stacks = true;
    for (size_t i = 0; i < f->n; i++)
        *stacks = *stacks && add_parts(whole, list, member_at(a->job->choice, f, i), f->member[i].encoding->rows * f->all.cols);
    a->trial = (struct chosen){ .composed = whole, .dtype = quantized ? DTYPE_F32 : first->dtype, .name = t.name, .name_len = t.name_len };
    if (!*stacks)
        return true;
    if (!exact_attempt_terms(a, err))
        return false;
    a->terms->source.has_input = false;         /* members keep their own */
    return true;
}

/* Encodes a member as the whole was, with its scale. */
static bool
adopt(const struct exact_attempt *a, struct chosen *c, struct exact_row *row, struct err *err)
{
    struct catalog *memory = a->job->p->model->catalog;
    const struct encoding *whole = a->trial.encoding;
    const struct exact_source own = c->encoding->exact->source;
    struct exact_terms *terms = catalog_alloc(memory, sizeof *terms, err);
    float *scale = NULL;
    if (terms)
        scale = catalog_alloc(memory, sizeof *scale, err);
    if (!scale)
        return false;
    *terms = *a->terms;
    terms->source.has_input = own.has_input;
    terms->source.input = own.input;
    terms->source.input_why = own.input_why;
    terms->source.divides = own.divides;
    *scale = whole->facts[0];
    if (!reduction_try(a->job->reduction, c, c->encoding->place, &a->how, whole->encoder, terms, c->encoding->weight.dtype, memory, err))
        return false;
    c->encoding->nfacts = 1;
    c->encoding->facts = scale;
    if (a->out.way > row->way)
        row->way = a->out.way;
    return true;
}

/* Returns the row of a weight; rows are in the order of their places. */
static struct exact_row *
row_of(const struct exact_job *job, size_t place)
{
    struct exact_row *row = job->rows;
    for (size_t n = job->nrows; n > 1;) {
        size_t half = n / 2;
        if (row[half].place <= place)
            row += half;
        n -= half;
    }
    return row;
}

/* Tries the later names for a member, which has no common scale with another one. */
static bool
leave(struct exact_job *job, const struct encoding *e, const char *other, struct err *err)
{
    struct exact_attempt one = { .job = job, .place = e->place, .row = row_of(job, e->place) };
    struct chosen *c = &job->choice->list[e->place];
    c->encoding = NULL;
    c->why = "loaders give it one scale with others, and none holds all";
    if (!exact_attempt_begin(&one, err))
        return false;
    one.last = e->encoder;
    one.shares = other;
    one.out = (struct exact_outcome){ .fail = { .cause = EXACT_SCALE, .value = (double)e->facts[0], .nearest = (double)NAN } };
    return exact_choose_after(&one, err);
}

/* Shares a scale in one group. Sets *changed if members were encoded otherwise. */
static bool
share(struct exact_job *job, const struct fused *f, bool *changed, struct err *err)
{
    size_t nexact = 0, same = 0;
    const struct encoding *first = f->member[0].encoding;
    struct exact_attempt a = { .job = job, .place = first->place };
    bool stacks = false;
    for (size_t i = 0; i < f->n; i++) {
        const struct encoding *e = f->member[i].encoding;
        nexact += e->exact != NULL;
        same += e->exact && first->exact && bits_of_float(e->facts[0]) == bits_of_float(first->facts[0]);
    }
    if (nexact == 0 || same == f->n)
        return true;
    if (nexact == f->n && (!make_whole(&a, f, &stacks, err) || (stacks && !exact_attempt_name(&a, first->encoder, err))))
        return false;
    bool holds = stacks && a.trial.encoding && a.out.fail.cause == EXACT_HOLDS;
    *changed = *changed || !holds;
    for (size_t i = 0; i < f->n; i++) {
        const struct encoding *e = f->member[i].encoding;
        const char *other = f->member[i == 0].encoding->weight.name;
        if (e->exact && !(holds ? adopt(&a, &job->choice->list[e->place], row_of(job, e->place), err) : leave(job, e, other, err)))
            return false;
    }
    return true;
}

/* Shares scales in all groups. Where members were encoded otherwise, groups have to be found once more. */
static bool
share_all(struct exact_job *job, bool *changed, struct err *err)
{
    struct choice *choice = job->choice;
    *changed = false;
    if (!fused_find(choice, job->p->model->catalog, err))
        return false;
    for (size_t i = 0; i < choice->n; i++) {
        const struct encoding *e = choice->list[i].encoding;
        if (e && e->fused && e->fused->member[0].encoding == e && !share(job, e->fused, changed, err))
            return false;
    }
    for (size_t i = 0; i < choice->n; i++) {
        struct encoding *e = choice->list[i].encoding;
        if (e && (e->exact || *changed))
            e->fused = NULL;
    }
    return true;
}

bool
exact_share(struct exact_job *job, struct err *err)
{
    bool changed = true;
    while (changed)
        if (!share_all(job, &changed, err))
            return false;
    return true;
}
