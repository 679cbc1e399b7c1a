/* model_dir: writes a model directory that from_pretrained() can load: weight files, their index, config.json, and copies of
 * the input's other small files.
 *
 * The files besides config.json may be given as texts instead, whose meaning is not known here.
 *
 * Small files are written first, so that errors in them show before hours of work. Each weight file is renamed into place
 * when complete; the index comes last, so an interrupted directory is not a loadable model. The journal then remains, and
 * with `resume` the same job continues after the files that match it. Without a journal the job starts over, unless the
 * directory is complete: then the output is generated again and compared, and nothing is written.
 */
#ifndef OUTPUT_MODEL_DIR_H
#define OUTPUT_MODEL_DIR_H

#include "base/texts.h"
#include "hf/quantization.h"
#include "output/outputs.h"
#include "pipeline/pipeline.h"
#include "writer/writer.h"

struct model_dir {
    const char *path;           /* created if it does not exist; otherwise without a model, or with `resume`, with our
                                 * journal */
    uint64_t shard_size;        /* bytes of tensor data per file; a single tensor may exceed it */
    const char *release;        /* amn version; another version cannot resume the job */
    const struct hf_quantization *quantization;    /* for config.json, or NULL; borrowed */
    const char *tokenizer;      /* directory whose tokenizer replaces the input's, or NULL; borrowed */
    const char *stem;           /* of the names of the weight files; NULL: as hf_shard_stem() has it; static */
    const struct texts *texts;  /* the side files besides config.json, instead of the input's; or NULL; borrowed */
    bool resume, no_clobber;    /* no_clobber: an existing directory must be empty */
    bool force;                 /* replace a model in the directory */
    enum sink_direct direct;
    struct outputs *outputs;    /* all files of the job; borrowed */
    uint64_t nbytes;            /* out: total size of the weight files, once known */
    size_t kept;                /* out: number of files that were already finished */
    bool complete;              /* out: the directory was complete, and equal to the output of this job */
};

/* Writes the directory. Takes a pipeline for a whole output; its pieces, sink and range are set here for each file, and its
 * hooks see the files in order. With p->losses, finished files are generated again and compared. A pipe is spooled first. With
 * force, the files of another model are removed once the new files are complete. Fails with ERR_CREATE if the directory
 * contains another model or is the input, and with ERR_OPEN if a small file cannot be read. */
bool model_dir_write(struct model_dir *dir, struct pipeline *p, struct choice *choice, const struct writer_options *options,
    struct err *err);

#endif
