/* model_fuzz: a header from memory, and everything computed from it without the data: catalog, roles, choice, output layout.
 *
 * Bytes after the last MODEL_CONFIG of an input are its config.json.
 */
#ifndef MODEL_FUZZ_H
#define MODEL_FUZZ_H

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "container/container.h"
#include "memory_source.h"
#include "scheme/roles.h"
#include "writer/writer.h"

#define MODEL_CONFIG "\nconfig.json\n"

struct model_bytes {
    const uint8_t *p;
    size_t n;
};

/* Fills struct contents like model_read() does for the tools. */
static bool
model_contents(void *of, const struct tensor *t, void *buf, struct err *err)
{
    const struct model_bytes *m = of;
    if (t->extent.at > m->n || t->extent.nbytes > m->n - t->extent.at)
        return err_at(err, ERR_MALFORMED, m->n, "it ends");
    memcpy(buf, m->p + t->extent.at, (size_t)t->extent.nbytes);
    return true;
}

/* Checks that the output has no holes, and that its header can be read and has the same tensors. */
static void
model_check_output(const struct choice *choice, const struct pieces *pieces, const struct limits *limits)
{
    const struct piece *head = pieces_at(pieces, 0);
    struct err err;
    uint64_t at = 0;
    err_init(&err);
    for (size_t i = 0; i < pieces_count(pieces); at += pieces_at(pieces, i)->nbytes, i++)
        assert(pieces_at(pieces, i)->at == at);
    assert(at == pieces_nbytes(pieces) && head->kind == PIECE_TEXT);

    struct source *src = memory_source((const uint8_t *)head->of.text, (size_t)head->nbytes, false);
    struct catalog *again = catalog_new(limits, &err);
    if (src && again) {
        assert((container_safetensors.read(again, src, 0, &(const struct container_options){ .limits = limits }, &err) && catalog_seal(again, &err))
            || err.kind == ERR_LIMIT);      /* ours can be longer than the limit for reading */
        assert(err.kind == ERR_LIMIT || catalog_count(again) == choice->n);
    }
    catalog_free(again);
    source_close(src);
}

static bool
model_write(struct catalog *catalog, const struct contents *contents, const struct limits *limits, struct err *err)
{
    struct choice choice = { 0 };
    struct roles *roles = NULL;
    struct pieces *pieces = pieces_new(err);
    const struct keys_given nothing = { 0 };
    struct keys keys = { 0 };
    const struct writer_options options = { .order = contents ? WRITER_ORDER_NAME : WRITER_ORDER_INPUT, .keys = &keys };

    bool ok = pieces && roles_assign(&roles, catalog, NULL, contents, err)
        && choice_make(&choice, catalog, roles, KEEPS_NONE, DTYPE_BF16, false, err)
        && keys_make(&keys, KEYS_TEXT, &nothing, &choice, err)
        && writer_safetensors.lay_out(pieces, &choice, &options, err);
    if (ok)
        model_check_output(&choice, pieces, limits);
    pieces_free(pieces);
    keys_clear(&keys);
    choice_clear(&choice);
    roles_free(roles);
    return ok;
}

/* Runs the input as a file with the contents of small tensors, or as a pipe with only its header, whose tensors can be of
 * any size. */
static inline void
model_fuzz(const struct container *container, const uint8_t *p, size_t n, bool file)
{
    const uint8_t *config = memmem(p, n, MODEL_CONFIG, sizeof MODEL_CONFIG - 1);
    struct model_bytes bytes = { p, config ? (size_t)(config - p) : n };
    const struct contents contents = { model_contents, &bytes };
    struct limits limits = limits_default;
    struct err err;
    err_init(&err);

    struct source *src = memory_source(bytes.p, bytes.n, file);
    struct catalog *catalog = catalog_new(&limits, &err);
    bool ok = src && catalog && container->read(catalog, src, 0, &(const struct container_options){ .limits = &limits }, &err);
    if (ok && config) {
        const char *text = (const char *)config + sizeof MODEL_CONFIG - 1;
        const struct catalog_config one = { "config.json", text, n - (size_t)((const uint8_t *)text - p) };
        ok = catalog_add_config(catalog, &one, &err);
    }
    ok = ok && catalog_seal(catalog, &err) && model_write(catalog, file ? &contents : NULL, &limits, &err);
    assert(ok == (err.kind == ERR_NONE) && err.kind != ERR_BUG && err.kind != ERR_USAGE);
    catalog_free(catalog);
    source_close(src);
}

#endif
