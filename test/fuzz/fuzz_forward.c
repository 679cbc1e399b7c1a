/* A checkpoint in a ZIP archive read forward once: if that succeeds, the contents are those that the archive's directory
 * describes. */
#include "container/torch/checkpoint_zip.h"
#include "model_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

enum { MOST = 1 << 16 };

/* Opens the input, or returns NULL. A pipe is never read whole first. */
static struct catalog *
open_checkpoint(struct source **src, const uint8_t *p, size_t n, bool file, struct err *err)
{
    const struct container_options how = { .limits = &limits_default };
    struct catalog *c = catalog_new(&limits_default, err);
    bool done = false;
    *src = memory_source(p, n, file);
    bool ok = c && *src && (file ? container_zip.read(c, *src, 0, &how, err)
        : checkpoint_zip_forward(c, *src, 0, &how, &done, err) && done) && catalog_seal(c, err);
    assert(err->kind != ERR_BUG);
    if (ok)
        source_head_done(*src, catalog_facts_of(c)->header_end);
    if (ok)
        return c;
    catalog_free(c);
    return NULL;
}

/* Checks that both have the same tensors and bytes, if both can be read to the end. */
static void
compare(const struct catalog *file, struct source *from_file, const struct catalog *pipe, struct source *from_pipe)
{
    struct err err;
    err_init(&err);
    assert(catalog_count(file) == catalog_count(pipe));
    static uint8_t a[MOST], b[MOST];
    uint64_t end = 0;
    for (size_t i = 0; i < catalog_count(pipe); i++) {
        const struct tensor *t = catalog_at(pipe, i), *same = catalog_find(file, t->name, t->name_len);
        assert(same && same->dtype == t->dtype && same->extent.at == t->extent.at && same->extent.nbytes == t->extent.nbytes
            && same->big_endian == t->big_endian && same->sign == t->sign && !same->layout == !t->layout
            && same->shape.rank == t->shape.rank && shape_same(&same->shape, &t->shape, t->shape.rank));
        if (t->layout || t->dtype == DTYPE_UNKNOWN || t->extent.nbytes > MOST || t->extent.at < end)
            continue;
        if (!source_read(from_pipe, t->extent.at, b, (size_t)t->extent.nbytes, &err))
            return;
        end = t->extent.at + t->extent.nbytes;
        assert(source_read(from_file, t->extent.at, a, (size_t)t->extent.nbytes, &err));
        assert(memcmp(a, b, (size_t)t->extent.nbytes) == 0);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct source *from_file, *from_pipe, *all;
    struct err err, no;
    err_init(&err);
    err_init(&no);
    struct catalog *pipe = open_checkpoint(&from_pipe, p, n, false, &err);
    struct catalog *file = open_checkpoint(&from_file, p, n, true, &no);
    if (pipe) {
        /* Reads to the end: the archive was then checked as a whole, and a file of it is valid. */
        err_init(&err);
        struct catalog *again = open_checkpoint(&all, p, n, false, &err);
        bool good = again && source_finish(all, 0, true, &err);
        assert(!good || file);
        if (good)
            compare(file, from_file, pipe, from_pipe);
        catalog_free(again);
        source_close(all);
    }
    catalog_free(file);
    catalog_free(pipe);
    source_close(from_file);
    source_close(from_pipe);
    return 0;
}
