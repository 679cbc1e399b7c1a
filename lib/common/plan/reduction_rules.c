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
    bool matches;                       /* some tensor, */
    bool stored;                        /* by its name in the input */
    bool works;                         /* decides the type of a tensor */
    const struct encoder *encoder;      /* or NULL, and: */
    enum dtype plain;
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
reduction_settle(struct reduction *r, struct err *err)
{
    char shown[STR_SHOWN];
    bool fuses = r->encoder->loaders.fuses;
    for (size_t i = 0; i < r->nrules; i++) {
        struct reduction_rule *rule = &r->rules[i];
        unsigned plain = 0;
        while (dtype_targets[plain] && strcasecmp(rule->scheme, dtype_targets[plain]) != 0)
            plain++;
        if (dtype_targets[plain]) {
            rule->encoder = NULL;
            rule->plain = dtype_target(plain);
        } else {
            rule->encoder = encode_find(rule->scheme, r->encoder->held);
            rule->plain = DTYPE_UNKNOWN;
        }
        if (!dtype_targets[plain] && (!rule->encoder || rule->encoder->held != r->encoder->held))
            return err_set(err, ERR_USAGE, "--tensor-type: '%s' is not a scheme that can share a file with %s",
                str_shown(shown, rule->scheme, strlen(rule->scheme)), r->encoder->label);
        fuses = fuses || (rule->encoder && rule->encoder->loaders.fuses);
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
reduction_find_rule(struct reduction_rule **rule, const struct reduction *r, const struct chosen *c, struct err *err)
{
    *rule = NULL;
    for (size_t i = 0; i < r->nrules && !*rule; i++) {
        bool matches;
        if (!rule_matches(&matches, &r->rules[i], c, r->rules[i].stored, err))
            return false;
        *rule = matches ? &r->rules[i] : NULL;
    }
    return true;
}

bool
reduction_meet_rules(const struct reduction *r, const struct choice *choice, struct err *err)
{
    for (size_t k = 0; k < r->nrules; k++) {
        struct reduction_rule *rule = &r->rules[k];
        rule->matches = rule->works = false;
        for (unsigned stored = 0; stored < 2 && !rule->matches; stored++) {
            rule->stored = stored;
            for (size_t i = 0; i < choice->n && !rule->matches; i++)
                if (!rule_matches(&rule->matches, rule, &choice->list[i], stored, err))
                    return false;
        }
    }
    return true;
}

/* Fails because a rule matches no tensor, or only tensors whose type it does not decide. */
static bool
complain_of_rule(const struct reduction_rule *rule, const struct choice *choice, struct err *err)
{
    char shown[STR_SHOWN], name[STR_SHOWN];
    struct str names = { 0 };
    size_t i = 0;
    str_shown(shown, rule->text, strlen(rule->text));
    if (!rule->matches) {
        naming_add_examples(&names, choice);
        err_set(err, ERR_USAGE, "--tensor-type '%s': no tensor matches%s", shown, str_or(names.p, ""));
        str_clear(&names);
        return false;
    }
    for (bool matches = false; rule_matches(&matches, rule, &choice->list[i], rule->stored, err) && !matches;)
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
        if (!r->rules[i].works)
            return complain_of_rule(&r->rules[i], choice, err);
    return true;
}

bool
reduction_ruled(const struct reduction *r, const struct chosen *c, enum keeps held, const struct encoder **encoder, struct err *err)
{
    struct reduction_rule *rule;
    char shown[STR_SHOWN];
    *encoder = NULL;
    if (!reduction_find_rule(&rule, r, c, err))
        return false;
    if (!rule)
        return true;
    rule->works = true;
    *encoder = encode_exact_find(rule->scheme, held);
    return *encoder || err_set(err, ERR_USAGE, "--tensor-type: '%s' is not a target of --exact",
        str_shown(shown, rule->scheme, strlen(rule->scheme)));
}

const struct encoder *
reduction_rule_encoder(const struct reduction_rule *rule, enum dtype *plain)
{
    *plain = rule->plain;
    return rule->encoder;
}

void
reduction_rule_works(struct reduction_rule *rule)
{
    rule->works = true;
}

void
reduction_clear_rules(struct reduction *r)
{
    for (size_t i = 0; i < r->nrules; i++)
        regfree(&r->rules[i].re);
    free(r->rules);
}
