#include "base/screen.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { USUAL = 80, DOTS = 3, COLUMNS_MIN = 20 };

size_t
screen_window(int fd)
{
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return USUAL;
    return size.ws_col;
}

struct screen
screen_of(int fd)
{
    const char *columns = getenv("COLUMNS"), *none = getenv("NO_COLOR"), *term = getenv("TERM");
    uint64_t n;
    if (fd < 0 || !isatty(fd))
        return (struct screen){ .columns = SIZE_MAX };
    size_t width;
    if (columns && str_to_u64(&n, columns) && n != 0 && n < SIZE_MAX)
        width = (size_t)n;
    else
        width = screen_window(fd);
    return (struct screen){ .columns = width > COLUMNS_MIN ? width : COLUMNS_MIN,
        .colour = (!none || !*none) && term && *term && strcmp(term, "dumb") != 0 };
}

void
screen_begin(struct str *s, const struct screen *screen, enum screen_style style)
{
    static const char *const codes[] = { [SCREEN_HEADING] = "\033[1m", [SCREEN_KIND] = "\033[36m", [SCREEN_GOOD] = "\033[32m",
        [SCREEN_WARNING] = "\033[33m", [SCREEN_BAD] = "\033[31m" };
    if (screen->colour && style != SCREEN_PLAIN)
        str_text(s, codes[style]);
}

void
screen_end(struct str *s, const struct screen *screen, enum screen_style style)
{
    if (screen->colour && style != SCREEN_PLAIN)
        str_text(s, "\033[0m");
}

/* --- widths */

struct range {
    uint32_t first, last;
};

/* Characters of width W and F. */
static const struct range wide[] = {
    { 0x1100, 0x115F }, { 0x231A, 0x231B }, { 0x2329, 0x232A }, { 0x23E9, 0x23EC }, { 0x23F0, 0x23F0 }, { 0x23F3, 0x23F3 },
    { 0x25FD, 0x25FE }, { 0x2614, 0x2615 }, { 0x2648, 0x2653 }, { 0x267F, 0x267F }, { 0x2693, 0x2693 }, { 0x26A1, 0x26A1 },
    { 0x26AA, 0x26AB }, { 0x26BD, 0x26BE }, { 0x26C4, 0x26C5 }, { 0x26CE, 0x26CE }, { 0x26D4, 0x26D4 }, { 0x26EA, 0x26EA },
    { 0x26F2, 0x26F3 }, { 0x26F5, 0x26F5 }, { 0x26FA, 0x26FA }, { 0x26FD, 0x26FD }, { 0x2705, 0x2705 }, { 0x270A, 0x270B },
    { 0x2728, 0x2728 }, { 0x274C, 0x274C }, { 0x274E, 0x274E }, { 0x2753, 0x2755 }, { 0x2757, 0x2757 }, { 0x2795, 0x2797 },
    { 0x27B0, 0x27B0 }, { 0x27BF, 0x27BF }, { 0x2B1B, 0x2B1C }, { 0x2B50, 0x2B50 }, { 0x2B55, 0x2B55 }, { 0x2E80, 0x303E },
    { 0x3041, 0x33FF }, { 0x3400, 0x4DBF }, { 0x4E00, 0xA4CF }, { 0xA960, 0xA97F }, { 0xAC00, 0xD7A3 }, { 0xF900, 0xFAFF },
    { 0xFE10, 0xFE19 }, { 0xFE30, 0xFE6F }, { 0xFF01, 0xFF60 }, { 0xFFE0, 0xFFE6 }, { 0x16FE0, 0x18D08 }, { 0x1AFF0, 0x1B2FB },
    { 0x1F004, 0x1F004 }, { 0x1F0CF, 0x1F0CF }, { 0x1F18E, 0x1F18E }, { 0x1F191, 0x1F19A }, { 0x1F200, 0x1F320 },
    { 0x1F32D, 0x1F335 }, { 0x1F337, 0x1F37C }, { 0x1F37E, 0x1F393 }, { 0x1F3A0, 0x1F3CA }, { 0x1F3CF, 0x1F3D3 },
    { 0x1F3E0, 0x1F3F0 }, { 0x1F3F4, 0x1F3F4 }, { 0x1F3F8, 0x1F43E }, { 0x1F440, 0x1F440 }, { 0x1F442, 0x1F4FC },
    { 0x1F4FF, 0x1F53D }, { 0x1F54B, 0x1F54E }, { 0x1F550, 0x1F567 }, { 0x1F57A, 0x1F57A }, { 0x1F595, 0x1F596 },
    { 0x1F5A4, 0x1F5A4 }, { 0x1F5FB, 0x1F64F }, { 0x1F680, 0x1F6C5 }, { 0x1F6CC, 0x1F6CC }, { 0x1F6D0, 0x1F6D2 },
    { 0x1F6D5, 0x1F6D7 }, { 0x1F6DC, 0x1F6DF }, { 0x1F6EB, 0x1F6EC }, { 0x1F6F4, 0x1F6FC }, { 0x1F7E0, 0x1F7EB },
    { 0x1F7F0, 0x1F7F0 }, { 0x1F90C, 0x1F93A }, { 0x1F93C, 0x1F945 }, { 0x1F947, 0x1F9FF }, { 0x1FA70, 0x1FAF8 },
    { 0x20000, 0x2FFFD }, { 0x30000, 0x3FFFD },
};

