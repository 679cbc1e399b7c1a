/* parse: the tensors of a model in catalog order, as JSON and as text. */
#ifndef REPORT_PARSE_H
#define REPORT_PARSE_H

#include <stdio.h>

#include "scheme/roles.h"

/* Input of the report. All members are borrowed. */
struct parse {
    const struct catalog *catalog;
    const struct roles *roles;
    const char *const *files;       /* names of the model's files, indexed by extent.file */
    uint32_t nfiles;                /* files are named only if there are several, or several models */
    const char *model;              /* as named by the user, any bytes; NULL unless there are several models */
    const char *heading;            /* model name above the text, as in messages; NULL: no heading */
    bool first;                     /* no report precedes this one */
};

/* Writes one JSON object per tensor, one per line. */
bool parse_json(FILE *out, const struct parse *in, struct err *err);

/* Writes an aligned table with column titles and a line of totals, without control characters. */
bool parse_text(FILE *out, const struct parse *in, struct err *err);

#endif
