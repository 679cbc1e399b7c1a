/* Grammar: RFC 8259. Where it leaves a choice (depth, numbers, surrogates), follows serde_json 1.0, the parser of the
 * reference safetensors library. */
#include "base/pull.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"

/* What may come next. FIRST_* also allow the end of the object or array that was just opened. */
enum { FIRST_ITEM, ITEM, FIRST_KEY, KEY, AFTER, DONE };

static enum pull_token
pull_fail(struct pull *json, enum pull_fault fault, const char *where, const char *want)
{
    json->fault = fault;
    json->fault_p = where;
    json->want = want;
    return PULL_BAD;
}

/* Returns the first byte of text[0..n) that is not UTF-8, or NULL. */
static const char *
find_not_utf8(const char *text, size_t n)
{
    while (n != 0) {
        uint64_t eight;
        uint32_t code;
        if (n >= sizeof eight) {
            memcpy(&eight, text, sizeof eight);
            if ((eight & UINT64_C(0x8080808080808080)) == 0) {
                text += sizeof eight;
                n -= sizeof eight;
                continue;
            }
        }
        size_t len = str_utf8_char(text, n, &code);
        if (len == 0)
            return text;
        text += len;
        n -= len;
    }
    return NULL;
}

void
pull_init(struct pull *json, const char *text, size_t n, uint64_t at)
{
    *json = (struct pull){
        .text = text, .p = text, .end = text + n, .at = at, .start = text, .state = ITEM,
    };
    const char *bad = find_not_utf8(text, n);
    if (bad)
        pull_fail(json, PULL_NOT_UTF8, bad, "UTF-8");
}

static bool
in_array(const struct pull *json)
{
    uint32_t level = json->depth - 1;
    return json->depth != 0 && (json->is_array[level / 64] >> level % 64 & 1) != 0;
}

static void
skip_space(struct pull *json)
{
    while (json->p < json->end && (*json->p == ' ' || *json->p == '\n' || *json->p == '\t' || *json->p == '\r'))
        json->p++;
    json->start = json->p;
}

/* Returns the next byte, or NUL, which begins no token, at the end. */
static char
peek(const struct pull *json)
{
    if (json->p < json->end)
        return *json->p;
    return '\0';
}

static enum pull_token
open_level(struct pull *json, bool array)
{
    if (json->depth == PULL_DEPTH_MAX)
        return pull_fail(json, PULL_TOO_DEEP, json->p, NULL);
    uint32_t level = json->depth++;
    uint64_t bit = UINT64_C(1) << level % 64;
    json->p++;
    if (array) {
        json->is_array[level / 64] |= bit;
        json->state = FIRST_ITEM;
        return PULL_ARRAY;
    }
    json->is_array[level / 64] &= ~bit;
    json->state = FIRST_KEY;
    return PULL_OBJECT;
}

static enum pull_token
close_level(struct pull *json)
{
    enum pull_token token = PULL_OBJECT_END;
    if (in_array(json))
        token = PULL_ARRAY_END;
    json->p++;
    json->depth--;
    if (json->depth != 0)
        json->state = AFTER;
    else
        json->state = DONE;
    return token;
}

/* Parses four hex digits at p. */
static bool
hex4(const char *p, uint32_t *out)
{
    uint32_t v = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        if (c >= '0' && c <= '9')
            v = v << 4 | (uint32_t)(c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            v = v << 4 | (uint32_t)((c | 0x20) - 'a' + 10);
        else
            return false;
    }
    *out = v;
    return true;
}

/* Decodes the escape at p[0..n), which begins with a backslash. Returns its length, or 0 if it is invalid, and sets the
 * character. A character beyond U+FFFF is two escapes, a high and a low surrogate: \ud83d\ude00. */
