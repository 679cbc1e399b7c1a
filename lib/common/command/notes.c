#include "command/command_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/audit.h"

/* Warns of tensors with NaN or infinite values: the first few, or all with -v, and then the totals. */
void
command_warn_of_values(const struct cli *cli, const struct pipeline *p, const struct nonfinite_scan *scan)
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
            cli_warn(cli, p->model->name, ERR_TENSOR "%" PRIu64 " NaN and %" PRIu64 " infinite values",
                str_shown(name, t.name, t.name_len), found.nan, found.infinite);
        all.nan += found.nan;
        all.infinite += found.infinite;
    }
    if (tensors > 1)
        cli_warn(cli, p->model->name, "%" PRIu64 " NaN and %" PRIu64 " infinite values in %zu tensors%s", all.nan, all.infinite,
            tensors, tensors > LINES && cli->verbose == 0 ? "; -v lists them all" : "");
}

void
command_warn_of_range(const struct command *cmd, const struct pipeline *p)
{
    char name[STR_SHOWN];
    if (p->changed.n != 0)
        cli_warn(&cmd->cli, p->model->name, "%" PRIu64 " values of merged weights are NaN or infinite, the first in %s", p->changed.n,
            str_shown(name, p->changed.first->name, p->changed.first->name_len));
    if (p->infinite != 0)
        cli_warn(&cmd->cli, p->model->name, "%" PRIu64 " values overflow %s%s and became infinite", p->infinite, dtype_name(cmd->to),
            cmd->to == DTYPE_F16 ? " (maximum 65504)" : "");
}

void
command_note_scales(const struct cli *cli, const struct pipeline *p, const struct roles *roles)
{
    const char *name = p->model->name;
    struct nonfinite scales = { 0 };
    struct err err;
    err_init(&err);
    if (cli->verbose == 0 || p->to != pieces_nbytes(p->pieces))
        return;
    meter_phase(p->model->meter, "checking the scales", 0);
    if (!audit_scales(&scales, p->model, roles, &err))
        cli_note(cli, name, "cannot check the scales: %s", err.text);
    else if (scales.nan + scales.infinite != 0)
        cli_note(cli, name, "%" PRIu64 " NaN and %" PRIu64 " infinite scales, used as stored", scales.nan,
            scales.infinite);
}

/* The quantized weights that are dequantized: their number, the first of them, and the names of their schemes. */
struct dequantized {
    size_t n;
    const struct weight *first;
    const char *kind[3];
    size_t nkinds;
    bool more;                          /* kinds than these */
};

enum { KINDS = 128 };                   /* length of their names */

static const char *
kind_of(const struct weight *w)
{
    enum dtype dtype = w->part[0]->dtype;
    if (dtype >= DTYPE_SCALARS)
        return dtype_name(dtype);
    return w->scheme->name;
}

static void
add_weight(struct dequantized *d, const struct weight *w)
{
    size_t k = 0;
    if (!w)
        return;
    if (d->n++ == 0)
        d->first = w;
    while (k < d->nkinds && strcmp(d->kind[k], kind_of(w)) != 0)
        k++;
    if (k == sizeof d->kind / sizeof *d->kind)
        d->more = true;
    else if (k == d->nkinds)
        d->kind[d->nkinds++] = kind_of(w);
}

/* Finds those that are quantized again, or those that are not. */
static struct dequantized
find_dequantized(const struct choice *choice, bool again)
{
    struct dequantized d = { 0 };
    for (size_t i = 0; i < choice->n; i++) {
        const struct chosen *c = &choice->list[i];
        if (again ? !chosen_weight(c) : c->encoding || c->typed)
            continue;
        add_weight(&d, c->decode);
        for (size_t k = 0; c->composed && k < c->composed->n; k++)
            add_weight(&d, c->composed->part[k].decode);
    }
    return d;
}

/* Writes the schemes, separated by commas. */
static const char *
kinds(char out[KINDS], const struct dequantized *d)
{
    int n = 0;
    for (size_t i = 0; i < d->nkinds && n < KINDS; i++)
        n += snprintf(out + n, KINDS - (size_t)n, "%s%s", i == 0 ? "" : ", ", d->kind[i]);
    if (d->more && n < KINDS)
        snprintf(out + n, KINDS - (size_t)n, ", ...");
    return out;
}

void
command_warn_again(const struct job *job)
{
    const struct command *cmd = job->cmd;
    const struct choice *choice = &job->choice;
    const char *file = job->model.name;
    const struct dequantized again = find_dequantized(choice, true), plain = find_dequantized(choice, false);
    char text[KINDS];
    if (again.n != 0)
        cli_warn(&cmd->cli, file, "source is already quantized (%s): errors add up", kinds(text, &again));
    if (plain.n != 0 && !cmd->cast)
        cli_say(&cmd->cli, file, "%zu quantized weight%s (%s) dequantized: %s cannot hold %s", plain.n, str_plural(plain.n),
            kinds(text, &plain), job->writer->name, plain.n == 1 ? "it" : "them");
}

