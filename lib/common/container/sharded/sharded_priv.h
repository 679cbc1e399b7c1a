/* sharded_priv: shared by the formats of this folder. */
#ifndef CONTAINER_SHARDED_SHARDED_PRIV_H
#define CONTAINER_SHARDED_SHARDED_PRIV_H

#include "container/sharded/sharded.h"
#include "container/torch/torch_file.h"

struct sharded_format {
    const char *kind;           /* "dcp" */
    bool master, all;           /* what --state may ask for besides the model */
    bool hf;                    /* it has names of Hugging Face for --to hf */
    bool root;                  /* it has trees that --root chooses from */
    /* Returns true if the names of a directory show this format. */
    bool (*probe)(const struct sharded *s);
    bool (*read)(struct sharded *s, struct err *err);
};

extern const struct sharded_format sharded_dcp, sharded_dcp_incomplete, sharded_deepspeed, sharded_universal,
    sharded_rank_files, sharded_megatron, sharded_zarr, sharded_consolidated,
    sharded_slices, sharded_layered;

/* Returns true if the directory has this name. */
bool sharded_has(const struct sharded *s, const char *name);

/* Opens a file of the directory, once, and sets *file to its number. `name` may be a path below it. Fails with ERR_OPEN if it is not
 * there. */
bool sharded_open(struct sharded *s, const char *name, uint32_t *file, struct err *err);

/* Opens a file of the directory whose tensors are not part of the model. The caller closes *src, also after a failure. */
bool sharded_source(struct sharded *s, const char *name, struct source **src, struct err *err);

/* Opens such a file as one of torch.save(), and adds its checksums to the catalog. Clear it after a failure, too. */
bool sharded_torch(struct sharded *s, struct torch_file *f, const char *name, uint32_t *file, struct err *err);

/* Appends the text of a small file, before the checkpoint is opened. */
bool sharded_peek(struct str *out, const char *dir, const char *file, struct err *err);

/* Reads a whole file of at most `max` bytes. The caller frees *bytes, also after a failure. */
bool sharded_load(struct sharded *s, const char *name, uint64_t max, uint8_t **bytes, size_t *n, struct err *err);

/* Fails with ERR_OPEN unless all of these files are in the directory; names the first that is not, and their number. */
bool sharded_check_files(const struct sharded *s, const struct names *files, struct err *err);

/* Returns true if a name is one component of a path: not empty, without '/' and NUL, not "." or "..". */
bool sharded_is_component(const char *p, size_t n);

/* Appends p[0..n), the name of a tensor, without the components that wrappers of a module add. */
void sharded_add_name(struct str *to, const char *p, size_t n);

/* Returns the word for its format: "dcp". */
const char *sharded_kind(const struct sharded *s);

/* Sets the catalog's facts about the checkpoint, once the tensors are in the catalog. */
bool sharded_describe(struct sharded *s, struct err *err);

/* Returns true for --state `word`. */
bool sharded_wants(const struct sharded *s, const char *word);

/* Adds a tensor that a file holds as a whole: begin, one tile, end. */
bool sharded_add_whole(struct sharded *s, uint32_t file, const char *name, size_t n, const struct torch_tensor *t, struct err *err);

#endif
