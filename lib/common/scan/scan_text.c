#include "scan/pickle_scan_priv.h"

#include <string.h>

#include "base/num.h"

static void
add_char(struct str *out, uint32_t c)
{
    char utf8[4];
    size_t n = 1u + (c >= 0x80) + (c >= 0x800) + (c >= 0x10000);
    if (n == 1)
        utf8[0] = (char)c;
    for (size_t i = n; n > 1 && i-- > 0; c >>= 6)
        utf8[i] = (char)(i != 0 ? 0x80 | (c & 0x3F) : ((0xF00 >> n) & 0xFF) | c);
    str_add(out, utf8, n);
}

/* Reads `digits` hexadecimal digits of p[0..n). */
static bool
hex(uint32_t *c, const uint8_t *p, size_t n, size_t digits)
{
    *c = 0;
    if (n < digits)
        return false;
    for (size_t i = 0; i < digits; i++) {
        const char *all = "0123456789abcdef0123456789ABCDEF", *d = p[i] ? strchr(all, p[i]) : NULL;
        if (!d)
            return false;
        *c = *c << 4 | (uint32_t)((d - all) & 15);
    }
    return true;
}

/* Appends the text of UNICODE, raw-unicode-escape: \uXXXX and \UXXXXXXXX; every other byte is Latin-1. */
static void
add_raw(struct str *out, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n && out->len <= NAME_CUT; i++) {
        uint32_t c = p[i];
        size_t digits = 0;
        if (i + 1 < n && p[i] == '\\')
            digits = p[i + 1] == 'u' ? 4 : p[i + 1] == 'U' ? 8 : 0;
        if (digits != 0 && hex(&c, p + i + 2, n - i - 2, digits) && c < 0x110000) {
            i += 1 + digits;
        } else if (p[i] == '\\' && i + 1 < n) {
            add_char(out, p[i++]);
            c = p[i];
        } else {
            c = p[i];
        }
        add_char(out, c);
    }
}

/* Decodes one escape of STRING, after its backslash. Returns its length in bytes; 0 if it is not an escape. */
static size_t
escape(uint32_t *c, const uint8_t *p, size_t n)
{
    static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
    const char *plain = NULL;
    if (n != 0 && *p)
        plain = strchr(from, *p);
    if (plain) {
        *c = (uint8_t)to[plain - from];
        return 1;
    }
    if (n != 0 && *p == 'x')
        return hex(c, p + 1, n - 1, 2) ? 3 : 0;
    size_t digits = 0;
    for (*c = 0; digits < 3 && digits < n && p[digits] >= '0' && p[digits] <= '7'; digits++)
        *c = *c << 3 | (uint32_t)(p[digits] - '0');
    *c &= 0xFF;
    return digits;
}

/* Appends the text of STRING: quoted, with Python's escapes. */
static void
add_quoted(struct str *out, const uint8_t *p, size_t n)
{
    while (n != 0 && memchr(" \t\r\f\v", p[n - 1], 5))
        n--;
    if (n >= 2 && (*p == '\'' || *p == '"') && p[n - 1] == *p)
        p++, n -= 2;
    for (size_t i = 0; i < n && out->len <= NAME_CUT; i++) {
        uint32_t c = p[i];
        if (c == '\\')
            i += escape(&c, p + i + 1, n - i - 1);
        char byte = (char)c;
        str_add(out, &byte, 1);
    }
}

bool
scan_text_of(struct scan_machine *m, struct str *out, const struct item *item)
{
    out->len = 0;
    const uint8_t *p = m->window->p + item->a;
    if (item->kind == TEXT)
        str_add(out, (const char *)p, (size_t)num_min(item->b, NAME_CUT));
    else if (item->kind == TEXT_RAW)
        add_raw(out, p, item->b);
    else if (item->kind == TEXT_QUOTED)
        add_quoted(out, p, item->b);
    else
        return false;
    return true;
}

bool
scan_push_text(struct scan_machine *m, enum scan_kind kind, const struct pickle_step *step)
{
    size_t at = (size_t)(step->text - m->window->p);
    return scan_push(m, (struct item){ .kind = (uint8_t)kind, .a = (uint32_t)at, .b = (uint32_t)step->text_len, .depth = 1 });
}

/* A string counts as a pickle if three opcodes can be read from it. */
void
scan_look_inside(struct scan_machine *m, const struct pickle_step *step)
{
    const uint8_t *p = step->text;
    size_t n = (size_t)step->text_len;
    if (n < 2 || p[0] != OP_PROTO || p[1] > 5)
        return;
    struct pickle_step inner;
    for (unsigned i = 0; i < 3; i++, p += inner.size, n -= inner.size)
        if (pickle_op_next(&inner, p, n) != STEP_WHOLE)
            return;
    scan_odd(m, ODD_NESTED);
}
