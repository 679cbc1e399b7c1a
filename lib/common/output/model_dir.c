#include "output/model_dir.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"
#include "model/configs.h"
#include "model/candidates.h"
#include "base/folder.h"
#include "kernel/crc.h"
#include "output/outputs.h"
#include "pipeline/checksum.h"
#include "output/journal.h"
#include "output/side_files.h"
#include "plan/fingerprint.h"
#include "plan/shards.h"
#include "writer/lay_out.h"
#include "hf/shard_index.h"

/* State of a job. */
struct model_dir_job {
    struct model_dir *dir;
    struct pipeline *p;
    struct choice *choice;
    const struct writer_options *options;
    struct shards shards;
    struct journal journal;
    struct side_files side;
};

static bool
in_dir(const struct model_dir *dir, struct err *err)
{
    char shown[STR_SHOWN];
    return err_in_file(err, str_shown(shown, dir->path, strlen(dir->path)));
}

/* --- the directory */

/* An obstacle found in the directory, and whether a journal exists. */
struct dir_file {
    bool journal;
    const char *why, *advice;   /* of the last one; NULL: none */
    char name[STR_SHOWN];
};

/* Returns true if this job writes a weight file or an index with this name. */
static bool
is_own(const struct model_dir_job *job, const char *name)
{
    char own[HF_SHARD_NAME];
    struct configs_part part;
    size_t n = job->shards.n;
    if (n == 1)
        return strcmp(name, hf_shard_name(own, &job->shards, 0)) == 0;
    return strcmp(name, hf_shard_index_name(own, &job->shards)) == 0 || (configs_part(&part, name, ".safetensors")
        && part.number >= 1 && part.number <= n
        && strcmp(name, hf_shard_name(own, &job->shards, (size_t)part.number - 1)) == 0);
}

/* Returns true if the file belongs to a model that has the names that this job writes, so that -f may replace it. */
static bool
is_replaceable(const struct model_dir_job *job, const char *name)
{
    struct configs_part part;
    const char *stem = "model";
    if (job->shards.stem)
        stem = job->shards.stem;
    size_t n = strlen(stem);
    if (strncmp(name, stem, n) != 0)
        return false;
    return strcmp(name + n, ".safetensors") == 0 || strcmp(name + n, ".safetensors.index.json") == 0
        || (configs_part(&part, name, ".safetensors") && part.stem == n);
}

/* Checks a directory entry. An existing weight file could be taken for part of the new model, or the new files for part of
 * the old one. */
static void
check_entry(struct dir_file *found, const struct model_dir_job *job, DIR *d, const char *name)
{
    struct stat st;
    const char *why = NULL, *advice = "choose another";
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return;
    if (strcmp(name, JOURNAL_NAME) == 0)
        found->journal = true;
    else if (job->dir->outputs->compares)
        why = candidates_is_model(name) && !is_own(job, name) ? "directory contains a file of another model" : NULL;
    else if (candidates_is_model(name) && !(job->dir->force && is_replaceable(job, name))) {
        why = "directory already contains a model";
        if (job->dir->force)
            why = "directory contains a file of another model";
        advice = "choose another, or remove it";
        if (is_replaceable(job, name))
            advice = "choose another, or replace it with -f";
    } else if (fstatat(dirfd(d), name, &st, 0) == 0 && inputs_find(&job->p->model->inputs, st.st_dev, st.st_ino))
        why = "directory contains an input file";
    else if (job->dir->no_clobber) {
        why = "directory is not empty";
        advice = "-n requires an empty one";
    }
    if (why) {
        found->why = why;
        found->advice = advice;
        str_shown(found->name, name, strlen(name));
    }
}

static bool
check_entries(const struct model_dir_job *job, struct err *err)
{
    struct dir_file found = { 0 };
    const char *name;
    DIR *d = opendir(job->dir->path);
    if (!d)
        return err_sys(err, ERR_CREATE, errno, "cannot read the directory");
    while ((name = folder_next(d, err)) != NULL)
        check_entry(&found, job, d, name);
    closedir(d);
    if (err->kind != ERR_NONE)
        return false;
    if (found.journal && !job->dir->resume && !job->dir->force)
        return err_set(err, ERR_CREATE, "directory contains an unfinished model; continue it with "
            "--resume, start over with -f, or choose an empty directory");
    return !found.why || err_set(err, ERR_CREATE, "%s (%s); %s", found.why, found.name, found.advice);
}

