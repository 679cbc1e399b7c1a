/* The table of schemes.md 1.5: left-over companions, and packed data without its companions. */
#include "scheme/leftover.h"

#include <string.h>

#include "base/str.h"

enum kind {
    SCALES,         /* harmless beside a float weight */
    PACKED,         /* codes themselves, or what says that the weight beside them is codes: never harmless */
    SCALES_U8       /* SCALES, but only U8 of rank 2 or more is a quantizer's */
};

static const struct {
    const char *suffix;         /* what the name ends with */
    const char *weight;         /* what the weight ends with in its place */
    enum kind kind;
} names[] = {
    { ".weight_scale_inv", ".weight", SCALES },     { ".weight_scale", ".weight", SCALES },
    { ".weight_scale_2", ".weight", SCALES },       { ".weight_global_scale", ".weight", SCALES },
    { ".weight_packed", ".weight", PACKED },        { ".weight_zero_point", ".weight", SCALES },
    { ".weight_g_idx", ".weight", SCALES },         { ".qweight", ".weight", PACKED },
    { ".qzeros", ".weight", SCALES },               { ".g_idx", ".weight", SCALES },
    { ".SCB", ".weight", SCALES },                  { ".qscale_weight", ".weight", SCALES },
    { ".scaled_zeros", ".weight", SCALES },         { ".absmax", "", PACKED },
    { ".nested_absmax", "", PACKED },               { ".nested_quant_map", "", PACKED },
    { ".quant_state.bitsandbytes__nf4", "", PACKED }, { ".quant_state.bitsandbytes__fp4", "", PACKED },
    { "_scale_inv", "", SCALES },                   { "_blocks", "", PACKED },
    { "_scales", "", SCALES_U8 },                   { ".svdquant_lora_a", ".weight", SCALES },
    { ".svdquant_lora_b", ".weight", SCALES },     { ".scale_weight", ".weight", SCALES },
    { ".weight_s_rel", ".weight", SCALES },         { ".weight_s_channel", ".weight", SCALES },
    { ".weight_codebook", ".weight", SCALES },      { ".weight_zeros", ".weight", SCALES },
};

static bool
missing(const struct claims *c, const struct tensor *t, const struct part_name *p, const char *weight,
    const struct tensor *found, struct err *err)
{
    char shown[STR_SHOWN], base[STR_SHOWN];
    str_shown(shown, t->name, t->name_len);
    str_shown(base, p->base, p->base_len);
    if (found && found != t)
        return claims_missing(c, t->extent.at, err, "tensor %s: belongs to a quantized weight, but %s%s is %s and "
            "parts of its scheme are missing", shown, base, weight, dtype_name(found->dtype));
    return claims_missing(c, t->extent.at, err, "tensor %s: belongs to the quantized weight %s%s, which is not in the "
        "model or lacks parts; of a model of several files give the directory or the index", shown, base, weight);
}

enum { NAMES = sizeof names / sizeof *names };

/* The row of a tensor's name and what is before its suffix; NAMES when it has none. */
static size_t
find_row(const struct tensor *t, struct part_name *p)
{
    size_t i = 0;
    for (; i < NAMES; i++)
        if (name_strip(t, names[i].suffix, p) && p->base_len != 0
            && (names[i].kind != SCALES_U8 || (t->dtype == DTYPE_U8 && t->shape.rank >= 2)))
            break;
    return i;
}

bool
leftover_is_named(const struct tensor *t)
{
    struct part_name p;
    return find_row(t, &p) < NAMES;
}

/* One tensor that nobody claimed. *warned counts the harmless ones. */
static bool
check(const struct claims *c, const struct tensor *t, size_t *warned, struct err *err)
{
    struct part_name p;
    size_t i = find_row(t, &p);
    if (i == NAMES)
        return true;
    const struct tensor *weight = claims_find(c, p.base, p.base_len, names[i].weight);
    bool packed = names[i].kind == PACKED || (strcmp(p.suffix, ".weight_scale") == 0 && dtype_is_float8(t->dtype));
    if ((!weight || packed || !dtype_is_float(weight->dtype)) && claims_is_report_on_shard(c))
        return true;
    if (!weight || packed || !dtype_is_float(weight->dtype))
        return missing(c, t, &p, names[i].weight, weight, err);
    ++*warned;
    return true;
}

bool
leftover_check(const struct roles *roles, struct claims *c, struct err *err)
{
    const struct catalog *catalog = claims_catalog(c);
    size_t warned = 0;
    if (strcmp(catalog_facts_of(catalog)->format, "GGUF") == 0)    /* other authors, other names */
        return true;
    for (size_t i = 0; i < catalog_count(catalog); i++)
        if (!roles_weight_of(roles, i) && !roles_is_companion(roles, i)
            && !check(c, catalog_at(catalog, i), &warned, err))
            return false;
    if (warned != 0)
        claims_warn(c, "left-over scales or zero points of float weights pass unchanged: %zu", warned);
    return true;
}
