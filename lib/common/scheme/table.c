#include "scheme/table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/nearest.h"
#include "base/str.h"
#include "scheme/dim.h"
#include "scheme/swizzle.h"

/* Of schemes with common names, the one that requires more evidence comes first. */
static const struct scheme *const table[] = {
    comfy_schemes, sdnq_schemes, bnb4_schemes, bnb8_schemes, paroquant_schemes, ggml_stored_schemes, gptq_schemes, awq_schemes,
    ternary_schemes, word_schemes, quark_schemes, gemma_schemes, int4_modelopt_schemes, fp6_schemes, fp4_schemes, bitnet_schemes, block_schemes,
    ct_packed_schemes, mlx_schemes, hqq_schemes, quanto_schemes, eetq_schemes, torchao_schemes, modelslim_schemes,
    w4afp8_schemes, int8_schemes, int8_static_schemes, exl2_schemes, aqlm_schemes, vptq_schemes, other_schemes, fp8_schemes, ggml_schemes,
    unclaimed_schemes,
};

enum { ARRAYS = sizeof table / sizeof *table, CODES_MAX = 256 };

/* Companions that concern activations or the KV cache, or that repeat what the tensors show anyway. */
const struct companion table_idle[] = {
    BELONGS(".input_scale", ACTIVATION), BELONGS(".input_scale_ub", ACTIVATION), BELONGS(".input_scale_2", ACTIVATION),
    BELONGS(".input_zero_point", ACTIVATION), BELONGS(".input_global_scale", ACTIVATION),
    BELONGS(".input_g_idx", ACTIVATION), BELONGS(".input_offset", ACTIVATION), BELONGS(".input_amax", ACTIVATION),
    BELONGS(".input_activation_scale", ACTIVATION), BELONGS(".output_activation_scale", ACTIVATION),
    BELONGS(".activation_scale", ACTIVATION), BELONGS(".output_scale", ACTIVATION), BELONGS(".output_zero_point", ACTIVATION),
    BELONGS(".act_scale", ACTIVATION), BELONGS(".act_scales", ACTIVATION), BELONGS(".qscale_act", ACTIVATION),
    BELONGS(".scale_input", ACTIVATION), BELONGS(".prob_output_scale", ACTIVATION),
    BELONGS(".q_scale", ACTIVATION), BELONGS(".k_scale", ACTIVATION), BELONGS(".v_scale", ACTIVATION),
    BELONGS(".kv_scale", ACTIVATION), BELONGS(".k_zero_point", ACTIVATION), BELONGS(".v_zero_point", ACTIVATION),
    BELONGS(".k_proj.k_bias", ACTIVATION), BELONGS(".v_proj.v_bias", ACTIVATION), BELONGS(".k_cache_scale", ACTIVATION),
    BELONGS(".v_cache_scale", ACTIVATION), BELONGS(".kv_cache_scale", ACTIVATION), BELONGS(".kv_cache_offset", ACTIVATION),
    BELONGS(".weight_shape", SHAPE), BELONGS(".original_shape", SHAPE), BELONGS(".weight_format", STATE),
    BELONGS(".comfy_quant", STATE), { 0 },
};

bool
table_is_idle(const struct tensor *t)
{
    struct part_name ignored;
    const struct companion *idle = table_idle;
    while (idle->suffix && !claims_strip_name(t, idle->suffix, &ignored))
        idle++;
    return idle->suffix != NULL;
}

/* --- the table as a whole */

const struct scheme *
table_scheme(size_t i)
{
    for (size_t a = 0; a < ARRAYS; a++)
        for (const struct scheme *s = table[a]; s->name; s++)
            if (i-- == 0)
                return s;
    return NULL;
}

/* Returns true if a scheme before the i-th has the same code. */
static bool
is_repeated(size_t i)
{
    const char *code = table_scheme(i)->code;
    for (size_t k = 0; k < i; k++)
        if (table_scheme(k)->code && strcmp(table_scheme(k)->code, code) == 0)
            return true;
    return false;
}

const char *
scheme_code(size_t n)
{
    const struct scheme *s;
    for (size_t i = 0; (s = table_scheme(i)) != NULL; i++)
        if (s->code && !is_repeated(i) && n-- == 0)
            return s->code;
    return NULL;
}

