/* modules: which modules of a model directory are quantized and which are not, in the list syntax of each loader.
 *
 * A module is the P of a weight P.weight. Names are matched by these rules:
 *
 *     transformers    modules_to_not_convert, llm_int8_skip_modules: a regex that matches from the start of the name up to a
 *                     dot or the end, or a suffix of the name (quantizers/quantizers_utils.py, should_convert_module). null:
 *                     heads and modules tied to embeddings; a list replaces these. Only Linear is converted, never Embedding
 *     compressed-     ignore, targets: full names, "re:" and a regex that matches from the start, or classes; names
 *     tensors         precede classes, ignore precedes both (utils/match.py)
 *     GPTQModel       dynamic: "-:" or "+:" and a regex that matches from the start; the first match counts
 *                     (quantization/config.py, dynamic_get)
 *     optimum         modules_in_block_to_quantize: suffixes of names (gptq/quantizer.py, convert_model)
 */
#ifndef HF_MODULES_H
#define HF_MODULES_H

#include "base/names.h"
#include "encode/encode.h"

struct hf_quantizer;

/* The modules quantized by one encoder; for loaders that read groups, with the same options as far as these matter. */
struct hf_module_group {
    const struct encoding *e;       /* an example */
    const struct hf_quantizer *quantizer;   /* table row of the encoder */
    bool inputs;                    /* NVFP4: all have a scale of activations */
    struct names names;
};

/* All lists are sorted by names_sort(). Modules whose name says that they are embeddings appear only in groups. */
struct hf_modules {
    struct hf_module_group *group;    /* n of them, at least one, the largest first */
    size_t n;
    struct names kept;              /* modules whose 2-D weight is not quantized */
    struct names experts;           /* each "P.experts" without any quantized expert */
    bool head;                      /* the lists contain a head; if not, it may be tied */
    bool head_encoded;
    bool ordered;                   /* a weight has groups of columns that are not neighbours */
    struct catalog *catalog;        /* for warnings; borrowed */
};

void hf_modules_clear(struct hf_modules *m);

/* Compare the last component of a module name: with names of embeddings, which are not Linear, and of heads, which may be
 * tied to embeddings. */
bool hf_modules_is_embedding(const char *module);
bool hf_modules_is_head(const char *module);

/* Appends the list of transformers, or null. `experts`: the loader also checks "P.experts", which is not Linear. */
void hf_modules_not_converted(struct str *out, const struct hf_modules *m, bool experts);

/* Appends the ignore list of compressed-tensors and ModelOpt, including a head that may be tied. */
void hf_modules_ignored(struct str *out, const struct hf_modules *m);

/* Append a JSON string: a module name, or `before` and a regex that matches only this name. */
void hf_modules_name(struct str *out, const char *name);
void hf_modules_expression(struct str *out, const char *before, const char *name);

/* Appends comma-separated members `"<before>REGEX": value`. The regexes match all modules in `names` and no other module.
 * Modules whose names differ only in numbers share a regex where possible. */
void hf_modules_members(struct str *out, bool *first, const struct hf_modules *m, const struct names *names, const char *before,
    const char *value);

/* Appends [["suffix", ...]]: suffixes that cover the names of all quantized modules and of no other. */
void hf_modules_ends(struct str *out, const struct hf_modules *m);

#endif
