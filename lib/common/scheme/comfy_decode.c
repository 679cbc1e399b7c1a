/* ComfyUI's integers. A row of C columns:
 *
 *     int8_tensorwise    C bytes, two's complement; perhaps rotated
 *     convrot_w4a4       C/2 bytes, the low nibble first, two's complement; rotated
 *     asym_w4a8_int8     C/2 bytes, the low nibble first; at 6 bits C/4 more, where bits 2(c % 4) and up of byte c/4
 *                        are the upper ones of column c. Codes of INT8, rotated, are made of them:
 *                        q = clamp(rint(RN32(x * s_rel)), -127, 127), x = codebook[code], or code - 2^(bits-1)
 *     awq_w4a16          C/2 bytes, the low nibble first; V = RN32(RN32((code - 8) * scale) + zero)
 *
 *     V = RN32(q * scale); of rotated ones kernel/convrot.h
 *
 * Rows follow each other without a gap, and groups that are rotated divide them, so that these are counted through.
 * Sources: comfy-kitchen backends/eager/quantization.py, convrot_w4a4.py, w4a8_int8.py, awq.py. */
#include "scheme/comfy.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/num.h"
#include "scheme/scale.h"

enum { MAP = 16, SCALES = 256, EIGHT = 8 };

/* Eight bytes in whatever order, and their top bits. */
#define TOPS UINT64_C(0x8080808080808080)

static uint64_t
load_eight(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, EIGHT);
    return v;
}

static void
store_eight(uint8_t *p, uint64_t v)
{
    memcpy(p, &v, EIGHT);
}

/* --- what a run needs */

/* Elements [first, first + count), and those that are rotated with them. */
static void
reach(const struct comfy *c, uint64_t first, uint64_t count, uint64_t *from, uint64_t *to)
{
    uint64_t g = num_max(c->rotated, 1);
    *from = first / g * g;
    *to = num_ceil_div(first + count, g) * g;
}

/* Nibbles; they are unpacked by eight. */
static struct span
nibbles(uint64_t from, uint64_t to)
{
    uint64_t at = from / 8 * 4;
    return (struct span){ at, num_ceil_div(to, 2) - at };
}

/* The 6-bit codes of columns of one row lie in two places; those of several rows are one run, which has both. */
static struct span
six_bits(const struct comfy *c, unsigned part, uint64_t from, uint64_t to)
{
    uint64_t cols = c->scale.cols, row = from / cols, end = (to - 1) / cols, bytes = cols / 4 * 3;
    struct span low = nibbles(from % cols, to - end * cols);
    uint64_t high_at = from % cols / 8 * 2, high_end = num_ceil_div(to - end * cols, 4);
    if (row == end && part == COMFY_HIGH)
        return (struct span){ row * bytes + cols / 2 + high_at, high_end - high_at };
    if (row == end)
        return (struct span){ row * bytes + low.at, low.len };
    uint64_t at = row * bytes + from % cols / 8 * 4;
    return (struct span){ at, part == COMFY_HIGH ? 0 : end * bytes + cols / 2 + high_end - at };
}

void
comfy_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    const struct comfy *c = w->own;
    const struct tensor *t = w->part[part];
    uint64_t from, to, size = dtype_facts(t->dtype)->bytes;
    reach(c, first, count, &from, &to);
    if (part == COMFY_SCALE)
        blocks_span(s, &c->scale, t, first, count);
    else if (part == COMFY_GROUPS)
        *s = (struct span){ from / c->group * size, ((to - 1) / c->group + 1 - from / c->group) * size };
    else if (part == COMFY_CODEBOOK)
        *s = (struct span){ 0, MAP * size };
    else
        *s = c->bits == 8 ? (struct span){ from, to - from } : c->bits == 4 ? nibbles(from, to)
            : six_bits(c, part, from, to);
}

/* --- decoding */

/* A run of elements that is being made. */
struct comfy_run {
    const struct weight *w;
    const struct comfy *c;
    const struct kernels *k;
    const struct part_bytes *in;
    struct span spans[SCHEME_PARTS];
    float map[MAP];             /* what 4-bit codes stand for, */
    float e4m3[SCALES];         /* and those of scales */
    struct comfy_room *room;
    enum dtype to;
};

/* The bytes of a part from offset `at` on. */
static const uint8_t *
bytes_at(const struct comfy_run *j, unsigned part, uint64_t at)
{
    return j->in[part].p + (at - j->spans[part].at);
}

/* The scales of n groups from group g on. */
static void
group_scales(const struct comfy_run *j, float *scales, uint64_t g, size_t n)
{
    bool wide = j->w->part[COMFY_GROUPS]->dtype == DTYPE_F32;
    const uint8_t *p = bytes_at(j, COMFY_GROUPS, wide ? 4 * g : g);
    for (size_t i = 0; i < n; i++)
        scales[i] = wide ? scale_value(DTYPE_F32, p, i) : j->e4m3[p[i]];
}

