/* A line that begins with a dot is a macro and its arguments: `.Fl o Ar file ,`. What stands among these and is the name of a
 * macro is one; a punctuation mark alone is joined to the word before it, or behind it. Any other line is text. The macros
 * that are about words are rows of `word_macros`, those that lay out the page rows of `blocks`; mdoc(7) has them all. */
#include "mdoc.h"

#include <string.h>

#include "fill.h"

enum { SECTION = 5, SUBSECTION = 3, NESTED = 6, TAG = 8, BULLET = 4, WIDEST = 40, DEPTH = 8, COLUMNS = 8 };

enum list_kind { LIST_TAG, LIST_BULLET, LIST_COLUMN };

struct list {
    enum list_kind kind;
    size_t around;                      /* the indent of the text that it is in */
    size_t indent, body;                /* of its items, and of their text behind that */
    bool compact;
    size_t column[COLUMNS], columns;    /* where they begin, behind the indent */
};

struct mdoc {
    struct fill fill;
    struct chars name;                   /* what the first Nm says */
    bool synopsis;
    struct list lists[DEPTH];           /* those that are open; what lies deeper takes the place of the last */
    size_t depth;
    size_t cell;                        /* the column of a LIST_COLUMN */
    size_t around;                      /* the indent before the display that is open */
};

/* --- arguments ------------------------------------------------------------------------------------------- */

struct argument {
    struct chars text;
    bool quoted;
};

/* The next argument of a line, or word of a text, which moves behind it; false at the end. */
static bool
next_argument(struct argument *a, struct chars *line, bool quotes)
{
    const char *p = line->p, *end = p + line->n;
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    if (p == end || (end - p >= 2 && memcmp(p, "\\\"", 2) == 0))
        return false;
    a->quoted = quotes && *p == '"';
    p += a->quoted;
    a->text.p = p;
    for (; p < end && (a->quoted ? *p != '"' : *p != ' ' && *p != '\t'); p++)
        p += *p == '\\' && end - p >= 2;
    a->text.n = (size_t)(p - a->text.p);
    p += a->quoted && p < end;
    *line = (struct chars){ p, (size_t)(end - p) };
    return true;
}

static bool
is(struct chars s, const char *text)
{
    return s.n == strlen(text) && memcmp(s.p, text, s.n) == 0;
}

static struct chars
chars(const char *text)
{
    return (struct chars){ text, strlen(text) };
}

static bool
is_mark(const struct argument *a, const char *marks)
{
    return !a->quoted && a->text.n == 1 && strchr(marks, *a->text.p);
}

static const char closing[] = ".,:;)]?!", opening[] = "([", any_mark[] = ".,:;)]?!([|";

/* Where the marks begin behind which nothing else comes in a line. */
static const char *
last_marks(struct chars line)
{
    struct argument a;
    const char *at = NULL;
    while (next_argument(&a, &line, true))
        at = !is_mark(&a, closing) ? NULL : at ? at : a.text.p;
    return at;
}

/* --- macros about words ---------------------------------------------------------------------------------- */

enum word_kind { PLAIN, ENCLOSE, OPEN, CLOSE, FLAG, NAME, PAGE, JOIN, CELL };

struct word_macro {
    char name[3];
    enum word_kind kind;
    const char *text;           /* in front of what is enclosed, or behind it; of PLAIN, what stands for no argument */
    const char *close;          /* of ENCLOSE: at the end of the line */
};

