/* scope: the values of the names and functions in the expressions of a family, for one model, in one direction. */
#ifndef FAMILY_SCOPE_H
#define FAMILY_SCOPE_H

#include "catalog/tensor.h"
#include "family/family.h"

/* The tensors that has(), dim(), rows(), count(), number(), value(), data(), ones() and mean() ask about: after renames on the way to
 * GGUF; as the GGUF file has them on the way back. All are optional until set. */
struct scope_tensors {
    void *of;
    /* Returns the tensor, or NULL. */
    const struct tensor *(*find)(void *of, const char *name, size_t n);
    /* Calls `see` with each name, until it returns false. */
    void (*each)(void *of, bool (*see)(void *see_of, const char *name, size_t n), void *see_of);
    /* Reads the first n elements of a tensor as numbers. */
    bool (*read)(void *of, const struct tensor *t, double *x, size_t n, struct err *err);
    /* Reads the first n elements of a tensor of I64. */
    bool (*integers)(void *of, const struct tensor *t, int64_t *x, size_t n, struct err *err);
};

struct scope {
    const struct model_family *family;
    const char *class;          /* of architectures[0] */
    json_t *config;             /* members: forward, config.json with the defaults; back, what was recovered so far;
                                 * borrowed */
    json_t *keys;               /* back: values of GGUF keys by full name; NULL: forward; borrowed */
    json_t *rope, *rope_local, *rope_all;           /* objects, borrowed; or NULL */
    json_t *tokenizer_config, *generation_config;   /* borrowed; or NULL */
    json_t *file;               /* file.pooling, file.labels; borrowed; or NULL */
    json_t *preprocessor;       /* of a tower: preprocessor_config.json and processor_config.json; borrowed; or NULL */
    bool mtp;                   /* false with --no-mtp */
    uint32_t file_type;
    uint64_t tokens, vocab_rows;
    struct scope_tensors tensors;
    bool (*has_file)(void *of, const char *name);
    void *folder;               /* the `of` of has_file */
    unsigned depth;             /* operations being evaluated, over all lets; 0 at first */
    uint32_t steps;             /* evaluated so far, to limit the time that a family can take; 0 at first */
};

/* Sets *value to a new reference to the value of a name, for layer b; null if it is unknown. The first of: a GGUF key
 * (only if scope->keys is set), a built-in, a let, a member. A caller that wants names to be members only, as verbs do on the
 * way back, leaves scope->keys NULL. */
bool scope_value(json_t **value, const char *name, struct scope *scope, uint64_t b, struct err *err);

/* Sets *n to the value of the let `layers` or `main`. Fails with ERR_MALFORMED if it is not a number of layers. */
enum { SCOPE_LAYERS_MAX = 1 << 16 };
bool scope_layers(uint64_t *n, const char *name, struct scope *scope, struct err *err);

#endif
