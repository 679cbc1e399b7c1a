/* The configuration classes of transformers 5: which members they have, what they take in them, and what they are when
 * nothing is said. A class that does not take a value refuses the whole file; llama.cpp's converter then reads it as it is,
 * without any default. Source: configuration_*.py, configuration_utils.py, modeling_rope_utils.py of transformers;
 * huggingface_hub.dataclasses for what a type takes (no bool for an int, no int for a float). */
#include <limits.h>
#include <string.h>

#include "hf/config_priv.h"

/* What a member takes. */
enum takes { INT = 1, FLOAT = 2, BOOL = 4, TEXT = 8, NONE = 16, LIST = 32, OBJECT = 64, UNIT = 128 };

/* Classes, by enum hf_kind. */
#define C(kind) (1u << HF_##kind)
enum {
    LLAMA = C(LLAMA), MISTRAL = C(MISTRAL), MIXTRAL = C(MIXTRAL), QWEN2 = C(QWEN2), QWEN2M = C(QWEN2_MOE), QWEN3 = C(QWEN3),
    QWEN3M = C(QWEN3_MOE), GEMMA2 = C(GEMMA2), GEMMA3 = C(GEMMA3), PHI3 = C(PHI3), GEMMAS = GEMMA2 | GEMMA3,
    QWENS = QWEN2 | QWEN2M | QWEN3 | QWEN3M, MOES = MIXTRAL | QWEN2M | QWEN3M, ALL = (1u << (HF_PHI3 + 1)) - 1
};

/* A member of these classes: its types, and its default: a number, or with NONE among the types and NULLED none. What has
 * no meaning here has no default either. */
enum class_fill { LEAVE, NULLED, NUMBER, REAL };
struct class_member {
    const char *name;
    unsigned classes, takes;
    enum class_fill fill;
    double value;
};

