/* Opens one model after the other as amn-inspect does. JSON is written at once; the rows of the text are kept until all are
 * known, because their columns are aligned. */
#include "list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/array.h"
#include "base/names.h"
#include "base/num.h"
#include "cli/options.h"
#include "command/vocabulary.h"
#include "model/model.h"
#include "model/store.h"
#include "model/trees.h"
#include "report/ndjson.h"
#include "report/summary.h"

enum { NAME, SIZE, FORMAT, SCHEME, PATH, CELLS };
enum { NAME_MIN = 12 };         /* columns */

struct row {
    struct str cell[CELLS];     /* owned; safe to print */
};

struct model_list {
    struct cli cli;
    struct page page;
    struct err unread;          /* the first system error; the other models are still listed */
    struct row *rows;           /* n of them; owned */
    size_t n, room;
};

/* Everything that is reported about one model. */
struct list_entry {
    const char *operand;
    const char *program;        /* whose folder the model is in, or "dir"; NULL: the operand is of a store */
    const struct model *model;
    const struct summary *summary;
    const struct err *why;      /* the failure, or ERR_NONE */
};

/* --- one model ------------------------------------------------------------------------------------------- */

/* Adds up the stored sizes of its files. Returns false if not all of them are open. */
static bool
size_of(uint64_t *size, const struct model *m)
{
    *size = 0;
    for (uint32_t i = 0; i < m->nsrc; i++) {
        uint64_t n = source_file_size(m->src[i]);
        if (n == SOURCE_SIZE_UNKNOWN || !num_add(size, *size, n))
            return false;
    }
    return m->nsrc == m->nfiles;
}

static const char *
format_of(const struct list_entry *f)
{
    if (f->model->catalog)
        return catalog_facts_of(f->model->catalog)->format;
    return NULL;
}

static const char *
path_of(const struct list_entry *f)
{
    if (f->program)
        return f->operand;
    return f->model->stored;
}

static void
add_json(struct page *j, const struct list_entry *f)
{
    struct str word = { 0 }, label = { 0 };
    uint64_t size;
    bool sized = size_of(&size, f->model);
    if (f->program)
        str_text(&word, f->program);
    else
        str_add(&word, f->operand, strcspn(f->operand, ":"));
    if (f->summary->nschemes != 0)
        summary_add_label(&label, f->summary);
    if (word.failed || label.failed)
        j->text.failed = true;
    ndjson_begin(j);
    ndjson_text(j, "name", f->operand);
    ndjson_text(j, "store", word.p);
    ndjson_text(j, "path", path_of(f));
    ndjson_known(j, "files", f->why->kind == ERR_NONE, f->model->nfiles);
    ndjson_known(j, "size", sized, size);
    ndjson_text(j, "format", format_of(f));
    ndjson_text(j, "scheme", summary_word(f->summary));
    ndjson_text(j, "scheme_label", label.p);
    ndjson_text(j, "error", f->why->kind == ERR_NONE ? NULL : err_kind_word(f->why->kind));
    ndjson_end(j);
    str_clear(&word);
    str_clear(&label);
}

static void
add_shown(struct str *cell, const char *text)
{
    str_add_escaped(cell, str_or(text, "-"), text ? strlen(text) : 1);
}

/* Returns the end of a path: its last three names, of which the table shows what fits. */
static const char *
last_names(const char *path)
{
    const char *p = path + strlen(path);
    for (unsigned names = 0; p > path && (p[-1] != '/' || ++names < 3); p--)
        ;
    return p;
}

static bool
list_add_row(struct model_list *l, const struct list_entry *f, struct err *err)
{
    struct row *rows = array_grow(l->rows, l->n, &l->room, sizeof *rows, err);
    char text[STR_SIZE];
    uint64_t size;
    if (!rows)
        return false;
    l->rows = rows;
    struct str *cell = rows[l->n++].cell;
    memset(cell, 0, CELLS * sizeof *cell);
    add_shown(&cell[NAME], f->program ? last_names(f->operand) : f->operand);
    add_shown(&cell[SIZE], size_of(&size, f->model) ? str_size(text, size) : NULL);
    add_shown(&cell[FORMAT], format_of(f));
    if (f->why->kind == ERR_NONE)
        summary_add_scheme(&cell[SCHEME], f->summary);
    else
        str_text(&cell[SCHEME], err_kind_name(f->why->kind));
    add_shown(&cell[PATH], path_of(f));
    for (size_t i = 0; i < CELLS; i++)
        if (cell[i].failed)
            return err_memory(err, cell[i].room);
    return true;
}

static void
note(const struct cli *cli, const struct list_entry *f)
{
    const char *operand = f->model->name, *file = strcmp(f->why->file, operand) == 0 ? "" : f->why->file;
    cli_note(cli, operand, "%s%s%s: %s", file, *file ? ": " : "", err_kind_name(f->why->kind), f->why->text);
}

/* Returns true if a file exists but could not be read. */
static bool
is_unread(const struct err *why)
{
    return why->sys != 0 && !err_absent(why->sys);
}

