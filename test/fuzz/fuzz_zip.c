/* The index of an archive, its members as a stream, read and skipped, and the model of an archive of arrays. */
#include "model_fuzz.h"
#include "source/zip.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

enum { MOST = 1 << 20, STEP = 10000 };

/* Checks the guarantees of the index. */
static uint64_t
check_index(const struct zip *zip, size_t n)
{
    uint64_t behind = 0, out = 0;
    for (size_t i = 0; i < zip->n; i++) {
        const struct zip_member *m = &zip->member[i];
        assert(m->header_at >= behind && m->at > m->header_at && m->at <= n && m->stored <= n - m->at);
        assert(m->out_at == out && (m->deflated || m->stored == m->nbytes));
        assert(zip_find(zip, m->name, m->name_len) == m && m->name[m->name_len] == '\0');
        behind = m->at + m->stored;
        out += m->nbytes;
    }
    return out;
}

/* Reads bytes [from, to) of a source; a broken member ends it. */
static bool
read_bytes(struct source *src, uint8_t *to, uint64_t from, uint64_t end, struct err *err)
{
    bool ok = true;
    for (; ok && from < end; from += STEP, to += STEP)
        ok = source_read(src, from, to, end - from < STEP ? (size_t)(end - from) : STEP, err);
    return ok;
}

/* Reads all members, then every other one: the bytes must be equal. */
static void
inflate(const uint8_t *p, size_t n, uint8_t *bytes, size_t every)
{
    struct source *src = memory_source(p, n, true);
    struct budget budget = { .limits = limits_default };
    struct zip zip = { 0 };
    struct err err;
    err_init(&err);
    bool ok = src && zip_read(&zip, src, &budget, &err) && source_inflate(src, &zip, true, &err);
    for (size_t i = 0; ok && i < zip.n; i += every) {
        const struct zip_member *m = &zip.member[i];
        uint8_t *again = every != 1 ? malloc((size_t)m->nbytes + STEP) : bytes + m->out_at;
        ok = again && read_bytes(src, again, m->out_at, m->out_at + m->nbytes, &err);
        if (ok && every != 1)
            assert(memcmp(again, bytes + m->out_at, (size_t)m->nbytes) == 0);
        if (every != 1)
            free(again);
    }
    assert(ok == (err.kind == ERR_NONE) && err.kind != ERR_BUG);
    zip_clear(&zip);
    source_close(src);
    if (ok && every == 1)
        inflate(p, n, bytes, 2);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct source *src = memory_source(p, n, true);
    struct budget budget = { .limits = limits_default };
    struct zip zip = { 0 };
    struct err err;
    uint64_t out = 0;
    err_init(&err);
    bool ok = src && zip_read(&zip, src, &budget, &err);
    assert(ok == (err.kind == ERR_NONE) && err.kind != ERR_BUG);
    if (ok) {
        out = check_index(&zip, n);
        zip_cases_differ(&zip, &budget, &err);
    }
    for (size_t i = 0; ok && i < zip.n && i < 16; i++) {
        uint8_t head[300];
        size_t got;
        err_init(&err);
        zip_head(src, &zip.member[i], head, sizeof head, &got, &err);
        assert(err.kind != ERR_BUG);
    }
    zip_clear(&zip);
    source_close(src);
    if (ok && out <= MOST) {
        uint8_t *bytes = malloc((size_t)out + STEP);
        if (bytes)
            inflate(p, n, bytes, 1);
        free(bytes);
    }
    model_fuzz(&container_zip, p, n, true);
    model_fuzz(&container_zip, p, n, false);
    return 0;
}
