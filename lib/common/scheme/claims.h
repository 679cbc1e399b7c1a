/* claims: the view of the model that a scheme has while it looks for its weights. Used only inside this layer. */
#ifndef SCHEME_CLAIMS_H
#define SCHEME_CLAIMS_H

#include <string.h>
#include <strings.h>

#include "scheme/config.h"
#include "scheme/scheme.h"

/* A name in two pieces: `base_len` bytes of `base`, then `suffix`. */
struct part_name {
    const char *base;
    size_t base_len;
    const char *suffix;
};

/* Splits "P.weight" into P and its length. Returns false if the name does not end in `suffix`. */
bool claims_strip_name(const struct tensor *t, const char *suffix, struct part_name *p);

/* Returns the module of a weight: P for "P.weight", otherwise the whole name. */
struct part_name claims_module_name(const struct tensor *t);

struct roles_options;       /* roles.h */
struct comfy_markers;       /* comfy_marker.h */
struct left_name;           /* table.h */

/* Facts that decide the layout of block scales where their shape is ambiguous (swizzle.h). */
struct grids {
    bool config;                /* the method in config.json only writes plain grids */
    bool nvfp4, mxfp8;          /* some weight of this kind has a grid that can only be plain */
};

/* Bytes for a suffix after the longest name. */
enum { CLAIMS_MORE = 16 };

/* The state that a scheme sees. A scheme changes it only through the functions below. */
struct claims {
    struct roles *roles;
    struct catalog *catalog;
    struct config *config;
    const struct contents *contents;    /* NULL: only headers may be read */
    const struct roles_options *options;
    const char *forced;                 /* --input-scheme: the scheme of ambiguous weights, or NULL */
    struct comfy_markers *comfy;        /* the ComfyUI markers of the model */
    struct grids grids;
    struct left_name *left;             /* nleft names that only quantizers use */
    size_t nleft;
    struct weight **sorted;             /* the weights by their names, once all are claimed (siblings.c); owned */
    char *scratch;                      /* buffer in which names are built */
    size_t longest;                     /* bytes of the longest name in the model; scratch has CLAIMS_MORE more */
    bool shares;                        /* the weight being claimed shares a companion with another */
};

/* Returns true if --input-scheme means the scheme with this code. */
static inline bool
claims_is_forced(const struct claims *c, const char *code)
{
    return c->forced && scheme_is_called(c->forced, code);
}

/* Returns the row of table_left_names that matches a tensor's name, and sets *p to the name without that suffix. NULL if
 * none matches. */
const struct left_name *claims_left(const struct claims *c, const struct tensor *t, struct part_name *p);
/* Allocates n bytes that live as long as the catalog, for example for a shape read from a tensor. NULL on failure. */
void *claims_alloc(struct claims *c, size_t n, struct err *err);
/* Sets the shape of a weight: the first `from` dimensions of its codes, followed by n dimensions from `dim`. */
bool claims_shape(struct claims *c, struct weight *w, uint32_t from, const uint64_t *dim, uint32_t n, struct err *err);
/* Returns all bytes of a small tensor; the caller frees them. Fails with ERR_LIMIT, naming `what`, if there are more than
 * `most`. May be called only if c->contents is set. NULL on failure. */
uint8_t *claims_read(const struct claims *c, const struct tensor *t, uint64_t most, const char *what, struct err *err);
void claims_warn(struct claims *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Like claims_warn, for warnings that apply to many weights: does nothing if the text equals one of the last few warnings. */
void claims_warn_once(struct claims *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns the tensor base + suffix, or NULL. */
const struct tensor *claims_find(const struct claims *c, const char *base, size_t base_len, const char *suffix);

/* Assigns a companion to the weight being claimed. Call it only once the claim is certain. Fails with ERR_MALFORMED if the
 * companion belongs to another weight. */
bool claims_take(struct claims *c, const struct tensor *companion, const struct tensor *codes, enum role role,
    struct err *err);

/* Like claims_take, for a companion that several weights of one scheme share. */
bool claims_share(struct claims *c, const struct tensor *companion, const struct tensor *codes, enum role role,
    struct err *err);

/* Assigns an unowned companion to a weight that was claimed earlier. Fails with ERR_MALFORMED if it has an owner. */
bool claims_take_for(struct claims *c, const struct tensor *companion, const struct weight *w, enum role role,
    struct err *err);

/* Reports that a part of a weight is missing. The error is ERR_MALFORMED; for a single shard, whose other parts may be in
 * other files, it is ERR_UNSUPPORTED and names the input to give instead. Arguments as for err_set; always returns false. */
bool claims_missing(const struct claims *c, uint64_t at, struct err *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Returns true if a single shard is only being reported on (no contents). Parts of its weights may then be missing. */
bool claims_is_report_on_shard(const struct claims *c);

/* Adds a weight whose parts are set, and marks its codes as taken. */
bool claims_add(struct claims *c, const struct weight *w, struct err *err);

/* Returns true if the tensor belongs to some weight. */
bool claims_is_taken(const struct claims *c, const struct tensor *companion);

/* Names the decoded weight base + suffix. Does nothing if that is already the name of the codes. */
bool claims_rename(struct claims *c, struct weight *w, const struct part_name *base, const char *suffix,
    struct err *err);

#endif
