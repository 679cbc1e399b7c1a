#include "report/preview.h"

#include <stdio.h>

#include "report/listing.h"
#include "report/ndjson.h"
#include "report/summary.h"
#include "report/tally.h"

/* Returns the size of a tensor in whole bytes, which the writer has ensured. */
static uint64_t
nbytes_of(const struct tensor *t)
{
    uint64_t n = 0;
    bool whole;
    shape_nbytes(&t->shape, t->dtype, &n, &whole);
    return n;
}

static uint64_t
nbytes_of_all(const struct choice *choice)
{
    uint64_t n = 0;
    for (size_t i = 0; i < choice->n; i++) {
        const struct tensor t = chosen_tensor(&choice->list[i]);
        n += nbytes_of(&t);
    }
    return n;
}

/* Returns the JSON word for what happens to a tensor. */
static const char *
becomes(const struct chosen *chosen)
{
    if (chosen->encoding)
        return "encoded";
    if (chosen->composed)
        return "made";
    if (chosen->decode)
        return "decoded";
    if (chosen->dtype != chosen->copy->dtype)
        return "converted";
    return "kept";
}

/* Returns the tensor with its name before renaming. */
static struct tensor
unnamed(const struct chosen *chosen)
{
    struct chosen plain = *chosen;
    plain.name = NULL;
    return chosen_tensor(&plain);
}

/* Returns the name of the file of tensor i, searching from file *at on, or from the first for tensor 0; NULL if there is only
 * one file. */
static const struct str *
file_of(const struct preview *in, size_t *at, size_t i)
{
    if (!in->files)
        return NULL;
    if (i == 0)
        *at = 0;
    while (i >= in->shards->list[*at].first + in->shards->list[*at].n)
        ++*at;
    return &in->files[*at];
}

/* --- JSON */

static void
preview_add_tensor(struct page *j, const struct chosen *chosen, const struct str *file)
{
    const struct tensor t = chosen_tensor(chosen), old = unnamed(chosen);
    char word[SCHEME_WORD];
    ndjson_begin(j);
    ndjson_bytes(j, "name", t.name, t.name_len);
    ndjson_text(j, "dtype", dtype_name(t.dtype));
    ndjson_dims(j, "shape", &t.shape);
    ndjson_u64(j, "nbytes", nbytes_of(&t));
    ndjson_text(j, "becomes", becomes(chosen));
    ndjson_text(j, "scheme", chosen->decode ? scheme_word(chosen->decode, word) : NULL);
    ndjson_text(j, "encoder", chosen->encoding ? chosen->encoding->encoder->name : NULL);
    ndjson_text(j, "why", chosen->encoding ? chosen->rule : chosen->why);
    ndjson_bytes(j, "input", chosen->name ? old.name : NULL, old.name_len);
    ndjson_bytes(j, "file", file ? file->p : NULL, file ? file->len : 0);
    ndjson_end(j);
}

void
preview_json(struct page *page, const struct preview *in)
{
    size_t file = 0;
    for (size_t i = 0; i < in->choice->n && page->sys == 0; i++)
        preview_add_tensor(page, &in->choice->list[i], file_of(in, &file, i));
    ndjson_begin(page);
    ndjson_u64(page, "tensors", in->choice->n);
    ndjson_u64(page, "nbytes", nbytes_of_all(in->choice));
    ndjson_u64(page, "files", in->shards ? in->shards->n : 1);
    ndjson_u64(page, "size", in->size);
    ndjson_end(page);
}

/* --- text */

struct preview_rows {
    const struct preview *in;
    size_t *file;               /* of the previous row */
};

static struct tensor
tensor_at(const void *own, size_t i, uint64_t *nbytes)
{
    const struct preview_rows *rows = own;
    const struct tensor t = chosen_tensor(&rows->in->choice->list[i]);
    *nbytes = nbytes_of(&t);
    return t;
}

/* Adds what happens to a tensor, the scheme of its weight, and why it is not quantized. */
static void
add_change(struct str *out, const struct chosen *chosen)
{
    char label[SUMMARY_LABEL];
    if (chosen->encoding)
        str_format(out, "quantized as %s", chosen->encoding->encoder->label);
    else
        str_text(out, chosen->composed ? "composed" : chosen->decode ? "dequantized" : becomes(chosen));
    if (chosen->decode)
        str_format(out, " from %s", summary_label(label, chosen->decode));
    const char *why;
    if (chosen->encoding)
        why = chosen->rule;
    else
        why = chosen->why;
    if (why)
        str_format(out, " (%s)", why);
}

/* Adds the change, the old name, and the file. */
static enum screen_style
add_purpose(struct str *out, const void *own, size_t i)
{
    const struct preview_rows *rows = own;
    const struct chosen *chosen = &rows->in->choice->list[i];
    const struct str *file = file_of(rows->in, rows->file, i);
    const struct tensor old = unnamed(chosen);
    add_change(out, chosen);
    if (chosen->name) {
        str_text(out, ", was ");
        str_add_escaped(out, old.name, old.name_len);
    }
    if (file) {
        str_text(out, ", in ");
        str_add_escaped(out, file->p, file->len);
    }
    if (chosen->encoding)
        return SCREEN_KIND;
    if (chosen->why)
        return SCREEN_WARNING;
    return SCREEN_PLAIN;
}

/* Adds a line for each kind of change: number of tensors, size, change. */
static bool
add_sums(struct page *page, const struct choice *choice, struct err *err)
{
    struct tally sums = { 0 };
    struct str change = { 0 };
    char size[STR_SIZE];
    bool ok = true;
    for (size_t i = 0; ok && i < choice->n; i++) {
        const struct tensor t = chosen_tensor(&choice->list[i]);
        change.len = 0;
        add_change(&change, &choice->list[i]);
        if (change.failed)
            ok = err_memory(err, change.room);
        else
            ok = tally_add(&sums, change.p, 1, nbytes_of(&t), err);
    }
    str_text(&page->text, ok ? "\n" : "");
    for (size_t i = 0; ok && i < sums.n; i++)
        str_format(&page->text, "%6zu  %10s  %s\n", sums.rows[i].count, str_size(size, sums.rows[i].nbytes), sums.rows[i].label);
    tally_clear(&sums);
    str_clear(&change);
    return ok;
}

bool
preview_text(struct page *page, const struct preview *in, struct err *err)
{
    size_t file = 0;
    const struct preview_rows rows = { in, &file };
    char size[STR_SIZE], totals[64 + STR_SIZE];
    int n = snprintf(totals, sizeof totals, "%s with headers", str_size(size, in->size));
    if (in->shards)
        snprintf(totals + n, sizeof totals - (size_t)n, ", in %zu file%s", in->shards->n, str_plural(in->shards->n));
    const struct listing list = { .n = in->choice->n, .nbytes = nbytes_of_all(in->choice), .title = "Becomes", .totals = totals,
        .own = &rows, .at = tensor_at, .add_last = add_purpose };
    listing_add(page, &list);
    return add_sums(page, in->choice, err);
}
