/* screen: the terminal that text goes to, if it is one: its width, its colours, and the columns that characters take. */
#ifndef BASE_SCREEN_H
#define BASE_SCREEN_H

#include "base/str.h"

/* A zeroed struct has no columns: use screen_of(). */
struct screen {
    size_t columns;             /* SIZE_MAX if it is not a terminal: nothing is shortened for a pipe or a file */
    bool colour;
};

enum screen_style { SCREEN_PLAIN, SCREEN_HEADING, SCREEN_KIND, SCREEN_GOOD, SCREEN_WARNING, SCREEN_BAD };

/* Describes a descriptor. The width of a terminal is $COLUMNS if that is a number, else the width of the window, else 80. A
 * terminal has colours unless $NO_COLOR is set and not empty (no-color.org) or $TERM is "dumb" or not set. */
struct screen screen_of(int fd);

/* Returns the width of the window of a terminal, or 80. */
size_t screen_window(int fd);

/* Append the escape sequences that begin and end a style; nothing for SCREEN_PLAIN, or without colours. */
void screen_begin(struct str *s, const struct screen *screen, enum screen_style style);
void screen_end(struct str *s, const struct screen *screen, enum screen_style style);

/* Returns the columns that UTF-8 text takes on a terminal: two for a wide character, none for a combining one. Any byte that
 * is not UTF-8 takes one. Source: EastAsianWidth.txt and DerivedGeneralCategory.txt of Unicode 15.1. */
size_t screen_columns(const char *p, size_t n);

/* Appends text in at most `width` columns: replaces what is too much by "...", in the middle or, with `end`, at the end. */
void screen_shorten(struct str *s, const char *p, size_t n, size_t width, bool end);

#endif
