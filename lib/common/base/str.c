#include "base/str.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"

void
str_clear(struct str *s)
{
    free(s->p);
    *s = (struct str){ 0 };
}

static bool
reserve(struct str *s, size_t n)
{
    if (!s->failed && s->max != 0 && n > s->max - s->len)
        s->failed = s->full = true;
    if (s->failed)
        return false;
    if (s->p && n < s->room - s->len)
        return true;
    size_t room = 64;
    if (s->room)
        room = s->room;
    while (room - s->len <= n) {
        if (room > SIZE_MAX / 2) {
            s->failed = true;
            return false;
        }
        room *= 2;
    }
    if (s->max != 0 && room > s->max + 1)
        room = s->max + 1;
    char *p = realloc(s->p, room);
    if (!p) {
        s->failed = true;
        return false;
    }
    s->p = p;
    s->room = room;
    return true;
}

void
str_add(struct str *s, const char *p, size_t n)
{
    if (!reserve(s, n))
        return;
    if (n != 0)
        memcpy(s->p + s->len, p, n);
    s->len += n;
    s->p[s->len] = '\0';
}

void
str_text(struct str *s, const char *text)
{
    str_add(s, text, strlen(text));
}

void
str_format(struct str *s, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    size_t left = 0;
    if (s->p && !s->failed)
        left = s->room - s->len;
    int n = vsnprintf(left ? s->p + s->len : NULL, left, format, args);
    va_end(args);
    if (n >= 0 && reserve(s, (size_t)n)) {
        if ((size_t)n >= left)          /* the text was truncated; now there is room */
            vsnprintf(s->p + s->len, (size_t)n + 1, format, again);
        s->len += (size_t)n;
    } else if (left) {
        s->p[s->len] = '\0';
    }
    va_end(again);
}

int
str_compare(const char *a, size_t na, const char *b, size_t nb)
{
    size_t n = (size_t)num_min(na, nb);
    int by = 0;
    if (n != 0)
        by = memcmp(a, b, n);
    if (by)
        return by;
    return (na > nb) - (na < nb);
}

bool
str_ends(const char *text, const char *suffix)
{
    size_t n = strlen(text);
    return str_strip(text, &n, suffix);
}

bool
str_strip(const char *p, size_t *n, const char *suffix)
{
    size_t len = strlen(suffix);
    if (*n < len || (len != 0 && p[*n - 1] != suffix[len - 1]) || memcmp(p + *n - len, suffix, len) != 0)
        return false;
    *n -= len;
    return true;
}

size_t
str_utf8_char(const char *text, size_t n, uint32_t *code)
{
    const uint8_t *p = (const uint8_t *)text;
    if (n == 0)
        return 0;
    if (p[0] < 0x80) {
        *code = p[0];
        return 1;
    }
    static const struct { uint8_t mask, lead; uint32_t least; } forms[] = {
        { 0xE0, 0xC0, 0x80 }, { 0xF0, 0xE0, 0x800 }, { 0xF8, 0xF0, 0x10000 },
    };
    for (size_t i = 0; i < 3; i++) {
        if ((p[0] & forms[i].mask) != forms[i].lead)
            continue;
        size_t len = i + 2;
        if (len > n)
            return 0;
        uint32_t c = p[0] & (uint8_t)~forms[i].mask;
        for (size_t k = 1; k < len; k++) {
            if ((p[k] & 0xC0) != 0x80)
                return 0;
            c = c << 6 | (p[k] & 0x3F);
        }
        if (c < forms[i].least || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
            return 0;
        *code = c;
        return len;
    }
    return 0;
}

bool
str_is_utf8(const char *p, size_t n)
{
    while (n != 0) {
        uint32_t code;
        size_t len = str_utf8_char(p, n, &code);
        if (len == 0)
            return false;
        p += len;
        n -= len;
    }
    return true;
}

/* Returns true for characters that move the cursor, are invisible, or reorder text on a terminal. */
static bool
is_hazard(uint32_t c)
{
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E)
        || (c >= 0x2060 && c <= 0x2069) || c == 0xFEFF;
}

