#include "hf/family.h"

#include <string.h>

static const struct hf_family families[] = {
    { "LlamaForCausalLM", "llama", HF_LLAMA, HF_VOCABULARY_LLAMA, .permutes = true },
    { "MistralForCausalLM", "llama", HF_MISTRAL, HF_VOCABULARY_LLAMA, .permutes = true },
    { "MixtralForCausalLM", "llama", HF_MIXTRAL, HF_VOCABULARY_LLAMA, .permutes = true },
    { "Qwen2ForCausalLM", "qwen2", HF_QWEN2, HF_VOCABULARY_SPM_BPE, .permutes = false },
    { "Qwen2MoeForCausalLM", "qwen2moe", HF_QWEN2_MOE, HF_VOCABULARY_BPE, .permutes = false },
    { "Qwen3ForCausalLM", "qwen3", HF_QWEN3, HF_VOCABULARY_SPM_BPE, .permutes = false },
    { "Qwen3MoeForCausalLM", "qwen3moe", HF_QWEN3_MOE, HF_VOCABULARY_BPE, .permutes = false },
    { "Gemma2ForCausalLM", "gemma2", HF_GEMMA2, HF_VOCABULARY_SPM, .adds_one = true },
    { "Gemma3ForCausalLM", "gemma3", HF_GEMMA3, HF_VOCABULARY_SPM_JSON, .adds_one = true },
    { "Gemma3ForConditionalGeneration", "gemma3", HF_GEMMA3, HF_VOCABULARY_SPM_JSON, .adds_one = true },
    { "Phi3ForCausalLM", "phi3", HF_PHI3, HF_VOCABULARY_PHI3, .strips = true },
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
