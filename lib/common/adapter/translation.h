/* translation: the weights of a GGUF base under the names that they have in a Hugging Face model, and in its order of rows. */
#ifndef ADAPTER_TRANSLATION_H
#define ADAPTER_TRANSLATION_H

#include "adapter/place.h"

struct translation;

/* Makes the translation of a base whose tensors are chosen, but for one, `without`, that is not of the base. *out is NULL if its
 * architecture has no family of names: its own names count. Fails with ERR_MALFORMED or ERR_UNSUPPORTED if the base contradicts its family. */
bool translation_new(struct translation **out, struct model *model, const struct choice *choice, size_t without,
    struct err *err);
void translation_free(struct translation *t);           /* accepts NULL */

const struct weight_names *translation_names(const struct translation *t);

/* Sets *place to what weight_names_find() found. Fails with ERR_UNSUPPORTED if its elements are in more than one tensor, or in an
 * order that is not one of rows. */
bool translation_place(struct weight_place *place, const struct translation *t, size_t found, struct err *err);

#endif
