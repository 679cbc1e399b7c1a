/* Image models that become GGUF, and GGUF files of image models that become something else. */
#include <string.h>
#include <strings.h>

#include "cli/conflicts.h"
#include "command/command_priv.h"

bool
command_image_family(struct job *job, struct err *err)
{
    const char *name = job->cmd->hf.family;
    struct model_family *family = NULL;
    job->image_none = name && strcasecmp(name, "none") == 0;
    if (!name || job->image_none)
        return true;
    if (!family_given(&family, name, err))
        return false;
    if (family->image)
        job->image_given = family;
    else
        family_free(family);
    return true;
}

/* Fails for options that an image model does not have, and for --keep-shapes without effect. */
static bool
check_options(const struct job *job, struct err *err)
{
    static const int keys[] = { CLI_OPT_PRE, CLI_OPT_NO_TOKENIZER, CLI_OPT_MTP, CLI_OPT_NO_MTP,
        CLI_OPT_MMPROJ, CLI_OPT_ALLOW_MISSING, CLI_OPT_SKIP_UNKNOWN, 0 };
    const char *option = conflicts_first(&job->cmd->cli, keys);
    if ((job->image_given || job->image_none) && option)
        return command_no_hf(option, err);
    if (!job->cmd->keep_shapes || job->image.nreshaped != 0)
        return true;
    return err_set(err, ERR_USAGE, "--keep-shapes has no effect: no tensor would be written with another shape");
}

bool
command_image_choose(struct job *job, struct err *err)
{
    const struct command *cmd = job->cmd;
    const struct image_options how = { .given = job->image_given, .foreign = job->image_given && !family_is_builtin(cmd->hf.family),
        .keep_shapes = cmd->keep_shapes, .keep_types = cmd->cast };
    if (job->writer != &writer_gguf)
        return image_restore(&job->choice, &job->model, err);
    if (job->to_gguf.family || job->image_none)
        return check_options(job, err);
    if (!image_open(&job->image, job->model.catalog, &job->choice, &how, err)
            || !image_choose(&job->image, &job->model, &job->choice, &how, err))
        return false;
    if (job->image.keys.n != 0)
        job->given.own = &job->image.keys;
    return check_options(job, err);
}
