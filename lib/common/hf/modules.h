/* modules: what becomes of each module of a model directory, and the ways in which the loaders are told.
 *
 * A module is P of a weight P.weight. What is exact of names, each with its source:
 *
 *     transformers    modules_to_not_convert, llm_int8_skip_modules: an expression that matches from the beginning up to a dot
 *                     or the end, or an end of the name (quantizers/quantizers_utils.py, should_convert_module). null: heads
 *                     and what is tied to embeddings; a list stands for itself. Only Linear is converted, never Embedding
 *     compressed-     ignore, targets: whole names, "re:" and an expression that matches from the beginning, or classes; names
 *     tensors         come before classes, ignore before both (utils/match.py)
 *     GPTQModel       dynamic: "-:" or "+:" and an expression that matches from the beginning, the first one counts
 *                     (quantization/config.py, dynamic_get)
 *     optimum         modules_in_block_to_quantize: ends of names (gptq/quantizer.py, convert_model) */
#ifndef HF_MODULES_H
#define HF_MODULES_H

#include "base/names.h"
#include "encode/encode.h"

struct hf_quantizer;

/* The modules that one encoder has made. */
struct hf_module_group {
    const struct encoding *e;       /* one of them */
    const struct hf_quantizer *quantizer;   /* its row */
    struct names names;
};

/* All lists are in the order of names_sort(). Embeddings that are called as embeddings are in none but those of groups. */
struct hf_modules {
    struct hf_module_group *group;    /* n of them, at least one; the largest first */
    size_t n;
    struct names kept;              /* modules whose weight of two dimensions stays as it is */
    struct names experts;           /* "P.experts" all of which stay */
    bool head;                      /* a head of its own is among all of these; else it may be tied */
    bool head_encoded;
    struct catalog *catalog;        /* for warnings; borrowed */
};

void hf_modules_clear(struct hf_modules *m);

/* The last part of a module's name: of those that are no Linear; of heads, which may be tied to embeddings. */
bool hf_modules_is_embedding(const char *module);
bool hf_modules_is_head(const char *module);

/* Append null or the list for transformers. `experts`: its loader looks at "P.experts", which is no Linear, too. */
void hf_modules_not_converted(struct str *out, const struct hf_modules *m, bool experts);

/* Append the list for compressed-tensors and ModelOpt of what is ignored: with the head that may be tied. */
void hf_modules_ignored(struct str *out, const struct hf_modules *m);

/* Append a JSON string of a name; of an expression that matches this name and no other, behind `before`. */
void hf_modules_name(struct str *out, const char *name);
void hf_modules_expression(struct str *out, const char *before, const char *name);

/* Append members `"<before>EXPRESSION": value` of an object, each behind a comma but the first: expressions that match all of
 * these modules and none of the others. Modules that differ in numbers alone share one where that goes. */
void hf_modules_members(struct str *out, bool *first, const struct hf_modules *m, const struct names *names, const char *before,
    const char *value);

/* Append [["end", ...]]: ends of names that all encoded modules have and none that is kept. */
void hf_modules_ends(struct str *out, const struct hf_modules *m);

#endif
