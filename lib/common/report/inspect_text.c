#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/gguf_facts.h"
#include "report/inspect.h"
#include "report/meta.h"
#include "report/summary.h"

enum { VALUE_WIDTH = 80 - PAGE_LABEL_WIDTH, DTYPE_ROWS = 12 };

/* Adds a metadata value if the file declares it: text as it is, a number with its unit. */
static void
add_fact(struct page *page, const char *label, const struct meta_value *value, const char *unit)
{
    char shown[STR_SHOWN];
    uint64_t n;
    if (!value)
        return;
    str_format(&page->text, PAGE_LABEL "%s", label, value->type == META_STRING ? str_shown(shown, value->as.s.p, value->as.s.n) : "");
    if (value->type != META_STRING)
        meta_shown_value(page, value, page->screen.columns != SIZE_MAX ? page->screen.columns - PAGE_LABEL_WIDTH : VALUE_WIDTH);
    str_format(&page->text, "%s\n", meta_as_u64(value, &n) ? unit : "");
}

static void
add_gguf(struct page *page, const struct inspect *in)
{
    struct gguf_facts facts;
    struct str *out = &page->text;
    if (!gguf_facts_find(&facts, in->catalog))
        return;
    add_fact(page, "Architecture", facts.architecture, "");
    add_fact(page, "Name", facts.name, "");
    str_format(out, PAGE_LABEL "%s%s\n", "File type", facts.file_type, facts.file_type_guessed ? " (guessed from the tensors)" : "");
    add_fact(page, "Context", facts.context_length, " tokens");
    add_fact(page, "Embedding", facts.embedding_length, " dimensions");
    add_fact(page, "Layers", facts.block_count, "");
    add_fact(page, "Heads", facts.head_count, "");
    add_fact(page, "KV heads", facts.head_count_kv, "");
    if (facts.vocabulary_known)
        str_format(out, PAGE_LABEL "%" PRIu64 " tokens\n", "Vocabulary", facts.vocabulary);
    add_fact(page, "Tokenizer", facts.tokenizer, "");
    add_fact(page, "Pre-tokenizer", facts.pre_tokenizer, "");
}

static void
add_towers(struct page *page, const struct inspect *in)
{
    struct tower_facts t;
    for (size_t i = 0; gguf_facts_tower(&t, in->catalog, i); i++) {
        add_fact(page, strcmp(t.kind, "vision") == 0 ? "Vision tower" : "Audio tower", t.projector, "");
        add_fact(page, "  Layers", t.layers, "");
        add_fact(page, "  Embedding", t.width, " dimensions");
        add_fact(page, "  Heads", t.heads, "");
        add_fact(page, "  Pictures", t.picture, " pixels");
        add_fact(page, "  Patches", t.patch, " pixels");
        add_fact(page, "  Mel bands", t.mels, "");
        add_fact(page, "  Beside", t.text_width, " dimensions of the text model");
    }
}

static void
add_image(struct page *page, const struct inspect_image *image)
{
    struct str *out = &page->text;
    char size[STR_SIZE];
    if (!image)
        return;
    str_format(out, PAGE_LABEL "%s", "Image model", image->family ? image->family : "");
    for (size_t i = 0; image->loaders[i]; i++)
        str_format(out, "%s%s", i == 0 ? "; as GGUF for " : ", ", image->loaders[i]);
    str_format(out, "%s%s\n", image->family && image->refusal ? "; " : "", image->refusal ? image->refusal : "");
    if (image->nleft != 0)
        str_format(out, PAGE_LABEL "%zu tensors of other models (%s)\n", "Also there", image->nleft, str_size(size, image->nbytes_left));
}

static void
add_format(struct str *out, const struct inspect *in)
{
    const struct catalog_facts *facts = catalog_facts_of(in->catalog);
    str_format(out, PAGE_LABEL "%s", "Format", facts->format);
    if (facts->version != 0)
        str_format(out, " v%" PRIu32, facts->version);
    if (facts->big_endian)
        str_text(out, ", big-endian");
    str_text(out, "\n");
    if (in->nfiles > 1)
        str_format(out, PAGE_LABEL "%" PRIu32 "\n", "Files", in->nfiles);
    else if (facts->split_count > 1)
        str_format(out, PAGE_LABEL "part %" PRIu64 " of %" PRIu64 "; the rest describes this part only\n", "Split",
            facts->split_no + 1, facts->split_count);
}

