/* description: the file of a directory that has a word for each tensor, which ModelSlim's loaders read instead of quantization_config. */
#ifndef HF_DESCRIPTION_H
#define HF_DESCRIPTION_H

#include "hf/modules.h"
#include "plan/choice.h"

/* Appends the JSON text. */
void hf_description(struct str *out, const struct choice *choice, const struct hf_modules *m);

#endif
