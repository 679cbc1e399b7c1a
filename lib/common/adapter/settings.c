/* The numbers of each module: rank, alpha, scale. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/experts.h"
#include "adapter/factor.h"
#include "base/bytes.h"
#include "base/matcher.h"

enum { RANK_MAX = 65536, PATTERN_STEPS = 1 << 26, PATTERN_MAX = 1024 };

/* --- rank and alpha of a module */

bool
adapter_matches(bool *yes, const char *name, size_t n, const char *format, const char *expression, const char *member,
    struct err *err)
{
    struct matcher *matcher = malloc(sizeof *matcher);
    struct str text = { .max = PATTERN_MAX };
    uint64_t left = PATTERN_STEPS;
    char shown[STR_SHOWN];
    if (!matcher)
        return err_memory(err, sizeof *matcher);
    const char *hole = strstr(format, "%s");
    str_add(&text, format, (size_t)(hole - format));
    str_text(&text, expression);
    str_text(&text, hole + 2);
    bool ok = (!text.failed && !strstr(expression, "(?") && matcher_read(matcher, text.p, text.len, false)) || err_set(err,
        ERR_UNSUPPORTED, "adapter_config.json: %s: the expression %s is not supported", member, str_shown(shown,
            expression, strlen(expression)));
    *yes = ok && matcher_match(matcher, name, n, &left);
    str_clear(&text);
    free(matcher);
    return ok && (left != 0 || err_set(err, ERR_LIMIT, "adapter_config.json: %s takes too long to match", member));
}

/* Sets *out to the value of the first key of a pattern object that fits the module; leaves it alone if none does. */
static bool
find_pattern(const json_t **out, const struct adapter *a, const char *member, const char *name, size_t n, struct err *err)
{
    json_t *patterns = json_object_get(a->config, member), *value;
    const char *key;
    bool found = false;
    json_object_foreach(patterns, key, value) {
        if (!adapter_matches(&found, name, n, "(.*\\.)?(%s)$", key, member, err))
            return false;
        if (found) {
            *out = value;
            break;
        }
    }
    return true;
}

/* Sets rank and scale as the config has them for a path: the module's, or a path of a parameter in the module. */
static bool
adapter_configure(struct adapter_module *m, const struct adapter *a, const char *name, size_t n, struct err *err)
{
    const json_t *r = adapter_member(a, "r"), *alpha = adapter_member(a, "lora_alpha");
    const char *where = "adapter_config.json";
    if (a->family == ADAPTER_SINGLE)
        where = "lora_adapter_metadata";
    if (!alpha)
        alpha = adapter_member(a, "alpha");
    if (!find_pattern(&r, a, "rank_pattern", name, n, err) || !find_pattern(&alpha, a, "alpha_pattern", name, n, err))
        return false;
    bool stored = !r && a->family == ADAPTER_SINGLE && m->rank != 0;
    if (!stored && (!json_is_integer(r) || json_integer_value(r) < 1))
        return err_set(err, ERR_MALFORMED, "%s: r is not a positive integer", where);
    if (!json_is_number(alpha) || !isfinite(json_number_value(alpha)))
        return err_set(err, ERR_MALFORMED, "%s: %s is missing or not a number", where, strcmp(
            json_string_value(adapter_member(a, "peft_type")), "LORA") == 0 ? "lora_alpha" : "alpha");
    if (!stored)
        m->rank = (uint64_t)json_integer_value(r);
    m->alpha = json_number_value(alpha);
    m->whole_scale = m->alpha / (adapter_flag(a, "use_rslora") ? sqrt((double)m->rank) : (double)m->rank);
    m->scale = m->whole_scale * a->c;
    return true;
}

/* Returns the rank that the factors have, or 0. */
static uint64_t
stored_rank(const struct adapter_module *m)
{
    static const enum factor_role rows[] = { FACTOR_HADA_1B, FACTOR_LOKR_2B, FACTOR_LOKR_1B };
    const struct tensor *a = m->factor[FACTOR_A], *b = m->factor[FACTOR_B];
    if (b && b->shape.rank == 3 && (m->order == ORDER_MLX || m->whole || experts_is_stack(m)))
        return shape_dim(&b->shape, 2);         /* one matrix for each expert */
    if (a && a->shape.rank >= 2)
        switch (m->order) {
        case ORDER_LINEAR:
        case ORDER_EMBEDDING:
            return shape_dim(&a->shape, 0);
        default:
            if (b && b->shape.rank >= 2)
                return shape_dim(&a->shape, a->shape.rank - 1);
            return 0;
        }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (m->factor[rows[i]] && m->factor[rows[i]]->shape.rank >= 2)
            return shape_dim(&m->factor[rows[i]]->shape, 0);
    return 0;
}

/* Returns true if the module has factors that s scales. */
static bool
is_scaled(const struct adapter_module *m)
{
    for (size_t i = 0; i < FACTOR_ROLES; i++)
        if (m->factor[i] && (i <= FACTOR_B_BIAS || (FACTOR_HADA_1A <= i && i <= FACTOR_LOKR_T2)))
            return true;
    return false;
}

