/* naming: globs that select tensors of a choice, and their new names, as the user's options say. Globs see the names that the
 * output would have: a weight's name, also if it is kept quantized; its companions follow it. A glob that matches none of these
 * names sees the names that the tensors have in the input, so that the names of both sides select. */
#ifndef PLAN_NAMING_H
#define PLAN_NAMING_H

#include "base/str.h"
#include "plan/choice.h"

struct naming_glob;
struct naming_step;

/* Zeroed: selects all tensors, with their names. Clear with naming_clear(). */
struct naming {
    struct naming_glob *globs;      /* nglobs of them; owned */
    size_t nglobs, globs_room;
    struct naming_step *steps;      /* nsteps renaming steps, applied to each name in order; owned */
    size_t nsteps, steps_room;
    const char *only;               /* select this tensor only; borrowed, or NULL */
};

/* Adds a glob. A tensor is selected if it matches a glob with `include`, or there is no such glob, and matches no other
 * glob. Globs are * ? [a-z] [!a-z] and match the entire name. Fails with ERR_USAGE if `text` is not a glob. `option` is its name
 * for messages, without hyphens. Both texts are borrowed, here and below. */
bool naming_match(struct naming *naming, const char *option, const char *text, bool include, struct err *err);

/* Adds a glob, text[0..n), for tensors that get a type. */
bool naming_give_type(struct naming *naming, const char *option, const char *text, size_t n, enum dtype dtype, struct err *err);

/* Adds a step s/RE/TEXT/ or s/RE/TEXT/g, with a POSIX extended expression; any character may replace the slash. In TEXT, &
 * and \0 are the match, \1 to \9 its groups, and \ before another character is that character. ERR_USAGE. */
bool naming_rename(struct naming *naming, const char *text, struct err *err);

/* Adds a step that removes a prefix from the names that have it, or one that adds a prefix to all names. */
bool naming_strip(struct naming *naming, const char *prefix, struct err *err);
bool naming_prefix(struct naming *naming, const char *prefix, struct err *err);

/* Applies everything. Fails with ERR_USAGE if a glob matches nothing, if `only` does not exist, or if two tensors
 * get the same name; with ERR_UNSUPPORTED if a name that contains NUL would go through an expression. */
bool naming_apply(const struct naming *naming, struct choice *choice, struct err *err);

/* Renames one entry, which need not be in the list of the choice yet. ERR_UNSUPPORTED as above. */
bool naming_name(const struct naming *naming, struct choice *choice, struct chosen *chosen, struct err *err);

/* Checks that every renaming step matched a name, once all names are made. ERR_USAGE. */
bool naming_check_steps(const struct naming *naming, const struct choice *choice, struct err *err);

/* Checks that every glob matches a tensor of the choice, and decides which names it sees. ERR_USAGE. */
bool naming_check(const struct naming *naming, const struct choice *choice, struct err *err);

/* Checks that every glob matches an entry that the job can change, after naming_check(). `verb`: what is done, for a message such as
 * "is dequantized". ERR_USAGE. */
bool naming_check_effect(const struct naming *naming, const struct choice *choice, bool (*changes)(const struct chosen *chosen),
    const char *verb, struct err *err);

/* Return true if the globs and `only` select the name, or the entry; true if there are globs to include. */
bool naming_keeps(const struct naming *naming, const struct tensor *t);
bool naming_selects(const struct naming *naming, const struct chosen *chosen);
bool naming_includes(const struct naming *naming);

/* Returns the type of the first glob that matches an entry, or DTYPE_UNKNOWN. */
enum dtype naming_type(const struct naming *naming, const struct chosen *chosen);

/* Appends examples of the names that patterns see. */
void naming_add_examples(struct str *text, const struct choice *choice);

void naming_clear(struct naming *naming);

#endif
