/* html: text and numbers of an HTML page, appended to a str. */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include "base/str.h"

/* Begins a page of the style of loss_style.h, up to its heading "TITLE ABOUT". `about` is escaped here; NULL for none. */
void html_begin(struct str *out, const char *title, const char *about);

/* Appends a paragraph: the program, the day (of $SOURCE_DATE_EPOCH if it is set), and the command line, any bytes. */
void html_made(struct str *out, const char *tool, const char *version, const char *command);

/* Appends a tile: its title, then a large text, a note below it, and the end. */
void html_tile(struct str *out, const char *title);
void html_tile_note(struct str *out);
void html_tile_end(struct str *out);

/* Appends the script that sorts tables, and ends the page. */
void html_end(struct str *out);

/* Appends a list of lines that ends with NULL, as they are. */
void html_lines(struct str *out, const char *const *lines);

/* Appends p[0..n), any bytes, as text or as an attribute in double quotes. Valid UTF-8 is kept, except for control and
 * direction characters and invalid bytes, which are escaped as in messages. */
void html_text(struct str *out, const char *p, size_t n);

/* Appends a number with three significant digits: "0.0123", "16.3", "1.23e-07", "infinite". */
void html_number(struct str *out, double v);

/* Appends an SQNR in dB with two decimals and without the unit: "22.13", "lossless". */
void html_sqnr(struct str *out, double sqnr);

#endif
