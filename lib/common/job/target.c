/* What the output is: the format and the scheme that the options name together. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/nearest.h"
#include "job/job_priv.h"

/* In the order of cli_format_words. */
static const struct writer *const writers[] = { &writer_safetensors, &writer_gguf, &writer_npz, &writer_npy, &writer_raw };

static const struct writer *
writer_named(const char *name)
{
    for (size_t i = 0; cli_format_words[i]; i++)
        if (strcasecmp(name, cli_format_words[i]) == 0)
            return writers[i];
    return NULL;
}

static bool
unknown(const char *option, const char *arg, bool formats, struct err *err)
{
    enum { MOST = 128 };
    const char *words[MOST];
    char shown[STR_SHOWN];
    size_t n = 0;
    struct str hint = { 0 };
    for (size_t i = 0; formats && cli_format_words[i]; i++)
        words[n++] = cli_format_words[i];
    for (size_t i = 0; encode_at(i) && n < MOST; i++)
        words[n++] = encode_at(i)->name;
    nearest_or_all(&hint, arg, words, n);
    err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--%s: '%s' is unknown%s", option, str_shown(shown, arg, strlen(arg)),
        hint.p ? hint.p : "");
    str_clear(&hint);
    return false;
}

bool
job_take_format(struct job *job, const struct cli_option *option, const char *arg, struct err *err)
{
    const struct writer *writer = writer_named(arg);
    if (writer)
        job->writer = writer;
    else if (encode_find(arg, true))
        job->scheme = arg;
    else
        return unknown(option->name, arg, true, err);
    return true;
}

/* The writer that the extension of a path names, or NULL. */
static const struct writer *
writer_of(const char *path)
{
    const char *dot = path ? strrchr(path, '.') : NULL;
    return dot ? writer_named(dot + 1) : NULL;
}

static bool
find_candidates(struct job *job, struct err *err)
{
    const char *p = job->candidate_names ? job->candidate_names : "q2_k,q3_k,q4_k,q5_k,q6_k,q8_0";
    for (size_t n; *p; p += n + (p[n] == ',')) {
        char name[64];
        n = strcspn(p, ",");
        snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), p);
        const struct encoder *e = encode_find(name, job->writer != &writer_safetensors);
        if (!e || n >= sizeof name)
            return unknown("candidates", name, false, err);
        if (job->ncandidates == JOB_CANDIDATES)
            return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--candidates: more than %d", JOB_CANDIDATES);
        if (job->ncandidates != 0 && (e->type == DTYPE_UNKNOWN) != (job->candidates[0]->type == DTYPE_UNKNOWN))
            return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--candidates: %s and %s do not go into one file",
                job->candidates[0]->name, e->name);
        job->candidates[job->ncandidates++] = e;
    }
    if (job->ncandidates != 0 && !job->scheme)
        job->scheme = job->candidates[0]->name;
    return job->ncandidates != 0 || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--candidates: there are none");
}

/* The encoder of the scheme, and the format that goes with it. */
static bool
find_encoder(struct job *job, struct err *err)
{
    const struct encoder *encoder = encode_find(job->scheme, job->writer != &writer_safetensors);
    if (!encoder)
        return unknown("scheme", job->scheme, false, err);
    const struct writer *needs = encoder->type != DTYPE_UNKNOWN ? &writer_gguf : &writer_safetensors;
    job->reduction.encoder = encoder;
    if (!job->writer)
        job->writer = needs;
    if (job->writer != needs)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "%s is written as %s, not as %s", encoder->label, needs->name,
            job->writer->name);
    return reduction_settle(&job->reduction, err);
}

bool
job_settle(struct job *job, struct err *err)
{
    bool budget = job->target_size != 0 || job->target_bpw != 0;
    if (!job->writer)
        job->writer = job->dir.path ? &writer_safetensors : writer_of(job->output.path);
    if (job->candidate_names && !budget)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--candidates goes with --target-size or --target-bpw");
    if (budget && (job->scheme || (job->target_size != 0 && job->target_bpw != 0) || job->reduction.pure))
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--target-size, --target-bpw, --scheme and --pure exclude one another");
    if (budget && !find_candidates(job, err))
        return false;
    if (job->scheme && !find_encoder(job, err))
        return false;
    job->split.writer = job->writer;
    return true;
}