static bool
is_input(const struct model *m, const struct stat *st)
{
    struct stat of;
    return m->folder && !m->inputs.fetch && stat(m->folder, &of) == 0 && of.st_dev == st->st_dev && of.st_ino == st->st_ino;
}

/* Sets *nbytes to the size of a file of the directory, UINT64_MAX if there is none. */
static bool
find_file(uint64_t *nbytes, const struct model_dir *dir, const char *name, struct err *err)
{
    struct stat st;
    char *path = folder_path(dir->path, strlen(dir->path), name, err);
    if (!path)
        return false;
    if (stat(path, &st) == 0)
        *nbytes = (uint64_t)st.st_size;
    else
        *nbytes = UINT64_MAX;
    free(path);
    return true;
}

/* Checks the directory before anything is written. With `resume`, the job continues if there is a journal. If the journal is
 * missing or empty, a directory that contains the last file of the model is complete and is compared; otherwise the job
 * starts over. */
static bool
check_dir(const struct model_dir_job *job, struct err *err)
{
    const struct model_dir *dir = job->dir;
    struct stat st;
    char last[HF_SHARD_NAME];
    uint64_t journal, n;
    if (stat(dir->path, &st) != 0)
        return errno == ENOENT || err_sys(err, ERR_CREATE, errno, "%s", "");
    if (is_input(job->p->model, &st))
        return err_set(err, ERR_CREATE, "the output directory is the input directory; choose another");
    if (job->shards.n == 1)
        hf_shard_name(last, &job->shards, 0);
    else
        hf_shard_index_name(last, &job->shards);
    if (!find_file(&journal, dir, JOURNAL_NAME, err) || !find_file(&n, dir, last, err))
        return false;
    if (dir->resume && journal != 0 && journal != UINT64_MAX)
        return true;
    job->dir->outputs->compares = dir->resume && n != UINT64_MAX;
    return check_entries(job, err);
}

static bool
make_dir(const struct model_dir *dir, struct err *err)
{
    struct stat st;
    return mkdir(dir->path, 0777) == 0 || (errno == EEXIST && stat(dir->path, &st) == 0)
        || err_sys(err, ERR_CREATE, errno, "%s", "");
}

/* Adds all files of the directory, including the journal, to the outputs of the job. */
static bool
add_outputs(const struct model_dir_job *job, struct err *err)
{
    char name[HF_SHARD_NAME];
    bool ok = side_files_add_one(&job->side, JOURNAL_NAME, err) && side_files_add(&job->side, err);
    for (size_t i = 0; ok && i < job->shards.n; i++)
        ok = side_files_add_one(&job->side, hf_shard_name(name, &job->shards, i), err);
    ok = ok && (job->shards.n == 1 || side_files_add_one(&job->side, hf_shard_index_name(name, &job->shards), err))
        && outputs_check(job->dir->outputs, err);
    if (ok)
        outputs_sweep(job->dir->outputs);
    return ok;
}

/* --- one file */

/* Lays out the pieces of file i. */
static struct pieces *
model_dir_lay_out(const struct model_dir_job *job, size_t i, struct err *err)
{
    return lay_out_file(&writer_safetensors, job->choice, &job->shards, i, job->options, err);
}

/* Continues a CRC-32 over the bytes [at, end) of a source. */
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
        if (ok)
            *crc = crc_add(*crc, buf, (size_t)n);
        source_drop(src, at, at + n);
    }
    free(buf);
    return ok;
}

/* Sets *finished if the file exists and matches its journal entry. */
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

/* Writes the file, or compares it. */
static bool
make_file(struct model_dir_job *job, const char *path, uint32_t *crc, struct err *err)
{
    struct pipeline p = *job->p;
    const struct sink_options options = { .path = path, .direct = job->dir->direct, .sync = true };
    struct checksum sum = { .kernels = p.kernels };
    struct hook hooks[PIECES_HOOKS];
    if (p.nhooks == PIECES_HOOKS)
        return err_set(err, ERR_BUG, "no room for one more hook");
    for (size_t i = 0; i < p.nhooks; i++)
        hooks[i] = p.hooks[i];
    hooks[p.nhooks++] = checksum_hook(&sum);
    p.hooks = hooks;
    bool ok = outputs_open(job->dir->outputs, &p.sink, &options, err) && pipeline_run(&p, err)
        && outputs_commit(job->dir->outputs, p.sink, err);
    sink_close(p.sink);
    job->p->infinite = p.infinite;
    job->p->changed = p.changed;
    *crc = sum.crc;
    return ok;
}

