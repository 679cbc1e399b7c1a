/* Layer exact: decides how each weight is transcoded without changing a value. exact_source describes what a weight offers, exact_try
 * asks whether an encoding holds it. Above them, in this order: an attempt tries one name for one weight (exact_attempt.c), the
 * refusal explains why none holds it (exact_refuse.c), the choice tries the names of a list (exact_choose.c), and weights that
 * loaders concatenate share a scale (exact_share.c). It knows neither options nor file formats. Start here. */

/* exact_job: the exact transcoding of all weights of a model. */
#ifndef EXACT_EXACT_JOB_H
#define EXACT_EXACT_JOB_H

#include "exact/exact_row.h"
#include "pipeline/pipeline.h"
#include "plan/reduction.h"

enum { EXACT_NAMES = 32 };

/* Zeroed: nothing is done. Clear with exact_job_clear(). */
struct exact_job {
    /* Set by the caller. */
    enum exact_level level;
    const struct encoder *name[EXACT_NAMES];    /* n, in order of preference; at least one */
    size_t n;
    struct naming inexact;              /* weights that the first name may round; owned */
    const struct reduction *reduction;  /* the weights that names are tried for, rules and options; borrowed */
    enum keeps held;                    /* how the output holds quantized weights */
    bool unquantized;                   /* tries names for unquantized weights, too */
    bool whole;                         /* no quantized weight is dequantized unless its values stay, whatever its codes are */
    bool optional;                      /* a quantized weight that no name holds stays for the caller */
    bool describes;                     /* sets the members of rows that only reports need */

    struct exact_row *rows;             /* out: nrows, in the order of their places; owned */
    size_t nrows, rows_room;
    size_t ninexact;                    /* out: weights that are rounded */
    struct str witness;                 /* out: "witness":{...} of the weight that was refused, or empty; owned */

    /* While it runs; borrowed. */
    const struct pipeline *p;
    struct choice *choice;
    const unsigned *owned;              /* of reduction_count_owned() */
    struct kernels *hints;              /* owned; until the output is complete */
};

/* Surveys all weights, sets the encoding of each, and expands the choice. Fails with ERR_INEXACT, or ERR_MALFORMED for NaN and
 * infinity, if one is not held. The encodings borrow the hints of the job. */
bool exact_job_run(struct exact_job *job, const struct pipeline *p, struct choice *choice, struct err *err);

void exact_job_clear(struct exact_job *job);

#endif