/* Room for a UTF-8 character, or the longest escape, "\\u{10ffff}", and a NUL. */
enum { ESCAPED = 12 };

/* Escapes the character at p[0..n) into *len bytes. Returns the length of the character. */
static size_t
escape_char(char out[ESCAPED], size_t *len, const char *p, size_t n)
{
    uint32_t code;
    size_t took = str_utf8_char(p, n, &code);
    if (took != 0 && !is_hazard(code)) {
        memcpy(out, p, took);
        *len = took;
        return took;
    }
    if (took == 0)
        *len = (size_t)snprintf(out, ESCAPED, "\\x%02x", (uint8_t)p[0]);
    else
        *len = (size_t)snprintf(out, ESCAPED, "\\u{%x}", (unsigned)code);
    if (took)
        return took;
    return 1;
}

void
str_add_escaped(struct str *s, const char *p, size_t n)
{
    str_add(s, "", 0);          /* not NULL even if empty */
    while (n != 0) {
        char escaped[ESCAPED];
        size_t len, took = escape_char(escaped, &len, p, n);
        str_add(s, escaped, len);
        p += took;
        n -= took;
    }
}

/* Does not allocate, so that an out-of-memory message can show a name. */
const char *
str_shown(char buf[STR_SHOWN], const char *p, size_t n)
{
    enum { CUT = 256 };
    size_t done = 0, used = 0;
    while (done < n) {
        char escaped[ESCAPED];
        size_t len, took = escape_char(escaped, &len, p + done, n - done);
        if (used + len > CUT)
            break;
        memcpy(buf + used, escaped, len);
        used += len;
        done += took;
    }
    buf[used] = '\0';
    if (done < n)
        snprintf(buf + used, STR_SHOWN - used, "... (%zu bytes more)", n - done);
    return buf;
}

/* Appends `start` and hexadecimal digits, n bytes in all, at most 8. Avoids printf because a text may consist of escapes
 * only. */
static void
add_hex(struct str *s, const char *start, uint32_t code, size_t n)
{
    char text[8];
    size_t from = strlen(start);
    memcpy(text, start, from);
    for (size_t i = n; i-- > from; code >>= 4)
        text[i] = "0123456789abcdef"[code & 15];
    str_add(s, text, n);
}

static void
add_json_char(struct str *s, const char *p, size_t len, uint32_t code, bool safe)
{
    static const char shorts[] = "\bb\ff\nn\rr\tt\"\"\\\\";
    for (size_t i = 0; i + 1 < sizeof shorts; i += 2)
        if (code == (uint8_t)shorts[i]) {
            char pair[2] = { '\\', shorts[i + 1] };
            str_add(s, pair, 2);
            return;
        }
    if (code < 0x20 || (safe && is_hazard(code)))
        add_hex(s, "\\u", code, 6);
    else
        str_add(s, p, len);
}

void
str_add_json(struct str *s, const char *p, size_t n, bool safe)
{
    while (n != 0) {
        /* A run of characters that need no escape: the common case for names and tokens. */
        size_t plain = 0;
        while (plain < n && (uint8_t)p[plain] >= 0x20 && (uint8_t)p[plain] < 0x7F && p[plain] != '"'
            && p[plain] != '\\')
            plain++;
        if (plain != 0)
            str_add(s, p, plain);
        p += plain;
        n -= plain;
        if (n == 0)
            return;
        uint32_t code;
        size_t len = str_utf8_char(p, n, &code);
        if (len == 0) {
            add_hex(s, "\\\\x", (uint8_t)p[0], 5);
            len = 1;
        } else {
            add_json_char(s, p, len, code, safe);
        }
        p += len;
        n -= len;
    }
}