/* Names of --input-scheme besides the codes: former codes, and variants under the names of amn-forget --scheme. */
static const struct former {
    const char *name, *code;
} formers[] = {
    { "awq-gemm", "awq" }, { "bnb-int8", "int8" }, { "int8", "int8-channel" }, { "int8-block", "int8-channel" }, { "ct-nvfp4", "nvfp4" },
    { "ct-mxfp4", "mxfp4" }, { "mxfp4", "modelopt-mxfp4" }, { "nvfp4-modelopt", SCHEME_NVFP4 },
    { "nvfp4-comfy", SCHEME_NVFP4_COMFY }, { "mxfp8-comfy", SCHEME_MXFP8_COMFY }, { "w4a4-comfy", "comfy-w4a4" },
    { "w4a8-comfy", "comfy-w4a8" }, { "awq-comfy", "comfy-awq" }, { "int8-comfy", "comfy-int8" }, { "nf4-comfy", "comfy-nf4" },
    { "nf4", "bnb-4bit" }, { "fp4", "bnb-4bit" }, { "nf4-double-quant", "bnb-4bit" }, { "fp4-double-quant", "bnb-4bit" },
    { "modelslim-w8a8", "int8-channel" }, { "modelslim-w4a8", "int4-modelslim" }, { "gemma-8bit", "gemma" }, { "gemma-4bit", "gemma" },
    { "quark-int4", "int4-quark" }, { "minimax-mxfp8", SCHEME_MXFP8 }, { "int4-group", "ct-packed" }, { "gptq-8bit", "gptq" }, { "comfy-fp8", "fp8" }, { "fp8-ue8m0", "fp8" },
    { "fp8-e5m2", "fp8" }, { "fp8-per-channel", "fp8" }, { "fp8-per-channel-e5m2", "fp8" }, { "fp8-per-tensor", "fp8" },
    { "fp8-per-tensor-e5m2", "fp8" },
};

/* Returns true if `name` names a ggml block type. */
static bool
is_block_type(const char *name)
{
    for (enum dtype d = 0; d < DTYPE_COUNT; d++)
        if (dtype_facts(d)->kind == DTYPE_IS_BLOCK && str_same_word(name, dtype_name(d)))
            return true;
    return false;
}

bool
scheme_is_called(const char *name, const char *code)
{
    if (str_same_word(name, code) || (strcmp(code, "gguf") == 0 && is_block_type(name)))
        return true;
    for (size_t i = 0; i < sizeof formers / sizeof *formers; i++)
        if (str_same_word(formers[i].name, name) && strcmp(formers[i].code, code) == 0)
            return true;
    return false;
}

bool
scheme_known(const char *name, struct err *err)
{
    struct str hint = { 0 };
    char shown[STR_SHOWN];
    const char *codes[CODES_MAX], *known;
    size_t n = 0;
    for (; name && n < CODES_MAX && (known = scheme_code(n)) != NULL; n++) {
        codes[n] = known;
        if (scheme_is_called(name, known))
            return true;
    }
    if (!name)
        return true;
    nearest_or_all(&hint, name, codes, n);
    err_set(err, ERR_USAGE, "unknown scheme '%s'%s", str_shown(shown, name, strlen(name)),
        str_or(hint.p, ""));
    str_clear(&hint);
    return false;
}

static size_t
add_left(struct left_name names[LEFT_NAMES], size_t n, const struct left_name *name)
{
    size_t i = 0;
    while (i < n && name->left != LEFT_ITSELF && (name->left != names[i].left || strcmp(names[i].suffix, name->suffix) != 0
            || (name->left == LEFT_METHOD && name->scheme != names[i].scheme)))
        i++;
    if (i < n || name->left == LEFT_ITSELF)
        return n;
    assert(n < LEFT_NAMES);
    names[n] = *name;
    return n + 1;
}

size_t
table_left_names(struct left_name names[LEFT_NAMES])
{
    const struct scheme *s;
    size_t n = 0;
    for (size_t i = 0; (s = table_scheme(i)) != NULL; i++)
        for (size_t j = 0; j < s->nrows; j++) {
            const struct scheme_row *r = &s->rows[j];
            n = add_left(names, n, &(struct left_name){ r->codes, r->becomes, r->left, s });
            for (const struct companion *b = r->companions; b && b->suffix; b++)
                n = add_left(names, n, &(struct left_name){ b->suffix, r->becomes, b->left, s });
            for (const struct companion *b = r->also; b && b->suffix; b++)
                n = add_left(names, n, &(struct left_name){ b->suffix, r->becomes, b->left, s });
        }
    return n;
}

