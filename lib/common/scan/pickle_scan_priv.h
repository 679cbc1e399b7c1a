/* pickle_scan_priv: the symbolic machine of a scan: scan_stack.c has its stack and memo, scan_text.c its texts, pickle_scan.c
 * the opcodes. */
#ifndef SCAN_PICKLE_SCAN_PRIV_H
#define SCAN_PICKLE_SCAN_PRIV_H

#include "base/str.h"
#include "base/table.h"
#include "container/torch/pickle_ops.h"
#include "scan/pickle_scan.h"

/* What is tracked, beyond which values are unknown, and what is listed. */
enum {
    STACK_MAX = 1 << 20, MEMO_MAX = 1 << 20, LISTED_MAX = 1 << 16,
    NAME_CUT = 1025,            /* one byte more than dangerous_verdict() takes for a name */
    TEXTS_MAX = 64 << 20
};

/* What can be said of a value. */
enum scan_kind {
    UNKNOWN,                    /* nothing */
    MARK,
    OTHER,                      /* it is no text, no global and no tuple */
    TEXT, TEXT_RAW, TEXT_QUOTED,        /* bytes [a, a + b) of the pickle: as they are, of UNICODE, of STRING */
    GLOBAL,                     /* finding a, or one that is not listed */
    TUPLE,                      /* whose first item is `first`, with a and b of that */
    CALL                        /* what a call returned */
};
enum { UNLISTED = UINT32_MAX };

struct item {
    uint8_t kind, first;        /* enum scan_kind */
    uint32_t a, b;
    uint32_t depth;
};

struct memo {
    uint64_t index;
    struct item item;
};

struct scan_machine {
    struct pickle_scan *scan;
    const struct window *window;
    struct err *err;
    size_t at;                  /* of the opcode */
    struct item *stack;         /* n of them; owned */
    size_t n, room, marks;
    bool lost;                  /* the stack went over its limit: from then on it is unknown */
    struct memo *memo;          /* owned */
    size_t nmemo, memo_room;
    struct table by_index;      /* of memo */
    bool memo_lost;             /* the same of the memo */
    struct table by_name;       /* of findings */
    struct str texts;           /* of findings: opcode, module, LF, name; NUL for what cannot be told */
    struct str module, name;    /* scratch */
    uint64_t gets, puts, dups, ops_but_proto;
    uint8_t last_number;        /* the opcode before, when it was a number, else 0 */
};

/* One more of an oddity, at the opcode. */
void scan_odd(struct scan_machine *m, enum pickle_oddity which);

/* Notes that Python stops at this opcode. */
void scan_fatal(struct scan_machine *m);

/* Onto the stack; what is too much is lost, and told once. */
bool scan_push(struct scan_machine *m, struct item item);
bool scan_push_kind(struct scan_machine *m, enum scan_kind kind, uint64_t depth);

/* The top, or NULL when it is unknown; good until the next push. */
struct item *scan_top(struct scan_machine *m);
struct item scan_pop(struct scan_machine *m);

/* Take all down to the last mark, and the mark: the first of it at *items, how many at *n, how deep the deepest is. They are
 * good until the next push. */
uint32_t scan_pop_mark(struct scan_machine *m, const struct item **items, size_t *n);

/* A tuple of items[0..n), the deepest of which has this depth. */
bool scan_push_tuple(struct scan_machine *m, const struct item *items, size_t n, uint32_t depth);

/* TUPLE1 to TUPLE3. */
bool scan_make_tuple(struct scan_machine *m, size_t n);

/* The container on top got something of this depth. */
void scan_deepen(struct scan_machine *m, uint32_t depth);
void scan_deepen_from_mark(struct scan_machine *m);

/* POP, which drops a mark as well, and POP_MARK. */
void scan_drop_top(struct scan_machine *m);
void scan_drop_to_mark(struct scan_machine *m);

/* The memo: keep the top under an index, and push what is kept. */
bool scan_put(struct scan_machine *m, uint64_t index);
bool scan_get(struct scan_machine *m, uint64_t index);

/* The same by a decimal text. */
bool scan_put_or_get_text(struct scan_machine *m, const struct pickle_step *step);

/* Texts: what an item says as UTF-8, appended, false when it is no text; a text onto the stack; and whether bytes hold a
 * pickle of their own. */
bool scan_text_of(struct scan_machine *m, struct str *out, const struct item *item);
bool scan_push_text(struct scan_machine *m, enum scan_kind kind, const struct pickle_step *step);
void scan_look_inside(struct scan_machine *m, const struct pickle_step *step);

#endif
