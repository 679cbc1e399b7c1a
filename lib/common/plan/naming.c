#include "plan/naming.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/expression.h"
#include "base/nearest.h"
#include "base/matcher.h"
#include "base/str.h"

enum { GROUPS = 10 };

struct naming_glob {
    const char *option, *text;
    struct matcher matcher;
    bool include;
    bool stored;                    /* sees the names of the input */
    enum dtype dtype;               /* of the tensors that match, for naming_type() */
};

struct naming_step {
    enum { STRIP, PREFIX, RENAME } kind;
    const char *given;              /* the argument; borrowed */
    bool used;                      /* it matched a name */
    const char *prefix;
    regex_t re;                     /* if RENAME: */
    struct str text;                /* as given */
    bool all;                       /* replace every match, not only the first */
};

/* --- parsing options */

static bool
add_glob(struct naming *naming, const struct naming_glob *glob, size_t n, struct err *err)
{
    struct naming_glob *list = array_grow(naming->globs, naming->nglobs, &naming->globs_room, sizeof *list, err);
    if (!list)
        return false;
    naming->globs = list;
    list[naming->nglobs] = *glob;
    return matcher_read(&list[naming->nglobs++].matcher, glob->text, n, true)
        || err_set(err, ERR_USAGE, "--%s: invalid or too long pattern '%s': expected * ? [a-z] or [!a-z]",
            glob->option, glob->text);
}

bool
naming_match(struct naming *naming, const char *option, const char *text, bool include, struct err *err)
{
    return add_glob(naming, &(const struct naming_glob){ .option = option, .text = text, .include = include }, strlen(text), err);
}

bool
naming_give_type(struct naming *naming, const char *option, const char *text, size_t n, enum dtype dtype, struct err *err)
{
    return add_glob(naming, &(const struct naming_glob){ .option = option, .text = text, .include = true, .dtype = dtype }, n, err);
}

static struct naming_step *
add_step(struct naming *naming, const struct naming_step *step, struct err *err)
{
    struct naming_step *list = array_grow(naming->steps, naming->nsteps, &naming->steps_room, sizeof *list, err);
    if (!list)
        return NULL;
    naming->steps = list;
    list[naming->nsteps] = *step;
    return &list[naming->nsteps++];
}

bool
naming_strip(struct naming *naming, const char *prefix, struct err *err)
{
    return add_step(naming, &(const struct naming_step){ .kind = STRIP, .given = prefix, .prefix = prefix }, err) != NULL;
}

bool
naming_prefix(struct naming *naming, const char *prefix, struct err *err)
{
    return add_step(naming, &(const struct naming_step){ .kind = PREFIX, .given = prefix, .prefix = prefix }, err) != NULL;
}

/* Appends the text before the next `end`, and skips past it. Removes a backslash before `end`, and no other backslash. */
static bool
read_until(struct str *out, const char **text, char end)
{
    const char *p = *text;
    for (; *p && *p != end; p++) {
        if (*p == '\\' && p[1] == end)
            p++;
        else if (*p == '\\' && p[1])
            str_add(out, p++, 1);
        str_add(out, p, 1);
    }
    if (*p)
        *text = p + 1;
    else
        *text = p;
    return *p == end;
}

/* Checks that TEXT refers only to groups that the expression has. */
static bool
groups_are_there(const struct naming_step *step)
{
    for (const char *p = step->text.p; p && *p; p++)
        if (*p == '\\' && *++p >= '1' && *p <= '9' && (size_t)(*p - '0') > step->re.re_nsub)
            return false;
    return true;
}

bool
naming_rename(struct naming *naming, const char *text, struct err *err)
{
    const char *p = text + 2;
    struct str re = { 0 };
    struct naming_step step = { .kind = RENAME, .given = text };
    bool ok = text[0] == 's' && text[1] != '\0' && text[1] != '\\' && read_until(&re, &p, text[1])
        && read_until(&step.text, &p, text[1]) && (strcmp(p, "") == 0 || strcmp(p, "g") == 0);
    step.all = ok && *p == 'g';
    if (re.failed || step.text.failed)
        ok = err_memory(err, strlen(text));
    else if (!ok)
        err_set(err, ERR_USAGE, "--rename: '%s' is not s/EXPRESSION/TEXT/ or s/EXPRESSION/TEXT/g", text);
    bool compiled = ok && expression_read(&step.re, str_or(re.p, ""), 0, "--rename", err);
    ok = compiled && (groups_are_there(&step) || err_set(err, ERR_USAGE,
        "--rename: '%s': the replacement refers to a group that the expression does not have", text));
    ok = ok && add_step(naming, &step, err);
    if (!ok && compiled)
        regfree(&step.re);
    if (!ok)
        str_clear(&step.text);
    str_clear(&re);
    return ok;
}