static size_t
escape(const char *p, size_t n, uint32_t *code)
{
    static const char shorts[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
    if (n < 2)
        return 0;
    for (size_t i = 0; i + 1 < sizeof shorts; i += 2)
        if (p[1] == shorts[i]) {
            *code = (uint8_t)shorts[i + 1];
            return 2;
        }
    uint32_t high, low;
    if (p[1] != 'u' || n < 6 || !hex4(p + 2, &high))
        return 0;
    *code = high;
    if (high < 0xD800 || high > 0xDFFF)
        return 6;
    if (high > 0xDBFF || n < 12 || p[6] != '\\' || p[7] != 'u' || !hex4(p + 8, &low))
        return 0;
    if (low < 0xDC00 || low > 0xDFFF)
        return 0;
    *code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
    return 12;
}

/* Reads a string; json->p is at its opening quote. */
static bool
scan_string(struct pull *json)
{
    const char *s = json->p + 1, *end = json->end;
    json->token = (struct pull_text){ .p = s };
    for (;;) {
        while (s < end && (uint8_t)*s >= 0x20 && *s != '"' && *s != '\\')
            s++;
        if (s == end || (uint8_t)*s < 0x20)
            return pull_fail(json, PULL_SYNTAX, s, "the rest of a string");
        if (*s == '"')
            break;
        uint32_t code;
        size_t len = escape(s, (size_t)(end - s), &code);
        if (len == 0)
            return pull_fail(json, PULL_SYNTAX, s, "a valid escape sequence");
        json->token.escaped = true;
        s += len;
    }
    json->token.n = (size_t)(s - json->token.p);
    json->p = s + 1;
    return true;
}

static enum pull_token
read_key(struct pull *json)
{
    if (peek(json) != '"')
        return pull_fail(json, PULL_SYNTAX, json->p, json->state == KEY ? "a key" : "a key or '}'");
    if (!scan_string(json))
        return PULL_BAD;
    const char *start = json->start;
    skip_space(json);
    if (peek(json) != ':')
        return pull_fail(json, PULL_SYNTAX, json->p, "':'");
    json->p++;
    json->start = start;
    json->state = ITEM;
    return PULL_KEY;
}

static const char *
skip_digits(const char *s, const char *end)
{
    while (s < end && *s >= '0' && *s <= '9')
        s++;
    return s;
}

/* Returns true if s[0..end), the digits and the point of a number, times 10^exponent, is in the range of a double. */
static bool
in_double_range(const char *s, const char *end, int64_t exponent)
{
    enum { DIGITS = 32, TOP = 308 };
    char buf[DIGITS + 16];              /* the first significant digits, followed by "e" and a power */
    int n = 0;
    int64_t power = exponent - 1;       /* power of ten of the first of these digits */
    bool point = false;
    for (; s < end; s++) {
        if (*s == '.') {
            point = true;
            continue;
        }
        if (n == 0 && *s == '0') {
            power -= point;
            continue;
        }
        power += !point;
        if (n < DIGITS)
            buf[n++] = *s;
    }
    if (n == 0 || power < TOP)
        return true;
    if (power > TOP)
        return false;
    snprintf(buf + n, sizeof buf - (size_t)n, "e%d", TOP - (n - 1));
    return isfinite(strtod(buf, NULL));
}

/* Parses [eE][+-]?digits at *s, if any. Returns false if it is truncated. A huge exponent saturates. */
static bool
scan_exponent(const char **s, const char *end, int64_t *exponent)
{
    enum { HUGE_EXPONENT = 1000000000 };
    const char *p = *s;
    *exponent = 0;
    if (p == end || (*p | 0x20) != 'e')
        return true;
    p++;
    bool minus = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    const char *digits = p;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        if (*exponent < HUGE_EXPONENT)
            *exponent = *exponent * 10 + (*p - '0');
    if (minus)
        *exponent = -*exponent;
    *s = p;
    return p > digits;
}

/* -? (0 | [1-9][0-9]*) (.[0-9]+)? ([eE][+-]?[0-9]+)? */
static enum pull_token
pull_read_number(struct pull *json)
{
    const char *end = json->end, *s = json->p + (*json->p == '-'), *digits = s;
    if (s < end && *s == '0')
        s = s + 1;
    else
        s = skip_digits(s, end);
    bool ok = s > digits;
    if (ok && s < end && *s == '.') {
        const char *fraction = s + 1;
        s = skip_digits(fraction, end);
        ok = s > fraction;
    }
    const char *mantissa_end = s;
    int64_t exponent = 0;
    ok = ok && scan_exponent(&s, end, &exponent);
    if (!ok)
        return pull_fail(json, PULL_SYNTAX, s, "a digit");
    if ((exponent != 0 || s - digits > 300) && !in_double_range(digits, mantissa_end, exponent))
        return pull_fail(json, PULL_RANGE, json->p, "a number that a double can hold");
    json->token = (struct pull_text){ .p = json->p, .n = (size_t)(s - json->p) };
    json->p = s;
    if (json->depth != 0)
        json->state = AFTER;
    else
        json->state = DONE;
    return PULL_NUMBER;
}

static enum pull_token
read_literal(struct pull *json, const char *word, enum pull_token token)
{
    size_t n = strlen(word);
    if ((size_t)(json->end - json->p) < n || memcmp(json->p, word, n) != 0)
        return pull_fail(json, PULL_SYNTAX, json->p, "a value");
    json->p += n;
    if (json->depth != 0)
        json->state = AFTER;
    else
        json->state = DONE;
    return token;
}

/* Reads NaN, Infinity or -Infinity, if they are allowed and one of them is next. */
static bool
read_word(struct pull *json)
{
    static const char *const words[] = { "NaN", "Infinity", "-Infinity" };
    for (size_t i = 0; json->words && i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(json->end - json->p) < n || memcmp(json->p, words[i], n) != 0)
            continue;
        json->token = (struct pull_text){ .p = json->p, .n = n };
        json->p += n;
        if (json->depth != 0)
            json->state = AFTER;
        else
            json->state = DONE;
        return true;
    }
    return false;
}

