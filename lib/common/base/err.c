#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void
err_init(struct err *err)
{
    *err = (struct err){ .kind = ERR_NONE, .at = ERR_NO_OFFSET };
}

/* Keep the failure; the text goes on behind what it returns, the number of bytes written. */
static size_t
keep(struct err *err, enum err_kind kind, const char *format, va_list args)
{
    int n = vsnprintf(err->text, sizeof err->text, format, args);
    err->kind = kind;
    return n < 0 ? 0 : (size_t)n < sizeof err->text ? (size_t)n : sizeof err->text - 1;
}

bool
err_set(struct err *err, enum err_kind kind, uint64_t at, const char *format, ...)
{
    if (err->kind != ERR_NONE)
        return false;
    va_list args;
    va_start(args, format);
    keep(err, kind, format, args);
    va_end(args);
    err->at = at;
    return false;
}

bool
err_sys(struct err *err, enum err_kind kind, int sys, const char *format, ...)
{
    if (err->kind != ERR_NONE)
        return false;
    va_list args;
    va_start(args, format);
    size_t n = keep(err, kind, format, args);
    va_end(args);
    snprintf(err->text + n, sizeof err->text - n, "%s%s", n ? ": " : "", strerror(sys));
    err->sys = sys;
    return false;
}

bool
err_memory(struct err *err, uint64_t n)
{
    return err_set(err, ERR_LIMIT, ERR_NO_OFFSET, "memory: %llu bytes cannot be allocated",
        (unsigned long long)n);
}

bool
err_in_file(struct err *err, const char *shown)
{
    if (err->file[0] == '\0')
        snprintf(err->file, sizeof err->file, "%s", shown);
    return false;
}

const char *
err_kind_name(enum err_kind kind)
{
    static const char *const names[ERR_KINDS] = {
        [ERR_NONE] = "none",           [ERR_USAGE] = "usage",       [ERR_MALFORMED] = "malformed",
        [ERR_OPEN] = "cannot open",    [ERR_UNSUPPORTED] = "unsupported", [ERR_BUG] = "bug",
        [ERR_CREATE] = "cannot create", [ERR_IO] = "input/output",  [ERR_LIMIT] = "limit",
        [ERR_UNSAFE] = "unsafe pickle",
    };
    return kind < ERR_KINDS ? names[kind] : "bug";
}