void
naming_clear(struct naming *naming)
{
    for (size_t i = 0; i < naming->nsteps; i++)
        if (naming->steps[i].kind == RENAME) {
            regfree(&naming->steps[i].re);
            str_clear(&naming->steps[i].text);
        }
    free(naming->steps);
    free(naming->globs);
    *naming = (struct naming){ 0 };
}

/* --- selecting */

static bool
matches_name(const void *glob, const struct tensor *t)
{
    uint64_t left = UINT64_MAX;
    return matcher_match(&((const struct naming_glob *)glob)->matcher, t->name, t->name_len, &left);
}

/* Returns the tensor with the name that patterns see: for the codes of a weight that is kept, the weight's. */
static struct tensor
seen(const struct chosen *chosen)
{
    struct tensor t = chosen_tensor(chosen);
    if (chosen->kept && chosen->copy == chosen->kept->part[0]) {
        t.name = chosen->kept->name;
        t.name_len = chosen->kept->name_len;
    }
    return t;
}

static bool
matches(const struct naming_glob *glob, const struct chosen *chosen, const struct tensor *t)
{
    return chosen && glob->stored ? chosen_all_stored(chosen, matches_name, glob) : matches_name(glob, t);
}

/* Returns true if an entry, or without one a name, is selected. */
static bool
naming_is_selected(const struct naming *naming, const struct chosen *chosen, const struct tensor *t)
{
    bool stay = true, includes = false, included = false;
    for (size_t i = 0; i < naming->nglobs; i++) {
        const struct naming_glob *g = &naming->globs[i];
        includes = includes || g->include;
        if (matches(g, chosen, t))
            *(g->include ? &included : &stay) = g->include;
    }
    return stay && (included || !includes)
        && (!naming->only || str_is(t->name, t->name_len, naming->only));
}

bool
naming_keeps(const struct naming *naming, const struct tensor *t)
{
    return naming_is_selected(naming, NULL, t);
}

bool
naming_selects(const struct naming *naming, const struct chosen *chosen)
{
    const struct tensor t = seen(chosen);
    return naming_is_selected(naming, chosen, &t);
}

enum dtype
naming_type(const struct naming *naming, const struct chosen *chosen)
{
    const struct tensor t = seen(chosen);
    for (size_t i = 0; i < naming->nglobs; i++)
        if (matches(&naming->globs[i], chosen, &t))
            return naming->globs[i].dtype;
    return DTYPE_UNKNOWN;
}

bool
naming_includes(const struct naming *naming)
{
    for (size_t i = 0; i < naming->nglobs; i++)
        if (naming->globs[i].include)
            return true;
    return false;
}

/* Returns true if the entry is a companion of a weight that is kept: it follows its weight. */
static bool
follows(const struct chosen *chosen)
{
    return chosen->kept && chosen->copy != chosen->kept->part[0];
}

static bool
matches_any(const struct naming_glob *glob, const struct choice *choice)
{
    for (size_t i = 0; i < choice->n; i++) {
        const struct tensor t = seen(&choice->list[i]);
        if (!follows(&choice->list[i]) && matches(glob, &choice->list[i], &t))
            return true;
    }
    return false;
}

/* Has a glob see the names of the input if it matches none of the output. Returns false if it matches neither. */
static bool
meet(struct naming_glob *glob, const struct choice *choice)
{
    glob->stored = false;
    if (matches_any(glob, choice))
        return true;
    glob->stored = true;
    return matches_any(glob, choice);
}

