#include "pipeline/model_dir.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"
#include "container/candidates.h"
#include "container/folder.h"
#include "kernel/crc.h"
#include "pipeline/checksum.h"
#include "pipeline/journal.h"
#include "pipeline/side_files.h"
#include "plan/shards.h"
#include "writer/lay_out.h"
#include "writer/shard_index.h"

/* A job while it runs. */
struct job {
    struct model_dir *dir;
    struct pipeline *p;
    struct choice *choice;
    const struct writer_options *options;
    struct shards shards;
    struct journal journal;
};

static bool
in_dir(const struct model_dir *dir, struct err *err)
{
    char shown[STR_SHOWN];
    return err_in_file(err, str_shown(shown, dir->path, strlen(dir->path)));
}

/* --- the directory */

/* What is in the way of a model, and whether there is a journal. */
struct found {
    bool journal;
    const char *why;            /* the last of what is in the way, NULL for nothing */
    char name[STR_SHOWN];
};

/* What lies there already could be taken for a part of this model, and this model's files for a part of it. */
static void
look_at(struct found *found, const struct job *job, DIR *d, const char *name)
{
    struct stat st;
    const char *why = NULL;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return;
    if (strcmp(name, JOURNAL_NAME) == 0)
        found->journal = true;
    else if (candidates_is_model(name))
        why = "take one without a model";
    else if (fstatat(dirfd(d), name, &st, 0) == 0 && inputs_find(&job->p->model->inputs, st.st_dev, st.st_ino))
        why = "it is an input; take another one";
    else if (job->dir->no_clobber)
        why = "take an empty one, as -n replaces nothing";
    if (why) {
        found->why = why;
        str_shown(found->name, name, strlen(name));
    }
}

static bool
check_entries(const struct job *job, struct err *err)
{
    struct found found = { 0 };
    const char *name;
    DIR *d = opendir(job->dir->path);
    if (!d)
        return err_sys(err, ERR_CREATE, errno, "the directory cannot be read");
    while ((name = folder_next(d, err)) != NULL)
        look_at(&found, job, d, name);
    closedir(d);
    if (err->kind != ERR_NONE)
        return false;
    if (found.journal && !job->dir->resume)
        return err_set(err, ERR_CREATE, ERR_NO_OFFSET, "the directory holds a model that was not finished: go on with "
            "--resume, or take an empty one");
    return !found.why || err_set(err, ERR_CREATE, ERR_NO_OFFSET, "the directory holds %s: %s", found.name, found.why);
}

static bool
is_input(const struct model *m, const struct stat *st)
{
    struct stat of;
    return m->folder && stat(m->folder, &of) == 0 && of.st_dev == st->st_dev && of.st_ino == st->st_ino;
}

/* Before anything is made. A job that goes on where there is nothing yet begins; and so it does behind a journal that
 * has not a byte. */
static bool
check_dir(const struct job *job, struct err *err)
{
    const struct model_dir *dir = job->dir;
    struct stat st;
    if (stat(dir->path, &st) != 0)
        return errno == ENOENT || err_sys(err, ERR_CREATE, errno, "the directory cannot be examined");
    if (is_input(job->p->model, &st))
        return err_set(err, ERR_CREATE, ERR_NO_OFFSET, "the output is the directory of the input: take another one");
    char *journal = folder_path(dir->path, strlen(dir->path), JOURNAL_NAME, err);
    bool goes_on = dir->resume && journal && stat(journal, &st) == 0 && st.st_size != 0;
    bool ok = journal && (goes_on || check_entries(job, err));
    free(journal);
    return ok;
}

static bool
make_dir(const struct model_dir *dir, struct err *err)
{
    struct stat st;
    return mkdir(dir->path, 0777) == 0 || (errno == EEXIST && stat(dir->path, &st) == 0)
        || err_sys(err, ERR_CREATE, errno, "the directory cannot be made");
}

/* Whether a temporary file of this name would have become a file of the model. */
static bool
is_ours(const struct job *job, const char *name)
{
    struct stat st;
    struct err ignored;
    err_init(&ignored);
    if (strncmp(name, job->shards.stem, strlen(job->shards.stem)) == 0 && candidates_is_model(name))
        return true;
    const char *folder = job->p->model->folder;
    char *path = folder ? folder_path(folder, strlen(folder), name, &ignored) : NULL;
    bool copied = path && stat(path, &st) == 0 && S_ISREG(st.st_mode);
    free(path);
    return copied || strcmp(name, "config.json") == 0;
}

