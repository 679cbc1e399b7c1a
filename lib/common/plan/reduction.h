/* reduction: which weights of a choice lose precision, and what each becomes. */
#ifndef PLAN_REDUCTION_H
#define PLAN_REDUCTION_H

#include "plan/importance.h"
#include "plan/naming.h"

struct reduction_rule;

/* Zeroed: nothing is encoded. Clear with reduction_clear(). */
struct reduction {
    const struct encoder *encoder;      /* of what no rule names; NULL: nothing is encoded */
    struct encode_options how;
    struct naming which;                /* by the globs that the user gave; owned */
    struct reduction_rule *rules;       /* nrules, the first that matches counts; owned */
    size_t nrules, rules_room;
    struct importance importance;       /* owned */
    bool pure;                          /* every matrix of floats becomes the one type; with a mix those that it takes */
    bool apart;                         /* weights that loaders fuse have scales of their own */
    bool uniform;                       /* all that is eligible becomes the one type */
    const struct encoder *const *assigned;      /* or: of each tensor of the choice, or NULL for one that stays; borrowed */
};

/* A tensor whose name a POSIX extended expression finds something in becomes what `scheme` names: REGEX=SCHEME, or a type that
 * stays plain: f32, f16, bf16. `text` is borrowed. ERR_USAGE. */
bool reduction_rule(struct reduction *r, const char *text, struct err *err);

/* Find the encoders that the rules name, in the container of r->encoder. ERR_USAGE. */
bool reduction_settle(struct reduction *r, struct err *err);

/* Replace the weights that are eligible by the parts that they become. A model of llama.cpp has the types of the mix that the
 * encoder is called by, if there is one; of others what is eligible is a tensor of F64, F32, F16 or BF16, in the output, of two
 * dimensions or more, of at least 32 x 32, that is called ".weight" and none of embeddings, norms, heads and routers. A rule or
 * a glob to include takes any matrix of floats. The others stay, and say why. Encodings are allocated of `memory`. ERR_USAGE when
 * nothing is encoded, or for want of weights of importance. */
bool reduction_apply(const struct reduction *r, struct choice *choice, struct catalog *memory, struct err *err);

void reduction_clear(struct reduction *r);

#endif