/* Returns the name of the first matrix of a layer, or else of the first tensor; NULL without one. */
static const struct chosen *
find_example(const struct choice *choice)
{
    for (size_t i = 0; i < choice->n; i++) {
        const struct tensor t = seen(&choice->list[i]);
        if (t.shape.rank > 1 && memmem(t.name, t.name_len, ".0.", 3) && !follows(&choice->list[i]))
            return &choice->list[i];
    }
    return choice->n != 0 ? choice->list : NULL;
}

/* Keeps the name of a tensor, and that it differs from another name. */
struct other_name {
    struct tensor t, output;
};

static bool
is_other(const void *of, const struct tensor *t)
{
    struct other_name *other = *(struct other_name *const *)of;
    other->t = *t;
    return t->name_len != other->output.name_len || memcmp(t->name, other->output.name, t->name_len) != 0;
}

void
naming_add_examples(struct str *text, const struct choice *choice)
{
    const struct chosen *c = find_example(choice);
    char shown[STR_SHOWN];
    struct other_name other;
    struct other_name *of = &other;
    if (!c)
        return;
    other.output = seen(c);
    str_format(text, "; there are names like %s", str_shown(shown, other.output.name, other.output.name_len));
    if (chosen_all_stored(c, is_other, &of))
        str_format(text, " (%s in the input)", str_shown(shown, other.t.name, other.t.name_len));
}

/* Adds the names nearest to what was typed; memory that is short costs only the hint. */
static void
add_nearest(struct str *hint, const char *typed, const struct choice *choice)
{
    enum { NAMES_MAX = 10000 };         /* more would take seconds */
    struct names names = { 0 };
    struct err ignored;
    bool ok = choice->n <= NAMES_MAX;
    err_init(&ignored);
    for (size_t i = 0; ok && i < choice->n; i++) {
        char shown[STR_SHOWN];
        const struct tensor t = seen(&choice->list[i]);
        str_shown(shown, t.name, t.name_len);
        ok = names_add(&names, shown, strlen(shown), &ignored);
    }
    if (ok)
        nearest_hint(hint, "", typed, (const char *const *)names.name, names.n);
    names_clear(&names);
}

/* Returns the first tensor whose name contains a text, or one without a name. */
static struct tensor
find_like(const char *text, const struct choice *choice)
{
    for (size_t i = 0; *text && i < choice->n; i++) {
        const struct tensor t = seen(&choice->list[i]);
        if (memmem(t.name, t.name_len, text, strlen(text)))
            return t;
    }
    return (struct tensor){ 0 };
}

/* Fails because no tensor matches, with the pattern or the name that was meant. */
static bool
no_match(const struct naming_glob *g, const struct choice *choice, struct err *err)
{
    char shown[STR_SHOWN];
    struct str hint = { 0 };
    str_shown(shown, g->text, strlen(g->text));
    add_nearest(&hint, g->text, choice);
    if (hint.len == 0)
        naming_add_examples(&hint, choice);
    if (find_like(g->text, choice).name)
        err_set(err, ERR_USAGE, "--%s: no tensor matches '%s', which is only a part of names (did you mean '*%s*'?)",
            g->option, shown, shown);
    else
        err_set(err, ERR_USAGE, "--%s: no tensor matches '%s'%s; patterns match the whole name, such as '*norm*'",
            g->option, shown, str_or(hint.p, ""));
    str_clear(&hint);
    return false;
}

bool
naming_check(const struct naming *naming, const struct choice *choice, struct err *err)
{
    for (size_t i = 0; i < naming->nglobs; i++) {
        if (!meet(&naming->globs[i], choice))
            return no_match(&naming->globs[i], choice, err);
    }
    return true;
}

bool
naming_check_effect(const struct naming *naming, const struct choice *choice, bool (*changes)(const struct chosen *chosen),
    const char *verb, struct err *err)
{
    for (size_t i = 0; i < naming->nglobs; i++) {
        const struct naming_glob *g = &naming->globs[i];
        char shown[STR_SHOWN];
        bool found = false;
        for (size_t k = 0; !found && k < choice->n; k++) {
            const struct tensor t = seen(&choice->list[k]);
            found = !follows(&choice->list[k]) && changes(&choice->list[k]) && matches(g, &choice->list[k], &t);
        }
        if (!found)
            return err_set(err, ERR_USAGE, "--%s '%s' has no effect: no tensor that matches %s; use --%s GLOB to %s", g->option,
                str_shown(shown, g->text, strlen(g->text)), verb, g->include ? "only" : "drop",
                g->include ? "write fewer tensors" : "leave tensors out");
    }
    return true;
}

