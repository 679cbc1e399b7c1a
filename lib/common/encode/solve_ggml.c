#include "encode/solve_ggml.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "dtype/bfloat16.h"
#include "dtype/ggml_block.h"
#include "dtype/half.h"
#include "encode/move.h"
#include "encode/solve_mx.h"
#include "kernel/blocks.h"

enum { ELEMS = 32 };

/* Packs nibbles: the first half of a block in the low ones, the second in the high ones. */
static void
pack_halves(uint8_t *y, const uint8_t *q, size_t half)
{
    for (size_t j = 0; j < half; j++)
        y[j] = (uint8_t)((q[j] & 15) | (q[j + half] & 15) << 4);
}

/* Packs bit 4 of each code: the product collects the lowest bit of eight bytes in the highest byte. */
static inline void
pack_fifth(uint8_t *y, const uint8_t q[ELEMS])
{
    for (size_t j = 0; j < ELEMS; j += 8)
        y[j / 8] = (uint8_t)((load_le64(q + j) >> 4 & UINT64_C(0x0101010101010101)) * UINT64_C(0x0102040810204080) >> 56);
}

static bool
has_minimum(enum dtype type)
{
    return type == DTYPE_Q4_1 || type == DTYPE_Q5_1;
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
    return type == DTYPE_MXFP4 ? put_mxfp4(&b, run->kernels, y) : has_minimum(type) ? put_steps(&b, type, y)
        : put_int(&b, type, y);
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
        uint8_t *to = y ? y + done * NVFP4_BYTES : NULL;
        n = num_min(count - done, (s->each - at % s->each) / NVFP4_ELEMS);
        terms.source.second = terms.source.stated = s->seconds[k];
        terms.source.seconds = NULL;
        own.exact = &terms;
        of.facts += k;
        of.x += done * NVFP4_ELEMS;
        of.back += done * NVFP4_ELEMS;
        of.n = (size_t)(n * NVFP4_ELEMS);
        of.hints.pack = moves ? of.hints.pack + done * NVFP4_ELEMS : NULL;
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
    const struct exact_source *s = &e->exact->source;
    bool plain = true;
    for (uint64_t k = 0; k < (s->seconds ? s->nseconds : 1); k++) {
        struct encoding own = *e;
        struct exact_terms terms = *e->exact;
        terms.source.second = s->seconds ? s->seconds[k] : s->second;
        own.exact = &terms;
        if (!solve_nvfp4_settle(&own, SOLVE_NVFP4_BLOCKS, facts + k, fail))
            return false;
        plain = plain && facts[k] == 1.0f;
    }
    e->nparts -= plain;
    return true;
}

bool
solve_ggml_fit(struct encoding *e, struct err *err)
{
    const struct exact_source *s = &e->exact->source;
    const uint64_t n = e->weight.shape.rank == 3 ? shape_dim(&e->weight.shape, 0) : 1;      /* one for each of stacked experts */
    if (e->encoder->type != DTYPE_NVFP4)
        return true;
    solve_nvfp4_fit(e);
    e->nfacts = s->seconds ? s->nseconds : e->nfacts;
    return solve_nvfp4_add_input(e, SOLVE_NVFP4_BLOCKS, 1, err)
        && encode_add_part(e, encode_module(e), ".scale", DTYPE_F32, &n, 1, err) != NULL;
}

