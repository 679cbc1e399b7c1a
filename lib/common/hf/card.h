/* card: keys general.* of a GGUF adapter from the model card beside it and the name of its directory. Source: gguf-py's
 * metadata.py. */
#ifndef HF_CARD_H
#define HF_CARD_H

#include <jansson.h>

#include "hf/folder.h"
#include "writer/keys.h"

/* Puts general.name, general.license, general.base_model.*, general.tags and so on. `config`: the config.json in the directory, or
 * empty; `name`: of the directory; `params`: the number of elements, negative for an adapter. Warns of members that are not read. Fails
 * with ERR_MALFORMED for a bad config.json. */
bool hf_card_put(struct keys *keys, const struct hf_text *card, const struct hf_text *config, const char *name, double params,
    struct catalog *warnings, struct err *err);

/* --- front_matter.c: the YAML at the top of a model card, README.md, between two lines "---" */

/* Sets *front to an object with the members of the top level that are strings, or lists of strings. A member of another type or
 * form is null; of two with the same name the last one counts. *front is an empty object without front matter; the caller frees it.
 * Fails with ERR_MEMORY. */
bool hf_front_matter(json_t **front, const struct hf_text *card, struct err *err);

#endif
