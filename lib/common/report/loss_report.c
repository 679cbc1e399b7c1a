#include "report/loss_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "report/ndjson.h"

/* Returns the bytes of all parts of a weight. */
static uint64_t
nbytes_of(const struct encoding *e)
{
    uint64_t n = 0;
    for (unsigned p = 0; p < e->nparts; p++)
        n += encode_part_nbytes(&e->part[p]);
    return n;
}

static const struct encoding *
weight_at(const struct choice *choice, size_t i)
{
    const struct chosen *c = &choice->list[i];
    return c->encoding && c->part == 0 ? c->encoding : NULL;
}

/* --- JSON */

static void
add_loss(struct ndjson *j, const struct loss *l)
{
    ndjson_u64(j, "elements", l->n);
    ndjson_f64(j, "mean_absolute_error", l->distance);
    ndjson_f64(j, "max_error", l->most);
    ndjson_f64(j, "sqnr_db", l->sqnr);
    ndjson_f64(j, "cosine", l->cosine);
}

bool
loss_report_json(FILE *out, const struct choice *choice, const struct losses *losses, struct err *err)
{
    struct page page;
    struct ndjson j;
    uint64_t nbytes = 0;
    page_init(&page, out);
    ndjson_init(&j, &page);
    for (size_t i = 0; i < choice->n; i++) {
        const struct encoding *e = weight_at(choice, i);
        if (!e)
            continue;
        const struct loss loss = losses_of(losses, e);
        nbytes += nbytes_of(e);
        ndjson_begin(&j);
        ndjson_bytes(&j, "name", e->weight.name, e->weight.name_len);
        ndjson_text(&j, "scheme", e->encoder->name);
        ndjson_u64(&j, "nbytes", nbytes_of(e));
        add_loss(&j, &loss);
        ndjson_end(&j);
    }
    const struct loss all = losses_of(losses, NULL);
    ndjson_begin(&j);
    ndjson_u64(&j, "total", choice->encoded);
    ndjson_u64(&j, "nbytes", nbytes);
    add_loss(&j, &all);
    ndjson_end(&j);
    return page_finish(&page, err);
}

/* --- HTML */

enum { LEFT = 60, TOP = 20, WIDTH = 640, HEIGHT = 240, COLORS = 10 };

static const char *const colors[COLORS] = { "#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f", "#b07aa1", "#ff9da7",
    "#9c755f", "#bab0ac", "#edc948" };

/* A weight as a point: its layer and its kind, which is its name with * in place of the layer number. */
struct point {
    const struct encoding *e;
    struct loss loss;
    uint64_t layer;
    size_t number, digits;      /* position of the number in the name; digits is 0 if there is none */
    size_t kind;
};

struct drawing {
    struct point *points;       /* n elements, owned */
    size_t n, room;
    size_t kinds;
    uint64_t layers;            /* highest layer number plus one */
    double most_db, most_error;
};

/* Writes any bytes as HTML text. */
static void
put_text(FILE *out, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)p[i];
        if (c == '<' || c == '>' || c == '&' || c == '"' || c < ' ' || c >= 0x7F)
            fprintf(out, "&#%u;", c < ' ' ? 0xFFFDu : c >= 0x7F ? 0xFFFDu : c);
        else
            fputc(c, out);
    }
}

static void
find_number(struct point *p)
{
    const struct tensor *t = &p->e->weight;
    for (size_t i = 0; i < t->name_len; i++) {
        size_t n = 0;
        while (i + n < t->name_len && n < 9 && t->name[i + n] >= '0' && t->name[i + n] <= '9')
            p->layer = p->layer * 10 + (uint64_t)(t->name[i + n++] - '0');
        if (n != 0 && (i == 0 || t->name[i - 1] == '.') && (i + n == t->name_len || t->name[i + n] == '.')) {
            p->number = i;
            p->digits = n;
            return;
        }
        p->layer = 0;
        i += n != 0 ? n - 1 : 0;
    }
}

static bool
same_kind(const struct point *a, const struct point *b)
{
    const char *x = a->e->weight.name, *y = b->e->weight.name;
    size_t nx = a->e->weight.name_len - a->number - a->digits, ny = b->e->weight.name_len - b->number - b->digits;
    return a->number == b->number && memcmp(x, y, a->number) == 0 && !a->digits == !b->digits && nx == ny
        && memcmp(x + a->number + a->digits, y + b->number + b->digits, nx) == 0;
}

static bool
add_point(struct drawing *d, const struct encoding *e, const struct losses *losses, struct err *err)
{
    struct point *points = array_grow(d->points, d->n, &d->room, sizeof *points, err);
    if (!points)
        return false;
    d->points = points;
    struct point *p = &points[d->n];
    *p = (struct point){ .e = e, .loss = losses_of(losses, e) };
    find_number(p);
    size_t like = 0;
    while (like < d->n && !same_kind(&points[like], p))
        like++;
    p->kind = like < d->n ? points[like].kind : d->kinds++;
    d->n++;
    d->layers = p->layer + 1 > d->layers ? p->layer + 1 : d->layers;
    if (isfinite(p->loss.sqnr) && p->loss.sqnr > d->most_db)
        d->most_db = p->loss.sqnr;
    if (p->loss.distance > d->most_error)
        d->most_error = p->loss.distance;
    return true;
}

