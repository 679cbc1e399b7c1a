#include "container/torch/pickle_ops.h"

#include <string.h>

#include "base/bytes.h"

static const struct pickle_op ops[256] = {
    [OP_MARK] = { "MARK", 0, ARG_NONE },
    [OP_EMPTY_TUPLE] = { "EMPTY_TUPLE", 1, ARG_NONE },
    [OP_STOP] = { "STOP", 0, ARG_NONE },
    [OP_POP] = { "POP", 0, ARG_NONE },
    [OP_POP_MARK] = { "POP_MARK", 1, ARG_NONE },
    [OP_DUP] = { "DUP", 0, ARG_NONE },
    [OP_BINBYTES] = { "BINBYTES", 3, ARG_BYTES_U32 },
    [OP_SHORT_BINBYTES] = { "SHORT_BINBYTES", 3, ARG_BYTES_U8 },
    [OP_FLOAT] = { "FLOAT", 0, ARG_LINE },
    [OP_BINFLOAT] = { "BINFLOAT", 1, ARG_DOUBLE },
    [OP_INT] = { "INT", 0, ARG_LINE },
    [OP_BININT] = { "BININT", 1, ARG_I32 },
    [OP_BININT1] = { "BININT1", 1, ARG_U8 },
    [OP_LONG] = { "LONG", 0, ARG_LINE },
    [OP_BININT2] = { "BININT2", 1, ARG_U16 },
    [OP_NONE] = { "NONE", 0, ARG_NONE },
    [OP_PERSID] = { "PERSID", 0, ARG_LINE },
    [OP_BINPERSID] = { "BINPERSID", 1, ARG_NONE },
    [OP_REDUCE] = { "REDUCE", 0, ARG_NONE },
    [OP_STRING] = { "STRING", 0, ARG_LINE },
    [OP_BINSTRING] = { "BINSTRING", 1, ARG_BYTES_I32 },
    [OP_SHORT_BINSTRING] = { "SHORT_BINSTRING", 1, ARG_BYTES_U8 },
    [OP_UNICODE] = { "UNICODE", 0, ARG_LINE },
    [OP_BINUNICODE] = { "BINUNICODE", 1, ARG_BYTES_U32 },
    [OP_EMPTY_LIST] = { "EMPTY_LIST", 1, ARG_NONE },
    [OP_APPEND] = { "APPEND", 0, ARG_NONE },
    [OP_BUILD] = { "BUILD", 0, ARG_NONE },
    [OP_GLOBAL] = { "GLOBAL", 0, ARG_LINES },
    [OP_DICT] = { "DICT", 0, ARG_NONE },
    [OP_APPENDS] = { "APPENDS", 1, ARG_NONE },
    [OP_GET] = { "GET", 0, ARG_LINE },
    [OP_BINGET] = { "BINGET", 1, ARG_U8 },
    [OP_INST] = { "INST", 0, ARG_LINES },
    [OP_LONG_BINGET] = { "LONG_BINGET", 1, ARG_U32 },
    [OP_LIST] = { "LIST", 0, ARG_NONE },
    [OP_OBJ] = { "OBJ", 1, ARG_NONE },
    [OP_PUT] = { "PUT", 0, ARG_LINE },
    [OP_BINPUT] = { "BINPUT", 1, ARG_U8 },
    [OP_LONG_BINPUT] = { "LONG_BINPUT", 1, ARG_U32 },
    [OP_SETITEM] = { "SETITEM", 0, ARG_NONE },
    [OP_TUPLE] = { "TUPLE", 0, ARG_NONE },
    [OP_SETITEMS] = { "SETITEMS", 1, ARG_NONE },
    [OP_EMPTY_DICT] = { "EMPTY_DICT", 1, ARG_NONE },
    [OP_PROTO] = { "PROTO", 2, ARG_U8 },
    [OP_NEWOBJ] = { "NEWOBJ", 2, ARG_NONE },
    [OP_EXT1] = { "EXT1", 2, ARG_U8 },
    [OP_EXT2] = { "EXT2", 2, ARG_U16 },
    [OP_EXT4] = { "EXT4", 2, ARG_I32 },
    [OP_TUPLE1] = { "TUPLE1", 2, ARG_NONE },
    [OP_TUPLE2] = { "TUPLE2", 2, ARG_NONE },
    [OP_TUPLE3] = { "TUPLE3", 2, ARG_NONE },
    [OP_NEWTRUE] = { "NEWTRUE", 2, ARG_NONE },
    [OP_NEWFALSE] = { "NEWFALSE", 2, ARG_NONE },
    [OP_LONG1] = { "LONG1", 2, ARG_BYTES_U8 },
    [OP_LONG4] = { "LONG4", 2, ARG_BYTES_I32 },
    [OP_SHORT_BINUNICODE] = { "SHORT_BINUNICODE", 4, ARG_BYTES_U8 },
    [OP_BINUNICODE8] = { "BINUNICODE8", 4, ARG_BYTES_U64 },
    [OP_BINBYTES8] = { "BINBYTES8", 4, ARG_BYTES_U64 },
    [OP_EMPTY_SET] = { "EMPTY_SET", 4, ARG_NONE },
    [OP_ADDITEMS] = { "ADDITEMS", 4, ARG_NONE },
    [OP_FROZENSET] = { "FROZENSET", 4, ARG_NONE },
    [OP_NEWOBJ_EX] = { "NEWOBJ_EX", 4, ARG_NONE },
    [OP_STACK_GLOBAL] = { "STACK_GLOBAL", 4, ARG_NONE },
    [OP_MEMOIZE] = { "MEMOIZE", 4, ARG_NONE },
    [OP_FRAME] = { "FRAME", 4, ARG_U64 },
    [OP_BYTEARRAY8] = { "BYTEARRAY8", 5, ARG_BYTES_U64 },
    [OP_NEXT_BUFFER] = { "NEXT_BUFFER", 5, ARG_NONE },
    [OP_READONLY_BUFFER] = { "READONLY_BUFFER", 5, ARG_NONE },
};

