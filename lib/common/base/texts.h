/* texts: files that are made in memory: names and bytes. */
#ifndef BASE_TEXTS_H
#define BASE_TEXTS_H

#include "base/err.h"
#include "base/str.h"

struct named_text {
    const char *name;           /* file name; static */
    struct str text;            /* owned by the list */
};

/* A zeroed list is empty; texts_clear() frees it. */
struct texts {
    struct named_text *list;    /* n of them, in the order added */
    size_t n, room;
    size_t max;                 /* limit of bytes per text; 0: none */
};

/* Adds an empty text, and returns it, to be filled before the next call; NULL and ERR_MEMORY on failure. */
struct str *texts_add(struct texts *texts, const char *name, struct err *err);

/* Call when a text is complete. Fails with ERR_LIMIT if it exceeds the limit, or with ERR_MEMORY. */
bool texts_check(const struct texts *texts, struct err *err);

void texts_clear(struct texts *texts);

#endif
