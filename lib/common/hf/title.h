/* title: what the name of a model says about it. Source: gguf-py's metadata.py. */
#ifndef HF_TITLE_H
#define HF_TITLE_H

#include <stddef.h>

#include "base/err.h"

/* Appends a name as a title: "Some Model v2" for "some-model-v2". */
void hf_title_add(struct str *s, const char *p, size_t n);

/* The parts of "org/some-model-7b-instruct-v2". A part that the name does not have is empty. */
enum title_part { TITLE_NAME, TITLE_ORGANIZATION, TITLE_BASENAME, TITLE_FINETUNE, TITLE_VERSION, TITLE_SIZE, TITLE_PARTS };
struct hf_title {
    struct str part[TITLE_PARTS];
    bool has[TITLE_PARTS];      /* the name has it, even if it is empty */
};

/* Finds the parts. `params`: the number of elements of the model, negative for an adapter, with which a size is told from the length
 * of a context; 0: unknown. Fails with ERR_MEMORY. Call hf_title_clear() even after a failure. */
bool hf_title_read(struct hf_title *t, const char *id, size_t n, double params, struct err *err);
void hf_title_clear(struct hf_title *t);

#endif
