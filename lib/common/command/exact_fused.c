/* Weights that loaders concatenate, such as q_proj, k_proj and v_proj, and of which they keep one scale of the tensor: an exact
 * encoding of them must hold with a common one. It is found by trying them as one weight, whose rows are theirs. */
#include <math.h>

#include "base/bytes.h"
#include "command/exact_priv.h"
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
    uint64_t begin = whole->n != 0 ? list[whole->n - 1].end : 0;
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
    struct catalog *memory = a->p->model->catalog;
    const struct chosen *first = member_at(a->choice, f, 0);
    const struct tensor t = chosen_source(first);
    size_t n = 0;
    bool quantized = false;
    for (size_t i = 0; i < f->n; i++) {
        const struct chosen *c = member_at(a->choice, f, i);
        n += c->composed ? c->composed->n : 1;
        quantized = quantized || c->decode || (c->composed && c->composed->n != 0 && c->composed->part[0].decode);
    }
    struct composed *whole = catalog_alloc(memory, sizeof *whole, err);
    struct composed_part *list = whole ? catalog_alloc(memory, n * sizeof *list, err) : NULL;
    if (!list)
        return false;
    *whole = (struct composed){ .part = list };
    if (!make_shape(&whole->shape, f, memory, err))
        return false;
    *stacks = true;
    for (size_t i = 0; i < f->n; i++)
        *stacks = *stacks && add_parts(whole, list, member_at(a->choice, f, i), f->member[i].encoding->rows * f->all.cols);
    a->trial = (struct chosen){ .composed = whole, .dtype = quantized ? DTYPE_F32 : first->dtype, .name = t.name, .name_len = t.name_len };
    if (!*stacks)
        return true;
    if (!exact_terms_find(a, err))
        return false;
    a->terms->source.has_input = false;         /* members keep their own */
    return true;
}

/* Encodes a member as the whole was, with its scale. */
static bool
adopt(const struct exact_attempt *a, struct chosen *c, struct exact_row *row, struct err *err)
{
    struct catalog *memory = a->p->model->catalog;
    const struct encoding *whole = a->trial.encoding;
    const struct exact_source own = c->encoding->exact->source;
    struct exact_terms *terms = catalog_alloc(memory, sizeof *terms, err);
    float *scale = terms ? catalog_alloc(memory, sizeof *scale, err) : NULL;
    if (!scale)
        return false;
    *terms = *a->terms;
    terms->source.has_input = own.has_input;
    terms->source.input = own.input;
    terms->source.input_why = own.input_why;
    terms->source.divides = own.divides;
    *scale = whole->facts[0];
    if (!reduction_try(&a->cmd->reduction, c, c->encoding->place, &a->how, whole->encoder, terms, c->encoding->weight.dtype, memory, err))
        return false;
    c->encoding->nfacts = 1;
    c->encoding->facts = scale;
    row->way = a->out.way > row->way ? a->out.way : row->way;
    return true;
}

/* Tries the later names for a member, which has no common scale with another one. */
static bool
leave(const struct exact_attempt *a, size_t place, const struct encoding *e, const char *other, struct err *err)
{
    struct exact_attempt one = { .cmd = a->cmd, .p = a->p, .choice = a->choice, .place = place };
    struct chosen *c = &a->choice->list[place];
    c->encoding = NULL;
    c->why = "loaders give it one scale with others, and none holds all";
    if (!exact_begin(&one, err))
        return false;
    one.last = e->encoder;
    one.shares = other;
    one.out = (struct exact_outcome){ .fail = { .cause = EXACT_SCALE, .value = (double)e->facts[0], .nearest = (double)NAN } };
    return exact_choose_after(&one, exact_row_of(a->cmd, place), e->encoder, err);
}

/* Shares a scale in one group. Sets *changed if members were encoded otherwise. */
static bool
share(struct exact_attempt *a, const struct fused *f, bool *changed, struct err *err)
{
    size_t nexact = 0, same = 0;
    const struct encoding *first = f->member[0].encoding;
    bool stacks = false;
    for (size_t i = 0; i < f->n; i++) {
        const struct encoding *e = f->member[i].encoding;
        nexact += e->exact != NULL;
        same += e->exact && first->exact && bits_of_float(e->facts[0]) == bits_of_float(first->facts[0]);
    }
    if (nexact == 0 || same == f->n)
        return true;
    if (nexact == f->n && (!make_whole(a, f, &stacks, err) || (stacks && !exact_try_name(a, first->encoder, err))))
        return false;
    bool holds = stacks && a->trial.encoding && a->out.fail.cause == EXACT_HOLDS;
    for (size_t i = 0; i < f->n; i++) {
        const struct encoding *e = f->member[i].encoding;
        const char *other = f->member[i == 0].encoding->weight.name;
        *changed = *changed || !holds;
        if (e->exact && !(holds ? adopt(a, &a->choice->list[e->place], exact_row_of(a->cmd, e->place), err)
            : leave(a, e->place, e, other, err)))
            return false;
    }
    return true;
}

bool
exact_share(struct command *cmd, struct pipeline *p, struct choice *choice, struct err *err)
{
    for (bool changed = true; changed;) {
        changed = false;
        if (!fused_find(choice, p->model->catalog, err))
            return false;
        for (size_t i = 0; i < choice->n; i++) {
            struct exact_attempt a = { .cmd = cmd, .p = p, .choice = choice, .place = i };
            const struct encoding *e = choice->list[i].encoding;
            if (e && e->fused && e->fused->member[0].encoding == e && !share(&a, e->fused, &changed, err))
                return false;
        }
        for (size_t i = 0; i < choice->n; i++) {
            struct encoding *e = choice->list[i].encoding;
            if (e && (e->exact || changed))
                e->fused = NULL;
        }
    }
    return true;
}
