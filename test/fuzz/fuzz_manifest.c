/* A manifest, as amn-inspect --check reads it: each entry is found by its names. */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void
check_found(const struct manifest *m, bool values)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct manifest_entry *e = &m->entry[i];
        assert(manifest_find(m, false, e->name, strlen(e->name)) == e && e->shape);
        assert(!e->values_name || manifest_find(m, true, e->values_name, strlen(e->values_name)) == e);
        assert(values ? !e->values_name || (e->has_values && e->values_shape) : e->has_stored && !e->values_name);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static int fd = -1;
    static char path[32];
    if (fd < 0) {
        assert((fd = memfd_create("manifest", 0)) >= 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    assert(ftruncate(fd, 0) == 0 && pwrite(fd, p, n, 0) == (ssize_t)n);
    for (int values = 0; values < 2; values++) {
        struct manifest m = { 0 };
        struct err err;
        err_init(&err);
        bool ok = manifest_read(&m, path, values, &limits_default, &err);
        assert(ok == (err.kind == ERR_NONE) && err.kind != ERR_BUG && err.kind != ERR_USAGE);
        if (ok)
            check_found(&m, values);
        manifest_clear(&m);
    }
    return 0;
}
