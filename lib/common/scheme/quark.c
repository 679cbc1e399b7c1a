/* Quark's UINT8: P.weight U8 and a float P.weight_scale, optionally P.weight_zero_point. How the zero point is applied and
 * how groups are laid out is not documented well enough to decode it. The shapes are those of other schemes, so only the
 * configuration identifies it. Source: Quark torch/export/main_export/quant_config_parser.py, get_layer_quant_config. */
#include "scheme/quark.h"

#include <string.h>

#include "base/matcher.h"
#include "base/num.h"
#include "scheme/modules.h"
#include "scheme/table.h"

static const char *
dtype_of(const json_t *quant_config)
{
    const json_t *weight = json_object_get(quant_config, "weight");
    return json_string_value(json_object_get(json_is_array(weight) ? json_array_get(weight, 0) : weight, "dtype"));
}

bool
quark_dtype(const struct claims *c, const struct tensor *codes, const char **dtype, struct err *err)
{
    const json_t *block = config_block(c->config), *layers = json_object_get(block, "layer_quant_config");
    struct modules_cost *cost = config_cost(c->config);
    struct part_name module = claims_module_name(codes);
    const char *pattern;
    json_t *own;
    *dtype = dtype_of(json_object_get(block, "global_quant_config"));
    if (json_object_size(json_object_get(block, "layer_type_quant_config")) != 0)
        *dtype = NULL;
    json_object_foreach((json_t *)layers, pattern, own) {
        struct matcher m;
        size_t n = strlen(pattern);
        cost->steps -= num_min(cost->steps, n + 1);
        bool known = matcher_read(&m, pattern, n, true);
        bool named = known && matcher_match(&m, module.base, module.base_len, &cost->steps);
        if (!modules_cost_left(cost, err))
            return false;
        if (!known || named) {
            *dtype = known ? dtype_of(own) : NULL;
            return true;
        }
    }
    return true;
}

static enum claim
choose(struct table_match *f, struct weight *w, struct err *err)
{
    static const char *const methods[] = { "quark", NULL };
    const char *dtype;
    if (!config_method_is(f->claims->config, methods))
        return CLAIM_NO;
    if (!quark_dtype(f->claims, f->codes, &dtype, err))
        return CLAIM_FAIL;
    return dtype && strcmp(dtype, "uint8") == 0 ? table_match(f, w, err) : CLAIM_NO;
}

const struct scheme quark_schemes[] = {
    RECOGNISED("uint8-quark", "Quark UINT8", {
        .codes = ".weight", .dtypes = IS(U8), .becomes = ".weight", .choose = choose, .companions = {
            COMPANION(".weight_scale", FLOAT, EVIDENCE, SCALE),
            COMPANION(".weight_zero_point", ANY, OPTIONAL, ZERO_POINT) } }),
    { 0 },
};
