#include "command/manifest_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command/operands.h"
#include "command/report_file.h"
#include "output/outputs.h"
#include "pipeline/digest.h"
#include "report/parse.h"

/* --- before the job */

/* Returns true if the output becomes files, which can be read again. */
static bool
is_files(const struct job *job)
{
    struct stat st;
    return job->dir.path || job->split.size != 0
        || (job->output.path && (stat(job->output.path, &st) != 0 || S_ISREG(st.st_mode)));
}

static bool
has_quantized(const struct choice *choice)
{
    for (size_t i = 0; i < choice->n; i++)
        if (choice->list[i].encoding || choice->list[i].kept)
            return true;
    return false;
}

static bool
manifest_file_check(const struct manifest_file *m, struct err *err)
{
    const struct job *job = m->job;
    if (job->writer == &writer_raw || job->writer == &writer_npy)
        return err_set(err, ERR_USAGE, "--manifest requires a format with names of tensors, not %s",
            job->writer->name);
    return is_files(job) || !has_quantized(&job->choice) || err_set(err, ERR_USAGE, "--manifest requires -o FILE for "
        "an output with quantized weights, whose values are read again from the file");
}

bool
manifest_file_open(struct manifest_file *m, struct err *err)
{
    const struct sink_options options = { .path = m->job->cmd->manifest, .direct = SINK_DIRECT_NEVER };
    if (!m->job->cmd->manifest)
        return true;
    if (!manifest_file_check(m, err) || !sha256_open(&m->library, err) || !outputs_add(&m->job->outputs, options.path, err))
        return false;
    outputs_sweep(&m->job->outputs);
    m->hook = output_digests_hook(&m->digests, &m->job->p, &m->library);
    m->job->p.hooks = &m->hook;
    m->job->p.nhooks = 1;
    return sink_open(&m->sink, &options, err);
}

/* --- after the job */

/* Sets the digests that were computed while the output passed. */
static void
take_known(struct digests *d, const struct output_digests *from)
{
    for (size_t i = 0; i < catalog_count(d->catalog); i++) {
        const struct tensor *t = catalog_at(d->catalog, i);
        const struct output_digest *known = output_digests_find(from, t->name, t->name_len);
        if (!known)
            continue;
        d->list[i] = known->digest;
        if (roles_owner(d->roles, i))
            d->list[i].have = DIGESTS_STORED;
    }
}

/* Writes the lines of the model, whose files can be read unless it has none. */
static bool
manifest_file_fill(const struct manifest_file *m, struct page *page, struct model *model, const struct roles *roles,
    const char *const *files, struct err *err)
{
    struct digests d = { 0 };
    bool ok = digests_init(&d, model->catalog, roles, DIGESTS_STORED | DIGESTS_VALUES, err);
    if (ok)
        take_known(&d, &m->digests);
    const struct parse in = { .catalog = model->catalog, .roles = roles, .files = files, .nfiles = model->nsrc, .digests = &d };
    ok = ok && (files ? digest_model(&d, model, m->job->p.kernels, m->job->p.jobs, err) : digests_total(&d, &m->library, err));
    if (ok)
        parse_json(page, &in);
    digests_clear(&d);
    return ok;
}

/* Writes the manifest of complete files. */
static bool
fill_from_files(const struct manifest_file *m, struct page *page, struct err *err)
{
    const struct job *job = m->job;
    struct model model = { 0 };
    const struct model_options how = { .limits = &limits_default, .meter = m->job->model.meter };
    const struct contents contents = operands_contents(&model);
    struct roles *roles = NULL;
    struct str path = { 0 };
    const char **files = NULL;
    bool ok = true;
    if (job->split.size != 0)
        ok = split_files_name(&path, job->split.path, 0, m->digests.files, err);
    else
        str_text(&path, str_or(job->dir.path, job->output.path));
    ok = ok && (!path.failed || err_memory(err, path.room)) && model_open(&model, path.p, &how, err)
        && roles_assign(&roles, model.catalog, NULL, &contents, err) && (files = model_files(&model, err)) != NULL
        && manifest_file_fill(m, page, &model, roles, files, err);
    free(files);
    roles_free(roles);
    model_clear(&model);
    str_clear(&path);
    return ok;
}

/* Writes the manifest of an output that has passed, from its tensors: no tensor is quantized. */
static bool
fill_from_stream(const struct manifest_file *m, struct page *page, struct err *err)
{
    struct model model = { .catalog = catalog_new(&limits_default, err) };
    struct roles *roles = NULL;
    bool ok = model.catalog != NULL;
    for (size_t i = 0; ok && i < m->digests.n; i++)
        ok = catalog_add(model.catalog, &m->digests.list[i].t, err);
    if (ok)
        catalog_facts(model.catalog)->format = m->job->writer->name;
    ok = ok && catalog_seal(model.catalog, err) && roles_assign(&roles, model.catalog, NULL, NULL, err)
        && manifest_file_fill(m, page, &model, roles, NULL, err);
    roles_free(roles);
    catalog_free(model.catalog);
    return ok;
}

static bool
write_lines(const struct manifest_file *m, struct err *err)
{
    struct page page;
    if (m->digests.err.kind != ERR_NONE) {
        *err = m->digests.err;
        return false;
    }
    page_init(&page, NULL);
    bool ok;
    if (is_files(m->job))
        ok = fill_from_files(m, &page, err);
    else
        ok = fill_from_stream(m, &page, err);
    return report_file_send(m->sink, &page, ok, err);
}

bool
manifest_file_commit(struct manifest_file *m, struct err *err)
{
    struct err own;
    err_init(&own);
    if (!m->sink || (write_lines(m, &own) && outputs_commit(&m->job->outputs, m->sink, &own)))
        return true;
    err_at(err, ERR_IO, own.at, "the output is complete, but its manifest is not: %s", own.text);
    return err_in_file(err, own.file);
}

void
manifest_file_close(struct manifest_file *m)
{
    if (m->sink) {
        m->job->p.hooks = NULL;
        m->job->p.nhooks = 0;
    }
    sink_close(m->sink);
    output_digests_clear(&m->digests);
    sha256_close(&m->library);
}
