/* gauge: the progress of a job as text, for a line of the terminal's width or for a log. */
#ifndef CLI_GAUGE_H
#define CLI_GAUGE_H

#include "base/meter.h"

enum { GAUGE_ROOM = 256 };

/* Writes "writing  [####......]  42%  1.21 of 2.88 GiB  512.00 MiB/s  0:03 left" in at most `width` columns and returns buf.
 * If the line is too long, drops in turn the bar, the bytes, the phase, the rate and the time; the text is "" if nothing
 * fits. If the total is unknown, the number of bytes takes the place of the percentage. */
const char *gauge_line(char buf[GAUGE_ROOM], const struct meter_reading *r, unsigned width);

/* Writes "writing, 42%, 1.21 of 2.88 GiB, 512.00 MiB/s, 0:03 left". Returns buf. */
const char *gauge_words(char buf[GAUGE_ROOM], const struct meter_reading *r);

#endif