static void
add_checkpoint(struct str *out, const struct catalog_checkpoint *c)
{
    char shown[STR_SHOWN], size[STR_SIZE];
    if (!c)
        return;
    str_format(out, PAGE_LABEL "%s", "Checkpoint", c->kind);
    if (c->ranks != 0)
        str_format(out, ", %" PRIu64 " rank%s", c->ranks, str_plural(c->ranks));
    str_format(out, "%s%s\n", c->step ? ", " : "", c->step ? c->step : "");
    for (size_t i = 0; i < c->ntops; i++) {
        const struct catalog_top *top = &c->top[i];
        str_format(out, PAGE_LABEL "%s: %" PRIu64 " tensor%s (%s)%s\n", i == 0 ? "Saved" : "", str_shown(shown, top->name, top->name_len),
            top->tensors, str_plural(top->tensors), str_size(size, top->nbytes), top->read == 0 ? ", left out" : "");
    }
    str_format(out, PAGE_LABEL "--state model%s%s\n", "Can be read", c->master ? ", master" : "", c->all ? ", all" : "");
}

static void
add_scheme(struct page *page, const struct summary *s)
{
    struct str *out = &page->text;
    str_format(out, PAGE_LABEL, "Scheme");
    screen_begin(out, &page->screen, SCREEN_KIND);
    summary_add_label(out, s);
    screen_end(out, &page->screen, SCREEN_KIND);
    str_text(out, s->nschemes == 0 ? " (nothing is quantized)\n" : "\n");
}

static void
add_tensors(struct str *out, const char *label, size_t n, const char *meaning)
{
    str_format(out, PAGE_LABEL "%zu tensor%s%s\n", label, n, str_plural(n), meaning);
}

static void
add_counts(struct str *out, const struct summary *s)
{
    if (s->nschemes == 0) {
        str_format(out, PAGE_LABEL "%zu\n", "Tensors", s->tensors);
        return;
    }
    add_tensors(out, "Quantized", s->roles[ROLE_WEIGHT], "");
    add_tensors(out, "Kept as is", s->roles[ROLE_PLAIN], " (not quantized)");
    if (summary_companions(s) != 0)
        add_tensors(out, "Scales etc.", summary_companions(s), " (for quantized tensors)");
}

static const char *
size_of(char size[STR_SIZE], const struct tally_row *row)
{
    if (summary_dtype_sized(row))
        return str_size(size, row->nbytes);
    return "?";
}

static void
add_dtypes(struct str *out, const struct tally *dtypes)
{
    char size[STR_SIZE];
    size_t top[DTYPE_ROWS];
    size_t n = tally_top(dtypes, top, DTYPE_ROWS);
    int width[3] = { 0 };
    for (size_t i = 0; i < n; i++) {
        const struct tally_row *row = &dtypes->rows[top[i]];
        int w[3] = { (int)strlen(row->label), snprintf(NULL, 0, "%zu", row->count), (int)strlen(size_of(size, row)) };
        for (int c = 0; c < 3; c++)
            width[c] = w[c] > width[c] ? w[c] : width[c];
    }
    for (size_t i = 0; i < n; i++) {
        const struct tally_row *row = &dtypes->rows[top[i]];
        str_format(out, PAGE_LABEL "%-*s  %*zu tensor%s  %*s\n", i == 0 ? "Stored as" : "", width[0], row->label, width[1], row->count,
            row->count == 1 ? " " : "s", width[2], size_of(size, row));
    }
    if (dtypes->n > n)
        str_format(out, PAGE_LABEL "and %zu more types\n", "", dtypes->n - n);
}

static void
add_parameters(struct str *out, const struct summary *s)
{
    double bits;
    str_format(out, PAGE_LABEL, "Parameters");
    if (s->uncounted != 0) {
        str_text(out, "unknown: packed weights do not declare their shape\n");
        return;
    }
    summary_add_count(out, s->parameters);
    if (summary_bits(&bits, s))
        str_format(out, ", %.1f bits each", bits);
    str_text(out, "\n");
}

