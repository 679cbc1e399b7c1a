/* template: a draft of a family file for a model directory of an unknown class. */
#ifndef FAMILY_TEMPLATE_H
#define FAMILY_TEMPLATE_H

#include "model/model.h"

/* Appends the text of the built-in family whose rows match the most tensors of a model (llama if none matches any), with the
 * names of the model's class, and comments: tensors without a row, rows without a tensor, and members of config.json that the family does not use. Fails
 * with ERR_MALFORMED if the model has no config.json with a class, and with
 * ERR_UNSUPPORTED if a weight cannot be dequantized. */
bool family_template(struct str *out, struct model *model, struct err *err);

/* Sets *name to the built-in family that has rows for all tensors of a model, static, or to NULL. */
bool family_template_alike(const char **name, struct model *model, const char *class, struct err *err);

#endif
