/* EETQ: INT8 with a scale per row, in the order of a GPU kernel. The tensors of a module P, whose decoded weight is [out,
 * in]:
 *
 *     P.weight           I8 [in, out]     code + 128, permuted
 *     P.weight_scales    F16 [out]
 *
 *     V[o][i] = RN32((byte - 128) * weight_scales[o])
 *
 * Two output rows are interleaved in runs of 64 codes; each 16 of these are in the order 0 8 1 9 2 10 3 11 4 12 5 13 6 14 7
 * 15. This is the layout of the kernels for sm75 to sm89, which require `in` to be a multiple of 64 and `out` to be even.
 * Sources: EETQ csrc/cutlass_kernels/cutlass_preprocessors.cc; transformers integrations/eetq.py.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "scheme/dim.h"
#include "scheme/scale.h"
#include "scheme/step.h"
#include "scheme/table.h"

enum { CODES, SCALES };                                 /* parts */
enum { TURN = 64 };

struct eetq {
    uint64_t in;
};

static bool
eetq_fits(const struct table_match *f)
{
    const struct tensor *scales = f->with[0];
    return f->codes->shape.rank == 2 && scales->shape.rank == 1 && shape_dim(&scales->shape, 0) == dim_cols(f->codes);
}

static bool
eetq_fit(struct table_match *f, struct weight *w, struct err *err)
{
    struct eetq *e = claims_alloc(f->claims, sizeof *e, err);
    if (!e)
        return false;
    *e = (struct eetq){ .in = dim_rows(f->codes) };
    uint64_t dim[2] = { dim_cols(f->codes), e->in };
    w->own = e;
    w->vague = e->in % TURN != 0 || dim[0] % 2 != 0;
    return claims_shape(f->claims, w, 0, dim, 2, err);
}

/* Returns the position of the run of 64 codes that holds this element. */
static uint64_t
turn_at(const struct eetq *e, uint64_t row, uint64_t col)
{
    return row / 2 * 2 * e->in + col / TURN * 2 * TURN + row % 2 * TURN;
}

/* Within one row, needs the runs it touches; for several rows, all of their runs. */
static void
eetq_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    const struct eetq *e = w->own;
    uint64_t last = first + count - 1, row = first / e->in, end = last / e->in, size = dtype_facts(w->part[part]->dtype)->bytes;
    uint64_t from = row * size, to = (end + 1) * size;
    if (part == CODES) {
        if (row == end)
            from = turn_at(e, row, first % e->in);
        else
            from = turn_at(e, row / 2 * 2, 0);
        to = TURN + (row == end ? turn_at(e, end, last % e->in) : turn_at(e, end | 1, e->in - 1));
    }
    *s = (struct span){ from, to - from };
}

static uint64_t
eetq_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    static const float middle = 128;
    const struct eetq *e = d->w->own;
    struct step_room *own = d->room;
    uint64_t row = at / e->in, col = at % e->in, n = num_min(num_min(count, e->in - col), STEP);
    float scale = scale_at(d, SCALES, row);
    for (uint64_t i = 0, some; i < n; i += some) {
        const uint8_t *turn = decoding_bytes(d, CODES, turn_at(e, row, col + i));
        uint64_t gone = (col + i) % TURN;
        some = num_min(n - i, TURN - gone);
        uint8_t all[TURN];
        d->k->bits_blocks(some == TURN ? own->codes + i : all, turn, TURN / 16, 8);
        if (some != TURN)
            memcpy(own->codes + i, all + gone, (size_t)some);
    }
    const struct codes8 c = { .zeros = &middle, .scales = &scale, .group = (size_t)n };
    step_codes8(d, y, own->codes, 0, (size_t)n, &c, own->v);
    return n;
}

static void
eetq_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    snprintf(buf, SCHEME_DETAIL, "8-bit, per-channel scale%s", w->vague ? ", unknown layout" : "");
}

const struct scheme eetq_schemes[] = {
    {
        .code = "eetq",
        .name = "EETQ",
        WORDS({ WORD_METHOD, "eetq" }),
        ROWS({ .codes = ".weight", .dtypes = IS(I8), .becomes = ".weight", .fits = eetq_fits,
            .shapes = "[in, out], weight_scales [out]", WITH(COMPANION(".weight_scales", FLOAT_16, NAMED, SCALE, .part = SCALES, .left = LEFT_SCALES)) }),
        .fit = eetq_fit,
        .need = { [CODES] = NEED_AGAIN, [SCALES] = NEED_RUN },
        .run = eetq_run,
        .room = sizeof(struct step_room),
        .decode = eetq_decode,
        .describe = eetq_describe,
    },
    { 0 },
};
