#include "hf/title.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/matcher.h"

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool
is_letter(char c)
{
    return is_lower(c) || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

static char
to_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static char
to_upper(char c)
{
    return is_lower(c) ? (char)(c - 32) : c;
}

/* --- a title */

/* Returns true for a version such as v1.2, or a word that starts with a digit. */
static bool
is_number(const char *p, size_t n)
{
    if (is_digit(*p))
        return true;
    if (*p != 'v' || n == 1)
        return false;
    for (size_t i = 1; i < n; i++)
        if (!is_digit(p[i]) && (p[i] != '.' || i == 1 || i + 1 == n || p[i - 1] == '.'))
            return false;
    return true;
}

/* Appends a word, capitalized if it is in lower case and not a version. */
static void
add_word(struct str *s, const char *p, size_t n)
{
    bool some = false, other = false;
    for (size_t i = 0; i < n; i++) {
        some = some || is_lower(p[i]);
        other = other || (p[i] >= 'A' && p[i] <= 'Z') || (unsigned char)p[i] >= 0x80;
    }
    bool capital = some && !other && !is_number(p, n);
    if (s->len != 0)
        str_add(s, " ", 1);
    for (size_t i = 0; i < n; i++) {
        bool first = i == 0 || !is_lower(p[i - 1]);
        char c = capital && first ? to_upper(p[i]) : p[i];
        str_add(s, &c, 1);
    }
}

void
hf_title_add(struct str *s, const char *p, size_t n)
{
    const char *end = p + n;
    while (p < end) {
        size_t len = 0;
        while (p + len < end && !strchr("- \t\n\r\v\f", p[len]))
            len++;
        if (len != 0)
            add_word(s, p, len);
        p += len + (p + len < end);
    }
}

/* --- the parts of a name */

enum { IS_BASENAME = 1, IS_SIZE = 2, IS_FINETUNE = 4, IS_VERSION = 8, IS_TYPE = 16 };

struct name_part {
    char *p;                    /* n bytes; of the copy of the name */
    size_t n;
    unsigned is;
};

/* Returns true if an expression matches all of a part, ignoring case. */
static bool
part_matches(const struct name_part *part, const char *expression)
{
    char lower[64];
    uint64_t left = 1 << 20;
    struct matcher *m = malloc(sizeof *m);
    bool yes = m && part->n < sizeof lower && matcher_read(m, expression, strlen(expression), false);
    for (size_t i = 0; yes && i < part->n; i++)
        lower[i] = to_lower(part->p[i]);
    yes = yes && matcher_match(m, lower, part->n, &left);
    free(m);
    return yes;
}

/* Writes a size in its usual form: 7b1 as 7.1B, 8b as 8B, 1_5b as 1.5B. `size` has room for it. */
static void
normalize_size(char *size, size_t room, const struct name_part *part)
{
    snprintf(size, room, "%.*s", (int)part->n, part->p);
    size_t n = strlen(size);
    for (size_t i = 0; i < n; i++)
        size[i] = size[i] == '_' ? '.' : size[i];
    if (n > 1 && is_digit(size[n - 1])) {
        char unit = size[n - 2], digit = size[n - 1];
        snprintf(size + n - 2, room - n + 2, ".%c%c", digit, unit);
        n++;
    }
    if (n > 1 && is_digit(size[n - 2]) && strchr("kmbt", size[n - 1]))
        size[n - 1] = to_upper(size[n - 1]);
}

/* Returns true if a size is too far from that of the model, so that it is the length of a context. An adapter does not have all
 * layers, so that its model is larger. */
static bool
is_context(const char *size, double params)
{
    static const char units[] = " KMBT";
    static const double scale[] = { 1, 1e3, 1e6, 1e9, 1e12, 1 };
    size_t n = strlen(size);
    char *end, number[64];
    snprintf(number, sizeof number, "%.*s", (int)(n - 1), size);
    double x = strtod(number, &end);
    const char *unit = strchr(units, size[n - 1]);
    if (params == 0 || end == number || *end)
        return false;
    x *= unit ? scale[unit - units] : 1e-3;
    return params < 0 ? x < floor(-params / 8) : fabs(x - params) > floor(7 * params / 8);
}

/* Finds out what a part of a name is. A size can get longer, which `room` bytes of *text hold. */
static void
annotate(struct name_part *part, size_t i, double params, char *text, size_t room)
{
    if (part_matches(part, "(v|iter)?\\d+([.]\\d+)*$")) {
        part->is = IS_VERSION;
    } else if (part_matches(part, "(i?q\\d(_\\w)*|b?fp?(16|32))$")) {
        part->is = IS_TYPE;
        for (size_t k = 0; k < part->n; k++)
            part->p[k] = to_upper(part->p[k]);
    } else if (i > 0 && part_matches(part, "((a|\\d+x)?\\d+([._]\\d+)?[kmbt]\\d?|small|mini|medium|large|x?xl)$")) {
        normalize_size(text, room, part);
        size_t n = strlen(text);
        bool context = is_context(text, params);
        if (context)
            text[n - 1] = to_lower(text[n - 1]);
        *part = (struct name_part){ text, n, context ? IS_FINETUNE : IS_SIZE };
    } else if (i > 0 && part_matches(part, "(chat|instruct|vision|lora)$")) {
        part->is = params < 0 && part->n == 4 && strncasecmp(part->p, "lora", 4) == 0 ? IS_TYPE : IS_FINETUNE;
    }
}

/* Sizes in words do not count beside one in digits. */
static void
drop_words(struct name_part *part, size_t n)
{
    bool digits = false;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < part[i].n; k++)
            digits = digits || (part[i].is & IS_SIZE && is_digit(part[i].p[k]));
    for (size_t i = 0; i < n && digits; i++) {
        size_t letters = 0;
        while (letters < part[i].n && is_letter(part[i].p[letters]))
            letters++;
        part[i].is &= letters == part[i].n ? ~(unsigned)IS_SIZE : ~0u;
    }
}

