#include "command/transcode.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command/budget.h"
#include "command/command_priv.h"

/* --- options */

/* Adds the schemes that are tried if the user names none: amn-convert leaves out the unquantized types. */
static void
add_offered(struct job *job)
{
    struct exact_job *x = &job->exact;
    const struct encoder *e = NULL;
    while ((e = encode_offered(KEEPS_BLOCKS, e ? e->exact.offer : 0)) != NULL)
        if (job->cmd->needs_scheme || e->held != KEEPS_NONE)
            x->name[x->n++] = e;
    if (job->cmd->needs_scheme)
        job->reduction.encoder = x->name[0];
}

static bool
transcode_add_name(struct job *job, const char *name, struct err *err)
{
    struct exact_job *x = &job->exact;
    char shown[STR_SHOWN];
    const enum keeps held = command_held(job->writer);
    const struct encoder *e = encode_exact_find(name, held), *block = encode_find(name, held);
    if (!e && block && block->held == KEEPS_BLOCKS)        /* a target of weights that have it already */
        e = block;
    if (!e && block)
        return err_set(err, ERR_USAGE, "--exact: '%s' is not a target of exact transcoding; amn-forget(1) lists them",
            str_shown(shown, name, strlen(name)));
    if (!e)
        return *name ? command_unknown_scheme("scheme", name, false, err)
            : err_set(err, ERR_USAGE, "--scheme: empty name in a list: expected NAME,NAME");
    if (x->n == EXACT_NAMES)
        return err_set(err, ERR_USAGE, "--scheme: at most %d names", EXACT_NAMES);
    if (e->held == KEEPS_NONE) {
        x->name[x->n++] = e;
        return true;
    }
    const struct writer *needs = command_format_of(e);
    if (job->writer && job->writer != needs)
        return err_set(err, ERR_USAGE, "scheme %s produces %s, but the output is %s; choose names of one "
            "format", e->name, needs->name, job->writer->name);
    job->writer = needs;
    if (job->cmd->needs_scheme && !job->reduction.encoder)       /* amn-convert keeps what the output format holds */
        job->reduction.encoder = e;
    x->name[x->n++] = e;
    return true;
}

bool
transcode_settle(struct job *job, struct err *err)
{
    const char *p = job->scheme;
    if (!p && (!job->writer || job->writer->keeps != KEEPS_BLOCKS))
        return err_set(err, ERR_USAGE, "--exact requires --scheme NAME[,NAME...] or --to gguf");
    if (!p)
        add_offered(job);
    for (char name[COMMAND_SCHEME]; p && command_next_scheme(name, &p);)
        if (!transcode_add_name(job, name, err))
            return false;
    if (job->exact.n == 0)
        return err_set(err, ERR_USAGE, "--scheme: empty list");
    bool fuses = false, groups = job->reduction.how.group_size == 0;
    for (size_t i = 0; i < job->exact.n; i++) {
        fuses = fuses || job->exact.name[i]->loaders.fuses;
        groups = groups || job->exact.name[i]->grid.groups != GROUPS_OWN;
    }
    if (!groups)
        return err_set(err, ERR_USAGE, "--group-size is not supported by %s", job->exact.name[0]->label);
    if (job->reduction.apart && !fuses)
        return err_set(err, ERR_USAGE, "--no-fuse has no effect: loaders fuse no scales of these schemes");
    if (!job->writer)
        job->writer = &writer_safetensors;
    return true;
}

/* --- the job */

bool
transcode_run(struct job *job, struct err *err)
{
    const struct command *cmd = job->cmd;
    struct exact_job *exact = &job->exact;
    job->reduction.keeps = job->writer->keeps;
    job->reduction.names = &cmd->naming;
    exact->reduction = &job->reduction;
    exact->held = command_held(job->writer);
    exact->unquantized = job->scheme || cmd->needs_scheme;
    exact->whole = cmd->needs_scheme;
    exact->describes = cmd->report != NULL;
    return exact_job_run(exact, &job->p, &job->choice, err);
}

/* --- messages */

static bool
has_no_input(const struct exact_row *r)
{
    return r->no_input;
}

static bool
is_turned(const struct exact_row *r)
{
    return r->turned;
}

/* Returns the first of n weights that became a scheme and are so, or NULL. Writes its name. */
static const struct exact_row *
find_first(size_t *n, char shown[STR_SHOWN], const struct exact_job *exact, bool (*is)(const struct exact_row *r))
{
    const struct exact_row *first = NULL;
    *n = 0;
    for (size_t i = exact->nrows; i-- > 0;)
        if (exact->rows[i].to && is(&exact->rows[i])) {
            first = &exact->rows[i];
            ++*n;
        }
    if (first)
        str_shown(shown, first->name, first->name_len);
    return first;
}

