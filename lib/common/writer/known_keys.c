#include "writer/keys_priv.h"

#include <stddef.h>
#include <string.h>

/* Keys and their types. A name that begins with a dot occurs in every architecture: ".context_length" is llama.context_length,
 * qwen2.context_length ... Source: docs/gguf.md of ggml; gguf-py/gguf/constants.py and gguf_writer.py of llama.cpp. */
static const struct known_key {
    const char *name, *type;
} known[] = {
    { "general.alignment", "u32" }, { "general.quantization_version", "u32" }, { "general.file_type", "u32" },
    { "general.tags", "[str]" }, { "general.languages", "[str]" }, { "general.datasets", "[str]" },
    { ".vocab_size", "u32" }, { ".context_length", "u32" }, { ".embedding_length", "u32" }, { ".block_count", "u32" },
    { ".leading_dense_block_count", "u32" }, { ".feed_forward_length", "u32" }, { ".expert_feed_forward_length", "u32" },
    { ".expert_shared_feed_forward_length", "u32" }, { ".use_parallel_residual", "bool" }, { ".expert_count", "u32" },
    { ".expert_used_count", "u32" }, { ".expert_shared_count", "u32" }, { ".expert_weights_scale", "f32" },
    { ".expert_weights_norm", "bool" }, { ".expert_gating_func", "u32" }, { ".pooling_type", "u32" }, { ".logit_scale", "f32" },
    { ".attn_logit_softcapping", "f32" }, { ".final_logit_softcapping", "f32" }, { ".residual_scale", "f32" },
    { ".embedding_scale", "f32" }, { ".attention.head_count", "u32" }, { ".attention.head_count_kv", "u32" },
    { ".attention.max_alibi_bias", "f32" }, { ".attention.clamp_kqv", "f32" }, { ".attention.key_length", "u32" },
    { ".attention.value_length", "u32" }, { ".attention.layer_norm_epsilon", "f32" },
    { ".attention.layer_norm_rms_epsilon", "f32" }, { ".attention.causal", "bool" }, { ".attention.q_lora_rank", "u32" },
    { ".attention.kv_lora_rank", "u32" }, { ".attention.sliding_window", "u32" }, { ".attention.scale", "f32" },
    { ".rope.dimension_count", "u32" }, { ".rope.freq_base", "f32" }, { ".rope.scaling.factor", "f32" },
    { ".rope.scaling.attn_factor", "f32" }, { ".rope.scaling.original_context_length", "u32" },
    { ".rope.scaling.finetuned", "bool" }, { ".ssm.conv_kernel", "u32" }, { ".ssm.inner_size", "u32" },
    { ".ssm.state_size", "u32" }, { ".ssm.time_step_rank", "u32" }, { ".ssm.group_count", "u32" },
    { "tokenizer.ggml.token_type_count", "u32" }, { "tokenizer.ggml.bos_token_id", "u32" },
    { "tokenizer.ggml.eos_token_id", "u32" }, { "tokenizer.ggml.eot_token_id", "u32" },
    { "tokenizer.ggml.eom_token_id", "u32" }, { "tokenizer.ggml.unknown_token_id", "u32" },
    { "tokenizer.ggml.seperator_token_id", "u32" }, { "tokenizer.ggml.padding_token_id", "u32" },
    { "tokenizer.ggml.cls_token_id", "u32" }, { "tokenizer.ggml.mask_token_id", "u32" },
    { "tokenizer.ggml.add_bos_token", "bool" }, { "tokenizer.ggml.add_eos_token", "bool" },
    { "tokenizer.ggml.add_sep_token", "bool" }, { "tokenizer.ggml.add_space_prefix", "bool" },
    { "tokenizer.ggml.remove_extra_whitespaces", "bool" },
};

const char *
known_keys_type(const char *key, size_t n)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t len = strlen(known[i].name);
        bool any = known[i].name[0] == '.';
        if (any ? n > len && memcmp(key + n - len, known[i].name, len) == 0 && !memchr(key, '.', n - len)
            : n == len && memcmp(key, known[i].name, len) == 0)
            return known[i].type;
    }
    return NULL;
}