/* n codes of 6 bits from column col of a row on. */
static void
unpack_six(const struct comfy_run *j, uint8_t *codes, uint64_t row, uint64_t col, size_t n)
{
    uint64_t cols = j->c->scale.cols, base = row * (cols / 4 * 3);
    uint8_t *high = j->room->high;
    unsigned in = j->spans[COMFY_HIGH].len != 0 ? COMFY_HIGH : COMFY_CODES;
    j->k->bits_stream(codes, bytes_at(j, COMFY_CODES, base + col / 8 * 4), (size_t)col, n, 4);
    j->k->bits_stream(high, bytes_at(j, in, base + cols / 2 + col / 8 * 2), (size_t)col, n, 2);
    size_t i = 0;
    for (; n - i >= EIGHT; i += EIGHT)
        store_eight(codes + i, load_eight(codes + i) | load_eight(high + i) << 4);
    for (; i < n; i++)
        codes[i] = (uint8_t)(codes[i] | high[i] << 4);
}

/* n codes of asym_w4a8_int8 from column col of a row on, as INT8. */
static void
remake(const struct comfy_run *j, uint8_t *q, uint64_t row, uint64_t col, uint64_t count)
{
    const struct comfy *c = j->c;
    float *v = j->room->v, *scales = j->room->scales, *zeros = j->room->zeros;
    uint8_t *codes = j->room->codes;
    for (uint64_t n; count != 0; count -= n, col += n, q += n) {
        uint64_t at = row * c->scale.cols + col, g = at / c->group;
        n = num_min(count, STEP - col % STEP);
        size_t groups = (size_t)((at + n - 1) / c->group - g + 1);
        group_scales(j, scales, g, groups);
        for (size_t i = 0; i < groups; i++)
            zeros[i] = 32;
        if (c->bits == 4) {
            j->k->codes4_f32(v, bytes_at(j, COMFY_CODES, at / 2), (size_t)(at % c->group), (size_t)n, &(struct codes4){
                .map = j->map, .scales = scales, .group = (size_t)c->group, .low_first = true });
        } else {
            unpack_six(j, codes, row, col, (size_t)n);
            j->k->codes8_f32(v, codes, (size_t)(at % c->group), (size_t)n, &(struct codes8){
                .zeros = zeros, .scales = scales, .group = (size_t)c->group });
        }
        j->k->round_int8((int8_t *)q, v, (size_t)n);
    }
}

/* The INT8 codes of columns [col, col + n) of a row, in room->rotated where they are not there as such. */
static const uint8_t *
find_codes(const struct comfy_run *j, uint64_t row, uint64_t col, uint64_t n)
{
    uint8_t *room = j->room->rotated;
    uint64_t at = row * j->c->scale.cols + col;
    if (j->c->bits == 8)
        return bytes_at(j, COMFY_CODES, at);
    if (j->w->part[COMFY_GROUPS]) {
        remake(j, room, row, col, n);
        return room;
    }
    j->k->bits_stream(room, bytes_at(j, COMFY_CODES, at / 8 * 4), (size_t)at, (size_t)n, 4);
    uint64_t i = 0;
    for (; n - i >= EIGHT; i += EIGHT)          /* no byte borrows from the next one */
        store_eight(room + i, ((load_eight(room + i) ^ TOPS / 16) + (TOPS - TOPS / 16)) ^ TOPS);
    for (; i < n; i++)
        room[i] = (uint8_t)((room[i] ^ 8) - 8);
    return room;
}

/* Elements of a row, as many of n from column col on as are made at once. */
static uint64_t
emit_rotated(const struct comfy_run *j, uint64_t row, uint64_t col, uint64_t n, float scale, void *y)
{
    uint64_t g = j->c->rotated, base = col / g * g, most = num_max(g, CONVROT_TILE) / g * g;
    n = num_min(n, base + most - col);
    if (j->to == DTYPE_F16)
        n = num_min(n, STEP);
    const uint8_t *codes = find_codes(j, row, base, num_ceil_div(col + n, g) * g - base);
    if (j->to == DTYPE_BF16) {
        j->k->convrot_bf16(y, codes, (size_t)col, (size_t)n, (size_t)g, scale, &j->room->sums);
    } else if (j->to == DTYPE_F32) {
        j->k->convrot_f32(y, codes, (size_t)col, (size_t)n, (size_t)g, scale, &j->room->sums);
    } else {
        j->k->convrot_f32(j->room->v, codes, (size_t)col, (size_t)n, (size_t)g, scale, &j->room->sums);
        kernels_round(j->k, j->to, y, j->room->v, (size_t)n);
    }
    return n;
}

/* The same where nothing is rotated: only INT8 is such. */
static uint64_t
emit_plain(const struct comfy_run *j, uint64_t row, uint64_t col, uint64_t n, float scale, void *y)
{
    uint64_t cols = j->c->scale.cols;
    const struct codes8 c = { .scales = &scale, .group = (size_t)cols, .is_signed = true };
    n = num_min(n, STEP);
    step_codes8(j->k, j->to, y, bytes_at(j, COMFY_CODES, row * cols + col), (size_t)col, (size_t)n, &c,
        j->room->v);
    return n;
}