static const struct word_macro word_macros[] = {
    { "Ar", PLAIN, "file ...", NULL }, { "Cm", PLAIN, NULL, NULL }, { "Dv", PLAIN, NULL, NULL }, { "Em", PLAIN, NULL, NULL },
    { "Ev", PLAIN, NULL, NULL }, { "Ic", PLAIN, NULL, NULL }, { "Li", PLAIN, NULL, NULL }, { "No", PLAIN, NULL, NULL },
    { "Pa", PLAIN, NULL, NULL }, { "Sx", PLAIN, NULL, NULL }, { "Sy", PLAIN, NULL, NULL }, { "Va", PLAIN, NULL, NULL },
    { "Bq", ENCLOSE, "[", "]" }, { "Dq", ENCLOSE, "\"", "\"" }, { "Op", ENCLOSE, "[", "]" }, { "Pq", ENCLOSE, "(", ")" },
    { "Ql", ENCLOSE, "'", "'" }, { "Sq", ENCLOSE, "'", "'" },
    { "Oo", OPEN, "[", NULL }, { "Oc", CLOSE, "]", NULL }, { "Po", OPEN, "(", NULL }, { "Pc", CLOSE, ")", NULL },
    { "Xo", OPEN, "", NULL }, { "Xc", CLOSE, "", NULL },
    { "Fl", FLAG, "-", NULL }, { "Nm", NAME, NULL, NULL }, { "Xr", PAGE, NULL, NULL }, { "Ns", JOIN, NULL, NULL },
    { "Ta", CELL, NULL, NULL },
};

static const struct word_macro *
find_word_macro(struct chars name)
{
    for (size_t i = 0; i < sizeof word_macros / sizeof *word_macros; i++)
        if (is(name, word_macros[i].name))
            return &word_macros[i];
    return NULL;
}

/* The macros of one line. */
struct run {
    const struct word_macro *now;       /* whose arguments these are, or NULL */
    size_t given;                       /* how many it had */
    const char *close[DEPTH];           /* what the end of the line closes, the last first */
    size_t nclose;
};

static struct list *
inner_list(struct mdoc *m)
{
    return m->depth ? &m->lists[m->depth - 1] : NULL;
}

static void
begin_cell(struct mdoc *m)
{
    struct list *list = inner_list(m);
    fill_place(&m->fill);
    if (!list || list->kind != LIST_COLUMN)
        return;
    m->cell += m->cell + 1 < list->columns;
    fill_indent(&m->fill, list->indent + list->column[m->cell]);
}

static void
begin_macro(struct mdoc *m, struct run *run, const struct word_macro *macro)
{
    struct fill *f = &m->fill;
    run->now = macro;
    run->given = 0;
    if (macro->kind == ENCLOSE && run->nclose < DEPTH)
        run->close[run->nclose++] = macro->close;
    if (macro->kind == ENCLOSE || macro->kind == OPEN) {
        fill_word(f, chars(macro->text));
        f->joined = true;
        f->kept = f->kept || (m->synopsis && macro->kind == ENCLOSE);
    } else if (macro->kind == CLOSE) {
        fill_join(f, macro->text);
    } else if (macro->kind == JOIN) {
        f->joined = f->waiting;
    } else if (macro->kind == CELL) {
        begin_cell(m);
    }
}

/* What a macro says that had no argument. */
static void
end_macro(struct mdoc *m, struct run *run)
{
    const struct word_macro *now = run->now;
    run->now = NULL;
    if (!now || run->given != 0)
        return;
    if (now->kind == NAME)
        fill_word(&m->fill, m->name);
    else if (now->text && (now->kind == FLAG || now->kind == PLAIN))
        fill_word(&m->fill, chars(now->text));
}

static void
add_argument(struct mdoc *m, struct run *run, struct chars text)
{
    struct fill *f = &m->fill;
    enum word_kind kind = run->now ? run->now->kind : PLAIN;
    bool section = kind == PAGE && run->given == 1;
    if (kind == NAME && m->name.n == 0)
        m->name = text;
    if (kind == FLAG)
        fill_word(f, chars("-"));
    if (section)
        fill_join(f, "(");
    f->joined = f->joined || kind == FLAG || section;
    fill_word(f, text);
    if (section)
        fill_join(f, ")");
    run->given++;
}

static void
add_mark(struct mdoc *m, struct run *run, const struct argument *a)
{
    const struct word_macro *now = run->now;
    end_macro(m, run);
    if (is_mark(a, closing))
        m->fill.joined = m->fill.waiting;
    fill_word(&m->fill, a->text);
    m->fill.joined = is_mark(a, opening);
    run->now = now;             /* goes on behind it */
    run->given = 1;
}

static void
close_all(struct mdoc *m, struct run *run)
{
    end_macro(m, run);
    while (run->nclose != 0)
        fill_join(&m->fill, run->close[--run->nclose]);
    m->fill.kept = false;
}

