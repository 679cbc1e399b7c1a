/* An adapter that becomes another adapter: in a GGUF file, or under the names of another program. */
#include <stdlib.h>
#include <string.h>

#include "adapter/describe.h"
#include "command/command_priv.h"
#include "command/operands.h"
#include "model/merge.h"

/* Returns the operand that can be an adapter, or NULL. */
static const char *
only_operand(const struct command *cmd)
{
    const struct cli *cli = &cmd->cli;
    bool can = cli->noperands == 1 && !cli->fetch && cmd->adapters.n == 0 && !cmd->needs_scheme && !cmd->dequantizes && !cmd->to_hf;
    return can ? cli->operands[0] : NULL;
}

/* Returns what an adapter becomes without being told: GGUF with the extension .gguf, PEFT from GGUF or several in a directory. */
static enum recast_form
implied_form(const struct job *job, const struct catalog *c)
{
    bool gguf = strcmp(catalog_facts_of(c)->format, "GGUF") == 0;
    if (job->writer == &writer_gguf && !gguf && !adapter_has_towers(c))
        return RECAST_GGUF;
    return job->dir.path && (gguf || job->recast_from.n > 1) ? RECAST_PEFT : RECAST_NONE;
}

/* Fails for an option that has no effect on an adapter. */
static bool
check_options(const struct job *job, struct err *err)
{
    const struct command *cmd = job->cmd;
    const char *option = cmd->cli.given[CLI_OPT_FAMILY] ? NULL : command_hf_option(cmd);
    if (job->scheme)
        return err_set(err, ERR_USAGE, "an adapter is written as F32, F16 or BF16: use --dtype in place of --scheme %s", job->scheme);
    return !option || err_set(err, ERR_USAGE, "--%s has no effect: the input is an adapter", option);
}

/* Decides what an adapter becomes. */
static bool
find_form(struct job *job, const char *file, struct err *err)
{
    const struct command *cmd = job->cmd;
    bool is = false;
    if (file && !adapter_recognize(&is, job->model.catalog, file, err))
        return false;
    enum recast_form to = cmd->recast;
    if (to != RECAST_NONE && !is)
        return err_set(err, ERR_USAGE, "--to peft, mlx, kohya and diffusers convert adapters, and the input is not an adapter");
    if (is && to == RECAST_NONE)
        to = implied_form(job, job->model.catalog);
    if (to == RECAST_NONE && job->recast_from.n > 1)
        return err_set(err, ERR_USAGE, "the inputs are adapters, which become one: give -o DIR/, or --to peft, kohya or diffusers");
    if (to == RECAST_NONE)
        return !cmd->base || err_set(err, ERR_USAGE, "--base has no effect: it belongs to an adapter that is written as an adapter, with "
            "-o FILE.gguf or --to peft");
    if (job->recast_from.n == 0 && !adapter_argument_add(&job->recast_from, file, err))
        return false;
    job->recasting = (struct recast_job){ .model = &job->model, .kernels = job->p.kernels, .limits = &cmd->cli.limits,
        .from = job->recast_from.list, .nfrom = job->recast_from.n, .base = cmd->base, .family = cmd->hf.family, .to = to, .type = cmd->cast ? cmd->to : DTYPE_UNKNOWN };
    return check_options(job, err);
}

