/* amn-inspect: describes a model: format, quantization, size and space saved. Compares models with --check and --diff. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/conflicts.h"
#include "cli/options.h"
#include "command/adapter_report.h"
#include "command/check.h"
#include "command/diff.h"
#include "command/hash.h"
#include "command/grids.h"
#include "command/operands.h"
#include "digest.h"
#include "image.h"
#include "report/inspect.h"
#include "scan.h"
#include "writer/writer.h"

struct tool {
    struct cli cli;
    bool metadata;              /* --metadata: show all keys in the text, too */
    bool scan;                  /* --scan: report on pickles instead of the model */
    bool check;                 /* --check: compare with the manifest that is the first operand */
    bool diff;                  /* --diff: compare two models */
    const char *report;         /* --report: path of a report of --diff, or NULL; borrowed */
    bool has_min;               /* --min-sqnr: status 0 if all tensors reach min_sqnr */
    double min_sqnr;
    struct hash hash;
    struct naming naming;       /* for --check and --diff */
    bool grid;                  /* --grid: report on the values of unquantized weights instead */
    const struct kernels *kernels;      /* for --grid */
    bool arrays;                /* --arrays: show long metadata arrays in full */
    enum dtype to;              /* --to: BF16, F16 or F32 */
    bool size;                  /* --to was given, so the file size is reported, too */
};

static bool
take_decibels(double *out, const char *arg, struct err *err)
{
    char *end;
    *out = strtod(arg, &end);
    return (*arg && *end == '\0' && isfinite(*out)) || err_set(err, ERR_USAGE, "--min-sqnr: invalid number '%s': expected decibels, such "
        "as 40", arg);
}

static bool
inspect_take(void *own, const struct cli_option *option, const char *arg, struct err *err)
{
    struct tool *tool = own;
    unsigned choice;
    switch (option->key) {
    case CLI_OPT_METADATA:
        return tool->metadata = true;
    case CLI_OPT_SCAN:
        return tool->scan = true;
    case CLI_OPT_GRID:
        return tool->grid = true;
    case CLI_OPT_ARRAYS:
        return tool->arrays = true;
    case CLI_OPT_CHECK:
        return tool->check = true;
    case CLI_OPT_DIFF:
        return tool->diff = true;
    case CLI_OPT_REPORT:
        tool->report = arg;
        return *arg || err_set(err, ERR_USAGE, "--report: empty file name");
    case CLI_OPT_MIN_SQNR:
        return tool->has_min = take_decibels(&tool->min_sqnr, arg, err);
    case CLI_OPT_HASH:
    case CLI_OPT_STORED:
    case 'j':
        return hash_take(&tool->hash, option, arg, err);
    case CLI_OPT_ONLY:
    case CLI_OPT_DROP:
        return naming_match(&tool->naming, option->name, arg, option->key == CLI_OPT_ONLY, err);
    case CLI_OPT_RENAME:
        return naming_rename(&tool->naming, arg, err);
    case CLI_OPT_STRIP_PREFIX:
        return naming_strip(&tool->naming, arg, err);
    case CLI_OPT_ADD_PREFIX:
        return naming_prefix(&tool->naming, arg, err);
    default:
        if (!cli_choice(&choice, option, arg, err))
            return false;
        tool->to = dtype_target(choice);
        return tool->size = true;
    }
}

/* Computes the length of the file that amn-remember would write; unknown for a part of a split model, which amn-remember
 * rejects. Its header repeats the metadata as text, which can be large, so this is done only on request. */
static bool
measure_file(struct inspect_dequantized *r, struct choice *choice, struct err *why)
{
    const struct keys_given nothing = { 0 };
    struct keys keys = { 0 };
    const struct writer_options options = { .order = WRITER_ORDER_INPUT, .keys = &keys };
    struct pieces *pieces = pieces_new(why);
    r->size_known = pieces && keys_make(&keys, KEYS_TEXT, &nothing, choice, why)
        && writer_safetensors.lay_out(pieces, choice, &options, why)
        && catalog_facts_of(choice->input)->split_count == 0;
    if (r->size_known)
        r->size = pieces_nbytes(pieces);
    pieces_free(pieces);
    keys_clear(&keys);
    return why->kind == ERR_NONE;
}