/* Lists one model. A failure is shown in its row, and in a note unless it is the error that the tool ends with. Not inlined:
 * the error structs take 3 KiB of stack. */
__attribute__((noinline)) static bool
add_model(struct model_list *l, const char *operand, const char *program, struct err *err)
{
    struct model model = { 0 };
    struct roles *roles = NULL;
    struct summary summary = { 0 };
    struct err why;
    const struct model_options how = { .limits = &l->cli.limits };
    const struct list_entry found = { .operand = operand, .program = program, .model = &model, .summary = &summary, .why = &why };
    err_init(&why);
    bool good = model_open(&model, operand, &how, &why) && roles_assign(&roles, model.catalog, NULL, NULL, &why)
        && summary_make(&summary, model.catalog, roles, &why);
    if (why.kind == ERR_MEMORY || why.kind == ERR_BUG)
        *err = why;
    else if (!good && is_unread(&why) && l->unread.kind == ERR_NONE)
        l->unread = why;
    else if (!good)
        note(&l->cli, &found);
    bool ok = err->kind == ERR_NONE && model_check_overwrite(&model, err);
    if (ok && cli_human(&l->cli))
        ok = list_add_row(l, &found, err);
    else if (ok)
        add_json(&l->page, &found);
    summary_clear(&summary);
    roles_free(roles);
    model_clear(&model);
    return ok;
}

/* --- the table ------------------------------------------------------------------------------------------- */

static size_t
columns(const struct str *s)
{
    return screen_columns(s->p, s->len);
}

static void
pad(struct str *out, size_t n)
{
    while (n-- > 0)
        str_text(out, " ");
}

/* Adds a row. `below`: the path, the last cell, does not fit and goes to the next line. It is not shortened, so that it can be
 * copied. */
static void
list_add_text(struct model_list *l, const struct row *row, const size_t width[CELLS], bool below)
{
    struct str *out = &l->page.text;
    for (size_t i = 0; i < PATH; i++) {
        size_t room = width[i] - num_min(columns(&row->cell[i]), width[i]);
        if (i == SIZE)
            pad(out, room);
        screen_shorten(out, row->cell[i].p, row->cell[i].len, width[i], false);
        if (i != SIZE && (i + 1 < PATH || !below))
            pad(out, room);
        str_text(out, i + 1 < PATH || !below ? "  " : "\n    ");
    }
    str_add(out, row->cell[PATH].p, row->cell[PATH].len);
    str_text(out, "\n");
    page_turn(&l->page);
}

static void
add_table(struct model_list *l)
{
    static const char *const titles[CELLS] = { "Model", "Size", "Format", "Scheme", "Path" };
    struct row heading = { 0 };
    size_t width[CELLS], all = 2 * (CELLS - 1);
    for (size_t i = 0; i < CELLS; i++) {
        str_text(&heading.cell[i], titles[i]);
        width[i] = strlen(titles[i]);
        for (size_t k = 0; k < l->n; k++)
            width[i] = num_max(width[i], columns(&l->rows[k].cell[i]));
        all += width[i];
    }
    bool below = all > l->page.screen.columns;
    all -= width[PATH] + 2;
    if (all > l->page.screen.columns)
        width[NAME] = num_max(width[NAME] - num_min(all - l->page.screen.columns, width[NAME]), NAME_MIN);
    screen_begin(&l->page.text, &l->page.screen, SCREEN_HEADING);
    list_add_text(l, &heading, width, below);
    screen_end(&l->page.text, &l->page.screen, SCREEN_HEADING);
    for (size_t k = 0; k < l->n; k++)
        list_add_text(l, &l->rows[k], width, below);
    for (size_t i = 0; i < CELLS; i++)
        str_clear(&heading.cell[i]);
}

static void
list_clear(struct model_list *l)
{
    for (size_t k = 0; k < l->n; k++)
        for (size_t i = 0; i < CELLS; i++)
            str_clear(&l->rows[k].cell[i]);
    free(l->rows);
}

/* --- the stores ------------------------------------------------------------------------------------------ */

static bool
is_wanted(const struct cli *cli, const char *word)
{
    for (size_t i = 0; i < cli->noperands; i++)
        if (strcasecmp(cli->operands[i], word) == 0)
            return true;
    return cli->noperands == 0;
}

/* Returns true for the name of a store or of a program with folders. */
static bool
is_word(const char *operand)
{
    for (size_t i = 0; store_word(i); i++)
        if (strcasecmp(operand, store_word(i)) == 0)
            return true;
    for (size_t i = 0; trees_word(i); i++)
        if (strcasecmp(operand, trees_word(i)) == 0)
            return true;
    return false;
}

/* Collects the operands of all models, and as text the places that were searched. A store that the user named but that does
 * not exist is a failure; the first is kept, and the other stores are still listed. */
