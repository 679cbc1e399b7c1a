#include "encode/solve_ggml.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "dtype/bfloat16.h"
#include "dtype/ggml_block.h"
#include "dtype/half.h"
#include "encode/move.h"
#include "encode/solve_nvfp4_copy.h"
#include "kernel/blocks.h"

enum { ELEMS = 32 };

/* Packs nibbles: the first half of a block in the low ones, the second in the high ones. */
static void
pack_halves(uint8_t *y, const uint8_t *q, size_t half)
{
    for (size_t j = 0; j < half; j++)
        y[j] = (uint8_t)((q[j] & 15) | (q[j + half] & 15) << 4);
}

static bool
has_minimum(enum dtype type)
{
    return type == DTYPE_Q4_1 || type == DTYPE_Q5_1;
}

static unsigned
bits_of_type(enum dtype type)
{
    if (type == DTYPE_Q4_0 || type == DTYPE_Q4_1)
        return 4;
    if (type == DTYPE_Q8_0)
        return 8;
    return 5;
}

/* The factors are numbers of F16. */
static bool
put_int(const struct solve_block *b, enum dtype type, uint8_t *y)
{
    const unsigned bits = bits_of_type(type);
    const struct solve_int how = { bits, false, -(1 << (bits - 1)), DTYPE_F16 };
    struct int_group g;
    uint8_t q[ELEMS];
    if (!solve_int(b, &how, &g, q))
        return false;
    for (size_t i = 0; bits == 8 && i < ELEMS; i++)
        q[i] ^= 0x80;
    b->kernels->q_join(type, y, q, (const uint16_t[2]){ half_of_float(g.scale) }, 1);
    return true;
}

static bool
put_steps(const struct solve_block *b, enum dtype type, uint8_t *y)
{
    const struct solve_steps how = { .bits = bits_of_type(type), .type = DTYPE_F16 };
    struct int_group g;
    uint8_t q[ELEMS];
    if (!solve_steps(b, &how, &g, q))
        return false;
    b->kernels->q_join(type, y, q, (const uint16_t[2]){ half_of_float(g.scale), half_of_float(g.zero) }, 1);
    return true;
}

