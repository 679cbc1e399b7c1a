/* Generated tensors: RoPE frequency factors, and positions of sound. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/real.h"
#include "family/config_priv.h"

enum { MAKE_TABLE_MAX = 1 << 24 };      /* limit on the elements of a table */

/* --- llama3 */

/* Reads a number of rope_parameters. The default applies if it is missing; null is an error. */
static bool
make_read_number(double *out, const json_t *rope, const char *name, double missing, struct err *err)
{
    const json_t *value = json_object_get(rope, name);
    if (value)
        *out = json_number_value(value);
    else
        *out = missing;
    return !value || json_is_number(value) || config_wrong(name, "a number", err);
}

/* half: only the first half of the dimensions of a head is rotated in layers that scale. */
static bool
make_llama3(struct family_made *made, struct family_config *c, bool half, struct err *err)
{
    const json_t *rope = c->scope.rope, *head_dim = config_get(c->members, "head_dim");
    struct llama3_rope r;
    uint64_t n = 0;
    if (head_dim)
        n = (uint64_t)json_integer_value(head_dim);
    else if (c->heads != 0)
        n = c->hidden_size / c->heads;
    if (!make_read_number(&r.theta, rope, "rope_theta", 10000, err) || !make_read_number(&r.factor, rope, "factor", 8, err)
            || !make_read_number(&r.low, rope, "low_freq_factor", 1, err)
            || !make_read_number(&r.high, rope, "high_freq_factor", 4, err)
            || !make_read_number(&r.length, rope, "original_max_position_embeddings", 8192, err))
        return false;
    if (!(r.theta > 0 && r.factor > 0 && r.low > 0 && r.high >= r.low && r.length > 0))
        return err_set(err, ERR_MALFORMED, "config.json: rope_type llama3 requires positive rope_theta, factor, "
            "low_freq_factor and original_max_position_embeddings, and high_freq_factor not below low_freq_factor");
    if (n == 0 || n % 2 != 0 || n / 2 > FAMILY_MADE_MAX)
        return err_set(err, ERR_MALFORMED, "config.json: head size %" PRIu64 " is not an even number from 2 to "
            "%d", n, 2 * FAMILY_MADE_MAX);
    made->n = n / 2;
    for (uint64_t i = 0; i < n / 2; i++)
        if (!half)
            made->x[i] = llama3_factor(&r, i, n);
        else
            made->x[i] = i < n / 4 ? llama3_factor_double(&r, i, n / 2) : 1;
    return true;
}

/* --- lists, and the table */

static bool
make_list(struct family_made *made, const struct family_config *c, const char *name, struct err *err)
{
    const json_t *list = json_object_get(c->scope.rope, name);
    made->n = json_array_size(list);
    if (made->n == 0 || made->n > FAMILY_MADE_MAX)
        return config_wrong(name, "a list of 1 to 1024 numbers", err);
    for (size_t i = 0; i < made->n; i++) {
        const json_t *x = json_array_get(list, i);
        made->x[i] = (float)json_number_value(x);
        if (!json_is_number(x))
            return config_wrong(name, "a list of numbers", err);
    }
    return true;
}

/* The dimensions of a head that are not rotated have a factor that makes their angle 0. */
static bool
make_proportional(struct family_made *made, struct family_config *c, struct err *err)
{
    json_t *value;
    if (!scope_value(&value, "hfull", &c->scope, 0, err))
        return false;
    double h = json_number_value(value);
    const json_t *partial = config_get(c->scope.rope, "partial_rotary_factor");
    double factor = partial ? json_number_value(partial) : 0.25, n = trunc(h * factor / 2);
    json_decref(value);
    if (!(h >= 2 && h / 2 <= FAMILY_MADE_MAX) || h != 2 * floor(h / 2) || !(n >= 0 && n <= h / 2))
        return err_set(err, ERR_MALFORMED, "config.json: head size %g is not an even number from 2 to %d, or "
            "partial_rotary_factor %g not from 0 to 1", h, 2 * FAMILY_MADE_MAX, factor);
    made->n = (size_t)(h / 2);
    for (size_t i = 0; i < made->n; i++)
        made->x[i] = (double)i < n ? 1.0f : 1e30f;
    return true;
}

/* --- sinusoids */

/* Reads a let that is a whole number from `least` on. */
static bool
make_read_size(size_t *n, const char *name, size_t least, struct family_config *c, struct err *err)
{
    json_t *value;
    if (!scope_value(&value, name, &c->scope, 0, err))
        return false;
    double x = json_number_value(value);
    json_decref(value);
    if (!(x >= (double)least && x <= MAKE_TABLE_MAX && x == floor(x)))
        return err_set(err, ERR_MALFORMED, "config.json: %s %g is not a whole number from %zu to %d", name, x, least, MAKE_TABLE_MAX);
    *n = (size_t)x;
    return true;
}

/* A row for each position: sines of the position divided by timescales from 1 to 10000 in geometric order, then cosines. Timescales
 * and angles are rounded to F32, as a model that computes them has them. */
static bool
make_sinusoids(struct family_made *made, struct family_config *c, struct err *err)
{
    const double ln10000 = 0x1.26bb1bbb55516p+3;
    size_t rows, n;
    if (!make_read_size(&rows, "positions", 1, c, err) || !make_read_size(&n, "channels", 4, c, err))
        return false;
    if (n % 2 != 0 || rows > MAKE_TABLE_MAX / n)
        return err_set(err, ERR_MALFORMED, "config.json: %zu positions of %zu channels: expected an even number of channels, and at "
            "most %d numbers", rows, n, MAKE_TABLE_MAX);
    float *x = made->table = malloc(rows * n * sizeof *x);
    if (!x)
        return err_memory(err, rows * n * sizeof *x);
    for (size_t k = 0; k < n / 2; k++) {
        float exponent = (float)(-ln10000 / (double)(n / 2 - 1)) * (float)k, inverse = real_exp(exponent);
        for (size_t row = 0; row < rows; row++) {
            float angle = (float)row * inverse;
            real_sincos(angle, &x[row * n + k], &x[row * n + n / 2 + k]);
        }
    }
    made->rows = rows;
    made->n = n;
    return true;
}

bool
family_make(struct family_made *made, struct family_config *c, const struct family_make *make, struct err *err)
{
    made->name = make->gguf;
    made->n = made->rows = 0;
    switch (make->function) {
    case MAKE_LLAMA3:
        return make_llama3(made, c, false, err);
    case MAKE_LLAMA3_HALF:
        return make_llama3(made, c, true, err);
    case MAKE_LONG_FACTOR:
        return make_list(made, c, "long_factor", err);
    case MAKE_SHORT_FACTOR:
        return make_list(made, c, "short_factor", err);
    case MAKE_PROPORTIONAL:
        return make_proportional(made, c, err);
    case MAKE_SINUSOIDS:
        return make_sinusoids(made, c, err);
    }
    return err_set(err, ERR_BUG, "%s: function without code", make->where);
}
