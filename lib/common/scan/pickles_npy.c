#include <inttypes.h>
#include <string.h>

#include "base/num.h"
#include "container/numpy/npy.h"
#include "scan/pickles_priv.h"

/* Scans the bytes after a header of numbers. They are never unpickled, however they begin. */
static bool
after_numbers(struct scanner *s, struct pickles_run *run, struct window *w, const struct npy *npy)
{
    uint64_t left = w->total - w->at;
    if (npy->sized && w->total != 0 && left != npy->nbytes)
        pickles_fault(s, run->member, run->member_len, ERR_MALFORMED, w->at, "%" PRIu64 " bytes of data after the header of "
            "the array, expected %" PRIu64, left, npy->nbytes);
    run->sure = false;
    run->aside = run->peek = true;
    return pickles_run(s, run, w);
}

bool
pickles_npy(struct scanner *s, struct pickles_run *run, struct window *w, bool *npy)
{
    struct npy header;
    struct err why;
    uint64_t length = 0;
    err_init(&why);
    if (!window_hold(w, NPY_FIXED, s->err))
        return false;
    *npy = npy_is(w->p, w->n);
    if (!*npy)
        return true;
    struct npy_bytes in = { .p = w->p, .n = (size_t)num_min(w->n, NPY_FIXED), .at = ERR_NO_OFFSET, .name = "arr_0",
        .name_len = 5 };
    run->whole = false;
    bool ok = npy_length(&length, &in, &why);
    if (!window_hold(w, (size_t)num_min(length, w->max), s->err))
        return false;
    in.p = w->p;
    in.n = (size_t)num_min(w->n, num_min(length, NPY_FIXED + NPY_HEADER_MAX));
    ok = ok && npy_read(&header, &in, &why);
    /* NumPy evaluates headers that this reader refuses, so any of them may announce a pickle. */
    if (!ok && why.kind != ERR_UNSAFE)
        pickles_fault(s, run->member, run->member_len, why.kind, ERR_NO_OFFSET, "%s", why.text);
    window_drop(w, (size_t)num_min(length, w->n));
    if (ok)
        return after_numbers(s, run, w, &header);
    run->sure = why.kind == ERR_UNSAFE;
    return pickles_run(s, run, w);
}