/* Sets *joins if the operands are adapters that become one: the first is the directory of an adapter, or --to says so. */
static bool
find_joined(bool *joins, struct job *job, struct err *err)
{
    const struct command *cmd = job->cmd;
    const struct cli *cli = &cmd->cli;
    char shown[STR_SHOWN], *file = NULL;
    bool can = !cli->fetch && (cli->noperands > 1 || cmd->adapters.n != 0), ok = true;
    for (size_t i = 0; ok && can && i < cli->noperands; i++)
        ok = adapter_argument_add(&job->recast_from, cli->operands[i], err)
            && (i != 0 || adapter_in_directory(&file, job->recast_from.list[0].path, err));
    if (ok && file && cmd->adapters.n != 0)
        ok = err_set(err, ERR_USAGE, "%s is an adapter: to join adapters, give all of them without --adapter, as PATH or PATH:SCALE; to merge "
            "them into a model, give the model, and --adapter for each", str_shown(shown, cli->operands[0], strlen(cli->operands[0])));
    *joins = ok && can && cli->noperands > 1 && (file || cmd->recast != RECAST_NONE);
    if (*joins) {
        job->adapter_file = file ? file : strdup(job->recast_from.list[0].path);
        return job->adapter_file || err_memory(err, 0);
    }
    free(file);
    adapter_arguments_clear(&job->recast_from);
    return ok;
}

bool
command_open(struct job *job, const struct model_options *how, struct err *err)
{
    const struct cli *cli = &job->cmd->cli;
    const char *only = only_operand(job->cmd);
    bool joins;
    if (!find_joined(&joins, job, err) || (!joins && !adapter_in_directory(&job->adapter_file, only, err)))
        return false;
    char *const *operands = job->adapter_file ? &job->adapter_file : cli->operands;
    return merge_open(&job->model, operands, job->adapter_file ? 1 : cli->noperands, how, err) && model_complete(&job->model, err)
        && find_form(job, job->adapter_file ? job->adapter_file : only, err);
}

/* Assigns the roles of the tensors of a GGUF file, whose blocks are decoded; names of factors in other files are not taken for those of
 * quantized weights. */
static bool
assign_roles(struct job *job, struct err *err)
{
    const struct roles_options reading = operands_reading(&job->cmd->cli);
    const struct contents contents = operands_contents(&job->model);
    struct catalog *of = job->model.catalog;
    if (strcmp(catalog_facts_of(of)->format, "GGUF") == 0)
        return roles_assign(&job->roles, of, &reading, &contents, err);
    of = job->nothing = catalog_new(&job->cmd->cli.limits, err);
    if (!of)
        return false;
    catalog_facts(of)->format = catalog_facts_of(job->model.catalog)->format;
    return catalog_seal(of, err) && roles_assign(&job->roles, of, NULL, NULL, err);
}

/* Chooses all tensors of the adapter, each as it is. */
static bool
choose_all(struct job *job, struct err *err)
{
    const struct catalog *c = job->model.catalog;
    struct choice *choice = &job->choice;
    if (!job->nothing)
        return choice_make(choice, c, job->roles, KEEPS_NONE, DTYPE_F32, false, err);
    *choice = (struct choice){ .input = c, .roles = job->roles };
    for (size_t i = 0; i < catalog_count(c); i++) {
        const struct tensor *t = catalog_at(c, i);
        const struct chosen one = { .copy = t, .dtype = t->dtype };
        if (!choice_append(choice, &one, err))
            return false;
    }
    return true;
}

bool
command_recast(struct job *job, struct err *err)
{
    const struct command *cmd = job->cmd;
    struct recast *r = &job->recast;
    if (!assign_roles(job, err) || !choose_all(job, err) || !recast_choose(r, &job->choice, &job->recasting, err)
            || !naming_apply(&cmd->naming, &job->choice, err))
        return false;
    if (job->recasting.to == RECAST_GGUF) {
        job->given.own = &r->keys;
        return true;
    }
    if (job->recasting.to == RECAST_DIFFUSERS)
        job->given.own = &r->keys;
    else
        job->given.none = cmd->keys.text.n == 0;        /* it is in adapter_config.json */
    job->dir.stem = recast_stem(job->recasting.to);
    job->dir.texts = &r->texts;
    if (!job->dir.path && cmd->instead == COMMAND_OUTPUT && r->texts.n != 0)
        cli_say(&cmd->cli, job->model.name, "only weights written; -o DIR/ adds adapter_config.json");
    return true;
}