/* Decides which entries stay; a companion stays with any of its weights. stays: choice->n elements, owned by the caller. */
static bool
select_all(bool **stays, const struct naming *naming, const struct choice *choice, struct err *err)
{
    size_t ntensors = catalog_count(choice->input);
    bool *needed = calloc(ntensors + 1, sizeof *needed);
    *stays = calloc(choice->n + 1, sizeof **stays);
    for (size_t i = 0; needed && *stays && i < choice->n; i++) {
        const struct chosen *c = &choice->list[i];
        (*stays)[i] = !follows(c) && naming_selects(naming, c);
        for (unsigned part = 1; (*stays)[i] && c->kept && part < SCHEME_PARTS; part++)
            if (c->kept->part[part])
                needed[catalog_index(choice->input, c->kept->part[part])] = true;
        if ((*stays)[i] && c->kept)
            needed[catalog_index(choice->input, c->copy)] = true;
    }
    for (size_t i = 0; needed && *stays && i < choice->n; i++)
        if (follows(&choice->list[i]))
            (*stays)[i] = needed[catalog_index(choice->input, choice->list[i].copy)]
                || needed[catalog_index(choice->input, choice->list[i].kept->part[0])];
    bool ok = (needed && *stays) || err_memory(err, ntensors + choice->n + 2);
    if (!ok)
        free(*stays);
    free(needed);
    return ok;
}

/* Fails because no tensor has this name, with the nearest names, or the first one that contains it. */
static bool
no_tensor(const char *name, const struct choice *choice, struct err *err)
{
    char shown[STR_SHOWN], like[STR_SHOWN];
    struct str hint = { 0 };
    const struct tensor t = find_like(name, choice);
    str_shown(shown, name, strlen(name));
    add_nearest(&hint, name, choice);
    if (t.name)
        err_set(err, ERR_USAGE, "--tensor: no output tensor is named %s (did you mean %s?)", shown,
            str_shown(like, t.name, t.name_len));
    else
        err_set(err, ERR_USAGE, "--tensor: no output tensor is named %s%s ('amn-parse' lists the names)", shown,
            str_or(hint.p, ""));
    str_clear(&hint);
    return false;
}

/* Returns true for tensors that models compute themselves. */
static bool
is_buffer(const struct tensor *t)
{
    static const char *const buffers[] = { ".masked_bias", ".attention.bias", ".attn.bias", ".rotary_emb.inv_freq", ".position_ids",
        ".num_batches_tracked" };
    size_t n = t->name_len;
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        if (str_strip(t->name, &n, buffers[i]))
            return true;
    return false;
}

static bool
naming_choose(const struct naming *naming, struct choice *choice, struct err *err)
{
    size_t n = 0;
    bool *stays;
    if (!naming_check(naming, choice, err) || !select_all(&stays, naming, choice, err))
        return false;
    for (size_t i = 0; i < choice->n; i++) {
        const struct tensor t = seen(&choice->list[i]);
        if (stays[i])
            choice->list[n++] = choice->list[i];
        else if (!follows(&choice->list[i]) && !is_buffer(&t) && choice->dropped++ == 0)
            choice->first_dropped = t;
    }
    free(stays);
    if (naming->only && n == 0)
        return no_tensor(naming->only, choice, err);
    choice->n = n;
    return true;
}

/* --- renaming */

/* Appends TEXT, expanded for a match in `name`. */
static void
naming_add_text(struct str *out, const struct str *text, const char *name, const regmatch_t *m)
{
    for (const char *p = text->p; p && *p; p++) {
        int group = -1;
        if (*p == '&')
            group = 0;
        if (*p == '\\' && p[1]) {
            p++;
            group = -1;
            if (*p >= '0' && *p <= '9')
                group = *p - '0';
        }
        if (group < 0)
            str_add(out, p, 1);
        else if (m[group].rm_so >= 0)
            str_add(out, name + m[group].rm_so, (size_t)(m[group].rm_eo - m[group].rm_so));
    }
}

