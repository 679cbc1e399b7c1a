/* Cases for the writers of arrays that bats cannot reach: archives larger than 2 GiB, and tensors that no input can have. */
#include "check.h"

#include <string.h>

#include "writer/writer.h"

/* Three members, of 2^31 + 128, 132 and 2^32 + 133 bytes, as written by _write_end_record() of zipfile (3.11.7) with
 * checksums of 0. */
static const uint8_t directory[] = {
    0x50, 0x4B, 0x01, 0x02, 0x2D, 0x03, 0x2D, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x21, 0x00, 0x00, 0x00, 0x00, 0x00,
    0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x05, 0x00, 0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x80, 0x01, 0x00, 0x00, 0x00, 0x00, 0x61, 0x2E, 0x6E, 0x70, 0x79, 0x01, 0x00, 0x10, 0x00, 0x80, 0x00, 0x00, 0x80, 0x00,
    0x00, 0x00, 0x00, 0x80, 0x00, 0x00, 0x80, 0x00, 0x00, 0x00, 0x00, 0x50, 0x4B, 0x01, 0x02, 0x2D, 0x03, 0x2D, 0x00, 0x08,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x21, 0x00, 0x00, 0x00, 0x00, 0x00, 0x84, 0x00, 0x00, 0x00, 0x84, 0x00, 0x00, 0x00, 0x05,
    0x00, 0x0C, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x01, 0xFF, 0xFF, 0xFF, 0xFF, 0x62, 0x2E, 0x6E,
    0x70, 0x79, 0x01, 0x00, 0x08, 0x00, 0xCF, 0x00, 0x00, 0x80, 0x00, 0x00, 0x00, 0x00, 0x50, 0x4B, 0x01, 0x02, 0x2D, 0x03,
    0x2D, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x21, 0x00, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
    0xFF, 0xFF, 0x05, 0x00, 0x1C, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x01, 0xFF, 0xFF, 0xFF, 0xFF,
    0x63, 0x2E, 0x6E, 0x70, 0x79, 0x01, 0x00, 0x18, 0x00, 0x85, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x85, 0x00, 0x00,
    0x00, 0x01, 0x00, 0x00, 0x00, 0xA2, 0x01, 0x00, 0x80, 0x00, 0x00, 0x00, 0x00, 0x50, 0x4B, 0x06, 0x06, 0x2C, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x2D, 0x00, 0x2D, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xD5, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x76, 0x02, 0x00, 0x80, 0x01, 0x00, 0x00, 0x00, 0x50, 0x4B, 0x06, 0x07, 0x00, 0x00, 0x00, 0x00, 0x4B, 0x03, 0x00,
    0x80, 0x01, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x50, 0x4B, 0x05, 0x06, 0x00, 0x00, 0x00, 0x00, 0x03, 0x00, 0x03,
    0x00, 0xD5, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00,
};

static struct kernels kernels;

/* Lays out these tensors. Returns ERR_NONE and the pieces, which the caller frees, or the kind of the error. */
static enum err_kind
lay_out(struct pieces **pieces, const struct writer *writer, const struct tensor *t, size_t n)
{
    const struct writer_options options = { .kernels = &kernels };
    struct chosen list[4] = { { 0 } };
    struct err err;
    err_init(&err);
    struct catalog *c = catalog_new(&limits_default, &err);
    struct choice choice = { .input = c, .list = list, .n = n };
    for (size_t i = 0; i < n; i++)
        list[i] = (struct chosen){ .copy = &t[i], .dtype = t[i].dtype };
    *pieces = pieces_new(&err);
    CHECK(writer->lay_out(*pieces, &choice, &options, &err) == (err.kind == ERR_NONE));
    catalog_free(c);
    return err.kind;
}

/* Returns the packed form of a dimension. */
#define DIM_2_29 0x80, 0x80, 0x80, 0x80, 2
#define DIM_2_32_5 0x85, 0x80, 0x80, 0x80, 0x10

