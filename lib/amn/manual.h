/* manual: shows manual pages with the best program that is installed. */
#ifndef AMN_MANUAL_H
#define AMN_MANUAL_H

#include "base/err.h"

/* Prints the topics that have a page, apart from the tools. */
bool manual_topics(struct err *err);

/* Shows the page for a topic: a command, by any of its names, "amn", "formats", "json", "memory", "schemes", "help" or "list",
 * with or without the prefix "amn-". Looks for it next to `folder`, the folder of this program (may be NULL), then asks man. If
 * man or mandoc is installed, the process is replaced by it; otherwise a pager shows the plain text, or without a terminal the
 * text is written to standard output, which is closed.
 *
 *     ERR_USAGE    unknown topic
 *     ERR_OPEN     the page is missing, or no program can show it; the message says which
 */
bool manual_show(const char *folder, const char *topic, struct err *err);

#endif
