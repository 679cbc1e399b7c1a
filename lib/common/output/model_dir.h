/* model_dir: a model directory as output, which from_pretrained() reads: files of weights, their index, config.json, and
 * the small files of the input beside it.
 *
 * The small files come first, so that what is wrong with them is known before hours of work; then one file of weights
 * after the other gets its name when it is complete; and last the index, so that what was interrupted is no model. Its
 * journal stays, and with `resume` the same job goes on after the files that are as the journal says. Without a journal the
 * job begins, unless the directory is complete: then all is made again and compared, and nothing is written. */
#ifndef OUTPUT_MODEL_DIR_H
#define OUTPUT_MODEL_DIR_H

#include "hf/quantization.h"
#include "output/outputs.h"
#include "pipeline/pipeline.h"
#include "writer/writer.h"

struct model_dir {
    const char *path;           /* made when it is not there; else it holds no model yet, or with `resume` our journal */
    uint64_t shard_size;        /* bytes of tensor data a file; one tensor may be more */
    const char *release;        /* of the tool: another one goes on with nothing of this one's */
    const struct hf_quantization *quantization;    /* what config.json says of what is encoded, or NULL; borrowed */
    bool resume, no_clobber;    /* no_clobber: a directory that is there is empty */
    enum sink_direct direct;
    struct outputs *outputs;    /* the files of the job; borrowed */
    uint64_t nbytes;            /* out: of all files of weights, once they are known */
    size_t kept;                /* out: files that were finished before */
    bool complete;              /* out: all was there before, and is as this job makes it */
};

/* Write the directory. The pipeline is one for a whole output, but for its pieces, sink and range, which are set here file
 * by file; its hooks see one file after the other. With p->losses, finished files are made again and compared. A pipe is
 * spooled first. ERR_CREATE: the directory holds another model, or is that of the input. ERR_OPEN: a small file cannot be
 * read. */
bool model_dir_write(struct model_dir *dir, struct pipeline *p, struct choice *choice, const struct writer_options *options,
    struct err *err);

#endif
