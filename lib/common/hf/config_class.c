/* Configuration classes of transformers 5: the defaults of missing members. A class that rejects a value rejects the whole
 * file; llama.cpp's converter then reads it unchanged, without defaults. Only rejections that occur in known files are
 * implemented; other bad values get defaults. Sources: configuration_*.py, configuration_utils.py, modeling_rope_utils.py of
 * transformers; huggingface_hub.dataclasses (no int for a float). */
#include <string.h>

#include "hf/config_priv.h"

/* Sets of classes, by enum hf_kind. */
#define C(kind) (1u << HF_##kind)
enum {
    LLAMA = C(LLAMA), MISTRAL = C(MISTRAL), MIXTRAL = C(MIXTRAL), QWEN2 = C(QWEN2), QWEN2M = C(QWEN2_MOE), QWEN3 = C(QWEN3),
    QWEN3M = C(QWEN3_MOE), GEMMA2 = C(GEMMA2), GEMMA3 = C(GEMMA3), PHI3 = C(PHI3), GEMMAS = GEMMA2 | GEMMA3,
    QWENS = QWEN2 | QWEN2M | QWEN3 | QWEN3M, ALL = (1u << (HF_PHI3 + 1)) - 1
};
_Static_assert(HF_PHI3 < 31, "sets of classes are unsigned");

/* A member of some classes and its default: null, an integer or a float. */
enum class_fill { NULLED, NUMBER, REAL };
struct class_member {
    const char *name;
    unsigned classes;
    enum class_fill fill;
    double value;
};

static const struct class_member members_of[] = {
    { "vocab_size", LLAMA | MISTRAL | MIXTRAL, NUMBER, 32000 },
    { "vocab_size", QWENS, NUMBER, 151936 },
    { "vocab_size", GEMMA2, NUMBER, 256000 },
    { "vocab_size", GEMMA3, NUMBER, 262208 },
    { "vocab_size", PHI3, NUMBER, 32064 },
    { "num_attention_heads", GEMMA3, NUMBER, 8 },
    { "num_key_value_heads", LLAMA | PHI3, NULLED, 0 },
    { "num_key_value_heads", MISTRAL | MIXTRAL, NUMBER, 8 },
    { "num_key_value_heads", QWEN2 | QWEN3, NUMBER, 32 },
    { "num_key_value_heads", QWEN2M, NUMBER, 16 },
    { "num_key_value_heads", QWEN3M | GEMMAS, NUMBER, 4 },
    { "head_dim", LLAMA | MISTRAL | MIXTRAL, NULLED, 0 },
    { "head_dim", QWEN3, NUMBER, 128 },
    { "head_dim", GEMMAS, NUMBER, 256 },
    { "max_position_embeddings", LLAMA, NUMBER, 2048 },
    { "max_position_embeddings", MISTRAL | MIXTRAL | GEMMA3, NUMBER, 131072 },
    { "max_position_embeddings", QWENS, NUMBER, 32768 },
    { "max_position_embeddings", GEMMA2, NUMBER, 8192 },
    { "max_position_embeddings", PHI3, NUMBER, 4096 },
    { "original_max_position_embeddings", PHI3, NUMBER, 4096 },
    { "rms_norm_eps", ALL & ~(MIXTRAL | PHI3), REAL, 1e-6 },
    { "rms_norm_eps", MIXTRAL | PHI3, REAL, 1e-5 },
    { "sliding_window", MIXTRAL | PHI3, NULLED, 0 },
    { "sliding_window", MISTRAL | QWENS | GEMMAS, NUMBER, 4096 },
    { "attn_logit_softcapping", GEMMA2, REAL, 50 },
    { "final_logit_softcapping", GEMMA2, REAL, 30 },
    { "attn_logit_softcapping", GEMMA3, NULLED, 0 },
    { "final_logit_softcapping", GEMMA3, NULLED, 0 },
    { "num_local_experts", MIXTRAL, NUMBER, 8 },
    { "num_experts", QWEN2M, NUMBER, 60 },
    { "num_experts", QWEN3M, NUMBER, 128 },
    { "num_experts_per_tok", MIXTRAL, NUMBER, 2 },
    { "num_experts_per_tok", QWEN2M, NUMBER, 4 },
    { "num_experts_per_tok", QWEN3M, NUMBER, 8 },
    { "moe_intermediate_size", QWEN2M, NUMBER, 1408 },
    { "moe_intermediate_size", QWEN3M, NUMBER, 768 },
    { "shared_expert_intermediate_size", QWEN2M, NUMBER, 5632 },
};

/* model_type, and the default of rope_theta in its class. */
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
fill_in(json_t *members, const struct class_member *m, struct err *err)
{
    switch (m->fill) {
    case NULLED:
        return hf_config_default(members, m->name, json_null(), err);
    case NUMBER:
        return hf_config_default(members, m->name, json_integer((json_int_t)m->value), err);
    case REAL:
        return hf_config_default(members, m->name, json_real(m->value), err);
    }
    return true;
}

