#include "command/command_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/progress.h"
#include "family/back.h"
#include "hf/config_text.h"
#include "hf/folder.h"
#include "hf/unconverted.h"
#include "family/hf_model.h"
#include "family/sources.h"
#include "command/budget.h"
#include "command/imatrix.h"
#include "command/operands.h"
#include "command/report_file.h"
#include "command/transcode.h"
#include "output/outputs.h"
#include "pipeline/encoder.h"
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
 * what amn-remember would write, or, with adapters, from F32: the sum is rounded once. The elements of a Hugging Face model made
 * from a GGUF model have the type of its directory before they are encoded. */
static enum dtype
elements(const struct job *job)
{
    const struct command *cmd = job->cmd;
    const struct encoder *e = NULL;
    if (!job->is_exact && !job->to_hf)
        e = job->reduction.encoder;
    if (e && (e->held == KEEPS_BLOCKS || cmd->adapters.n != 0) && !cmd->cast)
        return DTYPE_F32;
    return cmd->to;
}

bool
command_no_hf(const char *option, struct err *err)
{
    return err_set(err, ERR_USAGE, "--%s has no effect: the input is not a model directory that is converted by its class", option);
}

/* Reads the side files of a model directory for a GGUF file. */
static bool
open_gguf(struct job *job, struct err *err)
{
    const struct command *cmd = job->cmd;
    struct hf_model *hf = &job->to_gguf;
    if (job->writer != &writer_gguf)
        return true;
    const char *option = command_hf_option(cmd);
    job->hf.tokenizer = job->dir.tokenizer;
    if (!command_image_family(job, err))
        return false;
    if (job->image_given || job->image_none)
        return true;
    if (!hf_model_open(hf, &job->model, &job->hf, err) || hf->absent)
        return false;
    if (hf->family)
        job->given.own = &hf->keys;
    return hf->family || !option || command_no_hf(option, err);
}

/* Checks the options that only a GGUF model as input gives a meaning. */
static bool
check_input(const struct job *job, bool gguf, struct err *err)
{
    const struct command *cmd = job->cmd;
    const char *option = command_hf_option(cmd);
    if (!gguf && cmd->cli.given[CLI_OPT_NAMES])
        return err_set(err, ERR_USAGE, "--names requires GGUF input");
    return !option || job->to_hf || job->writer == &writer_gguf || err_set(err, ERR_USAGE, "--%s requires GGUF output, or GGUF input and -o DIR/ or --names hf", option);
}

/* Sets job->to_hf for a GGUF model. A directory of an image model keeps the names, which are those of its checkpoint, and so does a
 * file that declares no architecture, except with --to hf. */
static bool
find_way(struct job *job, struct err *err)
{
    const struct command *cmd = job->cmd;
    struct image_model image = { 0 };
    if (!job->dir.path || cmd->keeps_names)
        return true;
    bool declared = catalog_meta_find(job->model.catalog, "general.architecture") != NULL;
    bool ok = !declared || image_open(&image, job->model.catalog, NULL, &(struct image_options){ 0 }, err);
    job->to_hf = !image.family && (cmd->to_hf || declared);
    if (!job->to_hf && !declared && cmd->instead == COMMAND_OUTPUT)
        cli_say(&cmd->cli, job->model.name, "the file has no general.architecture, so the tensors keep their names");
    image_clear(&image);
    return ok;
}

/* Opens the Hugging Face side of the model: of the output, which a GGUF model becomes in a directory or if the user says so; or of
 * the input if the output is GGUF, where llama.cpp uses other names and keys. */
static bool
open_hf(struct job *job, struct err *err)
{
    const struct command *cmd = job->cmd;
    const char *format = catalog_facts_of(job->model.catalog)->format;
    bool gguf = format && strcmp(format, "GGUF") == 0;
    job->to_hf = cmd->to_hf && !model_has_hf_names(&job->model);
    if (gguf && !find_way(job, err))
        return false;
    job->back_options = (struct back_options){ .how = &job->hf, .cast = cmd->cast, .to = cmd->to };
    job->hf.dequantize = cmd->dequantizes || cmd->dequantize || (job->to_hf && job->reduction.encoder);
    if (!check_input(job, gguf, err))
        return false;
    if (!job->to_hf)
        return cmd->adapters.n != 0 || open_gguf(job, err);
    job->given.own = &job->back.metadata;
    return back_open(&job->back, &job->model, &job->back_options, err) && back_check(&job->back, &job->model, err);
}