/* Reads a 64-bit integer: the type in which diffusers' converter to kohya's form writes alpha. */
static bool
read_integer(double *value, const struct tensor *t, const struct model *m, struct err *err)
{
    uint8_t bytes[sizeof(int64_t)];
    if (!model_bytes(m, t, 0, bytes, sizeof bytes, err))
        return false;
    *value = (double)(int64_t)load_le64(bytes);
    return true;
}

/* Reads the tensor with alpha. */
static bool
read_alpha(double *alpha, const struct adapter_module *m, const struct adapter_job *job, struct err *err)
{
    const struct tensor *t = m->factor[FACTOR_ALPHA];
    uint64_t n;
    float x;
    if (!shape_numel(&t->shape, &n) || n != 1)
        return adapter_fail(m, ERR_MALFORMED, err, "alpha is not a single number");
    if (t->dtype == DTYPE_I64)
        return read_integer(alpha, t, job->model, err);
    if (!factor_elements(job->model, job->kernels, t, 0, 1, &x, err))
        return false;
    *alpha = x;
    return true;
}

/* Checks that the tensor with alpha, if there is one, agrees with the value that `from` declares. */
static bool
check_alpha(const struct adapter_module *m, const char *from, const struct adapter_job *job, struct err *err)
{
    double alpha;
    return !m->factor[FACTOR_ALPHA] || (read_alpha(&alpha, m, job, err) && (alpha == m->alpha || adapter_fail(m, ERR_MALFORMED, err,
        "its alpha tensor is %g, but %s declares %g", alpha, from, m->alpha)));
}

/* --- modules by the families of adapters */

/* Sets the scale of a module to the alpha of the header, divided by its rank. */
static bool
scale_by_header(struct adapter_module *m, const struct adapter *a, struct err *err)
{
    if (m->rank == 0 || (a->rank_name && a->declared_rank != (double)m->rank))
        return adapter_fail(m, ERR_UNSUPPORTED, err, "the header declares %s %g%s%s, but its factors have rank %" PRIu64 ": its scale is "
            "unknown", a->alpha_name, a->alpha, a->rank_name ? " and another " : "", str_or(a->rank_name, ""), m->rank);
    m->alpha = a->alpha;
    m->whole_scale = m->alpha / (double)m->rank;
    return true;
}

/* Sets scale and rank of a module of a single file. */
static bool
scale_single(struct adapter_module *m, const struct adapter *a, const struct adapter_job *job, struct err *err)
{
    bool named, whole = m->factor[FACTOR_LOKR_1] && m->factor[FACTOR_LOKR_2];
    struct adapter tower = { .family = ADAPTER_SINGLE, .config = adapter_tower(a, m, &named) };
    m->rank = stored_rank(m);
    m->whole_scale = 1;
    if (is_scaled(m) && (adapter_member(&tower, "r") || adapter_member(&tower, "lora_alpha")) && (named || !m->factor[FACTOR_ALPHA]))
        return adapter_configure(m, &tower, m->name, m->len, err) && check_alpha(m, "lora_adapter_metadata", job, err);
    if (whole || (!m->factor[FACTOR_ALPHA] && !a->alpha_name))
        return true;
    if (!m->factor[FACTOR_ALPHA])
        return !is_scaled(m) || scale_by_header(m, a, err);
    if (!read_alpha(&m->alpha, m, job, err))
        return false;
    if (m->rank == 0)
        return adapter_fail(m, ERR_MALFORMED, err, "it has alpha, but no factors");
    m->whole_scale = m->alpha / (double)m->rank;
    return true;
}

/* Sets scale and rank of a module of a GGUF or MLX adapter. */
static bool
scale_short(struct adapter_module *m, const struct adapter *a, struct err *err)
{
    const struct meta *alpha = catalog_meta_find(a->file.catalog, "adapter.lora.alpha");
    const json_t *scale = json_object_get(json_object_get(a->config, "lora_parameters"), "scale");
    m->rank = stored_rank(m);
    m->whole_scale = 1;
    if (a->family == ADAPTER_GGUF && alpha && alpha->value.as.f != 0 && m->rank != 0) {
        m->alpha = alpha->value.as.f;
        m->whole_scale = m->alpha / (double)m->rank;
    }
    if (a->family == ADAPTER_MLX && is_scaled(m) && !json_is_number(scale))
        return err_set(err, ERR_MALFORMED, "adapter_config.json: lora_parameters has no scale");
    if (a->family == ADAPTER_MLX && is_scaled(m))
        m->whole_scale = json_number_value(scale);
    return true;
}