/* Combining and format characters of the scripts that names use. */
static const struct range narrow[] = {
    { 0x0300, 0x036F }, { 0x0483, 0x0489 }, { 0x0591, 0x05BD }, { 0x05BF, 0x05BF }, { 0x05C1, 0x05C2 }, { 0x05C4, 0x05C5 },
    { 0x0610, 0x061A }, { 0x064B, 0x065F }, { 0x0670, 0x0670 }, { 0x06D6, 0x06DC }, { 0x06DF, 0x06E4 }, { 0x0900, 0x0902 },
    { 0x093C, 0x093C }, { 0x0941, 0x0948 }, { 0x094D, 0x094D }, { 0x0E31, 0x0E31 }, { 0x0E34, 0x0E3A }, { 0x0E47, 0x0E4E },
    { 0x1AB0, 0x1ACE }, { 0x1DC0, 0x1DFF }, { 0x200B, 0x200F }, { 0x2060, 0x2064 }, { 0x20D0, 0x20F0 }, { 0x302A, 0x302D },
    { 0x3099, 0x309A }, { 0xFE00, 0xFE0F }, { 0xFE20, 0xFE2F }, { 0xFEFF, 0xFEFF }, { 0xE0100, 0xE01EF },
};

static bool
is_in(const struct range *range, size_t n, uint32_t code)
{
    for (size_t i = 0; i < n && range[i].first <= code; i++)
        if (code <= range[i].last)
            return true;
    return false;
}

/* Returns the bytes of the first character of p[0..n) and sets its width. */
static size_t
next_character(const char *p, size_t n, size_t *width)
{
    uint32_t code;
    size_t len = str_utf8_char(p, n, &code);
    *width = 1;
    if (len == 0)
        return 1;
    if (code >= narrow[0].first)
        *width = is_in(narrow, sizeof narrow / sizeof *narrow, code) ? 0 : 1 + is_in(wide, sizeof wide / sizeof *wide, code);
    return len;
}

size_t
screen_columns(const char *p, size_t n)
{
    size_t columns = 0, width;
    for (size_t i = 0; i < n; columns += width)
        i += next_character(p + i, n - i, &width);
    return columns;
}

void
screen_shorten(struct str *s, const char *p, size_t n, size_t width, bool end)
{
    size_t all = screen_columns(p, n), i = 0, len, w, seen = 0;
    if (all <= width || width < DOTS) {
        str_add(s, p, all <= width ? n : 0);
        return;
    }
    size_t head = (width - DOTS) / 3, tail;
    if (end)
        head = width - DOTS;
    tail = width - DOTS - head;
    while (len = next_character(p + i, n - i, &w), seen + w <= head) {
        i += len;
        seen += w;
    }
    str_add(s, p, i);
    str_text(s, "...");
    while (i < n && (len = next_character(p + i, n - i, &w), all - seen > tail || w == 0)) {
        i += len;
        seen += w;
    }
    str_add(s, p + i, n - i);
}
