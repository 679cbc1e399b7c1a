/* Integers of compressed-tensors, in the type D of the weight [out, in]:
 *
 *     int8-channel    P.weight I8 [out, in], P.weight_scale D [out, 1]; asymmetric: P.weight_zero_point I8 [out, 1]
 *     int4-group      P.weight_packed I32 [out, in/8], P.weight_scale D [out, G], P.weight_shape I64 [2] = out, in;
 *                     asymmetric: P.weight_zero_point I32 [ceil(out/8), G];
 *                     of a source whose groups are not neighbours: P.weight_g_idx I32 [in], the group of each column
 *
 * int8-channel stores signed codes. int4-group stores code + 8 in 4-bit fields, eight to a word with the first in the lowest
 * bits: eight columns in weight_packed, eight rows in weight_zero_point. Source: compressed-tensors
 * compressors/naive_quantized and pack_quantized.
 */
#include "encode/table.h"

#include <string.h>

#include "base/bytes.h"
#include "base/num.h"
#include "encode/groups.h"
#include "encode/move.h"
#include "encode/ordered.h"
#include "encode/solve.h"
#include "kernel/encode_int.h"

enum ct_kind { SCALES, ZEROS, PACKED_ZEROS, CODES, WORDS, SHAPE, INDEX };

struct ct_own {
    struct int_rule rule;
    uint32_t group;                     /* int8-channel: a row */
    uint8_t kind[ENCODE_PARTS];
};

static bool
ct_add(struct encoding *e, enum ct_kind kind, const char *suffix, enum dtype dtype, uint64_t rows, uint64_t cols,
    uint32_t elems, uint32_t grain, struct err *err)
{
    struct ct_own *own = e->own;
    const uint64_t dim[2] = { rows, cols };
    own->kind[e->nparts] = (uint8_t)kind;
    return (kind == CODES || kind == WORDS ? groups_codes : groups_part)(e, suffix, dtype, dim, cols != 0 ? 2 : 1, elems, grain, err);
}

static bool
add_shape(struct encoding *e, struct err *err)
{
    uint8_t *bytes = encode_alloc(e, 16, err);
    if (!bytes || !ct_add(e, SHAPE, ".weight_shape", DTYPE_I64, 2, 0, 0, 16, err))
        return false;
    store_le64(bytes, e->rows);
    store_le64(bytes + 8, e->cols);
    e->part[e->nparts - 1].bytes = bytes;
    return true;
}

/* Adds words of the zero points of eight rows. */
static bool
add_packed_zeros(struct encoding *e, uint64_t groups, uint32_t group, struct err *err)
{
    if (!ct_add(e, PACKED_ZEROS, ".weight_zero_point", DTYPE_I32, num_ceil_div(e->rows, 8), groups, 0, 4, err))
        return false;
    e->part[e->nparts - 1].down = 8;
    e->part[e->nparts - 1].across = group;
    return true;
}

static struct ct_own *
own_of(struct encoding *e, unsigned bits, uint32_t group, const struct encode_options *options, struct err *err)
{
    struct ct_own *own = encode_alloc(e, sizeof *own, err);
    if (own)
        *own = (struct ct_own){ .rule = { groups_dtype(e), bits, options->asymmetric }, .group = group };
    e->own = own;
    return own;
}

static enum encode_fit
fit_channel(struct encoding *e, const struct encode_options *options, struct err *err)
{
    static const struct groups_choice choice = { .symmetric = true, .asymmetric = true };
    uint32_t none, cols = (uint32_t)e->cols;
    enum encode_fit fit = groups_fit(e, options, &choice, &none, err);
    if (fit != ENCODE_YES)
        return fit;
    if (e->cols > ENCODE_FLOATS) {
        e->why = "rows longer than 131072 elements";
        return ENCODE_NO;
    }
    struct ct_own *own = own_of(e, 8, cols, options, err);
    enum dtype d = groups_dtype(e);
    return encode_yes_if(own && ct_add(e, SCALES, ".weight_scale", d, e->rows, 1, cols, dtype_facts(d)->bytes, err)
        && (!own->rule.asymmetric || ct_add(e, ZEROS, ".weight_zero_point", DTYPE_I8, e->rows, 1, cols, 1, err))
        && ct_add(e, CODES, ".weight", DTYPE_I8, e->rows, e->cols, cols, cols, err));
}

