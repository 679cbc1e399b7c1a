/* RoPE frequency factors as tensors. Source: generate_extra_tensors of LlamaModel and Phi3MiniModel in llama.cpp's
 * convert_hf_to_gguf.py, with torch.float32: p, f and w are tensors, so each operation on them is rounded, and plain numbers
 * are rounded before they meet one. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/real.h"
#include "hf/config_priv.h"

static bool
bad_factors(const char *what, struct err *err)
{
    return err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, "config.json: %s", what);
}

static struct hf_factors *
add(struct hf_config *config, const char *name, uint64_t n, struct err *err)
{
    struct hf_factors *factors = &config->factors[config->nfactors];
    factors->x = malloc(n * sizeof *factors->x);
    if (!factors->x) {
        err_memory(err, n * sizeof *factors->x);
        return NULL;
    }
    factors->name = name;
    factors->n = n;
    config->nfactors++;
    return factors;
}

/* --- llama3 */

struct llama3 {
    double theta, factor, low, high, length;
};

/* Reads a number of rope_parameters. The default applies if it is missing; null is an error. */
static bool
read_number(double *out, const json_t *rope, const char *name, double missing, struct err *err)
{
    const json_t *value = json_object_get(rope, name);
    *out = value ? json_number_value(value) : missing;
    return !value || json_is_number(value)
        || err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, "config.json: %s is not a number", name);
}

/* Returns the factor of pair i of a head with n dimensions. */
static float
llama3_factor(const struct llama3 *r, uint64_t i, uint64_t n)
{
    float p = real_pow((float)r->theta, (float)(2 * i) / (float)n);
    float f = 1.0f / p;
    float w = (1.0f / f) * (float)(2 * M_PI);
    if (w < (float)(r->length / r->high))
        return 1;
    if (w > (float)(r->length / r->low))
        return (float)r->factor;
    float s = ((1.0f / w) * (float)r->length - (float)r->low) / (float)(r->high - r->low);
    float t = (1.0f - s) / (float)r->factor + s;
    return 1.0f / t;
}

static bool
llama3(struct hf_config *config, struct err *err)
{
    const json_t *rope = hf_rope_full(config);
    struct llama3 r;
    uint64_t n = config->head_dim != 0 ? config->head_dim : config->hidden_size / config->heads;
    if (!read_number(&r.theta, rope, "rope_theta", 10000, err) || !read_number(&r.factor, rope, "factor", 8, err)
            || !read_number(&r.low, rope, "low_freq_factor", 1, err)
            || !read_number(&r.high, rope, "high_freq_factor", 4, err)
            || !read_number(&r.length, rope, "original_max_position_embeddings", 8192, err))
        return false;
    if (!(r.theta > 0 && r.factor > 0 && r.low > 0 && r.high > r.low && r.length > 0))
        return bad_factors("rope_type llama3 requires positive rope_theta, factor, low_freq_factor and "
            "original_max_position_embeddings, and high_freq_factor greater than low_freq_factor", err);
    if (n == 0 || n % 2 != 0 || n / 2 > HF_FACTORS)
        return err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, "config.json: head size %" PRIu64 " is not an even number from 2 to "
            "%d", n, 2 * HF_FACTORS);
    struct hf_factors *factors = add(config, "rope_freqs.weight", n / 2, err);
    for (uint64_t i = 0; factors && i < n / 2; i++)
        factors->x[i] = llama3_factor(&r, i, n);
    return factors != NULL;
}

/* --- Phi-3 */

/* Computes int(x * y) // z of Python. */
bool
hf_rope_phi3_dims(uint32_t *dims, const struct hf_config *config, struct err *err)
{
    double part;
    if (!read_number(&part, config->more->rope, "partial_rotary_factor", 1, err))
        return false;
    double all = trunc(part * (double)config->hidden_size);
    if (!(all >= 0 && all <= UINT32_MAX))
        return bad_factors("partial_rotary_factor is out of range", err);
    *dims = (uint32_t)((uint64_t)all / config->heads);
    return true;
}

static bool
read_list(struct hf_config *config, const char *name, const json_t *list, struct err *err)
{
    struct hf_factors *factors = add(config, name, json_array_size(list), err);
    for (size_t i = 0; factors && i < factors->n; i++) {
        const json_t *x = json_array_get(list, i);
        factors->x[i] = (float)json_number_value(x);
        if (!json_is_number(x))
            return bad_factors("long_factor or short_factor contains a value that is not a number", err);
    }
    return factors != NULL;
}

static bool
phi3_attention(struct hf_config *config, const char *type, struct err *err)
{
    uint32_t length, original;
    const char *name;
    const json_t *max = hf_config_member(config->more->members, hf_names_context, &name);
    if (!hf_config_u32(&length, max, "config.json", "max_position_embeddings", err)
            || !hf_config_u32(&original, hf_config_get(config->more->rope, "original_max_position_embeddings"), "config.json",
                "original_max_position_embeddings", err))
        return false;
    if (original < 2)
        return bad_factors("original_max_position_embeddings is below 2", err);
    double q = (double)length / original;
    config->more->has_attn_factor = true;
    if (strcmp(type, "longrope") != 0 && strcmp(type, "yarn") != 0)
        return err_set(err, ERR_UNSUPPORTED, ERR_NO_OFFSET, "config.json: long_factor is not supported with rope_type %s",
            *type ? type : "default");
    config->more->attn_factor = q <= 1 ? 1 : *type == 'y' ? (float)(0.1 * (real_log2(q) * M_LN2) + 1)
        : (float)sqrt(1 + real_log2(q) / real_log2(original));
    return true;
}

static bool
phi3(struct hf_config *config, const char *type, struct err *err)
{
    const json_t *longs = json_object_get(config->more->rope, "long_factor");
    const json_t *shorts = json_object_get(config->more->rope, "short_factor");
    uint32_t dims;
    if (!longs || json_is_null(longs) || (json_is_array(longs) && json_array_size(longs) == 0))
        return true;
    if (!json_is_array(longs) || !json_is_array(shorts))
        return bad_factors("long_factor and short_factor are not both lists", err);
    if (!phi3_attention(config, type, err) || !hf_rope_phi3_dims(&dims, config, err))
        return false;
    if (json_array_size(longs) != json_array_size(shorts) || 2 * json_array_size(longs) != dims
            || json_array_size(longs) > HF_FACTORS)
        return err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, "config.json: %zu values in long_factor and %zu in short_factor, "
            "expected half of the %" PRIu32 " rotated dimensions", json_array_size(longs), json_array_size(shorts), dims);
    return read_list(config, "rope_factors_long.weight", longs, err)
        && read_list(config, "rope_factors_short.weight", shorts, err);
}

bool
hf_rope_factors(struct hf_config *config, struct err *err)
{
    const char *type;
    if (!hf_rope_type(&type, config, err))
        return false;
    if (strcmp(config->family->arch, "llama") == 0 && strcmp(type, "llama3") == 0)
        return llama3(config, err);
    return config->family->kind != HF_PHI3 || phi3(config, type, err);
}
