/* loss_style: the style and the script of the page about quantization error. Nothing in them comes from a model. */
#ifndef REPORT_LOSS_STYLE_H
#define REPORT_LOSS_STYLE_H

/* Text between <style> and </style>, in lines; ends with NULL. h0 to h9 are the colours of SQNR, from the highest to the lowest,
 * and t0 to t9 those of text on them, with a contrast of at least 4.5 to 1. One hue, so that only the lightness counts. */
extern const char *const loss_style[];

/* Text between <script> and </script>: sorts tables of class "sort" when a heading is clicked. */
extern const char *const loss_script[];

#endif
