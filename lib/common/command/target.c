/* Settles output format and scheme from all options together. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/nearest.h"
#include "base/num.h"
#include "cli/conflicts.h"
#include "cli/foreign_names.h"
#include "command/command_priv.h"
#include "command/transcode.h"
#include "output/in_place.h"

/* Default size of a shard. */
#define SHARD_SIZE (UINT64_C(5) << 30)

/* In the order of cli_format_words. */
static const struct writer *const writers[] = { &writer_safetensors, &writer_gguf, &writer_npz, &writer_npy, &writer_raw,
    &writer_safetensors, &writer_safetensors, &writer_safetensors, &writer_safetensors, &writer_safetensors };

static const char hf_word[] = "hf";

static const struct writer *
writer_named(const char *name)
{
    for (size_t i = 0; cli_format_words[i]; i++)
        if (strcasecmp(name, cli_format_words[i]) == 0)
            return writers[i];
    return NULL;
}

bool
command_is_format(const char *word)
{
    return writer_named(word) != NULL;
}

/* Returns the extension of a writer's files. */
static const char *
word_of(const struct writer *writer)
{
    size_t i = 0;
    while (writers[i] != writer)
        i++;
    return cli_format_words[i];
}

bool
command_unknown_scheme(const char *option, const char *arg, bool formats, struct err *err)
{
    enum { MOST = 128 };
    const char *words[MOST];
    char shown[STR_SHOWN];
    size_t n = 0;
    struct str hint = { 0 };
    for (size_t i = 0; formats && cli_format_words[i]; i++)
        words[n++] = cli_format_words[i];
    for (size_t i = 0; encode_at(i) && n < MOST; i++)
        words[n++] = encode_at(i)->name;
    for (size_t i = 0; strcmp(option, "scheme") == 0 && encode_exact_at(i) && n < MOST; i++)
        words[n++] = encode_exact_at(i)->name;
    for (size_t i = 0; encode_alias(i) && n < MOST; i++)
        words[n++] = encode_alias(i);
    if (foreign_names_scheme(arg))
        str_format(&hint, "; did you mean %s?", foreign_names_scheme(arg));
    else
        nearest_hint(&hint, "", arg, words, n);
    for (size_t i = 0; formats && dtype_targets[i]; i++)
        if (str_same_word(arg, dtype_targets[i])) {
            hint.len = 0;
            str_format(&hint, " (did you mean --dtype %s?)", dtype_targets[i]);
        }
    const char *read = NULL;
    for (size_t i = 0; hint.len == 0 && !read && scheme_code(i); i++)
        read = str_same_word(arg, scheme_code(i)) ? scheme_code(i) : NULL;
    if (read)
        str_text(&hint, ", which is read but not written; amn list schemes shows what is written");
    err_set(err, ERR_USAGE, "--%s: unknown %s '%s'%s", option, formats ? "format or scheme" : "scheme",
        str_shown(shown, arg, strlen(arg)), str_or(hint.p, "; amn list schemes shows all"));
    str_clear(&hint);
    return false;
}

bool
command_take_format(struct command *cmd, const struct cli_option *option, const char *arg, struct err *err)
{
    const struct writer *writer = writer_named(arg);
    cmd->recast = recast_named(arg);
    bool holds = cmd->to_hf && writer == &writer_safetensors;           /* --to hf --to safetensors: names, then a container for them */
    cmd->to_hf = cmd->cli.given[CLI_FACT_HF] = holds || strcasecmp(arg, hf_word) == 0;
    if (writer)
        cmd->format = writer;
    else if (encode_find(arg, KEEPS_BLOCKS)) {
        cmd->scheme = arg;
        cmd->cli.given['s'] = true;
        cmd->cli.old_form = "to SCHEME";
        cmd->cli.new_form = "scheme SCHEME";
    } else
        return command_unknown_scheme(option->name, arg, true, err);
    return true;
}

/* Returns the writer for the extension of a path, or NULL. */
static const struct writer *
writer_of(const char *path)
{
    const char *dot = NULL;
    if (path)
        dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < CLI_EXTENSIONS; i++)
        if (strcasecmp(dot + 1, cli_format_words[i]) == 0)
            return writers[i];
    return NULL;
}