static enum encode_fit
fit_group(struct encoding *e, const struct encode_options *options, struct err *err)
{
    static const struct groups_choice choice = { 128, 32, GROUPS_MOST, .symmetric = true, .asymmetric = true };
    uint32_t group;
    enum encode_fit fit = groups_fit(e, options, &choice, &group, err);
    if (fit != ENCODE_YES)
        return fit;
    struct ct_own *own = own_of(e, 4, group, options, err);
    uint64_t groups = e->cols / group;
    bool ordered = e->exact && ordered_fit(e, group);
    uint32_t elems = ordered ? (uint32_t)e->cols : group;       /* ordered: a grain is a row */
    enum dtype d = groups_dtype(e);
    if (ordered && e->cols > ENCODE_FLOATS) {
        e->why = "rows longer than 131072 elements";
        return ENCODE_NO;
    }
    if (!own)
        return ENCODE_FAIL;
    if (own->rule.asymmetric)
        e->bands = (struct encode_bands){ .rows = 8, .cols = e->cols };
    return encode_yes_if(add_shape(e, err) && (!ordered || ct_add(e, INDEX, ".weight_g_idx", DTYPE_I32, e->cols, 0, 0, 4, err))
        && ct_add(e, SCALES, ".weight_scale", d, e->rows, groups, elems, elems / group * dtype_facts(d)->bytes, err)
        && (!own->rule.asymmetric || add_packed_zeros(e, groups, group, err))
        && ct_add(e, WORDS, ".weight_packed", DTYPE_I32, e->rows, e->cols / 8, elems, elems / 2, err));
}

/* Finds the scale and zero point of group j after the one at x, whose first element is number `at` of the weight; if the groups are
 * ordered, x is the row. An exact encoding also sets the codes. */
static bool
find(const struct encoding *e, const struct encode_run *run, const float *x, uint64_t at, uint64_t j, struct int_group *g, uint8_t *q,
    struct err *err)
{
    const struct ct_own *own = e->own;
    const struct solve_int how = { own->rule.bits, own->rule.asymmetric, -(1 << (own->rule.bits - 1)), own->rule.dtype };
    const float *group = x + j * own->group;
    struct solve_block b;
    if (!e->exact) {
        run->kernels->int_ct->find(g, group, own->group, &own->rule);
        return groups_scale_fits(e, g->scale, own->rule.dtype, group, own->group, at + j * own->group, err);
    }
    if (e->order)
        ordered_begin(&b, e, run, x, at, j, own->group);
    else
        solve_begin(&b, e, run, group, own->group, at + j * own->group);
    return solve_int(&b, &how, g, q);
}

/* Writes words [at, at + n) of packed zero points, each of eight rows of a group. */
static bool
zero_words(const struct encoding *e, const struct encode_run *run, uint64_t at, size_t n, uint8_t *y, struct err *err)
{
    const struct ct_own *own = e->own;
    uint64_t groups = e->cols / own->group, row = at / groups * 8, first = at % groups, col = e->order ? 0 : first * own->group;
    size_t count = e->order ? (size_t)e->cols : n * own->group;
    memset(y, 0, n * 4);
    for (uint64_t i = 0; i < 8 && row + i < e->rows; i++) {
        if (!run->read(run->of, (row + i) * e->cols + col, count, run->x, err))
            return false;
        for (size_t j = 0; j < n; j++) {
            struct int_group g;
            if (!find(e, run, run->x, (row + i) * e->cols + col, e->order ? first + j : j, &g, (uint8_t *)run->back, err))
                return false;
            store_le32(y + 4 * j, load_le32(y + 4 * j) | (uint32_t)g.zero << 4 * i);
        }
    }
    return true;
}

static bool
packed_zeros(const struct encoding *e, const struct encode_run *run, uint64_t first, uint64_t count, uint8_t *y,
    struct err *err)
{
    const struct ct_own *own = e->own;
    uint64_t groups = e->cols / own->group;
    for (uint64_t n; count != 0; first += n, count -= n, y += 4 * n) {
        n = num_min(num_min(count, groups - first % groups), ENCODE_FLOATS / own->group);
        if (!zero_words(e, run, first, (size_t)n, y, err))
            return false;
    }
    return true;
}