/* Computes what amn-remember would write. A model that it rejects has no such size, which is not a failure here. */
static bool
inspect_measure(struct inspect_dequantized *r, const struct inspect *in, bool size, struct err *err)
{
    struct choice choice = { 0 };
    struct err *why = &r->refusal;
    err_init(why);
    r->bytes_known = choice_make(&choice, in->catalog, in->roles, KEEPS_NONE, r->to, false, why) && choice_nbytes(&choice, &r->bytes, why)
        && (!size || measure_file(r, &choice, why));
    if (why->kind != ERR_UNSUPPORTED && why->kind != ERR_LIMIT && why->kind != ERR_MALFORMED)
        *err = *why;
    choice_clear(&choice);
    return err->kind == ERR_NONE;
}

static bool
report(void *own, const struct operand *operand, struct err *err)
{
    const struct tool *tool = own;
    const struct model *model = operand->model;
    if (operand->adapter)
        return (cli_human(&tool->cli) ? adapter_inspect_text : adapter_inspect_json)(operand), true;
    struct inspect in = {
        .file = str_or(operand->name, "-"),
        .nfiles = model->nsrc,
        .catalog = model->catalog,
        .roles = operand->roles,
        .metadata = tool->metadata,
        .arrays = tool->arrays,
        .heading = operand->heading,
        .first = operand->first,
        .remembered.to = tool->to,
    };
    struct image_description image;
    bool ok = inspect_measure(&in.remembered, &in, tool->size, err) && image_describe(&image, model->catalog, err);
    if (!ok)
        return false;
    if (image.found)
        in.image = &image.shown;
    else
        in.image = NULL;
    ok = (cli_human(&tool->cli) ? inspect_text : inspect_json)(operand->page, &in, err);
    image_clear(&image.model);
    return ok;
}

static bool
report_grid(void *own, const struct operand *operand, struct err *err)
{
    const struct tool *tool = own;
    return grids_print(operand, tool->kernels, &tool->cli, err);
}

static enum cli_status
inspect_run(struct tool *tool, struct err *err)
{
    if (tool->scan)
        return scan_operands(&tool->cli);
    tool->hash.to = tool->size ? tool->to : DTYPE_F32;
    if (tool->hash.wanted)
        return digest_operands(&tool->cli, &tool->hash);
    if (tool->check)
        return check_run(&tool->cli, &tool->hash, &tool->naming);
    const struct diff diff = { .naming = &tool->naming, .report = tool->report, .has_min = tool->has_min, .min_sqnr = tool->min_sqnr,
        .jobs = tool->hash.jobs };
    if (tool->diff)
        return diff_run(&tool->cli, &diff);
    if (tool->grid && !(tool->kernels = kernels_pick(getenv("AMN_CPU"), err)))
        return cli_fail(&tool->cli, err);
    if (tool->grid || tool->metadata || tool->arrays || tool->size)
        return operands_models(&tool->cli, tool->grid ? report_grid : report, tool);
    return operands_adapters(&tool->cli, report, tool);
}

int
main(int argc, char **argv)
{
    struct tool tool = { .to = DTYPE_BF16 };
    struct err err;
    err_init(&err);
    cli_options(&tool.cli, CLI_INSPECT, inspect_take, &tool, argc, argv);
    enum cli_status status;
    if (conflicts_check(&tool.cli, tool.cli.given, &err))
        status = inspect_run(&tool, &err);
    else
        status = cli_fail(&tool.cli, &err);
    naming_clear(&tool.naming);
    return status;
}
