/* dangerous: judges a global that a pickle names, without looking it up: could it make a program that loads the pickle do
 * something else? The names in the table of pickle_globals.h are allowed, except those that torch does not accept and that do more than
 * make data. --scan reports the verdict. A reader refuses a dangerous name, and the call of an unknown one. */
#ifndef CONTAINER_TORCH_DANGEROUS_H
#define CONTAINER_TORCH_DANGEROUS_H

#include <stddef.h>
#include <stdint.h>

enum verdict {
    VERDICT_ALLOWED,            /* in the table of pickle_globals.h */
    VERDICT_SUSPICIOUS,         /* its effect when called is unknown */
    VERDICT_DANGEROUS,          /* known to run code, open files and the like, or disguised */
    VERDICTS
};

const char *verdict_name(enum verdict verdict);         /* "allowed" */

/* Returns the verdict on module.name, as the pickle spells both. Sets *why to a static phrase, or to NULL if allowed. Also
 * tries the name that Python 3 gives the module, and every dotted part of both, because a dotted name is resolved attribute
 * by attribute: torch.serialization.os.system is os.system. */
enum verdict dangerous_verdict(const char **why, const uint8_t *module, size_t module_len, const uint8_t *name,
    size_t name_len);

/* Returns row i of the tables of dangerous modules and of Python 2 modules, or NULL after the last row. For tests that check
 * the order of the rows. */
const char *dangerous_module(size_t i);
const char *dangerous_old_module(size_t i);

#endif
