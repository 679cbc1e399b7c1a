#include "command/command_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/progress.h"
#include "model/merge.h"
#include "family/back.h"
#include "hf/config_text.h"
#include "hf/folder.h"
#include "family/hf_model.h"
#include "command/budget.h"
#include "command/imatrix.h"
#include "command/operands.h"
#include "command/report_file.h"
#include "command/transcode.h"
#include "output/outputs.h"
#include "pipeline/survey_first.h"
#include "source/fetch.h"

struct spool_note {
    const struct cli *cli;
    const struct model *model;
};

/* Implements struct meter: announces spooling before it starts, because it can take long. */
static void
note_spool(void *of, uint64_t nbytes)
{
    const struct spool_note *note = of;
    if (nbytes == METER_UNKNOWN)
        cli_note(note->cli, note->model->name, "spooling the input to a temporary file: its table of contents is at the end");
    else
        cli_note(note->cli, note->model->name, "spooling %" PRIu64 " bytes to a temporary file: they are not needed in the "
            "order of the input", nbytes);
}

/* Returns the type that weights are decoded to. GGUF block types are encoded from F32, as in llama.cpp; other schemes from
 * what amn-remember would write, or, with adapters, from F32: the sum is rounded once. */
static enum dtype
elements(const struct command *cmd)
{
    const struct encoder *e = cmd->is_exact ? NULL : cmd->reduction.encoder;
    return e && (e->held == KEEPS_BLOCKS || cmd->adapters.n != 0) && !cmd->cast ? DTYPE_F32 : cmd->to;
}

/* The Hugging Face side of a job, in one of the two directions. */
struct hf_sides {
    struct hf_model model;      /* to GGUF */
    struct back_options options;
    struct back_model back;     /* from GGUF, with --to hf */
    struct adapter_job job;     /* --adapter */
    struct adapters *adapters;  /* owned, or NULL */
    struct hf_config_changes changes;   /* of config.json, by adapters */
};

/* Reads the side files of a model directory for a GGUF file. */
static bool
open_gguf(struct command *cmd, struct hf_sides *sides, struct model *model, struct err *err)
{
    struct hf_model *hf = &sides->model;
    if (cmd->writer != &writer_gguf)
        return true;
    const char *option = command_hf_option(cmd);
    cmd->hf.tokenizer = cmd->dir.tokenizer;
    if (!adapter_check_gguf_target(model->catalog, err) || !hf_model_open(hf, model, &cmd->hf, err))
        return false;
    if (hf->family)
        cmd->keys.own = &hf->keys;
    return hf->family || !option || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--%s has no effect: the input is not a "
        "model directory that is converted by its class", option);
}

/* Opens the Hugging Face side of the model if the output is GGUF, where llama.cpp uses other names and keys, or if the input
 * is. */
static bool
open_hf(struct command *cmd, struct hf_sides *sides, struct model *model, struct err *err)
{
    sides->options = (struct back_options){ .how = &cmd->hf, .cast = cmd->cast, .to = cmd->to };
    cmd->hf.dequantize = cmd->dequantizes || cmd->dequantize;
    if (cmd->to_hf)
        return back_open(&sides->back, model, &sides->options, err) && back_check(&sides->back, model, err);
    return cmd->adapters.n != 0 || open_gguf(cmd, sides, model, err);
}

/* Returns which quantized weights stay as they are. */
static enum keeps
keeps(const struct command *cmd)
{
    bool again = cmd->reduction.encoder || (cmd->is_exact && cmd->needs_scheme);
    bool none = cmd->dequantizes || cmd->dequantize || cmd->cast || again;
    return none || (cmd->adapters.n != 0 && cmd->writer->keeps == KEEPS_CODES) ? KEEPS_NONE : cmd->writer->keeps;
}

/* Applies the adapters, which can change members of config.json and bring a tokenizer. */
static bool
adapt(struct command *cmd, struct choice *choice, struct hf_sides *sides, struct err *err)
{
    if (!adapters_apply(&sides->adapters, &cmd->adapters, &sides->job, choice, err))
        return false;
    const struct adapter_effects effects = adapters_effects(sides->adapters);
    sides->changes = (struct hf_config_changes){ effects.untied, effects.vocabulary };
    cmd->dir.tokenizer = sides->job.model->inputs.local = effects.tokenizer;
    return cmd->to_hf || hf_config_apply(sides->job.model->catalog, &sides->changes, err);
}

