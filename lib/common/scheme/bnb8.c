/* bitsandbytes INT8: each row has its absmax in SCB. The tensors of a module P:
 *
 *     P.weight           [out, in] I8
 *     P.SCB              [out] F32; GPTQModel calls it P.weight_scb
 *     P.weight_format    U8, one element: the layout of the codes; if absent 0
 *
 *     0 row    row by row: the only layout written today, and the only one decoded
 *     1 col32, 2 col_turing, 3 col_ampere    tiles of the GPU kernels of 2023
 *
 *     V[o][i] = RN32(RN32(weight[o][i] * SCB[o]) * RN32(1/127))
 *
 * Sources: bitsandbytes nn/modules.py, Linear8bitLt._save_to_state_dict; backends/default/ops.py, int8_vectorwise_dequant.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/num.h"
#include "base/str.h"
#include "scheme/scale.h"
#include "scheme/table.h"

enum { CODES, SCB };            /* parts */

static bool
check_scb(const struct tensor *codes, const struct tensor *scb, struct err *err)
{
    const struct shape *s = &codes->shape;
    if (s->rank != 2)
        return table_wrong(codes, codes, err, "INT8 codes [out, in]");
    return (scb->shape.rank == 1 && shape_dim(&scb->shape, 0) == shape_dim(s, 0))
        || table_wrong(scb, codes, err, "[%" PRIu64 "]", shape_dim(s, 0));
}

/* Checks that the codes are stored row by row. Assumes so if contents cannot be read. */
static bool
check_format(const struct claims *c, const struct tensor *format, const struct tensor *codes, struct err *err)
{
    static const char *const tiled[] = { "row", "col32", "col_turing", "col_ampere" };
    const struct contents *contents = c->contents;
    char name[STR_SHOWN];
    uint8_t layout;
    str_shown(name, format->name, format->name_len);
    if (format->extent.nbytes != 1)
        return table_wrong(format, codes, err, "one U8");
    if (!contents)
        return true;
    if (!contents->read(contents->of, format, &layout, err))
        return false;
    if (layout >= sizeof tiled / sizeof *tiled)
        return err_at(err, ERR_MALFORMED, format->extent.at, "tensor %s: expected 0 to 3, found %u", name, layout);
    return layout == 0 || err_at(err, ERR_UNSUPPORTED, format->extent.at, "tensor %s: layout %u (%s) is not supported, "
        "only 0 (row)", name, layout, tiled[layout]);
}

static bool
bnb8_fit(struct table_match *f, struct weight *w, struct err *err)
{
    const struct tensor *format = table_found(f, ROLE_STATE);
    return check_scb(f->codes, w->part[SCB], err) && (!format || check_format(f->claims, format, f->codes, err));
}

static void
bnb8_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    uint64_t cols = shape_dim(&w->shape, 1), from = first / cols, to = (first + count - 1) / cols;
    if (part == CODES)
        *s = (struct span){ .at = first, .len = count };
    else
        *s = (struct span){ .at = 4 * from, .len = 4 * (to - from + 1) };
}

enum { STEP = 2048 };           /* elements at a time when they are converted through floats */

static uint64_t
bnb8_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    uint64_t cols = shape_dim(&d->w->shape, 1), n = num_min(count, cols - at % cols);
    const uint8_t *codes = decoding_bytes(d, CODES, at);
    float *v = d->room, absmax = scale_at(d, SCB, at / cols);
    if (d->to == DTYPE_BF16) {
        d->k->int8_row_bf16((void *)y, codes, (size_t)n, absmax);
        return n;
    }
    n = num_min(n, STEP);
    d->k->int8_row_f32(v, codes, (size_t)n, absmax);
    kernels_round(d->k, d->to, y, v, (size_t)n);
    return n;
}

static void
bnb8_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    (void)w;
    snprintf(buf, SCHEME_DETAIL, "per-row scale");
}

const struct scheme bnb8_schemes[] = {
    {
        .code = "int8",
        .name = "bitsandbytes INT8",
        WORDS({ WORD_METHOD, "bitsandbytes_8bit" }),
        ROWS({ .codes = ".weight", .dtypes = IS(I8), .becomes = ".weight", WITH(COMPANION(".SCB", IS(F32), NAMED, SCALE, .part = SCB, .left = LEFT_SCALES), OR(".weight_scb"),
            COMPANION(".weight_format", IS(U8), OPTIONAL, STATE, .left = LEFT_SCALES)) }),
        .fit = bnb8_fit,
        .need = { [CODES] = NEED_RUN, [SCB] = NEED_RUN },
        .run = bnb8_run,
        .room = STEP * sizeof(float),
        .decode = bnb8_decode,
        .describe = bnb8_describe,
    },
    { 0 },
};
