#include "encode/solve_ggml.h"

#include <math.h>
#include <string.h>

#include "dtype/bfloat16.h"
#include "dtype/ggml_block.h"
#include "dtype/half.h"
#include "encode/solve_mx.h"

enum { ELEMS = 32 };

/* Packs nibbles: the first half of a block in the low ones, the second in the high ones. */
static void
pack_halves(uint8_t *y, const uint8_t *q, size_t half)
{
    for (size_t j = 0; j < half; j++)
        y[j] = (uint8_t)((q[j] & 15) | (q[j + half] & 15) << 4);
}

static void
pack_fifth(uint8_t *y, const uint8_t q[ELEMS])
{
    uint32_t high = 0;
    for (unsigned j = 0; j < ELEMS; j++)
        high |= (uint32_t)(q[j] >> 4 & 1) << j;
    store_le32(y, high);
}

/* The factors are numbers of F16. */
static bool
put_int(const struct solve_block *b, enum dtype type, uint8_t *y)
{
    unsigned bits = type == DTYPE_Q4_0 ? 4 : type == DTYPE_Q5_0 ? 5 : 8;
    const struct solve_int how = { bits, false, -(1 << (bits - 1)), DTYPE_F16 };
    struct int_group g;
    uint8_t q[ELEMS];
    if (!solve_int(b, &how, &g, q))
        return false;
    store_le16(y, half_of_float(g.scale));
    if (bits == 5)
        pack_fifth(y + 2, q);
    if (bits == 8)
        for (size_t i = 0; i < ELEMS; i++)
            y[2 + i] = q[i] ^ 0x80;
    else
        pack_halves(y + (bits == 5 ? 6 : 2), q, ELEMS / 2);
    return true;
}

static bool
put_steps(const struct solve_block *b, enum dtype type, uint8_t *y)
{
    const struct solve_steps how = { .bits = type == DTYPE_Q4_1 ? 4 : 5, .type = DTYPE_F16 };
    struct int_group g;
    uint8_t q[ELEMS];
    if (!solve_steps(b, &how, &g, q))
        return false;
    store_le16(y, half_of_float(g.scale));
    store_le16(y + 2, half_of_float(g.zero));
    if (type == DTYPE_Q5_1)
        pack_fifth(y + 4, q);
    pack_halves(y + (type == DTYPE_Q5_1 ? 8 : 4), q, ELEMS / 2);
    return true;
}

static bool
put_mxfp4(const struct solve_block *b, const struct kernels *k, uint8_t *y)
{
    uint8_t q[ELEMS], p[ELEMS / 2];
    int t;
    if (solve_mx_move(p, &t, b, k)) {
        *y++ = (uint8_t)(t + 127);
        for (int i = 0; i < 8; i++, y += 2) {
            y[0] = (uint8_t)((p[i] & 15) | p[8 + i] << 4);
            y[1] = (uint8_t)(p[i] >> 4 | (p[8 + i] & 0xF0));
        }
        return true;
    }
    if (!solve_mx_power(&t, b, &solve_e2m1, -127, 127))
        return false;
    y[0] = (uint8_t)(t + 127);
    solve_mx_e2m1(q, b, ldexp(1, t));
    pack_halves(y + 1, q, ELEMS / 2);
    return true;
}

/* Four blocks of 16. */
static bool
put_nvfp4(const struct encoding *e, const struct encode_run *run, const float *x, uint64_t at, uint8_t *y)
{
    for (size_t s = 0; s < 4; s++) {
        struct solve_block b;
        uint8_t q[16];
        solve_begin(&b, e, run, x + 16 * s, 16, at + 16 * s);
        if (!solve_nvfp4(&b, SOLVE_NVFP4_BLOCKS, run->facts[0], &y[s], q))
            return false;
        pack_halves(y + 4 + 8 * s, q, 8);
    }
    return true;
}

static bool
put_block(const struct encoding *e, const struct encode_run *run, const float *x, uint64_t at, uint8_t *y)
{
    enum dtype type = e->encoder->type;
    struct solve_block b;
    if (type == DTYPE_NVFP4)
        return put_nvfp4(e, run, x, at, y);
    solve_begin(&b, e, run, x, ELEMS, at);
    return type == DTYPE_MXFP4 ? put_mxfp4(&b, run->kernels, y) : type == DTYPE_Q4_1 || type == DTYPE_Q5_1 ? put_steps(&b, type, y)
        : put_int(&b, type, y);
}

bool
solve_ggml(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count, uint8_t *y,
    struct err *err)
{
    const struct dtype_facts *f = dtype_facts(e->encoder->type);
    const uint8_t *begin = y;
    (void)err;
    if (part != 0) {
        memcpy(y, run->facts, sizeof *run->facts);
        return true;
    }
    uint64_t at = first * f->elems, n = count * f->elems;
    for (uint64_t i = 0; i < n; i += f->elems, y += f->bytes)
        if (!put_block(e, run, run->x + i, at + i, y))
            return false;
    if (!run->compare)
        return true;
    run->kernels->block_f32[e->encoder->type](run->back, begin, count);
    for (uint64_t i = 0; e->encoder->type == DTYPE_NVFP4 && i < n; i++)
        run->back[i] *= run->facts[0];
    run->compare(run->of, at, run->x, run->back, n);
    return true;
}

bool
solve_ggml_survey(const struct encoding *e, const struct encode_run *run, uint64_t region, float *facts, struct err *err)
{
    return solve_nvfp4_survey(e, run, region, SOLVE_NVFP4_BLOCKS, facts, err);
}

/* Leaves the scale of all blocks out if it is 1. */
bool
solve_ggml_resolve(struct encoding *e, float *facts, struct exact_fail *fail)
{
    if (!solve_nvfp4_settle(e, SOLVE_NVFP4_BLOCKS, facts, fail))
        return false;
    if (facts[0] == 1.0f)
        e->nparts--;
    return true;
}

bool
solve_ggml_fit(struct encoding *e, struct err *err)
{
    const uint64_t one = 1;
    if (e->encoder->type != DTYPE_NVFP4)
        return true;
    solve_nvfp4_fit(e);
    return solve_nvfp4_add_input(e, SOLVE_NVFP4_BLOCKS, 1, err)
        && encode_add_part(e, encode_module(e), ".scale", DTYPE_F32, &one, 1, err) != NULL;
}

bool
solve_ggml_foresee(const struct encoding *e, const float *scale, size_t n)
{
    switch (e->encoder->type) {
    case DTYPE_MXFP4:
        return solve_mx_foresee(e, scale, n);
    case DTYPE_NVFP4:
        return solve_nvfp4_foresee(e, scale, n, SOLVE_NVFP4_BLOCKS);
    case DTYPE_Q4_0:
    case DTYPE_Q5_0:
    case DTYPE_Q8_0:
        return solve_int_foresee(e, scale, n, ELEMS, e->encoder->type == DTYPE_Q4_0 ? 4 : e->encoder->type == DTYPE_Q5_0 ? 5 : 8,
            DTYPE_F16);
    default:
        return false;
    }
}
