#include "report/preview.h"

#include "base/version.h"
#include "report/listing.h"
#include "report/ndjson.h"
#include "report/summary.h"

/* Of a tensor whose elements fill bytes, as a writer has seen to. */
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

static const char *
becomes(const struct chosen *chosen)
{
    return chosen->encoding ? "encoded" : chosen->composed ? "made" : chosen->decode ? "decoded" : chosen->dtype != chosen->copy->dtype ? "converted" : "kept";
}

/* What it would be called if nothing were renamed. */
static struct tensor
unnamed(const struct chosen *chosen)
{
    struct chosen plain = *chosen;
    plain.name = NULL;
    return chosen_tensor(&plain);
}

/* The file of tensor i, which lies in file *at or one behind it; NULL when there is one only. */
static const struct str *
file_of(const struct preview *in, size_t *at, size_t i)
{
    if (!in->files)
        return NULL;
    while (i >= in->shards->list[*at].first + in->shards->list[*at].n)
        ++*at;
    return &in->files[*at];
}

/* --- JSON */

static void
set_bytes(struct ndjson *j, const char *key, const char *p, size_t n)
{
    ndjson_key(j, key);
    if (p)
        ndjson_bytes(j, p, n);
    else
        ndjson_null(j);
}

static void
add_tensor(struct ndjson *j, const struct chosen *chosen, const struct str *file)
{
    const struct tensor t = chosen_tensor(chosen), old = unnamed(chosen);
    const uint8_t *dims = t.shape.packed;
    ndjson_object(j);
    ndjson_set_u64(j, "report", VERSION_REPORT);
    set_bytes(j, "name", t.name, t.name_len);
    ndjson_set_text(j, "dtype", dtype_name(t.dtype));
    ndjson_key(j, "shape");
    ndjson_array(j);
    for (uint32_t i = 0; i < t.shape.rank; i++)
        ndjson_u64(j, shape_next(&dims));
    ndjson_array_end(j);
    ndjson_set_u64(j, "nbytes", nbytes_of(&t));
    ndjson_set_text(j, "becomes", becomes(chosen));
    ndjson_set_text(j, "scheme", chosen->decode ? summary_code(chosen->decode) : NULL);
    ndjson_set_text(j, "encoder", chosen->encoding ? chosen->encoding->encoder->name : NULL);
    ndjson_set_text(j, "why", chosen->encoding ? NULL : chosen->why);
    set_bytes(j, "input", chosen->name ? old.name : NULL, old.name_len);
    set_bytes(j, "file", file ? file->p : NULL, file ? file->len : 0);
    ndjson_object_end(j);
    ndjson_line(j);
}

bool
preview_json(FILE *out, const struct preview *in, struct err *err)
{
    struct page page;
    struct ndjson j;
    size_t file = 0;
    page_init(&page, out);
    ndjson_init(&j, &page);
    for (size_t i = 0; i < in->choice->n && page.sys == 0; i++)
        add_tensor(&j, &in->choice->list[i], file_of(in, &file, i));
    ndjson_object(&j);
    ndjson_set_u64(&j, "report", VERSION_REPORT);
    ndjson_set_u64(&j, "tensors", in->choice->n);
    ndjson_set_u64(&j, "nbytes", nbytes_of_all(in->choice));
    ndjson_set_u64(&j, "files", in->shards ? in->shards->n : 1);
    ndjson_set_u64(&j, "size", in->size);
    ndjson_object_end(&j);
    ndjson_line(&j);
    return page_finish(&page, err);
}

/* --- text */

/* What becomes of it, how its weight was quantized, what it was called, and where it goes. */
static void
add_purpose(struct str *out, const struct chosen *chosen, const struct str *file)
{
    char label[SUMMARY_LABEL];
    const struct tensor old = unnamed(chosen);
    out->len = 0;
    str_text(out, becomes(chosen));
    if (chosen->encoding)
        str_format(out, " as %s", chosen->encoding->encoder->label);
    else if (chosen->why)
        str_format(out, ": %s", chosen->why);
    if (chosen->decode)
        str_format(out, " from %s", summary_label(label, chosen->decode));
    if (chosen->name) {
        str_text(out, ", was ");
        str_add_escaped(out, old.name, old.name_len);
    }
    if (file) {
        str_text(out, ", in ");
        str_add_escaped(out, file->p, file->len);
    }
}

static void
set_totals(struct listing *t, const struct preview *in)
{
    listing_totals(t, in->choice->n, nbytes_of_all(in->choice), false);
}

bool
preview_text(FILE *out, const struct preview *in, struct err *err)
{
    struct listing t;
    struct str last = { 0 };
    size_t n = in->choice->n, file = 0;
    listing_init(&t, out);
    listing_titles(&t);
    listing_measure(&t);
    set_totals(&t, in);
    listing_measure(&t);
    for (size_t i = 0; i < n; i++) {
        const struct tensor tensor = chosen_tensor(&in->choice->list[i]);
        listing_tensor(&t, &tensor, nbytes_of(&tensor));
        listing_measure(&t);
    }
    listing_titles(&t);
    listing_print(&t, "Becomes");
    for (size_t i = 0; i < n && t.page.sys == 0; i++) {
        const struct tensor tensor = chosen_tensor(&in->choice->list[i]);
        listing_tensor(&t, &tensor, nbytes_of(&tensor));
        add_purpose(&last, &in->choice->list[i], file_of(in, &file, i));
        t.page.text.failed |= last.failed;
        listing_print(&t, last.p ? last.p : "");
    }
    char size[STR_SIZE];
    last.len = 0;
    str_format(&last, "%s with headers", str_size(size, in->size));
    if (in->shards)
        str_format(&last, ", in %zu file%s", in->shards->n, in->shards->n == 1 ? "" : "s");
    set_totals(&t, in);
    listing_print(&t, last.p ? last.p : "");
    str_clear(&last);
    return listing_finish(&t, err);
}