static const struct class_member members_of[] = {
    { "vocab_size", LLAMA | MISTRAL | MIXTRAL, INT, NUMBER, 32000 },
    { "vocab_size", QWENS, INT, NUMBER, 151936 },
    { "vocab_size", GEMMA2, INT, NUMBER, 256000 },
    { "vocab_size", GEMMA3, INT, NUMBER, 262208 },
    { "vocab_size", PHI3, INT, NUMBER, 32064 },
    { "hidden_size", ALL, INT, LEAVE, 0 },
    { "intermediate_size", ALL, INT, LEAVE, 0 },
    { "num_hidden_layers", ALL, INT, LEAVE, 0 },
    { "num_attention_heads", ALL & ~GEMMA3, INT, LEAVE, 0 },
    { "num_attention_heads", GEMMA3, INT, NUMBER, 8 },
    { "num_key_value_heads", LLAMA | PHI3, INT | NONE, NULLED, 0 },
    { "num_key_value_heads", MISTRAL | MIXTRAL, INT, NUMBER, 8 },
    { "num_key_value_heads", QWEN2 | QWEN3, INT | NONE, NUMBER, 32 },
    { "num_key_value_heads", QWEN2M, INT | NONE, NUMBER, 16 },
    { "num_key_value_heads", QWEN3M | GEMMAS, INT, NUMBER, 4 },
    { "head_dim", LLAMA | MISTRAL | MIXTRAL, INT | NONE, NULLED, 0 },
    { "head_dim", QWEN3, INT, NUMBER, 128 },
    { "head_dim", GEMMAS, INT, NUMBER, 256 },
    { "max_position_embeddings", LLAMA, INT, NUMBER, 2048 },
    { "max_position_embeddings", MISTRAL | MIXTRAL | GEMMA3, INT, NUMBER, 131072 },
    { "max_position_embeddings", QWENS, INT, NUMBER, 32768 },
    { "max_position_embeddings", GEMMA2, INT, NUMBER, 8192 },
    { "max_position_embeddings", PHI3, INT, NUMBER, 4096 },
    { "original_max_position_embeddings", PHI3, INT, NUMBER, 4096 },
    { "rms_norm_eps", ALL & ~(MIXTRAL | PHI3), FLOAT, REAL, 1e-6 },
    { "rms_norm_eps", MIXTRAL | PHI3, FLOAT, REAL, 1e-5 },
    { "rope_parameters", ALL, OBJECT | NONE, LEAVE, 0 },
    { "sliding_window", MIXTRAL | PHI3, INT | NONE, NULLED, 0 },
    { "sliding_window", MISTRAL | QWENS | GEMMAS, INT | NONE, NUMBER, 4096 },
    { "attn_logit_softcapping", GEMMA2, FLOAT | NONE, REAL, 50 },
    { "final_logit_softcapping", GEMMA2, FLOAT | NONE, REAL, 30 },
    { "attn_logit_softcapping", GEMMA3, FLOAT | NONE, NULLED, 0 },
    { "final_logit_softcapping", GEMMA3, FLOAT | NONE, NULLED, 0 },
    { "num_local_experts", MIXTRAL, INT, NUMBER, 8 },
    { "num_experts", QWEN2M, INT, NUMBER, 60 },
    { "num_experts", QWEN3M, INT, NUMBER, 128 },
    { "num_experts_per_tok", MIXTRAL, INT, NUMBER, 2 },
    { "num_experts_per_tok", QWEN2M, INT, NUMBER, 4 },
    { "num_experts_per_tok", QWEN3M, INT, NUMBER, 8 },
    { "moe_intermediate_size", QWEN2M, INT, NUMBER, 1408 },
    { "moe_intermediate_size", QWEN3M, INT, NUMBER, 768 },
    { "shared_expert_intermediate_size", QWEN2M, INT, NUMBER, 5632 },
    { "layer_types", QWEN2 | QWEN2M | QWEN3 | GEMMAS, LIST | NONE, LEAVE, 0 },
    { "max_window_layers", QWEN2 | QWEN2M | QWEN3, INT, LEAVE, 0 },
    { "use_sliding_window", QWENS, BOOL, LEAVE, 0 },
    { "use_bidirectional_attention", GEMMAS, BOOL | NONE, LEAVE, 0 },
    { "query_pre_attn_scalar", GEMMAS, INT, LEAVE, 0 },
    { "hidden_act", ALL & ~GEMMAS, TEXT, LEAVE, 0 },
    { "hidden_activation", GEMMAS, TEXT, LEAVE, 0 },
    { "initializer_range", LLAMA, FLOAT | UNIT, LEAVE, 0 },
    { "initializer_range", ALL & ~LLAMA, FLOAT, LEAVE, 0 },
    { "use_cache", ALL, BOOL, LEAVE, 0 },
    { "tie_word_embeddings", ALL, BOOL, LEAVE, 0 },
    { "pad_token_id", ALL, INT | NONE, LEAVE, 0 },
    { "bos_token_id", ALL, INT | NONE, LEAVE, 0 },
    { "eos_token_id", ALL, INT | LIST | NONE, LEAVE, 0 },
    { "pretraining_tp", LLAMA, INT | NONE, LEAVE, 0 },
    { "attention_bias", LLAMA | QWEN3 | QWEN3M | GEMMAS, BOOL, LEAVE, 0 },
    { "mlp_bias", LLAMA, BOOL, LEAVE, 0 },
    { "attention_dropout", LLAMA | GEMMAS, INT | FLOAT | NONE, LEAVE, 0 },
    { "attention_dropout", ALL & ~(LLAMA | GEMMAS), INT | FLOAT, LEAVE, 0 },
    { "resid_pdrop", PHI3, INT | FLOAT, LEAVE, 0 },
    { "embd_pdrop", PHI3, INT | FLOAT, LEAVE, 0 },
    { "decoder_sparse_step", QWEN2M | QWEN3M, INT, LEAVE, 0 },
    { "norm_topk_prob", QWEN2M | QWEN3M, BOOL, LEAVE, 0 },
    { "output_router_logits", MOES, BOOL, LEAVE, 0 },
    { "router_aux_loss_coef", MOES, FLOAT, LEAVE, 0 },
    { "router_jitter_noise", MIXTRAL, FLOAT, LEAVE, 0 },
    { "mlp_only_layers", QWEN2M | QWEN3M, LIST | NONE, LEAVE, 0 },
    { "qkv_bias", QWEN2M, BOOL, LEAVE, 0 },
};

