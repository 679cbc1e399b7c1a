/* outline: where everything of an output lies and what of the input it is made of, for programs that make it in parts. */
#ifndef REPORT_OUTLINE_H
#define REPORT_OUTLINE_H

#include <stdio.h>

#include "plan/pieces.h"

/* All borrowed. */
struct outline {
    const struct pieces *pieces;
    const char *const *files;           /* of the model; names as messages show them */
    uint64_t from, to;                  /* bytes of the output that are asked about */
};

/* One line for each tensor with bytes in the range (with none at all: at its place), in the order of the output:
 *
 *     {"report":1,"name":"a.weight","dtype":"BF16","shape":[2,4],"offset":96,"nbytes":16,
 *      "inputs":[{"file":"m.safetensors","tensor":"a.weight","offset":128,"nbytes":8}, ...]}
 *
 * offset and nbytes are those of the whole tensor in the whole output; inputs are what the asked bytes of it need. */
bool outline_json(FILE *out, const struct outline *in, struct err *err);

#endif
