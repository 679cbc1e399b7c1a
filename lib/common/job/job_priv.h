/* What the parts of a job tell one another. */
#ifndef JOB_JOB_PRIV_H
#define JOB_JOB_PRIV_H

#include "job/job.h"
#include "pipeline/checksum.h"
#include "pipeline/scan.h"
#include "scheme/roles.h"

/* Print what is wanted instead of the output of one file. */
bool job_print(const struct job *job, const struct pipeline *p, const struct choice *choice, struct err *err);

/* The same of an output of several files: which these would be. */
bool job_preview_files(const struct job *job, const struct pipeline *p, const struct choice *choice,
    const struct writer_options *layout, struct err *err);

/* What is said when the output is complete, so that nothing is a failure: the tensors that have NaN or infinite values;
 * values beyond F16; odd scales, when asked; and the last line. */
void job_warn_of_values(const struct cli *cli, const struct pipeline *p, const struct scan *scan);
void job_warn_of_f16(const struct cli *cli, const struct pipeline *p);
void job_note_scales(const struct cli *cli, const struct pipeline *p, const struct roles *roles);
void job_note_end(const struct job *job, const struct pipeline *p, const struct checksum *sum);

#endif