/* Arguments: of `macro`, which may be NULL, until another comes. */
static void
add_line(struct mdoc *m, const struct word_macro *macro, struct chars line)
{
    struct run run = { 0 };
    struct argument a;
    const char *marks = last_marks(line);
    if (macro)
        begin_macro(m, &run, macro);
    while (next_argument(&a, &line, true)) {
        macro = a.quoted ? NULL : find_word_macro(a.text);
        if (a.text.p == marks)
            close_all(m, &run);
        if (macro) {
            end_macro(m, &run);
            begin_macro(m, &run, macro);
        } else if (is_mark(&a, any_mark)) {
            add_mark(m, &run, &a);
        } else {
            add_argument(m, &run, a.text);
        }
    }
    close_all(m, &run);
}

/* --- macros that lay out the page ------------------------------------------------------------------------ */

static void
paragraph(struct mdoc *m, struct chars line)
{
    (void)line;
    fill_end_line(&m->fill);
    m->fill.blank = true;
}

static void
heading(struct mdoc *m, struct chars line, size_t indent)
{
    paragraph(m, line);
    m->depth = 0;
    m->fill.literal = false;
    fill_indent(&m->fill, indent);
    add_line(m, NULL, line);
    fill_end_line(&m->fill);
    fill_indent(&m->fill, SECTION);
}

static void
section(struct mdoc *m, struct chars line)
{
    m->synopsis = is(line, "SYNOPSIS");
    heading(m, line, 0);
}

static void
subsection(struct mdoc *m, struct chars line)
{
    heading(m, line, SUBSECTION);
}

static void
describe_name(struct mdoc *m, struct chars line)
{
    fill_word(&m->fill, chars("-"));
    add_line(m, NULL, line);
}

/* In the SYNOPSIS a line of its own, and what follows hangs behind it. */
static void
command(struct mdoc *m, struct chars line)
{
    if (m->synopsis) {
        fill_end_line(&m->fill);
        fill_indent(&m->fill, SECTION);
    }
    add_line(m, find_word_macro(chars("Nm")), line);
    if (!m->synopsis)
        return;
    fill_place(&m->fill);
    fill_indent(&m->fill, SECTION + m->name.n + 1);
}

/* The columns that an argument stands for. */
static size_t
width_of(struct chars s)
{
    size_t n = is(s, "Ds") || is(s, "indent") ? NESTED : s.n;
    return n < WIDEST ? n : WIDEST;
}

/* A column of a list is as wide as its argument. */
static void
add_column(struct list *list, struct chars width)
{
    enum { GAP = 4 };
    list->columns += list->columns == 0;
    if (list->columns == COLUMNS)
        return;
    list->column[list->columns] = list->column[list->columns - 1] + width_of(width) + GAP;
    list->columns++;
}

static void
begin_list(struct mdoc *m, struct chars line)
{
    struct list list = { .kind = LIST_TAG, .body = TAG, .around = m->fill.indent, .indent = m->fill.indent };
    struct argument a;
    fill_end_line(&m->fill);
    while (next_argument(&a, &line, true)) {
        if (is(a.text, "-bullet")) {
            list.kind = LIST_BULLET;
            list.body = BULLET;
        } else if (is(a.text, "-column"))
            list.kind = LIST_COLUMN;
        else if (is(a.text, "-compact"))
            list.compact = true;
        else if (is(a.text, "-width") && next_argument(&a, &line, true))
            list.body = width_of(a.text) + 2;
        else if (is(a.text, "-offset") && next_argument(&a, &line, true))
            list.indent += width_of(a.text);
        else if (list.kind == LIST_COLUMN)
            add_column(&list, a.text);
    }
    m->fill.blank = m->fill.blank || !list.compact;
    m->depth += m->depth < DEPTH;
    *inner_list(m) = list;
}

static void
item(struct mdoc *m, struct chars line)
{
    const struct list *list = inner_list(m);
    struct fill *f = &m->fill;
    fill_end_line(f);
    if (!list)
        return;
    f->blank = f->blank || (!list->compact && list->kind != LIST_COLUMN);
    m->cell = 0;
    fill_indent(f, list->indent);
    if (list->kind == LIST_BULLET)
        fill_word(f, chars("o"));
    else
        add_line(m, NULL, line);
    if (list->kind == LIST_COLUMN)
        return;
    fill_place(f);
    fill_indent(f, list->indent + list->body);
    if (f->column >= f->indent)
        fill_end_line(f);
}

