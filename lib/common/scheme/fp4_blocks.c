#include "scheme/fp4_blocks.h"

#include <string.h>

#include "dtype/ggml_block.h"
#include "scheme/fp4.h"

static bool
nvfp4(struct fp4_blocks *b, const struct weight *w, const struct fp4 *f)
{
    if (f->group != 16 || f->scale != DTYPE_F8_E4M3 || f->e5m3 || f->lanes || f->tiles != 0 || f->high_first || w->part[FP4_SMOOTH]
            || f->cols % NVFP4_ELEMS != 0 || w->shape.rank > FP4_BLOCKS_RANK)
        return false;
    b->dtype = DTYPE_NVFP4;
    b->second = w->part[FP4_SCALE_2];
    b->divides = f->divides;
    b->rank = w->shape.rank;
    for (uint32_t i = 0; i < b->rank; i++)
        b->dim[i] = shape_dim(&w->shape, i);
    return true;
}

/* X_blocks [E, out, in/32, 16]. */
static bool
gptoss(struct fp4_blocks *b, const struct weight *w)
{
    const struct shape *s = &w->part[FP4_CODES]->shape;
    if (s->rank != 4)
        return false;
    b->dtype = DTYPE_MXFP4;
    b->rank = 3;
    for (uint32_t i = 0; i < 3; i++)
        b->dim[i] = shape_dim(s, i);
    b->dim[2] *= MXFP4_ELEMS;
    return true;
}

/* X.weight_packed [out, in/2]: sixteen bytes are a block, as in gpt-oss. */
static bool
packed_mxfp4(struct fp4_blocks *b, const struct weight *w, const struct fp4 *f)
{
    if (f->group != MXFP4_ELEMS || f->high_first || f->cols % MXFP4_ELEMS != 0 || w->shape.rank != 2)
        return false;
    b->dtype = DTYPE_MXFP4;
    b->rank = 2;
    for (uint32_t i = 0; i < 2; i++)
        b->dim[i] = shape_dim(&w->shape, i);
    return true;
}

bool
fp4_blocks_of(struct fp4_blocks *b, const struct weight *w)
{
    *b = (struct fp4_blocks){ 0 };
    if (!w || w->vague || !w->own || w->scheme->decode != fp4_decode || shape_is_empty(&w->shape))
        return false;
    b->codes = w->part[FP4_CODES];
    b->scales = w->part[FP4_SCALE];
    if (strcmp(w->scheme->code, "mxfp4-gpt-oss") == 0)
        return gptoss(b, w);
    if (strcmp(w->scheme->code, "mxfp4") == 0)
        return packed_mxfp4(b, w, w->own);
    return nvfp4(b, w, w->own);
}