/* Returns which quantized weights stay as they are. */
static enum keeps
keeps(const struct job *job)
{
    const struct command *cmd = job->cmd;
    bool again = job->reduction.encoder || (job->is_exact && cmd->needs_scheme);
    bool none = cmd->dequantizes || cmd->dequantize || cmd->cast || again;
    if (none || (cmd->adapters.n != 0 && job->writer->keeps == KEEPS_CODES))
        return KEEPS_NONE;
    return job->writer->keeps;
}

/* Returns true if the globs select what is dequantized or cast; else what is quantized or merged, which is checked there. */
static bool
selects(const struct command *cmd)
{
    return cmd->reduction.which.nglobs != 0 && (cmd->cast || cmd->dequantizes || cmd->dequantize) && cmd->adapters.n == 0;
}

/* Returns the type that most elements of the floats have. */
static enum dtype
most_floats(const struct choice *choice)
{
    uint64_t count[DTYPE_COUNT] = { 0 }, numel;
    enum dtype best = DTYPE_UNKNOWN;
    for (size_t i = 0; i < choice->n; i++) {
        const struct tensor t = chosen_source(&choice->list[i]);
        if (choice->list[i].kept || !dtype_is_float(t.dtype) || !shape_numel(&t.shape, &numel))
            continue;
        count[t.dtype] += numel;
        if (best == DTYPE_UNKNOWN || count[t.dtype] > count[best])
            best = t.dtype;
    }
    return best;
}

/* Returns the type that config.json of a directory declares if the user chose one for all floats or by name; else NULL. */
static const char *
written_type(const struct job *job)
{
    static const char *const words[DTYPE_COUNT] = { [DTYPE_BF16] = "bfloat16", [DTYPE_F16] = "float16", [DTYPE_F32] = "float32" };
    const struct command *cmd = job->cmd;
    bool named = cmd->types.nglobs != 0 || selects(cmd);
    bool chosen = cmd->cast || (cmd->dequantizes && cmd->cli.given[CLI_OPT_TO] && job->choice.decodes);
    if (!job->dir.path || job->to_hf || !(named || chosen))
        return NULL;
    if (!named)
        return words[cmd->to];
    enum dtype type = most_floats(&job->choice);
    return type == DTYPE_UNKNOWN ? NULL : words[type];
}

/* Applies the adapters, which can change members of config.json and bring a tokenizer. */
static bool
adapt(struct job *job, struct err *err)
{
    const struct command *cmd = job->cmd;
    job->adapting = (struct adapter_job){ &job->model, job->p.kernels, &cmd->cli.limits, elements(job), job->dir.path != NULL,
        job->writer == &writer_gguf, &cmd->reduction.which };
    if (!adapters_apply(&job->adapters, &cmd->adapters, &job->adapting, &job->choice, err))
        return false;
    const struct adapter_effects effects = adapters_effects(job->adapters);
    job->changes = (struct hf_config_changes){ effects.untied, effects.vocabulary, written_type(job) };
    job->dir.tokenizer = job->model.inputs.local = effects.tokenizer;
    return job->to_hf || hf_config_apply(job->model.catalog, &job->changes, err);
}

/* Gives the model the config.json that was made for it, as if the directory were the input. */
static bool
take_config(struct job *job, struct err *err)
{
    const struct str *text = &job->back.config_text;
    const struct catalog_config config = { hf_file_name(HF_CONFIG), text->p, text->len };
    job->dir.texts = &job->back.texts;
    return catalog_set_config(job->model.catalog, &config, err) && hf_config_apply(job->model.catalog, &job->changes, err);
}

/* Chooses the tensors of a Hugging Face model made from a GGUF model: dequantized, with the names and shapes that they have there. An
 * encoder then sees them as it would see those of the directory. */