static bool
fill_members(json_t *members, enum hf_kind kind, bool *accepted, struct err *err)
{
    for (size_t i = 0; *accepted && i < sizeof members_of / sizeof *members_of; i++) {
        const struct class_member *m = &members_of[i];
        const json_t *value = json_object_get(members, m->name);
        if (!(m->classes & 1u << kind))
            continue;
        if (value)
            *accepted = m->fill != REAL || !json_is_integer(value);
        else if (!fill_in(members, m, err))
            return false;
    }
    return true;
}

/* Merges num_experts and num_local_experts, which are the same member in two of the classes. The name that is not the
 * class's own overrides. */
static bool
join_experts(json_t *members, enum hf_kind kind, struct err *err)
{
    const char *own = kind == HF_MIXTRAL ? "num_local_experts" : "num_experts";
    const char *other = kind == HF_MIXTRAL ? "num_experts" : "num_local_experts";
    if (kind != HF_MIXTRAL && kind != HF_QWEN3_MOE)
        return true;
    json_t *value = json_object_get(members, other);
    value = json_incref(value ? value : json_object_get(members, own));
    json_object_del(members, "num_experts");
    return hf_config_set(members, "num_local_experts", value, err);
}

/* Derives head_dim and num_key_value_heads if they are null. */
static bool
derive(json_t *members, enum hf_kind kind, bool *accepted, struct err *err)
{
    json_int_t hidden = json_integer_value(json_object_get(members, "hidden_size"));
    json_t *heads = json_object_get(members, "num_attention_heads");
    json_int_t n = json_integer_value(heads);
    bool divides = kind == HF_LLAMA || kind == HF_GEMMA2 || kind == HF_GEMMA3;
    *accepted = n > 0 && hidden >= 0 && (!divides || hidden % n == 0);
    if (!*accepted)
        return true;
    /* A Mistral with layer_types is read as a Ministral, whose class differs only in this. */
    bool has_dim = kind == HF_LLAMA || (kind == HF_MISTRAL && !json_object_get(members, "layer_types"));
    if (has_dim && json_is_null(json_object_get(members, "head_dim"))
            && !hf_config_set(members, "head_dim", json_integer(hidden / n), err))
        return false;
    return (kind == HF_QWEN2_MOE && json_is_null(json_object_get(members, "num_key_value_heads")))
        || !json_is_null(json_object_get(members, "num_key_value_heads"))
        || hf_config_set(members, "num_key_value_heads", json_incref(heads), err);
}

static bool
layer_types_fit(const json_t *members)
{
    const json_t *types = hf_config_get(members, "layer_types");
    if (!types)
        return true;
    json_int_t layers = json_integer_value(json_object_get(members, "num_hidden_layers"));
    for (size_t i = 0; i < json_array_size(types); i++) {
        const char *type = json_string_value(json_array_get(types, i));
        if (!type || !strstr(type, "attention"))
            return false;
    }
    return json_is_array(types) && layers >= 0 && json_array_size(types) == (size_t)layers;
}

/* Checks that dtype is the name of a torch type. */
static bool
dtype_fits(const json_t *members)
{
    static const char *const types[] = { "bfloat16", "float16", "float32", "float64", "half", "float", "double",
        "float8_e4m3fn", "float8_e5m2", "int8", "uint8" };
    const json_t *type = hf_config_get(members, "dtype");
    type = type ? type : hf_config_get(members, "torch_dtype");
    if (!json_is_string(type))
        return true;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i], json_string_value(type)) == 0)
            return true;
    return false;
}

/* Adjusts sliding_window: Qwen has none without use_sliding_window; Gemma 3 with use_bidirectional_attention rounds it down
 * to an even number, because the class halves it. */
static bool
resolve_window(json_t *members, enum hf_kind kind, struct err *err)
{
    const json_t *window = json_object_get(members, "sliding_window");
    if ((QWENS & 1u << kind) && !json_is_true(json_object_get(members, "use_sliding_window")))
        return hf_config_set(members, "sliding_window", kind == HF_QWEN2_MOE ? json_integer(0) : json_null(), err);
    return kind != HF_GEMMA3 || !json_is_integer(window)
        || !json_is_true(json_object_get(members, "use_bidirectional_attention"))
        || hf_config_set(members, "sliding_window", json_integer(json_integer_value(window) / 2 * 2), err);
}

static bool
apply(json_t *members, const struct class *class, bool *accepted, struct err *err)
{
    return fill_members(members, class->kind, accepted, err)
        && (!*accepted || join_experts(members, class->kind, err))
        && (!*accepted || derive(members, class->kind, accepted, err))
        && (!*accepted || resolve_window(members, class->kind, err))
        && (!*accepted || hf_class_rope(members, class->kind, class->theta, accepted, err));
}

bool
hf_class_apply(json_t *members, bool *accepted, struct err *err)
{
    const json_t *type = json_object_get(members, "model_type");
    char shown[STR_SHOWN];
    *accepted = false;
    if (!json_is_string(type))
        return true;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (strcmp(classes[i].type, json_string_value(type)) != 0)
            continue;
        *accepted = dtype_fits(members) && layer_types_fit(members);
        return !*accepted || apply(members, &classes[i], accepted, err);
    }
    return err_set(err, ERR_UNSUPPORTED, ERR_NO_OFFSET, "config.json: unknown model_type '%s', which determines the "
        "defaults of missing members", str_shown(shown, json_string_value(type), json_string_length(type)));
}
