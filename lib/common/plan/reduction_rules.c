/* Rules of --tensor-type: REGEX=SCHEME. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/expression.h"
#include "plan/reduction_priv.h"

struct reduction_rule {
    regex_t re;
    const char *scheme;
    const char *text;                   /* REGEX=SCHEME, as typed; borrowed */
};

bool
reduction_rule(struct reduction *r, const char *text, struct err *err)
{
    const char *equals = strrchr(text, '=');
    struct reduction_rule *rules = array_grow(r->rules, r->nrules, &r->rules_room, sizeof *rules, err);
    struct str re = { 0 };
    char shown[STR_SHOWN];
    if (!rules)
        return false;
    r->rules = rules;
    if (!equals || equals == text || equals[1] == '\0')
        return err_set(err, ERR_USAGE, "--tensor-type: '%s' is not REGEX=SCHEME",
            str_shown(shown, text, strlen(text)));
    str_add(&re, text, (size_t)(equals - text));
    bool ok;
    if (re.failed)
        ok = err_memory(err, re.len);
    else
        ok = expression_read(&rules[r->nrules].re, re.p, REG_NOSUB, "--tensor-type", err);
    if (ok) {
        rules[r->nrules] = (struct reduction_rule){ .re = rules[r->nrules].re, .scheme = equals + 1, .text = text };
        r->nrules++;
    }
    str_clear(&re);
    return ok;
}

bool
reduction_begin(struct reduction *r, struct err *err)
{
    r->rulings = calloc(r->nrules + 1, sizeof *r->rulings);
    if (!r->rulings)
        return err_memory(err, (r->nrules + 1) * sizeof *r->rulings);
    for (size_t i = 0; i < r->nrules; i++)
        r->rulings[i].rule = &r->rules[i];
    return true;
}

void
reduction_end(struct reduction *r)
{
    free(r->rulings);
    importance_clear(&r->importance);
    *r = (struct reduction){ 0 };
}

bool
reduction_settle(struct reduction *r, struct err *err)
{
    char shown[STR_SHOWN];
    bool fuses = r->encoder->loaders.fuses;
    for (size_t i = 0; i < r->nrules; i++) {
        const struct reduction_rule *rule = &r->rules[i];
        struct reduction_ruling *ruling = &r->rulings[i];
        unsigned plain = 0;
        while (dtype_targets[plain] && strcasecmp(rule->scheme, dtype_targets[plain]) != 0)
            plain++;
        if (dtype_targets[plain]) {
            ruling->encoder = NULL;
            ruling->plain = dtype_target(plain);
        } else {
            ruling->encoder = encode_find(rule->scheme, r->encoder->held);
            ruling->plain = DTYPE_UNKNOWN;
        }
        if (!dtype_targets[plain] && (!ruling->encoder || ruling->encoder->held != r->encoder->held))
            return err_set(err, ERR_USAGE, "--tensor-type: '%s' is not a scheme that can share a file with %s",
                str_shown(shown, rule->scheme, strlen(rule->scheme)), r->encoder->label);
        fuses = fuses || (ruling->encoder && ruling->encoder->loaders.fuses);
    }
    return !r->apart || fuses || err_set(err, ERR_USAGE, "--no-fuse has no effect: loaders fuse no scales of %s",
        r->encoder->label);
}

/* A search for a rule's expression; `failed` without memory. */
struct rule_search {
    const regex_t *re;
    bool failed;
};

/* A name that contains NUL is matched up to there. */
static bool
rule_finds(const void *of, const struct tensor *t)
{
    struct rule_search *s = *(struct rule_search *const *)of;
    int code = expression_find(s->re, t->name, 0, NULL, 0);
    s->failed = s->failed || code == REG_ESPACE;
    return code == 0;
}

/* Sets *matches if a rule matches an entry, by its name, or with `stored` by its name in the input. False on ERR_MEMORY. */
static bool
rule_matches(bool *matches, const struct reduction_rule *rule, const struct chosen *c, bool stored, struct err *err)
{
    struct rule_search search = { &rule->re, false }, *of = &search;
    const struct tensor t = chosen_source(c);
    *matches = stored ? chosen_all_stored(c, rule_finds, &of) : rule_finds(&of, &t);
    return !search.failed || err_memory(err, t.name_len);
}

bool
reduction_find_rule(struct reduction_ruling **ruling, const struct reduction *r, const struct chosen *c, struct err *err)
{
    *ruling = NULL;
    for (size_t i = 0; i < r->nrules && !*ruling; i++) {
        bool matches;
        if (!rule_matches(&matches, &r->rules[i], c, r->rulings[i].stored, err))
            return false;
        *ruling = matches ? &r->rulings[i] : NULL;
    }
    return true;
}

bool
reduction_meet_rules(const struct reduction *r, const struct choice *choice, struct err *err)
{
    for (size_t k = 0; k < r->nrules; k++) {
        struct reduction_ruling *ruling = &r->rulings[k];
        ruling->matches = ruling->works = false;
        for (unsigned stored = 0; stored < 2 && !ruling->matches; stored++) {
            ruling->stored = stored;
            for (size_t i = 0; i < choice->n && !ruling->matches; i++)
                if (!rule_matches(&ruling->matches, ruling->rule, &choice->list[i], stored, err))
                    return false;
        }
    }
    return true;
}

/* Fails because a rule matches no tensor, or only tensors whose type it does not decide. */
static bool
complain_of_rule(const struct reduction_ruling *ruling, const struct choice *choice, struct err *err)
{
    const struct reduction_rule *rule = ruling->rule;
    char shown[STR_SHOWN], name[STR_SHOWN];
    struct str names = { 0 };
    size_t i = 0;
    str_shown(shown, rule->text, strlen(rule->text));
    if (!ruling->matches) {
        naming_add_examples(&names, choice);
        err_set(err, ERR_USAGE, "--tensor-type '%s': no tensor matches%s", shown, str_or(names.p, ""));
        str_clear(&names);
        return false;
    }
    for (bool matches = false; rule_matches(&matches, rule, &choice->list[i], ruling->stored, err) && !matches;)
        i++;
    const struct tensor t = chosen_source(&choice->list[i]);
    const char *why = str_or(choice->list[i].why, "its type is decided elsewhere");
    return err_set(err, ERR_USAGE, "--tensor-type '%s' has no effect: %s: %s; --dtype GLOB=TYPE sets the type of floats that are "
        "not quantized", shown, str_shown(name, t.name, t.name_len), why);
}

bool
reduction_check_rules(const struct reduction *r, const struct choice *choice, struct err *err)
{
    for (size_t i = 0; i < r->nrules; i++)
        if (!r->rulings[i].works)
            return complain_of_rule(&r->rulings[i], choice, err);
    return true;
}

bool
reduction_ruled(const struct reduction *r, const struct chosen *c, enum keeps held, const struct encoder **encoder, struct err *err)
{
    struct reduction_ruling *ruling;
    char shown[STR_SHOWN];
    *encoder = NULL;
    if (!reduction_find_rule(&ruling, r, c, err))
        return false;
    if (!ruling)
        return true;
    const char *scheme = ruling->rule->scheme;
    ruling->works = true;
    *encoder = encode_exact_find(scheme, held);
    return *encoder || err_set(err, ERR_USAGE, "--tensor-type: '%s' is not a target of --exact", str_shown(shown, scheme, strlen(scheme)));
}

void
reduction_clear_rules(struct reduction *r)
{
    for (size_t i = 0; i < r->nrules; i++)
        regfree(&r->rules[i].re);
    free(r->rules);
}
