/* bitsandbytes 4-bit: codes are indices into a table of 16, times the absmax of their block. The tensors of a weight X:
 *
 *     X                    [bytes, 1]     two codes a byte, the high nibble first; U8, or the same bytes as BF16 ...
 *     X.absmax             [B] F32        one per block of the flattened weight, whatever its rows; the last may be short
 *                          [B] U8         or indices into nested_quant_map
 *     X.quant_map          [16] F32       the table
 *     X.nested_absmax      [N] F32        one for nested_blocksize absmax codes
 *     X.nested_quant_map   [256] F32
 *     X.quant_state...     U8             see bnb4_state.c; it has the shape, which X alone does not show
 *
 *     scale_b = absmax[b], or RN32(RN32(nested_quant_map[absmax[b]] * nested_absmax[b / nested_blocksize]) + offset)
 *     V[t] = RN32(quant_map[code_t] * scale of t's block)
 *
 * Code 8 of FP4 is -0, although the stored table says +0: this is what the CUDA and CPU kernels produce. Sources:
 * bitsandbytes functional.py, dequantize_4bit, and csrc/kernels.cu; for GPTQModel's names,
 * nn_modules/qlinear/bitsandbytes.py.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "kernel/bnb_maps.h"
#include "scheme/bnb4.h"
#include "scheme/bnb4_state.h"
#include "scheme/scale.h"
#include "scheme/step.h"
#include "scheme/table.h"

enum { CODES = BNB4_CODES, ABSMAX = BNB4_ABSMAX, QUANT_MAP = BNB4_QUANT_MAP, NESTED_ABSMAX, NESTED_MAP };    /* parts */
enum bnb4_type { TYPE_UNREAD, TYPE_NF4, TYPE_FP4 };

struct bnb4_weight {
    uint32_t blocksize, nested_blocksize;
    float offset;
    enum bnb4_type type;
};

static const struct bnb4_weight *
own(const struct weight *w)
{
    return w->own;
}

enum { MAP = 16, NESTED = 256, MINUS_ZERO = 8 };

#define UNREAD UINT64_MAX

/* Checks that part p is one-dimensional with n elements. UNREAD accepts any number. */
static bool
check_length(const struct weight *w, unsigned p, uint64_t n, struct err *err)
{
    const struct tensor *t = w->part[p];
    char count[24] = "n";
    if (t->shape.rank == 1 && (n == UNREAD || shape_dim(&t->shape, 0) == n))
        return true;
    if (n != UNREAD)
        snprintf(count, sizeof count, "%" PRIu64, n);
    return table_wrong(t, w->part[CODES], err, "[%s]", count);
}

static bool
is_nested(const struct weight *w)
{
    return w->part[ABSMAX]->dtype == DTYPE_U8;
}

/* Checks the parts against each other and against the number of blocks. Both numbers are UNREAD until the blob has been
 * read. */
static bool
check_parts(const struct claims *c, const struct weight *w, uint64_t blocks, uint64_t nested, struct err *err)
{
    const struct tensor *absmax = w->part[ABSMAX], *second[] = { w->part[NESTED_ABSMAX], w->part[NESTED_MAP] };
    char a[STR_SHOWN], b[STR_SHOWN];
    if (!check_length(w, ABSMAX, blocks, err) || (w->part[QUANT_MAP] && !check_length(w, QUANT_MAP, MAP, err)))
        return false;
    str_shown(b, absmax->name, absmax->name_len);
    for (size_t i = 0; i < 2; i++)
        if (second[i] && !is_nested(w))
            return err_at(err, ERR_MALFORMED, second[i]->extent.at, "tensor %s: expected %s to be U8, found "
                "F32", str_shown(a, second[i]->name, second[i]->name_len), b);
        else if (!second[i] && is_nested(w))
            return claims_missing(c, absmax->extent.at, err, "tensor %s: U8, but has no %s", b,
                i ? "nested_quant_map" : "nested_absmax");
    return !is_nested(w) || (check_length(w, NESTED_ABSMAX, nested, err) && check_length(w, NESTED_MAP, NESTED, err));
}

/* Rejects codes of shape [1, n]: this is a transposed view, from which bitsandbytes would decode other elements. */
static bool
check_codes(const struct tensor *codes, struct err *err)
{
    const struct shape *s = &codes->shape;
    return s->rank < 2 || shape_dim(s, 0) != 1 || shape_dim(s, 1) <= 1
        || table_wrong(codes, codes, err, "4-bit codes [%" PRIu64 ", 1]", shape_dim(s, 1));
}

