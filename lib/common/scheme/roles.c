/* Assigns the tensors of a model. Schemes are tried in the order of the table, each on all tensors that are not claimed yet,
 * so the first matching row wins. Leftover tensors are examined last. */
#include "scheme/roles.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "base/str.h"
#include "scheme/comfy_marker.h"
#include "scheme/fp8.h"
#include "scheme/roles_priv.h"
#include "scheme/smooth.h"
#include "scheme/swizzle.h"
#include "scheme/table.h"

/* Lets one scheme claim its weights. `types`: one for each tensor, since a model has many and most schemes take few. */
static bool
claim_all(const struct scheme *scheme, struct claims *c, const uint8_t *types, struct err *err)
{
    bool takes[DTYPE_COUNT] = { false };
    for (size_t i = 0; i < scheme->nrows; i++)
        for (enum dtype d = 0; scheme->rows[i].codes && d < DTYPE_COUNT; d++)
            takes[d] |= dtype_in(scheme->rows[i].dtypes, d);
    for (size_t i = 0, n = catalog_count(c->catalog); i < n; i++) {
        if (!takes[types[i]] || c->roles->owner[i] != 0)
            continue;
        const struct tensor *t = catalog_at(c->catalog, i);
        struct weight w = { .scheme = scheme, .part = { t }, .name = t->name, .name_len = t->name_len,
            .shape = t->shape };
        c->shares = false;
        enum claim claim = table_claim(scheme, c, t, &w, err);
        w.shares = c->shares;
        if (claim == CLAIM_FAIL)
            return false;
        if (claim == CLAIM_YES && !claims_add(c, &w, err))
            return false;
    }
    return true;
}

static int
compare_names(const void *pa, const void *pb)
{
    const struct weight *a = *(const struct weight *const *)pa, *b = *(const struct weight *const *)pb;
    return str_compare(a->name, a->name_len, b->name, b->name_len);
}

static bool
same_name(const struct tensor *a, const struct tensor *b, struct err *err)
{
    char first[STR_SHOWN], second[STR_SHOWN];
    return err_at(err, ERR_MALFORMED, b->extent.at, "tensors %s and %s would have the same name after dequantizing",
        str_shown(first, a->name, a->name_len), str_shown(second, b->name, b->name_len));
}

/* Checks that no two output tensors share a name: a decoded weight may be renamed. */
static bool
check_names(const struct claims *c, struct err *err)
{
    const struct roles *r = c->roles;
    const struct weight **renamed = malloc((r->nweights + 1) * sizeof *renamed);
    if (!renamed)
        return err_memory(err, r->nweights * sizeof *renamed);
    size_t n = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < r->nweights; i++) {
        const struct weight *w = &r->weights[i];
        if (w->name == w->part[0]->name && w->name_len == w->part[0]->name_len)
            continue;
        renamed[n++] = w;
        const struct tensor *other = catalog_find(c->catalog, w->name, w->name_len);
        if (other && !roles_is_companion(r, catalog_index(c->catalog, other)))
            ok = same_name(w->part[0], other, err);
    }
    qsort(renamed, n, sizeof *renamed, compare_names);
    for (size_t i = 1; ok && i < n; i++)
        if (compare_names(&renamed[i - 1], &renamed[i]) == 0)
            ok = same_name(renamed[i - 1]->part[0], renamed[i]->part[0], err);
    free(renamed);
    return ok;
}

/* Checks that some weight is of the scheme given by --input-scheme. */
static bool
check_forced(const struct claims *c, struct err *err)
{
    const struct roles *r = c->roles;
    char word[SCHEME_WORD];
    bool used = !c->forced;
    for (size_t i = 0; i < r->nweights && !used; i++)
        used = r->weights[i].scheme->code && (claims_is_forced(c, r->weights[i].scheme->code)
            || str_same_word(c->forced, scheme_word(&r->weights[i], word)));
    return used || err_set(err, ERR_USAGE, "--input-scheme %s: no weight in the model can have this scheme",
        c->forced);
}

/* Reads what configs and keys declare. --input-scheme takes precedence over their words. */
static bool
read_declarations(struct claims *c, struct err *err)
{
    struct words *words = &c->roles->words;
    bool gguf = strcmp(catalog_facts_of(c->catalog)->format, "GGUF") == 0;
    if (!config_new(&c->config, c->catalog, words, err))
        return false;
    if (gguf || c->forced)              /* a GGUF file describes itself */
        *words = (struct words){ 0 };
    if (gguf)
        words_read_keys(words, c->catalog);
    if (words->fault == WORDS_UNKNOWN || (words->fault == WORDS_UNDECODED && words->scheme->nrows == 0))
        claims_warn(c, "%s", words->text);
    return true;
}

