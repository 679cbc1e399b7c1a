#include "options.h"

#include <inttypes.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"

enum { OPT_TO = CLI_LONG, OPT_ORDER, OPT_SIZE, OPT_RANGE, OPT_SYNC, OPT_NO_SPOOL };

enum { JOBS_MAX = 256 };

static const struct cli_option table[] = {
    { 'o', "output", "FILE", "write to FILE, which appears under its name when it is complete" },
    { 'n', "no-clobber", NULL, "fail when FILE is there already" },
    { 'f', "force", NULL, "write binary data to a terminal too" },
    { OPT_TO, "to", "DTYPE", "dtype of recovered weights: bf16 (default), f16 or f32" },
    { OPT_ORDER, "order", "ORDER", "order of output tensors: input (default) or name" },
    { OPT_SIZE, "size", NULL, "print the exact length of the output and write nothing" },
    { OPT_RANGE, "range", "A-B", "write only bytes A to B of the output; A- and -LAST_N as in HTTP" },
    { 'j', "jobs", "N", "use N worker threads" },
    { OPT_SYNC, "sync", NULL, "flush the file to the disk before it gets its name, and its name" },
    { OPT_NO_SPOOL, "no-spool", NULL, "fail instead of putting a pipe into a temporary file" },
    { 0 },
};

/* "A-B", "A-" or "-N". */
static bool
take_range(struct options *o, const char *arg)
{
    char first[24];
    const char *dash = strchr(arg, '-');
    if (!dash || (size_t)(dash - arg) >= sizeof first)
        return false;
    memcpy(first, arg, (size_t)(dash - arg));
    first[dash - arg] = '\0';
    o->range = true;
    o->has_first = first[0] != '\0';
    o->has_last = dash[1] != '\0';
    return (o->has_first || o->has_last) && (!o->has_first || str_to_u64(&o->first, first))
        && (!o->has_last || str_to_u64(&o->last, dash + 1)) && !(o->has_first && o->has_last && o->first > o->last);
}

static bool
take(void *own, const struct cli_option *option, const char *arg, struct err *err)
{
    static const char *const orders[] = { "input", "name", NULL };
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
        o->plan.to = dtype_target(choice);
        return true;
    case OPT_ORDER:
        if (!cli_choice(&choice, option, arg, orders, err))
            return false;
        o->plan.order = choice == 0 ? PLAN_ORDER_INPUT : PLAN_ORDER_NAME;
        return true;
    case 'j':
        if (!cli_number(&n, option, arg, 1, JOBS_MAX, err))
            return false;
        o->jobs = (unsigned)n;
        return true;
    case OPT_SIZE:
        return o->size = true;
    case OPT_RANGE:
        return take_range(o, arg) || err_set(err, ERR_USAGE, ERR_NO_OFFSET,
            "--range: '%s' is none of A-B, A- and -LAST_N", arg);
    case OPT_SYNC:
        return o->output.sync = true;
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
    *o = (struct options){ .plan = { .to = DTYPE_BF16, .order = PLAN_ORDER_INPUT, .metadata = true } };
    cli_options(&o->cli, &spec, o, argc, argv);
    if (o->output.path && strcmp(o->output.path, "-") == 0)
        o->output.path = NULL;
}

bool
options_range(const struct options *o, uint64_t size, uint64_t *from, uint64_t *to, struct err *err)
{
    *from = 0;
    *to = size;
    if (!o->range)
        return true;
    if (!o->has_first)                      /* the last N bytes */
        *from = size - num_min(size, o->last);
    else
        *from = o->first;
    if (o->has_first && o->has_last && o->last < size)
        *to = o->last + 1;
    return *from <= size || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--range: the output ends at byte %" PRIu64
        ", before %" PRIu64, size, *from);
}
