/* Private to exact*.c. */
#ifndef COMMAND_EXACT_PRIV_H
#define COMMAND_EXACT_PRIV_H

#include "command/command_priv.h"
#include "command/exact.h"
#include "exact/exact_try.h"

/* A weight while names are tried. */
struct exact_attempt {
    struct command *cmd;
    struct pipeline *p;
    struct choice *choice;
    size_t place;
    bool quantized;
    struct chosen trial;
    struct exact_terms *terms;          /* live as long as the catalog */
    struct exact_outcome out;           /* of the last name */
    struct encode_options how;          /* with which it was tried */
    const struct encoder *last;         /* the last name */
    const char *why;                    /* for EXACT_LAYOUT; static */
    const char *shares;                 /* the last name fails only because loaders give the weight one scale with this one; or NULL */
    const unsigned *owned;              /* of reduction_count_owned(); NULL: weights are not compared with it */
    bool stored;                        /* the weight is stored as the last name would encode it */
};

/* Sets a->terms for a->trial. */
bool exact_terms_find(struct exact_attempt *a, struct err *err);

/* Returns the row of a weight that was tried, by its index in the choice. */
struct exact_row *exact_row_of(struct command *cmd, size_t place);

/* Begins an attempt for the weight at a->place, of which the caller has set nothing else but the first members. */
bool exact_begin(struct exact_attempt *a, struct err *err);

/* Tries a name; out.fail.cause is EXACT_HOLDS if it holds the weight. */
bool exact_try_name(struct exact_attempt *a, const struct encoder *e, struct err *err);

/* After a name failed: tries those after it in the list. */
bool exact_choose_after(struct exact_attempt *a, struct exact_row *row, const struct encoder *e, struct err *err);

/* Gives weights that loaders concatenate one scale for all, where their encoder needs that; where no scale holds all of them, they
 * take later names of the list, or are refused. */
bool exact_share(struct command *cmd, struct pipeline *p, struct choice *choice, struct err *err);

/* Sets *holds to whether a name, the last one or another, holds the weight at a level. */
bool exact_try_level(bool *holds, const struct exact_attempt *a, const struct encoder *e, enum exact_level level, struct err *err);

/* Fails for a weight that no name holds. */
bool exact_refuse(struct command *cmd, struct exact_attempt *a, struct err *err);

#endif