static void
enumerate(struct names *operands, struct str *where, const struct cli *cli, struct err *err)
{
    struct str root = { 0 };
    char shown[STR_SHOWN];
    for (size_t i = 0; store_word(i); i++) {
        if (!is_wanted(cli, store_word(i)))
            continue;
        root.len = 0;
        store_list(operands, &root, i, &cli->limits, err);
        const char *path = str_shown(shown, str_or(root.p, ""), root.len);
        bool there = root.len != 0 && access(root.p, F_OK) == 0;
        str_text(where, where->len ? ", " : "");
        if (root.len == 0)
            str_format(where, "unknown location of %s:", store_word(i));
        else
            str_format(where, "%s %s", there ? "none in" : "no", path);
        if (!there && cli->noperands != 0 && err->kind == ERR_NONE) {
            err_set(err, ERR_OPEN, root.len ? "no such directory; to set the location of %s:, see "
                "ENVIRONMENT in amn(7)" : "unknown location of %s:; to set it, see ENVIRONMENT in amn(7)", store_word(i));
            err_in_file(err, path);
        }
    }
    str_clear(&root);
}

/* Lists the models of some operands, and empties them. */
static bool
add_models(struct model_list *l, struct names *operands, const char *program, size_t *n, struct err *err)
{
    bool ok = l->unread.kind != ERR_MEMORY;
    for (size_t i = 0; ok && l->page.sys == 0 && i < operands->n; i++)
        ok = add_model(l, operands->name[i], program, err);
    *n += operands->n;
    names_clear(operands);
    return ok;
}

/* Adds a place that was searched to the text about all of them. */
static void
add_place(struct str *where, const char *words, const char *place)
{
    str_format(where, "%s%s %s", where->len ? ", " : "", words, place);
}

/* Lists the folders of other programs. Those that the user did not name are searched if they exist. */
static bool
add_programs(struct model_list *l, struct str *where, size_t *n, struct err *err)
{
    bool ok = true;
    for (size_t i = 0; ok && trees_word(i); i++) {
        struct names paths = { 0 };
        struct str roots = { 0 };
        if (!is_wanted(&l->cli, trees_word(i)))
            continue;
        trees_of(&paths, &roots, i, &l->unread);
        if (roots.len != 0)
            add_place(where, "none in", roots.p);
        else if (l->cli.noperands != 0 && l->unread.kind == ERR_NONE)
            err_set(&l->unread, ERR_OPEN, "no folder of %s; its places are listed under ENVIRONMENT in amn(7)", trees_word(i));
        ok = add_models(l, &paths, trees_word(i), n, err);
        str_clear(&roots);
    }
    return ok;
}

/* Lists the directories that the user gave. */
static bool
add_directories(struct model_list *l, struct str *where, size_t *n, struct err *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < l->cli.noperands; i++) {
        const char *dir = l->cli.operands[i];
        struct names paths = { 0 };
        char shown[STR_SHOWN];
        if (is_word(dir))
            continue;
        trees_list(&paths, dir, &l->unread);
        add_place(where, "none in", str_shown(shown, dir, strlen(dir)));
        ok = add_models(l, &paths, "dir", n, err);
    }
    return ok;
}

static bool
list(struct model_list *l, struct err *err)
{
    struct names operands = { 0 };
    struct str where = { 0 };
    size_t n = 0;
    err_init(&l->unread);
    enumerate(&operands, &where, &l->cli, &l->unread);
    bool ok = add_models(l, &operands, NULL, &n, err) && add_programs(l, &where, &n, err) && add_directories(l, &where, &n, err);
    if (ok && l->n != 0)
        add_table(l);
    if (ok && n == 0 && l->unread.kind == ERR_NONE)
        cli_warn(&l->cli, NULL, "no models found (%s)", str_or(where.p, ""));
    if (page_finish(&l->page, err))
        cli_finish_stdout(err);
    if (err->kind == ERR_NONE)
        *err = l->unread;
    str_clear(&where);
    return err->kind == ERR_NONE;
}

/* Lists the names that options take; after `classes`, the model classes that are named there. */
static bool
list_names(const struct cli *cli, struct err *err)
{
    const bool json = !cli_human(cli), classes = cli->noperands > 1 && strcasecmp(cli->operands[0], "classes") == 0;
    bool ok = true;
    for (size_t i = 0; !classes && i < cli->noperands; i++)
        if (!vocabulary_has(cli->operands[i]))
            return err_set(err, ERR_USAGE, "'%s' lists models and the others names; give them in two commands",
                cli->operands[i]);
    for (size_t i = classes; ok && i < cli->noperands; i++) {
        if (classes)
            ok = vocabulary_print_class(stdout, cli->operands[i], json, err);
        else
            ok = vocabulary_print(stdout, cli->operands[i], json, err);
    }
    return ok && cli_finish_stdout(err);
}

enum cli_status
list_main(int argc, char **argv)
{
    struct model_list l = { 0 };
    struct err err;
    cli_options(&l.cli, CLI_LIST, NULL, NULL, argc, argv);
    err_init(&err);
    page_init(&l.page, stdout);
    bool names = false;
    for (size_t i = 0; i < l.cli.noperands; i++)
        names = names || vocabulary_has(l.cli.operands[i]);
    bool ok;
    if (names)
        ok = list_names(&l.cli, &err);
    else
        ok = list(&l, &err);
    list_clear(&l);
    if (ok)
        return CLI_OK;
    return cli_fail(&l.cli, &err);
}
