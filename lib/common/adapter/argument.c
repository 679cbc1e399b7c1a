#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "adapter/adapter.h"
#include "base/array.h"

/* Returns the length of [+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)? at the start of the text, or 0. */
static size_t
number_len(const char *p)
{
    size_t n = p[0] == '+' || p[0] == '-', whole = strspn(p + n, "0123456789"), part = 0;
    n += whole;
    if (p[n] == '.') {
        part = strspn(p + n + 1, "0123456789");
        n += 1 + part;
    }
    if (whole + part == 0)
        return 0;
    if (p[n] == 'e' || p[n] == 'E') {
        size_t sign = p[n + 1] == '+' || p[n + 1] == '-', digits = strspn(p + n + 1 + sign, "0123456789");
        if (digits != 0)
            n += 1 + sign + digits;
    }
    return n;
}

/* Returns true for a word that strtod() takes for a number, such as nan or 0x1: a typing error rather than a part of a file
 * name. */
static bool
is_other_number(const char *p)
{
    char *end;
    strtod(p, &end);
    return end != p && *end == '\0';
}

bool
adapter_argument_add(struct adapter_arguments *args, const char *arg, struct err *err)
{
    struct stat st;
    const char *colon = strrchr(arg, ':');
    char shown[STR_SHOWN];
    size_t n = strlen(arg);
    double scale = 1;
    if (stat(arg, &st) != 0 && colon) {
        if (number_len(colon + 1) != 0 && number_len(colon + 1) == strlen(colon + 1)) {
            scale = strtod(colon + 1, NULL);
            n = (size_t)(colon - arg);
        }
        if (!isfinite(scale) || (n == strlen(arg) && is_other_number(colon + 1)))
            return err_set(err, ERR_USAGE, "--adapter: invalid scale '%s': expected a finite decimal number",
                str_shown(shown, colon + 1, strlen(colon + 1)));
    }
    if (n == 0)
        return err_set(err, ERR_USAGE, "--adapter: empty path");
    struct adapter_argument *list = array_grow(args->list, args->n, &args->room, sizeof *list, err);
    if (!list)
        return false;
    args->list = list;
    list[args->n] = (struct adapter_argument){ strndup(arg, n), scale };
    if (list[args->n].path)
        return ++args->n != 0;
    return err_memory(err, n + 1);
}

void
adapter_arguments_clear(struct adapter_arguments *args)
{
    for (size_t i = 0; i < args->n; i++)
        free(args->list[i].path);
    free(args->list);
    *args = (struct adapter_arguments){ 0 };
}