static bool
choose_back(struct job *job, struct err *err)
{
    const struct command *cmd = job->cmd;
    struct model *model = &job->model;
    struct choice *choice = &job->choice;
    return choice_make(choice, model->catalog, job->roles, KEEPS_NONE, job->back.element, true, err) && adapt(job, err)
        && back_choose(&job->back, model, choice, err) && take_config(job, err) && naming_apply(&cmd->naming, choice, err)
        && (job->is_exact || command_tell_dequantized(job, err));
}

static bool
is_quantized(const struct chosen *c)
{
    return c->kept || chosen_is_quantized(c);
}

static bool
is_castable(const struct chosen *c)
{
    return is_quantized(c) || dtype_is_float(c->dtype);
}

/* Gives tensors the types that were chosen for them, and checks the globs that select what is changed. */
static bool
retype(const struct job *job, bool casts, struct choice *choice, struct err *err)
{
    const struct command *cmd = job->cmd;
    const struct naming *which = &cmd->reduction.which;
    if (selects(cmd) && !(naming_check(which, choice, err) && naming_check_effect(which, choice, cmd->cast ? is_castable : is_quantized,
            cmd->cast ? "changes its type" : "is dequantized", err)))
        return false;
    if (casts)
        choice_cast(choice, which, cmd->to);
    return naming_check(&cmd->types, choice, err) && choice_type(choice, &cmd->types, err);
}

/* Warns of tensors that the user left out of a model that is otherwise complete. */
static void
warn_of_dropped(const struct job *job)
{
    const struct command *cmd = job->cmd;
    const struct choice *choice = &job->choice;
    const struct tensor *t = &choice->first_dropped;
    bool gguf = job->writer == &writer_gguf && (job->to_gguf.family || catalog_meta_find(job->model.catalog, "general.architecture"));
    bool dir = job->dir.path && hf_folder_config(job->model.catalog);
    bool head = str_is(t->name, t->name_len, "output.weight");
    char shown[STR_SHOWN], more[48] = "";
    if (choice->dropped == 0 || cmd->naming.only || !(gguf || dir))
        return;
    str_shown(shown, t->name, t->name_len);
    if (choice->dropped > 1)
        snprintf(more, sizeof more, " and %zu other tensor%s", choice->dropped - 1, str_plural(choice->dropped - 1));
    if (gguf && head)
        cli_warn(&cmd->cli, job->model.name, "left out: %s%s; llama.cpp takes token_embd.weight in place of %s", shown, more, shown);
    else
        cli_warn(&cmd->cli, job->model.name, "left out: %s%s; %s", shown, more, gguf ? "llama.cpp cannot load the model without"
            : "config.json declares the whole model, so loaders expect them");
}

/* Fails for a directory without the vision or audio tower that its config.json declares: loaders would make one of random numbers. */
static bool
check_towers(const struct job *job, struct err *err)
{
    const struct catalog *input = job->model.catalog;
    const struct catalog_config *config = hf_folder_config(input);
    char shown[STR_SHOWN];
    bool media = false, kept = false;
    const struct tensor *t = &job->choice.first_dropped;
    if (!job->dir.path || job->choice.dropped == 0 || !config || job->to_gguf.family
            || !(memmem(config->text, config->n, "\"vision_config\"", 15) || memmem(config->text, config->n, "\"audio_config\"", 14)))
        return true;
    for (size_t i = 0; i < catalog_count(input) && !media; i++) {
        const struct tensor *each = catalog_at(input, i);
        family_sources_drops(each->name, each->name_len, &media);
    }
    for (size_t i = 0; i < job->choice.n && !kept; i++) {
        const struct tensor each = chosen_tensor(&job->choice.list[i]);
        family_sources_drops(each.name, each.name_len, &kept);
    }
    return !media || kept || err_set(err, ERR_UNSUPPORTED, ERR_TENSOR "left out with the whole vision or audio tower, which config.json "
        "declares: for the text model, write a GGUF file (amn convert -o FILE.gguf), then amn convert --to hf -o DIR/ FILE.gguf; for "
        "the tensors alone, -o FILE.safetensors", str_shown(shown, t->name, t->name_len));
}

