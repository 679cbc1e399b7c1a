#include "report/html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/loss_style.h"

void
html_lines(struct str *out, const char *const *lines)
{
    for (; *lines; lines++)
        str_format(out, "%s\n", *lines);
}

static void
add_title(struct str *out, const char *title, const char *about)
{
    str_text(out, title);
    if (about) {
        str_text(out, " ");
        html_text(out, about, strlen(about));
    }
}

void
html_begin(struct str *out, const char *title, const char *about)
{
    str_text(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "script-src 'unsafe-inline'\">\n<title>");
    add_title(out, title, about);
    str_text(out, "</title>\n<style>\n");
    html_lines(out, loss_style);
    str_text(out, "</style>\n</head>\n<body>\n<header>\n<h1>");
    add_title(out, title, about);
    str_text(out, "</h1>\n");
}

void
html_made(struct str *out, const char *tool, const char *version, const char *command)
{
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    char day[16] = "";
    time_t now = time(NULL);
    struct tm parts;
    if (epoch && *epoch)
        now = (time_t)strtoll(epoch, NULL, 10);
    if (gmtime_r(&now, &parts))
        strftime(day, sizeof day, "%Y-%m-%d", &parts);
    str_format(out, "<p class=\"muted\">Written by %s %s on %s (UTC):</p>\n<p><code>", tool, version, day);
    html_text(out, command, strlen(command));
    str_text(out, "</code></p>\n");
}

void
html_tile(struct str *out, const char *title)
{
    str_format(out, "<div><dt>%s</dt><dd class=\"big\">", title);
}

void
html_tile_note(struct str *out)
{
    str_text(out, "</dd><dd>");
}

void
html_tile_end(struct str *out)
{
    str_text(out, "</dd></div>\n");
}

void
html_end(struct str *out)
{
    str_text(out, "<script>\n");
    html_lines(out, loss_script);
    str_text(out, "</script>\n</body>\n</html>\n");
}

/* Appends text without characters that must not reach a reader, with the special characters of HTML as references. */
static void
add_references(struct str *out, const struct str *text)
{
    for (size_t i = 0; i < text->len; i++) {
        char c = text->p[i];
        if (c == '<' || c == '>' || c == '&' || c == '"' || c == '\'')
            str_format(out, "&#%d;", c);
        else
            str_add(out, &c, 1);
    }
}

void
html_text(struct str *out, const char *p, size_t n)
{
    struct str text = { 0 };
    str_add_escaped(&text, p, n);
    add_references(out, &text);
    out->failed = out->failed || text.failed;
    str_clear(&text);
}

void
html_number(struct str *out, double v)
{
    double size = fabs(v);
    int places = 2;
    if (!isfinite(v)) {
        str_text(out, isnan(v) ? "not a number" : v > 0 ? "infinite" : "&minus;infinite");
        return;
    }
    if (size != 0 && (size < 1e-4 || size >= 1e6)) {
        str_format(out, "%.2e", v);
        return;
    }
    for (; size >= 9.995 && places > 0; size /= 10)
        places--;
    for (; size != 0 && size < 0.9995; size *= 10)
        places++;
    str_format(out, "%.*f", places, v);
}

void
html_sqnr(struct str *out, double sqnr)
{
    if (isfinite(sqnr))
        str_format(out, "%.2f", sqnr);
    else
        str_text(out, isnan(sqnr) ? "not a number" : sqnr > 0 ? "lossless" : "no signal");
}
