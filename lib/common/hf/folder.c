#include "hf/folder.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "container/side_file.h"

static const char *const names[HF_FILES] = {
    [HF_CONFIG] = "config.json", [HF_GENERATION] = "generation_config.json", [HF_TOKENIZER] = "tokenizer.json",
    [HF_TOKENIZER_CONFIG] = "tokenizer_config.json", [HF_SENTENCEPIECE] = "tokenizer.model",
    [HF_ADDED_TOKENS] = "added_tokens.json", [HF_MERGES] = "merges.txt", [HF_TEMPLATE] = "chat_template.jinja",
    [HF_TEMPLATE_JSON] = "chat_template.json", [HF_TEKKEN] = "tekken.json",
};

/* The config that counts is with the catalog already, whichever file that was. */
bool
hf_config_file(struct hf_folder *folder, const struct catalog *catalog)
{
    *folder = (struct hf_folder){ 0 };
    for (unsigned i = 0; i < HF_FILES; i++)
        folder->file[i].name = names[i];
    for (size_t i = 0; i < catalog_config_count(catalog); i++) {
        const struct catalog_config *config = catalog_config_at(catalog, i);
        if (strcmp(config->name, names[HF_CONFIG]) != 0)
            continue;
        folder->file[HF_CONFIG].p = config->text;
        folder->file[HF_CONFIG].n = config->n;
        return true;
    }
    return false;
}

static bool
open_one(struct hf_folder *folder, enum hf_file i, const char *path, struct model *model, struct err *err)
{
    struct stat st;
    if (lstat(path, &st) != 0)          /* a link to nothing is there, and an error */
        return errno == ENOENT || err_set(err, ERR_OPEN, ERR_NO_OFFSET, "%s: %s", path, strerror(errno));
    return side_file_open(&folder->src[i], path, limits_default.tokenizer, catalog_budget(model->catalog), names[i],
        &folder->file[i].p, &folder->file[i].n, &model->inputs, err);
}

bool
hf_folder_open(struct hf_folder *folder, struct model *model, struct err *err)
{
    bool ok = true;
    hf_config_file(folder, model->catalog);
    for (unsigned i = HF_CONFIG + 1; ok && i < HF_FILES; i++) {
        struct str path = { 0 };
        str_format(&path, "%s/%s", model->folder, names[i]);
        ok = path.failed ? err_memory(err, path.len) : open_one(folder, i, path.p, model, err);
        str_clear(&path);
    }
    return ok;
}

void
hf_folder_close(struct hf_folder *folder)
{
    for (unsigned i = 0; i < HF_FILES; i++)
        source_close(folder->src[i]);
    *folder = (struct hf_folder){ 0 };
}
