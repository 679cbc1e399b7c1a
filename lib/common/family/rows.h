/* rows: the tensors of a model directory as the rows of its family put them into a GGUF file. Start with rows.c, which sorts
 * sources to rows; rows_join.c makes an output from its sources. The other direction is back.h. */
#ifndef FAMILY_ROWS_H
#define FAMILY_ROWS_H

#include "family/verbs.h"
#include "model/model.h"
#include "plan/choice.h"

struct family_config;

/* Arguments of both directions; everything is borrowed. */
struct family_tensors {
    const struct model_family *family;
    struct scope *scope;        /* its `tensors` are set while the tensors are chosen, and put back afterwards */
    struct family_config *config;       /* to GGUF: for generated tensors; NULL: none */
    struct model *model;        /* owner of the input tensors; its catalog receives notes and warnings */
    enum dtype matrices;        /* to GGUF: type of the matrices; DTYPE_UNKNOWN: as the first F16 or BF16 matrix, else F16.
                                 * To a directory: type of the elements */
    bool exact;                 /* to GGUF with DTYPE_UNKNOWN: keep F32 as F32, for further encoding. To a directory: all
                                 * tensors have the type, even if that changes values */
    bool blocks;                /* keep NVFP4 and MXFP4 weights as blocks */
    bool paired;                /* another file has the towers */
    bool mtp_only;              /* only multi-token prediction; scope->mtp false: without it */
    bool allow_missing, skip_unknown;
    bool adapter;               /* the tensors are of an adapter: few outputs are made, and none of its tensors may be left out */
    enum verbs_side side;       /* with `adapter`: what each tensor is; a factor has the name of the weight */
};

/* Replaces a choice of the tensors of a directory, as choice_make() made it, by the tensors of a GGUF file. New objects are allocated
 * by the catalog. Errors name the tensor: ERR_MALFORMED for a tensor without a row, a shape that does not fit, two sources
 * of one output, or an output that is missing; ERR_UNSUPPORTED for a tensor that llama.cpp would not use. */
bool rows_choose(struct choice *choice, const struct family_tensors *how, struct err *err);

#endif