/* Adds the module of a weight, or of a stack of weights without `.weight`, which is named after its parent. */
static bool
add_module(struct names *modules, const struct tensor *t, struct err *err)
{
    size_t n = t->name_len;
    if (str_strip(t->name, &n, ".weight"))
        return names_add(modules, t->name, n, err);
    while (n != 0 && t->name[n - 1] != '.')
        n--;
    return n < 2 || names_add(modules, t->name, n - 1, err);
}

/* Lists the weights that were dequantized in config.json, among which others stay quantized. */
static bool
declare_plain(struct job *job, struct err *err)
{
    const struct command *cmd = job->cmd;
    struct names modules = { 0 };
    bool ok = true, declared = false;
    for (size_t i = 0; ok && i < job->choice.n; i++) {
        const struct chosen *c = &job->choice.list[i];
        const struct tensor t = chosen_tensor(c);
        if (!c->kept && chosen_is_quantized(c))
            ok = add_module(&modules, &t, err);
    }
    names_sort(&modules);
    ok = ok && (modules.n == 0 || hf_unconverted_declare(job->model.catalog, &modules, &declared, err));
    if (ok && modules.n != 0 && !declared)
        cli_warn(&cmd->cli, job->model.name, "config.json still declares that all weights are quantized, so its loaders cannot read those "
            "that were dequantized");
    names_clear(&modules);
    return ok;
}

/* Says how many quantized weights the globs leave as they are. */
static bool
tell_selected(struct job *job, struct err *err)
{
    const struct command *cmd = job->cmd;
    size_t n = 0;
    for (size_t i = 0; i < job->choice.n; i++)
        n += job->choice.list[i].kept && job->choice.list[i].copy == job->choice.list[i].kept->part[0];
    if (n == 0 || !selects(cmd) || cmd->instead != COMMAND_OUTPUT)
        return true;
    cli_say(&cmd->cli, job->model.name, "%zu quantized weight%s written as stored, because of --%s", n, str_plural(n),
        cmd->cli.given[CLI_OPT_INCLUDE] ? "include; --only GLOB writes fewer tensors" : "exclude; --drop GLOB leaves tensors out");
    return !job->dir.path || declare_plain(job, err);
}

/* Chooses the output tensors, decoded or copied unchanged, and their names. */
static bool
command_choose(struct job *job, struct err *err)
{
    const struct command *cmd = job->cmd;
    struct model *model = &job->model;
    struct choice *choice = &job->choice;
    if (job->to_hf)
        return choose_back(job, err);
    const struct naming *which = selects(cmd) ? &cmd->reduction.which : NULL;
    const bool family = cmd->adapters.n == 0 && job->to_gguf.family, casts = family && which && cmd->cast;
    const struct choice_how how = { .keeps = keeps(job), .others = job->writer->keeps, .to = elements(job), .all = cmd->cast && !casts,
        .written = family ? NULL : &cmd->naming, .selected = which, .types = &cmd->types };
    bool ok = choice_make_of(choice, model->catalog, job->roles, &how, err)
        && adapt(job, err) && (cmd->adapters.n == 0 || open_gguf(job, err))
        && hf_model_choose(&job->to_gguf, model, choice, cmd->cast && !casts ? cmd->to : DTYPE_UNKNOWN, job->reduction.encoder, err)
        && retype(job, casts, choice, err)
        && naming_apply(&cmd->naming, choice, err) && command_image_choose(job, err)
        && (job->is_exact || command_tell_dequantized(job, err));
    ok = ok && check_towers(job, err);
    if (ok && cmd->instead == COMMAND_OUTPUT)
        warn_of_dropped(job);
    return ok && tell_selected(job, err);
}

/* With adapters and an encoder of safetensors, weights are decoded to F32: gives those that are not encoded the type that they have
 * without an encoder. */
static void
settle_types(struct job *job)
{
    const struct command *cmd = job->cmd;
    struct choice *choice = &job->choice;
    if (job->to_hf || cmd->adapters.n == 0 || cmd->cast || job->reduction.encoder->held == KEEPS_BLOCKS)
        return;
    for (size_t i = 0; i < choice->n; i++) {
        struct chosen *c = &choice->list[i];
        if (!c->encoding && c->decode)
            c->dtype = cmd->to;
    }
}

