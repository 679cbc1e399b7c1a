/* What the parts of a job tell one another. */
#ifndef JOB_JOB_PRIV_H
#define JOB_JOB_PRIV_H

#include "job/job.h"
#include "pipeline/checksum.h"
#include "pipeline/scan.h"
#include "scheme/roles.h"

/* Print what is wanted instead of the output. */
bool job_print(const struct job *job, const struct pipeline *p, struct err *err);

/* The metadata of the output, for its writer; clear them after a failure too. Under -v says what is left out or missing. */
bool job_keys(struct keys *keys, struct job *job, struct model *model, const struct choice *choice, struct err *err);

/* What is said when the output is complete, so that nothing is a failure: the tensors that have NaN or infinite values;
 * values beyond F16; odd scales, when asked; and the last line. */
void job_warn_of_values(const struct cli *cli, const struct pipeline *p, const struct scan *scan);
void job_warn_of_f16(const struct cli *cli, const struct pipeline *p);
void job_note_scales(const struct cli *cli, const struct pipeline *p, const struct roles *roles);
void job_note_end(const struct job *job, const struct pipeline *p, const struct checksum *sum);

#endif
