#include "command/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/blobs.h"
#include "model/manifest.h"
#include "report/ndjson.h"

enum check_result { CHECK_OK, CHECK_FAILED, CHECK_SHAPE, CHECK_EXTRA, CHECK_MISSING, CHECK_RESULTS };

/* As sha256sum prints them; and the words of JSON. */
static const char *const shown_as[CHECK_RESULTS] = { "OK", "FAILED", "FAILED (shape)", "FAILED (not in the manifest)",
    "FAILED (missing)" };
static const char *const words[CHECK_RESULTS] = { "ok", "different", "shape", "extra", "missing" };

struct checking {
    struct cli *cli;
    const struct hash *hash;
    const struct naming *naming;
    struct manifest manifest;
    bool *seen;                 /* entries of the manifest that the model has; owned */
    bool common;                /* there is one */
    bool prints;                /* second pass: print the results */
    size_t count[CHECK_RESULTS];
    struct page *page;
    const char *model;          /* the operand, if there are several; or NULL */
    bool differs;
};

/* --- output */

static void
print_result(struct checking *c, enum check_result result, const char *name, size_t n)
{
    struct str *out = &c->page->text;
    enum screen_style style = SCREEN_BAD;
    if (result == CHECK_OK)
        style = SCREEN_GOOD;
    c->count[result]++;
    if (c->cli->form == CLI_JSON) {
        ndjson_begin(c->page);
        ndjson_text(c->page, "model", c->model);
        ndjson_bytes(c->page, "name", name, n);
        ndjson_text(c->page, "result", words[result]);
        ndjson_end(c->page);
    } else if (result != CHECK_OK || c->cli->verbose != 0) {
        str_add_escaped(out, name, n);
        str_text(out, ": ");
        page_styled(c->page, style, shown_as[result]);
        str_text(out, "\n");
    }
    page_turn(c->page);
}

/* Sums up one model, for people. */
static void
print_summary(struct checking *c, const char *model)
{
    struct str *out = &c->page->text;
    size_t bad = c->count[CHECK_FAILED] + c->count[CHECK_SHAPE];
    if (c->cli->form == CLI_JSON)
        return;
    str_format(out, "%s: %zu tensor%s OK", model, c->count[CHECK_OK], str_plural(c->count[CHECK_OK]));
    if (bad != 0)
        str_format(out, ", %zu different", bad);
    if (c->count[CHECK_MISSING] != 0)
        str_format(out, ", %zu missing", c->count[CHECK_MISSING]);
    if (c->count[CHECK_EXTRA] != 0)
        str_format(out, ", %zu not in the manifest", c->count[CHECK_EXTRA]);
    str_text(out, "\n");
}

/* --- comparison */

/* Appends a name as JSON has it, unescaped: a byte that is not UTF-8 is the text \xHH. */
static void
add_json_name(struct str *out, const char *p, size_t n)
{
    uint32_t code;
    for (size_t len; n != 0; p += len, n -= len) {
        if ((len = str_utf8_char(p, n, &code)) != 0)
            str_add(out, p, len);
        else
            str_format(out, "\\x%02x", (unsigned char)p[len++]);
    }
}

static void
add_shape(struct str *out, const struct shape *shape)
{
    for (uint32_t i = 0; i < shape->rank; i++)
        str_format(out, "%s%" PRIu64, i == 0 ? "" : ",", shape_dim(shape, i));
}

/* Compares the shape and the digest of a tensor, of decoded or of stored values, with its entry. */
static enum check_result
compare_entry(const struct manifest_entry *e, bool values, const char *shape, const uint8_t *digest)
{
    if (strcmp(values ? e->values_shape : e->shape, shape) != 0)
        return CHECK_SHAPE;
    if (memcmp(values ? e->values : e->stored, digest, SHA256_BYTES) != 0)
        return CHECK_FAILED;
    return CHECK_OK;
}

/* Compares one tensor, under its new name, with its entry. */
static bool
check_compare(struct checking *c, const struct tensor *t, const uint8_t *digest, struct err *err)
{
    bool values = !c->hash->stored;
    struct str name = { 0 }, shape = { 0 };
    add_json_name(&name, t->name, t->name_len);
    add_shape(&shape, &t->shape);
    bool ok = !(name.failed || shape.failed) || err_memory(err, name.room);
    const struct manifest_entry *e = NULL;
    if (ok)
        e = manifest_find(&c->manifest, values, str_or(name.p, ""), name.len);
    enum check_result result = CHECK_EXTRA;
    if (e) {
        c->seen[e - c->manifest.entry] = c->common = true;
        result = compare_entry(e, values, str_or(shape.p, ""), digest);
    }
    if (ok && c->prints)
        print_result(c, result, t->name, t->name_len);
    str_clear(&name);
    str_clear(&shape);
    return ok;
}

