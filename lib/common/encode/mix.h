/* mix: which block type each tensor of a llama.cpp model gets, by the names that llama-quantize has for files.
 * Source: src/llama-quant.cpp of llama.cpp; the ids are those of general.file_type. */
#ifndef ENCODE_MIX_H
#define ENCODE_MIX_H

#include "catalog/catalog.h"

struct mix {
    const char *name;           /* "q4_k_m" */
    int file_type;
    enum dtype type;            /* of what no rule speaks of */
};

/* All of them; ends with a row without a name. */
extern const struct mix mix_list[];

/* The mix of a name in any case, "q4_k" being that of "q4_k_m"; or NULL. */
const struct mix *mix_find(const char *name);

/* What is known of a model. */
struct mix_model {
    const char *arch;           /* general.architecture, n bytes; NULL: none, so that names mean nothing */
    size_t n;
    uint64_t layers, experts, heads, kv_heads;      /* 0: not known */
};

/* What the keys of an input say. */
struct mix_model mix_model_of(const struct catalog *c);

/* A model while its tensors get their types. */
struct mix_state {
    const struct mix *mix;
    bool importance;            /* there are weights of importance */
    bool falcon, big;           /* big: of 70 billion parameters, whose query heads share attn_v */
    bool tied;                  /* there is no output.weight */
    uint64_t layers, experts, gqa;
    uint64_t values, value, down, gate, up;     /* attn_v tensors; how many of each there were so far */
};

/* A model with an architecture. */
void mix_begin(struct mix_state *s, const struct mix *mix, const struct mix_model *model, bool importance);

/* Told of all tensors of the output, in any order, before the first type is asked for. */
void mix_count(struct mix_state *s, const struct tensor *t);

/* The order in which types are asked for: blocks by their number, then names. */
int mix_order(const struct tensor *a, const struct tensor *b);

/* Checks that all dimensions except the last are 1: ggml_n_dims() calls that a vector. */
bool mix_is_vector(const struct tensor *t);

/* Why a tensor is none of those that are quantized, or NULL; static. */
const char *mix_exempts(const struct tensor *t);

/* The type of a tensor that is quantized. */
enum dtype mix_type(struct mix_state *s, const struct tensor *t);

/* Returns the type instead for rows of so many elements: F16 where neither the type's block nor that of its substitute
 * divides them, DTYPE_UNKNOWN for a type with blocks of more than 32 elements and no substitute. */
enum dtype mix_fallback(enum dtype type, uint64_t cols);

/* Checks that llama-quantize refuses to make a tensor of this type without importance, for the file type called `name`,
 * although ggml can. Source: src/llama-quant.cpp, tensor_requires_imatrix. */
bool mix_wants_importance(const struct tensor *t, enum dtype type, const char *name);

#endif
