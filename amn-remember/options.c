#include "options.h"

#include <string.h>

enum { JOBS_MAX = 256 };
#define SHARD_SIZE (UINT64_C(5) << 30)

/* At most one of --size, --parts, --plan, --test. */
static bool
take_instead(struct options *o, enum instead instead, struct err *err)
{
    if (o->instead != INSTEAD_NOTHING && o->instead != instead)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--size, --parts, --plan and --test exclude one another");
    o->instead = instead;
    return true;
}

static bool
take(void *own, const struct cli_option *option, const char *arg, struct err *err)
{
    struct options *o = own;
    unsigned choice;
    uint64_t n;
    switch (option->key) {
    case 'o':
        o->output.path = arg;
        return *arg || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--output: the name of the file is empty");
    case 'n':
        return o->output.no_clobber = true;
    case 'f':
        return o->output.terminal_ok = true;
    case OPT_TO:
        if (!cli_choice(&choice, option, arg, err))
            return false;
        o->to = dtype_target(choice);
        return true;
    case OPT_ORDER:
        if (!cli_choice(&choice, option, arg, err))
            return false;
        o->writer.order = (enum writer_order)choice;
        return true;
    case 'j':
        if (!cli_number(&n, option, arg, 1, JOBS_MAX, err))
            return false;
        o->jobs = (unsigned)n;
        return true;
    case OPT_SIZE:
        return take_instead(o, INSTEAD_SIZE, err);
    case OPT_PARTS:
        return take_instead(o, INSTEAD_PARTS, err);
    case OPT_PLAN:
        return take_instead(o, INSTEAD_PLAN, err);
    case OPT_TEST:
        return take_instead(o, INSTEAD_TEST, err);
    case OPT_PART:
        return cut_read_part(&o->cut, arg) || err_set(err, ERR_USAGE, ERR_NO_OFFSET,
            "--part: '%s' is no I/N with I from 1 to N", arg);
    case OPT_PART_SIZE:
        return cli_size(&o->cut.part_size, option, arg, err) && (o->cut.part_size != 0
            || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--part-size: a part has at least one byte"));
    case OPT_RANGE:
        return cut_read_range(&o->cut, arg) || err_set(err, ERR_USAGE, ERR_NO_OFFSET,
            "--range: '%s' is none of A-B, A- and -LAST_N", arg);
    case OPT_SHARD_SIZE:
        return cli_size(&o->dir.shard_size, option, arg, err) && (o->dir.shard_size != 0
            || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--shard-size: a file has at least one byte"));
    case OPT_RESUME:
        return o->dir.resume = true;
    case OPT_SYNC:
        return o->output.sync = true;
    case OPT_DIRECT:
        if (!cli_choice(&choice, option, arg, err))
            return false;
        o->output.direct = (enum sink_direct)choice;
        return true;
    case OPT_NO_VERIFY:
        return o->no_verify = true;
    default:
        return o->no_spool = true;
    }
}

bool
options_check(const struct options *o, struct err *err)
{
    if (o->instead == INSTEAD_TEST && o->output.path)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--test writes nothing: it does not go with --output");
    if (!o->dir.path && (o->dir.shard_size != 0 || o->dir.resume))
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--shard-size and --resume go with -o DIR/, which ends with a slash");
    if (o->dir.path && (o->instead != INSTEAD_NOTHING || (o->cut.range || o->cut.part != 0 || o->cut.part_size != 0)))
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "-o DIR/ writes whole files: --size, --parts, --plan, --range and "
            "--part do not go with it");
    return cut_check(&o->cut, o->instead == INSTEAD_PARTS, err);
}

/* A path that ends with a slash is that of a directory. */
static void
take_directory(struct options *o)
{
    const char *path = o->output.path;
    if (!path || path[strlen(path) - 1] != '/')
        return;
    o->dir.path = path;
    o->dir.direct = o->output.direct;
    o->dir.no_clobber = o->output.no_clobber;
    if (o->dir.shard_size == 0)
        o->dir.shard_size = SHARD_SIZE;
}

void
options_parse(struct options *o, int argc, char **argv)
{
    *o = (struct options){ .to = DTYPE_BF16 };
    cli_options(&o->cli, CLI_REMEMBER, take, o, argc, argv);
    if (o->output.path && strcmp(o->output.path, "-") == 0)
        o->output.path = NULL;
    take_directory(o);
}
