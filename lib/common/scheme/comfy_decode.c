/* ComfyUI's integers. A row of C columns:
 *
 *     int8_tensorwise    C bytes, two's complement; may be rotated
 *     convrot_w4a4       C/2 bytes, the low nibble first, two's complement; rotated
 *     asym_w4a8_int8     C/2 bytes, the low nibble first; with 6 bits C/4 more, in which bits 2(c % 4) and up of byte c/4
 *                        are the upper bits of column c. They are first converted to INT8 codes, which are rotated:
 *                        q = clamp(rint(RN32(x * s_rel)), -127, 127), x = codebook[code], or code - 2^(bits-1)
 *     awq_w4a16          C/2 bytes, the low nibble first; V = RN32(RN32((code - 8) * scale) + zero)
 *
 *     V = RN32(q * scale); for rotated codes see kernel/convrot.h
 *
 * Rows follow each other without a gap, and the groups of a rotation divide a row, so groups are numbered across all rows.
 * Sources: comfy-kitchen backends/eager/quantization.py, convrot_w4a4.py, w4a8_int8.py, awq.py.
 */
#include "scheme/comfy.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/num.h"
#include "scheme/scale.h"

enum { EIGHT = 8 };

/* The top bits of eight bytes, in any byte order. */
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

static const struct comfy *
own(const struct weight *w)
{
    return w->own;
}

/* --- the bytes of a run */

/* Extends elements [first, first + count) to whole rotated groups. */
static void
extend_to_groups(const struct comfy *c, uint64_t first, uint64_t count, uint64_t *from, uint64_t *to)
{
    uint64_t g = num_max(c->rotated, 1);
    *from = first / g * g;
    *to = num_ceil_div(first + count, g) * g;
}

/* Returns the bytes of nibbles, from a multiple of eight, because they are unpacked by eight. */
static struct span
nibbles(uint64_t from, uint64_t to)
{
    uint64_t at = from / 8 * 4;
    return (struct span){ at, num_ceil_div(to, 2) - at };
}

/* Returns the bytes of 6-bit codes. Within one row the lower and the upper bits are two separate runs. For several rows, one
 * run covers both. */
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
    extend_to_groups(c, first, count, &from, &to);
    if (part == COMFY_SCALE)
        blocks_span(s, &c->scale, t, first, count);
    else if (part == COMFY_GROUPS)
        *s = (struct span){ from / c->group * size, ((to - 1) / c->group + 1 - from / c->group) * size };
    else if (part == COMFY_CODEBOOK)
        *s = (struct span){ 0, COMFY_MAP * size };
    else
        *s = c->bits == 8 ? (struct span){ from, to - from } : c->bits == 4 ? nibbles(from, to)
            : six_bits(c, part, from, to);
}

/* --- decoding */

/* Reads the scales of n groups, starting at group g. */
static void
group_scales(const struct decoding *d, float *scales, uint64_t g, size_t n)
{
    const struct comfy_room *room = d->room;
    if (d->w->part[COMFY_GROUPS]->dtype == DTYPE_F32) {
        scale_read(d, COMFY_GROUPS, g, n, scales);
        return;
    }
    const uint8_t *p = decoding_bytes(d, COMFY_GROUPS, g);
    for (size_t i = 0; i < n; i++)
        scales[i] = room->e4m3[p[i]];
}

/* Unpacks n codes of 6 bits, starting at column col of a row. For several rows, the upper bits are in the run of the lower
 * ones. */
static void
unpack_six(const struct decoding *d, uint64_t row, uint64_t col, size_t n)
{
    struct comfy_room *room = d->room;
    uint64_t cols = own(d->w)->scale.cols, base = row * (cols / 4 * 3);
    uint8_t *codes = room->codes, *high = room->high;
    unsigned in = COMFY_CODES;
    if (d->in[COMFY_HIGH].p)
        in = COMFY_HIGH;
    d->k->bits_stream(codes, decoding_bytes(d, COMFY_CODES, base + col / 8 * 4), (size_t)col, n, 4);
    d->k->bits_stream(high, decoding_bytes(d, in, base + cols / 2 + col / 8 * 2), (size_t)col, n, 2);
    size_t i = 0;
    for (; n - i >= EIGHT; i += EIGHT)
        store_eight(codes + i, load_eight(codes + i) | load_eight(high + i) << 4);
    for (; i < n; i++)
        codes[i] = (uint8_t)(codes[i] | high[i] << 4);
}

