/* rows_priv: the outputs of a family while they are collected. */
#ifndef FAMILY_ROWS_PRIV_H
#define FAMILY_ROWS_PRIV_H

#include "base/table.h"
#include "family/name_index.h"
#include "family/rows_needs.h"
#include "family/sources.h"
#include "family/verbs.h"
#include "scheme/fp4_blocks.h"

/* A source that a row matches. */
struct row_match {
    const struct family_source *source;
    uint64_t b, x;              /* layer and expert, 0 if the row has none */
};

/* An output tensor. */
struct row_output {
    const char *name;           /* name_len bytes and a NUL; owned by the catalog */
    uint32_t name_len;
    uint32_t row;               /* index in the family */
    uint32_t group;             /* of a stack: its group */
    size_t place;               /* of the last source, in input order */
    struct row_match match;     /* the source, or the first of a stack */
    bool merged;                /* its values went into the scales of kept blocks */
    size_t member, nmembers;    /* of a stack: its members, after they are sorted */
};

/* A member of a stack. */
struct row_member {
    struct row_match match;
    uint32_t output;
};

/* Stacks that are written together: stacks of one layer whose sources have the same name before the number of the expert. */
struct row_group {
    const char *name;           /* n bytes; borrowed from a source */
    size_t n, place;
};

/* Tensors that are not converted, for a note. */
struct left_out {
    uint64_t n, nbytes;
};

struct rows_work {
    const struct family_tensors *how;
    const struct model_family *family;
    struct scope *scope;
    struct catalog *memory;
    struct family_sources *sources;
    struct name_index *index;   /* of rows, by HF name */
    struct rows_when *when;     /* of rows; owned */
    struct row_output *out;     /* nout of them; owned */
    size_t nout, room;
    struct table names;         /* of outputs */
    struct row_member *member;  /* nmembers of them; owned */
    size_t nmembers, member_room;
    struct row_group *group;    /* ngroups of them; owned */
    size_t ngroups, group_room;
    struct table groups;
    uint64_t main;
    enum dtype matrices;        /* DTYPE_UNKNOWN: as they are */
    uint64_t experts;           /* expert_count, or 0 */
    struct left_out mtp, media;
    struct rows_unknown unknown;
};

/* rows_work.c */

/* Fails about a source: "tensor NAME SHAPE: what". */
bool rows_fail(const struct family_source *source, enum err_kind kind, const char *what, struct err *err);

/* Sets *name to the GGUF name of a row for layer b; owned by the catalog. */
bool rows_output_name(const char **name, uint32_t *n, struct scope *scope, const struct family_row *row, uint64_t b,
    struct catalog *memory, struct err *err);

/* Returns member i of an output; an output that is not a stack has one. */
const struct row_match *rows_member(const struct rows_work *w, const struct row_output *out, size_t i);

/* Adds the name of the output w->out[*number] to the index. *again: another one has it, and *number is its number. */
bool rows_index(uint32_t *number, bool *again, struct rows_work *w, const struct row_output *out, struct err *err);

/* Returns the output of a name, or NULL. */
struct row_output *rows_find(const struct rows_work *w, const char *name, size_t n);

/* rows_list.c */

/* Returns the type of all matrices: the type requested, or the type of the first half-precision matrix. */
enum dtype rows_list_type(const struct rows_work *w);

/* Replaces the list of a choice by the outputs: generated tensors, then the others in the order of their sources. */
bool rows_list(struct choice *choice, struct rows_work *w, struct err *err);

/* rows_join.c */

/* Makes the tensor of an output from its sources: with the type of its blocks if they are kept. */
bool rows_join(struct chosen *chosen, const struct rows_work *w, const struct row_output *out, struct err *err);

/* rows_blocks.c */

/* Returns true if a source is kept as blocks, and describes them. */
bool rows_blocks(struct fp4_blocks *b, const struct rows_work *w, const struct family_source *source);

/* Appends the scales that belong to an output of NVFP4 blocks, at most ROWS_SCALES, to list[*n...]. An output of a row with the
 * name of a scale is multiplied into it, and marked as merged. */
enum { ROWS_SCALES = 2 };
bool rows_blocks_add_scales(struct chosen *list, size_t *n, struct rows_work *w, const struct row_output *out, struct err *err);

/* rows_check.c */

/* Sets *n to the largest number that the rows of a key give, for all layers if it is a list; 0 if none does. */
bool rows_check_number(uint64_t *n, const struct model_family *family, struct scope *scope, const char *key, struct err *err);

/* Sets *same if a row `same` applies to a source; fails with ERR_UNSUPPORTED if the other source has other bytes. */
bool rows_check_same(bool *same, const struct rows_work *w, const struct family_source *source, struct err *err);

/* Checks that all elements of a source are zero. */
bool rows_check_zero(const struct rows_work *w, const struct family_source *source, struct err *err);

#endif