/* The base name is at the start: words and versions, but for versions at its end. What is nothing else is of the fine-tune. */
static void
find_basename(struct name_part *part, size_t n)
{
    bool start = true;
    for (size_t i = 0; i < n; i++) {
        start = start && ((part[i].is == 0 && is_letter(*part[i].p)) || part[i].is & IS_VERSION);
        if (start)
            part[i].is |= IS_BASENAME;
        else if (part[i].is == 0)
            part[i].is = IS_FINETUNE;
    }
    for (size_t i = n; i-- != 0 && part[i].is & IS_BASENAME && part[i].is != IS_BASENAME;)
        part[i].is &= ~(unsigned)IS_BASENAME;
}

/* Returns true if a part before this one has the same text and kind. */
static bool
is_again(const struct name_part *part, size_t i, unsigned is)
{
    for (size_t k = 0; k < i; k++)
        if (part[k].is & is && str_compare(part[k].p, part[k].n, part[i].p, part[i].n) == 0)
            return true;
    return false;
}

/* Joins the parts that are of one kind and none of another. */
static void
title_join(struct hf_title *t, enum title_part to, const struct name_part *part, size_t n, unsigned is, unsigned not)
{
    struct str *s = &t->part[to];
    for (size_t i = 0; i < n; i++) {
        if (!(part[i].is & is) || part[i].is & not || (is == IS_SIZE && is_again(part, i, is)))
            continue;
        if (s->len != 0)
            str_text(s, "-");
        str_add(s, part[i].p, part[i].n);
    }
    t->has[to] = s->len != 0;
}

/* Splits a name, `copy`, at its hyphens; `part` and `sizes` have room for all parts. */
static void
read_parts(struct hf_title *t, char *copy, struct name_part *part, char (*sizes)[64], double params)
{
    size_t n = 0;
    for (char *p = copy; *p;) {
        size_t len = strcspn(p, "-");
        if (len != 0)
            part[n++] = (struct name_part){ p, len, 0 };
        p += len + (p[len] != '\0');
    }
    for (size_t i = 0; i < n; i++)
        annotate(&part[i], i, params, sizes[i], sizeof sizes[i]);
    drop_words(part, n);
    find_basename(part, n);
    title_join(t, TITLE_SIZE, part, n, IS_SIZE, 0);
    title_join(t, TITLE_FINETUNE, part, n, IS_FINETUNE, 0);
    title_join(t, TITLE_VERSION, part, n, IS_VERSION, IS_BASENAME);
    if (t->has[TITLE_SIZE] || t->has[TITLE_FINETUNE] || t->has[TITLE_VERSION])
        title_join(t, TITLE_BASENAME, part, n, IS_BASENAME, 0);
}

bool
hf_title_read(struct hf_title *t, const char *id, size_t n, double params, struct err *err)
{
    const char *slash = memchr(id, '/', n), *name = slash ? slash + 1 : id;
    *t = (struct hf_title){ .has[TITLE_NAME] = true };
    bool sentence = memchr(id, ' ', n) != NULL;
    if (sentence)
        name = id;
    size_t len = n - (size_t)(name - id), room = len / 2 + 2;
    str_add(&t->part[TITLE_NAME], name, len);
    if (!sentence && slash && id[0] != '.') {
        str_add(&t->part[TITLE_ORGANIZATION], id, (size_t)(slash - id));
        t->has[TITLE_ORGANIZATION] = true;
    }
    char *copy = strndup(name, len), (*sizes)[64] = calloc(room, sizeof *sizes);
    struct name_part *part = calloc(room, sizeof *part);
    bool ok = copy && sizes && part;
    if (ok && !sentence)
        read_parts(t, copy, part, sizes, params);
    free(copy);
    free(sizes);
    free(part);
    for (size_t i = 0; i < TITLE_PARTS; i++)
        ok = ok && !t->part[i].failed;
    return ok || err_memory(err, n);
}

void
hf_title_clear(struct hf_title *t)
{
    for (size_t i = 0; i < TITLE_PARTS; i++)
        str_clear(&t->part[i]);
    *t = (struct hf_title){ 0 };
}
