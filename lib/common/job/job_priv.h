/* What the parts of a job tell one another. */
#ifndef JOB_JOB_PRIV_H
#define JOB_JOB_PRIV_H

#include "job/job.h"
#include "pipeline/checksum.h"
#include "pipeline/scan.h"
#include "encode/losses.h"
#include "scheme/roles.h"

/* Find writer and encoder, when all options are known. ERR_USAGE when they do not go together. */
bool job_settle(struct job *job, struct err *err);

/* Print what is wanted instead of the output. */
bool job_print(const struct job *job, const struct pipeline *p, struct err *err);

/* What is said when the output is complete, so that nothing is a failure: the tensors that have NaN or infinite values;
 * values beyond the type; odd scales, when asked; and the last line. */
void job_warn_of_values(const struct cli *cli, const struct pipeline *p, const struct scan *scan);
void job_warn_of_range(const struct job *job, const struct pipeline *p);
void job_note_scales(const struct cli *cli, const struct pipeline *p, const struct roles *roles);
void job_tell_cost(const struct job *job, const struct pipeline *p, const struct choice *choice);
void job_note_end(const struct job *job, const struct pipeline *p, const struct checksum *sum);

/* Write the report of what encoding took, where one is wanted. */
bool job_report_cost(const struct job *job, const struct pipeline *p, const struct choice *choice, struct err *err);

#endif