bool
table_never(const struct table_match *f)
{
    (void)f;
    return false;
}

void
table_strip(struct strip *s, const struct weight *w, unsigned part)
{
    const struct tensor *t = w->part[part];
    *s = (struct strip){ .matrices = 1, .rows = dim_rows(t), .units = dim_cols(t), .unit_rows = 1,
        .unit_bytes = dtype_facts(t->dtype)->bytes };
}

bool
table_row_scales(const struct table_match *f)
{
    const struct shape *scale = &f->with[0]->shape;
    return f->codes->shape.rank == 2 && scale->rank == 1 && shape_dim(scale, 0) == dim_rows(f->codes);
}

void
table_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    snprintf(buf, SCHEME_DETAIL, "%s", w->own ? (const char *)w->own : "");
}

/* --- one row */

static void
has_both(const struct table_match *f, const struct tensor *a, const struct tensor *b, struct err *err)
{
    char name[STR_SHOWN], first[STR_SHOWN], second[STR_SHOWN];
    err_at(err, ERR_MALFORMED, b->extent.at, "tensor %s: %s and %s both exist, but they are two names of one part "
        "of %s", str_shown(name, f->codes->name, f->codes->name_len), str_shown(first, a->name, a->name_len),
        str_shown(second, b->name, b->name_len), f->scheme->name);
}

bool
table_wrong(const struct tensor *t, const struct tensor *codes, struct err *err, const char *expected, ...)
{
    char name[STR_SHOWN], shape[SHAPE_TEXT], text[STR_SHOWN + 128], weight[STR_SHOWN], of[SHAPE_TEXT];
    va_list args;
    va_start(args, expected);
    vsnprintf(text, sizeof text, expected, args);
    va_end(args);
    str_shown(name, t->name, t->name_len);
    shape_text(shape, &t->shape);
    if (t == codes)
        return err_at(err, ERR_MALFORMED, t->extent.at, "tensor %s: expected %s, found %s %s", name, text,
            dtype_name(t->dtype), shape);
    return err_at(err, ERR_MALFORMED, t->extent.at, "tensor %s: expected %s for its weight %s (%s %s), found %s %s",
        name, text, str_shown(weight, codes->name, codes->name_len), dtype_name(codes->dtype),
        shape_text(of, &codes->shape), dtype_name(t->dtype), shape);
}

bool
table_set_cols(const struct table_match *f, struct weight *w, uint64_t cols, struct err *err)
{
    uint64_t numel;
    return claims_shape(f->claims, w, f->codes->shape.rank - 1, &cols, 1, err)
        && (shape_is_empty(&w->shape) || shape_numel(&w->shape, &numel)
            || table_wrong(f->codes, f->codes, err, "fewer than 2^64 elements"));
}

bool
table_check_type(const struct table_match *f, const struct tensor *t, const bool *dtypes, enum role role, struct err *err)
{
    char types[128] = "";
    size_t n = 0;
    if (dtype_in(dtypes, t->dtype))
        return true;
    for (enum dtype d = 0; d < DTYPE_SCALARS; d++)
        if (dtype_in(dtypes, d) && n < sizeof types)
            n += (size_t)snprintf(types + n, sizeof types - n, "%s%s", n ? ", " : "", dtype_name(d));
    return table_wrong(t, f->codes, err, "%s for the %s of %s", types, role_name(role), f->scheme->name);
}

static bool
bad_shapes(const struct table_match *f, struct err *err)
{
    char name[STR_SHOWN], shape[SHAPE_TEXT], found[3 * SHAPE_TEXT] = "";
    const char *forced = f->claims->forced;
    size_t n = 0;
    for (size_t i = 0; table_has(f->row, i); i++)
        if (f->with[i] && n < sizeof found)
            n += (size_t)snprintf(found + n, sizeof found - n, "%s %s %s %s", n ? "," : "; found",
                f->row->companions[i].suffix + 1, dtype_name(f->with[i]->dtype), shape_text(shape, &f->with[i]->shape));
    return err_at(err, ERR_MALFORMED, f->codes->extent.at, "tensor %s: %s %s does not fit %s: expected %s%s%s%s",
        str_shown(name, f->codes->name, f->codes->name_len), dtype_name(f->codes->dtype),
        shape_text(shape, &f->codes->shape), f->scheme->name, f->row->shapes, found, forced ? "; --input-scheme is " : "",
        str_or(forced, ""));
}