/* What a job that was killed left of the files that it was writing. */
static bool
remove_temps(const struct job *job, struct err *err)
{
    const char *entry;
    char name[SINK_TEMP_NAME];
    DIR *d = job->dir->resume ? opendir(job->dir->path) : NULL;
    while (d && (entry = folder_next(d, err)) != NULL)
        if (sink_temp_name(name, entry) && is_ours(job, name))
            unlinkat(dirfd(d), entry, 0);
    if (d)
        closedir(d);
    return err->kind == ERR_NONE;
}

/* --- one file */

/* The pieces of file i, laid out. */
static struct pieces *
lay_out(const struct job *job, size_t i, struct err *err)
{
    return lay_out_file(&writer_safetensors, job->choice, &job->shards, i, job->options, err);
}

/* Go on with a CRC-32 over [at, end) of a source. */
static bool
add_bytes(uint32_t *crc, struct source *src, uint64_t at, uint64_t end, struct err *err)
{
    enum { STEP = 1 << 20 };
    uint64_t n;
    uint8_t *buf = malloc(STEP);
    bool ok = buf || err_memory(err, STEP);
    for (; ok && at < end; at += n) {
        n = num_min(STEP, end - at);
        ok = source_read(src, at, buf, (size_t)n, err);
        *crc = ok ? crc_add(*crc, buf, (size_t)n) : *crc;
        source_drop(src, at, at + n);
    }
    free(buf);
    return ok;
}

/* The file is there, and what the journal says of it. */
static bool
is_finished(const char *path, const struct journal_entry *e, uint64_t nbytes, bool *finished, struct err *err)
{
    struct source *src = NULL;
    struct stat st;
    *finished = false;
    if (!e || e->nbytes != nbytes || stat(path, &st) != 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != nbytes)
        return true;
    uint32_t crc = 0;
    bool ok = source_open(&src, path, false, NULL, err) && add_bytes(&crc, src, 0, nbytes, err);
    *finished = ok && crc == e->crc;
    source_close(src);
    return ok;
}

/* Make the file and add it to the journal. */
static bool
make_file(struct job *job, const char *path, struct journal_entry *e, struct err *err)
{
    struct pipeline p = *job->p;
    const struct sink_options options = { .path = path, .direct = job->dir->direct, .sync = true };
    struct checksum sum = { .kernels = p.kernels };
    struct hook hooks[PIECES_HOOKS];
    if (p.nhooks == PIECES_HOOKS)
        return err_set(err, ERR_BUG, ERR_NO_OFFSET, "no room for one more hook");
    for (size_t i = 0; i < p.nhooks; i++)
        hooks[i] = p.hooks[i];
    hooks[p.nhooks++] = checksum_hook(&sum);
    p.hooks = hooks;
    bool ok = sink_open(&p.sink, &options, err) && pipeline_run(&p, err) && sink_commit(p.sink, err);
    sink_close(p.sink);
    job->p->infinite = p.infinite;
    e->crc = sum.crc;
    return ok && journal_add(&job->journal, e, err);
}

static bool
write_file(struct job *job, size_t i, struct err *err)
{
    struct journal_entry e = { 0 };
    bool finished = false;
    struct pieces *pieces = lay_out(job, i, err);
    if (!pieces)
        return false;
    shard_name(e.name, &job->shards, i);
    char *path = folder_path(job->dir->path, strlen(job->dir->path), e.name, err);
    e.nbytes = pieces_nbytes(pieces);
    job->p->pieces = pieces;
    job->p->from = 0;
    job->p->to = e.nbytes;
    bool ok = path && is_finished(path, journal_find(&job->journal, e.name), e.nbytes, &finished, err)
        && (finished || make_file(job, path, &e, err));
    if (ok && finished) {
        meter_add(job->p->model->meter, e.nbytes);
        job->dir->kept++;
    }
    free(path);
    pieces_free(pieces);
    return ok;
}

/* --- all of them */

static uint32_t
add_text(uint32_t crc, const char *text)
{
    return crc_add(crc, (const uint8_t *)text, strlen(text) + 1);
}

