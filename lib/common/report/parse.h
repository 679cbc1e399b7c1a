/* parse: the tensors of a model in catalog order, as JSON and as text. */
#ifndef REPORT_PARSE_H
#define REPORT_PARSE_H

#include "plan/digests.h"
#include "report/page.h"
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
    const struct digests *digests;  /* or NULL */
};

/* Writes one JSON object per tensor, one per line; with digests, then one for the model. */
void parse_json(struct page *page, const struct parse *in);

/* Writes an aligned table with column titles and a line of totals, without control characters, then the model's digests. */
bool parse_text(struct page *page, const struct parse *in, struct err *err);

/* Adds the last JSON line of a model, with its digests. `model` is the operand, or NULL. */
void parse_add_model(struct page *page, const struct digests *d, const char *model);

#endif
