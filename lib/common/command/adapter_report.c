#include "command/adapter_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/listing.h"
#include "report/ndjson.h"
#include "report/summary.h"

enum { PATTERN_ROWS = 40, REFUSED_ROWS = 8 };

/* Sums over all tensors. */
struct totals {
    uint64_t nbytes, parameters;
};

static struct totals
sum(const struct catalog *c)
{
    struct totals s = { 0 };
    for (size_t i = 0; i < catalog_count(c); i++) {
        uint64_t n;
        s.nbytes += catalog_at(c, i)->extent.nbytes;
        if (shape_numel(&catalog_at(c, i)->shape, &n))
            s.parameters += n;
    }
    return s;
}

/* --- amn-inspect */

static void
add_pattern(struct page *j, const struct adapter_pattern *p)
{
    ndjson_object(j, NULL);
    ndjson_text(j, "module", p->module);
    ndjson_u64(j, "modules", p->n);
    ndjson_text(j, "form", adapter_form_word(p->form));
    ndjson_known(j, "rank", p->rank != 0, p->rank);
    ndjson_f64(j, "alpha", p->alpha);
    ndjson_f64(j, "scale", p->scale);
    ndjson_object_end(j);
}

void
adapter_inspect_json(const struct operand *operand)
{
    struct page *page = operand->page;
    const struct adapter_facts *f = operand->adapter;
    const struct totals s = sum(operand->model->catalog);
    ndjson_begin(page);
    ndjson_text(page, "file", operand->name);
    ndjson_text(page, "adapter", f->kind);
    ndjson_text(page, "type", f->type);
    ndjson_text(page, "base_model", f->base);
    ndjson_text(page, "format", catalog_facts_of(operand->model->catalog)->format);
    ndjson_u64(page, "tensors", catalog_count(operand->model->catalog));
    ndjson_u64(page, "parameters", s.parameters);
    ndjson_u64(page, "bytes", s.nbytes);
    ndjson_u64(page, "modules", f->modules);
    ndjson_object(page, "forms");
    for (enum adapter_form i = 0; i < FORMS; i++)
        if (f->forms[i] != 0)
            ndjson_u64(page, adapter_form_word(i), f->forms[i]);
    ndjson_object_end(page);
    ndjson_array(page, "patterns");
    for (size_t i = 0; i < f->npatterns; i++)
        add_pattern(page, &f->pattern[i]);
    ndjson_array_end(page);
    ndjson_array(page, "refused");
    for (size_t i = 0; i < f->refused.n; i++)
        ndjson_text(page, NULL, f->refused.name[i]);
    ndjson_array_end(page);
    ndjson_bool(page, "tokenizer", f->tokenizer);
    ndjson_end(page);
}

static void
add_kind(struct str *out, const struct adapter_facts *f)
{
    static const char *const kinds[][2] = { { "peft", "PEFT" }, { "single", "single file" }, { "gguf", "GGUF" }, { "mlx", "MLX" } };
    str_format(out, PAGE_LABEL, "Adapter");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i][0], f->kind) == 0)
            str_text(out, kinds[i][1]);
    str_format(out, "%s%s\n", f->type ? ", " : "", str_or(f->type, ""));
    str_format(out, PAGE_LABEL "%s\n", "Base model", str_or(f->base, "not named"));
}

static void
add_forms(struct str *out, const struct adapter_facts *f)
{
    bool first = true;
    str_format(out, PAGE_LABEL "%zu: ", "Modules", f->modules);
    for (enum adapter_form i = 0; i < FORMS; i++)
        if (f->forms[i] != 0) {
            str_format(out, "%s%zu %s", first ? "" : ", ", f->forms[i], adapter_form_name(i));
            first = false;
        }
    str_text(out, first ? "none\n" : "\n");
}

/* Adds rank, alpha and scale of the modules, by pattern. */
static void
add_patterns(struct str *out, const struct adapter_facts *f)
{
    for (size_t i = 0; i < f->npatterns && i < PATTERN_ROWS; i++) {
        const struct adapter_pattern *p = &f->pattern[i];
        str_format(out, PAGE_LABEL "%zu x %s: %s", i == 0 ? "Patterns" : "", p->n, p->module, adapter_form_name(p->form));
        if (p->rank != 0)
            str_format(out, ", rank %" PRIu64, p->rank);
        if (!isnan(p->alpha))
            str_format(out, ", alpha %g", p->alpha);
        if (!isnan(p->scale))
            str_format(out, ", scale %g", p->scale);
        str_text(out, "\n");
    }
    if (f->npatterns > PATTERN_ROWS)
        str_format(out, PAGE_LABEL "and %zu more; --json lists all\n", "", f->npatterns - PATTERN_ROWS);
}

