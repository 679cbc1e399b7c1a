#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/gguf_facts.h"
#include "report/inspect.h"
#include "report/page.h"
#include "report/summary.h"

enum { LABEL_WIDTH = 14, DTYPE_ROWS = 12, SHOWN_ELEMENTS = 8 };

/* "Scheme        ": every line begins with a label, or with the room of one. */
static void
add_label(struct str *out, const char *label)
{
    str_format(out, "%-*s", LABEL_WIDTH, label);
}

/* 3850000000 -> "3.85 G" */
static void
add_count(struct str *out, uint64_t n)
{
    static const char units[] = "KMGTPE";
    double v = (double)n;
    int u = -1;
    for (; v >= 999.5 && u < 5; u++)
        v /= 1000;
    if (u < 0)
        str_format(out, "%" PRIu64, n);
    else
        str_format(out, "%.2f %c", v, units[u]);
}

static void
add_value(struct str *out, const struct meta_value *value)
{
    struct meta_value element;
    struct meta_iter it;
    switch (value->type) {
    case META_U8: case META_U16: case META_U32: case META_U64:
        str_format(out, "%" PRIu64, value->as.u);
        break;
    case META_I8: case META_I16: case META_I32: case META_I64:
        str_format(out, "%" PRId64, value->as.i);
        break;
    case META_F32: case META_F64:
        str_format(out, "%g", value->as.f);
        break;
    case META_BOOL:
        str_text(out, value->as.u ? "true" : "false");
        break;
    case META_STRING: {
        char shown[STR_SHOWN];
        str_text(out, str_shown(shown, value->as.s.p, value->as.s.n));
        break;
    }
    case META_ARRAY:
        it = meta_first(&value->as.a);
        for (int i = 0; i < SHOWN_ELEMENTS && meta_next(&it, &element); i++) {
            str_text(out, i ? ", " : "");
            add_value(out, &element);
        }
        if (value->as.a.count > SHOWN_ELEMENTS)
            str_format(out, " ... (%" PRIu64 ")", value->as.a.count);
        break;
    case META_TYPES:
        break;
    }
}

static void
add_value_line(struct str *out, const char *label, const struct meta_value *value)
{
    if (!value)
        return;
    add_label(out, label);
    add_value(out, value);
    str_text(out, "\n");
}

static void
add_vocabulary(struct str *out, const struct gguf_facts *facts)
{
    if (!facts->vocabulary_known && !facts->tokenizer)
        return;
    add_label(out, "Vocabulary");
    if (facts->vocabulary_known)
        str_format(out, "%" PRIu64 " tokens", facts->vocabulary);
    const struct meta_value *named[] = { facts->tokenizer, facts->pre_tokenizer };
    for (size_t i = 0; i < 2; i++)
        if (named[i]) {
            str_text(out, i == 0 && !facts->vocabulary_known ? "" : ", ");
            add_value(out, named[i]);
        }
    str_text(out, "\n");
}

static void
add_gguf(struct str *out, const struct inspect *in)
{
    struct gguf_facts facts;
    if (!gguf_facts_find(&facts, in->catalog))
        return;
    add_value_line(out, "Architecture", facts.architecture);
    add_value_line(out, "Name", facts.name);
    add_label(out, "File type");
    str_format(out, "%s%s\n", facts.file_type_guessed ? "(guessed) " : "", facts.file_type);
    add_value_line(out, "Context", facts.context_length);
    add_value_line(out, "Embedding", facts.embedding_length);
    add_value_line(out, "Blocks", facts.block_count);
    add_value_line(out, "Heads", facts.head_count);
    add_value_line(out, "KV heads", facts.head_count_kv);
    add_vocabulary(out, &facts);
}

static void
add_format(struct str *out, const struct inspect *in)
{
    const struct catalog_facts *facts = catalog_facts_of(in->catalog);
    add_label(out, "Format");
    str_text(out, facts->format);
    if (facts->version != 0)
        str_format(out, " v%" PRIu32, facts->version);
    if (facts->big_endian)
        str_text(out, ", big-endian");
    str_text(out, "\n");
    if (in->nfiles > 1) {
        add_label(out, "Files");
        str_format(out, "%" PRIu32 "\n", in->nfiles);
    } else if (facts->split_count > 1) {
        add_label(out, "Split");
        str_format(out, "part %" PRIu64 " of %" PRIu64 "; what follows is this part alone\n",
            facts->split_no + 1, facts->split_count);
    }
}