/* Returns the first weight whose scheme cannot be decoded, or NULL. */
static const struct weight *
undecoded(const struct inspect *in)
{
    for (size_t i = 0; i < catalog_count(in->catalog); i++) {
        const struct weight *w = roles_weight_of(in->roles, i);
        if (w && !w->scheme->decode)
            return w;
    }
    return NULL;
}

/* Explains why the dequantized size is unknown, and what the user can do. */
static void
add_refusal(struct str *out, const struct inspect *in, const struct summary *s)
{
    char name[SUMMARY_LABEL];
    const struct weight *w = undecoded(in);
    if (!w && s->uncounted != 0) {
        str_text(out, "known only after reading the packed weights: run amn-remember --size\n");
        return;
    }
    if (w)
        str_format(out, "unknown: amn-remember does not support %s\n", summary_label(name, w));
    else
        str_format(out, "unknown: amn-remember rejects this model: %s\n", in->remembered.refusal.text);
    str_format(out, PAGE_LABEL "Use the software that made the model, or another version of it\n", "");
}

/* Adds the space saved, which is negative for some tiny models. */
static void
add_saved(struct str *out, uint64_t now, uint64_t before)
{
    char size[STR_SIZE];
    if (before > now)
        str_format(out, PAGE_LABEL "%s\n", "Space saved", str_size(size, before - now));
    else if (before == now)
        str_format(out, PAGE_LABEL "none\n", "Space saved");
    else
        str_format(out, PAGE_LABEL "none (%s larger than dequantized)\n", "Space saved", str_size(size, now - before));
}

/* Adds the size now, the size when dequantized, and the difference. */
static void
add_sizes(struct str *out, const struct inspect *in, const struct summary *s)
{
    char size[STR_SIZE], label[PAGE_LABEL_WIDTH];
    const struct inspect_dequantized *r = &in->remembered;
    str_format(out, PAGE_LABEL "%s%s\n", "Size now", str_size(size, s->nbytes), s->unsized ? " and tensors of unknown size" : "");
    if (s->nschemes == 0) {
        str_format(out, PAGE_LABEL "none\n", "Space saved");
        return;
    }
    snprintf(label, sizeof label, "In %s", dtype_name(r->to));
    str_format(out, PAGE_LABEL, label);
    if (!r->bytes_known) {
        add_refusal(out, in, s);
        return;
    }
    str_format(out, "%s (dequantized by amn-remember)\n", str_size(size, r->bytes));
    add_saved(out, s->nbytes, r->bytes);
}

static void
add_warnings(struct page *page, const struct catalog *catalog)
{
    struct str *out = &page->text;
    for (size_t i = 0; i < catalog_remark_count(catalog); i++) {
        const char *text = catalog_remark_at(catalog, i)->text;
        page_styled(page, SCREEN_WARNING, "Warning");
        str_format(out, "%*s", PAGE_LABEL_WIDTH - (int)strlen("Warning"), "");
        str_add_escaped(out, text, strlen(text));
        str_text(out, "\n");
    }
}

static void
add_metadata(struct page *page, const struct inspect *in)
{
    size_t n = catalog_meta_count(in->catalog);
    if (n == 0)
        str_format(&page->text, PAGE_LABEL "none\n", "Metadata");
    else
        str_format(&page->text, PAGE_LABEL "%zu key%s: number, type, count, key = value\n", "Metadata", n, str_plural(n));
    meta_shown_all(page, in->catalog, in->arrays);
}

bool
inspect_text(struct page *page, const struct inspect *in, struct err *err)
{
    struct summary s;
    bool ok = summary_make(&s, in->catalog, in->roles, err) && catalog_remarks_kept(in->catalog, err);
    if (ok) {
        if (in->heading)
            page_heading(page, in->heading, in->first);
        add_format(&page->text, in);
        add_checkpoint(&page->text, catalog_facts_of(in->catalog)->checkpoint);
        add_gguf(page, in);
        add_image(page, in->image);
        add_towers(page, in);
        add_scheme(page, &s);
        add_counts(&page->text, &s);
        add_dtypes(&page->text, &s.dtypes);
        add_parameters(&page->text, &s);
        add_sizes(&page->text, in, &s);
        add_warnings(page, in->catalog);
        if (in->metadata)
            add_metadata(page, in);
    }
    summary_clear(&s);
    return ok;
}
