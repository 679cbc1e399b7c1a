/* front_matter: the YAML at the top of a model card, README.md, between two lines "---". */
#ifndef HF_FRONT_MATTER_H
#define HF_FRONT_MATTER_H

#include <jansson.h>

#include "hf/folder.h"

/* Sets *front to an object with the members of the top level that are strings, or lists of strings. A member of another type or
 * form is null; of two with the same name the last one counts. *front is an empty object without front matter; the caller frees it.
 * Fails with ERR_MEMORY. */
bool hf_front_matter(json_t **front, const struct hf_text *card, struct err *err);

#endif