/* Keeps a finished file. Generates and compares it again only if quantization errors are collected. */
static bool
keep_file(struct model_dir_job *job, const char *path, uint64_t nbytes, struct err *err)
{
    uint32_t crc;
    bool ok = true;
    job->dir->kept++;
    if (!job->p->losses) {
        meter_add(job->p->model->meter, nbytes);
        return true;
    }
    job->dir->outputs->compares = true;
    ok = make_file(job, path, &crc, err);
    job->dir->outputs->compares = false;
    return ok;
}

static bool
write_file(struct model_dir_job *job, size_t i, struct err *err)
{
    struct journal_entry e = { 0 };
    bool complete = job->dir->outputs->compares, finished = false;
    struct pieces *pieces = model_dir_lay_out(job, i, err);
    if (!pieces)
        return false;
    hf_shard_name(e.name, &job->shards, i);
    char *path = folder_path(job->dir->path, strlen(job->dir->path), e.name, err);
    e.nbytes = pieces_nbytes(pieces);
    job->p->pieces = pieces;
    job->p->from = 0;
    job->p->to = e.nbytes;
    bool ok = path && is_finished(path, journal_find(&job->journal, e.name), e.nbytes, &finished, err);
    if (ok && finished)
        ok = keep_file(job, path, e.nbytes, err);
    else
        ok = ok && make_file(job, path, &e.crc, err) && (complete || journal_add(&job->journal, &e, err));
    job->dir->kept += ok && complete;
    free(path);
    pieces_free(pieces);
    return ok;
}

/* --- all of them */

/* Adds the identity of an input. A pipe has none, so its data is added; its header is part of the output's. A fetched file
 * has none either; the first bytes of its data are added. */
static bool
add_source(struct fingerprint *f, const struct model *m, uint32_t i, struct err *err)
{
    enum { SAMPLE = 64 << 10 };
    bool file = source_is_file(m->src[i]), fetched = file && m->inputs.fetch && i < m->nsrc;
    uint64_t stamp[2], from, to;
    uint32_t crc = 0;
    source_stamp(m->src[i], stamp);
    fingerprint_add(f, stamp, sizeof stamp);
    model_data(m, i, &from, &to);
    bool ok = (file && !fetched) || add_bytes(&crc, m->src[i], from, fetched ? num_min(to, from + SAMPLE) : to, err);
    fingerprint_add(f, &crc, sizeof crc);
    return ok;
}

/* Computes the fingerprint of everything that determines the bytes of the directory: the amn version, the plan of each file,
 * config.json, and the inputs. Also adds up the file sizes. */
static bool
model_dir_measure(struct model_dir_job *job, struct fingerprint *f, struct err *err)
{
    const struct model *m = job->p->model;
    const struct hf_quantization *q = job->dir->quantization;
    fingerprint_add(f, job->dir->release, strlen(job->dir->release));
    for (size_t i = 0; i < job->shards.n; i++) {
        struct pieces *pieces = model_dir_lay_out(job, i, err);
        if (!pieces)
            return false;
        fingerprint_pieces(f, pieces);
        job->dir->nbytes += pieces_nbytes(pieces);
        pieces_free(pieces);
    }
    for (size_t i = 0; i < catalog_config_count(m->catalog); i++) {
        const struct catalog_config *config = catalog_config_at(m->catalog, i);
        fingerprint_add(f, config->name, strlen(config->name));
        fingerprint_add(f, config->text, config->n);
    }
    for (size_t i = 0; job->dir->texts && i < job->dir->texts->n; i++) {
        const struct named_text *text = &job->dir->texts->list[i];
        fingerprint_add(f, text->name, strlen(text->name));
        fingerprint_add(f, text->text.p, text->text.len);
    }
    fingerprint_add(f, q ? q->text.p : NULL, q ? q->text.len : 0);
    fingerprint_add(f, q ? q->alias : NULL, q && q->alias ? strlen(q->alias) : 0);
    fingerprint_add(f, q ? q->file_text.p : NULL, q ? q->file_text.len : 0);
    fingerprint_add(f, q ? q->experts : NULL, q && q->experts ? strlen(q->experts) : 0);
    bool ok = true;
    for (uint32_t i = 0; ok && i < m->nsrc + m->nmore; i++)
        ok = add_source(f, m, i, err);
    return ok;
}

