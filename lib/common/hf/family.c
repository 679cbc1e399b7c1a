#include "hf/family.h"

#include <string.h>

#define SPM_BPE { "spm", "bpe" }
#define SPM_JSON_BPE { "spm", "llama-json", "bpe" }

enum { LLAMA_ROPES = HF_LINEAR | HF_YARN | HF_LLAMA3, QWEN_ROPES = HF_LINEAR | HF_YARN };

static const struct hf_family families[] = {
    { "LlamaForCausalLM", "llama", HF_LLAMA, SPM_JSON_BPE, .permutes = true, .ropes = LLAMA_ROPES },
    { "MistralForCausalLM", "llama", HF_MISTRAL, SPM_JSON_BPE, .permutes = true, .ropes = LLAMA_ROPES,
        .window = HF_WINDOW_ALL },
    { "MixtralForCausalLM", "llama", HF_MIXTRAL, SPM_JSON_BPE, .permutes = true, .ropes = LLAMA_ROPES,
        .window = HF_WINDOW_ALL },
    { "Qwen2ForCausalLM", "qwen2", HF_QWEN2, SPM_BPE, .ropes = QWEN_ROPES, .window = HF_WINDOW_FROM },
    { "Qwen2MoeForCausalLM", "qwen2moe", HF_QWEN2_MOE, { "bpe" }, .ropes = QWEN_ROPES, .window = HF_WINDOW_BELOW,
        .topk = HF_TOPK_RAW, .needs_head = true, .needs_experts = true },
    { "Qwen3ForCausalLM", "qwen3", HF_QWEN3, SPM_BPE, .ropes = QWEN_ROPES, .window = HF_WINDOW_FROM,
        .no_attention_bias = true },
    { "Qwen3MoeForCausalLM", "qwen3moe", HF_QWEN3_MOE, { "bpe" }, .ropes = QWEN_ROPES, .window = HF_WINDOW_USED,
        .topk = HF_TOPK_SUM, .needs_experts = true, .no_attention_bias = true },
    { "Gemma2ForCausalLM", "gemma2", HF_GEMMA2, { "spm" }, .adds_one = true, .activation = HF_GELU_TANH,
        .full_every = 2, .wide_layers = 46, .tied = true },
    { "Gemma3ForCausalLM", "gemma3", HF_GEMMA3, SPM_BPE, .adds_one = true, .ropes = HF_LINEAR,
        .activation = HF_GELU_TANH, .full_every = 6, .wide_layers = 62 },
    { "Gemma3ForConditionalGeneration", "gemma3", HF_GEMMA3, SPM_BPE, .adds_one = true, .ropes = HF_LINEAR,
        .activation = HF_GELU_TANH, .full_every = 6, .wide_layers = 62 },
    { "Phi3ForCausalLM", "phi3", HF_PHI3, { "phi3" }, .strips = true, .ropes = HF_LONGROPE,
        .window = HF_WINDOW_ALL },
};

const struct hf_family *
hf_family_at(size_t i)
{
    return i < sizeof families / sizeof *families ? &families[i] : NULL;
}

const struct hf_family *
hf_family_find(const char *class, size_t n)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strlen(families[i].class) == n && memcmp(families[i].class, class, n) == 0)
            return &families[i];
    return NULL;
}
