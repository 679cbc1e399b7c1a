/* mix: chooses the block type of each tensor of a llama.cpp model for a file type named as in llama-quantize. Source:
 * src/llama-quant.cpp of llama.cpp; the ids are values of general.file_type. */
#ifndef ENCODE_MIX_H
#define ENCODE_MIX_H

#include "catalog/catalog.h"
#include "encode/image_mix.h"

struct mix {
    const char *name;           /* "q4_k_m" */
    int file_type;
    enum dtype type;            /* of tensors that no rule applies to */
    const char *only;           /* the tensors that alone get `type`, for messages; or NULL */
};

/* All mixes; ends with a row without a name. */
extern const struct mix mix_list[];

/* Returns the mix with this name, ignoring case, or NULL. "q3_k", "q4_k" and "q5_k" are short for "q3_k_m", "q4_k_m" and
 * "q5_k_m". */
const struct mix *mix_find(const char *name);

/* Properties of a model. */
struct mix_model {
    const struct image_rules *image;                /* of an image model, whose rules these are; or NULL; borrowed */
    const char *arch;           /* general.architecture, n bytes; NULL: none, so tensor names have no meaning */
    size_t n;
    uint64_t layers, experts, heads, kv_heads;      /* 0: unknown */
};

/* Reads the properties from the metadata of an input. */
struct mix_model mix_model_of(const struct catalog *c);

/* State of a model while its tensors are assigned types. */
struct mix_state {
    const struct mix *mix;
    const struct image_rules *image;
    const char *rule;           /* of an image model, that gave the last type; static, or NULL */
    bool importance;            /* there is an importance matrix */
    bool falcon, big;           /* big: 70 billion parameters with attn_v shared by several query heads */
    bool tied;                  /* the model has no output.weight */
    uint64_t layers, experts, gqa;
    uint64_t values, value, down, gate, up;     /* attn_v tensors; number of each kind so far */
};

/* Starts the assignment for a model, which must have an architecture. */
void mix_begin(struct mix_state *s, const struct mix *mix, const struct mix_model *model, bool importance);

/* Counts a tensor. Must be called for all tensors of the output, in any order, before the first mix_type(). */
void mix_count(struct mix_state *s, const struct tensor *t);

/* Compares tensors in the order in which mix_type() must be called: by block number, then by name. Image models keep the order of
 * the file. */
int mix_order(const struct tensor *a, const struct tensor *b);

/* Checks that all dimensions except the last are 1: ggml_n_dims() calls that a vector. */
bool mix_is_vector(const struct tensor *t);

/* Returns the reason why a tensor of the model must not be quantized, or NULL; static. */
const char *mix_exempts(const struct mix_model *model, const struct tensor *t);

/* Returns the type of a tensor that is quantized. */
enum dtype mix_type(struct mix_state *s, const struct tensor *t);

/* Returns the type to use for rows of `cols` elements: the type itself if its block divides them, else its substitute, or
 * F16 if the substitute's block does not divide them either, or if it is an image model. Returns DTYPE_UNKNOWN for a type with
 * blocks of more than 32 elements and no substitute. */
enum dtype mix_fallback(const struct mix_model *model, enum dtype type, uint64_t cols);

/* Returns true if llama-quantize refuses to quantize a tensor to this type without an importance matrix, for the file type
 * `name`, although ggml can. Source: src/llama-quant.cpp, tensor_requires_imatrix. */
bool mix_wants_importance(const struct tensor *t, enum dtype type, const char *name);

#endif