/* model_type, and the theta of its class. */
static const struct class {
    const char *type;
    enum hf_kind kind;
    double theta;
} classes[] = {
    { "llama", HF_LLAMA, 1e4 }, { "mistral", HF_MISTRAL, 1e4 }, { "mixtral", HF_MIXTRAL, 1e6 }, { "qwen2", HF_QWEN2, 1e4 },
    { "qwen2_moe", HF_QWEN2_MOE, 1e4 }, { "qwen3", HF_QWEN3, 1e4 }, { "qwen3_moe", HF_QWEN3_MOE, 1e4 },
    { "gemma2", HF_GEMMA2, 1e4 }, { "gemma3_text", HF_GEMMA3, 1e6 }, { "phi3", HF_PHI3, 1e4 },
};

static bool
is_taken(unsigned takes, const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_INTEGER:
        return takes & INT;
    case JSON_REAL:
        return (takes & FLOAT) && (!(takes & UNIT) || (json_real_value(value) >= 0 && json_real_value(value) <= 1));
    case JSON_TRUE:
    case JSON_FALSE:
        return takes & BOOL;
    case JSON_STRING:
        return takes & TEXT;
    case JSON_NULL:
        return takes & NONE;
    case JSON_ARRAY:
        return takes & LIST;
    case JSON_OBJECT:
        return takes & OBJECT;
    }
    return false;
}

static bool
fill_in(json_t *members, const struct class_member *m, struct err *err)
{
    switch (m->fill) {
    case LEAVE:
        return true;
    case NULLED:
        return hf_set_default(members, m->name, json_null(), err);
    case NUMBER:
        return hf_set_default(members, m->name, json_integer((json_int_t)m->value), err);
    case REAL:
        return hf_set_default(members, m->name, json_real(m->value), err);
    }
    return true;
}

static bool
check_members(json_t *members, enum hf_kind kind, bool *takes, struct err *err)
{
    for (size_t i = 0; *takes && i < sizeof members_of / sizeof *members_of; i++) {
        const struct class_member *m = &members_of[i];
        const json_t *value = json_object_get(members, m->name);
        if (!(m->classes & 1u << kind))
            continue;
        if (value)
            *takes = is_taken(m->takes, value);
        else if (!fill_in(members, m, err))
            return false;
    }
    return true;
}

/* num_experts and num_local_experts are one in two of the classes; what the class has no member for is set last. */
static bool
join_experts(json_t *members, enum hf_kind kind, bool *takes, struct err *err)
{
    const char *own = kind == HF_MIXTRAL ? "num_local_experts" : "num_experts";
    const char *other = kind == HF_MIXTRAL ? "num_experts" : "num_local_experts";
    if (kind != HF_MIXTRAL && kind != HF_QWEN3_MOE)
        return true;
    json_t *value = json_object_get(members, other);
    value = json_incref(value ? value : json_object_get(members, own));
    *takes = kind != HF_MIXTRAL || json_is_integer(value);
    json_object_del(members, "num_experts");
    return hf_set_new(members, "num_local_experts", value, err);
}

/* head_dim and num_key_value_heads, where null stands for what follows from others. */
static bool
derive(json_t *members, enum hf_kind kind, bool *takes, struct err *err)
{
    json_int_t hidden = json_integer_value(json_object_get(members, "hidden_size"));
    json_t *heads = json_object_get(members, "num_attention_heads");
    json_int_t n = json_integer_value(heads);
    bool divides = kind == HF_LLAMA || kind == HF_GEMMA2 || kind == HF_GEMMA3;
    *takes = n > 0 && hidden >= 0 && (!divides || hidden % n == 0);
    if (!*takes)
        return true;
    /* With layer_types a Mistral is read as a Ministral, whose class is the same but for this. */
    bool has_dim = kind == HF_LLAMA || (kind == HF_MISTRAL && !json_object_get(members, "layer_types"));
    if (has_dim && json_is_null(json_object_get(members, "head_dim"))
            && !hf_set_new(members, "head_dim", json_integer(hidden / n), err))
        return false;
    return (kind == HF_QWEN2_MOE && json_is_null(json_object_get(members, "num_key_value_heads")))
        || !json_is_null(json_object_get(members, "num_key_value_heads"))
        || hf_set_new(members, "num_key_value_heads", json_incref(heads), err);
}