/* Which file the input is; of a pipe, which has no date, the data that came: its header is in those of the output. */
static bool
add_input(uint32_t *crc, const struct model *m, uint32_t i, struct err *err)
{
    uint64_t stamp[2], from, to;
    source_stamp(m->src[i], stamp);
    *crc = crc_add(*crc, (const uint8_t *)stamp, sizeof stamp);
    model_data(m, i, &from, &to);
    return source_is_file(m->src[i]) || add_bytes(crc, m->src[i], from, to, err);
}

/* What the bytes of the output depend on, as a number: the release; the headers, hence names, types, shapes and
 * options; how weights are read, and what configs say of that; and what the input is. Also the length of all files. */
static bool
measure(struct job *job, uint32_t *number, struct err *err)
{
    const struct model *m = job->p->model;
    uint32_t crc = add_text(0, job->dir->release);
    for (size_t i = 0; i < job->shards.n; i++) {
        struct pieces *pieces = lay_out(job, i, err);
        if (!pieces)
            return false;
        const struct piece *header = pieces_at(pieces, 0);
        crc = crc_add(crc, (const uint8_t *)header->of.text, (size_t)header->nbytes);
        job->dir->nbytes += pieces_nbytes(pieces);
        pieces_free(pieces);
    }
    for (size_t i = 0; i < job->choice->n; i++) {
        const struct chosen *chosen = &job->choice->list[i];
        if (chosen->decode)
            crc = add_text(crc, chosen->decode->scheme->code);
        if (chosen->encoding)
            crc = add_text(crc, chosen->encoding->encoder->name);
        if (chosen->name)
            crc = add_text(crc, chosen->decode ? chosen->decode->name : chosen->copy->name);
    }
    for (size_t i = 0; i < catalog_config_count(m->catalog); i++) {
        const struct catalog_config *config = catalog_config_at(m->catalog, i);
        crc = crc_add(crc, (const uint8_t *)config->text, config->n);
    }
    bool ok = true;
    for (uint32_t i = 0; ok && i < m->nsrc; i++)
        ok = add_input(&crc, m, i, err);
    *number = crc;
    return ok;
}

static bool
write_index(const struct job *job, struct err *err)
{
    struct str text = { 0 };
    struct sink *sink = NULL;
    char name[SHARD_NAME];
    if (job->shards.n == 1)
        return true;
    char *path = folder_path(job->dir->path, strlen(job->dir->path), shard_index_name(name, &job->shards), err);
    const struct sink_options options = { .path = path, .sync = true, .direct = SINK_DIRECT_NEVER };
    bool ok = path && shard_index_text(&text, job->choice, &job->shards, err) && sink_open(&sink, &options, err)
        && sink_write(sink, text.p, text.len, err) && sink_commit(sink, err);
    sink_close(sink);
    str_clear(&text);
    free(path);
    return ok;
}

/* What comes before the weights. When that fails there is nothing to go on with, unless there was. */
static bool
begin(struct job *job, struct err *err)
{
    if (remove_temps(job, err) && side_files_write(job->p->model, job->dir->path, job->choice->decodes,
        job->dir->quantization, err))
        return true;
    if (job->journal.n == 0)
        journal_drop(&job->journal);
    return false;
}

static bool
write_all(struct job *job, struct err *err)
{
    uint32_t number;
    bool ok = shards_cut(&job->shards, job->choice, job->dir->shard_size, writer_safetensors.align, err);
    shards_keep_stem(&job->shards, source_name(job->p->model->src[0]));
    ok = ok && (check_dir(job, err) || in_dir(job->dir, err)) && model_spool(job->p->model, err)
        && measure(job, &number, err) && (make_dir(job->dir, err) || in_dir(job->dir, err))
        && journal_open(&job->journal, job->dir->path, number, job->shards.n, job->dir->resume, err)
        && begin(job, err);
    meter_phase(job->p->model->meter, "writing", job->dir->nbytes);
    job->p->one_of_many = true;
    for (size_t i = 0; ok && i < job->shards.n; i++)
        ok = write_file(job, i, err);
    meter_phase(job->p->model->meter, "completing the output", 0);
    return ok && write_index(job, err) && journal_remove(&job->journal, err);
}

bool
model_dir_write(struct model_dir *dir, struct pipeline *p, struct choice *choice, const struct writer_options *options,
    struct err *err)
{
    struct job job = { .dir = dir, .p = p, .choice = choice, .options = options };
    bool ok = write_all(&job, err);
    journal_close(&job.journal);
    shards_clear(&job.shards);
    return ok;
}
