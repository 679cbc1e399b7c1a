/* Sizes of tensors: rows times the bytes of a row, for every type; numbers near 2^64; sets of types. */
#include "check.h"

#include "catalog/shape.h"

static struct shape
shape_of(uint8_t packed[2 * SHAPE_DIM], uint64_t rows, uint64_t cols)
{
    shape_pack(packed, (const uint64_t[]){ rows, cols }, 2);
    return (struct shape){ 2, packed };
}

/* Whole runs of interleaved rows of two blocks: their bytes, the start of each block, and rows that end within a block. */
static void
test_rows(enum dtype dtype)
{
    const struct dtype_facts *f = dtype_facts(dtype);
    bool block = f->kind == DTYPE_IS_BLOCK, whole;
    uint8_t packed[2 * SHAPE_DIM];
    uint64_t together = f->interleaved ? f->interleaved : 1, rows = 3 * together, cols = 2 * (uint64_t)f->elems;
    struct shape s = shape_of(packed, rows, cols);
    uint64_t row = 1, nbytes = 1, at = 0, bytes = f->prefix + 2 * (uint64_t)f->bytes;

    CHECK_ROW(dtype_row_bytes(&row, dtype, cols) && row == bytes, f->name);
    CHECK_ROW(dtype_rows_bytes(&nbytes, dtype, rows, cols) && nbytes == rows * row + f->tail, f->name);
    CHECK_ROW(shape_nbytes(&s, dtype, &nbytes, &whole) && whole && nbytes == rows * row + f->tail, f->name);
    for (uint64_t i = 0; block && i < rows * cols; i++) {
        uint64_t run = i / cols / together, b = i % cols / f->elems;

        at = run * together * bytes + together * (f->prefix + b * f->bytes);
        CHECK_ROW(shape_offset(&s, dtype, i) == at, f->name);
        CHECK_ROW(dtype_prefix_offset(dtype, cols, i / cols)
            == run * together * bytes + i / cols % together * f->prefix, f->name);
    }
    CHECK_ROW(!block || at + together * f->bytes + f->tail == nbytes, f->name);

    s = shape_of(packed, f->elems, 1);              /* whole units, but not whole rows of blocks */
    CHECK_ROW(shape_nbytes(&s, dtype, &nbytes, &whole) && whole == (!block || f->elems == 1), f->name);
    s = shape_of(packed, 1, f->elems + 1u);
    CHECK_ROW(shape_nbytes(&s, dtype, &nbytes, &whole) && whole == (f->elems == 1), f->name);
    s = shape_of(packed, 0, f->elems + 1u);
    CHECK_ROW(shape_nbytes(&s, dtype, &nbytes, &whole) && whole && nbytes == 0, f->name);
    s = shape_of(packed, UINT64_C(1) << 31, UINT64_C(1) << 32);
    CHECK_ROW(shape_nbytes(&s, dtype, &nbytes, &whole)                                          /* 2^63 elements */
        == (8 * f->bytes < 2 * f->elems), f->name);
}

int
main(void)
{
    const bool *set = DTYPE_SET([DTYPE_BOOL] = true, [DTYPE_UNKNOWN] = true);
    uint64_t nbytes = 0;

    for (enum dtype dtype = 0; dtype < DTYPE_UNKNOWN; dtype++) {
        enum dtype same;
        int32_t id = dtype_facts(dtype)->ggml;

        test_rows(dtype);
        CHECK_ROW(id < 0 || (dtype_from_ggml(&same, (uint32_t)id) && same == dtype), dtype_name(dtype));
        CHECK_ROW(dtype_in(set, dtype) == (dtype == DTYPE_BOOL) && !dtype_in(NULL, dtype), dtype_name(dtype));
    }
    CHECK(dtype_in(set, DTYPE_UNKNOWN));
    CHECK(dtype_row_bytes(&nbytes, DTYPE_F64, UINT64_MAX / 8) && nbytes == UINT64_MAX / 8 * 8);
    CHECK(!dtype_row_bytes(&nbytes, DTYPE_F64, UINT64_MAX / 8 + 1));
    CHECK(dtype_rows_bytes(&nbytes, DTYPE_F64, 0, UINT64_MAX) && nbytes == 0);
    CHECK(dtype_rows_bytes(&nbytes, DTYPE_F64, UINT64_MAX, 0) && nbytes == 0);
    CHECK(!dtype_rows_bytes(&nbytes, DTYPE_F64, UINT64_C(1) << 32, UINT64_C(1) << 29));
    return check_done("shape");
}
