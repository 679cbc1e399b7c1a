/* The HTML page of a comparison. Its heat maps and charts are the ones of quantization error, with B as the encoded A. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/diff_report.h"
#include "report/html.h"
#include "report/loss_charts.h"

/* The pairs as the charts read them: a choice of weights that were encoded by "B". */
struct diff_page {
    struct page *page;
    const struct diff_report *r;
    struct choice choice;               /* list owned */
    struct encoding *encodings;         /* one for each of them; owned */
    struct encode_part *parts;          /* one for each encoding; owned */
};

static const struct encoder other_model = { .name = "B", .label = "B" };

static bool
has_figures(const struct difference *one)
{
    return difference_is_pair(one) && one->kind != DIFFERENCE_BYTES && one->n != 0;
}

static bool
make_choice(struct diff_page *p, struct err *err)
{
    const struct differences *d = p->r->d;
    size_t n = d->n + 1;
    p->choice = (struct choice){ .input = d->a.input, .roles = d->a.roles, .matrices = DTYPE_UNKNOWN,
        .list = calloc(n, sizeof *p->choice.list) };
    p->encodings = calloc(n, sizeof *p->encodings);
    p->parts = calloc(n, sizeof *p->parts);
    if (!p->choice.list || !p->encodings || !p->parts)
        return err_memory(err, n * (sizeof *p->choice.list + sizeof *p->encodings + sizeof *p->parts));
    for (size_t i = 0; i < d->n; i++) {
        const struct difference *one = &d->list[i];
        struct encoding *e = &p->encodings[i];
        struct encode_part *part = &p->parts[i];
        if (!has_figures(one))
            continue;
        const struct tensor t = difference_tensor(one);
        *part = (struct encode_part){ .name = t.name, .name_len = t.name_len, .dtype = t.dtype, .shape = t.shape, .grain = 1 };
        *e = (struct encoding){ .encoder = &other_model, .weight = t, .rows = one->n, .cols = 1, .nparts = 1, .part = part,
            .number = i };
        p->choice.list[p->choice.n] = *one->a;
        p->choice.list[p->choice.n++].encoding = e;
        p->choice.encoded++;
    }
    return true;
}

/* --- the page */

static void
add_begin(const struct diff_page *p)
{
    struct str *out = &p->page->text;
    html_begin(out, "Comparison of two models", NULL);
    str_text(out, "<p>A is ");
    html_text(out, p->r->a, strlen(p->r->a));
    str_text(out, ", B is ");
    html_text(out, p->r->b, strlen(p->r->b));
    str_format(out, "</p>\n<p class=\"muted\">Each value <i>x</i> of A compared with the value <i>y</i> of B; quantized weights "
        "are dequantized. Written by %s %s.</p>\n</header>\n<main>\n", p->r->tool, p->r->version);
}

static void
add_tile(struct str *out, const char *title, size_t n)
{
    str_format(out, "<div><dt>%s</dt><dd class=\"big\">%zu</dd><dd></dd></div>\n", title, n);
}

static void
add_tiles(const struct diff_page *p)
{
    static const char *const titles[DIFFERENCE_STATUSES] = { "Equal", "Equal values", "Different", "Only in A", "Only in B",
        "Other shape", "Other type" };
    struct str *out = &p->page->text;
    const struct loss all = losses_of(p->r->d->losses, NULL);
    str_text(out, "<dl class=\"tiles\">\n<div><dt>Total SQNR</dt><dd class=\"big\">");
    html_sqnr(out, all.sqnr);
    str_text(out, "</dd><dd></dd></div>\n");
    for (int i = 0; i < DIFFERENCE_STATUSES; i++)
        add_tile(out, titles[i], p->r->d->count[i]);
    str_text(out, "</dl>\n");
}

static void
add_integer(struct str *out, double n)
{
    str_format(out, "%.0f", n);
}

static void
add_cosine(struct str *out, double v)
{
    str_format(out, "%.6f", v);
}

static void
add_row(const struct diff_page *p, size_t i)
{
    const struct difference *one = &p->r->d->list[i];
    const struct tensor t = difference_tensor(one);
    struct str *out = &p->page->text;
    char a[DIFF_REPORT_TYPE] = "", b[DIFF_REPORT_TYPE] = "";
    str_text(out, "<tr><td class=\"name\">");
    html_text(out, t.name, t.name_len);
    str_format(out, "</td><td class=\"text\">%s</td><td class=\"text\">%s</td><td class=\"text\">%s</td>",
        difference_word(one->status), one->a ? diff_report_type(a, one->a) : "", one->b ? diff_report_type(b, one->b) : "");
    if (has_figures(one)) {
        const struct loss loss = difference_loss(p->r->d, i);
        html_cell(out, loss.sqnr, html_sqnr);
        html_cell(out, loss.most, html_number);
        html_cell(out, loss.distance, html_number);
        html_cell(out, loss.cosine, add_cosine);
        html_cell(out, (double)one->count, add_integer);
    } else {
        str_text(out, "<td></td><td></td><td></td><td></td><td></td>");
    }
    str_text(out, "</tr>\n");
    page_turn(p->page);
}

static void
begin_table(struct str *out, const char *class)
{
    str_format(out, "<div class=\"scroll\"><table class=\"%s\">\n<thead><tr><th scope=\"col\" class=\"text\">tensor</th>"
        "<th scope=\"col\" class=\"text\">status</th><th scope=\"col\" class=\"text\">type in A</th>"
        "<th scope=\"col\" class=\"text\">type in B</th><th scope=\"col\">SQNR, dB</th><th scope=\"col\">largest difference</th>"
        "<th scope=\"col\">mean difference</th><th scope=\"col\">cosine</th><th scope=\"col\">different elements</th></tr>"
        "</thead>\n<tbody>\n", class);
}

static void
add_tables(const struct diff_page *p)
{
    struct str *out = &p->page->text;
    size_t worst[DIFF_REPORT_WORST], n;
    diff_report_worst(p->r->d, worst, &n);
    if (n != 0) {
        str_text(out, "<section>\n<h2>The most different tensors</h2>\n");
        begin_table(out, "list");
        for (size_t i = 0; i < n; i++)
            add_row(p, worst[i]);
        str_text(out, "</tbody></table></div>\n</section>\n");
    }
    str_format(out, "<details>\n<summary>All %zu tensors</summary>\n<p class=\"muted\">Click a heading to sort.</p>\n",
        p->r->d->n);
    begin_table(out, "list sort");
    for (size_t i = 0; i < p->r->d->n; i++)
        add_row(p, i);
    str_text(out, "</tbody></table></div>\n</details>\n");
}

bool
diff_report_html(FILE *out, const struct diff_report *r, struct err *err)
{
    struct page page;
    struct err ignored = { 0 };
    struct loss_map map = { 0 };
    struct diff_page p = { .page = &page, .r = r };
    page_init(&page, out);
    bool ok = make_choice(&p, err) && loss_map_make(&map, &p.choice, r->d->losses, err);
    if (ok) {
        add_begin(&p);
        add_tiles(&p);
        loss_charts_add_maps(&page, &map);
        loss_charts_add_panels(&page, &map);
        add_tables(&p);
        str_text(&page.text, "</main>\n");
        html_end(&page.text);
    }
    ok = page_finish(&page, ok ? err : &ignored) && ok;
    loss_map_clear(&map);
    free(p.choice.list);
    free(p.encodings);
    free(p.parts);
    return ok;
}
