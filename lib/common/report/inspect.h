/* inspect: describes a model and the space that quantization saved, as JSON and as text. The report layer turns the results
 * of other layers into JSON, text and pages; it decides nothing, opens nothing and knows no options. Read page.h and ndjson.h
 * first, which all reports use, then columns.h, summary.h and listing.h, which several reports share. */
#ifndef REPORT_INSPECT_H
#define REPORT_INSPECT_H

#include "report/page.h"
#include "scheme/roles.h"

/* The model as amn-remember --to would write it. */
struct inspect_dequantized {
    enum dtype to;
    bool bytes_known, size_known;   /* false if it cannot be decoded or written */
    uint64_t bytes;                 /* of tensor data */
    uint64_t size;                  /* of the file, including its header */
    struct err refusal;             /* if bytes_known is false: why amn-remember rejects the model */
};

/* An image model, as it becomes GGUF. */
struct inspect_image {
    const char *family;             /* NULL: none */
    const char *refusal;            /* why it cannot become GGUF, or NULL */
    const char *const *loaders;     /* that read the GGUF file; ends with NULL */
    size_t nleft;                   /* tensors of other models in the file */
    uint64_t nbytes_left;
};

/* Input of the report. All members are borrowed. */
struct inspect {
    const char *file;               /* as named by the user; any bytes */
    uint32_t nfiles;                /* number of files of the model */
    const struct catalog *catalog;
    const struct roles *roles;
    struct inspect_dequantized remembered;
    const struct inspect_image *image;      /* or NULL */
    bool metadata;                  /* show all metadata in the text, too */
    bool arrays;                    /* show metadata arrays in full */
    const char *heading;            /* model name above the text, as in messages; NULL: no heading */
    bool first;                     /* no report precedes this one */
};

/* Writes one JSON object on one line. */
bool inspect_json(struct page *page, const struct inspect *in, struct err *err);

/* Writes text with aligned labels, without control characters and without terms that need the manual. */
bool inspect_text(struct page *page, const struct inspect *in, struct err *err);

#endif
