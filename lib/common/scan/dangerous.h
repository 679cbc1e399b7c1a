/* dangerous: what to think of a global that a pickle names, without looking it up: whether a program that loads the pickle
 * could be made to do something by it. For --scan; what is read is decided by container/pickle_globals.h alone. */
#ifndef SCAN_DANGEROUS_H
#define SCAN_DANGEROUS_H

#include <stddef.h>
#include <stdint.h>

enum verdict {
    VERDICT_ALLOWED,            /* torch itself allows it, and so do we */
    VERDICT_SUSPICIOUS,         /* nobody knows what it does when it is called */
    VERDICT_DANGEROUS,          /* known to run code, to open files and the like, or hiding what it is */
    VERDICTS
};

const char *verdict_name(enum verdict verdict);         /* "allowed" */

/* The verdict on module.name, as the pickle spells both. *why is set to a phrase, static, or NULL of what is allowed.
 * Looks at the module as Python 3 calls it as well, and at every dotted part of both, since a name with dots walks along
 * attributes: in torch.serialization.os.system it is os.system. */
enum verdict dangerous_verdict(const char **why, const uint8_t *module, size_t module_len, const uint8_t *name,
    size_t name_len);

/* Row i of the table of dangerous modules, and of modules of Python 2: for tests, which hold them to be in order. NULL
 * behind the last. */
const char *dangerous_module(size_t i);
const char *dangerous_old_module(size_t i);

#endif
