/* loss_style: the fixed text of the page about quantization error: style, terms and script. Each is a list of lines that ends
 * with NULL. */
#ifndef REPORT_LOSS_STYLE_H
#define REPORT_LOSS_STYLE_H

/* Text between <style> and </style>. h0 to h9 are the colours of SQNR, from the highest to the lowest, and t0 to t9 the
 * colours of text on them, with a contrast of at least 4.5 to 1. They have one hue and differ in lightness, for colour-blind
 * readers. */
extern const char *const loss_style[];

/* The explanation of the terms, at the end of the page. */
extern const char *const loss_terms[];

/* Text between <script> and </script>: sorts tables of class "sort" when a heading is clicked. */
extern const char *const loss_script[];

#endif
