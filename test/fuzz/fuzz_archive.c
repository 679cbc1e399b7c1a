/* The files in an archive: all are inside of it, and their names are sorted and found. */
#include "container/container.h"
#include "model_fuzz.h"
#include "source/bundle.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct source *src = memory_source(p, n, true);
    struct budget budget = { .limits = limits_default };
    struct bundle b = { 0 };
    struct err err;
    err_init(&err);
    bool ok = src && archive_bundle(&b, src, "a", &budget, &err);
    assert(ok == (err.kind == ERR_NONE) && err.kind != ERR_BUG);
    for (size_t i = 0; ok && b.path && i < b.n; i++) {
        char *path = malloc(strlen(b.file[i].name) + 3);
        assert(path && b.file[i].at <= n && b.file[i].nbytes <= n - b.file[i].at);
        strcpy(path, "a/");
        strcat(path, b.file[i].name);
        assert(bundle_find(&b, path) == &b.file[i] && bundle_kind(&b, b.file[i].name) == BUNDLE_FILE);
        assert(i == 0 || strcmp(b.file[i - 1].name, b.file[i].name) < 0);
        free(path);
    }
    bundle_clear(&b);
    source_close(src);
    return 0;
}
