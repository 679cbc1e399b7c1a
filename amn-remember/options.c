#include "options.h"

#include <string.h>

enum {
    OPT_TO = CLI_LONG, OPT_ORDER, OPT_SIZE, OPT_RANGE, OPT_PART, OPT_PART_SIZE, OPT_PARTS, OPT_PLAN, OPT_SYNC,
    OPT_DIRECT, OPT_NO_SPOOL
};

enum { JOBS_MAX = 256 };

static const struct cli_option table[] = {
    { 'o', "output", "FILE", "write to FILE, which appears under its name when it is complete" },
    { 'n', "no-clobber", NULL, "fail when FILE is there already" },
    { 'f', "force", NULL, "write binary data to a terminal too" },
    { OPT_TO, "to", "DTYPE", "dtype of recovered weights: bf16 (default), f16 or f32" },
    { OPT_ORDER, "order", "ORDER", "order of output tensors: input (default) or name" },
    { OPT_SIZE, "size", NULL, "print the exact length of the output and write nothing" },
    { OPT_RANGE, "range", "A-B", "write only bytes A to B of the output; A- and -LAST_N as in HTTP" },
    { OPT_PART, "part", "I/N", "write only part I of N, from 1 on; the parts, in order, are the output" },
    { OPT_PART_SIZE, "part-size", "SIZE", "parts of SIZE bytes but for the last; then --part takes an I alone" },
    { OPT_PARTS, "parts", NULL, "print how many parts of --part-size there are" },
    { OPT_PLAN, "plan", NULL, "print where each tensor lies and what of the input it needs, as JSON" },
    { 'j', "jobs", "N", "use N worker threads" },
    { OPT_SYNC, "sync", NULL, "flush the file to the disk before it gets its name, and its name" },
    { OPT_DIRECT, "direct", "WHEN", "write past the page cache: auto (default), always or never" },
    { OPT_NO_SPOOL, "no-spool", NULL, "fail instead of putting a pipe into a temporary file" },
    { 0 },
};

/* At most one of --size, --parts, --plan. */
static bool
take_instead(struct options *o, enum instead instead, struct err *err)
{
    if (o->instead != INSTEAD_NOTHING && o->instead != instead)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--size, --parts and --plan exclude one another");
    o->instead = instead;
    return true;
}

static bool
take(void *own, const struct cli_option *option, const char *arg, struct err *err)
{
    static const char *const orders[] = { "input", "name", NULL };
    static const char *const directs[] = { "auto", "always", "never", NULL };
    static const enum sink_direct regimes[] = { SINK_DIRECT_AUTO, SINK_DIRECT_ALWAYS, SINK_DIRECT_NEVER };
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
        if (!cli_choice(&choice, option, arg, dtype_targets, err))
            return false;
        o->to = dtype_target(choice);
        return true;
    case OPT_ORDER:
        if (!cli_choice(&choice, option, arg, orders, err))
            return false;
        o->writer.order = choice == 0 ? WRITER_ORDER_INPUT : WRITER_ORDER_NAME;
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
    case OPT_PART:
        return cut_read_part(&o->cut, arg) || err_set(err, ERR_USAGE, ERR_NO_OFFSET,
            "--part: '%s' is no I/N with I from 1 to N", arg);
    case OPT_PART_SIZE:
        return cli_size(&o->cut.part_size, option, arg, err) && (o->cut.part_size != 0
            || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--part-size: a part has at least one byte"));
    case OPT_RANGE:
        return cut_read_range(&o->cut, arg) || err_set(err, ERR_USAGE, ERR_NO_OFFSET,
            "--range: '%s' is none of A-B, A- and -LAST_N", arg);
    case OPT_SYNC:
        return o->output.sync = true;
    case OPT_DIRECT:
        if (!cli_choice(&choice, option, arg, directs, err))
            return false;
        o->output.direct = regimes[choice];
        return true;
    default:
        return o->no_spool = true;
    }
}

void
options_parse(struct options *o, int argc, char **argv)
{
    static const struct cli_spec spec = {
        .tool = "amn-remember",
        .operands = "[FILE]",
        .summary = "Recover the precision of a quantized model and write it as safetensors.",
        .options = table,
        .take = take,
        .max_operands = 1,
    };
    *o = (struct options){ .to = DTYPE_BF16 };
    cli_options(&o->cli, &spec, o, argc, argv);
    if (o->output.path && strcmp(o->output.path, "-") == 0)
        o->output.path = NULL;
}
