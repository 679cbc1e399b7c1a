/* inspect: what a model is and what quantization took from it, for programs and for people. */
#ifndef REPORT_INSPECT_H
#define REPORT_INSPECT_H

#include <stdio.h>

#include "scheme/roles.h"

/* What there is to report on; all borrowed. */
struct inspect {
    const char *file;               /* what the user named; any bytes */
    uint32_t nfiles;                /* of the model */
    const struct catalog *catalog;
    const struct roles *roles;
    bool bf16_known;                /* false: some tensor cannot be decoded */
    uint64_t bytes_bf16;            /* tensor data of the model as amn-remember writes it */
    bool arrays;                    /* metadata arrays in full */
};

/* One JSON object on one line. */
bool inspect_json(FILE *out, const struct inspect *in, struct err *err);

/* Aligned labels, without control characters. */
bool inspect_text(FILE *out, const struct inspect *in, struct err *err);

#endif
