/* preview: the tensors that an output would have and what happens to each, as JSON and as text. */
#ifndef REPORT_PREVIEW_H
#define REPORT_PREVIEW_H

#include "plan/shards.h"
#include "report/page.h"

/* Input of the report. All members are borrowed. */
struct preview {
    const struct choice *choice;        /* in output order */
    const struct shards *shards;        /* the output files; NULL: one file */
    const struct str *files;            /* their names, any bytes; NULL: do not show them */
    uint64_t size;                      /* of the whole output, including headers */
};

/* Writes a line for each tensor, then one without a name for the totals:
 *
 *     {"report":1,"name":"a.weight","dtype":"BF16","shape":[2,4],"nbytes":16,"becomes":"decoded","scheme":"fp8",
 *      "encoder":null,"why":null,"input":"b.weight","file":"model-00001-of-00002.safetensors"}
 *     {"report":1,"tensors":1,"nbytes":16,"files":2,"size":240}
 *
 * "becomes" is kept, converted (to another dtype), decoded, encoded (by "encoder") or made (composed from other tensors).
 * "why" is the reason why a tensor that could have been encoded is not. "input" is its name in the input, null if that is
 * the same; "file" is null for an output of one file.
 */
void preview_json(struct page *page, const struct preview *in);

/* Writes an aligned table and a line of totals. */
bool preview_text(struct page *page, const struct preview *in, struct err *err);

#endif
