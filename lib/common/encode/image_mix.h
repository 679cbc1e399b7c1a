/* image_mix: chooses the block type of each tensor of an image model (Stable Diffusion, FLUX, Wan ...), by rules that its family
 * gives as texts. Source: llama-quantize of llama.cpp b3962 with the patch of its port for images
 * (lcpp.patch of city96, branch auto_convert, 4dfc025). */
#ifndef ENCODE_IMAGE_MIX_H
#define ENCODE_IMAGE_MIX_H

#include "catalog/catalog.h"

/* Texts that names contain or, after '=', equal. A*B: both A and B, in any order. A$: at
 * the end. Borrowed. */
struct image_texts {
    const char **at;
    size_t n;
};

/* Names that contain one of the texts get the type of the mix instead of the one that the groups give. */
struct image_blocks {
    struct image_texts in;
    const char *mix;
    enum dtype type;
};

struct image_rules {
    struct image_texts keep;                    /* never quantized */
    struct image_texts value, qkv, down;        /* the groups; the first that has the name counts */
    struct {
        struct image_blocks *at;
        size_t n;
    } blocks;
};

bool image_has(const struct image_texts *texts, const struct tensor *t);

/* Returns true if models of these families are quantized to the mix, by its name as in encode/mix.h. */
bool image_mix_offers(const char *mix);

/* Returns true for block types that all loaders dequantize with code of their own. */
bool image_mix_is_fast(enum dtype type);

/* Returns the reason why a tensor must not be quantized, or NULL; static. */
const char *image_exempts(const struct image_rules *rules, const struct tensor *t);

/* Returns the type of a tensor that is quantized, and sets *rule to what gave it, static, or NULL for the type of the mix, `usual`.
 * *values counts the tensors of the group `value` and begins at 0. Must be called in the order of the file. */
enum dtype image_type(const struct image_rules *rules, const char *mix, enum dtype usual, uint64_t *values,
    const struct tensor *t, const char **rule);

/* Returns F16 for rows of `cols` elements that the blocks of the type do not divide, else the type. */
enum dtype image_fallback(enum dtype type, uint64_t cols);

#endif