static enum pull_token
read_value(struct pull *json)
{
    char c = peek(json);
    if (read_word(json))
        return PULL_NUMBER;
    switch (c) {
    case '{':
        return open_level(json, false);
    case '[':
        return open_level(json, true);
    case '"':
        if (!scan_string(json))
            return PULL_BAD;
        if (json->depth != 0)
            json->state = AFTER;
        else
            json->state = DONE;
        return PULL_STRING;
    case 't':
        return read_literal(json, "true", PULL_TRUE);
    case 'f':
        return read_literal(json, "false", PULL_FALSE);
    case 'n':
        return read_literal(json, "null", PULL_NULL);
    default:
        if (c == '-' || (c >= '0' && c <= '9'))
            return pull_read_number(json);
        return pull_fail(json, PULL_SYNTAX, json->p, json->state == FIRST_ITEM ? "a value or ']'" : "a value");
    }
}

enum pull_token
pull_next(struct pull *json)
{
    if (json->fault)
        return PULL_BAD;
    skip_space(json);
    if (json->state == DONE) {
        if (json->p < json->end)
            return pull_fail(json, PULL_SYNTAX, json->p, "only white space after the value");
        return PULL_END;
    }
    bool may_close = json->state == FIRST_ITEM || json->state == FIRST_KEY || json->state == AFTER;
    if (may_close && peek(json) == (in_array(json) ? ']' : '}'))
        return close_level(json);
    if (json->state == AFTER) {
        if (peek(json) != ',')
            return pull_fail(json, PULL_SYNTAX, json->p, in_array(json) ? "',' or ']'" : "',' or '}'");
        json->p++;
        skip_space(json);
        if (in_array(json))
            json->state = ITEM;
        else
            json->state = KEY;
    }
    if (json->state == KEY || json->state == FIRST_KEY)
        return read_key(json);
    return read_value(json);
}

