#include "plan/byte_range.h"

#include <inttypes.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"

/* Parses the number before `end` in text. */
static bool
byte_range_number(uint64_t *n, const char *text, const char *end)
{
    char digits[24];
    if ((size_t)(end - text) >= sizeof digits)
        return false;
    memcpy(digits, text, (size_t)(end - text));
    digits[end - text] = '\0';
    return str_to_u64(n, digits);
}

bool
byte_range_read_range(struct byte_range *c, const char *text)
{
    const char *dash = strchr(text, '-');
    if (!dash)
        return false;
    c->range = true;
    c->has_first = dash != text;
    c->has_last = dash[1] != '\0';
    return (c->has_first || c->has_last) && (!c->has_first || byte_range_number(&c->first, text, dash))
        && (!c->has_last || str_to_u64(&c->last, dash + 1)) && !(c->has_first && c->has_last && c->first > c->last);
}

bool
byte_range_read_part(struct byte_range *c, const char *text)
{
    const char *slash = strchr(text, '/'), *end = slash ? slash : text + strlen(text);
    c->parts = 0;
    return byte_range_number(&c->part, text, end) && c->part != 0
        && (!slash || (str_to_u64(&c->parts, slash + 1) && c->part <= c->parts));
}

bool
byte_range_check(const struct byte_range *c, struct err *err)
{
    return c->part == 0 || c->parts != 0 || c->part_size != 0 || err_set(err, ERR_USAGE,
        "--part %" PRIu64 " needs a total: use --part %" PRIu64 "/N, or add --part-size SIZE", c->part, c->part);
}

bool
byte_range_is_part(const struct byte_range *c)
{
    return c->range || c->part != 0 || c->part_size != 0;
}

uint64_t
byte_range_parts(const struct byte_range *c, uint64_t size)
{
    return num_max(num_ceil_div(size, c->part_size), 1);
}

/* Returns the end of part i; part 0 ends at 0. */
static uint64_t
part_end(uint64_t i, uint64_t parts, uint64_t size, uint64_t block)
{
    uint64_t blocks = num_ceil_div(size, block), each = blocks / parts, more = blocks % parts;
    return num_min(size, (each * i + num_min(i, more)) * block);
}

static bool
find_part(const struct byte_range *c, uint64_t size, uint64_t block, uint64_t *from, uint64_t *to, struct err *err)
{
    if (c->part_size == 0) {
        *from = part_end(c->part - 1, c->parts, size, block);
        *to = part_end(c->part, c->parts, size, block);
        return true;
    }
    uint64_t parts = byte_range_parts(c, size);
    if (c->part > parts || (c->parts != 0 && c->parts != parts))
        return err_set(err, ERR_USAGE, "--part: the output has only %" PRIu64 " parts of %" PRIu64 " bytes",
            parts, c->part_size);
    *from = (c->part - 1) * c->part_size;
    if (size - *from < c->part_size)
        *to = size;
    else
        *to = *from + c->part_size;
    return true;
}

bool
byte_range_find(const struct byte_range *c, uint64_t size, uint64_t block, uint64_t *from, uint64_t *to, struct err *err)
{
    *from = 0;
    *to = size;
    if (c->part != 0)
        return find_part(c, size, block, from, to, err);
    if (!c->range)
        return true;
    if (!c->has_first)                      /* the last N bytes */
        *from = size - num_min(size, c->last);
    else
        *from = c->first;
    if (c->has_first && c->has_last && c->last < size)
        *to = c->last + 1;
    return *from <= size || err_set(err, ERR_USAGE, "--range: the output has only %" PRIu64
        " bytes, the range begins at %" PRIu64, size, *from);
}
