#include <inttypes.h>
#include <string.h>

#include "command/budget.h"
#include "command/command_priv.h"
#include "command/exact.h"
#include "report/ndjson.h"

static const char *
way_word(const struct exact_row *r)
{
    return r->refused ? "refused" : r->kept || !r->to ? "kept" : r->inexact ? "inexact" : r->plain ? "dense" : r->way == EXACT_MOVED ? "moved"
        : r->way == EXACT_HINT ? "hint" : "search";
}

const char *
exact_way_phrase(const struct exact_row *r)
{
    return r->refused ? "refused" : r->kept || !r->to ? "unchanged" : r->inexact ? "inexact" : r->plain ? "not quantized" : r->way == EXACT_MOVED ? "moved"
        : r->way == EXACT_HINT ? "with the source's scales" : "with scales found by search";
}

static void
add_row(struct page *j, const struct exact_row *r)
{
    ndjson_begin(j);
    ndjson_bytes(j, "name", r->name, r->name_len);
    ndjson_text(j, "from", r->from);
    ndjson_text(j, "to", r->to);
    ndjson_text(j, "exact", r->inexact || !r->to ? NULL : exact_level_word(r->level));
    ndjson_array(j, "levels");
    for (int i = 0; i < EXACT_LEVELS; i++)
        if (r->levels[i])
            ndjson_text(j, NULL, exact_level_word((enum exact_level)i));
    ndjson_array_end(j);
    ndjson_text(j, "way", way_word(r));
    ndjson_array(j, "tried");
    for (size_t i = 0; i < r->ntried; i++) {
        uint64_t cols = r->cols != 0 ? r->cols : 1;
        ndjson_object(j, NULL);
        ndjson_text(j, "scheme", r->tried[i].scheme);
        ndjson_text(j, "cause", exact_cause_word(r->tried[i].cause));
        ndjson_array(j, "block");
        ndjson_u64(j, NULL, r->tried[i].block / cols);
        ndjson_u64(j, NULL, r->tried[i].block % cols);
        ndjson_array_end(j);
        ndjson_object_end(j);
    }
    ndjson_array_end(j);
    ndjson_known(j, "blocks", r->blocks != 0, r->blocks);
    ndjson_known(j, "code_8", r->e2m1, r->code_8);
    ndjson_end(j);
}

void
exact_report(struct page *page, const struct command *cmd)
{
    for (size_t i = 0; i < cmd->exact.nrows && page->sys == 0; i++)
        add_row(page, &cmd->exact.rows[i]);
}

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
find_first(size_t *n, char shown[STR_SHOWN], const struct command *cmd, bool (*is)(const struct exact_row *r))
{
    const struct exact_row *first = NULL;
    *n = 0;
    for (size_t i = cmd->exact.nrows; i-- > 0;)
        if (cmd->exact.rows[i].to && is(&cmd->exact.rows[i])) {
            first = &cmd->exact.rows[i];
            ++*n;
        }
    if (first)
        str_shown(shown, first->name, first->name_len);
    return first;
}

/* Warns of weights whose scale of activations has no place in the scheme, and of those that transformers would read transposed. */
static void
warn_of_weights(const struct command *cmd, const char *model)
{
    const struct exact_row *first;
    char shown[STR_SHOWN];
    size_t n;
    if ((first = find_first(&n, shown, cmd, has_no_input)) != NULL)
        cli_warn(&cmd->cli, model, ERR_TENSOR "its scale of activations is left out, since %s has none (%zu weight%s)", shown, first->to,
            n, n == 1 ? "" : "s");
    if ((first = find_first(&n, shown, cmd, is_turned)) != NULL)
        cli_warn(&cmd->cli, model, ERR_TENSOR "its matrices are [out, in], as they were stored, but transformers expects [in, out] under "
            "this name (%zu weight%s)", shown, n, n == 1 ? "" : "s");
}

/* Adds what --inexact cost. */
static void
add_cost(struct str *s, const struct command *cmd, const struct losses *losses, size_t n)
{
    const struct loss l = losses ? losses_all(losses) : (struct loss){ .n = 0 };
    char text[COMMAND_ERROR_TEXT];
    str_format(s, ", %zu rounded to %s", n, cmd->exact.name[0]->name);
    if (l.n != 0)
        str_format(s, ": %s", command_error_text(text, &l));
}