/* Compares all tensors of the model that the options select. */
static bool
compare_all(struct checking *c, const struct digests *d, struct err *err)
{
    struct chosen chosen;
    struct choice renamed = { .input = d->catalog, .roles = d->roles, .list = &chosen };
    bool ok = true;
    for (size_t i = 0; ok && i < catalog_count(d->catalog); i++) {
        struct tensor t = *catalog_at(d->catalog, i);
        const struct weight *w = NULL;
        if (!c->hash->stored)
            w = roles_weight_of(d->roles, i);
        chosen = (struct chosen){ .copy = w ? NULL : catalog_at(d->catalog, i), .decode = w, .dtype = t.dtype };
        if (!c->hash->stored && !digests_values(&t, d, i))
            continue;
        ok = naming_name(c->naming, &renamed, &chosen, err);
        renamed.n = 1;
        t = chosen_tensor(&chosen);
        if (ok && naming_keeps(c->naming, &t))
            ok = check_compare(c, &t, c->hash->stored ? d->list[i].stored : d->list[i].values, err);
    }
    ok = ok && naming_check_steps(c->naming, &renamed, err);
    names_clear(&renamed.names);
    return ok;
}

/* Reports the entries that the model lacks. Fails if it lacks all of them, in the pass before results are printed. */
static bool
find_missing(struct checking *c, struct err *err)
{
    const struct manifest *m = &c->manifest;
    char shown[STR_SHOWN];
    for (size_t i = 0; i < m->n; i++) {
        const char *name = c->hash->stored ? m->entry[i].name : m->entry[i].values_name;
        const struct tensor t = { .name = name, .name_len = name ? (uint32_t)strlen(name) : 0 };
        if (!name || c->seen[i] || !naming_keeps(c->naming, &t))
            continue;
        if (!c->common) {
            err_set(err, ERR_MALFORMED, "line %" PRIu64 " lists %s, but the model has no tensor of the manifest; "
                "use --rename if its names differ", m->entry[i].line, str_shown(shown, name, strlen(name)));
            return err_in_file(err, m->path);
        }
        if (c->prints)
            print_result(c, CHECK_MISSING, name, strlen(name));
    }
    return true;
}

static bool
check_operand(void *own, const struct operand *operand, struct err *err)
{
    struct checking *c = own;
    struct digests digests = { 0 };
    const struct cli *cli = c->cli;
    cli_remarks(cli, operand->model->name, operand->model->catalog, 0);
    memset(c->count, 0, sizeof c->count);
    c->common = false;
    if (operand->heading)
        c->model = operand->name;
    else
        c->model = NULL;
    c->seen = calloc(c->manifest.n + 1, sizeof *c->seen);
    bool ok = (c->seen || err_memory(err, c->manifest.n))
        && hash_operand(&digests, operand, c->hash->stored ? DIGESTS_STORED : DIGESTS_VALUES, DTYPE_F32, c->hash->jobs, err);
    c->page = operand->page;
    for (unsigned pass = 0; ok && pass < 2; pass++) {
        c->prints = pass != 0;
        ok = compare_all(c, &digests, err) && find_missing(c, err);
    }
    if (ok)
        print_summary(c, operand->model->name);
    c->differs = c->differs || (ok && c->count[CHECK_FAILED] + c->count[CHECK_SHAPE] + c->count[CHECK_EXTRA]
        + c->count[CHECK_MISSING] != 0);
    digests_clear(&digests);
    free(c->seen);
    return ok;
}

/* --- lists of amn hash */

/* Returns the line about an operand, by its name; or the only line. */
static const struct manifest_model *
find_line(const struct manifest *m, const char *name)
{
    for (size_t i = 0; i < m->nmodels; i++)
        if (name && strcmp(m->model[i].name, name) == 0)
            return &m->model[i];
    return m->nmodels == 1 ? m->model : NULL;
}

