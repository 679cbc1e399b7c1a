/* pickle_scan_priv: the symbolic machine of a scan: scan_stack.c has its stack and memo, scan_text.c its texts,
 * pickle_scan.c the opcodes. */
#ifndef SCAN_PICKLE_SCAN_PRIV_H
#define SCAN_PICKLE_SCAN_PRIV_H

#include "base/str.h"
#include "base/table.h"
#include "container/torch/pickle_ops.h"
#include "scan/pickle_scan.h"

/* Limits on what is tracked, beyond which values are unknown, and on what is listed. */
enum {
    STACK_MAX = 1 << 20, MEMO_MAX = 1 << 20, LISTED_MAX = 1 << 16,
    NAME_CUT = 1025,            /* one byte more than the longest name that dangerous_verdict() accepts */
    TEXTS_MAX = 64 << 20
};

/* What is known about a value. */
enum scan_kind {
    UNKNOWN,                    /* nothing */
    MARK,
    OTHER,                      /* not a text, global or tuple */
    TEXT, TEXT_RAW, TEXT_QUOTED,        /* bytes [a, a + b) of the pickle: verbatim, of UNICODE, of STRING */
    GLOBAL,                     /* finding a, or an unlisted one */
    TUPLE,                      /* its first item has the kind `first`, and its a and b */
    CALL                        /* the result of a call */
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
    bool lost;                  /* the stack exceeded its limit, and is unknown since */
    struct memo *memo;          /* owned */
    size_t nmemo, memo_room;
    struct table by_index;      /* of memo */
    bool memo_lost;             /* like `lost`, for the memo */
    struct table by_name;       /* of findings */
    struct str texts;           /* of findings: opcode, module, LF, name; NUL if unknown */
    struct str module, name;    /* scratch */
    uint64_t gets, puts, dups, ops_but_proto;
    uint8_t last_number;        /* the previous opcode if it was a number, else 0 */
};

/* Counts an oddity at the current opcode. */
void scan_odd(struct scan_machine *m, enum pickle_oddity which);

/* Pushes an item. Beyond the limit the stack is dropped, which is reported once. */
bool scan_push(struct scan_machine *m, struct item item);
bool scan_push_kind(struct scan_machine *m, enum scan_kind kind, uint64_t depth);

/* Returns the top item, or NULL if it is unknown. Valid until the next push. */
struct item *scan_top(struct scan_machine *m);
struct item scan_pop(struct scan_machine *m);

/* Pops everything down to the last mark, and the mark. Sets *items and *n to the items, valid until the next push, and
 * returns their greatest depth. */
uint32_t scan_pop_mark(struct scan_machine *m, const struct item **items, size_t *n);

/* Pushes a tuple of items[0..n), whose greatest depth is `depth`. */
bool scan_push_tuple(struct scan_machine *m, const struct item *items, size_t n, uint32_t depth);

/* Runs TUPLE1 to TUPLE3. */
bool scan_make_tuple(struct scan_machine *m, size_t n);

/* Notes that the container on top received a value of this depth. */
void scan_deepen(struct scan_machine *m, uint32_t depth);
void scan_deepen_from_mark(struct scan_machine *m);

/* Run POP, which also drops a mark, and POP_MARK. */
void scan_drop_top(struct scan_machine *m);
void scan_drop_to_mark(struct scan_machine *m);

/* Store the top in the memo under an index, and push the item stored there. */
bool scan_put(struct scan_machine *m, uint64_t index);
bool scan_get(struct scan_machine *m, uint64_t index);

/* Runs PUT or GET, whose index is a decimal text. */
bool scan_put_or_get_text(struct scan_machine *m, const struct pickle_step *step);

/* Texts: set *out to an item's text as UTF-8 (false if it is not a text); push a text; check whether a string holds a
 * pickle. */
bool scan_text_of(struct scan_machine *m, struct str *out, const struct item *item);
bool scan_push_text(struct scan_machine *m, enum scan_kind kind, const struct pickle_step *step);
void scan_look_inside(struct scan_machine *m, const struct pickle_step *step);

#endif
