/* --scan: any file yields a verdict or a fault, in bounded memory. */
#include <assert.h>
#include <string.h>

#include "container/torch/pickle_ops.h"
#include "scan/pickles.h"
#include "memory_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

/* Reads everything that a report reads of a pickle; every text of a finding must be readable. */
static bool
hear(void *of, const struct pickle_found *found, struct err *err)
{
    uint64_t *listed = of, counted = 0;
    const struct pickle_scan *scan = found->scan;
    (void)err;
    for (size_t i = 0; i < scan->nfindings; i++) {
        const struct pickle_finding *f = &scan->finding[i];
        assert(f->count != 0 && f->offset < scan->length + !scan->stopped && pickle_op(f->opcode)->name);
        assert(!f->module || !memchr(f->module, '\xFF', f->module_len) || f->verdict == VERDICT_DANGEROUS);
        assert((f->module && f->name) || f->verdict == VERDICT_DANGEROUS);
        assert((f->verdict == VERDICT_ALLOWED) == (f->why == NULL));
        assert(i == 0 || f[-1].offset <= f->offset);
    }
    for (unsigned v = 0; v < VERDICTS; v++)
        counted += scan->verdicts[v];
    assert(counted >= scan->nfindings && scan->verdicts[VERDICT_DANGEROUS] >= scan->unresolved);
    ++*listed;
    return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    uint64_t listed = 0;
    const struct pickles_callback callback = { .pickle = hear, .of = &listed };
    struct pickles pickles;
    struct err err;
    err_init(&err);
    struct source *src = memory_source(p, n, true);
    bool ok = src && pickles_scan(&pickles, src, &limits_default, &callback, &err);
    assert(ok == (err.kind == ERR_NONE) && err.kind != ERR_BUG && err.kind != ERR_USAGE);
    assert(!ok || pickles.count == listed + pickles.unlisted);
    source_close(src);
    return 0;
}
