#include "command/command_priv.h"

#include <stdlib.h>
#include <string.h>

#include "command/imatrix.h"
#include "source/small_file.h"
#include "hf/quantization.h"

/* Notes metadata that readers of the output may miss. */
static void
note(const struct job *job)
{
    const struct model *model = &job->model;
    size_t n = catalog_meta_count(model->catalog);
    if (job->writer->keys == KEYS_NONE && n != 0)
        cli_note(&job->cmd->cli, model->name, "%zu metadata key%s not written: %s cannot hold metadata", n, str_plural(n),
            job->writer->name);
}

/* Replaces the value of a KEY=@FILE by the text of the file, which counts as an input; KEY=@@TEXT means "@TEXT". */
static bool
read_value(char **pair, struct model *model, struct err *err)
{
    char *value = strchr(*pair, '=') + 1, shown[STR_SHOWN];
    struct source *src = NULL;
    struct str text = { 0 };
    const char *p = NULL;
    size_t n = 0;
    if (value[0] != '@')
        return true;
    if (value[1] == '@') {
        memmove(value, value + 1, strlen(value));
        return true;
    }
    bool ok = small_file_open(&src, value + 1, true, SMALL_FILE_MAX, catalog_budget(model->catalog), "--gguf-kv bytes", &p, &n,
        &model->inputs, err);
    if (ok && (memchr(p, '\0', n) || !str_is_utf8(p, n)))
        ok = err_set(err, ERR_USAGE, "--gguf-kv: %s is not text in UTF-8", str_shown(shown, value + 1, strlen(value + 1)));
    if (ok) {
        str_add(&text, *pair, (size_t)(value - *pair));
        str_add(&text, p, n);
        ok = !text.failed || err_memory(err, n);
    }
    if (ok) {
        free(*pair);
        *pair = text.p;
    } else
        str_clear(&text);
    source_close(src);
    return ok;
}

bool
command_keys_read(struct job *job, struct err *err)
{
    struct names *pairs = &job->given.typed;
    for (size_t i = 0; i < pairs->n; i++)
        if (!read_value(&pairs->name[i], &job->model, err))
            return false;
    return true;
}

/* The file of --gguf-metadata counts as an input, so that the output cannot overwrite it. */
bool
command_keys_make(struct keys *keys, struct job *job, const struct choice *choice, struct err *err)
{
    struct source *src = NULL;
    struct keys_given *given = &job->given;
    struct model *model = &job->model;
    struct str quantization = { 0 };
    keys_clear(&job->imatrix);
    bool ok = !given->path || small_file_open(&src, given->path, true, SMALL_FILE_MAX, catalog_budget(model->catalog),
        "--gguf-metadata bytes", &given->json, &given->njson, &model->inputs, err);
    given->quantization = &quantization;
    if (choice->encoded != 0 && job->reduction.importance.n != 0)
        given->job = &job->imatrix;
    ok = ok && (!given->job || imatrix_keys(&job->imatrix, &job->reduction.importance, err)) && (choice->encoded == 0 || hf_quantization_of_files(&quantization, choice, job->reduction.encoder, job->dir.path != NULL,
            err))
        && keys_make(keys, job->writer->keys, given, choice, err);
    given->json = NULL;
    given->quantization = NULL;
    str_clear(&quantization);
    source_close(src);
    return ok;
}

bool
command_keys(struct job *job, struct err *err)
{
    bool ok = command_keys_make(&job->keys, job, &job->choice, err);
    job->layout.keys = &job->keys;
    if (ok)
        note(job);
    return ok;
}
