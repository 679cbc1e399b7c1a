/* claims: what a scheme sees of the model while it looks for its weights. For the files of this layer. */
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

/* "P.weight" -> P with its length; false when the name does not end so. */
bool claims_strip_name(const struct tensor *t, const char *suffix, struct part_name *p);

/* The module of a weight: P of "P.weight", else all of its name. */
struct part_name claims_module_name(const struct tensor *t);

struct comfy_markers;       /* comfy_marker.h */
struct left_name;           /* table.h */

/* What is known of the order of block scales where their shape leaves it open (swizzle.h). */
struct grids {
    bool config;                /* config.json names a method that only writes plain ones */
    bool nvfp4, mxfp8;          /* a weight of the kind has a grid that can only be plain */
};

/* What a scheme sees; it changes nothing of it but by the functions below. */
struct claims {
    struct roles *roles;
    struct catalog *catalog;
    struct config *config;
    const struct contents *contents;    /* NULL: only headers may be read */
    const char *told;                   /* --scheme: the scheme of what cannot be told, or NULL */
    struct comfy_markers *comfy;        /* the ComfyUI markers of the model */
    struct grids grids;
    struct left_name *left;             /* nleft names that only quantizers use */
    size_t nleft;
    bool *idle;                         /* which of table_idle occur in the model at all */
    char *scratch;                      /* a name that is put together: */
    size_t longest;                     /* bytes of the longest name of the model, and of scratch */
    bool shares;                        /* the weight being claimed shares a companion */
};

/* Whether the user said that this scheme (its code) is what cannot be told. */
static inline bool
claims_told(const struct claims *c, const char *code)
{
    return c->told && strcasecmp(c->told, code) == 0;
}

/* The row of table_left_names for a tensor's name, and what is before its suffix; NULL when it has none. */
const struct left_name *claims_left(const struct claims *c, const struct tensor *t, struct part_name *p);
/* n bytes that live as long as the catalog: a shape that was read. NULL on failure. */
void *claims_alloc(struct claims *c, size_t n, struct err *err);
/* Gives a weight a shape: the first `from` dimensions of its codes, then n others. */
bool claims_shape(struct claims *c, struct weight *w, uint32_t from, const uint64_t *dim, uint32_t n, struct err *err);
/* All bytes of a small tensor, owned by the caller; more than `most` of them, `what` in words: ERR_LIMIT. Only where there
 * are contents. NULL on failure. */
uint8_t *claims_read(const struct claims *c, const struct tensor *t, uint64_t most, const char *what, struct err *err);
void claims_warn(struct claims *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same of what holds for many weights: nothing if it is one of the last few lines. */
void claims_warn_once(struct claims *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The tensor base + suffix, or NULL. */
const struct tensor *claims_find(const struct claims *c, const char *base, size_t base_len, const char *suffix);

/* Take a companion for the weight being claimed; only once it is sure that the claim holds. Taken by another weight
 * already: ERR_MALFORMED. */
bool claims_take(struct claims *c, const struct tensor *companion, const struct tensor *codes, enum role role,
    struct err *err);

/* The same for a companion that several weights of one scheme share. */
bool claims_share(struct claims *c, const struct tensor *companion, const struct tensor *codes, enum role role,
    struct err *err);

/* Take what nobody has taken for a weight that was claimed before. */
bool claims_take_for(struct claims *c, const struct tensor *companion, const struct weight *w, enum role role,
    struct err *err);

/* Take what belongs to every weight (table_idle): of P.weight, which the decoded weight is called, P.input_scale and so
 * on, of any X X_input_scale. */
bool claims_take_idle(struct claims *c, const struct weight *w, struct err *err);

/* A part of a weight is not there: ERR_MALFORMED, or of a shard alone, whose other parts are elsewhere, ERR_UNSUPPORTED
 * that says what to give. The text is as for err_set. */
bool claims_missing(const struct claims *c, uint64_t at, struct err *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Whether this is only a report (no contents) on a shard alone, in which parts of weights may be missing. */
bool claims_is_report_on_shard(const struct claims *c);

/* Add a weight whose parts are known; its codes are taken. */
bool claims_add(struct claims *c, const struct weight *w, struct err *err);

/* Whether some weight has taken it. */
bool claims_is_taken(const struct claims *c, const struct tensor *companion);

/* Call the decoded weight base + suffix; does nothing when the codes are called so already. */
bool claims_rename(struct claims *c, struct weight *w, const struct part_name *base, const char *suffix,
    struct err *err);

#endif
