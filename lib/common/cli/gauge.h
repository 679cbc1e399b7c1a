/* gauge: how far a job is, in words: of a line that is as wide as the terminal, or of one for a log. */
#ifndef CLI_GAUGE_H
#define CLI_GAUGE_H

#include "base/meter.h"

enum { GAUGE_ROOM = 256 };

/* "writing  [####......]  42%  1.21 of 2.88 GiB  512.00 MiB/s  0:03 left" in at most `width` columns: what does not fit
 * is left out whole, first the bar, then the bytes, the phase, the rate, the time; "" when nothing fits. Where the total
 * is not known the bytes stand for the percentage. Returns buf. */
const char *gauge_line(char buf[GAUGE_ROOM], const struct meter_reading *r, unsigned width);

/* "writing, 42%, 1.21 of 2.88 GiB, 512.00 MiB/s, 0:03 left". Returns buf. */
const char *gauge_words(char buf[GAUGE_ROOM], const struct meter_reading *r);

#endif