static void
test_large(void)
{
    static const uint8_t dims[][8] = { { DIM_2_29 }, { 1 }, { DIM_2_32_5 } };
    static const struct tensor t[] = {
        { .name = "a", .name_len = 1, .dtype = DTYPE_F32, .shape = { 1, dims[0] } },
        { .name = "b", .name_len = 1, .dtype = DTYPE_F32, .shape = { 1, dims[1] } },
        { .name = "c", .name_len = 1, .dtype = DTYPE_U8, .shape = { 1, dims[2] } },
    };
    struct pieces *p;
    uint8_t bytes[sizeof directory];
    CHECK(lay_out(&p, &writer_npz, t, 3) == ERR_NONE);
    const struct piece *last = pieces_at(p, pieces_count(p) - 1);
    if (CHECK(last->kind == PIECE_LATE && last->nbytes == sizeof directory && pieces_count(p) == 3 * 3 + 1)) {
        /* in runs, as blocks divide it */
        for (size_t at = 0, n; at < sizeof bytes; at += n) {
            n = at + 100 < sizeof bytes ? 100 : sizeof bytes - at;
            last->of.late->make(last->of.late->of, at, bytes + at, n);
        }
        CHECK(memcmp(bytes, directory, sizeof bytes) == 0);
    }
    pieces_free(p);
}

/* Limits of arrays and members. */
static void
test_limits(void)
{
    static const uint8_t ones[65] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    static const uint8_t half[] = { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40 };     /* 2^62 */
    static const struct { struct tensor t; enum err_kind npz, npy, raw; } rows[] = {
        { { .name = "a", .name_len = 1, .dtype = DTYPE_F32, .shape = { 64, ones } }, ERR_NONE, ERR_NONE, ERR_NONE },
        { { .name = "a", .name_len = 1, .dtype = DTYPE_F32, .shape = { 65, ones } }, ERR_UNSUPPORTED, ERR_UNSUPPORTED,
            ERR_NONE },
        { { .name = "a", .name_len = 1, .dtype = DTYPE_F8_E4M3, .shape = { 1, ones } }, ERR_UNSUPPORTED, ERR_UNSUPPORTED,
            ERR_NONE },
        { { .name = "a", .name_len = 1, .dtype = DTYPE_F4, .shape = { 1, ones } }, ERR_UNSUPPORTED, ERR_UNSUPPORTED,
            ERR_UNSUPPORTED },
        { { .name = "a", .name_len = 1, .dtype = DTYPE_Q8_0, .shape = { 1, ones } }, ERR_UNSUPPORTED, ERR_UNSUPPORTED,
            ERR_UNSUPPORTED },
        { { .name = "a", .name_len = 1, .dtype = DTYPE_F16, .shape = { 1, half } }, ERR_UNSUPPORTED, ERR_UNSUPPORTED,
            ERR_UNSUPPORTED },
        { { .name = "a", .name_len = 1, .dtype = DTYPE_F32, .shape = { 1, half } }, ERR_UNSUPPORTED, ERR_UNSUPPORTED,
            ERR_UNSUPPORTED },
        { { .name = "\xff", .name_len = 1, .dtype = DTYPE_U8, .shape = { 0, ones } }, ERR_UNSUPPORTED, ERR_NONE, ERR_NONE },
        { { .name = "a\0b", .name_len = 3, .dtype = DTYPE_U8, .shape = { 0, ones } }, ERR_UNSUPPORTED, ERR_NONE, ERR_NONE },
    };
    struct pieces *p;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK(lay_out(&p, &writer_npz, &rows[i].t, 1) == rows[i].npz);
        pieces_free(p);
        CHECK(lay_out(&p, &writer_npy, &rows[i].t, 1) == rows[i].npy);
        pieces_free(p);
        CHECK(lay_out(&p, &writer_raw, &rows[i].t, 1) == rows[i].raw);
        pieces_free(p);
    }
    for (size_t n = 0; n <= 2; n += 2) {
        const struct tensor two[] = { rows[0].t, rows[0].t };
        CHECK(lay_out(&p, &writer_npy, two, n) == ERR_USAGE);
        pieces_free(p);
        CHECK(lay_out(&p, &writer_raw, two, n) == ERR_USAGE);
        pieces_free(p);
    }
}

int
main(void)
{
    struct err err;
    err_init(&err);
    const struct kernels *picked = kernels_pick(NULL, &err);
    if (!CHECK(picked != NULL))
        return check_done("test_npz_writer");
    kernels = *picked;
    test_large();
    test_limits();
    return check_done("test_npz_writer");
}