/* Checks that factors which belong together are there. */
static bool
check_pairs(const struct adapter_module *m, struct err *err)
{
    static const struct { enum factor_role one, two; const char *has, *lacks; } pairs[] = {
        { FACTOR_A, FACTOR_B, "lora_A (down)", "lora_B (up)" }, { FACTOR_B, FACTOR_A, "lora_B (up)", "lora_A (down)" },
        { FACTOR_MID, FACTOR_A, "lora_mid", "lora_down" }, { FACTOR_B_BIAS, FACTOR_B, "a bias of lora_B", "lora_B" },
        { FACTOR_HADA_1A, FACTOR_HADA_1B, "hada_w1_a", "hada_w1_b" }, { FACTOR_HADA_1B, FACTOR_HADA_2A, "hada_w1_b", "hada_w2_a" },
        { FACTOR_HADA_2A, FACTOR_HADA_2B, "hada_w2_a", "hada_w2_b" }, { FACTOR_HADA_2B, FACTOR_HADA_1A, "hada_w2_b", "hada_w1_a" },
        { FACTOR_HADA_T1, FACTOR_HADA_T2, "hada_t1", "hada_t2" }, { FACTOR_HADA_T2, FACTOR_HADA_T1, "hada_t2", "hada_t1" },
        { FACTOR_HADA_T1, FACTOR_HADA_1A, "hada_t1", "hada_w1_a" },
        { FACTOR_LOKR_1A, FACTOR_LOKR_1B, "lokr_w1_a", "lokr_w1_b" }, { FACTOR_LOKR_1B, FACTOR_LOKR_1A, "lokr_w1_b", "lokr_w1_a" },
        { FACTOR_LOKR_2A, FACTOR_LOKR_2B, "lokr_w2_a", "lokr_w2_b" }, { FACTOR_LOKR_2B, FACTOR_LOKR_2A, "lokr_w2_b", "lokr_w2_a" },
        { FACTOR_LOKR_T2, FACTOR_LOKR_2A, "lokr_t2", "lokr_w2_a" },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (m->factor[pairs[i].one] && !m->factor[pairs[i].two])
            return adapter_fail(m, ERR_MALFORMED, err, "it has %s, but no %s", pairs[i].has, pairs[i].lacks);
    bool one = m->factor[FACTOR_LOKR_1] || m->factor[FACTOR_LOKR_1A], two = m->factor[FACTOR_LOKR_2] || m->factor[FACTOR_LOKR_2A];
    if (one != two)
        return adapter_fail(m, ERR_MALFORMED, err, "it has only one of lokr_w1 and lokr_w2");
    for (enum factor_role i = FACTOR_A; i <= FACTOR_B; i++)
        if (m->factor[i] && (m->factor[i]->shape.rank < 2 || shape_is_empty(&m->factor[i]->shape)))
            return adapter_fail(m, ERR_MALFORMED, err, "a factor is empty or has one dimension, as shards of DeepSpeed ZeRO-3 that "
                "were not gathered");
    return !(m->factor[FACTOR_MAGNITUDE] || m->factor[FACTOR_DORA_SCALE]) || m->factor[FACTOR_A]
        || m->factor[FACTOR_HADA_1A] || one || adapter_fail(m, ERR_MALFORMED, err, "it has magnitudes, but no factors");
}

/* Sets rank and scale of a module of PEFT. Patterns are matched against the path of a parameter. */
static bool
scale_peft(struct adapter_module *m, const struct adapter *a, struct err *err)
{
    struct str name = { 0 };
    bool ok = experts_find_parameter(m, &name, a, err)
        && adapter_configure(m, a, name.len != 0 ? name.p : m->name, name.len != 0 ? name.len : m->len, err);
    str_clear(&name);
    return ok;
}

/* Sets rank and scale of one module. */
static bool
settings_settle(struct adapter_module *m, const struct adapter *a, const struct adapter_job *job, struct err *err)
{
    if (!check_pairs(m, err))
        return false;
    if (a->family == ADAPTER_GGUF || a->family == ADAPTER_MLX ? !scale_short(m, a, err)
            : a->family == ADAPTER_SINGLE ? !scale_single(m, a, job, err)
            : is_scaled(m) && !scale_peft(m, a, err))
        return false;
    if (m->rank > RANK_MAX)
        return adapter_fail(m, ERR_LIMIT, err, "its rank exceeds the limit of %d", RANK_MAX);
    if (a->family == ADAPTER_PEFT && !check_alpha(m, "adapter_config.json", job, err))
        return false;
    m->scale = m->whole_scale * a->c;
    return true;
}

bool
adapter_settle_modules(struct adapter *a, const struct adapter_job *job, struct err *err)
{
    bool dora = false;
    if (!adapter_read_header(a, err) && !adapter_tolerates(a, err))
        return false;
    for (size_t i = 0; i < a->n; i++) {
        if (!settings_settle(&a->module[i], a, job, err) && !adapter_tolerates(a, err))
            return false;
        dora = dora || a->module[i].factor[FACTOR_MAGNITUDE];
    }
    return dora || a->family != ADAPTER_PEFT || !adapter_flag(a, "use_dora") || err_set(err, ERR_MALFORMED,
        "adapter_config.json has use_dora, but the file has no lora_magnitude_vector");
}
