#include "plan/repack.h"

#include "dtype/ggml_block.h"

const struct repack_facts *
repack_facts(enum repack_kind kind)
{
    static const struct repack_facts facts[] = {
        [REPACK_MXFP4] = { { 16, 1 }, MXFP4_BYTES, MXFP4_ELEMS, DTYPE_MXFP4 },
        [REPACK_NVFP4] = { { 32, 4 }, NVFP4_BYTES, NVFP4_ELEMS, DTYPE_NVFP4 },
        [REPACK_MXFP4_CODES] = { { MXFP4_BYTES, 0 }, 16, MXFP4_ELEMS, DTYPE_U8 },
        [REPACK_MXFP4_SCALES] = { { MXFP4_BYTES, 0 }, 1, MXFP4_ELEMS, DTYPE_U8 },
    };
    return &facts[kind];
}
