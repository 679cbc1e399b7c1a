/* back_priv: the sources of a directory while they are collected from the tensors of a GGUF file. */
#ifndef FAMILY_BACK_PRIV_H
#define FAMILY_BACK_PRIV_H

#include "family/back_rows.h"
#include "family/rows_priv.h"
#include "family/scope.h"
#include "model/model.h"
#include "tokenizer/back_tokens.h"

/* The rows of one HF name: they take parts of one source. */
struct back_group {
    uint32_t first;             /* row */
    uint32_t nrows;
};

/* A row on the way back. */
struct back_row {
    uint32_t group;
    uint32_t next;              /* the next row of the group, or UINT32_MAX */
    uint64_t shift;             /* the number in the GGUF name minus the layer */
};

/* A tensor of the GGUF file. */
struct back_tensor {
    bool taken;
    bool read, exact;           /* exact: the element type holds its values, if `read` */
};

struct back_work {
    const struct family_tensors *how;
    const struct model_family *family;
    struct scope *scope;
    struct catalog *memory;
    struct family_sources *tensors;
    struct name_index *index;   /* of rows, by GGUF name */
    struct back_tensor *state;  /* of tensors; owned */
    struct back_row *row;       /* of family->rows; owned */
    struct back_group *group;   /* ngroups of them; owned */
    size_t ngroups;
    struct chosen *out;         /* nout of them; owned until moved to the choice */
    size_t nout, room;
    uint64_t main;
    uint64_t ntowers[5];        /* tensors left out, by prefix */
    struct rows_unknown unknown, incomplete;   /* tensors without a row; tensors whose row lacks more of them */
    bool kept;                  /* blocks come back as codes and scales */
    json_t *keys;               /* of the GGUF file; borrowed, or NULL */
};

/* Returns a place for another output, which becomes one when w->nout is increased; NULL with ERR_MEMORY. */
struct chosen *back_rows_new(struct back_work *w, struct err *err);

/* Adds the tensors of one number that keys have. */
bool back_values_add(struct back_work *w, struct err *err);

/* Makes one source: `tensor` are the GGUF tensors of the n rows in `row`. `x` is the number of the expert if the rows stack.
 * `stack` is the number of experts, or 0. */
struct back_source {
    const uint32_t *row;
    const struct family_source *const *tensor;
    size_t n;
    uint64_t b, x, stack;
};

enum back_form { BACK_ELEMENTS, BACK_CODES, BACK_SCALES };       /* codes, scales: of MXFP4 blocks that are kept */

bool back_join(struct chosen *chosen, struct back_work *w, const struct back_source *source, enum back_form form,
    struct err *err);

/* --- back_read.c */

/* Checks that the keys of rows exist which have no '?', in the file or among `keys`, which back_keys_of() made, for a scope of
 * members. Fails with ERR_MALFORMED, naming the key; with `allow` warns. */
bool back_read_check(struct scope *scope, const json_t *keys, struct model *model, bool allow, struct err *err);

/* Warns once about the keys of the architecture that nothing reads, except keys of towers, for a scope of keys. */
bool back_read_warn_unread(struct scope *scope, struct model *model, struct err *err);

/* --- back_members.c */

/* Fills scope->config, an empty object, in this order: members that a `key` row copies, rope_parameters, vocab_size, `back` rows,
 * `const` rows, tie_word_embeddings, special token ids, architectures, model_type. scope->keys is set. Appends the names of
 * members that come from `const` rows to `constants`. Fails with ERR_MALFORMED for an expression that cannot be evaluated, and
 * as rope_keys_back(). */
bool back_members(struct scope *scope, struct model *model, const struct back_tokens *tokens, struct str *constants,
    struct err *err);

/* Sets *hf to the first `hf` row that holds; without one, to the first without a condition; else to NULL. */
bool back_members_class(const struct family_hf **hf, struct scope *scope, struct err *err);

#endif
