/* GPT-2's alphabet, in which a byte-level BPE writes the bytes of its tokens. */
#include "tokenizer/vocabulary_priv.h"

#include <string.h>

/* Printable bytes encode themselves; the rest, in order, become U+0100 and up. Source: bytes_to_unicode(). */
static int
bytes_of(uint32_t code)
{
    if ((code >= 0x21 && code <= 0x7E) || (code >= 0xA1 && code <= 0xAC) || (code >= 0xAE && code <= 0xFF))
        return (int)code;
    uint32_t i = code - 0x100;
    if (code < 0x100 || i > 0x43)
        return -1;
    if (i == 0x43)
        return 0xAD;
    if (i <= 0x20)
        return (int)i;
    return (int)(i - 0x21 + 0x7F);
}

/* Returns the number of bytes that a UTF-8 decoder replaces as one broken character: those that could start a valid one. */
static size_t
broken(const uint8_t *p, size_t n)
{
    uint8_t lead = p[0];
    bool starts = lead >= 0xC2 && lead <= 0xF4;
    size_t want = starts ? 2 + (lead >= 0xE0) + (lead >= 0xF0) : 1, i;
    uint8_t low = 0x80;
    if (lead == 0xE0)
        low = 0xA0;
    else if (lead == 0xF0)
        low = 0x90;
    uint8_t high = 0xBF;
    if (lead == 0xED)
        high = 0x9F;
    else if (lead == 0xF4)
        high = 0x8F;
    for (i = 1; i < want && i < n && p[i] >= low && p[i] <= high; i++) {
        low = 0x80;
        high = 0xBF;
    }
    return i;
}

bool
bytes_decode(struct hf_string *text, struct hf_chars *chars, struct err *err)
{
    bool same = true;
    uint32_t code;
    for (size_t i = 0, n; i < text->n; i += n) {
        n = str_utf8_char(text->p + i, text->n - i, &code);
        if (n == 0 || bytes_of(code) < 0)
            return true;
        same = same && code < 0x80;
    }
    char *bytes = NULL;
    if (!same)
        bytes = hf_chars_room(chars, text->n, err);
    char *out = NULL;
    if (bytes)
        out = hf_chars_room(chars, 3 * text->n, err);
    if (!out)
        return same;
    size_t nbytes = 0, nout = 0;
    for (size_t i = 0; i < text->n; nbytes++) {
        i += str_utf8_char(text->p + i, text->n - i, &code);
        bytes[nbytes] = (char)bytes_of(code);
    }
    for (size_t i = 0, n; i < nbytes; i += n) {
        n = str_utf8_char(bytes + i, nbytes - i, &code);
        memcpy(out + nout, n != 0 ? bytes + i : "\xEF\xBF\xBD", n != 0 ? n : 3);
        nout += n != 0 ? n : 3;
        if (n == 0)
            n = broken((const uint8_t *)bytes + i, nbytes - i);
    }
    *text = (struct hf_string){ out, nout };
    return true;
}

/* --- base64 */

static int
digit_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = NULL;
    if (c != '\0')
        at = strchr(digits, c);
    if (at)
        return (int)(at - digits);
    return -1;
}

/* The inverse of bytes_of(). */
static unsigned
character_of(unsigned byte)
{
    if (bytes_of(byte) >= 0)
        return byte;
    if (byte == 0xAD)
        return 0x143;
    if (byte <= 0x20)
        return 0x100 + byte;
    return byte - 0x7F + 0x121;
}

/* Appends the character of a byte in UTF-8 and returns its length, 1 or 2. */
static size_t
put_character(char *out, unsigned byte)
{
    unsigned code = character_of(byte);
    size_t n = 0;
    if (code >= 0x80)
        out[n++] = (char)(0xC0 | code >> 6);
    if (code < 0x80)
        out[n++] = (char)code;
    else
        out[n++] = (char)(0x80 | (code & 63));
    return n;
}

bool
bytes_from_base64(struct hf_string *bytes, struct hf_chars *chars, const char *p, size_t n, struct err *err)
{
    uint32_t bits = 0;
    size_t whole = n, count = 0;
    while (n != 0 && whole - n < 2 && p[n - 1] == '=')
        n--;
    *bytes = (struct hf_string){ NULL, 0 };
    if (n % 4 == 1)
        return true;
    char *out = hf_chars_room(chars, n, err);
    if (!out)
        return false;
    for (size_t i = 0; i < n; i++) {
        int digit = digit_of(p[i]);
        if (digit < 0)
            return true;
        bits = (bits << 6 | (unsigned)digit) & 0xFFFF;
        if (i % 4 != 0)
            out[count++] = (char)(bits >> (6 - 2 * (i % 4)) & 255);
    }
    *bytes = (struct hf_string){ out, count };
    return true;
}

bool
bytes_of_base64(struct hf_string *text, struct hf_chars *chars, const char *p, size_t n, struct err *err)
{
    struct hf_string bytes;
    *text = (struct hf_string){ NULL, 0 };
    if (!bytes_from_base64(&bytes, chars, p, n, err))
        return false;
    if (!bytes.p)
        return true;
    char *out = hf_chars_room(chars, 2 * bytes.n, err);
    if (!out)
        return false;
    size_t count = 0;
    for (size_t i = 0; i < bytes.n; i++)
        count += put_character(out + count, (uint8_t)bytes.p[i]);
    *text = (struct hf_string){ out, count };
    return true;
}