static bool
put_mxfp4(const struct solve_block *b, uint8_t *y)
{
    uint8_t q[ELEMS], p[ELEMS / 2];
    int t;
    if (solve_mx_move(p, &t, b)) {
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

/* Puts the low halves of eight bytes next to each other. */
static inline uint32_t
solve_ggml_join(uint64_t v)
{
    v &= UINT64_C(0x0F0F0F0F0F0F0F0F);
    v = (v | v >> 4) & UINT64_C(0x00FF00FF00FF00FF);
    v = (v | v >> 8) & UINT64_C(0x0000FFFF0000FFFF);
    return (uint32_t)(v | v >> 16);
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

/* Blocks in a batch, of 16 elements each or more. A batch of FP4 is decoded while it is in the cache. */
enum { AT_ONCE = 128 };

/* Solves n blocks, or groups of four, at most AT_ONCE blocks. */
static bool
put_some_mxfp4(const struct encoding *e, const struct encode_run *run, const float *x, uint64_t at, size_t n, uint8_t *y)
{
    uint8_t *scale = run->room, *code = run->compare ? scale + AT_ONCE : NULL;
    for (size_t i = 0; i < n; i++, y += MXFP4_BYTES) {
        struct solve_block b;
        size_t held = solve_mx_dense(e, run, x + i * ELEMS, n - i, scale, code, true);
        for (size_t k = 0; k < held; k++, y += MXFP4_BYTES) {
            *y = scale[k];
            if (code)
                memcpy(y + 1, code + k * (ELEMS / 2), ELEMS / 2);
        }
        i += held;
        if (i == n)
            break;
        solve_begin(&b, e, run, x + i * ELEMS, ELEMS, at + i * ELEMS);
        if (!put_mxfp4(&b, y))
            return false;
    }
    return true;
}

static bool
put_some_nvfp4(const struct encoding *e, const struct encode_run *run, const float *x, uint64_t at, size_t n, uint8_t *y)
{
    uint8_t *scale = run->room, *code = scale + AT_ONCE;
    for (size_t i = 0; i < n; i++, y += NVFP4_BYTES) {
        size_t held = solve_nvfp4_dense(e, run, SOLVE_NVFP4_BLOCKS, x + i * NVFP4_ELEMS, 4 * (n - i), scale, code, true) / 4;
        for (size_t k = 0; k < held; k++, y += NVFP4_BYTES) {
            memcpy(y, scale + 4 * k, 4);
            memcpy(y + 4, code + k * (NVFP4_ELEMS / 2), NVFP4_ELEMS / 2);
        }
        i += held;
        if (i == n)
            break;
        if (!put_nvfp4(e, run, x + i * NVFP4_ELEMS, at + i * NVFP4_ELEMS, y))
            return false;
    }
    return true;
}

/* Solves blocks of FP4, decodes and compares them. */
static bool
solve_fp4(const struct encoding *e, const struct encode_run *run, uint64_t at, uint64_t count, uint8_t *y)
{
    const enum dtype type = e->encoder->type;
    const struct dtype_facts *f = dtype_facts(type);
    float second = 1;
    if (type == DTYPE_NVFP4)
        second = run->facts[0];
    for (uint64_t done = 0, n; done < count; done += n, y += n * f->bytes) {
        const float *x = run->x + done * f->elems;
        const uint64_t first = at + done * f->elems;
        n = num_min(count - done, type == DTYPE_NVFP4 ? AT_ONCE / 4 : AT_ONCE);
        const size_t elems = (size_t)(n * f->elems);
        if (!(type == DTYPE_NVFP4 ? put_some_nvfp4 : put_some_mxfp4)(e, run, x, first, (size_t)n, y))
            return false;
        if (!run->compare)
            continue;
        float *back = run->back;
        run->kernels->block_f32[type](back, y, (size_t)n);
        for (size_t i = 0; second != 1 && i < elems; i += 4)
            for (size_t k = 0; k < 4; k++)
                back[i + k] *= second;
        run->compare(run->of, first, x, back, elems);
    }
    return true;
}

static bool
put_block(const struct encoding *e, const struct encode_run *run, const float *x, uint64_t at, uint8_t *y)
{
    enum dtype type = e->encoder->type;
    struct solve_block b;
    solve_begin(&b, e, run, x, ELEMS, at);
    if (has_minimum(type))
        return put_steps(&b, type, y);
    return put_int(&b, type, y);
}

/* Returns the kernel that finds blocks of a dense source, or NULL. */
static kernel_same_ints *
kernel_of(const struct encoding *e, const struct encode_run *run)
{
    const enum exact_level level = e->exact->level;
    const bool plain = level == EXACT_F32 || level == EXACT_REAL;
    if (e->exact->source.codes != EXACT_DENSE || run->hints.scale || run->hints.unit)
        return NULL;
    switch (e->encoder->type) {
    case DTYPE_Q4_0:
    case DTYPE_Q5_0:
    case DTYPE_Q8_0:
        if (plain)
            return run->kernels->same_int_powers;
        if (level == EXACT_BF16)
            return run->kernels->same_int_rounded;
        return NULL;
    case DTYPE_Q4_1:
    case DTYPE_Q5_1:
        if (level == EXACT_F32)
            return run->kernels->same_int_steps;
        return NULL;
    default:
        return NULL;
    }
}

/* Solves blocks of integers of a dense source: those that a kernel does not find one by one. Only the latter are written if nothing is
 * compared: in a survey. */
static bool
put_all_ints(const struct encoding *e, const struct encode_run *run, kernel_same_ints *find, uint64_t at, uint64_t count, uint8_t *y)
{
    const enum dtype type = e->encoder->type;
    const unsigned bits = bits_of_type(type);
    const size_t size = dtype_facts(type)->bytes;
    uint8_t *q = NULL;
    if (run->compare)
        q = run->room;
    uint16_t *factor = (uint16_t *)run->room + AT_ONCE * ELEMS / 2;
    for (uint64_t i = 0, n; i < count; i += n, y += n * size) {
        const float *x = run->x + i * ELEMS;
        n = num_min(count - i, AT_ONCE);
        size_t found = find(q, factor, x, n, bits);
        for (size_t k = 0; k < n && run->hints.way && *run->hints.way < EXACT_SEARCH; k++)
            if (factor[2 * k] != SAME_NONE && factor[2 * k] != 0)       /* zeros need no search */
                solve_raise(run, EXACT_SEARCH);
        if (q)
            run->kernels->q_join(type, y, q, factor, n);
        for (size_t k = 0; found < n && k < n; k++)
            if (factor[2 * k] == SAME_NONE && !put_block(e, run, x + k * ELEMS, at + (i + k) * ELEMS, y + k * size))
                return false;
    }
    return true;
}

/* Solves or moves blocks of NVFP4 of stacked matrices, each with its own second scale. y may be NULL if blocks are moved. */
static bool
solve_matrices(const struct encoding *e, const struct encode_run *run, bool moves, uint64_t first, uint64_t count, uint8_t *y,
    struct err *err)
{
    const struct exact_source *s = &e->exact->source;
    for (uint64_t done = 0, n; done < count; done += n) {
        uint64_t at = (first + done) * NVFP4_ELEMS, k = at / s->each;
        struct encoding own = *e;
        struct exact_terms terms = *e->exact;
        struct encode_run of = *run;
        uint8_t *to = NULL;
        if (y)
            to = y + done * NVFP4_BYTES;
        n = num_min(count - done, (s->each - at % s->each) / NVFP4_ELEMS);
        terms.source.second = terms.source.stated = s->seconds[k];
        terms.source.seconds = NULL;
        own.exact = &terms;
        of.facts += k;
        of.x += done * NVFP4_ELEMS;
        of.back += done * NVFP4_ELEMS;
        of.n = (size_t)(n * NVFP4_ELEMS);
        if (moves)
            of.hints.pack = of.hints.pack + done * NVFP4_ELEMS;
        else
            of.hints.pack = NULL;
        if (!(moves ? solve_ggml_move(&own, &of, 0, first + done, n, to) : solve_ggml(&own, &of, 0, first + done, n, to, err)))
            return false;
    }
    return true;
}

bool
solve_ggml(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count, uint8_t *y,
    struct err *err)
{
    const struct dtype_facts *f = dtype_facts(e->encoder->type);
    const uint8_t *begin = y;
    (void)err;
    if (part != 0) {
        for (uint64_t i = 0; i < count; i++)
            store_le32(y + 4 * i, bits_of_float(run->facts[e->exact->source.seconds ? first + i : 0]));
        return true;
    }
    if (e->exact->source.seconds)
        return solve_matrices(e, run, false, first, count, y, err);
    uint64_t at = first * f->elems, n = count * f->elems;
    if (e->encoder->type == DTYPE_MXFP4 || e->encoder->type == DTYPE_NVFP4)
        return solve_fp4(e, run, at, count, y);
    kernel_same_ints *find = kernel_of(e, run);
    if (find && !put_all_ints(e, run, find, at, count, y))
        return false;
    for (uint64_t i = 0; !find && i < n; i += f->elems, y += f->bytes)
        if (!put_block(e, run, run->x + i, at + i, y))
            return false;
    if (!run->compare)
        return true;
    run->kernels->block_f32[e->encoder->type](run->back, begin, count);
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
    const struct exact_source *s = &e->exact->source;
    bool plain = true;
    for (uint64_t k = 0; k < (s->seconds ? s->nseconds : 1); k++) {
        struct encoding own = *e;
        struct exact_terms terms = *e->exact;
        if (s->seconds)
            terms.source.second = s->seconds[k];
        else
            terms.source.second = s->second;
        own.exact = &terms;
        if (!solve_nvfp4_settle(&own, SOLVE_NVFP4_BLOCKS, facts + k, fail))
            return false;
        e->solved = own.solved;
        plain = plain && facts[k] == 1.0f;
    }
    e->nparts -= plain;
    return true;
}

enum encode_fit
solve_ggml_fit(struct encoding *e, struct err *err)
{
    const struct exact_source *s = &e->exact->source;
    const uint64_t n = e->weight.shape.rank == 3 ? shape_dim(&e->weight.shape, 0) : 1;      /* one for each of stacked experts */
    if (e->encoder->type != DTYPE_NVFP4)
        return ENCODE_YES;
    if (!solve_nvfp4_fit(e))
        return ENCODE_NO;
    if (s->seconds)
        e->nfacts = s->nseconds;
    return encode_yes_if(solve_nvfp4_add_input(e, SOLVE_NVFP4_BLOCKS, 1, err)
        && encode_add_part(e, encode_module(e), ".scale", DTYPE_F32, &n, 1, err));
}

/* --- moved codes */

static bool
move_mxfp4(const struct encoding *e, const struct encode_run *run, uint64_t count, uint8_t *y)
{
    struct move_all all;
    const uint8_t *q = (const uint8_t *)run->x;
    bool same = true;
    int t;
    if (!move_is_e2m1(e) || !move_take_all(&all, e, run, ELEMS, y != NULL))
        return false;
    if (y)
        run->kernels->bits_table((uint8_t *)run->x, all.code, run->n, move_same_codes);
    for (uint64_t i = 0; i < count; i++, q += ELEMS) {
        if (!move_power(&t, all.scale[i]))
            return false;
        if (!y)
            continue;
        y[0] = (uint8_t)(t + 127);
        move_put_halves(y + 1, q);
        same = move_same_halves(y + 1, q) && 2 * mxfp4_scale(y[0]) == all.scale[i] && same;
        y += MXFP4_BYTES;
    }
    return same;
}

static bool
move_blocks_nvfp4(const struct encoding *e, const struct encode_run *run, uint64_t count, uint8_t *y)
{
    struct move_nvfp4 m;
    move_nvfp4_begin(&m, e, SOLVE_NVFP4_BLOCKS, run->facts);
    for (size_t i = 0; i < count * 4; i++) {
        const struct hint_pack pack = hint_pack_at(run->hints.pack, 16 * i);
        uint8_t scale;
        if (pack.mark != HINT_MARK || !move_nvfp4(&m, &pack, true, &scale))
            return false;
        if (!y)
            continue;
        uint8_t *to = y + i / 4 * NVFP4_BYTES, *codes = to + 4 + i % 4 * 8;
        to[i % 4] = scale;
        uint64_t halves = solve_mx_halves(load_le64(pack.code));
        store_le64(codes, halves);
        if (solve_ggml_join(halves) != load_le32(pack.code) || solve_ggml_join(halves >> 4) != load_le32(pack.code + 4))
            return false;
    }
    return true;
}

/* Some blocks whose codes become steps. Two numbers for each are its scale and minimum; 0 if the type has none. */
enum { FEW = 128 };
struct moved {
    struct move_steps steps[FEW];
    uint8_t number[FEW * ELEMS], q[FEW * ELEMS];
    float wanted[2 * FEW], back[2 * FEW];
    uint16_t factor[2 * FEW];
};

/* Finds the steps of blocks, their scales and minima, and the latter in F16. Returns false if F16 cannot hold these, or the steps need a
 * search. */
static bool
find_moved(struct moved *m, const struct encoding *e, const struct encode_run *run, const struct move_all *all, size_t first, size_t n)
{
    const enum dtype type = e->encoder->type;
    const bool minimum = has_minimum(type), own = minimum && move_is_e2m1(e);
    int half = 16;
    if (type == DTYPE_Q8_0)
        half = 128;
    else if (type == DTYPE_Q4_0)
        half = 8;
    int centre = half;
    if (type == DTYPE_Q8_0)
        centre = 0;
    float last = NAN;
    for (size_t i = 0; i < n; i++) {
        const float scale = all->scale[first + i], zero = all->zero[first + i];
        struct move_steps *s = &m->steps[i];
        if (own && !move_find_steps(s, all->found[first + i], 5))
            return false;
        if (!own && zero != last && !move_integers(s, e, zero, minimum ? (int)zero : centre, -half, half - 1))
            return false;
        if (!own && zero == last)
            *s = s[-1];
        if (scale == 0)
            return false;
        m->wanted[2 * i] = s->step * scale;
        if (minimum)
            m->wanted[2 * i + 1] = s->least * scale;
        else
            m->wanted[2 * i + 1] = 0;
        last = zero;
    }
    run->kernels->round_f16(m->factor, m->wanted, 2 * n);
    run->kernels->widen[DTYPE_F16](m->back, (const uint8_t *)m->factor, 2 * n);
    return run->kernels->same_rounded(DTYPE_F32, m->wanted, m->back, 2 * n);
}

/* Writes blocks, reads them back and compares them with the source, in integers: a block has the scale and the minimum of its
 * steps, and its codes are the numbers of the source. The two decoders round no product or sum then. */
static bool
put_moved(struct moved *m, const struct encoding *e, const struct encode_run *run, const uint8_t *code, size_t n, uint8_t *y)
{
    const struct kernels *k = run->kernels;
    bool same = true;
    k->bits_table(m->number, code, n * ELEMS, move_numbers(e));
    memcpy(m->q, m->number, n * ELEMS);
    for (size_t i = 0; i < n; i++)
        move_put_steps(m->q + i * ELEMS, &m->steps[i]);
    k->q_join(e->encoder->type, y, m->q, m->factor, n);
    k->q_split(e->encoder->type, m->q, m->factor, y, n);
    for (size_t i = 0; i < n; i++)
        same = move_take_steps(m->q + i * ELEMS, &m->steps[i]) && same;
    k->widen[DTYPE_F16](m->back, (const uint8_t *)m->factor, 2 * n);
    return same && memcmp(m->q, m->number, n * ELEMS) == 0 && k->same_rounded(DTYPE_F32, m->wanted, m->back, 2 * n);
}

static bool
move_int(const struct encoding *e, const struct encode_run *run, uint64_t count, uint8_t *y)
{
    const enum dtype type = e->encoder->type;
    const bool halves = move_is_e2m1(e), own = halves && has_minimum(type);
    struct move_all all;
    struct moved *m = (struct moved *)run->x;
    if ((halves ? type == DTYPE_Q4_0 || type == DTYPE_Q4_1 : !move_is_int(e)) || !move_take_all(&all, e, run, ELEMS, y || own))
        return false;
    if (own)
        run->kernels->bits_found(all.found, all.code, count, ELEMS);
    for (size_t i = 0, n; i < count; i += n) {
        n = (size_t)num_min(count - i, FEW);
        if (!find_moved(m, e, run, &all, i, n)
            || (y && !put_moved(m, e, run, all.code + i * ELEMS / 2, n, y + i * dtype_facts(type)->bytes)))
            return false;
    }
    return true;
}

/* Moves integers of a byte to Q8_0. */
static bool
move_bytes(const struct encode_run *run, uint64_t count, uint8_t *y)
{
    const float *list = run->hints.pack;
    uint16_t factor = 0;
    float scale = 0;
    for (size_t i = 0; i < 2 * count; i++, list += HINT_PACKED) {
        if (bits_of_float(list[HINT_BYTES_MARK]) != HINT_MARK_BYTES || list[HINT_BYTES_ZERO] != 0
            || (i % 2 != 0 && list[HINT_BYTES_SCALE] != scale))
            return false;
        scale = list[HINT_BYTES_SCALE];
        if (scale == 0 || !move_half(&factor, scale))
            return false;
        if (!y)
            continue;
        if (i % 2 == 0) {
            store_le16(y, factor);
            y += 2;
        }
        memcpy(y, list, HINT_PACKED);
        if (half_to_float(factor) != scale || memcmp(y, list, HINT_PACKED) != 0)
            return false;
        y += HINT_PACKED;
    }
    return true;
}

bool
solve_ggml_move(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count, uint8_t *y)
{
    (void)part;
    if (e->exact->source.seconds)
        return solve_matrices(e, run, true, first, count, y, NULL);
    switch (e->encoder->type) {
    case DTYPE_MXFP4:
        return move_mxfp4(e, run, count, y);
    case DTYPE_NVFP4:
        return move_blocks_nvfp4(e, run, count, y);
    case DTYPE_Q4_0:
    case DTYPE_Q4_1:
    case DTYPE_Q5_0:
    case DTYPE_Q5_1:
    case DTYPE_Q8_0:
        if (e->encoder->type == DTYPE_Q8_0 && e->exact->source.codes == EXACT_INT && e->exact->source.bits == 8)
            return !e->exact->source.two && move_bytes(run, count, y);
        return move_int(e, run, count, y);
    default:
        return false;
    }
}