static void
add_scheme(struct str *out, const struct summary *s)
{
    add_label(out, "Scheme");
    summary_add_label(out, s);
    str_text(out, "\n");
}

static void
add_tensors(struct str *out, const char *label, size_t n)
{
    add_label(out, label);
    str_format(out, "%zu tensor%s\n", n, n == 1 ? "" : "s");
}

static void
add_dtypes(struct str *out, const struct tally *dtypes)
{
    char size[STR_SIZE];
    size_t top[DTYPE_ROWS];
    size_t n = tally_top(dtypes, top, DTYPE_ROWS);
    for (size_t i = 0; i < n; i++) {
        const struct tally_row *row = &dtypes->rows[top[i]];
        add_label(out, i == 0 ? "Stored as" : "");
        str_format(out, "%-11s  %6zu tensor%s  %s\n", row->label, row->count, row->count == 1 ? " " : "s",
            summary_dtype_sized(row) ? str_size(size, row->nbytes) : "?");
    }
    if (dtypes->n > n) {
        add_label(out, "");
        str_format(out, "and %zu types more\n", dtypes->n - n);
    }
}

/* What quantization took is the difference of the two sizes; a tiny model can even have gained. */
static void
add_sizes(struct str *out, const struct inspect *in, const struct summary *s)
{
    char size[STR_SIZE], label[LABEL_WIDTH];
    const struct remembered *r = &in->remembered;
    add_label(out, "Size now");
    str_format(out, "%s%s\n", str_size(size, s->nbytes), s->unsized ? " and tensors of unknown size" : "");
    snprintf(label, sizeof label, "In %s", dtype_name(r->to));
    add_label(out, label);
    if (!r->bytes_known) {
        str_text(out, "unknown: not every tensor can be decoded\n");
        return;
    }
    str_format(out, "%s\n", str_size(size, r->bytes));
    add_label(out, "Lethe took");
    if (s->nschemes == 0 || r->bytes == s->nbytes)
        str_text(out, "nothing\n");
    else if (r->bytes > s->nbytes)
        str_format(out, "%s\n", str_size(size, r->bytes - s->nbytes));
    else
        str_format(out, "nothing, it added %s\n", str_size(size, s->nbytes - r->bytes));
}

static void
add_parameters(struct str *out, const struct summary *s)
{
    double bits;
    add_label(out, "Parameters");
    if (s->uncounted != 0) {
        str_text(out, "unknown: the weights are packed in a way that is not read\n");
        return;
    }
    add_count(out, s->parameters);
    if (summary_bits(&bits, s))
        str_format(out, ", %.1f bits each", bits);
    str_text(out, "\n");
}

static void
add_warnings(struct str *out, const struct catalog *catalog)
{
    for (size_t i = 0; i < catalog_remark_count(catalog); i++) {
        const char *text = catalog_remark_at(catalog, i)->text;
        add_label(out, "Warning");
        str_add_escaped(out, text, strlen(text));
        str_text(out, "\n");
    }
}

bool
inspect_text(FILE *out, const struct inspect *in, struct err *err)
{
    struct page page;
    struct summary s;
    page_init(&page, out);
    bool ok = summary_make(&s, in->catalog, in->roles, err) && catalog_remarks_kept(in->catalog, err);
    if (ok) {
        add_format(&page.text, in);
        add_gguf(&page.text, in);
        add_scheme(&page.text, &s);
        add_tensors(&page.text, "Quantized", s.roles[ROLE_WEIGHT]);
        add_tensors(&page.text, "Pass-through", s.roles[ROLE_PLAIN]);
        if (summary_companions(&s) != 0)
            add_tensors(&page.text, "Companions", summary_companions(&s));
        add_dtypes(&page.text, &s.dtypes);
        add_parameters(&page.text, &s);
        add_sizes(&page.text, in, &s);
        add_warnings(&page.text, in->catalog);
    }
    summary_clear(&s);
    return page_finish(&page, err) && ok;
}
