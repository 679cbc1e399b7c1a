/* family: one row for each model class that llama.cpp has tensor names for, with the properties of the class. Sources:
 * convert_hf_to_gguf.py and src/models/ of llama.cpp. */
#ifndef HF_FAMILY_H
#define HF_FAMILY_H

#include <stdbool.h>
#include <stddef.h>

enum hf_kind {
    HF_LLAMA, HF_MISTRAL, HF_MIXTRAL, HF_QWEN2, HF_QWEN2_MOE, HF_QWEN3, HF_QWEN3_MOE, HF_GEMMA2, HF_GEMMA3, HF_PHI3
};

/* RoPE scaling types that llama.cpp applies to an architecture. */
enum hf_ropes { HF_LINEAR = 1, HF_YARN = 2, HF_LLAMA3 = 4, HF_LONGROPE = 8 };

/* Activation function of the feed-forward layers. */
enum hf_activation { HF_SILU, HF_GELU_TANH };

/* Layers of the class that attend to a sliding window which llama.cpp ignores. */
enum hf_window {
    HF_WINDOW_NONE,             /* none, or llama.cpp uses the window too */
    HF_WINDOW_ALL,
    HF_WINDOW_FROM,             /* from max_window_layers on, if use_sliding_window */
    HF_WINDOW_BELOW,            /* below max_window_layers, if use_sliding_window */
    HF_WINDOW_USED              /* all, if use_sliding_window */
};

/* llama.cpp's handling of the selected experts' weights: no norm_topk_prob, divided by their sum, or unchanged. */
enum hf_topk { HF_TOPK_NONE, HF_TOPK_SUM, HF_TOPK_RAW };

struct hf_family {
    const char *class;          /* one of config.json's "architectures" */
    const char *arch;           /* general.architecture */
    enum hf_kind kind;
    const char *vocab[3];       /* kinds of tokenizer, in order of preference; see hf/vocabulary.h */
    bool permutes;              /* rows of Q and K are permuted: in GGUF, the two rows of a rotated pair are adjacent */
    bool adds_one;              /* norm weights are stored minus 1 */
    bool strips;                /* strips white space after special tokens; llama.cpp does so only if the name contains Phi-3 */

    /* Fixed behaviour of llama.cpp, whatever config.json declares. */
    unsigned ropes;             /* set of enum hf_ropes */
    enum hf_activation activation;
    enum hf_window window;
    enum hf_topk topk;
    unsigned full_every;        /* every n-th layer attends to the whole context, the others to a window; 0: no windows */
    unsigned wide_layers;       /* number of layers of the one model that scales its queries by hidden_size / heads instead
                                 * of head_dim; 0: the class has no query_pre_attn_scalar */
    bool tied;                  /* logits are always computed with the embeddings */
    bool needs_head;            /* rejects a model without lm_head */
    bool needs_experts;         /* rejects a layer without experts */
    bool no_attention_bias;     /* rejects the o_proj bias that attention_bias adds */
};

/* Returns the family of a class, class[0..n), or NULL. */
const struct hf_family *hf_family_find(const char *class, size_t n);

/* Returns family i, or NULL after the last. */
const struct hf_family *hf_family_at(size_t i);

static inline bool
hf_is_gemma(const struct hf_family *family)
{
    return family->kind == HF_GEMMA2 || family->kind == HF_GEMMA3;
}

#endif
