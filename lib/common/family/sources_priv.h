/* sources_priv: the list of sources while it is made. */
#ifndef FAMILY_SOURCES_PRIV_H
#define FAMILY_SOURCES_PRIV_H

#include "base/table.h"
#include "family/sources.h"

struct family_sources {
    const struct model_family *family;  /* or NULL */
    struct model *model;
    struct family_source *list; /* n of them; owned */
    size_t n;
    struct table names;
};

/* Applies `alias` and `split` of scope->family to a list that is not indexed yet. */
bool sources_alias(struct family_sources *s, struct scope *scope, struct err *err);

#endif
