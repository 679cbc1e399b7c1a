/* inspect: what a model is and what quantization took from it, for programs and for people. The layer report turns what
 * others found out into JSON and text; it decides nothing, opens nothing and knows no options. Begin here: page.h and ndjson.h
 * are what all reports are written with, summary.h and listing.h what several say. */
#ifndef REPORT_INSPECT_H
#define REPORT_INSPECT_H

#include <stdio.h>

#include "scheme/roles.h"

/* The model as amn-remember --to writes it. */
struct inspect_remembered {
    enum dtype to;
    bool bytes_known, size_known;   /* false: it cannot be decoded, or not written */
    uint64_t bytes;                 /* of tensor data */
    uint64_t size;                  /* of the file, its header included */
    struct err refusal;             /* unless bytes are known: why it refuses the model */
};

/* What there is to report on; all borrowed. */
struct inspect {
    const char *file;               /* what the user named; any bytes */
    uint32_t nfiles;                /* of the model */
    const struct catalog *catalog;
    const struct roles *roles;
    struct inspect_remembered remembered;
    bool metadata;                  /* all of it in the text too */
    bool arrays;                    /* metadata arrays in full */
    const char *heading;            /* over the text: the model, as messages show it; NULL: none */
    bool first;                     /* no other stands before it */
};

/* One JSON object on one line. */
bool inspect_json(FILE *out, const struct inspect *in, struct err *err);

/* Aligned labels, in words that need no manual; without control characters. */
bool inspect_text(FILE *out, const struct inspect *in, struct err *err);

#endif
