/* reduction: which weights of a choice are quantized, and how. */
#ifndef PLAN_REDUCTION_H
#define PLAN_REDUCTION_H

#include "plan/importance.h"
#include "plan/naming.h"

struct reduction_rule;
struct reduction_ruling;

/* Zeroed: nothing is quantized. What the user says is cleared with reduction_clear(). A job begins with a copy of it, to which
 * reduction_begin() adds what the job decides. */
struct reduction {
    const struct encoder *encoder;      /* used where no rule applies; NULL: quantize nothing */
    struct encode_options how;
    struct naming which;                /* the user's globs: the tensors that are changed, quantized or not; owned */
    struct reduction_rule *rules;       /* nrules; the first match applies; owned by what the user says */
    size_t nrules, rules_room;
    struct reduction_ruling *rulings;   /* what a job decides about each rule; owned by the job */
    struct importance importance;       /* owned by the job */
    bool pure;                          /* use one scheme for every float matrix; with a mix, for those that the mix covers */
    bool apart;                         /* give weights that loaders fuse separate scales */
    bool uniform;                       /* use one scheme for all eligible weights */
    bool trial;                         /* the result is only looked at: no warnings, and rules need not work */
    enum keeps keeps;                   /* quantized weights that stay as they are unless they are encoded */
    const struct naming *names;         /* renames the companions of weights that stay; borrowed, or NULL: none is renamed */
    const struct encoder *const *assigned;      /* or one encoder for each tensor of the choice, NULL to leave it as it is;
                                                 * borrowed */
};

/* Adds a rule REGEX=SCHEME: tensors in whose names the POSIX extended expression matches are quantized as SCHEME, or
 * converted if it is f32, f16 or bf16. `text` is borrowed. ERR_USAGE. */
bool reduction_rule(struct reduction *r, const char *text, struct err *err);

/* Adds the rulings to a copy of what the user says, which must outlive it. Clear it with reduction_end(). */
bool reduction_begin(struct reduction *r, struct err *err);
void reduction_end(struct reduction *r);

/* Looks up the encoders that the rules name, for the container of r->encoder. ERR_USAGE. */
bool reduction_settle(struct reduction *r, struct err *err);

/* Replaces the eligible weights by the parts that they are encoded to. In a llama.cpp model the types come from the mix that
 * the encoder was named by, if it is one. In other models, a tensor is eligible if it is
 *
 * - F64, F32, F16 or BF16 in the output,
 * - of two or more dimensions, at least 32 x 32,
 * - named *.weight, and not an embedding, norm, head or router.
 *
 * A rule or an include glob selects any float matrix. Weights that are skipped get a reason. A quantized weight that is
 * skipped, or has the chosen block type already, stays as it is stored if the output keeps it. Encodings are allocated from
 * `memory`. Fails with ERR_USAGE if no weight is encoded or has the type already, or if a type requires an importance
 * matrix and has none.
 */
bool reduction_apply(const struct reduction *r, struct choice *choice, struct catalog *memory, struct err *err);

/* Decides which names the globs and rules see, those of the output or of the input, before any of them is asked. ERR_USAGE. */
bool reduction_meet(const struct reduction *r, const struct choice *choice, struct err *err);

/* --- exact encodings, which are tried one by one before the output is chosen */

/* Sets *offers if a weight is tried: a quantized one unless a glob excludes it, another if reduction_apply() would encode it. */
bool reduction_offers(const struct reduction *r, const struct choice *choice, size_t place, bool *offers, struct err *err);

/* Finds the encoder of the rule that matches an entry, or NULL. Fails with ERR_USAGE if it is not a target. */
bool reduction_ruled(const struct reduction *r, const struct chosen *c, enum keeps held, const struct encoder **encoder, struct err *err);

/* Sets up the encoding of an entry with this encoder, as a weight of type `dtype`: c->encoding, or NULL and c->why if the encoder
 * does not fit. */
bool reduction_try(const struct reduction *r, struct chosen *c, size_t place, const struct encode_options *how,
    const struct encoder *encoder, const struct exact_terms *exact, enum dtype dtype, struct catalog *memory, struct err *err);

/* Counts the tensors of each weight. The list has an entry for each tensor of the input, and the count is at the weight's codes.
 * The caller frees it; NULL: no memory. */
unsigned *reduction_count_owned(const struct choice *choice);

/* Returns true if a weight is stored as it would be encoded: the same tensors, by name, type and shape. `owned`: from the call above. */
bool reduction_is_stored(const struct encoding *e, const struct weight *w, const struct choice *choice, const unsigned *owned);

/* Replaces the weights that have an encoding by its parts, and adds the companions of those that stay as they are stored. */
bool reduction_finish(const struct reduction *r, struct choice *choice, struct err *err);

void reduction_clear(struct reduction *r);

#endif
