/* Layer base: what C lacks: errors, checked numbers, text, growing arrays, names, JSON, expressions, threads, signals.
 * Knows no file format, no type of weights and no tool; prints nothing.
 * Begin here; then cursor.h, num.h and str.h, which every reader of a file uses. */

/* err: the one error type. The first failure is kept; whoever knows most sets it.
 *
 * What can fail returns bool and takes `struct err *` last. Storage is the caller's; nothing is owned.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum err_kind {
    ERR_NONE,
    ERR_USAGE,          /* the command line asks for something that makes no sense */
    ERR_MALFORMED,      /* the bytes contradict the format or each other */
    ERR_OPEN,           /* an input cannot be opened */
    ERR_UNSUPPORTED,    /* legal and recognised, but not decoded or not representable */
    ERR_BUG,            /* our own mistake */
    ERR_CREATE,         /* the output cannot be created */
    ERR_IO,             /* a read or a write failed */
    ERR_LIMIT,          /* well-formed so far, but more than the budget allows */
    ERR_MEMORY,         /* the system has no more of it */
    ERR_UNSAFE,         /* a pickle wants a global that is not on the allowlist */
    ERR_KINDS
};

enum { ERR_TEXT = 2048, ERR_FILE = 512 };
#define ERR_NO_OFFSET UINT64_MAX

struct err {
    enum err_kind kind;
    int sys;                    /* errno behind an I/O failure, else 0 */
    uint64_t at;                /* byte offset in the file, or ERR_NO_OFFSET */
    char file[ERR_FILE];        /* shown name of the file, escaped; "" when none */
    char tensor[STR_SHOWN];     /* shown name of the tensor; "" when it is about none */
    char text[ERR_TEXT];        /* what was found, what was expected; escaped, one line */
};

void err_init(struct err *err);

/* Keep this failure unless one is kept already. Always returns false. Names from a file must come
 * through str_shown() (base/str.h): the text is taken as it is, cut at ERR_TEXT.
 * `at` is the byte offset the failure is at, ERR_NO_OFFSET when there is none.
 * A format that begins with ERR_TENSOR, or ERR_TENSORS, tells by that which tensor the failure is about: its first
 * argument. So does every failure that is about one. */
bool err_set(struct err *err, enum err_kind kind, uint64_t at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
#define ERR_TENSOR "tensor %s: "
#define ERR_TENSORS "tensors %s and %s: "

/* err_set with `before` in front of the text; the tensor is told by `format` as well. */
bool err_vset(struct err *err, enum err_kind kind, uint64_t at, const char *before, const char *format, va_list args)
    __attribute__((format(printf, 5, 0)));

/* err_set for a failed system call: appends the text of `sys`, an errno value, behind ": " when there is any text. */
bool err_sys(struct err *err, enum err_kind kind, int sys, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Whether `sys` says that nothing is there under a name, rather than that it cannot be looked at. */
bool err_absent(int sys);

/* err_set ERR_MEMORY for a failed allocation of n bytes. */
bool err_memory(struct err *err, uint64_t n);

/* Name the file a kept failure is about, unless it is named already. `shown` is copied. Returns false. */
bool err_in_file(struct err *err, const char *shown);

/* "malformed", "cannot open" ...: what the error line says. */
const char *err_kind_name(enum err_kind kind);
/* "malformed", "open" ...: one word for programs, which never changes. */
const char *err_kind_word(enum err_kind kind);

#endif