void
comfy_decode(const struct weight *w, const struct kernels *k, const struct part_bytes in[SCHEME_PARTS], uint64_t first,
    uint64_t count, enum dtype to, void *out, void *room)
{
    const struct comfy *c = w->own;
    const struct blocks *b = &c->scale;
    struct comfy_run j = { .w = w, .c = c, .k = k, .in = in, .to = to, .room = room };
    uint8_t *y = out;
    uint64_t from, ignored;
    for (unsigned p = 0; p < SCHEME_PARTS; p++)
        if (weight_has_run(w, p))
            comfy_run(&j.spans[p], w, p, first, count);
    for (unsigned i = 0; i < MAP; i++)
        j.map[i] = w->part[COMFY_CODEBOOK] ? scale_value(DTYPE_F32, in[COMFY_CODEBOOK].p, i) : (float)i - 8;
    for (unsigned i = 0; w->part[COMFY_GROUPS] && i < SCALES; i++)
        j.e4m3[i] = float8_to_float(DTYPE_F8_E4M3, (uint8_t)i);
    blocks_run(b, first, count, &from, &ignored);
    for (uint64_t at = first, n; count != 0; at += n, count -= n, y += n * dtype_facts(to)->bytes) {
        uint64_t row = at / b->cols, col = at % b->cols;
        float scale = scale_value(DTYPE_F32, in[COMFY_SCALE].p, blocks_at(b, row, col) - from);
        n = num_min(count, b->cols - col);
        n = c->rotated ? emit_rotated(&j, row, col, n, scale, y) : emit_plain(&j, row, col, n, scale, y);
    }
}

/* --- awq_w4a16 */

/* Scales and zeros lie by groups: a row of the output has a column of them. */
void
comfy_awq_strip(struct strip *s, const struct weight *w, unsigned part)
{
    const struct comfy *c = w->own;
    const struct shape *shape = &w->shape;
    *s = (struct strip){ .matrices = shape->rank == 3 ? shape_dim(shape, 0) : 1, .rows = c->scale.cols / c->group,
        .units = c->scale.rows, .unit_rows = 1, .unit_bytes = dtype_facts(w->part[part]->dtype)->bytes };
}

void
comfy_awq_decode(const struct weight *w, const struct kernels *k, const struct part_bytes in[SCHEME_PARTS],
    uint64_t first, uint64_t count, enum dtype to, void *out, void *room)
{
    static const float map[MAP] = { -8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7 };
    const struct comfy *c = w->own;
    uint64_t cols = c->scale.cols, top = first / cols;
    const uint8_t *codes = in[COMFY_CODES].p;
    struct codes_piece *p = room;
    struct span s;
    uint8_t *y = out;
    comfy_run(&s, w, COMFY_CODES, first, count);
    for (uint64_t at = first; count != 0; at += p->n, count -= p->n, y += p->n * dtype_facts(to)->bytes) {
        codes_begin(p, at, count, cols, c->group);
        const uint8_t *scales = in[COMFY_SCALE].p + (p->row - top) * in[COMFY_SCALE].stride;
        const uint8_t *zeros = in[COMFY_ZEROS].p + (p->row - top) * in[COMFY_ZEROS].stride;
        for (size_t i = 0; i < p->groups; i++) {
            p->scales[i] = scale_value(w->part[COMFY_SCALE]->dtype, scales, p->col / c->group + i);
            p->zeros[i] = scale_value(w->part[COMFY_ZEROS]->dtype, zeros, p->col / c->group + i);
        }
        k->codes4_f32(p->v, codes + (at / 2 - s.at), (size_t)p->col, p->n, &(struct codes4){ .map = map,
            .scales = p->scales, .group = p->group, .low_first = true });
        for (size_t i = 0, g = 0, end = (size_t)(c->group - p->col % c->group); i < p->n; g++, end += p->group)
            for (; i < num_min(p->n, end); i++)
                p->v[i] += p->zeros[g];
        kernels_round(k, to, y, p->v, p->n);
    }
}

/* --- reports */

void
comfy_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    const struct comfy *c = w->own;
    if (w->vague) {
        snprintf(buf, SCHEME_DETAIL, "4- or 6-bit, ConvRot");
        return;
    }
    int n = snprintf(buf, SCHEME_DETAIL, "%u-bit, ", c->bits);
    if (c->group != 0)
        snprintf(buf + n, SCHEME_DETAIL - (size_t)n, "groups of %" PRIu64, c->group);
    else
        blocks_describe(&c->scale, buf, n);
    n = (int)strlen(buf);
    if (c->rotated != 0 && c->unread)
        snprintf(buf + n, SCHEME_DETAIL - (size_t)n, ", ConvRot");
    else if (c->rotated != 0)
        snprintf(buf + n, SCHEME_DETAIL - (size_t)n, ", ConvRot in groups of %" PRIu64, c->rotated);
}
