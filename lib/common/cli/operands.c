#include "cli/operands.h"

#include <stdio.h>
#include <string.h>

bool
cli_stdin_once(const struct cli *cli, struct err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < cli->noperands; i++)
        n += strcmp(cli->operands[i], "-") == 0;
    return n < 2 || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "'-' is given %zu times, standard input can be read once: "
        "name files", n);
}

static void
fail(int *worst, const struct cli *cli, const struct err *err)
{
    int status = cli_fail(cli, err);
    if (status > *worst)
        *worst = status;
}

int
cli_each(const struct cli *cli, cli_job *job, void *own)
{
    struct err err;
    int worst = 0;
    size_t done = 0;
    err_init(&err);
    if (!cli_stdin_once(cli, &err))
        return cli_fail(cli, &err);
    for (size_t i = 0; i == 0 || i < cli->noperands; i++) {
        err_init(&err);
        if (job(own, cli->noperands ? cli->operands[i] : NULL, &err))
            done++;
        else
            fail(&worst, cli, &err);
        if (ferror(stdout))
            return worst;
    }
    err_init(&err);
    if (done != 0 && !cli_finish_stdout(&err))      /* what was not written is not lost */
        fail(&worst, cli, &err);
    return worst;
}
