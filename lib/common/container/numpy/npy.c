/* Adds an array to the catalog; reads an NPY file. */
#include "container/numpy/npy.h"

#include <inttypes.h>
#include <string.h>

#include "base/num.h"
#include "container/container.h"

/* Returns the column-major layout, or NULL if it equals the row-major one. */
static const struct layout *
fortran_layout(struct layout *layout, const struct npy *npy)
{
    uint64_t stride[NPY_RANK], step = 1;
    for (uint32_t i = 0; i < npy->rank; i++) {
        stride[i] = step;
        step *= npy->dim[i] != 0 ? npy->dim[i] : 1;     /* measure() has checked the product */
    }
    layout_make(layout, npy->dim, stride, npy->rank);
    if (layout_is_plain(layout))
        return NULL;
    return layout;
}

bool
npy_add(struct catalog *c, const struct npy *npy, const struct npy_bytes *in, const struct extent *extent, struct err *err)
{
    uint8_t packed[NPY_RANK * SHAPE_DIM];
    struct layout layout;
    char *type = NULL;
    shape_pack(packed, npy->dim, npy->rank);
    if (npy->dtype == DTYPE_UNKNOWN) {
        size_t n = strlen(npy->type_name) + 1;
        if (!(type = catalog_alloc(c, n, err)))
            return false;
        memcpy(type, npy->type_name, n);
    }
    const struct tensor t = {
        .name = in->name,
        .name_len = (uint32_t)in->name_len,
        .dtype = npy->dtype,
        .type_name = type,
        .big_endian = npy->big_endian,
        .layout = npy->fortran && !type ? fortran_layout(&layout, npy) : NULL,
        .shape = { .rank = npy->rank, .packed = packed },
        .extent = *extent,
    };
    return budget_items(catalog_budget(c), 1, "arrays", err) && catalog_add(c, &t, err);
}

/* --- an NPY file -------------------------------------------------------------------------------------------- */

static bool
npy_probe(const uint8_t *head, size_t n, uint64_t size)
{
    (void)size;
    return npy_is(head, n);
}

/* Checks that the array fits in the file. Trailing bytes are ignored with a warning, as in NumPy. */
static bool
check_end(struct catalog *c, const struct npy *npy, uint64_t from, uint64_t size, struct err *err)
{
    uint64_t end = 0;
    bool fits = num_add(&end, from, npy->nbytes);
    if (size == SOURCE_SIZE_UNKNOWN)
        return fits || err_at(err, ERR_MALFORMED, 0, "size of the array overflows 64 bits");
    if (!fits || size < end)
        return err_at(err, ERR_MALFORMED, size, SOURCE_TRUNCATED, size, fits ? end : UINT64_MAX);
    if (size > end && npy->sized)
        catalog_warn(c, "ignored %" PRIu64 " trailing bytes after the array", size - end);
    return true;
}

static bool
npy_read_file(struct catalog *c, struct source *src, uint32_t file, const struct container_options *options,
    struct err *err)
{
    static const char name[] = "arr_0";         /* NumPy's name for an unnamed array */
    struct npy_bytes in = { .name = name, .name_len = sizeof name - 1 };
    uint64_t have = 0, length = 0;
    struct npy npy;
    (void)options;              /* none of them applies */
    bool ok = source_head(src, NPY_FIXED, &in.p, &have, err);
    in.n = (size_t)num_min(have, NPY_FIXED);
    ok = ok && npy_length(&length, &in, err);
    uint64_t want = num_min(length, NPY_FIXED + NPY_HEADER_MAX);
    ok = ok && budget_bytes(catalog_budget(c), want, "header bytes", err) && source_head(src, want, &in.p, &have, err);
    in.n = (size_t)num_min(have, want);
    if (!ok || !npy_read(&npy, &in, err) || !check_end(c, &npy, length, source_size(src), err))
        return false;
    catalog_facts(c)->format = container_npy.name;
    catalog_facts(c)->version = npy.version;
    catalog_facts(c)->big_endian = npy.big_endian;
    catalog_facts(c)->header_end = length;
    return npy_add(c, &npy, &in, &(struct extent){ file, length, npy.nbytes }, err);
}

const struct container container_npy = {
    .name = "NPY",
    .probe = npy_probe,
    .read = npy_read_file,
    .tail_ok = true,
};