/* Parses the leading decimal digits of *text and advances *text past them. */
static bool
digits(uint64_t *out, const char **text)
{
    const char *p = *text;
    uint64_t v = 0;
    if (!isdigit((unsigned char)*p))
        return false;
    for (; isdigit((unsigned char)*p); p++)
        if (!num_mul(&v, v, 10) || !num_add(&v, v, (uint64_t)(*p - '0')))
            return false;
    *out = v;
    *text = p;
    return true;
}

bool
str_to_u64(uint64_t *out, const char *text)
{
    uint64_t v;
    if (!digits(&v, &text) || *text != '\0')
        return false;
    *out = v;
    return true;
}

/* Returns the fraction of `scale` given by 1 to 9 decimal places, rounded down. scale is at most 1T, so the products fit. */
static bool
fraction(uint64_t *out, uint64_t scale, const char **text)
{
    enum { PLACES = 9 };
    uint64_t digits = 0, power = 1;
    const char *p = *text;
    for (; *p >= '0' && *p <= '9' && p - *text < PLACES; p++) {
        digits = digits * 10 + (uint64_t)(*p - '0');
        power *= 10;
    }
    if (p == *text || (*p >= '0' && *p <= '9'))
        return false;
    *text = p;
    *out = scale / power * digits + scale % power * digits / power;
    return true;
}

bool
str_to_size(uint64_t *out, const char *text)
{
    static const char units[] = "KMGT";
    uint64_t v, part = 0;
    if (!digits(&v, &text))
        return false;
    const char *places = NULL;
    if (*text == '.')
        places = text + 1;
    if (places)
        text += 1 + strspn(places, "0123456789");
    const char *unit = NULL;
    if (*text)
        unit = strchr(units, toupper((unsigned char)*text));
    uint64_t scale = 1;
    if (unit)
        scale = UINT64_C(1) << 10 * (unit - units + 1);
    if (places && (!unit || !fraction(&part, scale, &places)))
        return false;
    if (!num_mul(&v, v, scale) || !num_add(&v, v, part))
        return false;
    if (unit)
        text += strcasecmp(text + 1, "B") == 0 ? 2 : strcasecmp(text + 1, "iB") == 0 ? 3 : 1;
    if (*text != '\0')
        return false;
    *out = v;
    return true;
}

const char *
str_size(char buf[STR_SIZE], uint64_t nbytes)
{
    static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    if (nbytes < 1024) {
        snprintf(buf, STR_SIZE, "%u bytes", (unsigned)nbytes);
        return buf;
    }
    double v = (double)nbytes / 1024;
    size_t u = 0;
    for (; v >= 1024 && u + 1 < sizeof units / sizeof *units; u++)
        v /= 1024;
    snprintf(buf, STR_SIZE, "%.2f %s", v, units[u]);
    return buf;
}

bool
str_same_word(const char *a, const char *b)
{
    while (*a && (*a == '-' ? '_' : tolower((unsigned char)*a)) == (*b == '-' ? '_' : tolower((unsigned char)*b))) {
        a++;
        b++;
    }
    return *a == *b;
}

char *
str_lower(char *buf, size_t n, const char *text)
{
    snprintf(buf, n, "%s", text);
    for (char *p = buf; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return buf;
}

size_t
str_find_word(const char *p, size_t n, const char *word)
{
    size_t len = strlen(word);
    for (size_t at = 0; at + len <= n; at++) {
        size_t i = 0;
        while (i < len && tolower((unsigned char)p[at + i]) == word[i])
            i++;
        if (i == len)
            return at;
    }
    return n;
}

char *
str_unescaped(const char *p, size_t n, bool escaped)
{
    char *copy = malloc(n + 1), *to = copy;
    for (size_t i = 0; copy && i < n; i++) {
        bool pair = escaped && p[i] == '\\' && i + 1 < n;
        i += pair;
        *to++ = p[i];
        if (pair && (p[i] == 'n' || p[i] == 'r'))
            to[-1] = p[i] == 'n' ? '\n' : '\r';
    }
    if (copy)
        *to = '\0';
    return copy;
}
