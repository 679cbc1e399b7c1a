/* fetch: files that are read by a command of the user, one range of bytes at a time, such as from an HTTP server.
 *
 * The command runs in sh with AMN_FILE, AMN_FROM and AMN_TO in its environment: the file, and the first and the last byte of the
 * range, which may be past the end of the file. Its standard output is the range. Ranges are windows of equal size; the next
 * two are fetched while one is read. A command that fails, or ends before bytes that a header promises, is run again after 0.5,
 * 1 and 2 seconds.
 */
#ifndef SOURCE_FETCH_H
#define SOURCE_FETCH_H

#include <stdint.h>

#include "base/err.h"

enum { FETCH_WINDOW = 16 << 20 };       /* default size of a window in bytes */

struct fetch;

/* Creates the windows of a job, which its sources share. `command` is borrowed. NULL on failure. Close the sources first. */
struct fetch *fetch_new(const char *command, uint64_t window, struct err *err);
void fetch_free(struct fetch *f);                       /* accepts NULL */

/* For files that may be absent: while it is set, files are opened whose command is not run again if it fails. */
void fetch_once(struct fetch *f, bool once);

#endif
