/* amn-remember: a quantized model in, the same model in BF16, F16 or F32 safetensors out. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/progress.h"
#include "cli/remarks.h"
#include "container/model.h"
#include "options.h"
#include "pipeline/audit.h"
#include "pipeline/checksum.h"
#include "pipeline/pipeline.h"
#include "pipeline/scan.h"
#include "report/outline.h"

/* --- instead of the output */

static bool
print_number(uint64_t n)
{
    printf("%" PRIu64 "\n", n);
    return true;
}

static bool
print_plan(const struct pipeline *p, struct err *err)
{
    const char **files = model_files(p->model, err);
    if (!files)
        return false;
    const struct outline in = { .pieces = p->pieces, .files = files, .from = p->from, .to = p->to };
    bool ok = outline_json(stdout, &in, err);
    free(files);
    return ok;
}

static bool
print_instead(const struct options *opt, const struct pipeline *p, struct err *err)
{
    bool ok = model_spares_stdout(p->model, err);
    cli_progress_no_bar(opt->cli.bar);
    meter_phase(p->model->meter, "writing", 0);
    if (opt->instead == INSTEAD_PLAN)
        ok = ok && print_plan(p, err);
    else if (opt->instead == INSTEAD_SIZE)
        ok = ok && print_number(p->to - p->from);
    else
        ok = ok && print_number(cut_parts(&opt->cut, pieces_nbytes(p->pieces)));
    return ok && cli_finish_stdout(err);
}

/* --- the output */

/* What is seen of it while it is made: under -v its checksum, for a test what is NaN or infinite in it. */
struct seen {
    struct checksum sum;
    struct scan scan;
    struct hook hooks[2];
    size_t nhooks;
};

static bool
see(struct seen *seen, const struct options *opt, const struct pipeline *p, struct err *err)
{
    *seen = (struct seen){ .sum.kernels = p->kernels };
    if (opt->cli.verbose != 0)
        seen->hooks[seen->nhooks++] = checksum_hook(&seen->sum);
    if (opt->instead != INSTEAD_TEST)
        return true;
    seen->hooks[seen->nhooks++] = scan_hook(&seen->scan);
    return scan_init(&seen->scan, p->pieces, err);
}

/* The tensors that have NaN or infinite values: without -v no more lines than one wants to read. */
static void
warn_of_values(const struct cli *cli, const struct pipeline *p, const struct scan *scan)
{
    enum { LINES = 5 };
    struct nonfinite all = { 0 };
    size_t tensors = 0;
    for (size_t i = 0; i < pieces_count(p->pieces); i++) {
        struct nonfinite found = scan_found(scan, i);
        struct tensor t;
        char name[STR_SHOWN];
        if (found.nan + found.infinite == 0 || !piece_output(&t, pieces_at(p->pieces, i)))
            continue;
        if (tensors++ < LINES || cli->verbose != 0)
            cli_warn(cli, p->model->name, ERR_TENSOR "%" PRIu64 " values are NaN, %" PRIu64 " infinite",
                str_shown(name, t.name, t.name_len), found.nan, found.infinite);
        all.nan += found.nan;
        all.infinite += found.infinite;
    }
    if (tensors > 1)
        cli_warn(cli, p->model->name, "%" PRIu64 " values of %zu tensors are NaN, %" PRIu64 " infinite%s", all.nan, tensors,
            all.infinite, tensors > LINES && cli->verbose == 0 ? "; -v names all tensors" : "");
}

static void
warn_of_f16(const struct cli *cli, const struct pipeline *p)
{
    if (p->infinite != 0)
        cli_warn(cli, p->model->name, "%" PRIu64 " values are infinite in F16, whose largest is 65504", p->infinite);
}

/* Values beyond F16, and odd scales (these only when asked). The output is complete, so nothing here is a failure. */
static void
remark_on_values(const struct cli *cli, const struct pipeline *p, const struct roles *roles)
{
    const char *name = p->model->name;
    struct nonfinite scales = { 0 };
    struct err err;
    err_init(&err);
    warn_of_f16(cli, p);
    if (cli->verbose == 0 || p->to != pieces_nbytes(p->pieces))
        return;
    meter_phase(p->model->meter, "looking at the scales", 0);
    if (!audit_scales(&scales, p->model, roles, &err))
        cli_note(cli, name, "the scales could not be counted: %s", err.text);
    else if (scales.nan + scales.infinite != 0)
        cli_note(cli, name, "%" PRIu64 " scales are NaN, %" PRIu64 " infinite: decoded as they are", scales.nan,
            scales.infinite);
}

/* The tensors of which the range has bytes, or that are decoded for it. */
static size_t
count_tensors(const struct pipeline *p, bool decoded)
{
    size_t n = 0;
    for (size_t i = 0; i < pieces_count(p->pieces); i++) {
        const struct piece *piece = pieces_at(p->pieces, i);
        struct tensor t;
        n += piece->at < p->to && p->from < piece->at + piece->nbytes && piece_output(&t, piece)
            && (!decoded || piece->kind == PIECE_DECODE);
    }
    return n;
}

/* The last line. */
static void
note_end(const struct options *opt, const struct pipeline *p, const struct checksum *sum)
{
    uint64_t all = pieces_nbytes(p->pieces), n = p->to - p->from;
    double seconds = meter_read(p->model->meter).age, per_second = seconds > 0 ? (double)n / seconds : 0;
    char of_all[48] = "", size[STR_SIZE], rate[STR_SIZE];
    if (n != all)
        snprintf(of_all, sizeof of_all, " of %" PRIu64, all);
    cli_note(&opt->cli, p->model->name, "%s%zu of %zu tensors decoded, %" PRIu64 "%s bytes (%s) %s in %.*f s, %s/s, CRC-32 "
        "%08" PRIx32, n != all ? "a part: " : "", count_tensors(p, true), count_tensors(p, false), n, of_all,
        str_size(size, n), opt->instead == INSTEAD_TEST ? "tested" : "written", seconds < 1 ? 3 : 1, seconds,
        str_size(rate, (uint64_t)per_second), sum->crc);
}

