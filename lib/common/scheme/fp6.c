/* MXFP6: 6-bit floats with a power of two for each 32 of them. The tensors of a module P:
 *
 *     Quark                 P.weight U8 [out, 3*in/4], P.weight_scale E8M0 [out, in/32]; config.json declares E2M3 or E3M2
 *     compressed-tensors    P.weight_packed and P.weight_scale, of the same types and shapes; always E2M3
 *
 * A row is a bit stream of codes, the low bits of a byte first. V = RN32(code * scale), then one rounding to the output
 * dtype. A code has the same fields as one of E4M3 and differs only in the bias, so the kernels of FP8 decode it.
 *
 *     E2M3    s ee mmm    e = 0: m * 2^-3    else (1 + m/8) * 2^(e - 1)
 *     E3M2    s eee mm    e = 0: m * 2^-4    else (1 + m/4) * 2^(e - 3)
 *
 * Sources: Quark torch/utils/pack.py, Pack_fp6; compressed-tensors compressors/mxfp6.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "scheme/dim.h"
#include "scheme/quark.h"
#include "scheme/scale.h"
#include "scheme/step.h"
#include "scheme/table.h"

enum { CODES, SCALE };          /* parts */

enum { GROUP = 32, PACK = 4, PACK_BYTES = 3, BITS = 6 };

enum fp6_type { TYPE_OPEN, TYPE_E2M3, TYPE_E3M2 };

struct fp6 {
    enum fp6_type type;
};

/* --- the type */

static bool
fp6_find_type(const struct claims *c, const struct tensor *codes, enum fp6_type *type, struct err *err)
{
    const json_t *weight;
    if (!quark_weight(c, codes, &weight, err))
        return false;
    const char *dtype = quark_text(weight, "dtype");
    *type = TYPE_OPEN;
    if (dtype && strcmp(dtype, "fp6_e2m3") == 0)
        *type = TYPE_E2M3;
    if (dtype && strcmp(dtype, "fp6_e3m2") == 0)
        *type = TYPE_E3M2;
    return true;
}

/* --- a weight */

static bool
define(struct claims *c, struct weight *w, enum fp6_type type, struct err *err)
{
    const struct tensor *codes = w->part[CODES];
    uint64_t cols;
    if (!num_mul(&cols, dim_cols(w->part[SCALE]), GROUP))
        return table_wrong(codes, codes, err, "fewer than 2^64 elements");
    struct fp6 *own = claims_alloc(c, sizeof *own, err);
    if (!own)
        return false;
    *own = (struct fp6){ type };
    w->own = own;
    w->vague = type == TYPE_OPEN;
    return claims_shape(c, w, codes->shape.rank - 1, &cols, 1, err);
}

static bool
fit_quark(struct table_match *f, struct weight *w, struct err *err)
{
    enum fp6_type type;
    return fp6_find_type(f->claims, f->codes, &type, err) && define(f->claims, w, type, err);
}

static bool
fit_ct(struct table_match *f, struct weight *w, struct err *err)
{
    return define(f->claims, w, TYPE_E2M3, err);
}

/* --- decoding */

static void
fp6_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    (void)w;
    if (part == SCALE)
        *s = (struct span){ .at = first / GROUP, .len = (first + count - 1) / GROUP + 1 - first / GROUP };
    else        /* packs of whole bytes, starting at a multiple of eight codes, as bits.h requires */
        *s = (struct span){ .at = first / 8 * 8 / PACK * PACK_BYTES,
            .len = (num_ceil_div(first + count, PACK) - first / 8 * 8 / PACK) * PACK_BYTES };
}

/* Converts codes to E4M3 codes with the same fields. Their values are 2^-6 (E2M3) or 2^-4 (E3M2) of the originals,
 * because the bias of E4M3 is larger by 6 or 4. The buffer consists of whole words. */
static void
widen(uint8_t codes[STEP], size_t n, enum fp6_type type)
{
    for (size_t i = 0; i < n; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, codes + i, sizeof word);
        word = (word & UINT64_C(0x2020202020202020)) << 2 | (word & UINT64_C(0x1F1F1F1F1F1F1F1F)) << (type == TYPE_E3M2);
        memcpy(codes + i, &word, sizeof word);
    }
}

/* Reads the scales of n groups, times `more`, a power of two. Returns false if one became infinite. */
static bool
read_scales(float *scales, const uint8_t *p, size_t n, float more)
{
    bool finite = true;
    for (size_t g = 0; g < n; g++) {
        scales[g] = scale_value(DTYPE_F8_E8M0, p, g) * more;
        finite &= !isinf(scales[g]);
    }
    return finite;
}

struct fp6_room {
    float v[STEP], scales[STEP / GROUP];
    uint8_t codes[STEP];
};

static uint64_t
fp6_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    const struct fp6 *f = d->w->own;
    struct fp6_room *own = d->room;
    float more = 16;
    if (f->type == TYPE_E2M3)
        more = 64;
    size_t n = (size_t)num_min(count, at % GROUP != 0 ? GROUP - at % GROUP : STEP);        /* whole groups, or a part of one */
    const uint8_t *p = decoding_bytes(d, SCALE, at / GROUP);
    d->k->bits_stream(own->codes, decoding_bytes(d, CODES, at / 8 * 8 / PACK * PACK_BYTES), (size_t)at, n, BITS);
    widen(own->codes, n, f->type);
    if (read_scales(own->scales, p, (size_t)num_ceil_div(n, GROUP), more)) {
        step_fp8(d, y, DTYPE_F8_E4M3, own->codes, n, own->scales, GROUP, own->v);
        return n;
    }
    d->k->fp8_f32(own->v, n, &(const struct fp8_rows){ .dtype = DTYPE_F8_E4M3, .rows = 1, .cols = n, .x = own->codes,
        .scales = &more, .scale_cols = n });
    for (size_t i = 0; i < n; i++)
        own->v[i] *= scale_value(DTYPE_F8_E8M0, p, i / GROUP);
    kernels_round(d->k, d->to, y, own->v, n);
    return n;
}

static void
fp6_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    static const char *const types[] = { [TYPE_OPEN] = "E2M3 or E3M2", [TYPE_E2M3] = "E2M3", [TYPE_E3M2] = "E3M2" };
    const struct fp6 *f = w->own;
    snprintf(buf, SCHEME_DETAIL, "%s, groups of %d", types[f->type], GROUP);
}

/* Without columns it is MXFP4. */
static bool
is_mxfp6(const struct table_match *f)
{
    return dim_cols(f->codes) != 0 && dim_scale_each(f->codes, f->with[0], GROUP / PACK * PACK_BYTES);
}

#define MXFP6(codes_) ROWS({ .codes = codes_, .dtypes = IS(U8), .becomes = ".weight", .is = is_mxfp6, \
    WITH(COMPANION(".weight_scale", E8M0, EVIDENCE, SCALE, .part = SCALE)) }), \
    .need = { NEED_RUN, NEED_RUN }, .run = fp6_run, .room = sizeof(struct fp6_room), .decode = fp6_decode, \
    .describe = fp6_describe

const struct scheme fp6_schemes[] = {
    { .code = "mxfp6", .name = "Quark MXFP6", WORDS({ WORD_METHOD, "quark" }),
        .ask = "give config.json (--config), which declares the type",
        .fit = fit_quark, MXFP6(".weight") },
    { .code = "ct-mxfp6", .name = "compressed-tensors MXFP6", WORDS({ WORD_FORMAT, "mxfp6-pack-quantized" }),
        .fit = fit_ct, MXFP6(".weight_packed") },
    { 0 },
};
