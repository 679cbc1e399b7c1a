/* pickle_scan: what a pickle would import, call and hide, without doing any of it: one pass over its opcodes, with a stack
 * and a memo of what can be said of values. Unlike the machine of container/pickle.h it knows every opcode, and goes on
 * over all that is wrong: only an opcode that there is not, or the end, ends it. */
#ifndef SCAN_PICKLE_SCAN_H
#define SCAN_PICKLE_SCAN_H

#include "scan/dangerous.h"
#include "scan/window.h"

/* A global that is named; equal ones are one. */
struct pickle_finding {
    uint64_t offset, count;     /* of its first opcode, from the start of the pickle; how often it is named */
    const char *module, *name;  /* any bytes, cut at 1025; borrowed from the scan; NULL: what they are cannot be told */
    size_t module_len, name_len;
    uint8_t opcode;             /* GLOBAL, INST, STACK_GLOBAL, EXT1 ... */
    uint8_t via;                /* the opcode that calls it first, or 0: it is not called */
    enum verdict verdict;
    const char *why;            /* static, or NULL when it is allowed */
    size_t text;                /* inside */
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
    uint64_t verdicts[VERDICTS];        /* findings of each verdict; and those beyond what is listed */
    uint64_t unresolved;                /* of the dangerous ones, those that cannot be told */
    struct { uint64_t count, offset; } odd[ODDITIES];   /* the offset of the first */
    uint64_t length, opcodes;
    uint64_t depth;                     /* of values in values; 1: in nothing */
    uint64_t fatal;                     /* offset of the first opcode at which Python stops for sure, or UINT64_MAX */
    int protocol;                       /* the first that it declares, or -1 */
    bool stopped;                       /* by STOP */
    bool plain_int;                     /* it is one number, and nothing else */
    bool magic;                         /* the number that stacked pickles of torch begin with */
    char *texts;                /* inside; owned */
};

/* Scan the pickle that the window begins with; it holds all of it afterwards. Fails when the window does, or without
 * memory. Clear it also after a failure. */
bool pickle_scan(struct pickle_scan *scan, struct window *window, struct err *err);
void pickle_scan_clear(struct pickle_scan *scan);

/* One more of an oddity, at this offset. */
void pickle_scan_odd(struct pickle_scan *scan, enum pickle_oddity odd, uint64_t offset);

const char *pickle_oddity_code(enum pickle_oddity odd);         /* "second_proto": never changes */
const char *pickle_oddity_phrase(enum pickle_oddity odd);

#endif
