#include "command/check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/num.h"
#include "base/sha256.h"
#include "cli/progress.h"
#include "command/operands.h"
#include "model/blobs.h"
#include "report/ndjson.h"
#include "source/source.h"

enum { PIECE = 1 << 20, HEADER_MAX = 32 };

enum blob_result { BLOB_OK, BLOB_DIFFERENT, BLOB_MISSING, BLOB_RESULTS };
static const char *const shown_as[BLOB_RESULTS] = { "OK", "FAILED", "FAILED (missing)" };
static const char *const words[BLOB_RESULTS] = { "ok", "different", "missing" };

struct checking_blobs {
    struct cli *cli;
    const struct manifest *list;                /* or NULL: the names in a store are digests */
    struct sha256_library sha256, sha1;         /* opened when they are needed */
    bool has_sha256, has_sha1;
    uint8_t *buffer;                            /* PIECE bytes; owned */
    size_t count[BLOB_RESULTS];
    bool differs;
};

/* --- one file */

static bool
open_library(struct checking_blobs *c, bool sha1, struct err *err)
{
    bool *has = sha1 ? &c->has_sha1 : &c->has_sha256;
    *has = *has || (sha1 ? sha1_open(&c->sha1, err) : sha256_open(&c->sha256, err));
    return *has;
}

/* Computes the digest of a whole file, as hexadecimal digits. */
static bool
digest_file(char digest[BLOB_SHA256 + 1], struct checking_blobs *c, struct source *src, bool sha1, struct err *err)
{
    uint8_t bytes[SHA256_BYTES];
    char hex[SHA256_HEX], header[HEADER_MAX];
    struct sha256 s;
    const uint64_t size = source_size(src);
    sha256_begin(&s, sha1 ? &c->sha1 : &c->sha256);
    if (sha1)                                   /* git's, with the NUL */
        sha256_add(&s, header, (size_t)snprintf(header, sizeof header, "blob %" PRIu64, size) + 1);
    for (uint64_t at = 0; at < size; at += PIECE) {
        size_t n = (size_t)num_min(PIECE, size - at);
        if (!source_read(src, at, c->buffer, n, err))
            return false;
        sha256_add(&s, c->buffer, n);
        meter_add(&c->cli->bar->meter, n);
        source_drop(src, at, at + n);
    }
    sha256_end(&s, bytes);
    snprintf(digest, BLOB_SHA256 + 1, "%.*s", sha1 ? BLOB_SHA1 : BLOB_SHA256, sha256_hex(hex, bytes));
    return source_unchanged(src, err);
}

static bool
check_blob(enum blob_result *result, struct checking_blobs *c, const struct blob *blob, struct err *err)
{
    char digest[BLOB_SHA256 + 1];
    const bool sha1 = strlen(blob->digest) == BLOB_SHA1;
    struct source *src = NULL;
    struct stat st;
    *result = BLOB_MISSING;
    if (stat(blob->path, &st) != 0 && err_absent(errno))
        return true;
    bool ok = open_library(c, sha1, err) && source_open(&src, blob->path, false, NULL, err)
        && (digest_file(digest, c, src, sha1, err) || err_in_file(err, source_name(src)));
    if (ok)
        *result = strcmp(digest, blob->digest) == 0 ? BLOB_OK : BLOB_DIFFERENT;
    source_close(src);
    return ok;
}

/* --- output */

static void
print_blob(struct checking_blobs *c, struct page *page, const char *operand, const struct blob *blob, enum blob_result result)
{
    c->count[result]++;
    if (c->cli->form == CLI_JSON) {
        ndjson_begin(page);
        ndjson_text(page, "model", operand);
        ndjson_text(page, "name", blob->name);
        ndjson_text(page, "result", words[result]);
        ndjson_text(page, "digest", blob->digest);
        ndjson_end(page);
    } else if (result != BLOB_OK || c->cli->verbose != 0) {
        str_add_escaped(&page->text, blob->name, strlen(blob->name));
        str_text(&page->text, ": ");
        page_styled(page, result == BLOB_OK ? SCREEN_GOOD : SCREEN_BAD, shown_as[result]);
        str_text(&page->text, "\n");
    }
    page_turn(page);
}

static void
sum_up(struct checking_blobs *c, struct page *page, const char *operand, const struct blobs *b)
{
    char shown[STR_SHOWN], first[STR_SHOWN];
    if (c->cli->form != CLI_JSON) {
        str_format(&page->text, "%s: %zu file%s OK", str_shown(shown, operand, strlen(operand)), c->count[BLOB_OK],
            str_plural(c->count[BLOB_OK]));
        if (c->count[BLOB_DIFFERENT] != 0)
            str_format(&page->text, ", %zu different", c->count[BLOB_DIFFERENT]);
        if (c->count[BLOB_MISSING] != 0)
            str_format(&page->text, ", %zu missing", c->count[BLOB_MISSING]);
        str_text(&page->text, "\n");
    }
    if (b->unnamed != 0)
        cli_warn(c->cli, operand, "%zu file%s without a known digest not checked, such as %s", b->unnamed, str_plural(b->unnamed),
            str_shown(first, b->first, strlen(b->first)));
}

/* --- all files */

/* Returns the bytes of all files, for the progress bar. */
static uint64_t
total_bytes(const struct blobs *b)
{
    uint64_t total = 0;
    struct stat st;
    for (size_t i = 0; i < b->n; i++)
        if (stat(b->list[i].path, &st) == 0 && st.st_size > 0)
            total += (uint64_t)st.st_size;
    return total;
}

static bool
check_store(void *own, const char *operand, struct err *err)
{
    struct checking_blobs *c = own;
    struct blobs b = { 0 };
    struct page page;
    enum blob_result result;
    const char *heading = operand ? operand : c->list->path;
    page_init(&page, stdout);
    memset(c->count, 0, sizeof c->count);
    bool ok = c->list ? blobs_read(&b, c->list->files, c->list->nfiles, operand, err) || err_in_file(err, c->list->path)
        : blobs_find(&b, operand, &c->cli->limits, err);
    meter_phase(&c->cli->bar->meter, "checking", ok ? total_bytes(&b) : 0);
    for (size_t i = 0; ok && i < b.n; i++) {
        ok = check_blob(&result, c, &b.list[i], err);
        if (ok)
            print_blob(c, &page, heading, &b.list[i], result);
    }
    if (ok)
        sum_up(c, &page, heading, &b);
    ok = page_finish(&page, err) && ok;
    c->differs = c->differs || c->count[BLOB_DIFFERENT] + c->count[BLOB_MISSING] != 0;
    blobs_clear(&b);
    return ok;
}

static enum cli_status
run(struct cli *cli, const struct manifest *list)
{
    struct checking_blobs c = { .cli = cli, .list = list, .buffer = malloc(PIECE) };
    struct err err;
    err_init(&err);
    if (!c.buffer) {
        err_memory(&err, PIECE);
        return cli_fail(cli, &err);
    }
    enum cli_status status = operands_each(cli, check_store, &c);
    if (status == CLI_OK && c.differs)
        status = CLI_FOUND;
    sha256_close(&c.sha256);
    sha256_close(&c.sha1);
    free(c.buffer);
    return status;
}

enum cli_status
check_blobs_run(struct cli *cli)
{
    return run(cli, NULL);
}

enum cli_status
check_blobs_list(struct cli *cli, const struct manifest *list)
{
    return run(cli, list);
}