/* Decides which tensors are quantized, and by which encoder. */
static bool
reduce(struct job *job, struct err *err)
{
    const struct command *cmd = job->cmd;
    struct reduction *r = &job->reduction;
    struct model *model = &job->model;
    struct choice *choice = &job->choice;
    const struct encoder **assigned = NULL;
    if (job->is_exact && !(job->image.family && !cmd->needs_scheme))
        return transcode_run(job, err) && command_tell_dequantized(job, err);
    if (!r->encoder)
        return true;
    if (cmd->cast)
        r->keeps = KEEPS_NONE;
    else
        r->keeps = job->writer->keeps;
    bool ok = (!cmd->imatrix || imatrix_read(&r->importance, cmd->imatrix, &cmd->cli.limits, model->catalog, &model->inputs,
        err)) && (job->ncandidates == 0 || budget_assign(&assigned, job, err));
    r->assigned = assigned;
    r->names = &cmd->naming;
    ok = ok && reduction_apply(r, choice, model->catalog, err);
    if (ok)
        settle_types(job);
    ok = ok && survey_first(&job->p, choice, err);
    if (ok && cmd->instead == COMMAND_OUTPUT)
        command_warn_again(job);
    if (ok && cmd->instead == COMMAND_OUTPUT)
        command_warn_of_mix(cmd, model->name, choice);
    r->assigned = NULL;
    free(assigned);
    return ok;
}

/* Makes the quantization_config for the config.json of a directory, with warnings about its loaders. */
static bool
tell_loaders(struct job *job, struct err *err)
{
    struct hf_quantization *config = &job->quantization;
    if (!job->dir.path || job->choice.encoded == 0)
        return true;
    bool ok = hf_quantization_make(config, &job->choice, job->reduction.encoder, job->model.catalog, err);
    if (ok && (config->text.len != 0 || config->file))
        job->dir.quantization = config;
    else
        job->dir.quantization = NULL;
    return ok;
}

/* Says what the directory cannot have, because GGUF does not store it. */
static void
tell_lost(const struct job *job)
{
    const struct command *cmd = job->cmd;
    const struct back_model *back = &job->back;
    struct str of_family = { 0 };
    if (!job->to_hf || cmd->instead != COMMAND_OUTPUT)
        return;
    if (back->lost.len != 0)
        str_format(&of_family, "; written as in family %s: %s", back->family->name, back->lost.p);
    if (!job->dir.path)
        cli_say(&cmd->cli, job->model.name, "only weights written; -o DIR/ adds config.json and the tokenizer");
    else
        cli_say(&cmd->cli, job->model.name,
            "GGUF does not store everything: lost are initializer_range, dropout, auto_map, lists of end tokens, "
            "flags of added tokens, and other post-processors and normalizers%s", str_or(of_family.p, ""));
    str_clear(&of_family);
}

/* Opens the model and decides what is written. */
static bool
decide(struct job *job, struct fetch *fetch, struct err *err)
{
    const struct command *cmd = job->cmd;
    const struct cli *cli = &cmd->cli;
    const struct model_options how = { .fetch = fetch, .limits = &cli->limits, .config = cli->config, .root = cli->root, .hf = cmd->to_hf,
        .state = cli->state, .allowed = cli->allow_global, .nallowed = cli->nallow_global,
        .strict = cli->strict, .no_spool = cmd->no_spool, .twice = job->is_exact && cmd->needs_scheme ? "--exact" : NULL,
        .no_verify = cmd->no_verify, .meter = &cli->bar->meter };
    const struct contents contents = operands_contents(&job->model);
    const struct roles_options reading = operands_reading(cli);
    return scheme_known(cli->input_scheme, err)
        && command_check(job, err)
        && (cmd->instead != COMMAND_OUTPUT || job->dir.path || job->split.size != 0 || sink_check(&job->output, err))
        && command_open(job, &how, err)
        && command_keys_read(job, err)
        && (job->recasting.to != RECAST_NONE ? command_recast(job, err)
            : open_hf(job, err)
                && roles_assign(&job->roles, job->model.catalog, &reading, &contents, err)
                && command_choose(job, err)
                && reduce(job, err)
                && naming_check_steps(&cmd->naming, &job->choice, err)
                && tell_loaders(job, err))
        && command_keys(job, err);
}