static bool
write_index(const struct model_dir_job *job, struct err *err)
{
    struct str text = { 0 };
    char name[HF_SHARD_NAME];
    bool ok = job->shards.n == 1 || (hf_shard_index_text(&text, job->choice, &job->shards, err)
        && side_files_write_one(&job->side, hf_shard_index_name(name, &job->shards), &text, err));
    str_clear(&text);
    return ok;
}

/* Opens the journal and writes the small files. After a failure, removes the journal unless some files were finished before. */
static bool
model_dir_begin(struct model_dir_job *job, uint64_t fingerprint, struct err *err)
{
    if (job->dir->outputs->compares)
        return side_files_write(&job->side, err);
    enum journal_start start = JOURNAL_NEW;
    if (job->dir->resume)
        start = JOURNAL_RESUME;
    else if (job->dir->force)
        start = JOURNAL_AGAIN;
    if (!journal_open(&job->journal, job->dir->path, fingerprint, job->shards.n, start, err))
        return false;
    if (side_files_write(&job->side, err))
        return true;
    if (job->journal.n == 0)
        journal_drop(&job->journal);
    return false;
}

/* Removes the files of the model that this one replaces. */
static bool
remove_replaced(const struct model_dir_job *job, struct err *err)
{
    const char *name;
    DIR *d = opendir(job->dir->path);
    bool ok = d || err_sys(err, ERR_CREATE, errno, "cannot read the directory");
    while (ok && (name = folder_next(d, err)) != NULL)
        if (is_replaceable(job, name) && !is_own(job, name) && unlinkat(dirfd(d), name, 0) != 0)
            ok = err_sys(err, ERR_CREATE, errno, "cannot remove a file of the model that is replaced");
    if (d)
        closedir(d);
    return (ok && err->kind == ERR_NONE) || in_dir(job->dir, err);
}

static bool
write_all(struct model_dir_job *job, struct err *err)
{
    struct meter *meter = job->p->model->meter;
    struct fingerprint f = { 0 };
    bool ok = shards_cut(&job->shards, job->choice, job->dir->shard_size, writer_safetensors.align, err);
    job->shards.stem = job->dir->stem ? job->dir->stem : hf_shard_stem(source_name(job->p->model->src[0]));
    ok = ok && side_files_find(&job->side, err) && (check_dir(job, err) || in_dir(job->dir, err))
        && model_spool(job->p->model, err) && model_dir_measure(job, &f, err) && (make_dir(job->dir, err) || in_dir(job->dir, err))
        && add_outputs(job, err) && model_dir_begin(job, f.hash, err);
    meter_phase(meter, job->dir->outputs->compares ? "comparing" : "writing", job->dir->nbytes);
    job->p->one_of_many = true;
    for (size_t i = 0; ok && i < job->shards.n; i++)
        ok = write_file(job, i, err);
    meter_phase(meter, "completing the output", 0);
    if (ok)
        outputs_made(job->dir->outputs);
    return ok && write_index(job, err) && (!job->dir->force || remove_replaced(job, err)) && (job->dir->outputs->compares || journal_remove(&job->journal, err));
}

bool
model_dir_write(struct model_dir *dir, struct pipeline *p, struct choice *choice, const struct writer_options *options,
    struct err *err)
{
    struct model_dir_job job = { .dir = dir, .p = p, .choice = choice, .options = options, .side = { .model = p->model,
        .outputs = dir->outputs, .to = dir->path, .decodes = choice->decodes, .quantization = dir->quantization, .tokenizer = dir->tokenizer, .texts = dir->texts } };
    bool ok = write_all(&job, err);
    dir->complete = dir->outputs->compares;
    side_files_clear(&job.side);
    journal_close(&job.journal);
    shards_clear(&job.shards);
    return ok;
}
