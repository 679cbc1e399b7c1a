/* str: growable text, and the ways a name from a file may be shown. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Growable bytes, always followed by a NUL that does not count. Zero-initialise; clear with str_clear.
 * A failed allocation, or an append that would go over `max`, sets `failed` for good and further appends do nothing, so
 * that what is there is the beginning of what was meant: check once at the end. */
struct str {
    char *p;            /* owned; NULL while empty */
    size_t len, room;
    size_t max;         /* len goes no further; 0: no ceiling */
    bool failed;
    bool full;          /* it failed at the ceiling */
};

void str_clear(struct str *s);
void str_add(struct str *s, const char *p, size_t n);
void str_text(struct str *s, const char *text);
void str_format(struct str *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Append p[0..n) with every character escaped that must not reach a terminal or a log: C0, DEL, C1,
 * U+200B-200F, U+2028-202E, U+2060-2069, U+FEFF as \u{..}, invalid UTF-8 as \x.. */
void str_add_escaped(struct str *s, const char *p, size_t n);

/* Append p[0..n) as the inside of a JSON string; the characters above come as \uXXXX when `safe` is set,
 * otherwise only what JSON demands is escaped (the form of the reference safetensors writer). An invalid
 * byte becomes the four characters \xHH, so that the result is always valid JSON. */
void str_add_json(struct str *s, const char *p, size_t n, bool safe);

enum { STR_SHOWN = 256 + 64 };
/* The escaped form of a name for a message: at most 256 bytes, cut at a character with the count of what
 * was left out. Returns buf. */
const char *str_shown(char buf[STR_SHOWN], const char *p, size_t n);

/* Order of two byte strings, the shorter first where one begins the other: less than, equal to or over 0. */
int str_compare(const char *a, size_t na, const char *b, size_t nb);

bool str_ends(const char *text, const char *suffix);

/* Takes the suffix off p[0..*n): false, and *n stays, if it does not end so. */
bool str_strip(const char *p, size_t *n, const char *suffix);

/* Bytes of the UTF-8 character at p[0..n), or 0 when it is not valid (overlong, surrogate, cut, > U+10FFFF). */
size_t str_utf8_char(const char *p, size_t n, uint32_t *code);
bool str_is_utf8(const char *p, size_t n);

/* "64M", "64MB", "64MiB" -> bytes: digits and an optional K, M, G or T (powers of 1024) in either case; before one of these also
 * up to 9 places behind a point, "4.5G", rounded down to bytes. False for anything else or overflow. */
bool str_to_size(uint64_t *out, const char *text);

/* Decimal digits only, the whole text. */
bool str_to_u64(uint64_t *out, const char *text);

/* 4350000000 -> "4.05 GiB". Returns buf. */
enum { STR_SIZE = 32 };
const char *str_size(char buf[STR_SIZE], uint64_t nbytes);

#endif
