/* W4AFP8: signed 4-bit codes, two to a byte, with a scale for each group of a row. The tensors of a module P:
 *
 *     P.weight              I8, U8 [out, in/2], two's complement, the low nibble first
 *     P.weight_scale_inv    F16, BF16, F32 [out, in/group], a factor
 *     P.input_scale         F32 [1], of activations
 *
 *     V[o][i] = RN32(code * weight_scale_inv)
 *
 * Experts only; the other weights of such models are FP8 in blocks. Sources: SGLang layers/quantization/w4afp8.py;
 * TensorRT-LLM.
 */
#include "base/num.h"
#include "base/str.h"
#include "scheme/codes.h"
#include "scheme/dim.h"
#include "scheme/step.h"

enum { CODES, SCALE };                                  /* parts */

/* Where the method is declared, integers have scales. */
static enum claim
w4afp8_choose(struct table_match *f, struct weight *w, struct err *err)
{
    static const char *const methods[] = { "w4afp8", NULL };
    enum claim claim = table_match(f, w, err);
    char name[STR_SHOWN];
    if (claim != CLAIM_NO || !config_method_is(f->claims->config, methods) || claims_is_report_on_shard(f->claims))
        return claim;
    claims_missing(f->claims, f->codes->extent.at, err, "tensor %s: %s, but has no weight_scale_inv in floats",
        str_shown(name, f->codes->name, f->codes->name_len), dtype_name(f->codes->dtype));
    return CLAIM_FAIL;
}

static bool
w4afp8_fit(struct table_match *f, struct weight *w, struct err *err)
{
    const struct tensor *codes = f->codes, *scale = w->part[SCALE];
    struct blocks *b = claims_alloc(f->claims, sizeof *b, err);
    uint64_t cols, groups = dim_cols(scale);
    if (!b || !num_mul(&cols, dim_cols(codes), 2))
        return b && table_wrong(codes, codes, err, "fewer than 2^64 elements");
    if (codes->shape.rank < 2 || !dim_same_rows(scale, codes) || groups == 0 || cols % groups != 0)
        return table_wrong(scale, codes, err, "one for each group of a row");
    *b = (struct blocks){ .rows = dim_rows(codes), .cols = cols, .b0 = 1, .b1 = num_max(cols / groups, 1), .per_row = groups,
        .per_matrix = groups * dim_rows(codes) };
    w->own = b;
    w->vague = scale->dtype == DTYPE_F64;
    return table_set_cols(f, w, cols, err);
}

static void
w4afp8_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    if (part == CODES)
        *s = (struct span){ first / 2, num_ceil_div(first + count, 2) - first / 2 };
    else
        blocks_span(s, w->own, w->part[part], first, count);
}

static uint64_t
w4afp8_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    static const float map[16] = { 0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1 };
    const struct blocks *b = d->w->own;
    struct codes_piece *p = codes_begin(d, at, count, b->cols, b->b1);
    const struct codes4 c = { .map = map, .scales = p->scales, .group = p->group, .low_first = true };
    codes_scales(p, d, b, SCALE);
    step_codes4(d, y, decoding_bytes(d, CODES, at / 2), (size_t)p->col, p->n, &c, p->v);
    return p->n;
}

static void
w4afp8_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    blocks_describe(w->own, w->vague ? "with scales of F64" : NULL, buf, 0);
}

static void
w4afp8_grid(const struct weight *w, struct weight_grid *g)
{
    codes_grid(g, 4, ((const struct blocks *)w->own)->b1, w->part[SCALE], NULL);
}

const struct scheme w4afp8_schemes[] = {
    {
        .code = "w4afp8",
        .name = "W4AFP8",
        WORDS({ WORD_METHOD, "w4afp8" }),
        ROWS({ .codes = ".weight", .dtypes = DTYPE_SET(HAS(I8), HAS(U8)), .becomes = ".weight", .choose = w4afp8_choose,
            WITH(COMPANION(".weight_scale_inv", FLOAT, EVIDENCE, SCALE, .part = SCALE)) }),
        .fit = w4afp8_fit,
        .need = { [CODES] = NEED_RUN, [SCALE] = NEED_RUN },
        .run = w4afp8_run,
        .room = sizeof(struct codes_piece),
        .decode = w4afp8_decode,
        .describe = w4afp8_describe,
        .grid = w4afp8_grid,
    },
    { 0 },
};