/* Chooses the tensors of a directory made from a GGUF file. */
static bool
choose_back(struct command *cmd, struct choice *choice, struct hf_sides *sides, struct model *model, const struct roles *roles,
    struct err *err)
{
    struct texts *texts = &sides->back.texts;
    cmd->dir.texts = texts;
    bool ok = choice_make(choice, model->catalog, roles, KEEPS_NONE, sides->back.element, true, err) && adapt(cmd, choice, sides, err)
        && back_choose(&sides->back, model, choice, err);
    for (size_t i = 0; ok && i < texts->n; i++)
        ok = strcmp(texts->list[i].name, hf_file_name(HF_CONFIG)) != 0 || hf_config_change(&texts->list[i].text, &sides->changes, err);
    return ok && naming_apply(&cmd->naming, choice, err) && command_tell_dequantized(cmd, model->name, choice, err);
}

/* Chooses the output tensors, decoded or copied unchanged, and their names. */
static bool
choose(struct command *cmd, struct choice *choice, struct hf_sides *sides, struct model *model, const struct roles *roles,
    struct err *err)
{
    struct hf_model *hf = &sides->model;
    if (cmd->to_hf)
        return choose_back(cmd, choice, sides, model, roles, err);
    return choice_make_named(choice, model->catalog, roles, keeps(cmd), elements(cmd), cmd->cast, &cmd->naming, err)
        && adapt(cmd, choice, sides, err) && (cmd->adapters.n == 0 || open_gguf(cmd, sides, model, err))
        && hf_model_choose(hf, model, choice, cmd->cast ? cmd->to : DTYPE_UNKNOWN, cmd->reduction.encoder, err)
        && naming_apply(&cmd->naming, choice, err) && (cmd->is_exact || command_tell_dequantized(cmd, model->name, choice, err));
}

/* With adapters and an encoder of safetensors, weights are decoded to F32: gives those that are not encoded the type that they have
 * without an encoder. */
static void
settle_types(const struct command *cmd, struct choice *choice)
{
    if (cmd->adapters.n == 0 || cmd->cast || cmd->reduction.encoder->held == KEEPS_BLOCKS)
        return;
    for (size_t i = 0; i < choice->n; i++) {
        struct chosen *c = &choice->list[i];
        c->dtype = !c->encoding && c->decode ? cmd->to : c->dtype;
    }
}

/* Decides which tensors are quantized, and by which encoder. */
static bool
reduce(struct command *cmd, struct pipeline *p, struct choice *choice, struct err *err)
{
    struct reduction *r = &cmd->reduction;
    struct model *model = p->model;
    const struct encoder **assigned = NULL;
    if (cmd->is_exact)
        return transcode_run(cmd, p, choice, err) && command_tell_dequantized(cmd, model->name, choice, err);
    if (!r->encoder)
        return true;
    r->keeps = cmd->cast ? KEEPS_NONE : cmd->writer->keeps;
    bool ok = (!cmd->imatrix || imatrix_read(&r->importance, cmd->imatrix, &cmd->cli.limits, model->catalog, &model->inputs,
        err)) && (cmd->ncandidates == 0 || budget_assign(&assigned, cmd, p, choice, model->catalog, err));
    r->assigned = assigned;
    r->names = &cmd->naming;
    ok = ok && reduction_apply(r, choice, model->catalog, err);
    if (ok)
        settle_types(cmd, choice);
    ok = ok && survey_first(p, choice, err);
    if (ok && cmd->instead == COMMAND_OUTPUT)
        command_warn_again(cmd, model->name, choice);
    r->assigned = NULL;
    r->names = NULL;
    free(assigned);
    return ok;
}

/* Makes the quantization_config for the config.json of a directory, with warnings about its loaders. */
static bool
tell_loaders(struct hf_quantization *config, struct command *cmd, const struct choice *choice, struct catalog *catalog,
    struct err *err)
{
    if (!cmd->dir.path || choice->encoded == 0)
        return true;
    bool ok = hf_quantization_make(config, choice, cmd->reduction.encoder, catalog, err);
    cmd->dir.quantization = ok && config->text.len != 0 ? config : NULL;
    return ok;
}

/* Says what the directory cannot have, because GGUF does not store it. */
static void
tell_lost(const struct command *cmd, const struct back_model *back, const char *file)
{
    if (!cmd->to_hf || cmd->instead != COMMAND_OUTPUT)
        return;
    struct str of_family = { 0 };
    if (back->lost.len != 0)
        str_format(&of_family, "; written as in family %s: %s", back->family->name, back->lost.p);
    if (!cmd->dir.path)
        cli_say(&cmd->cli, file, "only weights written; -o DIR/ adds config.json and the tokenizer");
    else
        cli_say(&cmd->cli, file,
            "GGUF does not store everything: lost are initializer_range, dropout, auto_map, lists of end tokens, "
            "flags of added tokens, and other post-processors and normalizers%s", of_family.p ? of_family.p : "");
    str_clear(&of_family);
}

