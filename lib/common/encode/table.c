/* table: the list of all encoders. */
#include "encode/encode.h"

#include <strings.h>

#include "encode/bnb4.h"
#include "encode/bnb8.h"
#include "encode/columns.h"
#include "encode/comfy.h"
#include "encode/ct.h"
#include "encode/fp8.h"
#include "encode/ggml.h"
#include "encode/mlx.h"
#include "encode/mx.h"

static const struct encoder *const lists[] = { encode_fp8, encode_bnb4, encode_bnb8, encode_ct, encode_columns, encode_mx,
    encode_mlx, encode_comfy, encode_ggml };

const struct encoder *
encode_at(size_t i)
{
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
        for (const struct encoder *e = lists[l]; e->name; e++)
            if (i-- == 0)
                return e;
    return NULL;
}

const struct encoder *
encode_find(const char *name, bool blocks)
{
    const struct encoder *e, *found = NULL;
    for (size_t i = 0; (e = encode_at(i)) != NULL; i++)
        if (strcasecmp(e->name, name) == 0 && (!found || (e->type != DTYPE_UNKNOWN) == blocks))
            found = e;
    return found;
}
