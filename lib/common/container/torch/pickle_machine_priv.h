/* What the files of the pickle machine share. */
#ifndef CONTAINER_TORCH_PICKLE_MACHINE_PRIV_H
#define CONTAINER_TORCH_PICKLE_MACHINE_PRIV_H

#include "container/torch/pickle_priv.h"
#include "source/source.h"

/* The bytes of a pickle: in memory, or read from a source as they are needed. */
struct pickle_feed {
    const uint8_t *memory;      /* size bytes, or NULL: src; borrowed */
    struct source *src;
    uint64_t size;
    /* private */
    const uint8_t *p;           /* the next n bytes */
    size_t n;
    uint64_t left;              /* bytes after them */
    uint8_t *bytes;             /* the window; owned */
    size_t room;
};

/* Goes to the first byte. Clear it at the end. */
void pickle_feed_start(struct pickle_feed *f);
void pickle_feed_clear(struct pickle_feed *f);

/* Reads the next opcode, like pickle_op_next(). Texts are valid until the next call. */
bool pickle_feed_next(struct pickle_feed *f, struct pickle_step *step, enum pickle_step_end *end, struct budget *budget, struct err *err);
void pickle_feed_skip(struct pickle_feed *f, size_t n);

/* The memo of a pickle with a taker has only the entries that the pickle reads, which are few. */
struct pickle_memo {
    bool on;                    /* there is a taker */
    uint64_t *read;             /* the numbers of nread entries, sorted; owned */
    size_t nread, room_read;
    uint64_t dense;             /* entries below this one have been set */
    uint64_t *set;              /* a bit for each entry that has been set after that; nset words; owned */
    size_t nset;
};

struct pickle_machine {
    struct pickle *k;
    struct err *err;
    struct pickle_feed *feed;
    struct pickle_step step;            /* the current opcode */
    uint64_t nops;
    struct pickle_value **stack;
    size_t nstack, room_stack;
    size_t *mark;                       /* stack heights */
    size_t nmarks, room_marks;
    struct pickle_value **memo;         /* NULL: not set */
    size_t nmemo, room_memo;            /* nmemo: entries that are set */
    struct pickle_memo few;             /* empty without a taker */
    struct heap_mark object[8];         /* nobjects that have no state yet, the newest last */
    size_t nobjects;
};

/* Fails at the current opcode. */
bool pickle_fail(struct pickle_machine *m, enum err_kind kind, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* --- the stack, in pickle.c */

/* Takes NULL, for a value that could not be made. */
bool pickle_push(struct pickle_machine *m, struct pickle_value *v);

/* Fails if there are fewer than n values above the last mark. */
bool pickle_has(struct pickle_machine *m, size_t n);

struct pickle_value *pickle_top(const struct pickle_machine *m, size_t below);

/* Removes the last mark and returns the *n values above it, valid until the next push. NULL: no mark. */
struct pickle_value **pickle_take_mark(struct pickle_machine *m, size_t *n);

/* Replaces the top n values by one. */
bool pickle_replace(struct pickle_machine *m, size_t n, struct pickle_value *v);

typedef bool pickle_opcode(struct pickle_machine *m);

/* --- opcodes of the memo, in pickle_memo.c */

pickle_opcode pickle_memo_put, pickle_memo_next, pickle_memo_get;

/* Finds the entries that a pickle reads. */
bool pickle_memo_survey(struct pickle_memo *memo, struct pickle_feed *f, struct budget *budget, struct err *err);

/* --- opcodes of plain values and containers, in pickle_values.c */

pickle_opcode pickle_values_none, pickle_values_bool, pickle_values_int, pickle_values_long, pickle_values_float,
    pickle_values_bytes, pickle_values_text, pickle_values_tuple_n, pickle_values_tuple,
    pickle_values_container, pickle_values_append, pickle_values_appends, pickle_values_setitem, pickle_values_setitems;

/* Returns true for UTF-8, and for the lone surrogates that Python may write, which set *odd. */
bool pickle_values_is_text(const uint8_t *p, uint64_t n, bool *odd);

/* Stores a value in an opaque object, in no particular place. */
bool pickle_keep(struct pickle_machine *m, struct pickle_value *object, struct pickle_value *value);

#endif
