#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "sink/sink_priv.h"

bool
compare_bytes(int fd, uint64_t at, const void *p, size_t n, uint64_t *same)
{
    uint8_t there[COMPARE_STEP];
    *same = 0;
    while (*same < n) {
        ssize_t got = pread(fd, there, (size_t)num_min(sizeof there, n - *same), (off_t)(at + *same));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        size_t i = 0;
        if (got == 0 || memcmp(there, (const uint8_t *)p + *same, (size_t)got) != 0) {
            while (i < (size_t)got && there[i] == ((const uint8_t *)p)[*same + i])
                i++;
            *same += i;
            return true;
        }
        *same += (uint64_t)got;
    }
    return true;
}
