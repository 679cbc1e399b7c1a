/* bitsandbytes INT8: a row has the absmax SCB. The tensors of a module P:
 *
 *     P.weight           [out, in] I8
 *     P.SCB              [out] F32; GPTQModel calls it P.weight_scb
 *     P.weight_format    U8, one element: how the codes lie; absent: 0
 *
 *     0 row    by rows, the only layout that is written today and the one that is decoded
 *     1 col32, 2 col_turing, 3 col_ampere    tiles of the GPU kernels of 2023
 *
 *     V[o][i] = RN32(RN32(weight[o][i] * SCB[o]) * RN32(1/127))
 *
 * Sources: bitsandbytes nn/modules.py, Linear8bitLt._save_to_state_dict; backends/default/ops.py,
 * int8_vectorwise_dequant.
 */
#include "scheme/bnb8.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/num.h"
#include "base/str.h"
#include "scheme/claims.h"

enum { CODES, SCB };            /* parts */

/* The absmax tensor under either of its names, or NULL; both: ERR_MALFORMED. */
static bool
find_scb(const struct claims *c, const struct part_name *p, const struct tensor **scb, struct err *err)
{
    const struct tensor *alias = claims_find(c, p->base, p->base_len, ".weight_scb");
    *scb = claims_find(c, p->base, p->base_len, ".SCB");
    if (*scb && alias) {
        char a[STR_SHOWN], b[STR_SHOWN];
        return err_set(err, ERR_MALFORMED, alias->extent.at, "tensors %s and %s: two scales of one weight",
            str_shown(a, (*scb)->name, (*scb)->name_len), str_shown(b, alias->name, alias->name_len));
    }
    if (!*scb)
        *scb = alias;
    return true;
}

static bool
check_scb(const struct tensor *codes, const struct tensor *scb, struct err *err)
{
    const struct shape *s = &codes->shape;
    char a[STR_SHOWN], b[STR_SHOWN], text[SHAPE_TEXT];
    if (s->rank != 2)
        return err_set(err, ERR_MALFORMED, codes->extent.at, "tensor %s: INT8 codes of shape %s, expected [out, in]",
            str_shown(a, codes->name, codes->name_len), shape_text(text, s));
    return (scb->dtype == DTYPE_F32 && scb->shape.rank == 1 && shape_dim(&scb->shape, 0) == shape_dim(s, 0))
        || err_set(err, ERR_MALFORMED, scb->extent.at, "tensor %s: is %s %s, expected F32 [%" PRIu64 "] for %s",
            str_shown(a, scb->name, scb->name_len), dtype_name(scb->dtype), shape_text(text, &scb->shape),
            shape_dim(s, 0), str_shown(b, codes->name, codes->name_len));
}

/* Whether the codes lie by rows; without a reader of contents that is believed. */
static bool
check_format(const struct claims *c, const struct tensor *format, struct err *err)
{
    static const char *const tiled[] = { "row", "col32", "col_turing", "col_ampere" };
    const struct contents *contents = claims_contents(c);
    char name[STR_SHOWN], text[SHAPE_TEXT];
    uint8_t layout;
    str_shown(name, format->name, format->name_len);
    if (format->dtype != DTYPE_U8 || format->extent.nbytes != 1)
        return err_set(err, ERR_MALFORMED, format->extent.at, "tensor %s: is %s %s, expected one U8", name,
            dtype_name(format->dtype), shape_text(text, &format->shape));
    if (!contents)
        return true;
    if (!contents->read(contents->of, format, &layout, err))
        return false;
    if (layout >= sizeof tiled / sizeof *tiled)
        return err_set(err, ERR_MALFORMED, format->extent.at, "tensor %s: is %u, expected 0 to 3", name, layout);
    return layout == 0 || err_set(err, ERR_UNSUPPORTED, format->extent.at, "tensor %s: is %u (%s), only 0 (row) can be "
        "decoded", name, layout, tiled[layout]);
}

static enum claim
claim(const struct scheme *self, struct claims *c, const struct tensor *codes, struct weight *w, struct err *err)
{
    struct part_name p;
    (void)self;
    if (codes->dtype != DTYPE_I8 || codes->big_endian || !name_strip(codes, ".weight", &p))
        return CLAIM_NO;
    if (!find_scb(c, &p, &w->part[SCB], err))
        return CLAIM_FAIL;
    if (!w->part[SCB])
        return CLAIM_NO;
    const struct tensor *format = claims_find(c, p.base, p.base_len, ".weight_format");
    bool ok = check_scb(codes, w->part[SCB], err) && claims_take(c, w->part[SCB], codes, err)
        && (!format || (check_format(c, format, err) && claims_take(c, format, codes, err)))
        && claims_take_idle(c, codes, err);
    return ok ? CLAIM_YES : CLAIM_FAIL;
}

static void
run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    uint64_t cols = shape_dim(&w->shape, 1), from = first / cols, to = (first + count - 1) / cols;
    if (part == CODES)
        *s = (struct span){ .at = first, .len = count };
    else
        *s = (struct span){ .at = 4 * from, .len = 4 * (to - from + 1) };
}

static void
decode(const struct weight *w, const struct kernels *k, const struct part_bytes in[SCHEME_PARTS], uint64_t first,
    uint64_t count, enum dtype to, void *out)
{
    enum { STEP = 2048 };
    uint64_t cols = shape_dim(&w->shape, 1), end = first + count;
    const uint8_t *codes = in[CODES].p;
    uint8_t *y = out;
    for (uint64_t at = first, n; at < end; at += n, codes += n) {
        float v[STEP], absmax = float_of_bits(load_le32(in[SCB].p + 4 * (at / cols - first / cols)));
        n = num_min(end - at, cols - at % cols);
        if (to == DTYPE_BF16) {
            k->int8_row_bf16((void *)y, codes, (size_t)n, absmax);
        } else {
            n = num_min(n, STEP);
            k->int8_row_f32(v, codes, (size_t)n, absmax);
            kernels_round(k, to, y, v, (size_t)n);
        }
        y += n * dtype_facts(to)->bytes;
    }
}

static void
describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    (void)w;
    snprintf(buf, SCHEME_DETAIL, "per-row scale");
}

const struct scheme scheme_bnb8 = {
    .code = "bnb-int8",
    .name = "bitsandbytes INT8",
    .claim = claim,
    .need = { NEED_RUN, NEED_RUN },
    .run = run,
    .decode = decode,
    .describe = describe,
};