/* Takes the shape and the numbers from the blob, and checks the parts against them. */
static bool
define(struct weight *w, struct bnb4_weight *b, const char *type, struct claims *c, const struct tensor *blob, struct err *err)
{
    struct bnb4_state s;
    char name[STR_SHOWN];
    if (!bnb4_state_read(&s, c, blob, type, w->part[CODES], err))
        return false;
    if (s.nested != is_nested(w))
        return err_at(err, ERR_MALFORMED, blob->extent.at, "tensor %s: declares %s absmax, but absmax is %s",
            str_shown(name, blob->name, blob->name_len), s.nested ? "nested" : "plain",
            dtype_name(w->part[ABSMAX]->dtype));
    uint64_t blocks = num_ceil_div(s.numel, s.blocksize);
    w->shape = s.shape;
    *b = (struct bnb4_weight){ (uint32_t)s.blocksize, (uint32_t)s.nested_blocksize, s.nested_offset,
        s.fp4 ? TYPE_FP4 : TYPE_NF4 };
    return check_parts(c, w, blocks, s.nested ? num_ceil_div(blocks, s.nested_blocksize) : 0, err);
}

/* Skips most tensors quickly: codes are bytes, or one column of another type that the bytes are stored as. */
static enum claim
bnb4_choose(struct table_match *f, struct weight *w, struct err *err)
{
    const struct tensor *t = f->codes;
    bool bytes = t->dtype == DTYPE_U8 || t->dtype == DTYPE_I8;
    bool column = t->shape.rank == 2 && shape_dim(&t->shape, 1) == 1;
    if (bytes || column)
        return table_match(f, w, err);
    return CLAIM_NO;
}

static bool
bnb4_fit(struct table_match *f, struct weight *w, struct err *err)
{
    const struct tensor *blob = table_found(f, ROLE_STATE);
    struct part_name ignored;
    const char *type = NULL;
    if (claims_strip_name(blob, "nf4", &ignored))
        type = "nf4";
    else if (claims_strip_name(blob, "fp4", &ignored))
        type = "fp4";
    struct bnb4_weight *b = claims_alloc(f->claims, sizeof *b, err);
    if (!b || !check_codes(f->codes, err) || !check_parts(f->claims, w, UNREAD, UNREAD, err))
        return false;
    *b = (struct bnb4_weight){ .type = !type ? TYPE_UNREAD : strcmp(type, "fp4") == 0 ? TYPE_FP4 : TYPE_NF4 };
    w->own = b;
    w->vague = !f->claims->contents;
    return w->vague || define(w, b, type, f->claims, blob, err);
}

bool
bnb4_set_nf4(struct claims *c, struct weight *w, uint32_t blocksize, struct err *err)
{
    struct bnb4_weight *b = claims_alloc(c, sizeof *b, err);
    if (b)
        *b = (struct bnb4_weight){ .blocksize = blocksize, .type = TYPE_NF4 };
    w->own = b;
    return b != NULL;
}

/* --- decoding */

void
bnb4_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    uint64_t from = first / own(w)->blocksize, to = (first + count - 1) / own(w)->blocksize;
    uint64_t size = dtype_facts(w->part[part]->dtype)->bytes;
    if (part == CODES) {
        *s = (struct span){ .at = first / 2, .len = (first + count + 1) / 2 - first / 2 };
        return;
    }
    if (part == NESTED_ABSMAX) {
        from /= own(w)->nested_blocksize;
        to /= own(w)->nested_blocksize;
    }
    *s = (struct span){ .at = from * size, .len = (to - from + 1) * size };
}

static void
read_map(const struct decoding *d, float map[MAP])
{
    bool fp4 = own(d->w)->type == TYPE_FP4;
    for (unsigned i = 0; i < MAP; i++)
        map[i] = d->w->part[QUANT_MAP] ? scale_at(d, QUANT_MAP, i) : float_of_bits(fp4 ? bnb_fp4_map[i] : bnb_nf4_map[i]);
    if (fp4)
        map[MINUS_ZERO] = -0.0f;
}

/* Reads the absmax of n blocks, starting at block b. */
static void
read_absmax(const struct decoding *d, float *absmax, uint64_t b, size_t n)
{
    if (!is_nested(d->w)) {
        scale_read(d, ABSMAX, b, n, absmax);
        return;
    }
    const uint8_t *codes = decoding_bytes(d, ABSMAX, b);
    for (size_t i = 0; i < n; i++) {
        float scaled = scale_at(d, NESTED_MAP, codes[i]) * scale_at(d, NESTED_ABSMAX, (b + i) / own(d->w)->nested_blocksize);
        absmax[i] = scaled + own(d->w)->offset;
    }
}