/* Finds all companions of a weight that exist. */
static enum claim
find_companions(struct table_match *f, struct err *err)
{
    const struct companion *with = f->row->companions;
    for (size_t head = 0, next; table_has(f->row, head); head = next) {
        f->with[head] = NULL;
        for (next = head; next == head
                || (table_has(f->row, next) && with[next].presence == ALIAS); next++) {
            const struct tensor *t = claims_find(f->claims, f->base.base, f->base.base_len, with[next].suffix);
            if (next != head)
                f->with[next] = NULL;
            if (!t || (with[head].presence == EVIDENCE && !dtype_in(with[head].dtypes, t->dtype)))
                continue;
            if (f->with[head]) {
                has_both(f, f->with[head], t, err);
                return CLAIM_FAIL;
            }
            f->with[head] = t;
        }
        if (!f->with[head] && (with[head].presence == EVIDENCE || with[head].presence == NAMED))
            return CLAIM_NO;
    }
    return CLAIM_YES;
}

static bool
check_companions(const struct table_match *f, struct err *err)
{
    const struct companion *with = f->row->companions;
    char name[STR_SHOWN];
    for (size_t i = 0; table_has(f->row, i); i++) {
        if (!f->with[i] && with[i].presence == REQUIRED)
            return claims_missing(f->claims, f->codes->extent.at, err,
                "tensor %s: quantized (%s), but has no %s",
                str_shown(name, f->codes->name, f->codes->name_len), f->scheme->name, with[i].suffix + 1);
        if (f->with[i] && !table_check_type(f, f->with[i], with[i].dtypes, with[i].role, err))
            return false;
    }
    return !f->row->fits || f->row->fits(f) || bad_shapes(f, err);
}

enum claim
table_look(struct table_match *f, struct weight *w, struct err *err)
{
    enum claim claim = find_companions(f, err);
    if (claim != CLAIM_YES)
        return claim;
    if (f->row->is && !f->row->is(f))
        return CLAIM_NO;
    if (!check_companions(f, err))
        return CLAIM_FAIL;
    w->scheme = f->scheme;
    w->vague = !f->scheme->decode;
    for (size_t i = 0; table_has(f->row, i); i++)
        if (f->row->companions[i].part != 0)
            w->part[f->row->companions[i].part] = f->with[i];
    if (f->scheme->fit && !f->scheme->fit(f, w, err))
        return CLAIM_FAIL;
    if (f->doubt)
        w->doubt = f->doubt;
    return CLAIM_YES;
}

bool
table_take(struct table_match *f, struct weight *w, struct err *err)
{
    const struct scheme_row *row = f->row;
    for (size_t i = 0; table_has(row, i); i++)
        if (f->with[i] && !claims_take(f->claims, f->with[i], f->codes, row->companions[i].role, err))
            return false;
    for (const struct companion *also = row->also; also && also->suffix; also++) {
        const struct tensor *t = claims_find(f->claims, f->base.base, f->base.base_len, also->suffix);
        if (t && !claims_take(f->claims, t, f->codes, also->role, err))
            return false;
    }
    return claims_rename(f->claims, w, &f->base, row->becomes, err);
}

const struct tensor *
table_found(const struct table_match *f, enum role role)
{
    for (size_t i = 0; table_has(f->row, i); i++)
        if (f->with[i] && f->row->companions[i].role == role)
            return f->with[i];
    return NULL;
}

enum claim
table_match(struct table_match *f, struct weight *w, struct err *err)
{
    enum claim claim = table_look(f, w, err);
    if (claim == CLAIM_YES && !table_take(f, w, err))
        return CLAIM_FAIL;
    return claim;
}

enum claim
table_claim(const struct scheme *scheme, struct claims *c, const struct tensor *codes, struct weight *w,
    struct err *err)
{
    enum claim claim = CLAIM_NO;
    if (scheme->decode && codes->big_endian && codes->dtype < DTYPE_SCALARS)
        return CLAIM_NO;        /* decoders of scalars do not swap bytes */
    for (size_t i = 0; i < scheme->nrows && claim == CLAIM_NO; i++) {
        const struct scheme_row *row = &scheme->rows[i];
        struct table_match f = { .claims = c, .scheme = scheme, .row = row, .codes = codes };
        if (row->codes && dtype_in(row->dtypes, codes->dtype) && claims_strip_name(codes, row->codes, &f.base))
            claim = row->choose ? row->choose(&f, w, err) : table_match(&f, w, err);
    }
    return claim;
}
