/* foreign_names: what other programs call the things that amn does. */
#ifndef CLI_FOREIGN_NAMES_H
#define CLI_FOREIGN_NAMES_H

/* Return what an option without its dashes, or a verb, of another program is here, to be appended to "unknown option '--x'"; NULL
 * for a name that is not known either. Case and '-' for '_' do not matter. */
const char *foreign_names_option(const char *name);
const char *foreign_names_verb(const char *name);

/* Returns the schemes that a name of another program may mean, to be shown after "did you mean"; or NULL. */
const char *foreign_names_scheme(const char *name);

/* Returns the name here of a type that torch or a converter calls `name`, or `name`. */
const char *foreign_names_type(const char *name);

#endif
