/* back: the tensors of a GGUF file as the rows of its family, read from right to left, put them into a model directory. */
#ifndef FAMILY_BACK_ROWS_H
#define FAMILY_BACK_ROWS_H

#include "family/rows.h"

/* Replaces a choice of the tensors of a GGUF file, as choice_make() made it without kept blocks, by the tensors of a directory,
 * sorted by name. choice->matrices becomes DTYPE_MXFP4, and choice->decodes false, if MXFP4 blocks come back as codes and scales. scope->config must have the
 * recovered members and the defaults of the family, for the lets that verbs use; GGUF keys are not looked at. how->matrices is
 * the element type; an F32 tensor that it cannot hold exactly stays F32, and is read to find out. Errors name the tensor:
 * ERR_MALFORMED for one without a row, for parts that do not cover a source, and for a missing tensor that the family needs. */
bool back_rows_choose(struct choice *choice, const struct family_tensors *how, struct err *err);

#endif