const struct pickle_op *
pickle_op(uint8_t byte)
{
    return &ops[byte];
}

/* Finds the line at p[0..n); false if it has no line feed. */
static bool
take_line(const uint8_t **text, uint64_t *len, const uint8_t *p, size_t n, size_t *size)
{
    const uint8_t *end = NULL;
    if (n != 0)
        end = memchr(p, '\n', n);
    if (!end)
        return false;
    *text = p;
    *len = (uint64_t)(end - p);
    *size += (size_t)(end - p) + 1;
    return true;
}

/* Bytes of the number that is the argument, or begins it. */
static const uint8_t number_size[] = {
    [ARG_U8] = 1, [ARG_U16] = 2, [ARG_I32] = 4, [ARG_U32] = 4, [ARG_U64] = 8, [ARG_DOUBLE] = 8, [ARG_BYTES_U8] = 1,
    [ARG_BYTES_I32] = 4, [ARG_BYTES_U32] = 4, [ARG_BYTES_U64] = 8,
};

static uint64_t
number_at(const uint8_t *p, enum pickle_arg arg)
{
    switch (number_size[arg]) {
    case 1:
        return *p;
    case 2:
        return load_le16(p);
    case 4:
        if (arg == ARG_I32 || arg == ARG_BYTES_I32)
            return (uint64_t)(int64_t)(int32_t)load_le32(p);
        return load_le32(p);
    default:
        if (arg == ARG_DOUBLE)
            return load_be64(p);
        return load_le64(p);
    }
}

enum pickle_step_end
pickle_op_next(struct pickle_step *step, const uint8_t *p, size_t n)
{
    *step = (struct pickle_step){ .size = 1 };
    if (n == 0)
        return STEP_CUT;
    step->byte = *p;
    if (!ops[*p].name)
        return STEP_UNKNOWN;
    enum pickle_arg arg = ops[*p].arg;
    if (arg == ARG_LINE || arg == ARG_LINES) {
        if (take_line(&step->text, &step->text_len, p + 1, n - 1, &step->size) && (arg == ARG_LINE
            || take_line(&step->second, &step->second_len, p + step->size, n - step->size, &step->size)))
            return STEP_WHOLE;
        step->text_len = 0;
        return STEP_CUT;
    }
    if (arg == ARG_NONE)
        return STEP_WHOLE;
    step->size += number_size[arg];
    if (step->size > n)
        return STEP_CUT;
    step->number = number_at(p + 1, arg);
    if (arg < ARG_BYTES_U8)
        return STEP_WHOLE;
    if (arg == ARG_BYTES_I32 && (int64_t)step->number < 0)
        return STEP_NEGATIVE;
    step->text = p + step->size;
    step->text_len = step->number;
    if (step->number > n - step->size)
        return STEP_CUT;
    step->size += (size_t)step->number;
    return STEP_WHOLE;
}

size_t
pickle_length(const uint8_t *p, size_t n, size_t *from)
{
    struct pickle_step step;
    enum pickle_step_end end;
    while ((end = pickle_op_next(&step, p + *from, n - *from)) == STEP_WHOLE) {
        *from += step.size;
        if (step.byte == OP_STOP)
            return *from;
    }
    if (end == STEP_CUT)
        return 0;
    return *from + 1;
}
