/* preview: the tensors that an output would have, and what becomes of each, for programs and for people. */
#ifndef REPORT_PREVIEW_H
#define REPORT_PREVIEW_H

#include <stdio.h>

#include "plan/shards.h"

/* All borrowed. */
struct preview {
    const struct choice *choice;        /* in the order of the output */
    const struct shards *shards;        /* the files it is cut into; NULL: one file */
    const struct str *files;            /* their names, any bytes; NULL: not to be shown */
    uint64_t size;                      /* of the whole output with its headers */
};

/* One line for each tensor, and one for all of them, which has no name:
 *
 *     {"report":1,"name":"a.weight","dtype":"BF16","shape":[2,4],"nbytes":16,"becomes":"decoded","scheme":"fp8",
 *      "encoder":null,"why":null,"input":"b.weight","file":"model-00001-of-00002.safetensors"}
 *     {"report":1,"tensors":1,"nbytes":16,"files":2,"size":240}
 *
 * "becomes" is what is done with it: kept, converted (to another dtype), decoded, encoded (by
 * "encoder"). "why": what could have been encoded, and why it is not. "input" is what it is called in
 * the input, null when that is its name; "file" is null for an output of one. */
bool preview_json(FILE *out, const struct preview *in, struct err *err);

/* An aligned table, and a last line with the totals. */
bool preview_text(FILE *out, const struct preview *in, struct err *err);

#endif