/* Like sed: an empty match counts, except directly after the previous match. Returns true if there was a match. */
static bool
rename_by(struct str *out, const struct naming_step *step, const char *name)
{
    const char *p = name, *end = NULL;          /* end of the previous match */
    regmatch_t m[GROUPS];
    int code;
    while ((code = expression_find(&step->re, p, GROUPS, m, p == name ? 0 : REG_NOTBOL)) == 0) {
        const char *from = p + m[0].rm_so, *to = p + m[0].rm_eo;
        str_add(out, p, (size_t)(from - p));
        if (from != to || from != end)
            naming_add_text(out, &step->text, p, m);
        end = p = to;
        if (!step->all || (from == to && *p == '\0'))
            break;
        if (from == to)
            str_add(out, p++, 1);
    }
    str_text(out, p);
    out->failed = out->failed || code == REG_ESPACE;
    return end;
}

/* Appends the result of a step for name[0..n), which is NUL-terminated. */
static void
take_step(struct str *out, struct naming_step *step, const char *name, size_t n)
{
    size_t len = 0;
    if (step->prefix)
        len = strlen(step->prefix);
    bool starts = step->kind == STRIP && str_prefixed(name, n, step->prefix);
    if (step->kind == RENAME) {
        step->used = rename_by(out, step, name) || step->used;
        return;
    }
    step->used = step->used || starts || step->kind == PREFIX;
    if (step->kind == PREFIX)
        str_add(out, step->prefix, len);
    else if (starts) {
        name += len;
        n -= len;
    }
    str_add(out, name, n);
}

bool
naming_name(const struct naming *naming, struct choice *choice, struct chosen *chosen, struct err *err)
{
    const struct tensor t = chosen_tensor(chosen);
    char shown[STR_SHOWN];
    struct str now = { .max = UINT32_MAX }, next = { .max = UINT32_MAX };
    bool ok = true;
    str_add(&now, t.name, t.name_len);
    for (size_t i = 0; ok && !now.failed && i < naming->nsteps; i++) {
        struct naming_step *step = &naming->steps[i];
        const char *name = str_or(now.p, "");
        if (step->kind == RENAME && strlen(name) != now.len)
            ok = err_set(err, ERR_UNSUPPORTED, "tensor %s: --rename cannot change a name that contains NUL",
                str_shown(shown, t.name, t.name_len));
        take_step(&next, step, name, now.len);
        str_clear(&now);
        now = next;
        next = (struct str){ .max = UINT32_MAX };
    }
    if (ok && now.failed)
        ok = err_memory(err, now.len);
    else if (ok && (now.len != t.name_len || memcmp(str_or(now.p, ""), t.name, now.len) != 0)) {
        ok = names_add(&choice->names, str_or(now.p, ""), now.len, err);
        if (ok)
            chosen->name = choice->names.name[choice->names.n - 1];
        chosen->name_len = (uint32_t)now.len;
    }
    str_clear(&now);
    return ok;
}

bool
naming_check_steps(const struct naming *naming, const struct choice *choice, struct err *err)
{
    char shown[STR_SHOWN];
    struct str names = { 0 };
    for (size_t i = 0; choice->n != 0 && i < naming->nsteps; i++) {
        const struct naming_step *step = &naming->steps[i];
        if (step->used)
            continue;
        naming_add_examples(&names, choice);
        err_set(err, ERR_USAGE, "--%s '%s': no tensor has such a name%s", step->kind == RENAME ? "rename" : "strip-prefix",
            str_shown(shown, step->given, strlen(step->given)), str_or(names.p, ""));
        str_clear(&names);
        return false;
    }
    return true;
}

bool
naming_apply(const struct naming *naming, struct choice *choice, struct err *err)
{
    if ((naming->nglobs != 0 || naming->only) && !naming_choose(naming, choice, err))
        return false;
    for (size_t i = 0; i < naming->nsteps; i++)
        naming->steps[i].used = false;
    for (size_t i = 0; naming->nsteps != 0 && i < choice->n; i++)
        if (!naming_name(naming, choice, &choice->list[i], err))
            return false;
    return naming->nsteps == 0 || choice_distinct(choice, err);
}