/* Decodes the stored codes of a group of an exact encoding, as readers do, for comparison. */
static void
prove(const struct encoding *e, const struct encode_run *run, enum ct_kind kind, const struct int_group *g, const float *x,
    const uint8_t *y, uint64_t first)
{
    static const float map[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    size_t n = ((const struct ct_own *)e->own)->group;
    float zero = kind == WORDS ? g->zero : g->zero - 128;
    const struct codes4 four = { map, &zero, &g->scale, n, true };
    const struct codes8 eight = { &zero, &g->scale, n, true, false };
    if (!run->compare)
        return;
    if (kind == WORDS)
        run->kernels->codes4_f32(run->back, y, 0, n, &four);
    else
        run->kernels->codes8_f32(run->back, y, 0, n, &eight);
    run->compare(run->of, first, x, run->back, n);
}

/* Writes the codes of a group at x, whose first element is number `first` of the weight, and which are in `q` already if the
 * encoding is exact. Returns the end of the codes. */
static uint8_t *
put_codes(const struct encoding *e, const struct encode_run *run, enum ct_kind kind, const struct int_group *g,
    const float *x, uint8_t *q, uint8_t *y, uint64_t first)
{
    const struct ct_own *own = e->own;
    size_t n = own->group;
    if (!e->exact)
        run->kernels->int_ct->codes(q, x, n, g, &own->rule);
    if (run->compare && !e->exact) {
        run->kernels->int_ct->back(run->back, q, n, g, &own->rule);
        run->compare(run->of, first, x, run->back, n);
    }
    if (kind == WORDS)
        run->kernels->int_pack(y, q, n, 4);
    for (size_t i = 0; kind == CODES && i < n; i++)
        y[i] ^= 0x80;
    if (e->exact)
        prove(e, run, kind, g, x, y, first);
    return y + (kind == WORDS ? n / 2 : n);
}

/* Writes the codes of an ordered group, which `find` has left gathered, to their columns of the row at y, and decodes them again from
 * there for comparison. */
static void
scatter(const struct encoding *e, const struct encode_run *run, const uint32_t *column, const struct int_group *g, uint8_t *q, uint8_t *y,
    uint64_t at)
{
    size_t n = ((const struct ct_own *)e->own)->group;
    for (size_t i = 0; i < n; i++)
        y[column[i] / 2] |= (uint8_t)(q[i] << column[i] % 2 * 4);
    if (!run->compare)
        return;
    for (size_t i = 0; i < n; i++)
        q[i] = y[column[i] / 2] >> column[i] % 2 * 4 & 15;
    run->kernels->codes8_f32(run->back, q, 0, n, &(const struct codes8){ &g->zero, &g->scale, n, false, true });
    run->compare(run->of, at + column[0], run->room, run->back, n);
}

/* Encodes rows [first, first + count) whose groups are ordered. */
static bool
encode_rows(const struct encoding *e, const struct encode_run *run, enum ct_kind kind, uint64_t first, uint64_t count, uint8_t *y,
    struct err *err)
{
    const struct ct_own *own = e->own;
    uint8_t *q = (uint8_t *)run->room + ORDERED_ROOM;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = (first + i) * e->cols;
        if (kind == WORDS)
            memset(y, 0, e->cols / 2);
        for (uint64_t j = 0; j < e->cols / own->group; j++) {
            struct int_group g;
            if (!find(e, run, run->x + i * e->cols, at, j, &g, q, err))
                return false;
            if (kind == SCALES)
                y += groups_store(y, own->rule.dtype, g.scale);
            else
                scatter(e, run, e->order + j * own->group, &g, q, y, at);
        }
        if (kind == WORDS)
            y += e->cols / 2;
    }
    return true;
}

static bool
ct_encode(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count,
    uint8_t *y, struct err *err)
{
    const struct ct_own *own = e->own;
    enum ct_kind kind = own->kind[part];
    if (kind == INDEX)
        ordered_index(e, own->group, first, count, y);
    if (kind == INDEX || kind == PACKED_ZEROS)
        return kind == INDEX || packed_zeros(e, run, first, count, y, err);
    if (e->order)
        return encode_rows(e, run, kind, first, count, y, err);
    for (uint64_t i = 0; i < count; i++) {
        const float *x = run->x + i * own->group;
        uint64_t at = (first + i) * own->group;
        struct int_group g;
        uint8_t packed[GROUPS_MOST], *q = kind == WORDS ? packed : kind == CODES ? y : (uint8_t *)run->back;
        if (!find(e, run, x, at, 0, &g, q, err))
            return false;
        if (kind == SCALES)
            y += groups_store(y, own->rule.dtype, g.scale);
        else if (kind == ZEROS)
            *y++ = (uint8_t)((int)g.zero - 128);
        else
            y = put_codes(e, run, kind, &g, x, q, y, at);
    }
    return true;
}

/* Moves groups of int4-group without zero points. */
static bool
ct_move(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count, uint8_t *y)
{
    const struct ct_own *own = e->own;
    enum ct_kind kind = own->kind[part];
    uint8_t code[GROUPS_MOST / 2];
    (void)first;
    if (!move_is_int(e) || own->rule.bits != 4 || own->rule.asymmetric || (kind != SCALES && kind != WORDS))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        struct hint_pack pack;
        if (!move_take(&pack, code, run->hints.pack, (size_t)i * own->group, own->group) || pack.zero != 8
            || !move_is_scale(own->rule.dtype, pack.scale))
            return false;
        if (y && kind == SCALES)
            y += groups_store(y, own->rule.dtype, pack.scale);
        else if (y) {
            memcpy(y, code, own->group / 2);
            y += own->group / 2;
        }
    }
    return true;
}

const struct encoder encode_ct[] = {
    { .name = "int8-channel", .label = "compressed-tensors INT8", .held = KEEPS_CODES, .type = DTYPE_UNKNOWN, .fit = fit_channel,
        .encode = ct_encode, .grid = { .bits = 8002, .zeros = true, .types = true },
        .exact = { .solve = ct_encode, .move = ct_move, .offer = 9 } },
    { .name = "int4-group", .label = "compressed-tensors INT4", .held = KEEPS_CODES, .type = DTYPE_UNKNOWN, .fit = fit_group,
        .encode = ct_encode, .grid = { .groups = GROUPS_CHOSEN, .most_group = 1024, .bits = 4001, .zeros = true, .types = true },
        .exact = { .solve = ct_encode, .move = ct_move, .offer = 2 } },
    { .name = NULL },
};
