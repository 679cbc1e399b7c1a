#include "container/numpy/npy_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"

bool
npy_bad(const struct npy_bytes *in, size_t i, struct err *err, enum err_kind kind, const char *format, ...)
{
    char text[ERR_TEXT], shown[STR_SHOWN];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return err_at(err, kind, in->at == ERR_NO_OFFSET ? ERR_NO_OFFSET : in->at + i, ERR_TENSOR "%s",
        str_shown(shown, in->name, in->name_len), text);
}

bool
npy_fail(const struct npy_text *t, enum err_kind kind, const char *what)
{
    return npy_bad(t->in, (size_t)(t->p - t->in->p), t->err, kind, "header: %s", what);
}

static bool
is_digit(const struct npy_text *t, size_t i)
{
    return (size_t)(t->end - t->p) > i && t->p[i] >= '0' && t->p[i] <= '9';
}

static bool
is_letter(const struct npy_text *t)
{
    return t->p < t->end && ((*t->p >= 'a' && *t->p <= 'z') || (*t->p >= 'A' && *t->p <= 'Z') || *t->p == '_');
}

static void
skip_blanks(struct npy_text *t)
{
    for (bool comment = false; t->p < t->end; t->p++) {
        if (*t->p == '#')
            comment = true;
        else if (*t->p == '\n')
            comment = false;
        else if (*t->p == '\0' || (!comment && !memchr(" \t\f\r", *t->p, 4)))
            return;
    }
}

static bool
read_text(struct npy_text *t)
{
    uint8_t quote = *t->p++;
    t->word = NPY_TEXT;
    t->from = t->p;
    while (t->p < t->end && *t->p != quote) {
        if (*t->p == '\\')
            return npy_fail(t, ERR_UNSUPPORTED, "a string with an escape sequence, which NumPy never writes");
        if (*t->p < 0x20)
            return npy_fail(t, ERR_MALFORMED, "unterminated string, or control characters in it");
        t->p++;
    }
    t->n = (size_t)(t->p - t->from);
    if (t->p == t->end)
        return npy_fail(t, ERR_MALFORMED, "unterminated string");
    t->p++;
    return true;
}

static bool
npy_words_read_number(struct npy_text *t)
{
    t->word = NPY_NUMBER;
    t->number = 0;
    if (*t->p == '0' && is_digit(t, 1))
        return npy_fail(t, ERR_MALFORMED, "a number with a leading 0");
    for (; is_digit(t, 0); t->p++)
        if (!num_mul(&t->number, t->number, 10) || !num_add(&t->number, t->number, *t->p - '0') || t->number > INT64_MAX)
            return npy_fail(t, ERR_MALFORMED, "number overflows 63 bits");
    if (t->longs && t->p < t->end && (*t->p == 'L' || *t->p == 'l'))
        t->p++;
    if (t->p < t->end && (*t->p == '.' || *t->p == 'e' || *t->p == 'E'))
        return npy_fail(t, ERR_MALFORMED, "a number with a fraction, expected an integer");
    if (t->p < t->end && (*t->p == '_' || (t->number == 0 && memchr("xXoObB", *t->p, 6))))
        return npy_fail(t, ERR_UNSUPPORTED, "a number not in decimal digits, which NumPy never writes");
    return !is_letter(t) || npy_fail(t, ERR_MALFORMED, "letters after a number");
}

bool
npy_next(struct npy_text *t)
{
    skip_blanks(t);
    t->from = t->p;
    t->mark = '\0';
    if (t->p == t->end) {
        t->word = NPY_END;
        return true;
    }
    if ((*t->p == 'u' || *t->p == 'U') && t->end - t->p > 1 && (t->p[1] == '\'' || t->p[1] == '"'))
        t->p++;                 /* Python 2 */
    if (*t->p == '\'' || *t->p == '"')
        return read_text(t);
    if (is_digit(t, 0))
        return npy_words_read_number(t);
    if (is_letter(t)) {
        t->word = NPY_NAME;
        while (is_letter(t) || is_digit(t, 0))
            t->p++;
        t->n = (size_t)(t->p - t->from);
        if (t->p < t->end && (*t->p == '\'' || *t->p == '"'))
            return npy_fail(t, ERR_UNSUPPORTED, "a string with a prefix, which NumPy never writes");
        return true;
    }
    if (*t->p == '+')
        return npy_fail(t, ERR_UNSUPPORTED, "a sign or an expression, which NumPy never writes");
    if (*t->p == '-')
        return npy_fail(t, ERR_MALFORMED, "a negative number, expected a size");
    if (!memchr("{}[](),:", *t->p, 8))
        return npy_fail(t, ERR_MALFORMED, "a character that cannot occur in a Python literal");
    t->word = NPY_MARK;
    t->mark = (char)*t->p++;
    return true;
}
