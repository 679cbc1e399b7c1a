/* Keys [arch].* in the order of the converter: TextModel.set_gguf_parameters, then those of the families, which set some
 * keys again. */
#include <string.h>

#include "hf/config_priv.h"
#include "hf/generation.h"

static const char file[] = "config.json";

/* Common arguments. */
struct putting {
    struct keys *keys;
    const char *arch;
    const struct hf_config *config;
    const json_t *members;
    struct err *err;
};

/* --- one key */

static bool
put_u32(const struct putting *p, const char *key, const json_t *value, const char *name)
{
    uint32_t n;
    return hf_config_u32(&n, value, file, name, p->err) && keys_put_u32(p->keys, p->arch, key, n, p->err);
}

static bool
put_f32(const struct putting *p, const char *key, const json_t *value, const char *name)
{
    float x;
    return hf_config_f32(&x, value, file, name, p->err) && keys_put_f32(p->keys, p->arch, key, x, p->err);
}

static bool
put_text(const struct putting *p, const char *key, const char *text)
{
    return keys_put_text(p->keys, p->arch, key, text, strlen(text), p->err);
}

/* Puts a key for a member that may be missing. */
static bool
may_u32(const struct putting *p, const char *key, hf_names names)
{
    const char *name;
    const json_t *value = hf_config_member(p->members, names, &name);
    return !value || put_u32(p, key, value, name);
}

static bool
may_f32(const struct putting *p, const char *key, hf_names names)
{
    const char *name;
    const json_t *value = hf_config_member(p->members, names, &name);
    return !value || put_f32(p, key, value, name);
}

static bool
may_f32_of(const struct putting *p, const char *key, const json_t *object, const char *name)
{
    const json_t *value = hf_config_get(object, name);
    return !value || put_f32(p, key, value, name);
}

static bool
must_u32(const struct putting *p, const char *key, hf_names names)
{
    const char *name;
    const json_t *value = hf_config_member(p->members, names, &name);
    return value ? put_u32(p, key, value, name) : hf_config_missing(name, p->err);
}

static bool
must_f32_of(const struct putting *p, const char *key, const json_t *object, const char *name)
{
    const json_t *value = hf_config_get(object, name);
    return value ? put_f32(p, key, value, name) : hf_config_missing(name, p->err);
}

static hf_names head_dim = { "head_dim" }, window = { "sliding_window" };

static bool
put_heads_dim(const struct putting *p)
{
    return must_u32(p, "attention.key_length", head_dim) && must_u32(p, "attention.value_length", head_dim);
}

static bool
put_file_type(const struct putting *p, uint32_t file_type)
{
    return keys_put_u32(p->keys, "general", "file_type", file_type, p->err);
}

/* --- RoPE */

static bool
put_yarn(const struct putting *p, const json_t *rope)
{
    static const char original[] = "original_max_position_embeddings";
    /* A null attention_factor hides attn_factor, as in the converter. */
    const char *attention = json_object_get(rope, "attention_factor") ? "attention_factor" : "attn_factor";
    return (hf_config_get(rope, original) || hf_config_missing(original, p->err))
        && put_u32(p, "rope.scaling.original_context_length", hf_config_get(rope, original), original)
        && may_f32_of(p, "rope.scaling.yarn_ext_factor", rope, "extrapolation_factor")
        && may_f32_of(p, "rope.scaling.yarn_attn_factor", rope, attention)
        && may_f32_of(p, "rope.scaling.yarn_beta_fast", rope, "beta_fast")
        && may_f32_of(p, "rope.scaling.yarn_beta_slow", rope, "beta_slow");
}

static bool
put_scaling(const struct putting *p)
{
    const json_t *rope = hf_rope_full(p->config), *factor = hf_config_get(rope, "factor");
    const char *type;
    if (!hf_rope_type(&type, p->config, p->err))
        return false;
    if (json_object_get(p->config->more->rope, "mrope_section"))
        return err_set(p->err, ERR_UNSUPPORTED, ERR_NO_OFFSET, "%s: mrope_section is not supported for this model class", file);
    bool scales = factor && (strcmp(type, "linear") == 0 || strcmp(type, "yarn") == 0);
    return (!scales || (put_text(p, "rope.scaling.type", type) && put_f32(p, "rope.scaling.factor", factor, "factor")))
        && (!scales || *type != 'y' || put_yarn(p, rope))
        && (strcmp(type, "longrope") != 0 || put_text(p, "rope.scaling.type", type));
}

static bool
put_thetas(const struct putting *p)
{
    const json_t *sliding = json_object_get(p->config->more->rope, "sliding_attention");
    return may_f32_of(p, "rope.freq_base", hf_rope_full(p->config), "rope_theta")
        && may_f32_of(p, "rope.freq_base_swa", sliding, "rope_theta");
}

