/* A file of a distributed checkpoint: archives of torch.save(), one after another, each of which a loader opens by itself. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"
#include "base/str.h"
#include "container/torch/torch_file.h"
#include "scan/pickles_priv.h"
#include "source/within.h"
#include "source/zip.h"

enum { STEP = 256 << 10, END_RECORD = 22 };

/* Finds the first byte after an end record without a comment that begins at `from` or later; *end: 0 if there is none. */
static bool
find_end(struct source *src, uint64_t from, uint64_t *end, uint8_t *buf, struct err *err)
{
    uint64_t size = source_size(src);
    for (*end = 0; size - from >= END_RECORD; from += STEP - END_RECORD) {
        size_t n = (size_t)num_min(STEP, size - from);
        if (!source_read(src, from, buf, n, err))
            return false;
        const uint8_t *p = buf;
        while ((p = memmem(p, n - (size_t)(p - buf), "PK\5\6", 4)) != NULL && n - (size_t)(p - buf) >= END_RECORD) {
            if (load_le16(p + END_RECORD - 2) == 0) {
                *end = from + (uint64_t)(p - buf) + END_RECORD;
                return true;
            }
            p++;
        }
        if (n < STEP)
            break;
    }
    return true;
}

/* Opens the shortest archive that begins at `at`; NULL if there is none. */
static bool
open_archive(struct scanner *s, uint64_t at, struct source **inner, const char *name, uint8_t *buf)
{
    uint64_t end = at;
    *inner = NULL;
    for (;;) {
        struct budget budget = { .limits = *s->limits };
        struct zip zip = { 0 };
        struct err why;
        err_init(&why);
        uint64_t from = num_max(end, at + END_RECORD) - END_RECORD + (end != at);
        if (!find_end(s->src, from, &end, buf, s->err))
            return false;
        if (end == 0)
            return true;
        if (!source_within(inner, s->src, at, end - at, name, s->err))
            return false;
        bool ok = zip_read(&zip, *inner, &budget, &why);
        zip_clear(&zip);
        if (ok)
            return true;
        source_close(*inner);
        *inner = NULL;
        if (why.kind == ERR_MEMORY || why.kind == ERR_IO) {
            *s->err = why;
            return false;
        }
    }
}

bool
pickles_row(struct scanner *s)
{
    uint64_t size = source_size(s->src), next;
    uint8_t *buf = malloc(STEP);
    if (!buf)
        return err_memory(s->err, STEP);
    bool ok = true;
    for (uint64_t at = 0; ok && at < size; at = next) {
        char name[64];
        struct source *inner;
        int n = snprintf(name, sizeof name, "byte %" PRIu64, at);
        ok = open_archive(s, at, &inner, name, buf);
        next = size;
        if (ok && inner)
            next = at + source_size(inner);
        else if (ok)
            pickles_fault(s, s->member, s->member_len, ERR_MALFORMED, at, "expected an archive of torch.save() here");
        ok = ok && (inner || source_within(&inner, s->src, at, size - at, name, s->err))
            && pickles_inner(s, inner, name, (size_t)n, false);
    }
    free(buf);
    return ok;
}

bool
pickles_allow_shards(const struct scanner *s, struct pickle_scan *scan, const uint8_t *p)
{
    const struct container_options how = { .limits = s->limits };
    struct budget budget = { .limits = *s->limits };
    struct torch_file f = { 0 };
    struct err why;
    uint64_t *others[] = { &scan->verdicts[VERDICT_SUSPICIOUS], &scan->verdicts[VERDICT_DANGEROUS] };
    err_init(&why);
    bool ok = *others[0] + *others[1] != 0 && torch_file_bare(&f, p, (size_t)scan->length, &how, &budget, &why);
    torch_file_clear(&f);
    for (size_t i = 0; ok && i < sizeof others / sizeof *others; i++) {
        scan->verdicts[VERDICT_ALLOWED] += *others[i];
        *others[i] = 0;
    }
    for (size_t i = 0; ok && i < scan->nfindings; i++) {
        scan->finding[i].verdict = VERDICT_ALLOWED;
        scan->finding[i].why = NULL;
    }
    if (ok)
        scan->unresolved = 0;
    if (why.kind == ERR_MEMORY)
        *s->err = why;
    return why.kind != ERR_MEMORY;
}
