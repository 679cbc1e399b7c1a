/* naming: which tensors of a choice an output has, and what they are called there, as a user says it. Names are those that
 * the output would have: of a weight, which its companions follow.
 */
#ifndef PLAN_NAMING_H
#define PLAN_NAMING_H

#include "plan/choice.h"

struct naming_glob;
struct naming_step;

/* Zeroed: all, as they are. Clear with naming_clear(). */
struct naming {
    struct naming_glob *globs;      /* nglobs; owned */
    size_t nglobs, globs_room;
    struct naming_step *steps;      /* nsteps, which each name goes through in order; owned */
    size_t nsteps, steps_room;
    const char *only;               /* this tensor alone; borrowed, or NULL */
};

/* Keep what one of the globs with `include` matches, or all when there is none, and nothing that another glob matches:
 * * ? [a-z] [!a-z], for all of a name. ERR_USAGE for what is no glob. `text` is borrowed, here and below. */
bool naming_match(struct naming *naming, const char *text, bool include, struct err *err);

/* s/RE/TEXT/ or s/RE/TEXT/g, a POSIX extended expression; any character may stand for the slash. In TEXT & and \0 are what was
 * matched, \1 to \9 what was in parentheses, and \ before anything else that itself. ERR_USAGE. */
bool naming_rename(struct naming *naming, const char *text, struct err *err);

/* Take a prefix away from the names that have it; give one to all. */
bool naming_strip(struct naming *naming, const char *prefix, struct err *err);
bool naming_prefix(struct naming *naming, const char *prefix, struct err *err);

/* Do all of it. ERR_USAGE when a glob to include matches nothing, `only` is not there, or two tensors have one name
 * behind it. A name that holds NUL cannot go through an expression: ERR_UNSUPPORTED. */
bool naming_apply(const struct naming *naming, struct choice *choice, struct err *err);

/* Whether the globs and `only` keep a tensor; whether there are globs to include. */
bool naming_keeps(const struct naming *naming, const struct tensor *t);
bool naming_includes(const struct naming *naming);

void naming_clear(struct naming *naming);

#endif
