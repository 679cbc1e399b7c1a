/* fill: words that become lines of 78 characters. A word waits until the next one begins, for more may belong to it. */
#ifndef AMN_FILL_H
#define AMN_FILL_H

#include "base/str.h"

/* A run of bytes that lie elsewhere. */
struct chars {
    const char *p;
    size_t n;
};

struct fill {
    struct str *out;            /* borrowed */
    struct str word;            /* owned: fill_clear */
    bool waiting;               /* there is a word that is not on a line yet, perhaps an empty one */
    bool joined;                /* what comes belongs to it */
    bool kept;                  /* it too, behind a space: words that stay together */
    bool literal;               /* lines are not broken */
    bool blank;                 /* an empty line is due before the next word */
    size_t column;              /* characters on the line; 0: none yet */
    size_t indent;              /* where lines begin; less is filled up to it */
};

void fill_clear(struct fill *f);

/* A word, or the rest of one when that is joined. Escapes of roff become what they stand for, and control characters are
 * shown escaped. */
void fill_word(struct fill *f, struct chars text);
/* What is always joined to the word before it. */
void fill_join(struct fill *f, const char *text);

/* The word that waits is complete. */
void fill_place(struct fill *f);
/* So is the line. */
void fill_end_line(struct fill *f);

/* Lines begin at this column from now on, or at one that leaves room for text. */
void fill_indent(struct fill *f, size_t column);

#endif
