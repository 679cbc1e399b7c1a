/* parse: the list of a model's tensors in catalog order, for programs and for people. */
#ifndef REPORT_PARSE_H
#define REPORT_PARSE_H

#include <stdio.h>

#include "scheme/roles.h"

/* What there is to list; all borrowed. */
struct parse {
    const struct catalog *catalog;
    const struct roles *roles;
    const char *const *files;       /* names of the model's files by extent.file */
    uint32_t nfiles;                /* shown only when there are several, or several models */
    const char *model;              /* what the user named, any bytes, where there are several models; else NULL */
    const char *heading;            /* over the text: the model, as messages show it; NULL: none */
    bool first;                     /* no other stands before it */
};

/* One JSON object a tensor, each on its line. */
bool parse_json(FILE *out, const struct parse *in, struct err *err);

/* An aligned table with the titles of its columns and a last line with the totals, without control characters. */
bool parse_text(FILE *out, const struct parse *in, struct err *err);

#endif
