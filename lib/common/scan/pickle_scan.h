/* pickle_scan: finds what a pickle would import, call and hide, without doing it: one pass over its opcodes, with a stack
 * and a memo of what is known about values. Unlike the machine in container/torch/pickle.h, it knows every opcode and
 * continues after errors; only an invalid opcode, or the end, stops it. */
#ifndef SCAN_PICKLE_SCAN_H
#define SCAN_PICKLE_SCAN_H

#include "container/torch/dangerous.h"
#include "scan/window.h"

/* A global named by the pickle; equal ones share one finding. */
struct pickle_finding {
    uint64_t offset, count;     /* of its first opcode, from the start of the pickle; number of opcodes */
    const char *module, *name;  /* any bytes, at most 1025; borrowed from the scan; NULL: cannot be determined */
    size_t module_len, name_len;
    uint8_t opcode;             /* GLOBAL, INST, STACK_GLOBAL, EXT1 ... */
    uint8_t via;                /* the opcode that first calls it; 0: not called */
    enum verdict verdict;
    const char *why;            /* static; NULL if allowed */
    size_t text;                /* private */
};

enum pickle_oddity {
    ODD_SECOND_PROTO, ODD_LATE_PROTO, ODD_PROTOCOL, ODD_UNKNOWN_OPCODE, ODD_TRUNCATED, ODD_TOO_LARGE, ODD_AFTER_STOP,
    ODD_LEFT_ON_STACK, ODD_UNDERFLOW, ODD_NO_MARK, ODD_MEMO_UNSET, ODD_MEMO_GAP, ODD_MANY_GETS, ODD_EXPANSION, ODD_DUPS,
    ODD_UNUSED_CALL, ODD_EXTENSION, ODD_NESTED, ODD_BUFFER, ODD_PERSISTENT, ODD_FIRST_PICKLE, ODD_NUMBER, ODD_UNLISTED,
    ODD_UNTRACKED, ODDITIES
};

struct pickle_scan {
    struct pickle_finding *finding;     /* in the order of their opcodes; owned */
    size_t nfindings, room;
    uint64_t verdicts[VERDICTS];        /* number of findings by verdict, including those not listed */
    uint64_t unresolved;                /* dangerous ones whose name cannot be determined */
    struct { uint64_t count, offset; } odd[ODDITIES];   /* offset of the first */
    uint64_t length, opcodes;
    uint64_t depth;                     /* nesting of values; 1: none */
    uint64_t fatal;                     /* offset of the first opcode at which Python certainly fails, or UINT64_MAX */
    int protocol;                       /* the first one declared, or -1 */
    bool stopped;                       /* it ends with a STOP */
    bool plain_int;                     /* it is a single number */
    bool magic;                         /* that number is the magic of torch's stacked pickles */
    char *texts;                /* private; owned */
};

/* Scans the pickle at the start of the window, which afterwards holds all of it. Fails if the window fails, or without
 * memory. Clear the scan even after a failure. */
bool pickle_scan(struct pickle_scan *scan, struct window *window, struct err *err);
void pickle_scan_clear(struct pickle_scan *scan);

/* Counts an oddity at an offset. */
void pickle_scan_odd(struct pickle_scan *scan, enum pickle_oddity odd, uint64_t offset);

const char *pickle_oddity_code(enum pickle_oddity odd);         /* Returns the code of an oddity, such as "second_proto".
                                                                 * Codes never change. */
const char *pickle_oddity_phrase(enum pickle_oddity odd);

#endif
