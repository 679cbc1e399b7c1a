/* Experts in the names of adapters: parameters that hold all of a layer, and modules of single ones. */
#include "adapter/experts.h"

#include <string.h>

const struct parameter experts_parameters[EXPERTS_PARAMETERS] = {
    { "gate_up_proj", 2, { { "gate_proj", "w1" }, { "up_proj", "w3" } } },
    { "down_proj", 1, { { "down_proj", "w2" } } },
    { "weight", 0, { { NULL } } },
};

bool
experts_ends_in(const char *p, size_t n, const char *name, size_t len)
{
    return len <= n && memcmp(p + n - len, name, len) == 0 && (len == n || p[n - len - 1] == '.');
}

/* Returns true if target_modules names a module, whose factors are of its weight then. An expression that is not supported is taken to
 * name all modules but experts. */
static bool
is_target_module(const struct adapter *a, const char *path, size_t n)
{
    static const char experts[] = "experts";
    const json_t *list = adapter_member(a, "target_modules"), *item;
    struct err err;
    size_t i;
    bool yes = false, valid = true;
    err_init(&err);
    if (json_is_string(list))
        valid = adapter_matches(&yes, path, n, "(%s)$", json_string_value(list), "target_modules", &err);
    if (valid && yes)
        return true;
    if (!valid || (json_is_string(list) && strcmp(json_string_value(list), "all-linear") == 0))
        return !experts_ends_in(path, n, experts, sizeof experts - 1);
    json_array_foreach(list, i, item)
        if (json_is_string(item) && experts_ends_in(path, n, json_string_value(item), json_string_length(item)))
            return true;
    return false;
}

/* Returns true if the config names a parameter of the module at PATH: by its whole name, or by the end of it after a dot. A bare name
 * says nothing about modules of target_modules. */
static bool
is_targeted(const struct adapter *a, const char *path, size_t n, const char *parameter, bool bare)
{
    const json_t *list = adapter_member(a, "target_parameters"), *item;
    size_t i;
    json_array_foreach(list, i, item) {
        const char *text = json_string_value(item);
        size_t len = text ? strlen(text) : 0, tail = strlen(parameter);
        if (len == tail && bare && strcmp(text, parameter) == 0)
            return true;
        if (len > tail && text[len - tail - 1] == '.' && experts_ends_in(text, len, parameter, tail) && experts_ends_in(path, n, text, len - tail - 1))
            return true;
    }
    return false;
}

/* PEFT wraps each target parameter in the one before: the last has no base_layer in its path, the one before it has one. */
bool
experts_find_parameter(struct adapter_module *m, struct str *name, const struct adapter *a, struct err *err)
{
    size_t n = m->len, levels = 0, end = n;
    if (json_array_size(adapter_member(a, "target_parameters")) == 0 || !m->factor[FACTOR_A])
        return true;
    for (; str_strip(m->name, &end, ".base_layer"); levels++)
        n = end;
    bool bare = levels != 0 || !is_target_module(a, m->name, n);
    for (size_t i = EXPERTS_PARAMETERS; i-- != 0 && !m->parameter;)
        if (is_targeted(a, m->name, n, experts_parameters[i].name, bare) && levels-- == 0)
            m->parameter = &experts_parameters[i];
    if (!m->parameter)
        return true;
    m->path = (uint32_t)n;
    str_add(name, m->name, n);
    str_format(name, ".%s", m->parameter->name);
    return !name->failed || err_memory(err, name->room);
}

bool
experts_is_stack(const struct adapter_module *m)
{
    const struct tensor *a = m->factor[FACTOR_A], *b = m->factor[FACTOR_B];
    if (!a || !b || a->shape.rank != 3 || b->shape.rank != 3 || m->order != ORDER_LINEAR
            || (shape_dim(&b->shape, 2) == 1 && shape_dim(&a->shape, 0) == shape_dim(&b->shape, 1)))
        return false;
    uint64_t na = shape_dim(&a->shape, 0), nb = shape_dim(&b->shape, 0);
    return shape_dim(&a->shape, 1) == shape_dim(&b->shape, 2) && (na == nb || na == 1 || nb == 1);
}

/* Reads a number at *p, below a dot or the end of a name. */
static bool
read_expert(uint64_t *e, const char **p, const char *end)
{
    const char *from = *p;
    for (*e = 0; *p < end && **p >= '0' && **p <= '9' && *e < UINT32_MAX; (*p)++)
        *e = *e * 10 + (uint64_t)(**p - '0');
    return *p != from && (*p == end || **p == '.');
}

/* Splits what follows "experts." in names of gpt-oss' modules, gate_up_projs.E: each is a whole slice of the parameter. */
static const struct parameter *
split_slice(const char *p, const char *end, uint64_t *e)
{
    static const struct parameter whole[] = { { .name = "gate_up_proj", .parts = 1 }, { .name = "down_proj", .parts = 1 } };
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        size_t n = strlen(whole[i].name);
        const char *number = p + n + 2;
        if (number < end && memcmp(p, whole[i].name, n) == 0 && memcmp(p + n, "s.", 2) == 0 && read_expert(e, &number, end) && number == end)
            return &whole[i];
    }
    return NULL;
}

const struct parameter *
experts_split(const char *name, size_t len, size_t *path, uint64_t *e, size_t *part)
{
    static const char experts[] = "experts.";
    const char *at = NULL;
    for (size_t i = 0; i + sizeof experts - 1 < len; i++)
        if ((i == 0 || name[i - 1] == '.') && memcmp(name + i, experts, sizeof experts - 1) == 0)
            at = name + i;
    if (!at)
        return NULL;
    const char *p = at + sizeof experts - 1, *end = name + len;
    *path = (size_t)(p - 1 - name);
    *part = 0;
    const struct parameter *slice = split_slice(p, end, e);
    if (slice || !read_expert(e, &p, end) || p++ == end)
        return slice;
    for (size_t i = 0; i < EXPERTS_PARAMETERS; i++)
        for (*part = 0; *part < experts_parameters[i].parts; (*part)++)
            for (size_t k = 0; k < 2; k++) {
                const char *word = experts_parameters[i].part[*part][k];
                if (strlen(word) == (size_t)(end - p) && memcmp(word, p, (size_t)(end - p)) == 0)
                    return &experts_parameters[i];
            }
    return NULL;
}
