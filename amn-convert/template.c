#include "template.h"

#include "cli/progress.h"
#include "family/template.h"

static bool
print(const struct command *cmd, const char *directory, struct err *err)
{
    const struct model_options how = { .limits = &cmd->cli.limits };
    struct model model = { 0 };
    struct str text = { 0 };
    if (cmd->cli.noperands != 0)
        return err_set(err, ERR_USAGE, "--family-template DIR takes no other operand");
    bool ok = model_open(&model, directory, &how, err) && family_template(&text, &model, err);
    if (ok)
        fwrite(text.p, 1, text.len, stdout);
    str_clear(&text);
    model_clear(&model);
    return ok && cli_finish_stdout(err);
}

enum cli_status
template_run(struct command *cmd, const char *directory)
{
    struct err err;
    err_init(&err);
    cmd->cli.operand = directory;
    if (print(cmd, directory, &err))
        return CLI_OK;
    return cli_fail(&cmd->cli, &err);
}
