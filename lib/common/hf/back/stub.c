#include "hf/back/stub.h"

#include <stdlib.h>
#include <string.h>

bool
family_back_choose(struct choice *choice, const struct family_tensors *how, struct err *err)
{
    (void)choice, (void)how, (void)err;
    return true;
}

bool
family_sources_of_catalog(struct family_sources **s, const struct model_family *family, struct model *model, struct err *err)
{
    (void)family;
    *s = calloc(1, sizeof **s);
    if (*s)
        (*s)->model = model;
    return *s || err_memory(err, 1);
}

static const struct tensor *
find(void *of, const char *name, size_t n)
{
    return catalog_find(((struct family_sources *)of)->model->catalog, name, n);
}

static void
each(void *of, bool (*see)(void *see_of, const char *name, size_t n), void *see_of)
{
    const struct catalog *c = ((struct family_sources *)of)->model->catalog;
    for (size_t i = 0; i < catalog_count(c) && see(see_of, catalog_at(c, i)->name, catalog_at(c, i)->name_len);)
        i++;
}

static bool
read(void *of, const struct tensor *t, double *x, size_t n, struct err *err)
{
    float *f = malloc(t->extent.nbytes);
    bool ok = t->dtype == DTYPE_F32 && model_read(((struct family_sources *)of)->model, t, f, err);
    for (size_t i = 0; ok && i < n && i < t->extent.nbytes / 4; i++)
        x[i] = (double)f[i];
    free(f);
    return ok;
}

struct scope_tensors
family_sources_scope(struct family_sources *s)
{
    return (struct scope_tensors){ s, find, each, read };
}

void
family_sources_free(struct family_sources *s)
{
    free(s);
}
