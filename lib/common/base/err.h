/* Layer base: what C lacks: errors, checked numbers, text, growing arrays, names, JSON, expressions, threads, signals. Knows
 * no file format, no weight type and no tool; prints nothing. Begin here; then cursor.h, num.h and str.h, which every reader
 * of a file uses. */

/* err: the only error type. The first failure is kept; it is set where the most is known about it.
 *
 * Functions that can fail return bool and take `struct err *` last. The caller provides the storage; nothing is owned.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum err_kind {
    ERR_NONE,
    ERR_USAGE,          /* the command line makes no sense */
    ERR_MALFORMED,      /* the bytes contradict the format or each other */
    ERR_OPEN,           /* an input cannot be opened */
    ERR_UNSUPPORTED,    /* valid and recognised, but cannot be decoded or represented */
    ERR_BUG,            /* internal error */
    ERR_CREATE,         /* the output cannot be created */
    ERR_IO,             /* a read or a write failed */
    ERR_LIMIT,          /* valid so far, but exceeds a limit */
    ERR_MEMORY,         /* out of memory */
    ERR_UNSAFE,         /* a pickle references a global that is not on the allowlist */
    ERR_INEXACT,        /* a weight cannot be encoded without changing a value */
    ERR_KINDS
};

enum { ERR_TEXT = 2048, ERR_FILE = 512 };
#define ERR_NO_OFFSET UINT64_MAX

struct err {
    enum err_kind kind;
    int sys;                    /* errno of the failed call, else 0 */
    uint64_t at;                /* byte offset in the file, or ERR_NO_OFFSET */
    char file[ERR_FILE];        /* name of the file for display, escaped; "" if none */
    char tensor[STR_SHOWN];     /* name of the tensor for display; "" if none */
    char text[ERR_TEXT];        /* what was found and what was expected; escaped, one line */
};

void err_init(struct err *err);

/* Records a failure, unless one is recorded already. Always returns false. The text is used as is, truncated at ERR_TEXT, so
 * names from a file must come through str_shown() (base/str.h). A format that begins with ERR_TENSOR or ERR_TENSORS sets
 * err->tensor to its first argument. Every failure about a tensor has such a format. */
bool err_set(struct err *err, enum err_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* err_set() at a byte offset of the file, which may be ERR_NO_OFFSET. */
bool err_at(struct err *err, enum err_kind kind, uint64_t at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
#define ERR_TENSOR "tensor %s: "
#define ERR_TENSORS "tensors %s and %s: "

/* err_at() with `before` at the beginning of the text; `format` sets the tensor here, too. */
bool err_vset(struct err *err, enum err_kind kind, uint64_t at, const char *before, const char *format, va_list args)
    __attribute__((format(printf, 5, 0)));

/* err_set() for a failed system call: appends the message of `sys`, an errno value, after ": " if there is any text. */
bool err_sys(struct err *err, enum err_kind kind, int sys, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Returns true if the errno value `sys` says that there is no such file, rather than that it cannot be accessed. */
bool err_absent(int sys);

/* err_set() with ERR_MEMORY for a failed allocation of n bytes. */
bool err_memory(struct err *err, uint64_t n);

/* Sets the file of a recorded failure, unless it has one. Copies `shown`. Returns false. */
bool err_in_file(struct err *err, const char *shown);

/* Returns the words for the error line: "malformed", "cannot open" ... */
const char *err_kind_name(enum err_kind kind);
/* Returns a single word for programs, which never changes: "malformed", "open" ... */
const char *err_kind_word(enum err_kind kind);

#endif