static void
put_drawing(FILE *out, const struct drawing *d, const char *what, bool db)
{
    double top = db ? d->most_db : d->most_error;
    fprintf(out, "<h2>%s by layer</h2>\n<svg viewBox=\"0 0 %d %d\" width=\"%d\" role=\"img\" aria-label=\"%s by layer\">\n",
        what, LEFT + WIDTH + 20, TOP + HEIGHT + 40, LEFT + WIDTH + 20, what);
    for (int i = 0; i <= 4; i++) {
        double y = TOP + HEIGHT - HEIGHT * i / 4.0;
        fprintf(out, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/><text x=\"%d\" y=\"%.1f\" "
            "text-anchor=\"end\">%.3g</text>\n", LEFT, y, LEFT + WIDTH, y, LEFT - 6, y + 4, top * i / 4);
    }
    for (size_t i = 0; i < d->n; i++) {
        const struct point *p = &d->points[i];
        double v = db ? (isfinite(p->loss.sqnr) ? fmax(p->loss.sqnr, 0) : top) : p->loss.distance;
        double x = LEFT + WIDTH * ((double)p->layer + 0.5) / (double)d->layers;
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"><title>", x,
            TOP + HEIGHT - (top > 0 ? HEIGHT * v / top : 0), colors[p->kind % COLORS]);
        put_text(out, p->e->weight.name, p->e->weight.name_len);
        fprintf(out, ": %.4g</title></circle>\n", v);
    }
    fprintf(out, "<text x=\"%d\" y=\"%d\">layer 0</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\">%" PRIu64
        "</text>\n</svg>\n",
        LEFT, TOP + HEIGHT + 20, LEFT + WIDTH, TOP + HEIGHT + 20, d->layers - 1);
}

static void
put_kinds(FILE *out, const struct drawing *d)
{
    fputs("<ul>\n", out);
    for (size_t i = 0, kind = 0; i < d->n; i++) {
        const struct point *p = &d->points[i];
        if (p->kind != kind)
            continue;
        fprintf(out, "<li><span style=\"color:%s\">&#9679;</span> ", colors[kind++ % COLORS]);
        put_text(out, p->e->weight.name, p->number);
        fputs(p->digits != 0 ? "*" : "", out);
        put_text(out, p->e->weight.name + p->number + p->digits, p->e->weight.name_len - p->number - p->digits);
        fputs("</li>\n", out);
    }
    fputs("</ul>\n", out);
}

static void
put_numbers(FILE *out, const struct loss *l)
{
    if (isinf(l->sqnr))
        fputs("<td>lossless</td>", out);
    else
        fprintf(out, "<td>%.2f</td>", l->sqnr);
    fprintf(out, "<td>%.6g</td><td>%.6g</td><td>%.8f</td></tr>\n", l->distance, l->most, l->cosine);
}

static void
put_table(FILE *out, const struct drawing *d, const struct loss *all)
{
    fputs("<h2>All weights</h2>\n<table>\n<tr><th>weight</th><th>scheme</th><th>bytes</th><th>SQNR (dB)</th>"
        "<th>mean error</th><th>max error</th><th>cosine</th></tr>\n", out);
    uint64_t nbytes = 0;
    for (size_t i = 0; i < d->n; i++) {
        const struct point *p = &d->points[i];
        nbytes += nbytes_of(p->e);
        fputs("<tr><td>", out);
        put_text(out, p->e->weight.name, p->e->weight.name_len);
        fprintf(out, "</td><td>%s</td><td>%" PRIu64 "</td>", p->e->encoder->name, nbytes_of(p->e));
        put_numbers(out, &p->loss);
    }
    fprintf(out, "<tr><th>all</th><td></td><td>%" PRIu64 "</td>", nbytes);
    put_numbers(out, all);
    fputs("</table>\n", out);
}

bool
loss_report_html(FILE *out, const struct choice *choice, const struct losses *losses, const char *title, struct err *err)
{
    struct drawing d = { .layers = 1 };
    const struct loss all = losses_of(losses, NULL);
    bool ok = true;
    for (size_t i = 0; ok && i < choice->n; i++)
        ok = !weight_at(choice, i) || add_point(&d, weight_at(choice, i), losses, err);
    if (ok) {
        fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Quantization error of ", out);
        put_text(out, title, strlen(title));
        fputs("</title>\n<style>body{font:14px sans-serif;margin:2em}td,th{padding:2px 10px;text-align:right}"
            "td:first-child,th:first-child{text-align:left}svg text{font-size:11px;fill:#555}ul{columns:2}</style>"
            "</head><body>\n<h1>Quantization error of ", out);
        put_text(out, title, strlen(title));
        fprintf(out, "</h1>\n<p>%zu weights with %" PRIu64 " elements. Errors are absolute.</p>\n", d.n, all.n);
        put_drawing(out, &d, "SQNR (dB)", true);
        put_drawing(out, &d, "Mean error", false);
        put_kinds(out, &d);
        put_table(out, &d, &all);
        fputs("</body></html>\n", out);
        ok = !ferror(out) || err_set(err, ERR_IO, ERR_NO_OFFSET, "cannot write the report");
    }
    free(d.points);
    return ok;
}