void
exact_tell(const struct command *cmd, const struct pipeline *p)
{
    const struct command_exact *x = &cmd->exact;
    size_t moved = 0, hinted = 0, searched = 0, plain = 0, kept = 0, same = 0, inexact = 0;
    struct str s = { 0 };
    warn_of_weights(cmd, p->model->name);
    for (size_t i = 0; i < x->nrows; i++) {
        const struct exact_row *r = &x->rows[i];
        same += r->kept && r->to;
        kept += r->kept && !r->to && !x->optional;
        plain += r->plain;
        inexact += r->inexact;
        moved += r->to && !r->kept && !r->inexact && !r->plain && r->way == EXACT_MOVED;
        hinted += r->to && !r->kept && !r->inexact && !r->plain && r->way == EXACT_HINT;
        searched += r->to && !r->kept && !r->inexact && !r->plain && r->way == EXACT_SEARCH;
    }
    const size_t exact = moved + hinted + searched + plain + same;
    if (exact + inexact + kept == 0)
        return;
    str_format(&s, "exact: %zu weight%s", exact, exact == 1 ? "" : "s");
    const struct { size_t n; const char *text; } parts[] = { { moved, "moved" }, { hinted, "with the source's scales" },
        { searched, "with scales found by search" }, { plain, "not quantized" }, { same, "unchanged" } };
    bool first = true;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].n != 0) {
            str_format(&s, "%s%zu %s", first ? " (" : ", ", parts[i].n, parts[i].text);
            first = false;
        }
    str_text(&s, first ? "" : ")");
    if (kept != 0)
        str_format(&s, ", %zu kept%s", kept, exact + inexact != 0 ? "" : ": no name of --scheme holds one; amn-inspect --grid finds schemes that do");
    if (inexact != 0)
        add_cost(&s, cmd, p->losses, inexact);
    if (!s.failed)
        cli_say(&cmd->cli, p->model->name, "%s", s.p);
    str_clear(&s);
}

void
exact_explain(const struct command *cmd, const char *model)
{
    char shown[STR_SHOWN];
    for (size_t i = 0; i < cmd->exact.nrows; i++) {
        const struct exact_row *r = &cmd->exact.rows[i];
        uint64_t cols = r->cols != 0 ? r->cols : 1;
        for (size_t k = 0; k < r->ntried; k++)
            cli_say(&cmd->cli, model, ERR_TENSOR "not held by %s: %s, block [%" PRIu64 ",%" PRIu64 "]",
                str_shown(shown, r->name, r->name_len), r->tried[k].scheme, exact_cause_word(r->tried[k].cause),
                r->tried[k].block / cols, r->tried[k].block % cols);
    }
}

/* Prints a glob that matches a name, within single quotes. */
static void
print_glob(FILE *out, const char *name, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (name[i] == '\'')
            fputs("'\\''", out);
        else
            fprintf(out, name[i] == '*' || name[i] == '?' || name[i] == '[' ? "[%c]" : "%c", name[i] == '\n' ? '?' : name[i]);
}

bool
exact_print(FILE *out, const struct command *cmd, struct err *err)
{
    const struct reduction *how = &cmd->reduction;
    fprintf(out, "--exact=%s --to %s --scheme %s", exact_level_word(cmd->exact.level), cmd->writer == &writer_gguf ? "gguf"
        : "safetensors", cmd->exact.name[0]->name);
    if (how->how.group_size != 0)
        fprintf(out, " --group-size %" PRIu64, how->how.group_size);
    fprintf(out, "%s%s%s\n", how->how.symmetric ? " --symmetric" : "", how->how.asymmetric ? " --asymmetric" : "", how->apart ? " --no-fuse"
        : "");
    for (size_t i = 0; i < cmd->exact.nrows; i++) {
        const struct exact_row *r = &cmd->exact.rows[i];
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
    return !ferror(out) || err_set(err, ERR_IO, ERR_NO_OFFSET, "cannot write to standard output");
}
