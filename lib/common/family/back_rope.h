/* rope: rope_parameters of config.json from the keys and tensors of a GGUF file. */
#ifndef FAMILY_BACK_ROPE_H
#define FAMILY_BACK_ROPE_H

#include <jansson.h>

#include "family/family.h"
#include "family/make.h"
#include "model/model.h"

enum { BACK_FACTORS = 1024 };   /* limit on the elements of rope_freqs.weight */

/* Sets rope_parameters in `config`, from the keys in `keys` and, if the family generates it, from rope_freqs.weight. Fails with
 * ERR_UNSUPPORTED if these factors are not those of rope_type llama3. */
bool back_rope(json_t *config, const json_t *keys, const struct model_family *family, struct model *model, struct err *err);

/* Returns true for a key, without the prefix of the architecture, that back_rope() copies. */
bool back_rope_reads(const char *key);

/* Repeats rope_parameters as rope_theta and rope_scaling, the members that transformers 4 and other loaders read. */
bool back_rope_old(json_t *config, struct err *err);

/* Finds settings whose factors are x[0..n), within 4 units in the last place, given theta. Returns false if no settings agree. */
bool back_llama3_solve(struct llama3_rope *r, const float *x, size_t n);

#endif
