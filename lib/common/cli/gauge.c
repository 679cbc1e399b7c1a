#include "cli/gauge.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"

enum { BAR_MIN = 10, BAR_MAX = 40, WORD_ROOM = 64 };
enum { MINUTE = 60, HOUR = 60 * MINUTE, DAY = 24 * HOUR, LEFT_MAX = 100 * DAY };

/* In the order of the line. */
enum word { PHASE, BAR, FIGURE, BYTES, RATE, LEFT, WORDS };

struct gauge {
    char word[WORDS][WORD_ROOM];        /* "" if not applicable */
};

/* Writes "1.21 of 2.88 GiB", both in the unit of the total. */
static void
say_bytes(char word[WORD_ROOM], uint64_t done, uint64_t total)
{
    char whole[STR_SIZE];
    double part = (double)done;
    for (uint64_t t = total; t >= 1024; t /= 1024)
        part /= 1024;
    snprintf(word, WORD_ROOM, "%.*f of %s", total < 1024 ? 0 : 2, part, str_size(whole, total));
}

static void
say_left(char word[WORD_ROOM], double seconds)
{
    unsigned t = LEFT_MAX;
    if (seconds < LEFT_MAX)
        t = (unsigned)seconds;
    if (t < HOUR)
        snprintf(word, WORD_ROOM, "%u:%02u left", t / MINUTE, t % MINUTE);
    else if (t < DAY)
        snprintf(word, WORD_ROOM, "%u:%02u:%02u left", t / HOUR, t % HOUR / MINUTE, t % MINUTE);
    else if (t < LEFT_MAX)
        snprintf(word, WORD_ROOM, "%ud %uh left", t / DAY, t % DAY / HOUR);
}

/* Fills in all words except the bar. */
static void
gauge_init(struct gauge *g, const struct meter_reading *r)
{
    char size[STR_SIZE];
    double rate = 0;
    if (r->seconds > 0)
        rate = (double)r->done / r->seconds;
    *g = (struct gauge){ 0 };
    snprintf(g->word[PHASE], WORD_ROOM, "%s", r->phase);
    if (r->total == 0)
        return;
    if (rate > 0)
        snprintf(g->word[RATE], WORD_ROOM, "%s/s", str_size(size, (uint64_t)rate));
    if (r->total == METER_UNKNOWN) {
        snprintf(g->word[FIGURE], WORD_ROOM, "%s", str_size(size, r->done));
        return;
    }
    uint64_t done = num_min(r->done, r->total);
    snprintf(g->word[FIGURE], WORD_ROOM, "%u%%", (unsigned)((double)done / (double)r->total * 100));
    say_bytes(g->word[BYTES], done, r->total);
    if (rate > 0)
        say_left(g->word[LEFT], (double)(r->total - done) / rate);
}

/* Joins the words that are present. Returns the length. */
static size_t
gauge_join(char buf[GAUGE_ROOM], const struct gauge *g, const char *between)
{
    size_t n = 0;
    buf[0] = '\0';
    for (int w = 0; w < WORDS; w++)
        if (g->word[w][0])
            n += (size_t)snprintf(buf + n, GAUGE_ROOM - n, "%s%s", n ? between : "", g->word[w]);
    return n;
}

/* Fills the rest of the line with a bar if there is enough room. */
static void
add_bar(struct gauge *g, const struct meter_reading *r, size_t room)
{
    size_t frame = strlen("  []");
    char *bar = g->word[BAR];
    if (r->total == 0 || r->total == METER_UNKNOWN || room < frame + BAR_MIN)
        return;
    size_t n = (size_t)num_min(room - frame, BAR_MAX);
    size_t full = (size_t)((double)num_min(r->done, r->total) / (double)r->total * (double)n);
    snprintf(bar, WORD_ROOM, "[%*s]", (int)n, "");
    memset(bar + 1, '.', n);
    memset(bar + 1, '#', full);
}

const char *
gauge_line(char buf[GAUGE_ROOM], const struct meter_reading *r, unsigned width)
{
    static const enum word leave[] = { BYTES, PHASE, RATE, LEFT, FIGURE };
    struct gauge g;
    gauge_init(&g, r);
    size_t n = gauge_join(buf, &g, "  ");
    if (n <= width)
        add_bar(&g, r, width - n);
    for (size_t i = 0; n > width && i < sizeof leave / sizeof *leave; i++) {
        g.word[leave[i]][0] = '\0';
        n = gauge_join(buf, &g, "  ");
    }
    gauge_join(buf, &g, "  ");
    return buf;
}

const char *
gauge_words(char buf[GAUGE_ROOM], const struct meter_reading *r)
{
    struct gauge g;
    gauge_init(&g, r);
    gauge_join(buf, &g, ", ");
    return buf;
}
