/* The functions of expressions. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/push.h"
#include "base/limits.h"
#include "base/real.h"
#include "family/expr_priv.h"
#include "family/pattern.h"

enum { DATA_MAX = 1 << 20 };    /* elements that data() and ones() read */

/* A call. */
struct function_call {
    json_t *const *arg;
    size_t n;
    struct scope *scope;
    uint64_t b;
    json_t *value;              /* result; NULL: null */
    struct err *err;
};

typedef bool function_run(struct function_call *c);

static bool
give(struct function_call *c, json_t *value)
{
    c->value = value;
    return value || err_memory(c->err, 0);
}

static bool
give_number(struct function_call *c, double x)
{
    return give(c, expr_real(x));
}

/* --- numbers */

/* Returns a number, or NaN for any other value. */
static double
function_number_of(const struct function_call *c, size_t i)
{
    if (json_is_number(c->arg[i]))
        return json_number_value(c->arg[i]);
    return NAN;
}

static bool
run_int(struct function_call *c)
{
    return give_number(c, trunc(function_number_of(c, 0)));
}

static bool
run_round(struct function_call *c)
{
    return give_number(c, floor(function_number_of(c, 0) + 0.5));
}

static bool
run_log(struct function_call *c)
{
    double x = function_number_of(c, 0);
    return give_number(c, x > 0 && isfinite(x) ? real_log2(x) * M_LN2 : NAN);
}

static bool
run_sqrt(struct function_call *c)
{
    return give_number(c, sqrt(function_number_of(c, 0)));
}

static bool
run_pow(struct function_call *c)
{
    return give_number(c, real_power(function_number_of(c, 0), function_number_of(c, 1)));
}

/* Returns the density of the normal distribution at x. */
static double
normal_density(double x)
{
    return real_power(M_E, -x * x / 2) / sqrt(2 * M_PI);
}

/* Returns the probability that a normally distributed number is below x. Series: x + x^3 / 3 + x^5 / (3 * 5) + ... */
static double
normal_below(double x)
{
    double term = x, sum = x, was = 0;
    if (x > 9 || x < -9)        /* the rest is less than half the last bit of 1 */
        return x > 0;
    for (unsigned n = 1; sum != was && n < 1000; n++) {
        was = sum;
        term *= x * x / (2 * n + 1);
        sum += term;
    }
    return 0.5 + normal_density(x) * sum;
}

/* Gives the number that a normally distributed one is below with this probability, as torch's Normal.icdf() has it in F32; JSON
 * has no infinity. */
static bool
run_probit(struct function_call *c)
{
    float t = 2 * (float)function_number_of(c, 0) - 1;
    double p = ((double)t + 1) / 2, x = 0;
    if (p == 0)
        return give(c, json_string("-Infinity"));
    if (!(p > 0 && p < 1))
        return true;
    for (unsigned i = 0; i < 64; i++)           /* Newton's method converges from 0 */
        x -= (normal_below(x) - p) / normal_density(x);
    return give_number(c, (double)((float)(x * M_SQRT1_2) * (float)M_SQRT2));
}

/* The inverse; null is -infinity. */
static bool
run_normal(struct function_call *c)
{
    return give_number(c, json_is_null(c->arg[0]) ? 0 : normal_below(function_number_of(c, 0)));
}

/* --- lists */

static size_t
characters(const json_t *string)
{
    const char *p = json_string_value(string);
    size_t left = json_string_length(string), n = 0, size;
    uint32_t code;
    for (; (size = str_utf8_char(p, left, &code)) != 0; n++) {
        p += size;
        left -= size;
    }
    return n;
}

/* Gives the shortest decimal that is the same number as F32. */
static bool
run_f32(struct function_call *c)
{
    return !json_is_number(c->arg[0]) || give_number(c, push_real_of((float)json_number_value(c->arg[0])));
}

static bool
run_len(struct function_call *c)
{
    const json_t *x = c->arg[0];
    size_t n;
    if (json_is_array(x))
        n = json_array_size(x);
    else
        n = json_object_size(x);
    if (json_is_string(x)) {
        if (!scope_steps(c->scope, json_string_length(x), c->err))
            return false;
        n = characters(x);
    }
    return give_number(c, (double)n);
}

static bool
run_max(struct function_call *c)
{
    const json_t *x = c->arg[0];
    double most = -INFINITY;
    if (!json_is_array(x))
        most = function_number_of(c, 0);
    if (!scope_steps(c->scope, json_array_size(x), c->err))
        return false;
    for (size_t i = 0; i < json_array_size(x); i++) {
        const json_t *one = json_array_get(x, i);
        if (!json_is_number(one))
            return true;
        most = fmax(most, json_number_value(one));
    }
    return give_number(c, most);
}

