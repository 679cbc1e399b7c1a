/* A forward-only layer that decompresses its input. Each decompressor is a row; this file has what they share: input
 * buffering and the limit on expansion. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "source/unpack_priv.h"

enum {
    RATIO_HEAD = 200,               /* limit of the expansion while a header is read */
    WINDOW_MAX = 128 << 20,         /* bytes of history; the largest that zstd accepts by default */
    IN_STEP = 64 << 10,
    OUT_STEP = 256 << 10            /* the expansion is checked this often */
};

/* Returns true for a safetensors file, whose header length can look like the magic of gzip or compress. It is followed by
 * the header. No such stream has zeros and a brace there: in gzip the brace would be a flag byte, which is 0, 2 or 4. */
static bool
is_safetensors(const uint8_t *p, size_t n)
{
    static const uint8_t high[4];
    return n > 8 && memcmp(p + 4, high, sizeof high) == 0 && p[8] == '{';
}

static const struct packing *const rows[] = {
    &packing_gzip,
    &packing_zstd,
    &packing_zstd_skipped,
    &packing_xz,
    &(const struct packing){ .name = "bzip2", .magic = "BZh", .len = 3, .command = "bzip2 -dc" },
    &(const struct packing){ .name = "lz4", .magic = "\x04\x22\x4d\x18", .len = 4, .command = "lz4 -dc" },
    &(const struct packing){ .name = "lzip", .magic = "LZIP", .len = 4, .command = "lzip -dc" },
    &(const struct packing){ .name = "lzop", .magic = "\x89LZO\0\r\n\x1a\n", .len = 9, .command = "lzop -dc" },
    &(const struct packing){ .name = "compress", .magic = "\x1f\x9d", .len = 2, .command = "gzip -dc" },
    &(const struct packing){ .name = "LZMA", .magic = "\x5d\0\0", .len = 3, .command = "xz -dc" },
    &(const struct packing){ .name = "zlib", .magic = "\x78\x01", .len = 2, .command = "pigz -dc" },
    &(const struct packing){ .name = "zlib", .magic = "\x78\x5e", .len = 2, .command = "pigz -dc" },
    &(const struct packing){ .name = "zlib", .magic = "\x78\x9c", .len = 2, .command = "pigz -dc" },
    &(const struct packing){ .name = "zlib", .magic = "\x78\xda", .len = 2, .command = "pigz -dc" },
    &(const struct packing){ .name = "7-Zip", .magic = "7z\xbc\xaf\x27\x1c", .len = 6, .command = "7z x -so" },
};

static bool
unpack_begins(const uint8_t *p, size_t n, const struct packing *row)
{
    return n >= row->len && ((p[0] ^ (uint8_t)row->magic[0]) & ~row->loose) == 0
        && memcmp(p + 1, row->magic + 1, row->len - 1) == 0;
}

static const struct packing *
unpack_find(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (unpack_begins(p, n, rows[i]) && !is_safetensors(p, n))
            return rows[i];
    return NULL;
}

const char *
unpack_name(const uint8_t *p, size_t n)
{
    const struct packing *packing = unpack_find(p, n);
    if (packing)
        return packing->name;
    return NULL;
}

bool
unpack_refuse_twice(const char *inner, const char *outer, struct err *err)
{
    return err_set(err, ERR_UNSUPPORTED, "compressed twice, with %s and then with %s, which is not "
        "supported: %s -dc FILE | amn-inspect", inner, outer, outer);
}

/* --- the layer ------------------------------------------------------------------------------------------- */

bool
unpack_input(struct unpack *u, const uint8_t **p, size_t *n, struct err *err)
{
    if (u->in_given) {
        u->in_at += u->nin;
        if (!u->layer.under->kind->some(u->layer.under, u->in_at, u->in, u->room, &u->nin, err))
            return false;
    }
    u->in_given = true;
    u->in_ended = u->nin == 0;
    *p = u->in;
    *n = u->nin;
    return true;
}

bool
unpack_truncated(const struct unpack *u, uint64_t made, struct err *err)
{
    uint64_t size = u->in_at + u->nin;
    if (u->layer.promised <= made)
        return err_at(err, ERR_MALFORMED, size, "the %s stream is truncated after %" PRIu64 " bytes (incomplete "
            "download or copy?)", u->packing->name, size);
    return err_at(err, ERR_MALFORMED, size, "the %s stream ends after %" PRIu64 " bytes; its contents are "
        SOURCE_TRUNCATED, u->packing->name, size, made, u->layer.promised);
}

static bool
unpack_some(struct source_layer *l, uint64_t at, void *buf, size_t n, size_t *got, struct err *err)
{
    struct unpack *u = (struct unpack *)l;
    (void)at;
    if (!u->packing->some(u, buf, (size_t)num_min(n, OUT_STEP), got, err))
        return false;
    u->made += *got;
    if (u->made <= SOURCE_RATIO_FREE || (u->ratio != 0 && u->made / u->ratio <= u->used))
        return true;
    return err_at(err, ERR_LIMIT, u->used, "ratio: %" PRIu64 " bytes of %s expand to %" PRIu64 " or more, which exceeds"
        " the limit of %" PRIu64 " to 1: is this a model?", u->used, u->packing->name, u->made, u->ratio);
}

static void
unpack_head_done(struct source_layer *l)
{
    struct unpack *u = (struct unpack *)l;
    u->ratio = u->ratio_later;
}

static void
unpack_close(struct source_layer *l)
{
    struct unpack *u = (struct unpack *)l;
    if (u->engine)
        u->packing->close(u);
    free(u->in);
    free(u);
}

static const struct layer_kind unpack_kind = {
    .some = unpack_some,
    .close = unpack_close,
    .head_done = unpack_head_done,
};

bool
unpack_open(struct source_layer **layer, struct source_layer *under, const uint8_t *p, size_t n, const struct limits *limits,
    struct err *err)
{
    const struct packing *packing = unpack_find(p, n);
    *layer = NULL;
    if (!packing)
        return true;
    if (!packing->open)
        return err_set(err, ERR_UNSUPPORTED, "compressed with %s, which is not supported: %s FILE | "
            "amn-inspect", packing->name, packing->command);
    struct unpack *u = calloc(1, sizeof *u);
    if (!u)
        return err_memory(err, sizeof *u);
    *u = (struct unpack){
        .layer = { .kind = &unpack_kind, .under = under, .size = SOURCE_SIZE_UNKNOWN },
        .packing = packing,
        .ratio = num_min(RATIO_HEAD, limits->ratio),
        .ratio_later = limits->ratio,
        .window = num_min(WINDOW_MAX, limits->alloc),
        .nin = n,
        .room = n > IN_STEP ? n : IN_STEP,
    };
    u->in = malloc(u->room);
    bool ok = u->in || err_memory(err, u->room);
    if (ok)
        memcpy(u->in, p, n);
    ok = ok && packing->open(u, err);
    if (ok)
        *layer = &u->layer;
    else
        unpack_close(&u->layer);
    return ok;
}