const struct writer *
command_format_of(const struct encoder *encoder)
{
    size_t i = 0;
    while (writers[i]->keeps != encoder->held)
        i++;
    return writers[i];
}

enum keeps
command_held(const struct writer *writer)
{
    if (writer && writer->keeps == KEEPS_CODES)
        return KEEPS_CODES;
    return KEEPS_BLOCKS;
}

bool
command_next_scheme(char name[COMMAND_SCHEME], const char **list)
{
    const size_t n = strcspn(*list, ",");
    if (**list == '\0')
        return false;
    snprintf(name, COMMAND_SCHEME, "%.*s", (int)num_min(n, COMMAND_SCHEME - 1), *list);
    *list += n + ((*list)[n] == ',');
    return true;
}

static bool
find_candidates(struct job *job, struct err *err)
{
    const char *p = "q2_k,q3_k,q4_k,q5_k,q6_k,q8_0";
    if (job->cmd->candidate_names)
        p = job->cmd->candidate_names;
    for (char name[COMMAND_SCHEME]; command_next_scheme(name, &p);) {
        const struct encoder *e = encode_find(name, command_held(job->writer));
        if (!e)
            return command_unknown_scheme("candidates", name, false, err);
        if (job->ncandidates == COMMAND_CANDIDATES)
            return err_set(err, ERR_USAGE, "--candidates: at most %d schemes", COMMAND_CANDIDATES);
        if (job->ncandidates != 0 && e->held != job->candidates[0]->held)
            return err_set(err, ERR_USAGE, "--candidates: %s (%s) and %s (%s) cannot be mixed in one file",
                job->candidates[0]->name, command_format_of(job->candidates[0])->name, e->name, command_format_of(e)->name);
        job->candidates[job->ncandidates++] = e;
    }
    if (job->ncandidates != 0 && !job->scheme)
        job->scheme = job->candidates[0]->name;
    return job->ncandidates != 0 || err_set(err, ERR_USAGE, "--candidates: empty list");
}

/* Fails for a scheme that has no encoder: it is a target of --exact, a list, or unknown. */
static bool
refuse_scheme(const char *name, struct err *err)
{
    static const char *const types[] = { "f16", "bf16", "f32" };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcasecmp(name, types[i]) == 0)
            return err_set(err, ERR_USAGE, "--scheme %s requires --exact, which changes no value (did you mean amn convert --dtype %s?)",
                name, types[i]);
    if (encode_exact_find(name, KEEPS_CODES))
        return err_set(err, ERR_USAGE, "--scheme %s requires --exact", name);
    if (strchr(name, ','))
        return err_set(err, ERR_USAGE, "--scheme: a list of schemes requires --exact");
    return command_unknown_scheme("scheme", name, false, err);
}

/* Finds the encoder of the scheme, and checks or sets the output format. */
static bool
find_encoder(struct job *job, struct err *err)
{
    const struct encoder *encoder = encode_find(job->scheme, command_held(job->writer));
    if (!encoder)
        return refuse_scheme(job->scheme, err);
    const struct writer *needs = command_format_of(encoder);
    job->reduction.encoder = encoder;
    if (!job->writer)
        job->writer = needs;
    if (job->writer != needs)
        return err_set(err, ERR_USAGE, "scheme %s produces %s, but the output is %s; use -o FILE.%s",
            encoder->name, needs->name, job->writer->name, word_of(needs));
    if (job->cmd->imatrix && encoder->held != KEEPS_BLOCKS)
        return err_set(err, ERR_USAGE, "--imatrix is not supported by %s", encoder->label);
    return reduction_settle(&job->reduction, err);
}

static bool
is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Returns true if the operand is a model directory: one on disk or to be fetched, or hf:ORG/NAME without a file. */
static bool
is_model_dir(const struct command *cmd, const char *operand)
{
    if (cmd->cli.fetch)
        return model_is_fetched_directory(operand);
    if (is_directory(operand))
        return true;
    const char *slash = NULL;
    if (str_begins(operand, "hf:"))
        slash = strchr(operand, '/');
    return slash && !memchr(slash + 1, '/', strcspn(slash + 1, "@"));
}

/* Returns the encoder of the scheme, the first one of a list, or NULL. */
static const struct encoder *
first_encoder(const struct command *cmd, enum keeps held)
{
    char name[64];
    if (!cmd->is_exact || !cmd->scheme)
        return cmd->scheme ? encode_find(cmd->scheme, held) : NULL;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(cmd->scheme, ","), cmd->scheme);
    return encode_exact_find(name, held);
}