static bool
run_index(struct function_call *c)
{
    const json_t *list = c->arg[0], *x = c->arg[1];
    size_t i = 0, n = json_array_size(list);
    for (; i < n; i++) {
        const json_t *one = json_array_get(list, i);
        bool numbers = json_is_number(one) && json_is_number(x);
        if (numbers ? json_number_value(one) == json_number_value(x) : json_equal(one, x))
            break;
    }
    return scope_steps(c->scope, i, c->err) && give_number(c, (double)i);
}

static bool
run_list(struct function_call *c)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < c->n; i++)
        if (json_array_append(list, c->arg[i]) != 0) {
            json_decref(list);
            list = NULL;
        }
    return give(c, list);
}

/* --- tensors */

/* Sets *t to the tensor named by the first argument, in which "{b}" is the layer; NULL if it does not exist. */
static bool
function_find(struct function_call *c, const struct tensor **t)
{
    const struct scope_tensors *tensors = &c->scope->tensors;
    const char *text = json_string_value(c->arg[0]), *hole = text ? strstr(text, "{b}") : NULL;
    struct str name = { 0 };
    *t = NULL;
    if (!text || !tensors->find)
        return true;
    if (hole)
        str_format(&name, "%.*s%" PRIu64 "%s", (int)(hole - text), text, c->b, hole + 3);
    else
        str_text(&name, text);
    if (!name.failed)
        *t = tensors->find(tensors->of, str_or(name.p, ""), name.len);
    bool ok = !name.failed || err_memory(c->err, name.room);
    str_clear(&name);
    return ok;
}

static bool
run_has(struct function_call *c)
{
    const struct tensor *t;
    return function_find(c, &t) && give(c, json_boolean(t != NULL));
}

static bool
give_dim(struct function_call *c, double i)
{
    const struct tensor *t;
    if (!function_find(c, &t))
        return false;
    return !t || !(i >= 0 && i < t->shape.rank) || give_number(c, (double)shape_dim(&t->shape, (uint32_t)i));
}

static bool
run_dim(struct function_call *c)
{
    return give_dim(c, function_number_of(c, 1));
}

static bool
run_rows(struct function_call *c)
{
    return give_dim(c, 0);
}

struct function_count {
    const char *pattern;
    uint64_t matches, layers;   /* layers: 1 + the largest that matched */
    uint64_t names;
};

static bool
count_name(void *of, const char *name, size_t n)
{
    struct function_count *count = of;
    uint64_t b = 0;
    count->names++;
    if (pattern_matches(count->pattern, name, n, &b) && b < UINT64_MAX) {
        count->matches++;
        if (b + 1 > count->layers)
            count->layers = b + 1;
    }
    return true;
}

static bool
count_names(struct function_call *c, struct function_count *count)
{
    const struct scope_tensors *tensors = &c->scope->tensors;
    *count = (struct function_count){ .pattern = json_string_value(c->arg[0]) };
    if (!count->pattern || !tensors->each)
        return true;
    tensors->each(tensors->of, count_name, count);
    return scope_steps(c->scope, count->names, c->err);
}

static bool
run_count(struct function_call *c)
{
    struct function_count count;
    return count_names(c, &count) && give_number(c, (double)count.layers);
}

static bool
run_number(struct function_call *c)
{
    struct function_count count;
    return count_names(c, &count) && give_number(c, (double)count.matches);
}

/* Reads at most `most` elements of the tensor into an array that the caller frees; *x is NULL if the tensor does not exist, or it
 * has none. */
static bool
read_elements(struct function_call *c, double **x, size_t *n, uint64_t most)
{
    const struct scope_tensors *tensors = &c->scope->tensors;
    const struct tensor *t;
    uint64_t numel = 0;
    *x = NULL;
    *n = 0;
    if (!function_find(c, &t))
        return false;
    if (!t || !tensors->read || !shape_numel(&t->shape, &numel) || numel == 0)
        return true;
    numel = numel < most ? numel : most;
    if (!limits_check(numel, DATA_MAX, "elements of a tensor that a family reads", c->err))
        return false;
    if (!scope_steps(c->scope, (size_t)numel, c->err))
        return false;
    *x = malloc((size_t)numel * sizeof **x);
    *n = (size_t)numel;
    if (!*x)
        return err_memory(c->err, numel * sizeof **x);
    if (tensors->read(tensors->of, t, *x, *n, c->err))
        return true;
    free(*x);
    *x = NULL;
    return false;
}

static bool
run_value(struct function_call *c)
{
    double *x;
    size_t n;
    if (!read_elements(c, &x, &n, 1))
        return false;
    bool ok = !x || give_number(c, x[0]);
    free(x);
    return ok;
}