bool
solve_ggml_foresee(const struct encoding *e, const float *scale, size_t n)
{
    if (e->exact->source.seconds)
        return false;
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

/* Puts eight nibbles into the low halves of eight bytes, and back. */
static inline uint64_t
spread(uint64_t v)
{
    v = (v | v << 16) & UINT64_C(0x0000FFFF0000FFFF);
    v = (v | v << 8) & UINT64_C(0x00FF00FF00FF00FF);
    return (v | v << 4) & UINT64_C(0x0F0F0F0F0F0F0F0F);
}

static inline uint32_t
join(uint64_t v)
{
    v &= UINT64_C(0x0F0F0F0F0F0F0F0F);
    v = (v | v >> 4) & UINT64_C(0x00FF00FF00FF00FF);
    v = (v | v >> 8) & UINT64_C(0x0000FFFF0000FFFF);
    return (uint32_t)(v | v >> 16);
}

static bool
move_blocks_nvfp4(const struct encoding *e, const struct encode_run *run, uint64_t count, uint8_t *y)
{
    struct move_nvfp4 m;
    move_nvfp4_begin(&m, e, SOLVE_NVFP4_BLOCKS, run->facts[0]);
    for (size_t i = 0; i < count * 4; i++) {
        const struct hint_pack pack = hint_pack_at(run->hints.pack, 16 * i);
        uint8_t scale;
        if (pack.mark != HINT_MARK || !move_nvfp4(&m, &pack, true, &scale))
            return false;
        if (!y)
            continue;
        uint8_t *to = y + i / 4 * NVFP4_BYTES, *codes = to + 4 + i % 4 * 8;
        to[i % 4] = scale;
        uint64_t halves = spread(load_le32(pack.code)) | spread(load_le32(pack.code + 4)) << 4;
        store_le64(codes, halves);
        if (join(halves) != load_le32(pack.code) || join(halves >> 4) != load_le32(pack.code + 4))
            return false;
    }
    return true;
}

/* How integers become codes of a block type. Values of E2M1 are twice as many halves of the scale. */
struct moved {
    const struct encoding *e;
    enum dtype type;
    bool halves, minimum, stays;        /* of E2M1; with a minimum; the codes stay */
    float unit;
    int middle, low, top;               /* the code of 0, and the least and largest integer */
    uint8_t table[16];
    float zero;                         /* the table is that of this zero point */
};

static struct moved
begin_moved(const struct encoding *e)
{
    enum dtype type = e->encoder->type;
    bool halves = move_is_e2m1(e), eight = type == DTYPE_Q8_0, minimum = has_minimum(type);
    struct moved m = { e, type, halves, minimum, .stays = type == DTYPE_Q4_0 || (minimum && !halves), .unit = halves ? 0.5f : 1,
        .middle = eight ? 0 : 16, .low = eight ? -128 : -16, .top = eight ? 127 : 15, .zero = NAN };
    memcpy(m.table, move_same_codes, sizeof m.table);
    return m;
}

/* Finds the factor, and the minimum, of a block with this scale and zero point, and the table of its codes: integers times a scale of
 * F16. */
static inline bool
find_moved(struct moved *m, uint16_t factor[2], const uint8_t *code, float scale, float zero)
{
    if (m->halves && m->minimum) {
        struct move_steps s;
        bool found = move_find_steps(&s, code, ELEMS, 5);
        memcpy(m->table, s.table, sizeof m->table);
        return found && move_half(&factor[0], s.step * scale) && move_half(&factor[1], s.least * scale);
    }
    float d = m->unit * scale;
    if (d == 0 || !move_half(&factor[0], d) || (m->minimum && !move_half(&factor[1], -zero * d)))
        return false;
    if (m->stays)
        return m->minimum || zero == 8;
    if (zero != m->zero && !move_integers(m->table, m->e, zero, m->middle, m->low, m->top))
        return false;
    m->zero = zero;
    return true;
}

/* Writes the codes of a block, one a byte, after its factors, and returns the end of the block. */
static inline uint8_t *
put_moved(enum dtype type, const uint8_t *q, uint8_t *y)
{
    if (type == DTYPE_Q8_0) {
        memcpy(y, q, ELEMS);
        return y + ELEMS;
    }
    if (type == DTYPE_Q5_0 || type == DTYPE_Q5_1) {
        pack_fifth(y, q);
        y += 4;
    }
    move_put_halves(y, q);
    return y + ELEMS / 2;
}

/* Compares blocks with the codes of the source, a few at a time, whose values stay in the cache. */
static void
prove_moved(const struct moved *m, const struct move_all *all, const struct encode_run *run, uint64_t at, size_t count, const uint8_t *y)
{
    enum { STEP = 64 };
    for (size_t i = 0, n; i < count; i += n) {
        n = count - i < STEP ? count - i : STEP;
        const struct move_all some = { all->code + ELEMS / 2 * i, all->scale + i, all->zero + i };
        struct encode_run part = *run;
        part.n = n * ELEMS;
        run->kernels->block_f32[m->type](run->back, y + i * dtype_facts(m->type)->bytes, n);
        move_prove(&some, m->e, &part, at + i * ELEMS, ELEMS);
    }
}

static bool
move_int(const struct encoding *e, const struct encode_run *run, uint64_t at, uint64_t count, uint8_t *y)
{
    struct move_all all;
    struct moved m = begin_moved(e);
    uint8_t *begin = y, *q = (uint8_t *)run->x;
    bool nibbles = m.type == DTYPE_Q4_0 || m.type == DTYPE_Q4_1, same = true;
    uint16_t factor[2] = { 0 };
    if (m.halves ? nibbles : !move_is_int(e))
        return false;
    const bool apart = m.halves && m.minimum;   /* each block has a table */
    if (!move_take_all(&all, e, run, ELEMS, y || apart))
        return false;
    for (size_t i = 0, end = 0; i < count; i++) {
        if (!find_moved(&m, factor, all.code + ELEMS / 2 * i, all.scale[i], all.zero[i]))
            return false;
        if (!y)
            continue;
        if (i == end) {                 /* the blocks with this table */
            while (end == i || (!apart && end < count && all.zero[end] == all.zero[i]))
                end++;
            run->kernels->bits_table(q + ELEMS * i, all.code + ELEMS / 2 * i, ELEMS * (end - i), m.table);
        }
        store_le16(y, factor[0]);
        if (m.minimum)
            store_le16(y + 2, factor[1]);
        y = put_moved(m.type, q + ELEMS * i, y + (m.minimum ? 4 : 2));
        if (nibbles)
            same = move_same_halves(y - 16, q + ELEMS * i) && half_to_float(factor[0]) == all.scale[i] && same;
    }
    if (y && !nibbles)
        prove_moved(&m, &all, run, at, count, begin);
    return same;
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
        return move_int(e, run, first * ELEMS, count, y);
    default:
        return false;
    }
}
