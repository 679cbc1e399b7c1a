/* str: growable text, and the ways to display a name from a file. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Growable bytes, always followed by a NUL that does not count. Zero-initialise; clear with str_clear(). A failed
 * allocation, or an append beyond `max`, sets `failed` for good, and further appends do nothing. The text is then a prefix
 * of what was intended, so it is enough to check once at the end. */
struct str {
    char *p;            /* owned; NULL if empty */
    size_t len, room;
    size_t max;         /* limit of len; 0: none */
    bool failed;
    bool full;          /* failed because of `max` */
};

void str_clear(struct str *s);
void str_add(struct str *s, const char *p, size_t n);
void str_text(struct str *s, const char *text);
void str_format(struct str *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends p[0..n) with every character escaped that must not reach a terminal or a log: C0, DEL, C1, U+200B-200F,
 * U+2028-202E, U+2060-2069 and U+FEFF as \u{..}, invalid UTF-8 as \x.. */
void str_add_escaped(struct str *s, const char *p, size_t n);

/* Appends p[0..n) as the content of a JSON string. With `safe`, the characters above become \uXXXX; otherwise only what JSON
 * requires is escaped, as in the reference safetensors writer. An invalid byte becomes the four characters \xHH, so the
 * result is always valid JSON. */
void str_add_json(struct str *s, const char *p, size_t n, bool safe);

enum { STR_SHOWN = 256 + 64 };
/* Escapes a name for a message: at most 256 bytes, truncated between characters with the number of bytes left out. Returns
 * buf. */
const char *str_shown(char buf[STR_SHOWN], const char *p, size_t n);

/* Returns a copy of a name in a list of digests, which the caller frees; NULL if out of memory. `escaped`: the line begins with a
 * backslash, as sha256sum writes it, and the name has \\, \n and \r for three characters. */
char *str_unescaped(const char *p, size_t n, bool escaped);

/* Compares two byte strings; a prefix comes before the longer string. Returns less than, equal to or greater than 0. */
int str_compare(const char *a, size_t na, const char *b, size_t nb);

/* Returns true if the text begins with the prefix. */
static inline bool
str_begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *text, const char *suffix);

/* The same for n bytes, which need no NUL: they are the text; they begin with the prefix. */
static inline bool
str_is(const void *p, size_t n, const char *text)
{
    return n == strlen(text) && (n == 0 || memcmp(p, text, n) == 0);
}

static inline bool
str_prefixed(const void *p, size_t n, const char *prefix)
{
    return n >= strlen(prefix) && memcmp(p, prefix, strlen(prefix)) == 0;
}

/* Returns where a word in lower case starts in p[0..n), ignoring case, or n if it does not occur. */
size_t str_find_word(const char *p, size_t n, const char *word);

/* Removes the suffix from p[0..*n). Returns false and leaves *n alone if p does not end with it. */
bool str_strip(const char *p, size_t *n, const char *suffix);

/* Returns the length of the UTF-8 character at p[0..n), or 0 if it is invalid (overlong, surrogate, truncated, > U+10FFFF). */
size_t str_utf8_char(const char *p, size_t n, uint32_t *code);
bool str_is_utf8(const char *p, size_t n);

/* Parses a size, "64M", "64MB" or "64MiB", to bytes: digits and an optional K, M, G or T (powers of 1024) in either case.
 * Before these letters, up to 9 decimal places are allowed ("4.5G"), rounded down to bytes. Returns false for any other text
 * or on overflow. */
bool str_to_size(uint64_t *out, const char *text);

/* Parses a text that consists of decimal digits only. */
bool str_to_u64(uint64_t *out, const char *text);

/* Formats a size: 4350000000 becomes "4.05 GiB". Returns buf. */
enum { STR_SIZE = 32 };
const char *str_size(char buf[STR_SIZE], uint64_t nbytes);

/* Returns the ending of a noun that is counted: "" or "s". */
static inline const char *
str_plural(uint64_t n)
{
    if (n == 1)
        return "";
    return "s";
}

/* Returns text, or `other` if it is NULL. */
static inline const char *
str_or(const char *text, const char *other)
{
    if (text)
        return text;
    return other;
}

/* Returns true if two words differ at most in case and in '-' for '_'. */
bool str_same_word(const char *a, const char *b);

/* Writes text into buf of n bytes in lower case (ASCII), shortened if necessary. Returns buf. */
char *str_lower(char *buf, size_t n, const char *text);

#endif
