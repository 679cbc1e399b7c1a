#include "family/pattern.h"

#include <inttypes.h>
#include <string.h>

#include "base/num.h"

/* Reads a number at *p and moves *p after its digits. Returns false without digits or on overflow. */
static bool
read_layer(uint64_t *b, const char **p, const char *end)
{
    const char *begin = *p;
    uint64_t n = 0;
    for (; *p < end && **p >= '0' && **p <= '9'; ++*p)
        if (!num_mul(&n, n, 10) || !num_add(&n, n, (uint64_t)(**p - '0')))
            return false;
    *b = n;
    return *p > begin;
}

/* Matches like a glob: after a failure, the last star takes one character more. */
bool
pattern_matches(const char *pattern, const char *name, size_t n, uint64_t *b)
{
    const char *end = name + n, *star = NULL, *from = NULL;
    for (;;) {
        if (*pattern == '*') {
            star = ++pattern;
            from = name;
            continue;
        }
        if (*pattern == '\0' && name == end)
            return true;
        if (*pattern != '\0' && str_begins(pattern, "{b}") && read_layer(b, &name, end)) {
            pattern += 3;
            continue;
        }
        if (*pattern != '\0' && *pattern != '{' && name < end && *pattern == *name) {
            pattern++;
            name++;
            continue;
        }
        if (!star || from >= end)
            return false;
        pattern = star;
        name = ++from;
    }
}

void
pattern_fill(struct str *out, const char *pattern, uint64_t b, uint64_t x)
{
    while (*pattern) {
        bool layer = str_begins(pattern, "{b}"), hole = layer || str_begins(pattern, "{x}");
        size_t n = 3;
        if (!hole)
            n = 1 + strcspn(pattern + 1, "{");
        if (hole)
            str_format(out, "%" PRIu64, layer ? b : x);
        else
            str_add(out, pattern, n);
        pattern += n;
    }
}

const struct family_members *
pattern_members(const struct model_family *family, const char *hf)
{
    for (size_t i = 0; i < family->members.n; i++)
        if (strcmp(family->members.at[i].hf, hf) == 0)
            return &family->members.at[i];
    return NULL;
}

void
pattern_fill_source(struct str *out, const struct model_family *family, const char *hf, uint64_t b, uint64_t x)
{
    const struct family_members *named = pattern_members(family, hf);
    pattern_fill(out, hf, b, x);
    if (!named || x >= named->n || out->failed)
        return;
    const char *after = strstr(hf, "{x}") + strlen("{x}");
    out->len -= strlen(after);
    while (out->len != 0 && out->p[out->len - 1] >= '0' && out->p[out->len - 1] <= '9')
        out->len--;
    str_format(out, "%s%s", named->word[x], after);
}

bool
pattern_name(const char **name, uint32_t *n, struct str *text, struct catalog *memory, struct err *err)
{
    char *copy = NULL;
    if (text->failed)
        err_memory(err, text->len);
    else if ((copy = catalog_alloc(memory, text->len + 1, err)) != NULL)
        memcpy(copy, str_or(text->p, ""), text->len + 1);
    *name = copy;
    *n = (uint32_t)text->len;
    str_clear(text);
    return copy != NULL;
}
