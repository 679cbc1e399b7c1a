/* --output-dir: one job for each operand, and for the towers of a model. A process each, so that no job sees what another left
 * behind. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <signal.h>
#include <sys/prctl.h>
#endif

#include "cli/conflicts.h"
#include "command/command_priv.h"

/* Makes the job write the towers of a model. They are not quantized with it: people do that by choice, with --mmproj. */
static void
choose_towers(struct command *cmd)
{
    cmd->hf.mmproj = true;
    cmd->scheme = cmd->imatrix = cmd->report = cmd->manifest = NULL;
    cmd->needs_scheme = cmd->is_exact = false;
    cmd->target_size = 0;
    cmd->target_bpw = 0;
}

/* Runs a job of one operand. Returns its exit status; ends this process if a signal ended the job. */
static enum cli_status
run_one(struct command *cmd, size_t i, const char *path, enum hf_pair pair)
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
#ifdef __linux__
        prctl(PR_SET_PDEATHSIG, SIGTERM);       /* a job does not outlive the tool that was killed */
#endif
        cmd->cli.operands += i;
        cmd->cli.noperands = 1;
        cmd->cli.operand = cmd->cli.operands[0];
        cmd->cli.given[CLI_OPT_OUTPUT_DIR] = false;
        cmd->output_dir = NULL;
        cmd->output.path = path;
        cmd->hf.pair = pair;
        if (pair == PAIR_TOWERS)
            choose_towers(cmd);
        cmd->one_of_several = true;
        exit(command_run(cmd));
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            pid = -1;
    if (pid < 0) {
        struct err err;
        err_init(&err);
        err_sys(&err, ERR_LIMIT, errno, "cannot start a process");
        return cli_fail(&cmd->cli, &err);
    }
    if (WIFSIGNALED(status))
        raise(WTERMSIG(status));
    if (WIFEXITED(status))
        return (enum cli_status)WEXITSTATUS(status);
    return CLI_BUG;
}

/* Runs the jobs of one operand: the model, and then its towers, if it can have any. Returns the larger exit status. */
static enum cli_status
run_all(struct command *cmd, size_t i, const struct str *path, bool towers)
{
    const char *name = strrchr(path->p, '/') + 1;
    struct str second = { 0 };
    struct err err;
    enum cli_status status = run_one(cmd, i, path->p, towers ? PAIR_MODEL : PAIR_NONE);
    if (!towers || status != CLI_OK)
        return status;
    err_init(&err);
    str_format(&second, "%.*smmproj-%s", (int)(name - path->p), path->p, name);
    if (!second.failed)
        status = run_one(cmd, i, second.p, PAIR_TOWERS);
    else {
        err_memory(&err, second.room);
        status = cli_fail(&cmd->cli, &err);
    }
    str_clear(&second);
    return status;
}

/* Names the outputs, and checks that no two are the same. */
static bool
name_outputs(struct str *path, const struct command *cmd, struct err *err)
{
    char a[STR_SHOWN], b[STR_SHOWN], c[STR_SHOWN];
    for (size_t i = 0; i < cmd->cli.noperands; i++) {
        if (!command_name_output(&path[i], cmd, cmd->cli.operands[i], err))
            return false;
        for (size_t k = 0; k < i; k++)
            if (strcmp(path[k].p, path[i].p) == 0)
                return err_set(err, ERR_USAGE, "%s and %s would both be written to %s; use -o for one of them",
                    str_shown(a, cmd->cli.operands[k], strlen(cmd->cli.operands[k])),
                    str_shown(b, cmd->cli.operands[i], strlen(cmd->cli.operands[i])), str_shown(c, path[i].p, path[i].len));
    }
    return true;
}

static bool
prepare(struct str *path, const struct command *cmd, struct err *err)
{
    if (!conflicts_check(&cmd->cli, cmd->cli.given, err))
        return false;
    for (size_t i = 0; i == 0 || i < cmd->cli.noperands; i++)
        if (cmd->cli.noperands == 0 || strcmp(cmd->cli.operands[i], "-") == 0)
            return err_set(err, ERR_USAGE, "--output-dir requires files: standard input has no name; use -o FILE");
    if (!name_outputs(path, cmd, err))
        return false;
    return mkdir(cmd->output_dir, 0777) == 0 || errno == EEXIST || err_sys(err, ERR_CREATE, errno, "%s", cmd->output_dir);
}

enum cli_status
command_run_each(struct command *cmd)
{
    enum cli_status worst = CLI_OK;
    struct err err;
    err_init(&err);
    if (!cmd->output_dir)
        cmd->output_dir = cmd->output.path;
    struct str *path = calloc(cmd->cli.noperands + 1, sizeof *path);
    bool ok;
    if (path)
        ok = prepare(path, cmd, &err);
    else
        ok = err_memory(&err, sizeof *path);
    if (!ok)
        worst = cli_fail(&cmd->cli, &err);
    for (size_t i = 0; ok && i < cmd->cli.noperands; i++) {
        enum cli_status status = run_all(cmd, i, &path[i], str_ends(path[i].p, ".gguf") && command_has_towers(cmd, cmd->cli.operands[i]));
        if (status > worst)
            worst = status;
    }
    for (size_t i = 0; path && i < cmd->cli.noperands; i++)
        str_clear(&path[i]);
    free(path);
    return worst;
}
