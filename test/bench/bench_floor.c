/* bench-floor BYTES FILE: writes BYTES ready bytes to a new file, with the sink's own calls and block size: the least time in which
 * a tool could write an output of that size. bench.py compares with it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/num.h"
#include "sink/sink.h"

enum { BLOCK = 512 << 10 };             /* stays in the L2 cache */

static uint8_t block[BLOCK];

static bool
write_all(struct sink *sink, uint64_t nbytes, struct err *err)
{
    if (!sink_expect(sink, nbytes, err))
        return false;
    for (uint64_t at = 0; at < nbytes; at += BLOCK) {
        size_t n = (size_t)num_min(BLOCK, nbytes - at);
        if (!sink_write(sink, block, n, err))
            return false;
    }
    return sink_commit(sink, err);
}

int
main(int argc, char **argv)
{
    struct err err = {0};
    struct sink *sink = NULL;
    char *end = NULL;
    errno = 0;
    uint64_t nbytes = argc == 3 ? strtoull(argv[1], &end, 10) : 0;
    if (argc != 3 || errno != 0 || *end != '\0') {
        fprintf(stderr, "usage: %s BYTES FILE\n", argv[0]);
        return 2;
    }
    memset(block, 0xA5, sizeof block);
    bool ok = sink_open(&sink, &(struct sink_options){.path = argv[2], .direct = SINK_DIRECT_NEVER}, &err) && write_all(sink, nbytes, &err);
    sink_close(sink);
    if (!ok)
        fprintf(stderr, "%s: %s\n", argv[0], err.text);
    return ok ? 0 : 1;
}
