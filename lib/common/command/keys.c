#include "command/command_priv.h"

#include "source/small_file.h"
#include "hf/quantization.h"

/* Notes metadata that readers of the output may miss. */
static void
note(const struct command *cmd, const struct model *model, const struct keys *keys)
{
    size_t n = catalog_meta_count(model->catalog);
    if (cmd->writer->keys == KEYS_NONE && n != 0)
        cli_note(&cmd->cli, model->name, "%zu metadata key%s not written: %s cannot hold metadata", n, n == 1 ? "" : "s",
            cmd->writer->name);
    if (cmd->writer->keys == KEYS_TYPED && !keys_find(keys, "general.architecture"))
        cli_note(&cmd->cli, model->name, "llama.cpp cannot load the output, which has no general.architecture key; add keys "
            "with --gguf-kv or --gguf-metadata");
}

/* The file of --gguf-metadata counts as an input, so that the output cannot overwrite it. */
bool
command_keys_make(struct keys *keys, struct command *cmd, struct model *model, const struct choice *choice, struct err *err)
{
    struct source *src = NULL;
    struct keys_given *given = &cmd->keys;
    struct str quantization = { 0 };
    bool ok = !given->path || small_file_open(&src, given->path, SMALL_FILE_MAX, catalog_budget(model->catalog),
        "--gguf-metadata bytes", &given->json, &given->njson, &model->inputs, err);
    given->quantization = &quantization;
    ok = ok && (choice->encoded == 0 || hf_quantization_of_files(&quantization, choice, cmd->reduction.encoder, err))
        && keys_make(keys, cmd->writer->keys, given, choice, err);
    given->json = NULL;
    given->quantization = NULL;
    str_clear(&quantization);
    source_close(src);
    return ok;
}

bool
command_keys(struct keys *keys, struct command *cmd, struct model *model, const struct choice *choice, struct err *err)
{
    bool ok = command_keys_make(keys, cmd, model, choice, err);
    cmd->layout.keys = keys;
    if (ok)
        note(cmd, model, keys);
    return ok;
}
