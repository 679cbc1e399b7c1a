/* xz (The .xz File Format 1.2):
 *
 *   stream   FD 37 7A 58 5A 00 | flags 2: 0, type of check | CRC 4 | blocks | index | footer 12 | zeros, a multiple of 4
 *   block    header: its size / 4 - 1, never 0 | flags: filters - 1, bit 6, 7 sizes | sizes | filters | zeros | CRC 4
 *            LZMA2 chunks | zeros up to 4 | check 0-64
 *   filter   number: id | number: bytes of properties | properties; LZMA2, the last one, has the size of its dictionary
 *   chunk    0: the end | 1 or 2, size - 1 in 2: stored | 80 and up, 2, size - 1 in 2, from C0 on 1 more: compressed
 *   index    0 | number: records | two numbers each | zeros up to 4 | CRC 4
 *   number   7 bits a byte, low bits first; the top bit says that more bytes follow */
#include "source/frames_priv.h"

#include <string.h>

#include "base/limits.h"

enum {
    STREAM_HEADER = 12, FOOTER = 12, CRC = 4,
    LZMA2 = 0x21,
    DICTIONARY_BITS_MAX = 40
};

static const uint8_t check_bytes[16] = { 0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64 };

static bool parse_block_size(struct frames *f, struct err *err);
static bool parse_padding(struct frames *f, struct err *err);

static bool
lose(struct frames *f)
{
    return frames_next(f, FRAMES_LOST, 1, parse_padding);
}

/* Returns the number of zeros that pad f->count to a multiple of 4. */
static uint64_t
padding(const struct frames *f)
{
    return (4 - f->count % 4) % 4;
}

/* --- the index */

static bool
parse_index(struct frames *f, struct err *err)
{
    uint8_t byte = f->header[0];
    (void)err;
    f->count++;
    if (f->shift < 63) {                        /* the first number: how many pairs follow */
        f->numbers |= (uint64_t)(byte & 0x7F) << f->shift;
        if (byte & 0x80)
            f->shift = f->shift + 7;
        else
            f->shift = 63;
        if (f->shift == 63 && f->numbers > UINT64_MAX / 4)
            return lose(f);
        f->numbers *= f->shift == 63 ? 2 : 1;
    } else if (!(byte & 0x80)) {
        f->numbers--;
    }
    if (f->shift < 63 || f->numbers != 0)
        return frames_next(f, 0, 1, parse_index);
    return frames_next(f, padding(f) + CRC + FOOTER, 4, parse_padding);
}

/* --- a block */

/* Parses the number at *p, which must end before `end`. Returns false if it is truncated or too long. */
static bool
parse_number(uint64_t *v, const uint8_t **p, const uint8_t *end)
{
    *v = 0;
    for (unsigned shift = 0; *p < end && shift < 63; shift += 7) {
        uint8_t byte = *(*p)++;
        *v |= (uint64_t)(byte & 0x7F) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

static bool parse_chunk(struct frames *f, struct err *err);

static bool
parse_chunk_size(struct frames *f, struct err *err)
{
    uint64_t size = 1 + (UINT64_C(256) * f->header[f->want - 2] + f->header[f->want - 1]) + (f->control >= 0xC0);
    (void)err;
    f->count += f->want + size;
    return frames_next(f, size, 1, parse_chunk);
}

static bool
parse_chunk(struct frames *f, struct err *err)
{
    uint8_t control = f->control = f->header[0];
    (void)err;
    f->count++;
    if (control == 0)
        return frames_next(f, padding(f) + check_bytes[f->kind], 1, parse_block_size);
    if (control <= 2)
        return frames_next(f, 0, 2, parse_chunk_size);
    if (control >= 0x80)
        return frames_next(f, 0, 4, parse_chunk_size);
    return lose(f);
}

static bool
parse_block_header(struct frames *f, struct err *err)
{
    const uint8_t *p = f->header, *end = f->header + f->want - CRC;
    uint8_t flags = *p++;
    uint64_t v, id = 0, n = 0;
    for (unsigned sizes = (flags >> 6 & 1) + (flags >> 7); sizes != 0; sizes--)
        if (!parse_number(&v, &p, end))
            return lose(f);
    for (unsigned filters = (flags & 3) + 1; filters != 0; filters--, p += n)
        if (!parse_number(&id, &p, end) || !parse_number(&n, &p, end) || n > (uint64_t)(end - p))
            return lose(f);
    if (id != LZMA2 || n != 1 || p[-1] > DICTIONARY_BITS_MAX)
        return lose(f);
    uint64_t dictionary = UINT32_MAX;
    if (p[-1] != DICTIONARY_BITS_MAX)
        dictionary = (2 | (UINT64_C(1) & p[-1])) << (p[-1] / 2 + 11);
    f->count = 0;
    return limits_check(dictionary, f->window, "xz dictionary bytes", err)
        && frames_next(f, 0, 1, parse_chunk);
}

static bool
parse_block_size(struct frames *f, struct err *err)
{
    (void)err;
    if (f->header[0] != 0)
        return frames_next(f, 0, 4 * (size_t)f->header[0] + 3, parse_block_header);
    f->count = 1;
    f->numbers = 0;
    f->shift = 0;
    return frames_next(f, 0, 1, parse_index);
}

/* --- a stream */

/* Parses the end of the stream header. */
static bool
parse_flags(struct frames *f, struct err *err)
{
    (void)err;
    f->kind = f->header[f->want - CRC - 1] & 15;
    return frames_next(f, 0, 1, parse_block_size);
}

/* Between streams: accepts four zeros, or the beginning of another stream. */
static bool
parse_padding(struct frames *f, struct err *err)
{
    static const uint8_t zeros[4], magic[4] = { 0xFD, '7', 'z', 'X' };
    if (memcmp(f->header, zeros, sizeof zeros) == 0)
        return frames_next(f, 0, sizeof magic, parse_padding);
    if (memcmp(f->header, magic, sizeof magic) == 0)
        return frames_next(f, 0, STREAM_HEADER - sizeof magic, parse_flags);
    return err_at(err, ERR_MALFORMED, f->at - sizeof magic, "trailing data after the xz stream");
}

void
frames_of_xz(struct frames *f, uint64_t window)
{
    *f = (struct frames){ .window = window };
    frames_next(f, 0, STREAM_HEADER, parse_flags);
}
