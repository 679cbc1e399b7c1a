/* The header of an array, and everything computed from a file that is one. */
#include "container/numpy/npy.h"
#include "model_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    const struct npy_bytes in = { .p = p, .n = n, .name = "a", .name_len = 1 };
    struct npy npy;
    struct err err;
    err_init(&err);
    bool ok = npy_read(&npy, &in, &err);
    assert(ok == (err.kind == ERR_NONE) && err.kind != ERR_BUG);
    if (ok) {
        assert(npy.version >= 1 && npy.version <= 3 && npy.rank <= NPY_RANK);
        assert((npy.dtype == DTYPE_UNKNOWN) == (npy.type_name[0] != '\0'));
        for (uint32_t i = 0; i < npy.rank; i++)
            assert(npy.dim[i] <= INT64_MAX);
    }
    model_fuzz(&container_npy, p, n, true);
    model_fuzz(&container_npy, p, n, false);
    return 0;
}