/* Write the output, or the part of it that is wanted; a test makes it and keeps nothing. */
static bool
write_output(const struct options *opt, struct pipeline *p, const struct roles *roles, struct err *err)
{
    bool test = opt->instead == INSTEAD_TEST;
    struct seen seen;
    bool ok = see(&seen, opt, p, err);
    p->hooks = seen.hooks;
    p->nhooks = seen.nhooks;
    meter_phase(p->model->meter, "opening the output", 0);
    ok = ok && (test ? sink_nowhere(&p->sink, err) : sink_open(&p->sink, &opt->output, err))
        && pipeline_run(p, err);
    meter_phase(p->model->meter, "completing the output", 0);
    ok = ok && sink_commit(p->sink, err);
    sink_close(p->sink);
    if (ok) {
        if (test)
            warn_of_values(&opt->cli, p, &seen.scan);
        remark_on_values(&opt->cli, p, roles);
        note_end(opt, p, &seen.sum);
    }
    scan_clear(&seen.scan);
    return ok;
}

struct spool_note {
    const struct cli *cli;
    const struct model *model;
};

/* struct meter: said before it is done, for it can take long. */
static void
note_spool(void *of, uint64_t nbytes)
{
    const struct spool_note *job = of;
    if (nbytes == METER_UNKNOWN)
        cli_note(job->cli, job->model->name, "the input goes to a temporary file: what it holds is listed at its end");
    else
        cli_note(job->cli, job->model->name, "%" PRIu64 " bytes go to a temporary file: the input cannot be read once, "
            "forward", nbytes);
}

/* struct contents: the bytes of a small tensor that says what a weight is. */
static bool
read_tensor(void *model, const struct tensor *t, void *buf, struct err *err)
{
    return model_read(model, t, buf, err);
}

/* One file, or standard output; or what is wanted instead. */
static bool
write_file(const struct options *opt, struct pipeline *p, struct choice *choice, const struct roles *roles, struct err *err)
{
    bool prints = opt->instead != INSTEAD_NOTHING && opt->instead != INSTEAD_TEST;
    struct pieces *pieces = pieces_new(err);
    p->pieces = pieces;
    bool ok = pieces && writer_safetensors.lay_out(pieces, choice, &opt->writer, err)
        && cut_find(&opt->cut, pieces_nbytes(pieces), PIPELINE_BLOCK, &p->from, &p->to, err)
        && (prints ? print_instead(opt, p, err) : write_output(opt, p, roles, err));
    pieces_free(pieces);
    return ok;
}

/* A directory of files. */
static bool
write_directory(const struct options *opt, struct pipeline *p, struct choice *choice, struct err *err)
{
    struct model_dir dir = opt->dir;
    dir.release = CLI_VERSION;
    char shown[STR_SHOWN], size[STR_SIZE];
    if (!model_dir_write(&dir, p, choice, &opt->writer, err))
        return false;
    warn_of_f16(&opt->cli, p);
    cli_note(&opt->cli, p->model->name, "%" PRIu64 " bytes (%s) of weights written to %s in %.1f s; files that were "
        "finished before: %zu", dir.nbytes, str_size(size, dir.nbytes), str_shown(shown, dir.path, strlen(dir.path)),
        meter_read(p->model->meter).age, dir.kept);
    return true;
}

static bool
remember(const struct options *opt, const struct kernels *kernels, struct err *err)
{
    struct model model = { 0 };
    const struct model_options how = { .limits = &opt->cli.limits, .config = opt->cli.config,
        .root = opt->cli.root, .no_spool = opt->no_spool, .no_verify = opt->no_verify, .meter = &opt->cli.bar->meter };
    const struct contents contents = { read_tensor, &model };
    struct spool_note note = { &opt->cli, &model };
    struct roles *roles = NULL;
    struct choice choice = { 0 };

    opt->cli.bar->meter.spools = note_spool;
    opt->cli.bar->meter.of = &note;
    bool ok = scheme_known(opt->cli.scheme, err)
        && options_check(opt, err)
        && (opt->instead != INSTEAD_NOTHING || opt->dir.path || sink_check(&opt->output, err))
        && model_open(&model, opt->cli.operand, &how, err)
        && model_complete(&model, err)
        && roles_assign(&roles, model.catalog, opt->cli.scheme, &contents, err)
        && choice_make(&choice, model.catalog, roles, opt->to, err);
    if (ok) {
        struct pipeline p = { .model = &model, .kernels = kernels, .jobs = opt->jobs, .no_verify = opt->no_verify };
        cli_remarks(&opt->cli, model.name, model.catalog);
        ok = opt->dir.path ? write_directory(opt, &p, &choice, err) : write_file(opt, &p, &choice, roles, err);
    }
    if (!ok && err->kind != ERR_USAGE)
        err_in_file(err, model.name ? model.name : "");
    choice_clear(&choice);
    roles_free(roles);
    model_clear(&model);
    return ok;
}

int
main(int argc, char **argv)
{
    struct options opt;
    struct cli_progress progress;
    struct err err;
    cli_start("amn-remember");
    err_init(&err);
    options_parse(&opt, argc, argv);
    cli_progress_start(&progress, &opt.cli, true);
    const struct kernels *kernels = kernels_pick(getenv("AMN_CPU"), &err);
    bool ok = kernels && remember(&opt, kernels, &err);
    cli_progress_stop(&progress);
    return ok ? 0 : cli_fail(&opt.cli, &err);
}
