#include "encode/plain.h"

#include "encode/table.h"

#include <math.h>

#include "encode/groups.h"
#include "encode/solve.h"
#include "kernel/rounded.h"

enum { GRAIN = 32 };

enum dtype
encode_plain_type(const struct encoder *e)
{
    if (e->exact.solve == encode_plain_exact->exact.solve)
        return *(const enum dtype *)e->numbers;
    return DTYPE_UNKNOWN;
}

static enum encode_fit
plain_fit(struct encoding *e, const struct encode_options *options, struct err *err)
{
    enum dtype type = encode_plain_type(e->encoder);
    struct encode_part *part = &e->part[e->nparts++];
    (void)options, (void)err;
    *part = (struct encode_part){ .name = e->weight.name, .name_len = e->weight.name_len, .dtype = type, .shape = e->weight.shape,
        .elems = GRAIN, .grain = GRAIN * dtype_facts(type)->bytes, .codes = true };
    return ENCODE_YES;
}

/* Returns true if a number of the output is value v of a block. */
static bool
is_value(const struct solve_block *b, double v, float number)
{
    return (b->level == EXACT_REAL ? (double)number : solve_rounded(b->level, number)) == v;
}

/* Writes each value as the type rounds it, or, if the level then rounds it to something else, as the level does. */
static bool
plain_solve(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count, uint8_t *y,
    struct err *err)
{
    enum dtype type = encode_plain_type(e->encoder);
    struct solve_block b;
    (void)part, (void)count, (void)err;
    solve_begin(&b, e, run, run->x, run->n, first * GRAIN);
    for (size_t i = 0; i < b.n; i++) {
        double v = solve_value(&b, i);
        float near = rounded(type, b.x[i]);
        if (!isfinite(b.x[i]) || (!is_value(&b, v, near) && !is_value(&b, v, near = rounded(type, (float)v)))) {
            *b.fail = (struct exact_fail){ !isfinite(b.x[i]) ? EXACT_NONFINITE : isfinite(near) ? EXACT_PRECISION : EXACT_SPAN, b.at + i,
                b.at + i, (double)b.x[i], (double)near };
            return false;
        }
        y += groups_store(y, type, near);
    }
    return true;
}

static const enum dtype bf16 = DTYPE_BF16, f16 = DTYPE_F16, f32 = DTYPE_F32;

#define PLAIN(code, type_, offer_) { .name = code, .label = #type_, .type = DTYPE_UNKNOWN, .numbers = &type_, .fit = plain_fit, \
    .loaders.stacks = true, .exact = { .solve = plain_solve, .offer = offer_ } }

const struct encoder encode_plain_exact[] = { PLAIN("bf16", bf16, 10), PLAIN("f16", f16, 11), PLAIN("f32", f32, 12), { .name = NULL } };