static bool
run(struct command *cmd, const struct kernels *kernels, struct err *err)
{
    struct model model = { 0 };
    struct fetch *fetch = cmd->cli.fetch ? fetch_new(cmd->cli.fetch, cmd->cli.fetch_window, err) : NULL;
    const struct model_options how = { .fetch = fetch, .limits = &cmd->cli.limits, .config = cmd->cli.config,
        .root = cmd->cli.root, .strict = cmd->cli.strict, .no_spool = cmd->no_spool,
        .twice = cmd->is_exact && cmd->needs_scheme ? "--exact" : NULL, .no_verify = cmd->no_verify, .meter = &cmd->cli.bar->meter };
    const struct contents contents = operands_contents(&model);
    const struct roles_options reading = operands_reading(&cmd->cli);
    struct spool_note note = { &cmd->cli, &model };
    struct roles *roles = NULL;
    struct choice choice = { 0 };
    struct pipeline p = { .model = &model, .kernels = kernels, .jobs = cmd->jobs, .no_verify = cmd->no_verify,
        .nonfinite_ok = cmd->nonfinite_ok };
    struct keys keys = { 0 };
    struct hf_sides hf = { .job = { &model, kernels, &cmd->cli.limits, elements(cmd), cmd->dir.path != NULL,
        cmd->writer == &writer_gguf } };
    struct hf_quantization config = { 0 };
    struct outputs outputs = { .inputs = &model.inputs };
    cmd->outputs = cmd->dir.outputs = cmd->split.outputs = &outputs;

    cmd->cli.bar->meter.spools = note_spool;
    cmd->cli.bar->meter.of = &note;
    bool ok = err->kind == ERR_NONE && scheme_known(cmd->cli.input_scheme, err)
        && command_check(cmd, err)
        && (cmd->instead != COMMAND_OUTPUT || cmd->dir.path || cmd->split.size != 0 || sink_check(&cmd->output, err))
        && merge_open(&model, cmd->cli.operands, cmd->cli.noperands, &how, err)
        && model_complete(&model, err)
        && command_keys_read(cmd, &model, err)
        && open_hf(cmd, &hf, &model, err)
        && roles_assign(&roles, model.catalog, &reading, &contents, err)
        && choose(cmd, &choice, &hf, &model, roles, err)
        && reduce(cmd, &p, &choice, err)
        && tell_loaders(&config, cmd, &choice, model.catalog, err)
        && command_keys(&keys, cmd, &model, &choice, err);
    cmd->merged = hf.adapters;
    if (ok && cmd->report && choice.encoded != 0)
        adapters_read_again(hf.adapters);
    if (ok) {
        cli_remarks(&cmd->cli, model.name, model.catalog, 0);
        ok = command_write(cmd, &p, &choice, roles, err);
        if (ok)
            command_tell_readers(cmd, &model, &choice, &keys);
        if (ok)
            tell_lost(cmd, &hf.back, model.name);
    }
    if (cmd->exact.witness.len != 0)
        report_file_refuse(cmd, &p);
    if (!ok && err->kind != ERR_USAGE)
        err_in_file(err, model.name ? model.name : "");
    outputs_clear(&outputs);
    keys_clear(&keys);
    hf_quantization_clear(&config);
    cmd->dir.quantization = NULL;
    choice_clear(&choice);
    roles_free(roles);
    hf_model_clear(&hf.model);
    back_clear(&hf.back);
    adapters_free(hf.adapters);
    cmd->merged = NULL;
    cmd->dir.texts = NULL;
    cmd->dir.tokenizer = cmd->hf.tokenizer = NULL;
    model_clear(&model);
    fetch_free(fetch);
    return ok;
}

static void
clear(struct command *cmd)
{
    naming_clear(&cmd->naming);
    reduction_clear(&cmd->reduction);
    keys_given_clear(&cmd->keys);
    adapter_arguments_clear(&cmd->adapters);
}

/* Frees what a failure may still print. */
static enum cli_status
end(struct command *cmd, bool ok, const struct err *err)
{
    enum cli_status status = ok ? CLI_OK : cli_fail(&cmd->cli, err);
    exact_job_clear(&cmd->exact);
    cmd->cli.members = NULL;
    return status;
}

enum cli_status
command_run(struct command *cmd)
{
    struct cli_progress progress;
    struct err err;
    if (cmd->output_dir) {
        enum cli_status status = command_run_each(cmd);
        clear(cmd);
        return status;
    }
    err_init(&err);
    cli_progress_start(&progress, &cmd->cli, true);
    const struct kernels *kernels = kernels_pick(getenv("AMN_CPU"), &err);
    bool ok = kernels && command_settle(cmd, &err) && run(cmd, kernels, &err);
    cli_progress_stop(&progress);
    clear(cmd);
    return end(cmd, ok, &err);
}