bool
pull_skip(struct pull *json)
{
    const char *p;
    size_t n;
    return pull_value_text(json, &p, &n);
}

bool
pull_value_text(struct pull *json, const char **p, size_t *n)
{
    uint32_t level = json->depth;
    *p = NULL;
    do {
        if (pull_next(json) == PULL_BAD)
            return false;
        *p = *p ? *p : json->start;
    } while (json->depth > level);
    *n = (size_t)(json->p - *p);
    return true;
}

bool
pull_text_is(const struct pull_text *text, const char *plain)
{
    return !text->escaped && str_is(text->p, text->n, plain);
}

bool
pull_as_double(const struct pull *json, double *out)
{
    char text[64];
    if (json->token.n >= sizeof text)
        return false;
    memcpy(text, json->token.p, json->token.n);
    text[json->token.n] = '\0';
    *out = strtod(text, NULL);
    return true;
}

bool
pull_as_u64(const struct pull *json, uint64_t *out)
{
    uint64_t v = 0;
    for (size_t i = 0; i < json->token.n; i++) {
        char c = json->token.p[i];
        if (c < '0' || c > '9' || !num_mul(&v, v, 10) || !num_add(&v, v, (uint64_t)(c - '0')))
            return false;
    }
    *out = v;
    return json->token.n != 0;
}

/* Encodes a character as UTF-8 and returns its length. */
static size_t
put_utf8(char *out, uint32_t code)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t n = 4;
    if (code < 0x800)
        n = 2;
    else if (code < 0x10000)
        n = 3;
    static const uint8_t lead[] = { 0, 0, 0xC0, 0xE0, 0xF0 };
    for (size_t i = n - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code & 0x3F));
        code >>= 6;
    }
    out[0] = (char)(lead[n] | code);
    return n;
}

size_t
pull_unescape(char *out, const struct pull_text *text)
{
    const char *p = text->p, *end = text->p + text->n;
    char *o = out;
    while (p < end) {
        if (*p != '\\') {
            *o++ = *p++;
            continue;
        }
        uint32_t code = 0;
        p += escape(p, (size_t)(end - p), &code);
        o += put_utf8(o, code);
    }
    return (size_t)(o - out);
}

uint64_t
pull_token_at(const struct pull *json)
{
    return json->at + (uint64_t)(json->start - json->text);
}

uint64_t
pull_fault_at(const struct pull *json)
{
    return json->at + (uint64_t)((json->fault ? json->fault_p : json->p) - json->text);
}

const char *
pull_explain(char buf[PULL_EXPLAIN], const struct pull *json)
{
    char found[24] = "the end";
    if (json->fault == PULL_OK)
        return strcpy(buf, "no fault");
    if (json->fault == PULL_TOO_DEEP) {
        snprintf(buf, PULL_EXPLAIN, "nesting exceeds the limit of %d levels", PULL_DEPTH_MAX);
        return buf;
    }
    if (json->fault_p < json->end) {
        uint8_t c = (uint8_t)*json->fault_p;
        snprintf(found, sizeof found, c >= 0x20 && c < 0x7F ? "'%c'" : "an unprintable byte", c);
    }
    snprintf(buf, PULL_EXPLAIN, "found %s, expected %s",
        json->fault == PULL_RANGE ? "a number out of range" : found, json->want);
    return buf;
}

const char *
pull_token_name(enum pull_token token)
{
    static const char *const names[] = {
        [PULL_BAD] = "invalid JSON", [PULL_END] = "the end",     [PULL_OBJECT] = "an object",
        [PULL_OBJECT_END] = "'}'",   [PULL_ARRAY] = "an array",  [PULL_ARRAY_END] = "']'",
        [PULL_KEY] = "a key",        [PULL_STRING] = "a string", [PULL_NUMBER] = "a number",
        [PULL_TRUE] = "true",        [PULL_FALSE] = "false",     [PULL_NULL] = "null",
    };
    return names[token];
}