void
command_warn_of_mix(const struct command *cmd, const char *file, const struct choice *choice)
{
    const struct mix *mix = choice->mix;
    bool used = !mix || !mix->only || choice->encoded == 0;
    for (size_t i = 0; i < choice->n && !used; i++)
        used = chosen_weight(&choice->list[i]) && chosen_tensor(&choice->list[i]).dtype == mix->type;
    if (!used)
        cli_warn(&cmd->cli, file, "%s writes %s as %s, and the model has none: no weight is %s", mix->name, mix->only,
            dtype_name(mix->type), dtype_name(mix->type));
}

/* Says that NumPy alone cannot read BF16. */
static void
say_numpy(const struct job *job)
{
    const struct choice *choice = &job->choice;
    size_t n = 0;
    for (size_t i = 0; i < choice->n; i++)
        n += choice->list[i].dtype == DTYPE_BF16;
    if (n != 0 && (job->writer == &writer_npz || job->writer == &writer_npy))
        cli_say(&job->cmd->cli, job->model.name, "%zu tensor%s of type BF16, which NumPy reads as |V2 without ml_dtypes; "
            "--dtype f32 writes floats", n, str_plural(n));
}

/* Says that a checkpoint holds more than the model, and how to leave it out. */
static void
say_checkpoint(const struct command *cmd, const char *file, const struct choice *choice)
{
    static const char *const roots[] = { "state_dict", "model_state_dict", "model", "module" };
    const char *root = NULL;
    bool optimizer = false;
    for (size_t i = 0; i < choice->n; i++) {
        const struct tensor t = chosen_source(&choice->list[i]);
        optimizer = optimizer || (t.name_len > 5 && str_begins(t.name, "optim"));
        for (size_t r = 0; r < sizeof roots / sizeof *roots; r++) {
            size_t n = strlen(roots[r]);
            if (t.name_len > n && memcmp(t.name, roots[r], n) == 0 && t.name[n] == '.')
                root = root ? root : roots[r];
        }
    }
    if (optimizer && root && !cmd->cli.root)
        cli_say(&cmd->cli, file, "the checkpoint holds optimizer state, too; --root %s reads only the model", root);
}

/* Returns true if a model has a convolution of images, as vision towers and image models do. */
static bool
has_images(const struct catalog *c)
{
    bool has = false;
    for (size_t i = 0; i < catalog_count(c) && !has; i++)
        has = catalog_at(c, i)->shape.rank >= 4;
    return has;
}

/* Warns that llama.cpp needs more than the tensors of a file. */
static void
warn_of_architecture(const struct job *job)
{
    const struct cli *cli = &job->cmd->cli;
    const struct model *model = &job->model;
    const char *format = catalog_facts_of(model->catalog)->format;
    if (job->writer->keys != KEYS_TYPED || keys_find(&job->keys, "general.architecture"))
        return;
    if (format && strcmp(format, "GGUF") == 0)
        cli_note(cli, model->name, "llama.cpp cannot run the output, which has no general.architecture key; add keys with "
            "--gguf-kv or --gguf-metadata");
    else if (model->folder)
        cli_warn(cli, model->name, "llama.cpp cannot run the output, which has no general.architecture key: the directory has "
            "no config.json, which gives it; copy that of the model into the directory, or name it with --config FILE");
    else
        cli_warn(cli, model->name, "llama.cpp cannot run the output, which has no general.architecture key; give the model "
            "directory instead of a file, or add keys with --gguf-kv%s", has_images(model->catalog) ? "; for an image model, "
            "--family FILE names a family of kind image, which amn help family shows" : "");
}

void
command_tell_readers(const struct job *job)
{
    if (job->cmd->instead != COMMAND_OUTPUT)
        return;
    warn_of_architecture(job);
    say_numpy(job);
    say_checkpoint(job->cmd, job->model.name, &job->choice);
}

/* Says that a single file does not carry the config that describes the weights it keeps. */
static void
say_config_stays(const struct job *job)
{
    const struct choice *choice = &job->choice;
    bool codes = false;
    for (size_t i = 0; i < choice->n; i++)
        codes = codes || (choice->list[i].kept && job->writer->keeps == KEEPS_CODES);
    for (size_t i = 0; codes && !job->dir.path && i < catalog_config_count(choice->input); i++) {
        const struct catalog_config *config = catalog_config_at(choice->input, i);
        if (strcmp(config->name, "config.json") == 0 && !memmem(config->text, config->n, "quantization_config", 19))
            continue;
        cli_say(&job->cmd->cli, job->model.name, "%s describes the quantized weights and is not part of the output; "
            "-o DIR/ copies it",
            config->name);
        return;
    }
}