/* Adds the elements of a tensor of I64 to a list. */
static bool
give_integers(struct function_call *c, const struct tensor *t)
{
    enum { MOST = 256 };
    int64_t x[MOST];
    uint64_t n = 0;
    if (!shape_numel(&t->shape, &n) || n > MOST)
        return limits_check(n, MOST, "integers of a tensor that a family reads", c->err);
    if (!c->scope->tensors.integers(c->scope->tensors.of, t, x, (size_t)n, c->err))
        return false;
    json_t *list = json_array();
    bool ok = list != NULL;
    for (size_t i = 0; ok && i < n; i++)
        ok = json_array_append_new(list, json_integer(x[i])) == 0;
    c->value = list;
    return ok || err_memory(c->err, 0);
}

/* data(T) or data(T, layer) */
static bool
run_data(struct function_call *c)
{
    const struct tensor *t;
    double *x;
    size_t n;
    if (c->n > 1 && json_is_number(c->arg[1]) && json_number_value(c->arg[1]) >= 0)
        c->b = (uint64_t)json_number_value(c->arg[1]);
    if (!function_find(c, &t))
        return false;
    if (t && t->dtype == DTYPE_I64 && c->scope->tensors.integers)
        return give_integers(c, t);
    if (!read_elements(c, &x, &n, UINT64_MAX))
        return false;
    json_t *list = NULL;
    if (x)
        list = json_array();
    bool ok = !x || list;
    for (size_t i = 0; ok && i < n; i++)
        ok = json_array_append_new(list, isfinite(x[i]) ? json_real(push_real_of((float)x[i])) : json_null()) == 0;
    free(x);
    c->value = list;
    return ok || err_memory(c->err, 0);
}

static bool
run_ones(struct function_call *c)
{
    double *x, ones = 0;
    size_t n;
    if (!read_elements(c, &x, &n, UINT64_MAX))
        return false;
    for (size_t i = 0; x && i < n; i++)
        ones += x[i] == 1;
    bool ok = !x || give_number(c, ones);
    free(x);
    return ok;
}

/* Gives the mean of the elements, summed as doubles. */
static bool
run_mean(struct function_call *c)
{
    double *x, sum = 0;
    size_t n;
    if (!read_elements(c, &x, &n, UINT64_MAX))
        return false;
    for (size_t i = 0; x && i < n; i++)
        sum += x[i];
    bool ok = !x || give_number(c, sum / (double)n);
    free(x);
    return ok;
}

static bool
run_has_file(struct function_call *c)
{
    const char *name = json_string_value(c->arg[0]);
    return give(c, json_boolean(name && c->scope->has_file && c->scope->has_file(c->scope->folder, name)));
}

/* Finds the id of a special token among the added tokens of tokenizer_config.json. */
static bool
run_token(struct function_call *c)
{
    json_t *added = json_object_get(c->scope->tokenizer_config, "added_tokens_decoder"), *token;
    const char *key;
    if (!scope_steps(c->scope, json_object_size(added), c->err))
        return false;
    json_object_foreach (added, key, token)
        if (json_is_true(json_object_get(token, "special")) && json_equal(json_object_get(token, "content"), c->arg[0]))
            return give_number(c, strtod(key, NULL));
    return true;
}

/* --- the table */

static const struct function_row {
    const char *name;
    unsigned fewest, most;      /* arguments */
    function_run *run;
} functions[] = {
    { "int", 1, 1, run_int }, { "round", 1, 1, run_round }, { "f32", 1, 1, run_f32 }, { "log", 1, 1, run_log }, { "sqrt", 1, 1, run_sqrt },
    { "pow", 2, 2, run_pow }, { "probit", 1, 1, run_probit }, { "normal", 1, 1, run_normal }, { "len", 1, 1, run_len }, { "max", 1, 1, run_max }, { "index", 2, 2, run_index },
    { "list", 0, EXPR_ARGS, run_list }, { "has", 1, 1, run_has }, { "dim", 2, 2, run_dim }, { "rows", 1, 1, run_rows },
    { "count", 1, 1, run_count }, { "number", 1, 1, run_number }, { "value", 1, 2, run_value }, { "data", 1, 2, run_data },
    { "ones", 1, 1, run_ones }, { "mean", 1, 1, run_mean }, { "has_file", 1, 1, run_has_file }, { "token", 1, 1, run_token },
};

uint32_t
expr_function(const char *name, size_t n)
{
    for (uint32_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (str_is(name, n, functions[i].name))
            return i;
    return EXPR_NONE;
}

const char *
expr_function_arguments(uint32_t function, unsigned *fewest, unsigned *most)
{
    *fewest = functions[function].fewest;
    *most = functions[function].most;
    return functions[function].name;
}

bool
expr_call(json_t **value, uint32_t function, json_t *const *arg, size_t n, struct scope *scope, uint64_t b, struct err *err)
{
    struct function_call c = { .arg = arg, .n = n, .scope = scope, .b = b, .err = err };
    *value = NULL;
    if (!functions[function].run(&c)) {
        json_decref(c.value);
        return false;
    }
    if (c.value)
        *value = c.value;
    else
        *value = json_null();
    return true;
}
