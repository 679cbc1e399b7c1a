/* Private to exact/. In the order of calls: each of these files calls those before it only. */
#ifndef EXACT_EXACT_PRIV_H
#define EXACT_EXACT_PRIV_H

#include "exact/exact_job.h"
#include "exact/exact_try.h"

/* --- exact_attempt.c */

/* A weight while names are tried. The caller sets the job and the place; the rest is zero. */
struct exact_attempt {
    struct exact_job *job;
    size_t place;                       /* index in the choice */
    struct exact_row *row;              /* borrowed until the next row is added; NULL if the attempt is not for one weight */
    const struct encode_options *given; /* the user's options; NULL: those of the job. Borrowed */
    bool quantized;
    struct chosen trial;
    struct exact_terms *terms;          /* live as long as the catalog */
    struct exact_outcome out;           /* of the last name */
    struct encode_options how;          /* with which it was tried */
    const struct encoder *last;         /* the last name */
    const char *why;                    /* for EXACT_LAYOUT; static */
    const char *shares;                 /* weight that must share the scale of this one and cannot, or NULL */
    bool stored;                        /* the weight is stored as the last name would encode it */
};

/* Sets a->trial and the terms of the weight. */
bool exact_attempt_begin(struct exact_attempt *a, struct err *err);

/* Sets a->terms for a->trial. */
bool exact_attempt_terms(struct exact_attempt *a, struct err *err);

/* Tries a name; out.fail.cause is EXACT_HOLDS if it holds the weight. */
bool exact_attempt_name(struct exact_attempt *a, const struct encoder *e, struct err *err);

/* Sets *holds to whether a name, the last one or another, holds the weight at a level. The attempt itself stays. */
bool exact_attempt_level(bool *holds, const struct exact_attempt *a, const struct encoder *e, enum exact_level level, struct err *err);

/* --- exact_refuse.c */

/* Fails for a weight that no name holds, after a->last was tried: sets the error and the witness of the job. */
bool exact_refuse(struct exact_attempt *a, struct err *err);

/* --- exact_choose.c */

/* Tries all names for the weight at a place of the choice, and adds its row. */
bool exact_choose(struct exact_job *job, size_t place, struct err *err);

/* Decides for a quantized weight for which no names are tried: it stays as it is stored if the output can hold that, and otherwise
 * becomes the first of bf16, f16 and f32 that holds it. */
bool exact_choose_type(struct exact_job *job, size_t place, struct err *err);

/* After a->last failed: tries the names after it in the list. a->row is the row of the weight. */
bool exact_choose_after(struct exact_attempt *a, struct err *err);

/* --- exact_share.c */

/* Gives weights that loaders concatenate one scale for all, where their encoder needs that; where no scale holds all of them, they
 * take later names of the list, or are refused. */
bool exact_share(struct exact_job *job, struct err *err);

#endif