/* Compares the digest of a model with its line. */
static bool
check_whole(void *own, const struct operand *operand, struct err *err)
{
    struct checking *c = own;
    struct digests digests = { 0 };
    const char *name = operand->name ? operand->name : "-";
    const struct manifest_model *line = find_line(&c->manifest, operand->name);
    char shown[STR_SHOWN];
    cli_remarks(c->cli, operand->model->name, operand->model->catalog, 0);
    if (!line)
        return err_set(err, ERR_USAGE, "%s has no line about %s: give a model that it names", c->manifest.path,
            str_shown(shown, name, strlen(name)));
    bool ok = hash_operand(&digests, operand, line->stored ? DIGESTS_STORED : DIGESTS_VALUES, line->to, c->hash->jobs,
        err);
    const uint8_t *digest = line->stored ? digests.model.stored : digests.model.values;
    if (ok) {
        enum check_result result = memcmp(digest, line->digest, SHA256_BYTES) == 0 ? CHECK_OK : CHECK_FAILED;
        c->page = operand->page;
        c->model = name;
        c->differs = c->differs || result != CHECK_OK;
        print_result(c, result, name, strlen(name));
        if (c->cli->form != CLI_JSON && result == CHECK_OK && c->cli->verbose == 0)
            str_format(&c->page->text, "%s: OK\n", str_shown(shown, name, strlen(name)));
    }
    digests_clear(&digests);
    return ok;
}

/* Sets *names to the names in a list of amn hash, which the caller frees; NULL without any. */
static bool
model_names(char ***names, const struct manifest *m, struct err *err)
{
    char **list = m->nmodels != 0 ? calloc(m->nmodels, sizeof *list) : NULL;
    *names = list;
    if (m->nmodels != 0 && !list)
        return err_memory(err, m->nmodels * sizeof *list);
    for (size_t i = 0; i < m->nmodels; i++)
        list[i] = m->model[i].name;
    return true;
}

/* Compares the operands after the first with what was read from it. */
static enum cli_status
check_operands(struct checking *c)
{
    struct cli *cli = c->cli;
    struct err err;
    cli->operands++;
    cli->noperands--;
    cli->operand = cli->noperands != 0 ? cli->operands[0] : NULL;
    err_init(&err);
    if (c->manifest.n == 0 && (c->hash->stored || c->naming->nglobs + c->naming->nsteps != 0)) {
        err_set(&err, ERR_USAGE, "options that select tensors or digests require a manifest of amn parse --hash");
        err_in_file(&err, c->manifest.path);
        return cli_fail(cli, &err);
    }
    if (c->manifest.files)
        return check_blobs_list(cli, &c->manifest);
    char **names = NULL;
    if (cli->noperands == 0 && !model_names(&names, &c->manifest, &err))
        return cli_fail(cli, &err);
    if (names) {
        cli->operands = names;
        cli->noperands = c->manifest.nmodels;
    }
    enum cli_status status = operands_weights(cli, c->manifest.nmodels != 0 ? check_whole : check_operand, c);
    free(names);
    return status == CLI_OK && c->differs ? CLI_FOUND : status;
}

enum cli_status
check_run(struct cli *cli, const struct hash *hash, const struct naming *naming)
{
    struct checking c = { .cli = cli, .hash = hash, .naming = naming };
    struct err err;
    err_init(&err);
    if (cli->noperands != 0 && blobs_possible(cli->operands[0]) && !hash->stored && naming->nglobs + naming->nsteps == 0)
        return check_blobs_run(cli);
    bool ok;
    if (cli->noperands == 0)
        ok = err_set(&err, ERR_USAGE, "--check requires a manifest and a model: amn check MANIFEST FILE; or a model in a "
            "store: amn check hf:ORG/NAME");
    else if (blobs_possible(cli->operands[0]))
        ok = err_set(&err, ERR_USAGE, "options that select tensors require a manifest, which comes first: amn check MANIFEST %s",
            cli->operands[0]);
    else
        ok = operands_stdin_once(cli, &err) && manifest_read(&c.manifest, strcmp(cli->operands[0], "-") == 0 ? NULL : cli->operands[0],
            !hash->stored, &cli->limits, &err);
    if (ok && cli->noperands == 1 && strcmp(cli->operands[0], "-") == 0 && c.manifest.n != 0)
        ok = err_set(&err, ERR_USAGE, "--check: standard input is the manifest; give the model: --check - FILE");
    enum cli_status status;
    if (ok)
        status = check_operands(&c);
    else
        status = cli_fail(cli, &err);
    manifest_clear(&c.manifest);
    return status;
}