/* Converts codes of asym_w4a8_int8, starting at column col of a row, to INT8. */
static void
requantize(const struct decoding *d, uint8_t *q, uint64_t row, uint64_t col, uint64_t count)
{
    const struct comfy *c = own(d->w);
    struct comfy_room *room = d->room;
    float *v = room->v, *scales = room->scales, *zeros = room->zeros;
    for (uint64_t n; count != 0; count -= n, col += n, q += n) {
        uint64_t at = row * c->scale.cols + col, g = at / c->group;
        n = num_min(count, STEP - col % STEP);
        size_t groups = (size_t)((at + n - 1) / c->group - g + 1);
        group_scales(d, scales, g, groups);
        for (size_t i = 0; i < groups; i++)
            zeros[i] = 32;
        if (c->bits == 4) {
            d->k->codes4_f32(v, decoding_bytes(d, COMFY_CODES, at / 2), (size_t)(at % c->group), (size_t)n,
                &(struct codes4){ .map = room->map, .scales = scales, .group = (size_t)c->group, .low_first = true });
        } else {
            unpack_six(d, row, col, (size_t)n);
            d->k->codes8_f32(v, room->codes, (size_t)(at % c->group), (size_t)n, &(struct codes8){
                .zeros = zeros, .scales = scales, .group = (size_t)c->group });
        }
        d->k->round_int8((int8_t *)q, v, (size_t)n);
    }
}

/* Returns the INT8 codes of columns [col, col + n) of a row; in room->rotated if they are not stored as such. */
static const uint8_t *
find_codes(const struct decoding *d, uint64_t row, uint64_t col, uint64_t n)
{
    const struct comfy *c = own(d->w);
    uint8_t *room = ((struct comfy_room *)d->room)->rotated;
    uint64_t at = row * c->scale.cols + col;
    if (c->bits == 8)
        return decoding_bytes(d, COMFY_CODES, at);
    if (d->w->part[COMFY_GROUPS]) {
        requantize(d, room, row, col, n);
        return room;
    }
    d->k->bits_stream(room, decoding_bytes(d, COMFY_CODES, at / 8 * 4), (size_t)at, (size_t)n, 4);
    uint64_t i = 0;
    for (; n - i >= EIGHT; i += EIGHT)          /* no byte borrows from its neighbour */
        store_eight(room + i, ((load_eight(room + i) ^ TOPS / 16) + (TOPS - TOPS / 16)) ^ TOPS);
    for (; i < n; i++)
        room[i] = (uint8_t)((room[i] ^ 8) - 8);
    return room;
}

/* Decodes at most n elements of a row, starting at column col, with one kernel call. Returns how many. */
static uint64_t
emit_rotated(const struct decoding *d, uint64_t row, uint64_t col, uint64_t n, float scale, uint8_t *y)
{
    struct comfy_room *room = d->room;
    uint64_t g = own(d->w)->rotated, base = col / g * g, most = num_max(g, CONVROT_TILE) / g * g;
    n = num_min(n, base + most - col);
    if (d->to == DTYPE_F16)
        n = num_min(n, STEP);
    const uint8_t *codes = find_codes(d, row, base, num_ceil_div(col + n, g) * g - base);
    float *v;
    if (d->to == DTYPE_F32)
        v = (void *)y;
    else
        v = room->v;
    if (d->to == DTYPE_BF16)
        d->k->convrot_bf16((void *)y, codes, (size_t)col, (size_t)n, (size_t)g, scale, &room->sums);
    else
        d->k->convrot_f32(v, codes, (size_t)col, (size_t)n, (size_t)g, scale, &room->sums);
    if (d->to == DTYPE_F16)
        kernels_round(d->k, d->to, y, v, (size_t)n);
    return n;
}