/* --- families */

/* Rejects members for the selection of experts that no model of these classes uses. */
static bool
check_scores(const struct putting *p)
{
    static const char *const names[] = { "score_function", "scoring_func", "score_func", "moe_router_activation",
        "moe_router_activation_func", "expert_selection_fn" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (hf_config_get(p->members, names[i]))
            return err_set(p->err, ERR_UNSUPPORTED, ERR_NO_OFFSET, "%s: %s is not supported for this model class", file,
                names[i]);
    return true;
}

static bool
put_experts(const struct putting *p)
{
    static hf_names groups = { "n_group" }, groups_used = { "topk_group" };
    return may_u32(p, "expert_count", hf_names_experts) && may_u32(p, "expert_used_count", hf_names_experts_used)
        && may_u32(p, "expert_group_count", groups) && may_u32(p, "expert_group_used_count", groups_used)
        && check_scores(p);
}

static bool
put_general(const struct putting *p, uint32_t file_type)
{
    static hf_names eps = { "rms_norm_eps", "norm_eps" };
    static hf_names layer_eps = { "layer_norm_eps", "layer_norm_epsilon", "norm_epsilon" };
    return must_u32(p, "block_count", hf_names_layers) && may_u32(p, "context_length", hf_names_context)
        && may_u32(p, "embedding_length", hf_names_hidden) && may_u32(p, "feed_forward_length", hf_names_ff)
        && may_u32(p, "attention.head_count", hf_names_heads) && may_u32(p, "attention.head_count_kv", hf_names_kv_heads)
        && (!json_is_false(json_object_get(p->members, "is_causal"))
            || keys_put_bool(p->keys, p->arch, "attention.causal", false, p->err))
        && put_scaling(p) && put_thetas(p)
        && may_f32(p, "attention.layer_norm_rms_epsilon", eps) && may_f32(p, "attention.layer_norm_epsilon", layer_eps)
        && put_experts(p)
        && (!hf_config_get(p->members, "head_dim") || put_heads_dim(p))
        && put_file_type(p, file_type);
}

static bool
put_llama(const struct putting *p, uint32_t file_type)
{
    const struct hf_config *c = p->config;
    uint64_t dim = c->head_dim != 0 ? c->head_dim : c->hidden_size / c->heads;
    return put_general(p, file_type)
        && keys_put_u32(p->keys, p->arch, "vocab_size", (uint32_t)c->vocab_size, p->err)
        && keys_put_u32(p->keys, p->arch, "rope.dimension_count", (uint32_t)dim, p->err);
}

static bool
put_qwen_moe(const struct putting *p, uint32_t file_type)
{
    static hf_names expert = { "moe_intermediate_size" }, shared = { "shared_expert_intermediate_size" };
    return put_general(p, file_type) && may_u32(p, "expert_feed_forward_length", expert)
        && may_u32(p, "expert_shared_feed_forward_length", shared);
}

static bool
put_gemma2(const struct putting *p, uint32_t file_type)
{
    static hf_names context = { "max_position_embeddings" }, hidden = { "hidden_size" }, ff = { "intermediate_size" },
        heads = { "num_attention_heads" };
    const json_t *m = p->members;
    hf_names kv_heads = { json_object_get(m, "num_key_value_heads") ? "num_key_value_heads" : "num_attention_heads" };
    return must_u32(p, "context_length", context) && must_u32(p, "embedding_length", hidden)
        && must_u32(p, "block_count", hf_names_layers) && must_u32(p, "feed_forward_length", ff)
        && must_u32(p, "attention.head_count", heads) && must_u32(p, "attention.head_count_kv", kv_heads)
        && must_f32_of(p, "attention.layer_norm_rms_epsilon", m, "rms_norm_eps")
        && put_heads_dim(p) && put_file_type(p, file_type)
        && must_f32_of(p, "attn_logit_softcapping", m, "attn_logit_softcapping")
        && must_f32_of(p, "final_logit_softcapping", m, "final_logit_softcapping")
        && must_u32(p, "attention.sliding_window", window);
}

/* Puts a number. The default applies if the member is missing, but not if it is null, as in the converter. */
static bool
put_else(const struct putting *p, const char *key, const char *name, uint32_t missing)
{
    if (!json_object_get(p->members, name))
        return keys_put_u32(p->keys, p->arch, key, missing, p->err);
    return put_u32(p, key, json_object_get(p->members, name), name);
}

static bool
put_gemma3_theta(const struct putting *p)
{
    const json_t *rope = hf_rope_full(p->config);
    return json_object_get(rope, "rope_theta") ? must_f32_of(p, "rope.freq_base", rope, "rope_theta")
        : keys_put_f32(p->keys, p->arch, "rope.freq_base", 1e6f, p->err);
}

static bool
put_gemma3(const struct putting *p, uint32_t file_type)
{
    const json_t *m = p->members, *cap = hf_config_get(m, "final_logit_softcapping"), *eps = json_object_get(m, "rms_norm_eps");
    const json_t *pattern = json_object_get(m, "sliding_window_pattern");
    if (hf_config_get(m, "attn_logit_softcapping"))
        return err_set(p->err, ERR_UNSUPPORTED, ERR_NO_OFFSET, "%s: attn_logit_softcapping is not supported for Gemma 3", file);
    return put_general(p, file_type)
        && put_else(p, "context_length", "max_position_embeddings", 131072)
        && put_else(p, "attention.head_count", "num_attention_heads", 8)
        && (eps ? must_f32_of(p, "attention.layer_norm_rms_epsilon", m, "rms_norm_eps")
            : keys_put_f32(p->keys, p->arch, "attention.layer_norm_rms_epsilon", 1e-6f, p->err))
        && put_else(p, "attention.key_length", "head_dim", 256) && put_else(p, "attention.value_length", "head_dim", 256)
        && put_gemma3_theta(p)
        && (!cap || (json_is_number(cap) && json_number_value(cap) == 0)
            || put_f32(p, "final_logit_softcapping", cap, "final_logit_softcapping"))
        && ((json_is_number(pattern) && json_number_value(pattern) == 1) || must_u32(p, "attention.sliding_window", window))
        && put_else(p, "attention.head_count_kv", "num_key_value_heads", 4);
}

static bool
put_phi3(const struct putting *p, uint32_t file_type)
{
    static hf_names context = { "n_positions", "max_position_embeddings" }, hidden = { "hidden_size", "n_embd" };
    static hf_names heads = { "num_attention_heads", "n_head" }, kv_heads = { "num_key_value_heads", "n_head_kv" };
    static hf_names ff = { "intermediate_size" };
    static const char original[] = "original_max_position_embeddings";
    const json_t *length = hf_config_get(p->config->more->rope, original);
    uint32_t dims;
    return must_u32(p, "context_length", context)
        && (length || hf_config_missing(original, p->err))
        && put_u32(p, "rope.scaling.original_context_length", length, original)
        && must_u32(p, "embedding_length", hidden) && must_u32(p, "feed_forward_length", ff)
        && must_u32(p, "block_count", hf_names_layers) && must_u32(p, "attention.head_count", heads)
        && must_u32(p, "attention.head_count_kv", kv_heads)
        && must_f32_of(p, "attention.layer_norm_rms_epsilon", p->members, "rms_norm_eps")
        && hf_rope_phi3_dims(&dims, p->config, p->err)
        && keys_put_u32(p->keys, p->arch, "rope.dimension_count", dims, p->err)
        && must_f32_of(p, "rope.freq_base", hf_rope_full(p->config), "rope_theta") && put_file_type(p, file_type)
        && (hf_config_get(p->members, "sliding_window") ? must_u32(p, "attention.sliding_window", window)
            : keys_put_u32(p->keys, p->arch, "attention.sliding_window", 0, p->err));
}

static bool
put_family(const struct putting *p, uint32_t file_type)
{
    switch (p->config->family->kind) {
    case HF_LLAMA:
    case HF_MISTRAL:
    case HF_MIXTRAL:
        return put_llama(p, file_type);
    case HF_QWEN2:
    case HF_QWEN3:
        return put_general(p, file_type);
    case HF_QWEN2_MOE:
    case HF_QWEN3_MOE:
        return put_qwen_moe(p, file_type);
    case HF_GEMMA2:
        return put_gemma2(p, file_type);
    case HF_GEMMA3:
        return put_gemma3(p, file_type);
    case HF_PHI3:
        return put_phi3(p, file_type);
    }
    return err_set(p->err, ERR_BUG, ERR_NO_OFFSET, "model family without keys");
}

bool
hf_config_keys(struct keys *keys, const struct hf_config *config, uint32_t file_type, struct err *err)
{
    const char *arch = config->family->arch;
    const struct hf_config_more *more = config->more;
    const struct putting p = { keys, arch, config, more->members, err };
    return keys_put_text(keys, "general", "architecture", arch, strlen(arch), err)
        && (!more->has_attn_factor || keys_put_f32(keys, arch, "rope.scaling.attn_factor", more->attn_factor, err))
        && keys_put_text(keys, "general", "type", "model", strlen("model"), err)
        && hf_generation_keys(keys, more->generation, err)
        && put_family(&p, file_type);
}
