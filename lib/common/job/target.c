/* What the output is: the format and the scheme that the options name together. */
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

bool
job_settle(struct job *job, struct err *err)
{
    if (!job->writer)
        job->writer = writer_of(job->output.path);
    if (!job->scheme)
        return true;
    const struct encoder *encoder = encode_find(job->scheme, job->writer != &writer_safetensors);
    if (!encoder)
        return unknown("scheme", job->scheme, false, err);
    const struct writer *needs = encoder->type != DTYPE_UNKNOWN ? &writer_gguf : &writer_safetensors;
    job->reduction.encoder = encoder;
    if (!job->writer)
        job->writer = needs;
    return job->writer == needs || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "%s is written as %s, not as %s", encoder->label,
        needs->name, job->writer->name);
}
