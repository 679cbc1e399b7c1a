/* module_names: the names that two programs give to the same modules, as families/names/README describes. */
#ifndef ADAPTER_MODULE_NAMES_H
#define ADAPTER_MODULE_NAMES_H

#include "base/err.h"
#include "base/str.h"

struct module_names_file {
    const char *name;           /* without ".names" */
    const char *text;           /* n bytes and a NUL */
    size_t n;
};

/* module_names_files_n texts, sorted by name. Generated. */
extern const struct module_names_file module_names_files[];
extern const size_t module_names_files_n;

enum module_names_kind { NAMES_SAME, NAMES_PART, NAMES_REST, NAMES_SWAPPED, NAMES_TRANSPOSED };

/* A statement of a file; texts are borrowed from it. */
struct module_names_line {
    enum { LINE_TOWER, LINE_PREFIX, LINE_DETECT, LINE_UNLESS, LINE_NAME } statement;
    const char *one, *two;      /* none and ntwo bytes; two: OTHER of `name` */
    size_t none, ntwo;
    enum module_names_kind kind;
    unsigned part;              /* K */
};

/* Reads the next statement at *at, and advances *at after it. Returns false at the end; *ok is false if a line is wrong. */
bool module_names_next(struct module_names_line *line, const char **at, bool *ok);

/* Returns true if a name matches the pattern `from`, and appends the pattern `to` with the same numbers and tail to `other`
 * unless that is NULL. Returns false if `to` has no place for them. */
bool module_names_translate(struct str *other, const char *to, size_t nto, const char *from, size_t nfrom, const char *name, size_t n);

#endif
