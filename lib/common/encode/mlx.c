/* MLX, affine: P.weight U32 [..., in*bits/32], P.scales and P.biases [..., in/g] in the weight's type. The codes of a row
 * are a bit stream, lowest bits first. Source: MLX mlx/backend/cpu/quantized.cpp, quantize. */
#include "encode/table.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "encode/groups.h"
#include "encode/move.h"
#include "encode/solve.h"
#include "kernel/encode_int.h"

enum { MLX_MOST = 128 };

struct mlx_own {
    struct int_rule rule;
    uint32_t group;
};

enum { SCALES, BIASES, CODES };

static unsigned
bits_of(const struct encoding *e)
{
    return *(const unsigned *)e->encoder->numbers;
}

static enum encode_fit
mlx_fit(struct encoding *e, const struct encode_options *options, struct err *err)
{
    const struct groups_choice choice = { 64, 32, MLX_MOST, .asymmetric = true, .stacks = e->exact != NULL };
    unsigned bits = bits_of(e);
    uint32_t group;
    enum encode_fit fit = groups_fit(e, options, &choice, &group, err);
    struct mlx_own *own = NULL;
    if (fit == ENCODE_YES)
        own = e->own = encode_alloc(e, sizeof *own, err);
    if (!own)
        return fit == ENCODE_YES ? ENCODE_FAIL : fit;
    *own = (struct mlx_own){ { groups_dtype(e), bits, true }, group };
    uint64_t scales[3], codes[3];
    uint32_t rank = groups_dims(e, e->cols / group, scales);
    groups_dims(e, e->cols / 32 * bits, codes);
    enum dtype d = own->rule.dtype;
    uint32_t size = dtype_facts(d)->bytes;
    return encode_yes_if(groups_part(e, ".scales", d, scales, rank, group, size, err)
        && groups_part(e, ".biases", d, scales, rank, group, size, err)
        && groups_codes(e, ".weight", DTYPE_U32, codes, rank, group, group / 8 * bits, err));
}

/* Solves a group of an exact encoding. */
static bool
solve_group(const struct encoding *e, const struct encode_run *run, const float *x, uint64_t at, struct int_group *g, uint8_t *q)
{
    const struct mlx_own *own = e->own;
    const struct solve_steps how = { own->rule.bits, own->rule.dtype, .narrow = true, .centre = true };
    const struct affine a = { .factors = &g->scale, .terms = &g->zero, .group = own->group, .in = own->rule.dtype };
    struct solve_block b;
    solve_begin(&b, e, run, x, own->group, at);
    if (!solve_steps(&b, &how, g, q))
        return false;
    if (run->compare) {
        run->kernels->affine_f32(run->back, q, 0, own->group, &a);
        run->compare(run->of, at, x, run->back, own->group);
    }
    return true;
}

static bool
mlx_encode(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count,
    uint8_t *y, struct err *err)
{
    const struct mlx_own *own = e->own;
    const struct int_rule *rule = &own->rule;
    size_t n = own->group;
    for (uint64_t i = 0; i < count; i++) {
        const float *x = run->x + i * n;
        uint64_t at = (first + i) * n;
        struct int_group g;
        uint8_t q[MLX_MOST];
        if (e->exact) {
            if (!solve_group(e, run, x, at, &g, q))
                return false;
        } else {
            run->kernels->int_mlx->find(&g, x, n, rule);
            if (!groups_scale_fits(e, g.scale, rule->dtype, x, n, at, err))
                return false;
        }
        if (part != CODES) {
            y += groups_store(y, rule->dtype, part == SCALES ? g.scale : g.zero);
            continue;
        }
        if (!e->exact)
            run->kernels->int_mlx->codes(q, x, n, &g, rule);
        run->kernels->int_pack(y, q, n, rule->bits);
        y += n / 8 * rule->bits;
        if (!run->compare || e->exact)
            continue;
        run->kernels->int_mlx->back(run->back, q, n, &g, rule);
        run->compare(run->of, at, x, run->back, n);
    }
    return true;
}

/* Moves groups of integers, whose bias makes the code of 0 the middle one, and of E2M1, as solve_steps() does. */
static bool
mlx_move(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count, uint8_t *y)
{
    const struct mlx_own *own = e->own;
    const unsigned n = own->group, size = n / 8 * own->rule.bits;
    const int middle = 1 << (own->rule.bits - 1);
    enum dtype type = own->rule.dtype;
    bool exact = e->exact->level == EXACT_REAL || (e->exact->level == EXACT_F32 && type == DTYPE_F32), halves = move_is_e2m1(e);
    uint8_t code[MLX_MOST / 2], number[MLX_MOST], q[MLX_MOST], back[MLX_MOST];
    struct move_steps s;
    uint16_t found;
    (void)first;
    if (!exact || (!halves && !move_is_int(e)))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        struct hint_pack pack;
        if (!move_take(&pack, code, run->hints.pack, (size_t)i * n, n))
            return false;
        if (halves) {
            run->kernels->bits_found(&found, code, 1, n);
            if (!move_find_steps(&s, found, own->rule.bits))
                return false;
        } else if (!move_integers(&s, e, pack.zero, middle, -middle, middle - 1))
            return false;
        float scale = s.step * pack.scale, bias = s.least * pack.scale;
        if ((scale == 0 ? !halves : !move_is_scale(type, scale)) || !solve_is_of(type, (double)bias))
            return false;
        if (y && part != CODES)
            y += groups_store(y, type, part == SCALES ? scale : bias);
        else if (y) {
            run->kernels->bits_table(number, code, n, move_numbers(e));
            memcpy(q, number, n);
            for (unsigned k = 0; k < n; k += 32)
                move_put_steps(q + k, &s);
            run->kernels->int_pack(y, q, n, own->rule.bits);
            run->kernels->bits_stream(back, y, 0, n, own->rule.bits);
            for (unsigned k = 0; k < n; k += 32)
                if (!move_take_steps(back + k, &s))
                    return false;
            if (memcmp(back, number, n) != 0)
                return false;
            y += size;
        }
    }
    return true;
}

static const unsigned bits[] = { 2, 3, 4, 5, 6, 8 };

#define MLX(code, n, offer_) { .name = code, .label = "MLX " #n "-bit", .held = KEEPS_CODES, .type = DTYPE_UNKNOWN, \
    .numbers = &bits[n - 2 - (n > 6)], .fit = mlx_fit, .encode = mlx_encode, \
    .grid = { .groups = GROUPS_CHOSEN, .most_group = 128, .types = true }, .loaders.as_stored = true, \
    .exact = { .solve = mlx_encode, .move = mlx_move, .offer = offer_ } }

const struct encoder encode_mlx[] = {
    MLX("mlx-4bit", 4, 4), MLX("mlx-2bit", 2, 0), MLX("mlx-3bit", 3, 0), MLX("mlx-5bit", 5, 5), MLX("mlx-6bit", 6, 0),
    MLX("mlx-8bit", 8, 0),
    { .name = NULL },
};
