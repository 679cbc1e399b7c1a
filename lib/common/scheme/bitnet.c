/* BitNet: ternary codes with one scale per weight. The tensors of a module P:
 *
 *     P.weight          [out/4, in] U8: bits 2i and 2i + 1 of a byte in row r are the code of row i * out/4 + r, 0 to 2
 *     P.weight_scale    one element, a divisor or a factor
 *
 *     V = RN32((code - 1) * e), e = RN32(1 / weight_scale) or weight_scale
 *
 * config.json decides between the two. `linear_class` "bitlinear", or no linear_class: divisor. "autobitlinear" with weights
 * that were quantized offline ("quantization_mode" "offline", or no quantization_mode): factor. Sources: transformers
 * integrations/bitnet.py, BitLinear, AutoBitLinear and unpack_weights; BitNetQuantConfig.
 */
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "scheme/dim.h"
#include "scheme/planes.h"
#include "scheme/scale.h"
#include "scheme/step.h"
#include "scheme/table.h"

enum { CODES, SCALE };          /* parts */

enum scaling { SCALING_OPEN, SCALING_DIVIDES, SCALING_MULTIPLIES };

struct bitnet {
    struct planes planes;
    enum scaling scaling;
};

static bool
bitnet_is_one_of(const json_t *block, const char *key, const char *a, bool absent)
{
    const json_t *v = json_object_get(block, key);
    if (!v)
        return absent;
    return json_is_string(v) && strcmp(json_string_value(v), a) == 0;
}

static enum scaling
find_scaling(const struct config *config)
{
    static const char *const methods[] = { "bitnet", NULL };
    const json_t *block = config_block(config);
    if (!config_method_is(config, methods))
        return SCALING_OPEN;
    if (bitnet_is_one_of(block, "linear_class", "bitlinear", true))
        return SCALING_DIVIDES;
    bool multiplies = bitnet_is_one_of(block, "linear_class", "autobitlinear", false)
        && bitnet_is_one_of(block, "quantization_mode", "offline", true);
    if (multiplies)
        return SCALING_MULTIPLIES;
    return SCALING_OPEN;
}

static bool
is_bitnet(const struct table_match *f)
{
    return f->codes->shape.rank == 2 && dim_is_one(f->with[0]);
}

static bool
bitnet_fit(struct table_match *f, struct weight *w, struct err *err)
{
    struct bitnet *b = claims_alloc(f->claims, sizeof *b, err);
    if (!b)
        return false;
    *b = (struct bitnet){ { .units = f->codes->extent.nbytes, .unit = 1, .bits = 2, .count = 4 },
        find_scaling(f->claims->config) };
    uint64_t dim[2] = { 0, dim_cols(f->codes) };
    if (!num_mul(&dim[0], dim_rows(f->codes), b->planes.count))
        return table_wrong(f->codes, f->codes, err, "fewer than 2^62 rows");
    w->own = b;
    w->vague = b->scaling == SCALING_OPEN;
    return claims_shape(f->claims, w, 0, dim, 2, err);
}

static void
bitnet_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    const struct bitnet *b = w->own;
    *s = part == CODES ? planes_run(&b->planes, first, count) : (struct span){ .len = w->part[part]->extent.nbytes };
}

static uint64_t
bitnet_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    static const float one = 1;
    const struct bitnet *b = d->w->own;
    struct step_room *own = d->room;
    float scale = scale_at(d, SCALE, 0), e = b->scaling == SCALING_DIVIDES ? 1 / scale : scale;
    const struct codes8 c = { .zeros = &one, .scales = &e, .group = STEP };
    size_t n = planes_unpack(own->codes, &b->planes, d, CODES, at, (size_t)num_min(count, STEP));
    step_codes8(d, y, own->codes, 0, n, &c, own->v);
    return n;
}

static void
bitnet_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    static const char *const words[] = { [SCALING_OPEN] = "may divide or multiply", [SCALING_DIVIDES] = "divides",
        [SCALING_MULTIPLIES] = "multiplies" };
    const struct bitnet *b = w->own;
    snprintf(buf, SCHEME_DETAIL, "ternary, one scale, which %s", words[b->scaling]);
}

const struct scheme bitnet_schemes[] = {
    {
        .code = "bitnet",
        .name = "BitNet",
        WORDS({ WORD_METHOD, "bitnet" }),
        .ask = "give config.json (--config): its linear_class decides",
        ROWS({ .codes = ".weight", .dtypes = IS(U8), .becomes = ".weight", .is = is_bitnet,
            WITH(COMPANION(".weight_scale", FLOAT_16, EVIDENCE, SCALE, .part = SCALE)) }),
        .fit = bitnet_fit,
        .need = { [CODES] = NEED_AGAIN, [SCALE] = NEED_RUN },
        .run = bitnet_run,
        .room = sizeof(struct step_room),
        .decode = bitnet_decode,
        .describe = bitnet_describe,
    },
    { 0 },
};