/* Returns true if the model can be written as a directory, with the scheme that was given, if any. */
static bool
fits_directory(const struct command *cmd)
{
    const struct encoder *e = first_encoder(cmd, KEEPS_CODES);
    return (!cmd->format || cmd->format == &writer_safetensors) && (!cmd->scheme || (e && e->held != KEEPS_BLOCKS))
        && cmd->target_size == 0 && cmd->target_bpw == 0;
}

/* Returns true if the output is a directory: it ends with a slash or exists as one; or, as with cp -r, the input is a model
 * directory and the name has no extension of a format. */
static bool
names_directory(const struct job *job)
{
    const struct command *cmd = job->cmd;
    const char *path = job->output.path;
    struct stat st;
    if (str_ends(path, "/") || is_directory(path))
        return true;
    bool special = stat(path, &st) == 0 && !S_ISREG(st.st_mode);        /* a device or FIFO */
    if (cmd->to_hf || cmd->recast != RECAST_NONE)
        return !special && !writer_of(path);
    return !special && !writer_of(path) && fits_directory(cmd) && !byte_range_is_part(&cmd->cut)
        && (cmd->instead == COMMAND_OUTPUT || cmd->instead == COMMAND_DRY_RUN) && cmd->cli.noperands == 1
        && is_model_dir(cmd, cmd->cli.operands[0]);
}

/* Decides whether the output is a file, a directory or standard output. */
static void
settle_output(struct job *job, bool given[CLI_KEYS])
{
    const struct command *cmd = job->cmd;
    struct sink_options *output = &job->output;
    struct model_dir *dir = &job->dir;
    if (output->path && strcmp(output->path, "-") == 0)
        output->path = NULL;
    given['o'] = output->path != NULL;
    output->resume = cmd->resume;
    job->split = (struct split_files){ .path = output->path, .direct = output->direct, .sync = output->sync,
        .force = output->terminal_ok && !output->no_clobber,
        .outputs = &job->outputs };
    *dir = (struct model_dir){ .resume = cmd->resume, .shard_size = cmd->shard_size, .outputs = &job->outputs };
    if (!output->path)
        return;
    if (!names_directory(job)) {
        if (str_ends(output->path, ".gguf")) {
            job->split.size = cmd->shard_size;
            dir->shard_size = 0;
        }
        given[CLI_FACT_SPLIT] = job->split.size != 0;
        return;
    }
    given[CLI_FACT_DIRECTORY] = true;
    dir->path = output->path;
    dir->direct = output->direct;
    dir->no_clobber = output->no_clobber;
    dir->force = output->terminal_ok;
    if (dir->shard_size == 0)
        dir->shard_size = SHARD_SIZE;
}

/* Checks that the extension of the output names the format that is written. */
static bool
check_extension(const struct job *job, struct err *err)
{
    const char *path = job->output.path;
    const struct writer *named = NULL;
    if (!job->dir.path)
        named = writer_of(path);
    char shown[STR_SHOWN];
    if (!named || !job->writer || named == job->writer)
        return true;
    str_shown(shown, path, strlen(path));
    if (job->cmd->dequantizes)
        return err_set(err, ERR_USAGE, "amn-remember writes safetensors, but %s names %s; use amn-convert "
            "-o %s", shown, named->name, shown);
    return err_set(err, ERR_USAGE, "the output format is %s, but %s names %s; use -o FILE.%s",
        job->writer->name, shown, named->name, word_of(job->writer));
}