static bool
claim_schemes(struct claims *c, struct err *err)
{
    const struct scheme *scheme;
    size_t n = catalog_count(c->catalog);
    bool ok = true;
    uint8_t *types = malloc(n + 1);
    if (!types)
        return err_memory(err, n);
    for (size_t i = 0; i < n; i++)
        types[i] = (uint8_t)catalog_at(c->catalog, i)->dtype;
    for (size_t i = 0; ok && (scheme = table_scheme(i)) != NULL; i++)
        ok = claim_all(scheme, c, types, err);
    free(types);
    return ok;
}

/* Checks the weights that the schemes know from the metadata alone. */
static bool
check_complete(struct claims *c, struct err *err)
{
    const char *method = config_method(c->config);
    char shown[STR_SHOWN];
    const struct scheme *scheme;
    bool ok = true;
    if (method && catalog_count(c->catalog) == 0)
        return err_set(err, ERR_MALFORMED, "config.json declares %s, but the model has no tensors",
            str_shown(shown, method, strlen(method)));
    for (size_t i = 0; ok && (scheme = table_scheme(i)) != NULL; i++)
        ok = !scheme->complete || scheme->complete(c, err);
    return ok;
}

static bool
claim_everything(struct claims *c, struct err *err)
{
    struct left_name left[LEFT_NAMES];
    bool ok = read_declarations(c, err) && comfy_markers_new(&c->comfy, c, err);
    if (ok)
        c->grids = swizzle_survey(c);
    c->nleft = table_left_names(left);
    c->left = left;
    ok = ok && claim_schemes(c, err);
    if (ok) {
        smooth_finish(c->roles, c);
        c->roles->rotated = rotation_evidence(c);
    }
    return ok && check_complete(c, err) && described_check(c, err) && fp8_finish(c->roles, c, err) && siblings_check(c, err) && leftover_check(c->roles, c, err)
        && unclaimed_claim(c->roles, c, err)
        && check_names(c, err) && check_forced(c, err);
}

bool
roles_assign(struct roles **out, struct catalog *catalog, const struct roles_options *options, const struct contents *contents,
    struct err *err)
{
    static const struct roles_options none = { 0 };
    size_t n = catalog_count(catalog);
    struct roles *r = calloc(1, sizeof *r);
    if (!r)
        return err_memory(err, sizeof *r);
    *out = r;
    r->catalog = catalog;
    r->owner = calloc(n + 1, sizeof *r->owner);
    r->role = calloc(n + 1, sizeof *r->role);
    if (!r->owner || !r->role)
        return err_memory(err, n * (sizeof *r->owner + sizeof *r->role));
    struct claims c = { .roles = r, .catalog = catalog, .contents = contents, .options = options ? options : &none };
    c.forced = c.options->scheme;
    for (size_t i = 0; i < n; i++)
        c.longest = num_max(c.longest, catalog_at(catalog, i)->name_len);
    c.scratch = malloc(c.longest + CLAIMS_MORE);
    if (!c.scratch)
        return err_memory(err, c.longest);
    bool ok = claim_everything(&c, err);
    /* Valid, but of a format that no row describes. */
    if ((err->kind == ERR_MALFORMED && r->words.fault != WORDS_GOOD)
        || (err->kind == ERR_UNSUPPORTED && r->words.fault == WORDS_UNKNOWN)) {
        err_init(err);
        words_refuse(&r->words, err);
    }
    comfy_markers_free(c.comfy);
    config_free(c.config);
    free(c.sorted);
    free(c.scratch);
    return ok;
}

void
roles_free(struct roles *r)
{
    if (!r)
        return;
    free(r->weights);
    free(r->owner);
    free(r->role);
    free(r);
}

size_t
roles_weight_count(const struct roles *r)
{
    return r->nweights;
}

const struct weight *
roles_weight(const struct roles *r, size_t i)
{
    return &r->weights[i];
}

const struct weight *
roles_weight_of(const struct roles *r, size_t i)
{
    const struct weight *w = NULL;
    if (r->owner[i])
        w = &r->weights[r->owner[i] - 1];
    if (w && !roles_is_companion(r, i))
        return w;
    return NULL;
}

bool
roles_is_companion(const struct roles *r, size_t i)
{
    return r->owner[i] != 0 && r->weights[r->owner[i] - 1].part[0] != catalog_at(r->catalog, i);
}

const struct weight *
roles_owner(const struct roles *r, size_t i)
{
    if (r->owner[i])
        return &r->weights[r->owner[i] - 1];
    return NULL;
}

