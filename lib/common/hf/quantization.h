/* hf: facts about Hugging Face model directories: their files (folder.h), the values in them (member.h), and what loaders
 * expect of quantized weights. Translates no model and knows no program options.
 *
 * quantization: quantization_config of an output directory with quantized weights. */
#ifndef HF_QUANTIZATION_H
#define HF_QUANTIZATION_H

#include "base/str.h"
#include "plan/choice.h"

/* A zeroed struct is empty. Clear it even after a failure. */
struct hf_quantization {
    struct str text;            /* a JSON object; empty if no loader has a config for the quantized weights */
    const char *file;           /* another file of the directory, or NULL; static */
    struct str file_text;
    const char *alias;          /* second member of config.json with the same value, or NULL; static */
    const char *experts;        /* value of "expert_dtype", or NULL; static. "fp8" only replaces the value of a model that has it */
};

/* Describes the scheme of most quantized weights, or, on a tie, `named`. Warns in the catalog about each weight that
 * a loader cannot read; the config.json of the catalog identifies the model. Fails only with ERR_MEMORY. */
bool hf_quantization_make(struct hf_quantization *config, const struct choice *choice, const struct encoder *named,
    struct catalog *catalog, struct err *err);

/* Appends the same object for the metadata of the weight files, or nothing. Includes only weights of a loader with `in_files`, and
 * in a directory, which has a config.json, only those with `alias`. Fails only with ERR_MEMORY. */
bool hf_quantization_of_files(struct str *out, const struct choice *choice, const struct encoder *named, bool in_dir,
    struct err *err);

void hf_quantization_clear(struct hf_quantization *config);

#endif
