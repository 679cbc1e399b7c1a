#include "fill.h"

#include <string.h>

#include "report/page.h"

enum { WIDTH = 78, MOST_INDENT = 56 };

void
fill_clear(struct fill *f)
{
    str_clear(&f->word);
}

static void
pad(struct fill *f, size_t column)
{
    for (; f->column < column; f->column++)
        str_text(f->out, " ");
}

void
fill_place(struct fill *f)
{
    size_t n = page_columns(f->word.p, f->word.len);
    if (!f->waiting)
        return;
    if (!f->literal && f->column > f->indent && f->column + 1 + n > WIDTH) {
        str_text(f->out, "\n");
        f->column = 0;
    }
    if (f->column == 0 && f->blank && f->out->len != 0)
        str_text(f->out, "\n");
    f->blank = false;
    pad(f, f->column < f->indent ? f->indent : f->column != 0 ? f->column + 1 : 0);
    str_add(f->out, f->word.p, f->word.len);
    f->column += n;
    f->word.len = 0;
    f->waiting = f->joined = false;
}

void
fill_end_line(struct fill *f)
{
    fill_place(f);
    if (f->column != 0)
        str_text(f->out, "\n");
    f->column = 0;
}

void
fill_indent(struct fill *f, size_t column)
{
    f->indent = column < MOST_INDENT ? column : MOST_INDENT;
}

/* The character of two letters, as in \(aq. */
static const char *
named(const char *name)
{
    static const struct { char name[3], text[3]; } all[] = {
        { "aq", "'" }, { "dq", "\"" }, { "oq", "'" }, { "cq", "'" }, { "lq", "\"" }, { "rq", "\"" }, { "em", "--" },
        { "en", "-" }, { "hy", "-" }, { "mi", "-" }, { "bu", "o" }, { "ha", "^" }, { "ti", "~" }, { "rs", "\\" }, { "ga", "`" },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (memcmp(all[i].name, name, 2) == 0)
            return all[i].text;
    return "";
}

/* The escape p[0..n), which begins with a backslash and is longer than that; returns its bytes. */
static size_t
add_escape(struct str *word, const char *p, size_t n)
{
    if (p[1] == '(' && n >= 4) {
        str_text(word, named(p + 2));
        return 4;
    }
    if (p[1] == '[' && n >= 5 && p[4] == ']') {
        str_text(word, named(p + 2));
        return 5;
    }
    if (p[1] == 'f' && n >= 3)          /* a font */
        return 3;
    if (!strchr("&|^", p[1]))
        str_add_escaped(word, p[1] == 'e' ? "\\" : p[1] == '~' ? " " : p + 1, 1);
    return 2;
}

void
fill_word(struct fill *f, struct chars text)
{
    const char *p = text.p, *end = p + text.n;
    if (!f->joined && f->kept && f->waiting)
        str_text(&f->word, " ");
    else if (!f->joined)
        fill_place(f);
    f->waiting = true;
    f->joined = false;
    while (p < end) {
        size_t left = (size_t)(end - p), plain = 0;
        while (plain < left && p[plain] != '\\' && p[plain] != '\t')
            plain++;
        str_add_escaped(&f->word, p, plain);
        p += plain;
        if (p == end)
            break;
        if (*p == '\\' && left - plain >= 2) {
            p += add_escape(&f->word, p, left - plain);
        } else {
            str_text(&f->word, *p == '\t' ? "    " : "\\");
            p++;
        }
    }
}

void
fill_join(struct fill *f, const char *text)
{
    f->joined = f->waiting;
    fill_word(f, (struct chars){ text, strlen(text) });
}
