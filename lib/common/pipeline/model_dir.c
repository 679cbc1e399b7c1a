#include "pipeline/model_dir.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/num.h"
#include "container/folder.h"
#include "pipeline/checksum.h"
#include "pipeline/journal.h"
#include "pipeline/side_files.h"
#include "plan/shards.h"
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

static bool
is_of_a_model(const char *name)
{
    return str_ends(name, ".safetensors") || str_ends(name, ".index.json");
}

/* What lies there already could be taken for a part of this model, and this model's files for a part of it. */
static bool
check_entries(const struct model_dir *dir, struct err *err)
{
    DIR *d = opendir(dir->path);
    const char *name;
    char other[STR_SHOWN] = "";
    bool journal = false, ok = d || err_sys(err, ERR_CREATE, errno, "the directory cannot be read");
    while (ok && d && (name = folder_next(d, err)) != NULL) {
        journal = journal || strcmp(name, JOURNAL_NAME) == 0;
        if (is_of_a_model(name))
            str_shown(other, name, strlen(name));
    }
    if (d)
        closedir(d);
    if (journal)
        return err_set(err, ERR_CREATE, ERR_NO_OFFSET, "the directory holds a model that was not finished: go on with "
            "--resume, or take an empty one");
    return ok && err->kind == ERR_NONE && (!other[0] || err_set(err, ERR_CREATE, ERR_NO_OFFSET, "the directory holds %s: "
        "take one without a model", other));
}

static bool
is_input(const struct model *m, const struct stat *st)
{
    struct stat of;
    return m->folder && stat(m->folder, &of) == 0 && of.st_dev == st->st_dev && of.st_ino == st->st_ino;
}

/* A job that goes on where there is nothing yet begins. */
static bool
open_dir(const struct job *job, struct err *err)
{
    struct model_dir *dir = job->dir;
    struct stat st;
    if (mkdir(dir->path, 0777) != 0 && errno != EEXIST)
        return err_sys(err, ERR_CREATE, errno, "the directory cannot be made");
    if (stat(dir->path, &st) != 0 || !S_ISDIR(st.st_mode))
        return err_sys(err, ERR_CREATE, ENOTDIR, "%s", "");
    if (is_input(job->p->model, &st))
        return err_set(err, ERR_CREATE, ERR_NO_OFFSET, "the output is the directory of the input: take another one");
    char *journal = folder_path(dir->path, strlen(dir->path), JOURNAL_NAME, err);
    dir->resume = dir->resume && journal && stat(journal, &st) == 0;
    free(journal);
    return journal && (dir->resume || check_entries(dir, err));
}

/* --- one file */

/* The pieces of file i, laid out. */
static struct pieces *
lay_out(const struct job *job, size_t i, struct err *err)
{
    const struct shard *shard = &job->shards.list[i];
    struct choice some = *job->choice;
    struct pieces *pieces = pieces_new(err);
    some.list += shard->first;
    some.n = shard->n;
    if (pieces && writer_safetensors.lay_out(pieces, &some, job->options, err))
        return pieces;
    pieces_free(pieces);
    return NULL;
}

/* The file is there, and what the journal says of it. */
static bool
is_finished(const char *path, const struct journal_entry *e, uint64_t nbytes, bool *finished, struct err *err)
{
    enum { STEP = 1 << 20 };
    struct source *src = NULL;
    struct stat st;
    uint64_t n;
    *finished = false;
    if (!e || e->nbytes != nbytes || stat(path, &st) != 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != nbytes)
        return true;
    uint8_t *buf = malloc(STEP);
    uLong crc = crc32_z(0, NULL, 0);
    bool ok = (buf || err_memory(err, STEP)) && source_open(&src, path, false, NULL, err);
    for (uint64_t at = 0; ok && at < nbytes; at += n) {
        n = num_min(STEP, nbytes - at);
        ok = source_read(src, at, buf, (size_t)n, err);
        crc = ok ? crc32_z(crc, buf, (size_t)n) : crc;
        source_drop(src, at, at + n);
    }
    *finished = ok && (uint32_t)crc == e->crc;
    free(buf);
    source_close(src);
    return ok;
}

/* Make the file and add it to the journal. */
static bool
make_file(struct job *job, const char *path, struct journal_entry *e, struct err *err)
{
    struct pipeline p = *job->p;
    const struct sink_options options = { .path = path, .direct = job->dir->direct, .sync = true };
    struct checksum sum = { 0 };
    struct hook hooks[PIECES_HOOKS];
    if (p.nhooks == PIECES_HOOKS)
        return err_set(err, ERR_BUG, ERR_NO_OFFSET, "no room for one more hook");
    memcpy(hooks, p.hooks, p.nhooks * sizeof *hooks);
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
    shard_name(e.name, i, job->shards.n);
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

static uLong
add_text(uLong crc, const char *text)
{
    return crc32_z(crc, (const uint8_t *)text, strlen(text) + 1);
}

/* What the bytes of the output depend on, as a number: the headers, hence names, types, shapes and options; how weights
 * are read; and which files the input is. Also the length of all files. */
static bool
measure(struct job *job, uint32_t *number, struct err *err)
{
    uLong crc = crc32_z(0, NULL, 0);
    for (size_t i = 0; i < job->shards.n; i++) {
        struct pieces *pieces = lay_out(job, i, err);
        if (!pieces)
            return false;
        const struct piece *header = pieces_at(pieces, 0);
        crc = crc32_z(crc, (const uint8_t *)header->of.text, (size_t)header->nbytes);
        job->dir->nbytes += pieces_nbytes(pieces);
        pieces_free(pieces);
    }
    for (size_t i = 0; i < job->choice->n; i++)
        if (job->choice->list[i].decode)
            crc = add_text(crc, job->choice->list[i].decode->scheme->code);
    for (uint32_t i = 0; i < job->p->model->nsrc; i++) {
        uint64_t stamp[2];
        source_stamp(job->p->model->src[i], stamp);
        crc = crc32_z(crc, (const uint8_t *)stamp, sizeof stamp);
    }
    *number = (uint32_t)crc;
    return true;
}

static bool
write_index(const struct job *job, struct err *err)
{
    struct str text = { 0 };
    struct sink *sink = NULL;
    if (job->shards.n == 1)
        return true;
    char *path = folder_path(job->dir->path, strlen(job->dir->path), "model.safetensors.index.json", err);
    const struct sink_options options = { .path = path, .sync = true, .direct = SINK_DIRECT_NEVER };
    bool ok = path && shard_index_text(&text, job->choice, &job->shards, err) && sink_open(&sink, &options, err)
        && sink_write(sink, text.p, text.len, err) && sink_commit(sink, err);
    sink_close(sink);
    str_clear(&text);
    free(path);
    return ok;
}

static bool
write_all(struct job *job, struct err *err)
{
    uint32_t number;
    bool ok = model_spool(job->p->model, err) && shards_cut(&job->shards, job->choice, job->dir->shard_size, err)
        && measure(job, &number, err) && (open_dir(job, err) || in_dir(job->dir, err))
        && journal_open(&job->journal, job->dir->path, number, job->shards.n, job->dir->resume, err);
    meter_phase(job->p->model->meter, "writing", job->dir->nbytes);
    job->p->one_of_many = true;
    for (size_t i = 0; ok && i < job->shards.n; i++)
        ok = write_file(job, i, err);
    meter_phase(job->p->model->meter, "completing the output", 0);
    return ok && side_files_write(job->p->model, job->dir->path, job->choice->decodes, err) && write_index(job, err)
        && journal_remove(&job->journal, err);
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
