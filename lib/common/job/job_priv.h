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

/* Print what is wanted instead of the output of one file. */
bool job_print(const struct job *job, const struct pipeline *p, const struct choice *choice, struct err *err);

/* The same of an output of several files: which these would be. */
bool job_preview_files(const struct job *job, const struct pipeline *p, const struct choice *choice,
    const struct writer_options *layout, struct err *err);

/* The metadata of the output, for its writer; clear them after a failure too. */
bool job_keys_make(struct keys *keys, struct job *job, struct model *model, const struct choice *choice, struct err *err);

/* The same, for the layout of the job; under -v says what is left out or missing. */
bool job_keys(struct keys *keys, struct job *job, struct model *model, const struct choice *choice, struct err *err);

/* What is said when the output is complete, so that nothing is a failure: the tensors that have NaN or infinite values;
 * values beyond the type; odd scales, when asked; and the last line. */
void job_warn_of_values(const struct cli *cli, const struct pipeline *p, const struct scan *scan);
void job_warn_of_range(const struct job *job, const struct pipeline *p);
void job_note_scales(const struct cli *cli, const struct pipeline *p, const struct roles *roles);
void job_tell_cost(const struct job *job, const struct pipeline *p, const struct choice *choice);
void job_note_end(const struct job *job, const struct pipeline *p, const struct checksum *sum);

/* Write the output; or what is wanted instead. */
bool job_write(const struct job *job, struct pipeline *p, struct choice *choice, const struct roles *roles, struct err *err);

#endif