/* Steps end at multiples of BNB4_STEP, so they cover whole blocks or part of one. */
uint64_t
bnb4_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    struct bnb4_room *room = d->room;
    uint64_t size = own(d->w)->blocksize, block = at / size;
    size_t n = (size_t)num_min(count, BNB4_STEP - at % BNB4_STEP);
    const struct codes4 c = { .map = room->map, .scales = room->absmax, .group = (size_t)size };
    if (at == d->first)
        read_map(d, room->map);
    read_absmax(d, room->absmax, block, (size_t)((at + n - 1) / size - block + 1));
    step_codes4(d, y, decoding_bytes(d, CODES, at / 2), (size_t)(at % size), n, &c, room->v);
    return n;
}

void
bnb4_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    static const char *const types[] = { [TYPE_UNREAD] = "4-bit", [TYPE_NF4] = "NF4", [TYPE_FP4] = "FP4" };
    int n = snprintf(buf, SCHEME_DETAIL, "%s", types[own(w)->type]);
    if (!w->vague)
        n += snprintf(buf + n, SCHEME_DETAIL - (size_t)n, ", blocks of %" PRIu32, own(w)->blocksize);
    snprintf(buf + n, SCHEME_DETAIL - (size_t)n, "%s", is_nested(w) ? ", double-quantized" : "");
}

static void
bnb4_variant(const struct weight *w, char buf[SCHEME_WORD])
{
    if (own(w)->type != TYPE_UNREAD)
        snprintf(buf, SCHEME_WORD, "%s%s", own(w)->type == TYPE_NF4 ? "nf4" : "fp4", is_nested(w) ? "-double-quant" : "");
}

static void
bnb4_grid(const struct weight *w, struct weight_grid *g)
{
    if (own(w)->type == TYPE_NF4)
        *g = (struct weight_grid){ .codes = GRID_NF4, .bits = 4, .group = own(w)->blocksize, .scale = DTYPE_F32 };
}

const struct scheme bnb4_schemes[] = {
    {
        .code = "bnb-4bit",
        .name = "bitsandbytes 4-bit",
        WORDS({ WORD_METHOD, "bitsandbytes" }, { WORD_METHOD, "bitsandbytes_4bit" }, { WORD_FORMAT, "bitsandbytes" },
            { WORD_QUANT_TYPE, "nf4" }, { WORD_QUANT_TYPE, "fp4" }),
        ROWS({ .codes = "", .dtypes = SCALARS, .becomes = "", .choose = bnb4_choose,
        WITH(COMPANION(".quant_state.bitsandbytes__nf4", IS(U8), EVIDENCE, STATE, .left = LEFT_PACKED),
            OR(".quant_state.bitsandbytes__fp4", .left = LEFT_PACKED),
            COMPANION(".absmax", DTYPE_SET(HAS(F32), HAS(U8)), REQUIRED, SCALE, .part = ABSMAX, .left = LEFT_PACKED),
            COMPANION(".quant_map", IS(F32), OPTIONAL, CODEBOOK, .part = QUANT_MAP),
            COMPANION(".nested_absmax", IS(F32), OPTIONAL, SCALE, .part = NESTED_ABSMAX, .left = LEFT_PACKED),
            COMPANION(".nested_quant_map", IS(F32), OPTIONAL, CODEBOOK, .part = NESTED_MAP, .left = LEFT_PACKED)) }, {
            /* GPTQModel's names */
            .codes = "", .dtypes = SCALARS, .becomes = "", .choose = bnb4_choose, WITH(COMPANION("_quant_state", IS(U8),
                EVIDENCE, STATE), COMPANION("_absmax", DTYPE_SET(HAS(F32), HAS(U8)), REQUIRED, SCALE, .part = ABSMAX),
            COMPANION("_quant_map", IS(F32), OPTIONAL, CODEBOOK, .part = QUANT_MAP),
            COMPANION("_nested_absmax", IS(F32), OPTIONAL, SCALE, .part = NESTED_ABSMAX),
            COMPANION("_nested_quant_map", IS(F32), OPTIONAL, CODEBOOK, .part = NESTED_MAP)) }),
        .fit = bnb4_fit,
        .need = { [CODES] = NEED_RUN, [ABSMAX] = NEED_RUN, [QUANT_MAP] = NEED_WHOLE, [NESTED_ABSMAX] = NEED_RUN,
            [NESTED_MAP] = NEED_WHOLE },
        .run = bnb4_run,
        .room = sizeof(struct bnb4_room),
        .decode = bnb4_decode,
        .describe = bnb4_describe,
        .variant = bnb4_variant,
        .grid = bnb4_grid,
    },
    { 0 },
};