enum role
roles_role(const struct roles *r, size_t i)
{
    return r->role[i];
}

/* Rejects parts that are stored negated or conjugated: decoders read the raw bytes. */
static bool
check_signs(const struct weight *w, struct err *err)
{
    char shown[STR_SHOWN];
    for (unsigned p = 0; p < SCHEME_PARTS; p++) {
        const struct tensor *t = w->part[p];
        if (t && t->sign != 0)
            return err_at(err, ERR_UNSUPPORTED, t->extent.at, "tensor %s: negated or conjugated storage is not supported "
                "for parts of a quantized weight", str_shown(shown, t->name, t->name_len));
    }
    return true;
}

bool
roles_is_kept(const struct weight *w, enum keeps keeps)
{
    const struct tensor *t = w->part[0];
    bool blocks = t->dtype >= DTYPE_SCALARS;
    return !w->delta && keeps == (blocks ? KEEPS_BLOCKS : KEEPS_CODES) && t->dtype != DTYPE_UNKNOWN && !(blocks && t->big_endian);
}

/* Returns true if an output has the decoded elements of a weight. */
static bool
is_decoded(const struct weight *w, enum keeps keeps, const struct roles_left_out *left_out)
{
    return !roles_is_kept(w, keeps) && !(left_out && left_out->is(left_out->of, w));
}

/* Checks that a weight can be decoded. Rotations are refused for the model. */
static bool
check_weight(const struct roles *r, const struct weight *w, struct err *err)
{
    char shown[STR_SHOWN], detail[SCHEME_DETAIL], within[SCHEME_DETAIL + 4] = "";
    const char *ask = w->scheme->ask;
    if (!check_signs(w, err))
        return false;
    if (w->doubt && !r->rotated)
        return w->doubt->refuse(w, err);
    if (w->scheme->decode && !w->vague)
        return true;
    w->scheme->describe(w, detail);
    if (*detail)
        snprintf(within, sizeof within, " (%s)", detail);
    return err_at(err, ERR_UNSUPPORTED, w->part[0]->extent.at, "tensor %s: %s%s cannot be decoded%s%s",
        str_shown(shown, w->name, w->name_len), w->scheme->name, within,
        ask ? "; " : " yet; use the unquantized model or another quantization of it", str_or(ask, ""));
}

/* Returns true if a weight has this scheme, which then says more than a word. */
static bool
is_claimed(const struct roles *r, const struct scheme *scheme)
{
    bool claimed = false;
    for (size_t i = 0; i < r->nweights && !claimed; i++)
        claimed = r->weights[i].scheme == scheme;
    return claimed;
}

/* Returns true if a tensor has the name and a type of a scheme's codes. */
static bool
is_named_as_codes(const struct scheme *scheme, const struct tensor *t)
{
    struct part_name p;
    bool named = false;
    for (size_t i = 0; i < scheme->nrows && !named; i++)
        named = scheme->rows[i].codes && dtype_in(scheme->rows[i].dtypes, t->dtype) && claims_strip_name(t, scheme->rows[i].codes, &p);
    return named;
}

/* Returns true if the model has tensors that may be codes: integers, or whatever a declared scheme stores. */
static bool
has_codes(const struct roles *r)
{
    bool codes = r->nweights != 0;
    for (size_t i = 0; i < catalog_count(r->catalog) && !codes; i++) {
        const struct tensor *t = catalog_at(r->catalog, i);
        codes = t->shape.rank >= 2 && (dtype_facts(t->dtype)->kind == DTYPE_IS_INT
            || (r->words.scheme && is_named_as_codes(r->words.scheme, t)));
    }
    return codes;
}

bool
roles_decodable(const struct roles *r, enum keeps keeps, const struct roles_left_out *left_out, struct err *err)
{
    bool decodes = keeps == KEEPS_NONE;
    for (size_t i = 0; i < r->nweights && !decodes; i++)
        decodes = is_decoded(&r->weights[i], keeps, left_out);
    bool words = decodes && (r->words.fault == WORDS_UNKNOWN || (r->words.fault == WORDS_UNDECODED && has_codes(r)));
    if (words && !is_claimed(r, r->words.scheme))
        return words_refuse(&r->words, err);
    for (size_t i = 0; i < r->nweights; i++)
        if (is_decoded(&r->weights[i], keeps, left_out) && !check_weight(r, &r->weights[i], err))
            return false;
    if (words)
        return words_refuse(&r->words, err);
    return !decodes || !r->rotated || err_set(err, ERR_UNSUPPORTED, "the weights are rotated (found %s), so "
        "dequantizing would not restore the model; use one without rotation, or the unquantized model", r->rotated);
}
