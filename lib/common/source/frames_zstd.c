/* zstd (RFC 8878):
 *
 *   frame      28 B5 2F FD | descriptor 1 | window 0-1 | dictionary 0-4 | content size 0-8 | blocks | checksum 0, 4
 *   skippable  5x 2A 4D 18 | size 4 | that many bytes
 *   block      3 bytes: bit 0 last, bits 1-2 type, 21 bits size | data: as many bytes, of type 1 a single one */
#include "source/frames_priv.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "base/limits.h"

enum {
    MAGIC = 4,
    BLOCK = 3,
    RLE_BLOCK = 1, BAD_BLOCK = 3
};

static bool parse_magic(struct frames *f, struct err *err);

static bool
parse_block(struct frames *f, struct err *err)
{
    uint32_t header = f->header[0] | (uint32_t)f->header[1] << 8 | (uint32_t)f->header[2] << 16;
    uint32_t type = header >> 1 & 3, size = type == RLE_BLOCK ? 1 : header >> 3;
    bool last = header & 1, checksum = f->kind & 4;
    (void)err;
    if (type == BAD_BLOCK)
        return frames_next(f, FRAMES_LOST, 1, parse_block);
    if (last)
        return frames_next(f, size + (checksum ? 4 : 0), MAGIC, parse_magic);
    return frames_next(f, size, BLOCK, parse_block);
}

static uint64_t
frames_zstd_number(const uint8_t *p, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v |= (uint64_t)p[i] << 8 * i;
    return v;
}

static const uint8_t dictionary_bytes[] = { 0, 1, 2, 4 }, size_bytes[] = { 0, 2, 4, 8 };

/* Returns the size of the content size field, which a single-segment frame always has. */
static size_t
content_bytes(uint8_t descriptor)
{
    bool single = descriptor & 0x20;
    if (single && descriptor >> 6 == 0)
        return 1;
    return size_bytes[descriptor >> 6];
}

/* Parses what follows the descriptor. In a single-segment frame, the window is as large as the content. */
static bool
parse_window(struct frames *f, struct err *err)
{
    const uint8_t *p = f->header;
    bool single = f->kind & 0x20;
    uint64_t window = 0;
    if (!single) {
        window = UINT64_C(1) << (10 + (*p >> 3));
        window += window / 8 * (*p & 7);
        p++;
    }
    uint64_t dictionary = frames_zstd_number(p, dictionary_bytes[f->kind & 3]);
    p += dictionary_bytes[f->kind & 3];
    if (single)
        window = frames_zstd_number(p, content_bytes(f->kind)) + (f->kind >> 6 == 1 ? 256 : 0);
    if (dictionary != 0)
        return err_at(err, ERR_UNSUPPORTED, f->at, "not supported: the zstd stream requires dictionary %" PRIu64, dictionary);
    return limits_check(window, f->window, "zstd window bytes", err)
        && frames_next(f, 0, BLOCK, parse_block);
}

static bool
parse_descriptor(struct frames *f, struct err *err)
{
    uint8_t d = f->kind = f->header[0];
    bool single = d & 0x20;
    (void)err;
    return frames_next(f, 0, (single ? 0 : 1) + dictionary_bytes[d & 3] + content_bytes(d), parse_window);
}

static bool
parse_size(struct frames *f, struct err *err)
{
    (void)err;
    return frames_next(f, load_le32(f->header), MAGIC, parse_magic);
}

static bool
parse_magic(struct frames *f, struct err *err)
{
    uint32_t magic = load_le32(f->header);
    if (magic == 0xFD2FB528)
        return frames_next(f, 0, 1, parse_descriptor);
    if (magic >> 4 == 0x184D2A5)
        return frames_next(f, 0, 4, parse_size);
    return err_at(err, ERR_MALFORMED, f->at - MAGIC, "trailing data after the zstd stream");
}

void
frames_of_zstd(struct frames *f, uint64_t window)
{
    *f = (struct frames){ .window = window };
    frames_next(f, 0, MAGIC, parse_magic);
}
