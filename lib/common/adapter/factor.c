#include "adapter/factor.h"

#include <string.h>

#include "base/bytes.h"
#include "base/num.h"

enum { FEW = 512, BLOCK_BYTES = 512, BLOCK_ELEMS = 256 };

bool
factor_decodes(const struct kernels *k, const struct tensor *t)
{
    const struct dtype_facts *f = dtype_facts(t->dtype);
    if (t->dtype < DTYPE_SCALARS)
        return k->widen[t->dtype] != NULL;
    return k->block_f32[t->dtype] && f->bytes <= BLOCK_BYTES && f->elems <= BLOCK_ELEMS && !t->big_endian && !t->layout;
}

/* Reads elements of a block type: whole blocks, one after the other. */
static bool
read_blocks(const struct model *m, const struct kernels *k, const struct tensor *t, uint64_t first, size_t n, float *out,
    struct err *err)
{
    const struct dtype_facts *f = dtype_facts(t->dtype);
    uint8_t bytes[BLOCK_BYTES];
    float x[BLOCK_ELEMS];
    for (size_t some; n != 0; first += some, n -= some, out += some) {
        size_t skip = (size_t)(first % f->elems);
        some = (size_t)num_min(n, f->elems - skip);
        if (!model_bytes(m, t, first / f->elems * f->bytes, bytes, f->bytes, err))
            return false;
        k->block_f32[t->dtype](x, bytes, 1);
        memcpy(out, x + skip, some * sizeof *x);
    }
    return true;
}

bool
factor_elements(const struct model *m, const struct kernels *k, const struct tensor *t, uint64_t first, size_t n, float *out,
    struct err *err)
{
    size_t size = 0;
    if (t->dtype < DTYPE_SCALARS)
        size = dtype_facts(t->dtype)->bytes;
    _Alignas(8) uint8_t bytes[FEW * sizeof(double)];
    if (t->dtype >= DTYPE_SCALARS)
        return read_blocks(m, k, t, first, n, out, err);
    if (size <= sizeof *out) {                  /* into the end of `out`; widening does not overtake it */
        uint8_t *raw = (uint8_t *)(out + n) - n * size;
        if (!model_bytes(m, t, first * size, raw, n * size, err))
            return false;
        for (size_t done = 0, some; done < n; done += some) {
            some = (size_t)num_min(n - done, FEW);
            memcpy(bytes, raw + done * size, some * size);
            if (t->big_endian)
                bytes_swap(bytes, size, some);
            k->widen[t->dtype](out + done, bytes, some);
        }
        return true;
    }
    for (size_t some; n != 0; first += some, n -= some, out += some) {
        some = (size_t)num_min(n, FEW);
        if (!model_bytes(m, t, first * size, bytes, some * size, err))
            return false;
        if (t->big_endian)
            bytes_swap(bytes, size, some);
        k->widen[t->dtype](out, bytes, some);
    }
    return true;
}

/* Reads n values that are `step` elements apart. */
static bool
read_apart(const struct model *m, const struct kernels *k, const struct tensor *t, uint64_t first, uint64_t step, size_t n,
    float *out, size_t out_step, struct err *err)
{
    float x[FEW];
    for (size_t some; n != 0; n -= some, first += some * step, out += some * out_step) {
        some = 1;
        if (step <= FEW)
            some = (size_t)num_min(n, (FEW - 1) / step + 1);
        if (!factor_elements(m, k, t, first, (size_t)((some - 1) * step + 1), x, err))
            return false;
        for (size_t i = 0; i < some; i++)
            out[i * out_step] = x[i * step];
    }
    return true;
}

bool
factor_read(const struct model *m, const struct kernels *k, const struct factor *f, uint64_t i0, size_t ni, size_t nk, float *out,
    struct err *err)
{
    uint64_t first = f->first + i0 * f->di;
    if (f->dk == 1 && (f->di == nk || ni == 1))
        return factor_elements(m, k, f->t, first, ni * nk, out, err);
    for (size_t i = 0; f->dk == 1 && i < ni; i++)
        if (!factor_elements(m, k, f->t, first + i * f->di, nk, out + i * nk, err))
            return false;
    if (f->dk == 1)
        return true;
    bool down = f->di < f->dk;          /* runs along i are closer together */
    for (size_t i = 0; i < (down ? nk : ni); i++)
        if (down ? !read_apart(m, k, f->t, first + i * f->dk, f->di, ni, out + i, nk, err)
                : !read_apart(m, k, f->t, first + i * f->di, f->dk, nk, out + i * nk, 1, err))
            return false;
    return true;
}
