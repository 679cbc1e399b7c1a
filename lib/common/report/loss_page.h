/* loss_page: quantization error as a page for people: headline numbers, heat maps, charts and tables, in one HTML file that
 * loads nothing. Equal jobs of a day produce equal bytes. */
#ifndef REPORT_LOSS_PAGE_H
#define REPORT_LOSS_PAGE_H

#include "encode/losses.h"
#include "plan/choice.h"
#include "report/shift_report.h"

/* All weights with one scheme or a plain mix, as measured while another mix was chosen. */
struct loss_uniform {
    const char *scheme;         /* static */
    bool mixed;                 /* it is a mix of llama-quantize; else each weight has this one */
    uint64_t nbytes;
    double noise;               /* sum of squared errors */
};

/* What the page says about the job; borrowed. */
struct loss_about {
    const char *model;          /* the operand, any bytes */
    const char *tool, *version; /* "amn-forget", "0.1.0" */
    const char *command;        /* the command line */
    const char *scheme;         /* "q4_k_m", or NULL if each weight has one of several that were allowed */
    const struct shift_report *adapters;        /* how adapters show in the output, or NULL */
    const char *target;         /* "target: 4.5 bits per weight", or NULL */
    const struct loss_uniform *uniform;         /* nuniform of them, for comparison with the mix */
    size_t nuniform;
};

/* Writes the page; without losses, only what the adapters change. Fails with ERR_MEMORY. */
bool loss_page_html(struct page *page, const struct choice *choice, const struct losses *losses, const struct loss_about *about,
    struct err *err);

#endif
