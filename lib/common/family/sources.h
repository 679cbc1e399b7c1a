/* sources: the tensors of a model as the rows of a family see them: under the names after `rename`, in input order. */
#ifndef FAMILY_SOURCES_H
#define FAMILY_SOURCES_H

#include "family/scope.h"
#include "model/model.h"
#include "plan/choice.h"

struct family_source {
    struct chosen chosen;       /* the input tensor or weight */
    struct tensor t;            /* type and shape of its elements; the name after renaming; the data as stored */
    const char *name;           /* as stored, name_len bytes */
    uint32_t name_len;
    uint64_t first;             /* rows before it in the tensor that is stored, times its elements per row */
    bool slice;                 /* it is some rows of that tensor */
};

struct family_sources;

/* Lists the tensors of a choice or a catalog, sorted by stored name within each file. `family` NULL: no renames. `model` reads
 * their values and owns the new names. Fails with ERR_MEMORY or ERR_LIMIT. The caller frees *s,
 * which is NULL after a failure. */
bool family_sources_of_choice(struct family_sources **s, const struct model_family *family, const struct choice *choice,
    struct model *model, struct err *err);
bool family_sources_in_order(struct family_sources **s, const struct model_family *family, const struct choice *choice,
    struct model *model, struct err *err);          /* in the order of the choice */
bool family_sources_of_catalog(struct family_sources **s, const struct model_family *family, struct model *model,
    struct err *err);
/* Lists the tensors of a GGUF file, of a choice or (NULL) of the catalog, under the names that the rows of scope->family have:
 * `alias` renames them, `split` makes several of one. Fails with ERR_MALFORMED if the sizes do not agree. */
bool family_sources_of_gguf(struct family_sources **s, struct scope *scope, const struct choice *choice, struct model *model,
    struct err *err);
void family_sources_free(struct family_sources *s);     /* accepts NULL */

size_t family_sources_count(const struct family_sources *s);
const struct family_source *family_sources_at(const struct family_sources *s, size_t i);

/* Returns the first source of this name, or NULL. */
const struct family_source *family_sources_find(const struct family_sources *s, const char *name, size_t n);

/* Reads elements [first, first + n) of a float tensor of the model as numbers. Spools a pipe. */
bool family_sources_read(struct family_sources *s, const struct tensor *t, uint64_t first, double *x, size_t n,
    struct err *err);

/* Returns callbacks for a scope, valid as long as s. */
struct scope_tensors family_sources_scope(struct family_sources *s);

/* Returns true for a stored name that no family converts: buffers that are computed again, and with *media the towers of a
 * multimodal model. Source: the lists of convert_hf_to_gguf.py. */
bool family_sources_drops(const char *name, size_t n, bool *media);

#endif