/* Endings of names of files. */
static const struct ending {
    const char *text;
    bool other;                 /* names another format than those that are written */
    bool dropped;               /* names of outputs do not keep it */
} endings[] = {
    { ".gz", .other = true, .dropped = true }, { ".zst", .other = true, .dropped = true }, { ".xz", .other = true, .dropped = true },
    { ".index.json", .dropped = true }, { ".safetensors", .dropped = true }, { ".gguf", .dropped = true },
    { ".npz", .dropped = true }, { ".npy", .dropped = true }, { ".pt", .other = true, .dropped = true },
    { ".pth", .other = true, .dropped = true }, { ".bin", .other = true, .dropped = true },
    { ".ckpt", .other = true, .dropped = true }, { ".zip", .other = true, .dropped = true },
    { ".tar", .other = true, .dropped = true }, { ".bz2", .other = true }, { ".pkl", .other = true }, { ".pickle", .other = true },
    { ".onnx", .other = true }, { ".mlpackage", .other = true }, { ".mlmodel", .other = true }, { ".h5", .other = true },
    { ".keras", .other = true }, { ".tflite", .other = true }, { ".pte", .other = true }, { ".pt2", .other = true },
    { ".engine", .other = true }, { ".msgpack", .other = true }, { ".llamafile", .other = true }, { ".ggml", .other = true },
    { ".json", .other = true }, { ".tgz", .other = true }, { ".7z", .other = true },
};

/* Fails if the output is a new file or directory whose extension names another format, unless --to names the format. A directory
 * of such a name is written if it exists, or its name ends with a slash. */
static bool
check_written(const struct command *cmd, struct err *err)
{
    const char *path = cmd->output.path, *dot = path ? strrchr(path, '.') : NULL;
    char shown[STR_SHOWN];
    struct stat st;
    if (!dot || strchr(dot, '/') || (cmd->cli.given[CLI_OPT_TO] && !cmd->dequantizes) || stat(path, &st) == 0)
        return true;
    str_shown(shown, dot, strlen(dot));
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (endings[i].other && strcasecmp(dot, endings[i].text) == 0)
            return err_set(err, ERR_USAGE, "-o: %s files are not written; use -o FILE.safetensors, .gguf, .npz or .npy, "
                "or -o DIR/", shown);
    const struct encoder *scheme = encode_find(dot + 1, KEEPS_BLOCKS);
    return !scheme || scheme->held != KEEPS_BLOCKS || err_set(err, ERR_USAGE, "-o: '%s' is a scheme, and files have no such extension (did you mean --scheme %s -o FILE.gguf?)", shown, dot + 1);
}

/* Fails if the last of several operands does not exist and has the name of an output. */
static bool
check_operands(const struct command *cmd, struct err *err)
{
    size_t n = cmd->cli.noperands;
    const char *last = NULL;
    if (n > 1)
        last = cmd->cli.operands[n - 1];
    char shown[STR_SHOWN];
    struct stat st;
    if (!last || cmd->cli.fetch || cmd->output.path || !writer_of(last) || stat(last, &st) == 0)
        return true;
    str_shown(shown, last, strlen(last));
    return err_set(err, ERR_USAGE, "%s does not exist; if it is the output, give it with -o %s", shown, shown);
}

/* The output has the format of the input, whose header is replaced. Undoes a change that was interrupted. */
static bool
settle_in_place(struct job *job, struct err *err)
{
    const struct cli *cli = &job->cmd->cli;
    bool undone = false;
    char shown[STR_SHOWN];
    if (cli->noperands != 1 || strcmp(cli->operands[0], "-") == 0)
        return err_set(err, ERR_USAGE, "--in-place requires one FILE");
    str_shown(shown, cli->operands[0], strlen(cli->operands[0]));
    bool ok = in_place_begin(&job->writer, &undone, cli->operands[0], err);
    if (undone)
        cli_say(cli, shown, "an interrupted change of its header was undone");
    return ok || err_in_file(err, shown);
}

/* amn-convert: GGUF gets BF16 or, where nothing is lost, the codes that a weight has. BF16 is what the weights would be dequantized to. */
static void
settle_moves(struct job *job, bool given[CLI_KEYS])
{
    const struct command *cmd = job->cmd;
    if (cmd->is_exact || cmd->needs_scheme || cmd->dequantizes || cmd->scheme || cmd->cast || cmd->dequantize || cmd->adapters.n != 0
        || job->writer != &writer_gguf)
        return;
    given[CLI_FACT_MOVES] = true;
    job->is_exact = true;
    job->exact.optional = !cmd->keep_quantized;
    if (cmd->keep_quantized)
        job->exact.level = EXACT_F32;
    else
        job->exact.level = EXACT_BF16;
}

