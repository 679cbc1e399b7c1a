/* quantization: what config.json says of a model directory whose weights are encoded, for those who load it. */
#ifndef HF_QUANTIZATION_H
#define HF_QUANTIZATION_H

#include "base/str.h"
#include "plan/choice.h"

/* Zeroed: nothing. Clear it, after a failure too. */
struct hf_quantization {
    struct str text;            /* a JSON object, or empty: nothing is encoded that a loader has a config of */
    const char *too;            /* another member of config.json that says the same, or NULL; static */
};

/* From the weights that are encoded and those that stay: it speaks of the scheme that most have, of as many of the `named`
 * one. What a loader will not read of this output is a warning in the catalog, whose config.json says which model it is.
 * ERR_MEMORY. */
bool hf_quantization_make(struct hf_quantization *config, const struct choice *choice, const struct encoder *named,
    struct catalog *catalog, struct err *err);

/* Appends what the files of an output say in their metadata: the object that config.json would have for weights that
 * shapes do not describe, which are those of an encoder with `config_too`. Nothing where there are none. ERR_MEMORY. */
bool hf_quantization_of_files(struct str *out, const struct choice *choice, const struct encoder *named, struct err *err);

void hf_quantization_clear(struct hf_quantization *config);

#endif
