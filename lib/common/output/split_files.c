#include "output/split_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output/outputs.h"
#include "writer/lay_out.h"

/* One file; `named` once it has its final name. */
struct split_part {
    struct str path;
    struct sink *sink;
    bool named;
};

/* State of a job. */
struct split_job {
    struct split_files *split;
    struct pipeline *p;
    const struct choice *choice;
    const struct writer_options *options;
    struct shards shards;
    struct split_part *part;
};

bool
split_files_name(struct str *name, const char *path, size_t i, size_t n, struct err *err)
{
    static const char suffix[] = ".gguf";
    size_t stem = strlen(path) - (str_ends(path, suffix) ? strlen(suffix) : 0);
    str_add(name, path, stem);
    str_format(name, "-%05u-of-%05u%s", (unsigned)i + 1, (unsigned)n, suffix);
    return !name->failed || err_memory(err, name->room);
}

static bool
check_absent(const char *path, struct err *err)
{
    struct stat st;
    char shown[STR_SHOWN];
    if (lstat(path, &st) != 0)
        return true;
    err_set(err, ERR_CREATE, "file exists, and files of a split model are not overwritten; choose another name, or replace them "
        "with -f");
    return err_in_file(err, str_shown(shown, path, strlen(path)));
}

/* Determines names and sizes before any file is created. */
static bool
split_files_survey(struct split_job *job, struct err *err)
{
    if (job->shards.n > UINT16_MAX)
        return err_set(err, ERR_LIMIT, "%zu files exceed the limit of %d (split.count); use a larger "
            "--shard-size", job->shards.n, UINT16_MAX);
    job->part = calloc(job->shards.n, sizeof *job->part);
    if (!job->part)
        return err_memory(err, job->shards.n * sizeof *job->part);
    for (size_t i = 0; i < job->shards.n; i++) {
        struct split_part *part = &job->part[i];
        struct pieces *pieces = lay_out_file(job->split->writer, job->choice, &job->shards, i, job->options, err);
        if (!pieces)
            return false;
        job->split->nbytes += pieces_nbytes(pieces);
        pieces_free(pieces);
        if (!split_files_name(&part->path, job->split->path, i, job->shards.n, err) || !(job->split->force || check_absent(part->path.p, err))
            || !outputs_add(job->split->outputs, part->path.p, err))
            return false;
    }
    return true;
}

/* Writes file i under its temporary name. */
static bool
make_file(struct split_job *job, size_t i, struct err *err)
{
    struct split_part *part = &job->part[i];
    const struct sink_options options = { .path = part->path.p, .direct = job->split->direct, .sync = job->split->sync,
        .no_clobber = !job->split->force };
    struct pieces *pieces = lay_out_file(job->split->writer, job->choice, &job->shards, i, job->options, err);
    if (!pieces)
        return false;
    job->p->pieces = pieces;
    job->p->from = 0;
    job->p->to = pieces_nbytes(pieces);
    bool ok = outputs_open(job->split->outputs, &part->sink, &options, err);
    job->p->sink = part->sink;
    ok = ok && pipeline_run(job->p, err);
    pieces_free(pieces);
    return ok;
}

static bool
write_all(struct split_job *job, struct err *err)
{
    bool ok = shards_cut(&job->shards, job->choice, job->split->size, job->split->writer->align, err)
        && split_files_survey(job, err) && model_spool(job->p->model, err);
    if (ok)
        outputs_sweep(job->split->outputs);
    meter_phase(job->p->model->meter, "writing", job->split->nbytes);
    job->p->one_of_many = true;
    for (size_t i = 0; ok && i < job->shards.n; i++)
        ok = make_file(job, i, err);
    meter_phase(job->p->model->meter, "completing the output", 0);
    if (ok)
        outputs_made(job->split->outputs);
    for (size_t i = job->shards.n; ok && i-- > 0;)
        ok = job->part[i].named = outputs_commit(job->split->outputs, job->part[i].sink, err);
    return ok;
}

/* Frees everything. After a failure, removes the files that already have their final names. */
static void
clear(struct split_job *job, bool ok)
{
    for (size_t i = 0; job->part && i < job->shards.n; i++) {
        struct split_part *part = &job->part[i];
        if (!ok && part->named)
            unlink(part->path.p);
        sink_close(part->sink);
        str_clear(&part->path);
    }
    free(job->part);
    shards_clear(&job->shards);
}

bool
split_files_write(struct split_files *split, struct pipeline *p, struct choice *choice,
    const struct writer_options *options, struct err *err)
{
    struct split_job job = { .split = split, .p = p, .choice = choice, .options = options };
    split->nbytes = 0;
    bool ok = write_all(&job, err);
    split->n = job.shards.n;
    clear(&job, ok);
    return ok;
}