/* Fails if the output is the input, which only --in-place changes. */
static bool
check_own(const struct command *cmd, struct err *err)
{
    const struct cli *cli = &cmd->cli;
    struct stat in, out;
    char shown[STR_SHOWN];
    if (cli->id != CLI_CONVERT || !cmd->output.path || cmd->resume || cli->noperands != 1 || cli->fetch
            || stat(cli->operands[0], &in) != 0 || stat(cmd->output.path, &out) != 0 || !S_ISREG(in.st_mode) || in.st_dev != out.st_dev
            || in.st_ino != out.st_ino)
        return true;
    err_set(err, ERR_CREATE, "the output would overwrite this input: choose another file, or give --in-place instead of -o to change keys");
    return err_in_file(err, str_shown(shown, cli->operands[0], strlen(cli->operands[0])));
}

/* Returns the format of the outputs in --output-dir, or NULL if it is unknown. */
static const struct writer *
format_of_all(const struct command *cmd)
{
    const struct encoder *e = first_encoder(cmd, command_held(cmd->format));
    if (cmd->format)
        return cmd->format;
    if (e)
        return command_format_of(e);
    if (cmd->target_size != 0 || cmd->target_bpw != 0)
        return &writer_gguf;
    return NULL;
}

bool
command_is_pair(const struct command *cmd)
{
    return cmd->output.path && str_ends(cmd->output.path, "/") && !fits_directory(cmd) && format_of_all(cmd) == &writer_gguf
        && cmd->cli.noperands == 1 && is_model_dir(cmd, cmd->cli.operands[0]) && cmd->instead == COMMAND_OUTPUT
        && cmd->shard_size == 0 && !byte_range_is_part(&cmd->cut);
}

bool
command_has_towers(const struct command *cmd, const char *operand)
{
    return !cmd->no_mmproj && !cmd->hf.mmproj && !cmd->hf.mtp_only && !cmd->hf.family && cmd->adapters.n == 0
        && is_model_dir(cmd, operand);
}

bool
command_name_output(struct str *path, const struct command *cmd, const char *operand, struct err *err)
{
    const struct writer *writer = format_of_all(cmd);
    size_t n = strlen(operand), start;
    if (!writer)
        return err_set(err, ERR_USAGE, "--output-dir requires a format: use --to safetensors, gguf, npz, npy or "
            "raw");
    while (n > 1 && operand[n - 1] == '/')
        n--;
    for (start = n; start > 0 && operand[start - 1] != '/'; start--)
        ;
    size_t len = n - start;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (endings[i].dropped && len > strlen(endings[i].text))
            str_strip(operand + start, &len, endings[i].text);
    str_format(path, "%s%s", cmd->output_dir, str_ends(cmd->output_dir, "/") ? "" : "/");
    for (size_t i = start; i < start + len; i++)
        str_add(path, operand[i] == ':' || operand[i] == '@' ? "-" : operand + i, 1);
    if (cmd->to_hf || cmd->recast != RECAST_NONE || (is_model_dir(cmd, operand) && writer == &writer_safetensors && fits_directory(cmd)))
        str_text(path, "/");
    else
        str_format(path, ".%s", word_of(writer));
    return !path->failed || err_memory(err, path->room);
}

/* Finds the encoder of the scheme, or those of the schemes that a job may choose from. */
static bool
settle_scheme(struct job *job, struct err *err)
{
    bool budget = job->cmd->target_size != 0 || job->cmd->target_bpw != 0;
    if (budget && !find_candidates(job, err))
        return false;
    if (job->is_exact)
        return transcode_settle(job, err);
    return !job->scheme || find_encoder(job, err);
}

bool
command_settle(struct job *job, struct err *err)
{
    const struct cli *cli = &job->cmd->cli;
    bool given[CLI_KEYS];
    memcpy(given, cli->given, sizeof given);
    if (!reduction_begin(&job->reduction, err) || !check_operands(job->cmd, err) || !check_written(job->cmd, err)
        || !check_own(job->cmd, err))
        return false;
    settle_output(job, given);
    if (job->cmd->in_place && !settle_in_place(job, err))
        return false;
    if (!job->writer)
        job->writer = job->dir.path ? &writer_safetensors : writer_of(job->output.path);
    settle_moves(job, given);
    if (!conflicts_check(cli, given, err) || !settle_scheme(job, err))
        return false;
    if (!job->writer && job->cmd->instead == COMMAND_TEST)
        job->writer = &writer_safetensors;
    job->split.writer = job->writer;
    return check_extension(job, err);
}
