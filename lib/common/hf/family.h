/* family: the model classes whose tensors llama.cpp knows by other names, and what else is particular about each. Source:
 * convert_hf_to_gguf.py and src/models/ of llama.cpp; a new one is one row. */
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

/* Types of rope scaling that llama.cpp applies to an architecture. */
enum hf_ropes { HF_LINEAR = 1, HF_YARN = 2, HF_LLAMA3 = 4, HF_LONGROPE = 8 };

/* The function between the two matrices of a feed-forward layer. */
enum hf_activation { HF_SILU, HF_GELU_TANH };

/* Which layers of the class attend to a sliding window that llama.cpp ignores. */
enum hf_window {
    HF_WINDOW_NONE,             /* none; or llama.cpp has the window too */
    HF_WINDOW_ALL,
    HF_WINDOW_FROM,             /* from max_window_layers on, with use_sliding_window */
    HF_WINDOW_BELOW,            /* below max_window_layers, with use_sliding_window */
    HF_WINDOW_USED              /* all, with use_sliding_window */
};

/* Whether llama.cpp divides the weights of the chosen experts by their sum. */
enum hf_topk { HF_TOPK_UNSAID, HF_TOPK_SUM, HF_TOPK_RAW };

struct hf_family {
    const char *class;          /* one of config.json's "architectures" */
    const char *arch;           /* general.architecture */
    enum hf_kind kind;
    enum hf_vocabulary vocabulary;
    bool permutes;              /* rows of Q and K change places: pairs that rotate lie side by side in GGUF */
    bool adds_one;              /* norm weights are stored less one */
    bool strips;                /* white space after special tokens; llama.cpp does for the name Phi-3 alone */

    /* What llama.cpp computes, and refuses, whatever config.json declares. */
    unsigned ropes;             /* enum hf_ropes */
    enum hf_activation activation;
    enum hf_window window;
    enum hf_topk topk;
    unsigned full_every;        /* each such layer attends to all of the context, the others to a window; 0: no windows */
    unsigned wide_layers;       /* number of layers of the one model whose queries are scaled by hidden_size / heads, not by
                                 * head_dim; 0: the class has no query_pre_attn_scalar */
    bool tied;                  /* logits are always computed with the embeddings */
    bool needs_head;            /* a model without lm_head is refused */
    bool needs_experts;         /* a layer without experts is refused */
    bool no_attention_bias;     /* the bias of o_proj, which attention_bias adds, is refused */
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