/* Warns of weights whose scale of activations has no place in the scheme, and of those that transformers would read transposed. */
static void
warn_of_weights(const struct job *job)
{
    const struct cli *cli = &job->cmd->cli;
    const char *model = job->model.name;
    const struct exact_row *first;
    char shown[STR_SHOWN];
    size_t n;
    if ((first = find_first(&n, shown, &job->exact, has_no_input)) != NULL)
        cli_warn(cli, model, ERR_TENSOR "its scale of activations is left out, since %s has none (%zu weight%s)", shown, first->to,
            n, str_plural(n));
    if ((first = find_first(&n, shown, &job->exact, is_turned)) != NULL)
        cli_warn(cli, model, ERR_TENSOR "its matrices are [out, in], as they were stored, but transformers expects [in, out] under "
            "this name (%zu weight%s)", shown, n, str_plural(n));
}

/* Adds what --inexact cost. */
static void
add_cost(struct str *s, const struct exact_job *exact, const struct losses *losses, size_t n)
{
    const struct loss l = losses ? losses_all(losses) : (struct loss){ .n = 0 };
    char text[COMMAND_ERROR_TEXT];
    str_format(s, ", %zu rounded to %s", n, exact->name[0]->name);
    if (l.n != 0)
        str_format(s, ": %s", command_error_text(text, &l));
}

/* Adds how many weights are exact, and by which way. */
static void
add_counts(struct str *s, const size_t of[EXACT_STATES], size_t exact)
{
    static const enum exact_state order[] = { EXACT_BY_MOVE, EXACT_BY_HINT, EXACT_BY_SEARCH, EXACT_PLAIN, EXACT_KEPT };
    const char *between = " (";
    str_format(s, "exact: %zu weight%s", exact, str_plural(exact));
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (of[order[i]] != 0) {
            str_format(s, "%s%zu %s", between, of[order[i]], exact_row_phrase(order[i]));
            between = ", ";
        }
    str_text(s, exact != 0 ? ")" : "");
}

void
transcode_tell(const struct job *job)
{
    const struct exact_job *of_job = &job->exact;
    size_t of[EXACT_STATES] = { 0 }, kept = 0, exact = 0;
    struct str s = { 0 };
    warn_of_weights(job);
    for (size_t i = 0; i < of_job->nrows; i++) {
        const enum exact_state state = exact_row_state(&of_job->rows[i]);
        const bool left = state == EXACT_KEPT && !of_job->rows[i].to;       /* no name holds it */
        kept += left && !of_job->optional;
        of[state] += !left;
        exact += !left && state != EXACT_INEXACT;
    }
    if (exact + of[EXACT_INEXACT] + kept == 0)
        return;
    add_counts(&s, of, exact);
    if (kept != 0)
        str_format(&s, ", %zu kept%s", kept, exact + of[EXACT_INEXACT] != 0 ? ""
            : ": no name of --scheme holds one; amn-inspect --grid finds schemes that do");
    if (of[EXACT_INEXACT] != 0)
        add_cost(&s, of_job, job->p.losses, of[EXACT_INEXACT]);
    if (!s.failed)
        cli_say(&job->cmd->cli, job->model.name, "%s", s.p);
    str_clear(&s);
}

void
transcode_explain(const struct job *job)
{
    const struct exact_job *exact = &job->exact;
    char shown[STR_SHOWN];
    for (size_t i = 0; i < exact->nrows; i++) {
        const struct exact_row *r = &exact->rows[i];
        for (size_t k = 0; k < r->ntried; k++)
            cli_say(&job->cmd->cli, job->model.name, ERR_TENSOR "not held by %s: %s, block [%" PRIu64 ",%" PRIu64 "]",
                str_shown(shown, r->name, r->name_len), r->tried[k].scheme, exact_cause_word(r->tried[k].cause),
                r->tried[k].block / r->cols, r->tried[k].block % r->cols);
    }
}

/* Prints a glob that matches a name, within single quotes. */
static void
print_glob(FILE *out, const char *name, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (name[i] == '\'')
            fputs("'\\''", out);
        else if (name[i] == '*' || name[i] == '?' || name[i] == '[')
            fprintf(out, "[%c]", name[i]);
        else
            fputc(name[i] == '\n' ? '?' : name[i], out);
}

bool
transcode_print(FILE *out, const struct job *job, struct err *err)
{
    const struct exact_job *exact = &job->exact;
    const struct reduction *how = &job->reduction;
    fprintf(out, "--exact=%s --to %s --scheme %s", exact_level_word(exact->level), job->writer == &writer_gguf ? "gguf"
        : "safetensors", exact->name[0]->name);
    if (how->how.group_size != 0)
        fprintf(out, " --group-size %" PRIu64, how->how.group_size);
    fputs(how->how.symmetric ? " --symmetric" : "", out);
    fputs(how->how.asymmetric ? " --asymmetric" : "", out);
    fputs(how->apart ? " --no-fuse\n" : "\n", out);
    for (size_t i = 0; i < exact->nrows; i++) {
        const struct exact_row *r = &exact->rows[i];
        if (!r->to)
            continue;
        if (r->inexact) {
            fputs("--inexact '", out);
            print_glob(out, r->name, r->name_len);
            fputs("' ", out);
        }
        fputs("--tensor-type '", out);
        budget_print_expression(out, r->name, r->name_len);
        fprintf(out, "=%s'\n", r->to);
    }
    return !ferror(out) || err_set(err, ERR_IO, "cannot write to standard output");
}
