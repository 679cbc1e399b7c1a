/* Checks of the outputs of a family. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "family/rows_priv.h"
#include "plan/delta.h"

/* Sets *n to the value of a key row for layer b if it is a number. */
static bool
row_number(uint64_t *n, const struct family_key *row, struct scope *scope, uint64_t b, struct err *err)
{
    json_t *value;
    if (!expr_value(&value, row->value, scope, b, err))
        return false;
    double x = json_number_value(value);
    if (json_is_number(value) && x >= 0 && x < 0x1p53)
        *n = (uint64_t)x;
    json_decref(value);
    return true;
}

bool
rows_check_number(uint64_t *n, const struct model_family *family, struct scope *scope, const char *key, struct err *err)
{
    uint64_t layers = 1;
    *n = 0;
    for (size_t i = 0; i < family->keys.n; i++) {
        const struct family_key *row = &family->keys.at[i];
        bool applies;
        if (!row->name || strcmp(row->name, key) != 0)
            continue;
        if (!expr_true(&applies, row->when, scope, 0, err) || (row->each && !scope_layers(&layers, "layers", scope, err)))
            return false;
        for (uint64_t b = 0, most = 0, one; applies && b < (row->each ? layers : 1); b++) {
            if (row->each)
                one = 0;
            else
                one = *n;
            if (!row_number(&one, row, scope, b, err))
                return false;
            *n = most = num_max(most, one);
        }
    }
    return true;
}

/* Compares a source with another one. Quantized weights are not compared, and fail too. */
static bool
rows_check_compare(const struct rows_work *w, const struct family_source *source, const struct family_same *row, struct err *err)
{
    const struct family_source *other = family_sources_find(w->sources, row->other, strlen(row->other));
    char what[STR_SHOWN + 64], name[STR_SHOWN];
    bool same = false;
    if (other && other->chosen.copy && source->chosen.copy && tensor_delta(other->chosen.copy) == tensor_delta(source->chosen.copy)
            && (!model_spool(w->how->model, err) || !model_same(&same, w->how->model, source->chosen.copy, other->chosen.copy, err)))
        return false;
    snprintf(what, sizeof what, "it differs from %s, which llama.cpp uses for both",
        str_shown(name, row->other, strlen(row->other)));
    return same || rows_fail(source, ERR_UNSUPPORTED, what, err);
}

bool
rows_check_same(bool *same, const struct rows_work *w, const struct family_source *source, struct err *err)
{
    *same = false;
    for (size_t i = 0; i < w->family->same.n; i++) {
        const struct family_same *row = &w->family->same.at[i];
        bool applies;
        if (strlen(row->name) != source->t.name_len || memcmp(row->name, source->t.name, source->t.name_len) != 0)
            continue;
        if (!expr_true(&applies, row->when, w->scope, 0, err))
            return false;
        *same = *same || applies;
        if (applies && w->how->adapter)
            return rows_fail(source, ERR_UNSUPPORTED, "llama.cpp has it only as part of another tensor", err);
        if (applies && !rows_check_compare(w, source, row, err))
            return false;
    }
    return true;
}

bool
rows_check_zero(const struct rows_work *w, const struct family_source *source, struct err *err)
{
    enum { STEP = 4096 };
    double x[STEP / sizeof(double)];
    uint64_t numel, some;
    if (!shape_numel(&source->t.shape, &numel))
        return rows_fail(source, ERR_MALFORMED, "too many elements", err);
    for (uint64_t at = 0; at < numel; at += some) {
        some = num_min(numel - at, STEP / sizeof *x);
        if (!family_sources_read(w->sources, &source->t, at, x, (size_t)some, err))
            return false;
        for (uint64_t i = 0; i < some; i++)
            if (x[i] != 0)
                return rows_fail(source, ERR_MALFORMED, "it is left out only if all its elements are zero", err);
    }
    return true;
}