static bool
is_layer_type(const char *type)
{
    static const char *const types[] = { "full_attention", "sliding_attention", "chunked_attention", "window_attention",
        "indexed_attention", "compressed_sparse_attention", "heavily_compressed_attention", "minimax_m3_sparse", "conv", "moe",
        "hybrid", "hybrid_sliding", "reference_sliding_attention", "linear_attention", "mamba", "attention",
        "deepseek_sparse_attention", "qwen_sparse_attention" };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i], type) == 0)
            return true;
    return false;
}

static bool
layer_types_fit(const json_t *members)
{
    const json_t *types = hf_get(members, "layer_types");
    if (!types)
        return true;
    json_int_t layers = json_integer_value(json_object_get(members, "num_hidden_layers"));
    for (size_t i = 0; i < json_array_size(types); i++) {
        const char *type = json_string_value(json_array_get(types, i));
        if (!type || !is_layer_type(type))
            return false;
    }
    return json_is_array(types) && layers >= 0 && json_array_size(types) == (size_t)layers;
}

/* Only names of types that torch has. */
static bool
dtype_fits(const json_t *members)
{
    static const char *const types[] = { "bfloat16", "float16", "float32", "float64", "half", "float", "double", "float8_e4m3fn",
        "float8_e5m2", "int8", "uint8" };
    const json_t *type = hf_get(members, "dtype");
    type = type ? type : hf_get(members, "torch_dtype");
    if (!json_is_string(type))
        return true;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i], json_string_value(type)) == 0)
            return true;
    return false;
}

/* The window of attention: Qwen has one only where use_sliding_window says so; that of Gemma 3 in both directions goes
 * through the class by halves. */
static bool
settle_window(json_t *members, enum hf_kind kind, bool *takes, struct err *err)
{
    const json_t *window = json_object_get(members, "sliding_window");
    if ((QWENS & 1u << kind) && !json_is_true(json_object_get(members, "use_sliding_window")))
        return hf_set_new(members, "sliding_window", kind == HF_QWEN2_MOE ? json_integer(0) : json_null(), err);
    if (kind != HF_GEMMA3 || !json_is_true(json_object_get(members, "use_bidirectional_attention")))
        return true;
    json_int_t n = json_integer_value(window);
    *takes = json_is_integer(window) && n >= 0;
    return !*takes || hf_set_new(members, "sliding_window", json_integer(n / 2 * 2), err);
}

static bool
apply(json_t *members, const struct class *class, bool *takes, struct err *err)
{
    return check_members(members, class->kind, takes, err)
        && (!*takes || join_experts(members, class->kind, takes, err))
        && (!*takes || derive(members, class->kind, takes, err))
        && (!*takes || settle_window(members, class->kind, takes, err))
        && (!*takes || hf_class_rope(members, class->kind, class->theta, takes, err));
}

bool
hf_class_apply(json_t *members, bool *takes, struct err *err)
{
    const json_t *type = json_object_get(members, "model_type");
    char shown[STR_SHOWN];
    *takes = false;
    if (!json_is_string(type))
        return true;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (strcmp(classes[i].type, json_string_value(type)) != 0)
            continue;
        *takes = dtype_fits(members) && layer_types_fit(members);
        return !*takes || apply(members, &classes[i], takes, err);
    }
    return err_set(err, ERR_UNSUPPORTED, ERR_NO_OFFSET, "config.json: model_type %s is not known, and so are the defaults of "
        "its members", str_shown(shown, json_string_value(type), json_string_length(type)));
}
