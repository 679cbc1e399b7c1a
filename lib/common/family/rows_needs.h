/* rows_needs: the outputs that a family needs, and the tensors that no row of it takes, in both directions. */
#ifndef FAMILY_ROWS_NEEDS_H
#define FAMILY_ROWS_NEEDS_H

#include "family/rows.h"
#include "family/sources.h"

/* Tensors of the input that no row matches. Zeroed: none. */
struct rows_unknown {
    const struct family_source **at;    /* n of them; owned; borrowed from the sources */
    size_t n, room;
};

bool rows_needs_add(struct rows_unknown *u, const struct family_source *source, struct err *err);
void rows_needs_clear(struct rows_unknown *u);

/* Checks that the outputs which the family needs exist. Fails with ERR_MALFORMED, naming the output and the HF name of its row,
 * and an unknown tensor of the same layer, with the layout that it looks like. */
struct rows_needs {
    const struct model_family *family;
    struct scope *scope;
    struct catalog *memory;
    const struct rows_unknown *unknown;
    bool back;                  /* the names of unknown tensors are GGUF names */
    bool (*exists)(const void *of, const char *name, size_t n);
    const void *of;
    uint64_t main, layers;      /* set here */
};
bool rows_needs_check(struct rows_needs *n, struct err *err);

#endif