/* Writes the output, and says what is missing in it. */
static bool
make_output(struct job *job, struct err *err)
{
    if (job->cmd->report && job->choice.encoded != 0)
        adapters_read_again(job->adapters);
    cli_remarks(&job->cmd->cli, job->model.name, job->model.catalog, 0);
    if (!command_write(job, err))
        return false;
    command_tell_readers(job);
    tell_lost(job);
    return true;
}

static bool
run(struct job *job, struct err *err)
{
    const struct cli *cli = &job->cmd->cli;
    struct spool_note note = { cli, &job->model };
    struct fetch *fetch;
    bool ok = operands_fetch(&fetch, cli, err);
    cli->bar->meter.spools = note_spool;
    cli->bar->meter.of = &note;
    ok = ok && decide(job, fetch, err) && make_output(job, err);
    ok = ok || job->to_gguf.absent;
    if (job->exact.witness.len != 0)
        report_file_refuse(job);
    if (!ok && err->kind != ERR_USAGE)
        err_in_file(err, str_or(job->model.name, ""));
    outputs_clear(&job->outputs);
    keys_clear(&job->keys);
    keys_clear(&job->imatrix);
    free(job->uniform);
    hf_quantization_clear(&job->quantization);
    choice_clear(&job->choice);
    roles_free(job->roles);
    hf_model_clear(&job->to_gguf);
    image_clear(&job->image);
    family_free(job->image_given);
    back_clear(&job->back);
    adapters_free(job->adapters);
    recast_clear(&job->recast);
    catalog_free(job->nothing);
    free(job->adapter_file);
    adapter_arguments_clear(&job->recast_from);
    model_clear(&job->model);
    fetch_free(fetch);
    return ok;
}

/* Begins a job with what the user said. command_settle() then decides from it. */
static void
command_begin(struct job *job, const struct command *cmd, const struct kernels *kernels)
{
    *job = (struct job){ .cmd = cmd, .writer = cmd->format, .scheme = cmd->scheme, .is_exact = cmd->is_exact,
        .output = cmd->output, .reduction = cmd->reduction, .exact = cmd->exact, .hf = cmd->hf, .given = cmd->keys,
        .layout = cmd->layout };
    job->p = (struct pipeline){ .model = &job->model, .kernels = kernels, .encode = &encoder, .jobs = cmd->jobs,
        .no_verify = cmd->no_verify, .nonfinite_ok = cmd->nonfinite_ok };
    job->outputs.inputs = &job->model.inputs;
}

static void
clear(struct command *cmd)
{
    naming_clear(&cmd->naming);
    naming_clear(&cmd->types);
    reduction_clear(&cmd->reduction);
    keys_given_clear(&cmd->keys);
    adapter_arguments_clear(&cmd->adapters);
}

/* Prints a failure, with the witness of a weight that was refused. */
static enum cli_status
end(struct command *cmd, struct job *job, bool ok, const struct err *err)
{
    const struct str *witness = &job->exact.witness;
    if (witness->len != 0 && !witness->failed)
        cmd->cli.members = witness->p;
    else
        cmd->cli.members = NULL;
    enum cli_status status = CLI_OK;
    if (!ok)
        status = cli_fail(&cmd->cli, err);
    cmd->cli.members = NULL;
    exact_job_clear(&job->exact);
    reduction_end(&job->reduction);
    return status;
}

enum cli_status
command_run(struct command *cmd)
{
    struct cli_progress progress;
    struct err err;
    if (cmd->output_dir || command_is_pair(cmd)) {
        enum cli_status status = command_run_each(cmd);
        clear(cmd);
        return status;
    }
    err_init(&err);
    struct job *job = malloc(sizeof *job);          /* too large for the stack */
    if (!job) {
        err_memory(&err, sizeof *job);
        clear(cmd);
        return cli_fail(&cmd->cli, &err);
    }
    cli_progress_start(&progress, &cmd->cli, true);
    const struct kernels *kernels = kernels_pick(getenv("AMN_CPU"), &err);
    command_begin(job, cmd, kernels);
    bool ok = kernels && command_settle(job, &err) && run(job, &err);
    cli_progress_stop(&progress);
    clear(cmd);
    enum cli_status status = end(cmd, job, ok, &err);
    free(job);
    return status;
}
