/* outline: the offset of every tensor in an output and the input bytes it needs, for programs that make the output in parts. */
#ifndef REPORT_OUTLINE_H
#define REPORT_OUTLINE_H

#include "plan/pieces.h"
#include "report/page.h"

/* Input of the report. All members are borrowed. */
struct outline {
    const struct pieces *pieces;
    const struct catalog *catalog;      /* of the inputs, for tensors that lie in several files */
    const char *const *files;           /* names of the model's files, as in messages */
    size_t nfiles;
    uint64_t from, to;                  /* range of the output to describe, in bytes */
};

/* Writes a line for each tensor with bytes in the range, in output order; an empty tensor counts if its offset is in the
 * range:
 *
 *     {"report":1,"name":"a.weight","dtype":"BF16","shape":[2,4],"offset":96,"nbytes":16,
 *      "inputs":[{"file":"m.safetensors","tensor":"a.weight","offset":128,"nbytes":8}, ...]}
 *
 * offset and nbytes describe the whole tensor in the whole output; inputs are those that its bytes in the range need. Then
 * a line for each file, with the offset in the whole output from which on no byte needs data of the file:
 *
 *     {"report":1,"file":"m.safetensors","free_after":112}
 */
bool outline_json(struct page *page, const struct outline *in, struct err *err);

#endif