void
adapter_inspect_text(const struct operand *operand)
{
    struct page *page = operand->page;
    const struct adapter_facts *f = operand->adapter;
    const struct catalog *c = operand->model->catalog;
    const struct totals s = sum(c);
    char size[STR_SIZE];
    if (operand->heading)
        page_heading(page, operand->heading, operand->first);
    add_kind(&page->text, f);
    str_format(&page->text, PAGE_LABEL "%s\n", "Format", catalog_facts_of(c)->format);
    add_forms(&page->text, f);
    add_patterns(&page->text, f);
    str_format(&page->text, PAGE_LABEL "%zu, %s\n", "Tensors", catalog_count(c), str_size(size, s.nbytes));
    str_format(&page->text, PAGE_LABEL "%s\n", "Tokenizer", f->tokenizer ? "beside it: -o DIR/ writes that instead of the base's"
        : "none: that of the base is kept");
    for (size_t i = 0; i < f->refused.n && i < REFUSED_ROWS; i++) {
        page_styled(page, SCREEN_WARNING, i == 0 ? "Refused" : "");
        str_format(&page->text, "%*s%s\n", PAGE_LABEL_WIDTH - (i == 0 ? (int)strlen("Refused") : 0), "", f->refused.name[i]);
    }
    if (f->refused.n > REFUSED_ROWS)
        str_format(&page->text, PAGE_LABEL "and %zu more; --json lists all\n", "", f->refused.n - REFUSED_ROWS);
}

/* --- amn-parse */

static void
adapter_report_add_tensor(struct page *j, const struct operand *operand, size_t i)
{
    const struct tensor *t = catalog_at(operand->model->catalog, i);
    const struct adapter_place *place = &operand->adapter->place[i];
    char dtype[SUMMARY_DTYPE];
    uint64_t n;
    ndjson_begin(j);
    ndjson_bytes(j, "name", t->name, t->name_len);
    ndjson_text(j, "dtype", summary_dtype(dtype, t));
    ndjson_dims(j, "shape", &t->shape);
    ndjson_text(j, "model", operand->heading ? operand->name : NULL);
    ndjson_u64(j, "offset", t->extent.at);
    ndjson_u64(j, "nbytes", t->extent.nbytes);
    ndjson_u64(j, "parameters", shape_numel(&t->shape, &n) ? n : 0);
    ndjson_text(j, "role", place->role);
    ndjson_bytes(j, "module", place->module, place->n);
    ndjson_end(j);
}

void
adapter_parse_json(const struct operand *operand)
{
    for (size_t i = 0; i < catalog_count(operand->model->catalog) && operand->page->sys == 0; i++)
        adapter_report_add_tensor(operand->page, operand, i);
}

/* Implements struct listing. */
static struct tensor
tensor_at(const void *own, size_t i, uint64_t *nbytes)
{
    const struct operand *operand = own;
    *nbytes = catalog_at(operand->model->catalog, i)->extent.nbytes;
    return *catalog_at(operand->model->catalog, i);
}

static enum screen_style
add_role(struct str *cell, const void *own, size_t i)
{
    const struct operand *operand = own;
    const char *role = operand->adapter->place[i].role;
    str_text(cell, str_or(role, "no part of an adapter"));
    if (role)
        return SCREEN_KIND;
    return SCREEN_WARNING;
}

void
adapter_parse_text(const struct operand *operand)
{
    struct page *page = operand->page;
    char totals[64];
    snprintf(totals, sizeof totals, "%zu module%s", operand->adapter->modules, str_plural(operand->adapter->modules));
    if (operand->heading)
        page_heading(page, operand->heading, operand->first);
    const struct listing list = { .n = catalog_count(operand->model->catalog), .nbytes = sum(operand->model->catalog).nbytes,
        .title = "Role", .totals = totals, .own = operand, .at = tensor_at, .add_last = add_role };
    listing_add(page, &list);
}
