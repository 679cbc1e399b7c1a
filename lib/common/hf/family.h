/* family: the model classes whose tensors llama.cpp knows by other names, and what else is particular about each. Source:
 * convert_hf_to_gguf.py of llama.cpp; a new one is one row. */
#ifndef HF_FAMILY_H
#define HF_FAMILY_H

#include <stdbool.h>
#include <stddef.h>

/* Which tokenizer the classes read: of several the first whose file is there. */
enum hf_vocabulary {
    HF_VOCABULARY_LLAMA,        /* SentencePiece, BPE with byte fallback ("llama-json"), BPE */
    HF_VOCABULARY_SPM_BPE,      /* SentencePiece, BPE */
    HF_VOCABULARY_SPM_JSON,     /* SentencePiece, BPE with byte fallback or without */
    HF_VOCABULARY_BPE,
    HF_VOCABULARY_SPM,
    HF_VOCABULARY_PHI3          /* SentencePiece; BPE where tokenizer_class is GPT2Tokenizer */
};

enum hf_kind {
    HF_LLAMA, HF_MISTRAL, HF_MIXTRAL, HF_QWEN2, HF_QWEN2_MOE, HF_QWEN3, HF_QWEN3_MOE, HF_GEMMA2, HF_GEMMA3, HF_PHI3
};

struct hf_family {
    const char *class;          /* one of config.json's "architectures" */
    const char *arch;           /* general.architecture */
    enum hf_kind kind;
    enum hf_vocabulary vocabulary;
    bool permutes;              /* rows of Q and K change places: pairs that rotate lie side by side in GGUF */
    bool adds_one;              /* norm weights are stored less one */
    bool strips;                /* white space after special tokens; llama.cpp does for the name Phi-3 alone */
};

/* The family of a class, or NULL; class[0..n). */
const struct hf_family *hf_family_find(const char *class, size_t n);

/* Family i, NULL behind the last. */
const struct hf_family *hf_family_at(size_t i);

static inline bool
hf_is_gemma(const struct hf_family *family)
{
    return family->kind == HF_GEMMA2 || family->kind == HF_GEMMA3;
}

#endif
