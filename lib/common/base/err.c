#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

void
err_init(struct err *err)
{
    *err = (struct err){ .kind = ERR_NONE, .at = ERR_NO_OFFSET };
}

/* Records the failure and returns the length of its text, so that the caller can append. The
 * format, not the text, decides whether a tensor is named, because a name may contain anything. */
static size_t
err_keep(struct err *err, enum err_kind kind, const char *before, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    if (str_begins(format, ERR_TENSOR) || str_begins(format, ERR_TENSORS))
        snprintf(err->tensor, sizeof err->tensor, "%s", va_arg(again, const char *));
    va_end(again);
    snprintf(err->text, sizeof err->text, "%s", before);
    size_t n = strlen(err->text);
    vsnprintf(err->text + n, sizeof err->text - n, format, args);
    err->kind = kind;
    return n + strlen(err->text + n);
}

bool
err_vset(struct err *err, enum err_kind kind, uint64_t at, const char *before, const char *format, va_list args)
{
    if (err->kind != ERR_NONE)
        return false;
    err_keep(err, kind, before, format, args);
    err->at = at;
    return false;
}

bool
err_set(struct err *err, enum err_kind kind, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    err_vset(err, kind, ERR_NO_OFFSET, "", format, args);
    va_end(args);
    return false;
}

bool
err_at(struct err *err, enum err_kind kind, uint64_t at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    err_vset(err, kind, at, "", format, args);
    va_end(args);
    return false;
}

bool
err_sys(struct err *err, enum err_kind kind, int sys, const char *format, ...)
{
    if (err->kind != ERR_NONE)
        return false;
    va_list args;
    va_start(args, format);
    size_t n = err_keep(err, kind, "", format, args);
    va_end(args);
    snprintf(err->text + n, sizeof err->text - n, "%s%s", n ? ": " : "", strerror(sys));
    err->sys = sys;
    return false;
}

bool
err_absent(int sys)
{
    return sys == ENOENT || sys == ENOTDIR || sys == ELOOP || sys == ENAMETOOLONG;
}

bool
err_memory(struct err *err, uint64_t n)
{
    return err_set(err, ERR_MEMORY, "out of memory: cannot allocate %llu bytes",
        (unsigned long long)n);
}

bool
err_in_file(struct err *err, const char *shown)
{
    if (err->file[0] == '\0')
        snprintf(err->file, sizeof err->file, "%s", shown);
    return false;
}

static const struct {
    const char *name, *word;
} kinds[ERR_KINDS] = {
    [ERR_NONE] = { "none", "none" },
    [ERR_USAGE] = { "usage", "usage" },
    [ERR_MALFORMED] = { "malformed", "malformed" },
    [ERR_OPEN] = { "cannot open", "open" },
    [ERR_UNSUPPORTED] = { "unsupported", "unsupported" },
    [ERR_BUG] = { "internal error", "bug" },
    [ERR_CREATE] = { "cannot create", "create" },
    [ERR_IO] = { "input/output", "io" },
    [ERR_LIMIT] = { "limit", "limit" },
    [ERR_MEMORY] = { "limit", "memory" },
    [ERR_UNSAFE] = { "unsafe pickle", "unsafe" },
    [ERR_INEXACT] = { "inexact", "inexact" },
};

const char *
err_kind_name(enum err_kind kind)
{
    return kinds[kind < ERR_KINDS ? kind : ERR_BUG].name;
}

const char *
err_kind_word(enum err_kind kind)
{
    return kinds[kind < ERR_KINDS ? kind : ERR_BUG].word;
}
