/* exact_row: the outcome of an exact job for one weight. */
#ifndef EXACT_EXACT_ROW_H
#define EXACT_EXACT_ROW_H

#include "encode/exact.h"
#include "scheme/scheme.h"

/* A name that does not hold a weight. */
struct exact_tried {
    const char *scheme;                 /* static */
    enum exact_cause cause;
    uint64_t block;
};

struct exact_row {
    char *name;                         /* name_len bytes, then a NUL; owned */
    uint32_t name_len;
    size_t place;                       /* index in the choice before it is expanded */
    char from[SCHEME_WORD];
    const char *to;                     /* name of the encoder, or NULL; static */
    enum exact_level level;
    enum exact_way way;
    bool plain, kept, inexact, refused; /* not quantized; as it was; rounded; because no name holds it */
    bool no_input;                      /* has a scale of activations, which the scheme does not have */
    bool turned;                        /* matrices are transposed, compared with what transformers expects under the name */
    bool levels[EXACT_LEVELS];          /* at which it is exact; for reports only, like the next two */
    uint64_t blocks;                    /* 0: the scheme has none */
    bool e2m1;                          /* the source has E2M1 codes; number of those that are 8 */
    uint64_t code_8;
    uint64_t cols;                      /* of its rows, at least 1 */
    struct exact_tried *tried;          /* ntried; owned */
    size_t ntried;
};

/* The last three are in the order of enum exact_way. */
enum exact_state { EXACT_REFUSED, EXACT_KEPT, EXACT_INEXACT, EXACT_PLAIN, EXACT_BY_MOVE, EXACT_BY_HINT, EXACT_BY_SEARCH, EXACT_STATES };

enum exact_state exact_row_state(const struct exact_row *row);

/* Returns "moved", "hint" ... for programs, or "moved", "with the source's scales" ... for people; static. */
const char *exact_row_word(const struct exact_row *row);
const char *exact_row_phrase(enum exact_state state);

/* Adds a name that does not hold the weight. */
bool exact_row_add(struct exact_row *row, const struct exact_tried *tried, struct err *err);

void exact_row_clear(struct exact_row *row);

#endif
