/* generation: generation_config.json as general.sampling.*. */
#ifndef HF_GENERATION_H
#define HF_GENERATION_H

#include <jansson.h>

#include "writer/keys.h"

/* Puts general.sampling.* from the members of generation_config.json; NULL: none. Fails with ERR_MALFORMED, which names the
 * member. */
bool hf_generation_keys(struct keys *keys, const json_t *generation, struct err *err);

#endif
