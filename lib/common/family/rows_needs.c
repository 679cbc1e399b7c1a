/* Outputs that must exist. A row is needed unless a statement or its condition says otherwise. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "family/pattern.h"
#include "family/rows_priv.h"

bool
rows_needs_add(struct rows_unknown *u, const struct family_source *source, struct err *err)
{
    const struct family_source **at = array_grow((void *)u->at, u->n, &u->room, sizeof *at, err);
    if (!at)
        return false;
    u->at = at;
    at[u->n++] = source;
    return true;
}

void
rows_needs_clear(struct rows_unknown *u)
{
    free((void *)u->at);
    *u = (struct rows_unknown){ 0 };
}

/* --- what is needed */

/* Sets *yes if the output of a row must exist. */
static bool
is_needed(bool *yes, const struct rows_needs *n, const struct family_row *row, const char *name, size_t len, struct err *err)
{
    const struct model_family *f = n->family;
    *yes = !row->bias;
    for (size_t i = f->needs.n; i-- != 0;) {
        const struct family_need *need = &f->needs.at[i];
        uint64_t b = 0;
        bool applies;
        if (!pattern_matches(need->gguf, name, len, &b))
            continue;
        if (!expr_true(&applies, need->when, n->scope, b, err))
            return false;
        if (applies) {
            *yes = !need->optional;
            return true;
        }
    }
    return true;
}

/* Returns the number of layers that a row is asked about: `{b}` is one of the main layers, or counts those after them. Without a
 * number in the GGUF name, the condition says which layer it is. */
static uint64_t
layers_of(const struct rows_needs *n, const struct family_row *row)
{
    uint64_t after = n->layers - n->main;
    if (row->nshift == 0)
        return row->when && strstr(row->hf, "{b}") ? n->main : 1;
    if (row->layered)
        return n->main;
    if (strstr(row->hf, "{b}"))
        return after;
    return after != 0;
}

/* --- messages */

/* Returns the length of a name up to its first number, and with it: "blk.3" of "blk.3.ffn_up.weight". 0: no number. */
static size_t
layer_end(const char *name, size_t n)
{
    for (size_t i = 1, end; i < n; i++)
        if (name[i - 1] == '.' && name[i] >= '0' && name[i] <= '9') {
            for (end = i; end < n && name[end] >= '0' && name[end] <= '9';)
                end++;
            return end;
        }
    return 0;
}

static const char *
layout_of(const struct model_family *f, const struct family_source *source)
{
    uint64_t b;
    for (size_t i = 0; i < f->older.n; i++)
        if (pattern_matches(f->older.at[i].text, source->t.name, source->t.name_len, &b))
            return f->older.at[i].layout;
    return NULL;
}

/* Returns an unknown tensor of the layer of a missing one, which another layout explains if there is one; else NULL. */
static const struct family_source *
beside(const struct rows_needs *n, const char *name, size_t len)
{
    const struct family_source *found = NULL;
    size_t end = layer_end(name, len);
    for (size_t i = 0; i < n->unknown->n; i++) {
        const struct family_source *u = n->unknown->at[i];
        size_t other = layer_end(u->t.name, u->t.name_len);
        if (other == end && memcmp(u->t.name, name, end) == 0 && (!found || (!layout_of(n->family, found) && layout_of(n->family, u))))
            found = u;
    }
    return found;
}

/* Writes the HF name of a row for layer b and expert x, cut if it is very long, and returns it. */
static const char *
rows_needs_hf_name(char name[STR_SHOWN], const struct family_row *row, uint64_t b, uint64_t x)
{
    size_t n = 0;
    for (const char *p = row->hf; *p && n < STR_SHOWN;) {
        size_t plain = strcspn(p, "{");
        n += (size_t)snprintf(name + n, STR_SHOWN - n, "%.*s", (int)plain, p);
        p += plain;
        if (*p && n < STR_SHOWN) {
            n += (size_t)snprintf(name + n, STR_SHOWN - n, "%" PRIu64, p[1] == 'b' ? b : x);
            p += 3;
        }
    }
    return name;
}

static bool
missing(const struct rows_needs *n, const struct family_row *row, uint64_t b, const char *name, size_t len, struct err *err)
{
    char shown[STR_SHOWN], hf[STR_SHOWN], other[STR_SHOWN];
    rows_needs_hf_name(hf, row, b, 0);
    const struct family_source *u;
    if (n->back)
        u = beside(n, name, len);
    else
        u = beside(n, hf, strlen(hf));
    const char *layout = NULL;
    if (u)
        layout = layout_of(n->family, u);
    str_shown(shown, name, len);
    if (!u)
        return err_set(err, ERR_MALFORMED, "tensor %s: missing, but required by family %s (%s); --allow-missing "
            "converts without it", shown, n->family->name, hf);
    str_shown(other, u->name, u->name_len);
    return err_set(err, ERR_MALFORMED, "tensor %s: missing, but required by family %s (%s), which has no row for %s "
        "beside it; looks like %s", shown, n->family->name, hf, other, str_or(layout, "another layout than the family has"));
}

/* --- all of them */

static bool
check_row(const struct rows_needs *n, const struct family_row *row, struct err *err)
{
    uint64_t layers = layers_of(n, row);
    for (uint64_t b = 0; b < layers; b++) {
        const char *name;
        uint32_t len;
        bool yes;
        if (!expr_true(&yes, row->when, n->scope, b, err))
            return false;
        if (!yes)
            continue;
        if (!rows_output_name(&name, &len, n->scope, row, b, n->memory, err))
            return false;
        if (n->exists(n->of, name, len))
            continue;
        if (!is_needed(&yes, n, row, name, len, err))
            return false;
        if (yes)
            return missing(n, row, b, name, len, err);
    }
    return true;
}

bool
rows_needs_check(struct rows_needs *n, struct err *err)
{
    if (!scope_layers(&n->main, "main", n->scope, err) || !scope_layers(&n->layers, "layers", n->scope, err))
        return false;
    if (n->layers < n->main)
        n->layers = n->main;
    for (size_t i = 0; i < n->family->rows.n; i++)
        if (!check_row(n, &n->family->rows.at[i], err))
            return false;
    return true;
}
