/* manual: the manual pages, shown by the best that this machine has. */
#ifndef AMN_MANUAL_H
#define AMN_MANUAL_H

#include "base/err.h"

/* Shows the page of a topic: a verb, by any of its names, "amn", "formats", "json", "memory", "schemes", "help" or "list", also
 * with "amn-" in front. The page is the one next to `folder`, the directory of this program (or NULL), else one that man finds.
 * Where there is man or mandoc the process becomes that; else a pager on a terminal, or its text is written to standard
 * output, which is closed.
 *
 *   ERR_USAGE    there is no such topic
 *   ERR_OPEN     there is no page of it: nothing that shows it, or no page: the message says which */
bool manual_show(const char *folder, const char *topic, struct err *err);

#endif
