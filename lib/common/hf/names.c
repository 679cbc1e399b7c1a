#include "hf/names.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

enum {
    LLAMA = 1 << HF_LLAMA, MISTRAL = 1 << HF_MISTRAL, MIXTRAL = 1 << HF_MIXTRAL, QWEN2 = 1 << HF_QWEN2,
    QWEN2_MOE = 1 << HF_QWEN2_MOE, QWEN3 = 1 << HF_QWEN3, QWEN3_MOE = 1 << HF_QWEN3_MOE, GEMMA2 = 1 << HF_GEMMA2,
    GEMMA3 = 1 << HF_GEMMA3, PHI3 = 1 << HF_PHI3,
    ALL = (1 << (HF_PHI3 + 1)) - 1, GEMMA = GEMMA2 | GEMMA3, QWEN_MOE = QWEN2_MOE | QWEN3_MOE,
    LLAMAS = LLAMA | MISTRAL | MIXTRAL, DENSE = LLAMA | MISTRAL | QWEN2 | QWEN3 | GEMMA,
};

_Static_assert(HF_PHI3 < 31, "sets of families are unsigned");

/* A tensor of some families; `biased` are those for which llama.cpp loads its bias. */
struct name_row {
    const char *hf, *gguf;
    unsigned families;
    enum hf_change change;
    unsigned biased;
};

/* Names outside of layers and in layers, without "model."; # is the number of an expert. */
static const struct name_row whole[] = {
    { "embed_tokens", "token_embd", ALL, HF_EMBEDDING, 0 },
    { "norm", "output_norm", ALL, HF_AS_IS, 0 },
    { "lm_head", "output", ALL, HF_HEAD, QWEN2 },
}, layer[] = {
    { "input_layernorm", "attn_norm", ALL, HF_AS_IS, 0 },
    { "post_attention_layernorm", "ffn_norm", ALL & ~GEMMA, HF_AS_IS, 0 },
    { "post_attention_layernorm", "post_attention_norm", GEMMA, HF_AS_IS, 0 },
    { "pre_feedforward_layernorm", "ffn_norm", GEMMA, HF_AS_IS, 0 },
    { "post_feedforward_layernorm", "post_ffw_norm", GEMMA, HF_AS_IS, 0 },
    { "self_attn.q_proj", "attn_q", ALL & ~PHI3, HF_QUERY, ALL },
    { "self_attn.k_proj", "attn_k", ALL & ~PHI3, HF_KEY, ALL },
    { "self_attn.v_proj", "attn_v", ALL & ~PHI3, HF_AS_IS, ALL },
    { "self_attn.o_proj", "attn_output", ALL, HF_AS_IS, LLAMAS },
    { "self_attn.q_norm", "attn_q_norm", QWEN3 | QWEN3_MOE | GEMMA3, HF_AS_IS, 0 },
    { "self_attn.k_norm", "attn_k_norm", QWEN3 | QWEN3_MOE | GEMMA3, HF_AS_IS, 0 },
    { "self_attn.qkv_proj", "attn_qkv", PHI3, HF_AS_IS, PHI3 },
    { "mlp.gate_proj", "ffn_gate", DENSE, HF_AS_IS, LLAMA | MISTRAL },
    { "mlp.up_proj", "ffn_up", DENSE, HF_AS_IS, LLAMA | MISTRAL },
    { "mlp.down_proj", "ffn_down", DENSE | PHI3, HF_AS_IS, LLAMA | MISTRAL },
    { "mlp.gate_up_proj", "ffn_up", PHI3, HF_AS_IS, 0 },
    { "block_sparse_moe.gate", "ffn_gate_inp", MIXTRAL, HF_AS_IS, 0 },
    { "block_sparse_moe.experts.#.w1", "ffn_gate_exps", MIXTRAL, HF_EXPERT, 0 },
    { "block_sparse_moe.experts.#.w2", "ffn_down_exps", MIXTRAL, HF_EXPERT, 0 },
    { "block_sparse_moe.experts.#.w3", "ffn_up_exps", MIXTRAL, HF_EXPERT, 0 },
    { "mlp.gate", "ffn_gate_inp", QWEN_MOE, HF_AS_IS, 0 },
    { "mlp.experts.#.gate_proj", "ffn_gate_exps", QWEN_MOE, HF_EXPERT, 0 },
    { "mlp.experts.#.up_proj", "ffn_up_exps", QWEN_MOE, HF_EXPERT, 0 },
    { "mlp.experts.#.down_proj", "ffn_down_exps", QWEN_MOE, HF_EXPERT, 0 },
    { "mlp.shared_expert.gate_proj", "ffn_gate_shexp", QWEN2_MOE, HF_AS_IS, 0 },
    { "mlp.shared_expert.up_proj", "ffn_up_shexp", QWEN2_MOE, HF_AS_IS, 0 },
    { "mlp.shared_expert.down_proj", "ffn_down_shexp", QWEN2_MOE, HF_AS_IS, 0 },
    { "mlp.shared_expert_gate", "ffn_gate_inp_shexp", QWEN2_MOE, HF_AS_IS, 0 },
}, bare[] = {                   /* names without ".weight" */
    { "mlp.experts.down_proj", "ffn_down_exps", QWEN_MOE, HF_EXPERTS, 0 },
    { "mlp.experts.gate_up_proj", "ffn_gate_exps", QWEN_MOE, HF_EXPERTS_GATE_UP, 0 },
};