static void
end_list(struct mdoc *m, struct chars line)
{
    (void)line;
    fill_end_line(&m->fill);
    if (m->depth == 0)
        return;
    fill_indent(&m->fill, inner_list(m)->around);
    m->depth--;
}

static void
begin_display(struct mdoc *m, struct chars line)
{
    struct argument a;
    size_t indent = m->around = m->fill.indent;
    paragraph(m, line);
    while (next_argument(&a, &line, true)) {
        if (is(a.text, "-literal") || is(a.text, "-unfilled"))
            m->fill.literal = true;
        else if (is(a.text, "-compact"))
            m->fill.blank = false;
        else if (is(a.text, "-offset") && next_argument(&a, &line, true))
            indent += width_of(a.text);
    }
    fill_indent(&m->fill, indent);
}

static void
end_display(struct mdoc *m, struct chars line)
{
    (void)line;
    fill_end_line(&m->fill);
    m->fill.literal = false;
    fill_indent(&m->fill, m->around);
}

static void
literal_line(struct mdoc *m, struct chars line)
{
    size_t indent = m->fill.indent;
    fill_end_line(&m->fill);
    m->fill.literal = true;
    fill_indent(&m->fill, indent + NESTED);
    add_line(m, NULL, line);
    fill_end_line(&m->fill);
    m->fill.literal = false;
    fill_indent(&m->fill, indent);
}

/* Dates, titles, and what keeps words together. */
static void
nothing(struct mdoc *m, struct chars line)
{
    (void)m;
    (void)line;
}

static const struct block {
    char name[3];
    void (*add)(struct mdoc *m, struct chars line);
} blocks[] = {
    { "Sh", section }, { "Ss", subsection }, { "Pp", paragraph }, { "Nd", describe_name }, { "Nm", command },
    { "Bl", begin_list }, { "It", item }, { "El", end_list }, { "Bd", begin_display }, { "Ed", end_display },
    { "Dl", literal_line }, { "D1", literal_line }, { "Dd", nothing }, { "Dt", nothing }, { "Os", nothing },
    { "Bk", nothing }, { "Ek", nothing },
};

/* --- lines ----------------------------------------------------------------------------------------------- */

/* A line behind its dot. A macro that is not known leaves its arguments. */
static void
add_macro(struct mdoc *m, struct chars line)
{
    struct argument a;
    const struct block *block = NULL;
    if (!next_argument(&a, &line, false))
        return;
    while (line.n != 0 && *line.p == ' ') {
        line.p++;
        line.n--;
    }
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (is(a.text, blocks[i].name))
            block = &blocks[i];
    if (block)
        block->add(m, line);
    else
        add_line(m, find_word_macro(a.text), line);
    if (m->fill.literal && !block)
        fill_end_line(&m->fill);
}

static void
add_text(struct mdoc *m, struct chars line)
{
    struct argument a;
    if (m->fill.literal && line.n == 0) {
        fill_end_line(&m->fill);
        str_text(m->fill.out, "\n");
    } else if (m->fill.literal) {
        fill_word(&m->fill, line);
        fill_end_line(&m->fill);
    } else if (line.n == 0) {
        paragraph(m, line);
    } else {
        while (next_argument(&a, &line, false))
            fill_word(&m->fill, a.text);
    }
}

void
mdoc_text(struct str *out, const char *p, size_t n)
{
    struct mdoc m = { .fill.out = out };
    for (const char *end = p + n; p < end;) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        size_t len = (size_t)((eol ? eol : end) - p);
        if (len != 0 && *p == '.')
            add_macro(&m, (struct chars){ p + 1, len - 1 });
        else
            add_text(&m, (struct chars){ p, len });
        p = eol ? eol + 1 : end;
    }
    fill_end_line(&m.fill);
    if (m.fill.word.failed)
        out->failed = true;
    fill_clear(&m.fill);
}