static void
fill_maps(const struct decoding *d)
{
    struct comfy_room *room = d->room;
    for (unsigned i = 0; i < COMFY_MAP; i++)
        room->map[i] = d->w->part[COMFY_CODEBOOK] ? scale_at(d, COMFY_CODEBOOK, i) : (float)i - 8;
    for (unsigned i = 0; d->w->part[COMFY_GROUPS] && i < COMFY_SCALES; i++)
        room->e4m3[i] = float8_to_float(DTYPE_F8_E4M3, (uint8_t)i);
}

/* Decodes every format but awq_w4a16. Weights that are not rotated are plain INT8. */
uint64_t
comfy_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    const struct comfy *c = own(d->w);
    uint64_t cols = c->scale.cols, row = at / cols, col = at % cols, n = num_min(count, cols - col);
    float scale = scale_at(d, COMFY_SCALE, blocks_at(&c->scale, row, col));
    const struct codes8 plain = { .scales = &scale, .group = (size_t)cols, .is_signed = true };
    if (at == d->first)
        fill_maps(d);
    if (c->rotated)
        return emit_rotated(d, row, col, n, scale, y);
    n = num_min(n, STEP);
    step_codes8(d, y, decoding_bytes(d, COMFY_CODES, at), (size_t)col, (size_t)n, &plain, ((struct comfy_room *)d->room)->v);
    return n;
}

/* --- awq_w4a16 */

/* Scales and zeros are stored by group: the scales of an output row are a column of the tensor. */
void
comfy_awq_strip(struct strip *s, const struct weight *w, unsigned part)
{
    const struct comfy *c = w->own;
    const struct shape *shape = &w->shape;
    *s = (struct strip){ .matrices = shape->rank == 3 ? shape_dim(shape, 0) : 1, .rows = c->scale.cols / c->group,
        .units = c->scale.rows, .unit_rows = 1, .unit_bytes = dtype_facts(w->part[part]->dtype)->bytes };
}

uint64_t
comfy_awq_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    static const float map[COMFY_MAP] = { -8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7 };
    const struct comfy *c = own(d->w);
    struct codes_piece *p = codes_begin(d, at, count, c->scale.cols, c->group);
    uint64_t row = p->row - d->first / c->scale.cols, g = p->col / c->group;
    const uint8_t *scales = decoding_unit(d, COMFY_SCALE, row), *zeros = decoding_unit(d, COMFY_ZEROS, row);
    for (size_t i = 0; i < p->groups; i++) {
        p->scales[i] = scale_value(d->w->part[COMFY_SCALE]->dtype, scales, g + i);
        p->zeros[i] = scale_value(d->w->part[COMFY_ZEROS]->dtype, zeros, g + i);
    }
    d->k->codes4_f32(p->v, decoding_bytes(d, COMFY_CODES, at / 2), (size_t)p->col, p->n, &(struct codes4){ .map = map,
        .scales = p->scales, .group = p->group, .low_first = true });
    for (size_t i = 0, end = (size_t)(c->group - p->col % c->group), k = 0; i < p->n; k++, end += p->group)
        for (; i < num_min(p->n, end); i++)
            p->v[i] += p->zeros[k];
    kernels_round(d->k, d->to, y, p->v, p->n);
    return p->n;
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
        blocks_describe(&c->scale, NULL, buf, n);
    n = (int)strlen(buf);
    if (c->rotated != 0 && c->unread)
        snprintf(buf + n, SCHEME_DETAIL - (size_t)n, ", ConvRot");
    else if (c->rotated != 0)
        snprintf(buf + n, SCHEME_DETAIL - (size_t)n, ", ConvRot in groups of %" PRIu64, c->rotated);
}
