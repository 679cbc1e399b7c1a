/* pickle_ops: all pickle opcodes up to protocol 5, and the argument of each. Their effect is defined elsewhere. Source:
 * CPython, Lib/pickletools.py. */
#ifndef CONTAINER_TORCH_PICKLE_OPS_H
#define CONTAINER_TORCH_PICKLE_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pickle_opcode {
    OP_MARK = '(', OP_EMPTY_TUPLE = ')', OP_STOP = '.', OP_POP = '0', OP_POP_MARK = '1', OP_DUP = '2', OP_BINBYTES = 'B',
    OP_SHORT_BINBYTES = 'C', OP_FLOAT = 'F', OP_BINFLOAT = 'G', OP_INT = 'I', OP_BININT = 'J', OP_BININT1 = 'K',
    OP_LONG = 'L', OP_BININT2 = 'M', OP_NONE = 'N', OP_PERSID = 'P', OP_BINPERSID = 'Q', OP_REDUCE = 'R',
    OP_STRING = 'S', OP_BINSTRING = 'T', OP_SHORT_BINSTRING = 'U', OP_UNICODE = 'V', OP_BINUNICODE = 'X',
    OP_EMPTY_LIST = ']', OP_APPEND = 'a', OP_BUILD = 'b', OP_GLOBAL = 'c', OP_DICT = 'd', OP_APPENDS = 'e', OP_GET = 'g',
    OP_BINGET = 'h', OP_INST = 'i', OP_LONG_BINGET = 'j', OP_LIST = 'l', OP_OBJ = 'o', OP_PUT = 'p', OP_BINPUT = 'q',
    OP_LONG_BINPUT = 'r', OP_SETITEM = 's', OP_TUPLE = 't', OP_SETITEMS = 'u', OP_EMPTY_DICT = '}', OP_PROTO = 0x80,
    OP_NEWOBJ, OP_EXT1, OP_EXT2, OP_EXT4, OP_TUPLE1, OP_TUPLE2, OP_TUPLE3, OP_NEWTRUE, OP_NEWFALSE, OP_LONG1, OP_LONG4,
    OP_SHORT_BINUNICODE, OP_BINUNICODE8, OP_BINBYTES8, OP_EMPTY_SET, OP_ADDITEMS, OP_FROZENSET, OP_NEWOBJ_EX,
    OP_STACK_GLOBAL, OP_MEMOIZE, OP_FRAME, OP_BYTEARRAY8, OP_NEXT_BUFFER, OP_READONLY_BUFFER
};

/* The argument after an opcode byte: a number, a text up to a line feed, or bytes preceded by their count. All numbers are
 * little-endian except BINFLOAT's. */
enum pickle_arg {
    ARG_NONE, ARG_U8, ARG_U16, ARG_I32, ARG_U32, ARG_U64, ARG_DOUBLE, ARG_LINE, ARG_LINES, ARG_BYTES_U8, ARG_BYTES_I32,
    ARG_BYTES_U32, ARG_BYTES_U64
};

struct pickle_op {
    const char *name;           /* "BINPUT"; NULL: not an opcode */
    uint8_t protocol;           /* the first that has it */
    uint8_t arg;                /* enum pickle_arg */
};

/* Returns the facts of a byte; .name is NULL if it is not an opcode. */
const struct pickle_op *pickle_op(uint8_t byte);

/* One opcode and its argument. Texts are borrowed from the buffer. */
struct pickle_step {
    uint8_t byte;
    uint64_t number;            /* ARG_U8 to ARG_U64; for ARG_I32, an int64_t; for ARG_DOUBLE, its bits */
    const uint8_t *text;        /* ARG_LINE without the line feed, ARG_BYTES_* without their count */
    uint64_t text_len;
    const uint8_t *second;      /* the second line of ARG_LINES */
    uint64_t second_len;
    size_t size;                /* bytes of opcode and argument */
};

enum pickle_step_end {
    STEP_WHOLE,
    STEP_CUT,                   /* it extends beyond the buffer */
    STEP_UNKNOWN,               /* the byte is not an opcode */
    STEP_NEGATIVE               /* its byte count is negative: ->number, as int64_t */
};

/* Reads the opcode at the start of p[0..n). n may be 0, which gives STEP_CUT. Unless the result is STEP_WHOLE, only `byte`
 * is set, and `text_len` if a byte count was read whose bytes are cut off; else it is 0. */
enum pickle_step_end pickle_op_next(struct pickle_step *step, const uint8_t *p, size_t n);

/* Returns the length in bytes, STOP included, of the pickle at the start of p[0..n), judged by the lengths of its opcodes
 * alone; 0 if it extends beyond n bytes. An invalid opcode ends it too; running it reports the error. `*from`, 0 on the
 * first call, keeps the position reached, so that a call with more bytes continues there. */
size_t pickle_length(const uint8_t *p, size_t n, size_t *from);

#endif