const char hf_up_experts[] = "ffn_up_exps";

#define COUNT(rows) (sizeof (rows) / sizeof *(rows))

/* Parses a number at *p, before `end`. Returns false if there is none or it is 2^20 or more. */
static bool
read_number(uint64_t *number, const char **p, const char *end)
{
    enum { MOST = 1 << 20 };
    const char *from = *p;
    for (*number = 0; *p < end && **p >= '0' && **p <= '9' && *number < MOST; ++*p)
        *number = *number * 10 + (uint64_t)(**p - '0');
    return *p != from && *number < MOST && (*p - from == 1 || *from != '0');
}

/* Returns true if text[0..n) matches a pattern. Sets *number to the number at '#'. */
static bool
matches(const char *pattern, const char *text, size_t n, uint64_t *number)
{
    const char *end = text + n;
    for (; *pattern; pattern++) {
        if (*pattern == '#' && !read_number(number, &text, end))
            return false;
        if (*pattern != '#' && (text == end || *text++ != *pattern))
            return false;
    }
    return text == end;
}

static bool
find(struct hf_name *name, const struct hf_family *family, const struct name_row *rows, size_t nrows, const char *text,
    size_t n)
{
    bool bias = strcmp(name->suffix, ".bias") == 0;
    for (size_t i = 0; i < nrows; i++)
        if ((bias ? rows[i].families & rows[i].biased : rows[i].families) >> family->kind & 1
            && matches(rows[i].hf, text, n, &name->expert)) {
            name->word = rows[i].gguf;
            name->change = rows[i].change;
            return true;
        }
    return false;
}

static bool
ends(const char *name, size_t n, const char *suffix)
{
    return str_strip(name, &n, suffix);
}

/* Returns true for buffers that transformers recomputes, and for vision and audio tensors. */
static bool
is_dropped(const struct hf_family *family, const char *name, size_t n)
{
    static const char *const media[] = { "vision_", "vision.", "visual.", "audio_", "audio.", "projector.", "image_newline",
        "patch_embed" };
    for (size_t i = 0; hf_is_gemma(family) && strstr(family->class, "Conditional") && i < COUNT(media); i++)
        if (memmem(name, n, media[i], strlen(media[i])))
            return true;
    return ends(name, n, ".rotary_emb.inv_freq") || ends(name, n, ".attention.bias") || ends(name, n, ".attention.masked_bias");
}

/* Removes all occurrences of "language_model." and returns the new length. */
static size_t
take_out(char *name, size_t n)
{
    static const char word[] = "language_model.";
    char *p;
    while ((p = memmem(name, n, word, sizeof word - 1)) != NULL) {
        memmove(p, p + sizeof word - 1, (size_t)(name + n - (p + sizeof word - 1)));
        n -= sizeof word - 1;
    }
    return n;
}

struct hf_name
hf_name_read(const struct hf_family *family, const char *full, size_t n)
{
    enum { LONGEST = 256 };
    static const char model[] = "model.", layers[] = "layers.";
    struct hf_name name = { .layer = -1, .suffix = ".weight" };
    char text[LONGEST];
    if (n > sizeof text)
        return name;
    memcpy(text, full, n);
    n = take_out(text, n);
    if (is_dropped(family, text, n)) {
        name.drops = true;
        return name;
    }
    const char *p = text, *end = text + n;
    if (n > sizeof model - 1 && memcmp(p, model, sizeof model - 1) == 0)    /* base-class models lack the prefix */
        p += sizeof model - 1;
    if ((size_t)(end - p) > sizeof layers - 1 && memcmp(p, layers, sizeof layers - 1) == 0) {
        uint64_t number;
        p += sizeof layers - 1;
        if (!read_number(&number, &p, end) || p == end || *p++ != '.')
            return name;
        name.layer = (int64_t)number;
        if (find(&name, family, bare, COUNT(bare), p, (size_t)(end - p)))
            return name;
    }
    n = (size_t)(end - p);
    if (ends(p, n, ".bias"))
        name.suffix = ".bias";
    else if (!ends(p, n, ".weight"))
        return name;
    n -= strlen(name.suffix);
    if (name.layer >= 0)
        find(&name, family, layer, COUNT(layer), p, n);
    else
        find(&name, family, whole, COUNT(whole), p, n);
    return name;
}

unsigned
hf_expert_order(const struct hf_family *family, const char *word)
{
    static const char *const mixtral[] = { "ffn_gate_exps", "ffn_down_exps", hf_up_experts },
        *const qwen[] = { "ffn_down_exps", "ffn_gate_exps", hf_up_experts };
    const char *const *words = family->kind == HF_MIXTRAL ? mixtral : qwen;
    unsigned i = 0;
    while (i < 2 && strcmp(word, words[i]) != 0)
        i++;
    return i;
}