bool
command_tell_dequantized(const struct job *job, struct err *err)
{
    const struct command *cmd = job->cmd;
    const struct choice *choice = &job->choice;
    const char *file = job->model.name;
    char shown[STR_SHOWN], why[96], text[KINDS];
    if (cmd->dequantizes && cmd->cli.given[CLI_OPT_TO] && !cmd->cast && !choice->decodes && cmd->instead == COMMAND_OUTPUT)
        cli_say(&cmd->cli, file, "no weight is quantized, so nothing became %s; amn convert --dtype converts all floats",
            dtype_name(cmd->to));
    if (cmd->dequantizes || cmd->dequantize || cmd->cast || job->scheme)
        return true;
    const struct dequantized d = find_dequantized(choice, false);
    if (cmd->instead == COMMAND_OUTPUT)
        say_config_stays(job);
    if (d.n == 0)
        return true;
    bool reversed = d.first->part[0]->big_endian && job->writer->keeps == KEEPS_BLOCKS;
    snprintf(why, sizeof why, "%s cannot hold %s", job->writer->name, reversed ? "big-endian blocks" : "them");
    if (cmd->adapters.n != 0 && (job->writer->keeps == KEEPS_CODES || d.first->delta))
        snprintf(why, sizeof why, "%s", job->writer->keeps == KEEPS_CODES ? "the adapter changes some of them" : "the adapter changes them");
    if (cmd->keep_quantized)
        return err_at(err, ERR_UNSUPPORTED, d.first->part[0]->extent.at, ERR_TENSOR "quantized as %s: %s; without "
            "--keep-quantized it is dequantized", str_shown(shown, d.first->name, d.first->name_len), kind_of(d.first), why);
    if (cmd->instead == COMMAND_OUTPUT || cmd->instead == COMMAND_DRY_RUN)
        cli_say(&cmd->cli, file, "%zu quantized weight%s (%s) dequantized to %s: %s", d.n, str_plural(d.n), kinds(text, &d),
            dtype_name(cmd->to), why);
    return true;
}

/* Counts the tensors with bytes in the range: all of them, or one kind of piece. */
static size_t
count_tensors(const struct pipeline *p, bool all, enum piece_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < pieces_count(p->pieces); i++) {
        const struct piece *piece = pieces_at(p->pieces, i);
        struct tensor t;
        n += piece->at < p->to && p->from < piece->at + piece->nbytes && piece_output(&t, piece)
            && (all || piece->kind == kind);
    }
    return n;
}

/* With -v, the notes say more; the quantization error is another line. Silent in a pipeline. */
void
command_tell_end(const struct job *job, uint64_t nbytes, const char *where)
{
    const struct command *cmd = job->cmd;
    const struct choice *choice = &job->choice;
    char size[STR_SIZE], shown[STR_SHOWN], done[64] = "";
    double seconds = meter_read(job->model.meter).age;
    size_t decoded = 0;
    if (!where || cmd->cli.verbose != 0 || !(cmd->one_of_several || cli_is_watched(&cmd->cli)))
        return;
    for (size_t i = 0; i < choice->n; i++)
        decoded += choice->list[i].decode && !choice->list[i].kept && !choice->list[i].encoding;
    if (choice->encoded == 0 && decoded != 0)
        snprintf(done, sizeof done, "%zu weight%s dequantized, ", decoded, str_plural(decoded));
    cli_say(&cmd->cli, job->model.name, "%s%s written to %s in %.1f s", done, str_size(size, nbytes),
        str_shown(shown, where, strlen(where)), seconds);
}

void
command_note_end(const struct command *cmd, const struct pipeline *p, const struct checksum *sum)
{
    uint64_t all = pieces_nbytes(p->pieces), n = p->to - p->from;
    double seconds = meter_read(p->model->meter).age, per_second = seconds > 0 ? (double)n / seconds : 0;
    const char *done = "written";
    if (cmd->instead == COMMAND_TEST)
        done = "tested";
    char of_all[48] = "", encoded[48] = "", size[STR_SIZE], rate[STR_SIZE];
    size_t made = count_tensors(p, false, PIECE_ENCODE), tensors = count_tensors(p, true, 0);
    if (made != 0)
        snprintf(encoded, sizeof encoded, "%zu quantized, ", made);
    if (n != all)
        snprintf(of_all, sizeof of_all, " of %" PRIu64, all);
    cli_note(&cmd->cli, p->model->name, "%zu tensor%s: %s%zu dequantized; %" PRIu64 "%s bytes (%s) %s in %.*f s (%s/s), CRC-32 "
        "%08" PRIx32, tensors, str_plural(tensors), encoded, count_tensors(p, false, PIECE_DECODE), n, of_all, str_size(size, n),
        done, seconds < 1 ? 3 : 1, seconds, str_size(rate, (uint64_t)per_second),
        sum->crc);
}
