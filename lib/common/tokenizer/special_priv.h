/* special_priv: the special tokens of a model while they are collected. */
#ifndef TOKENIZER_SPECIAL_PRIV_H
#define TOKENIZER_SPECIAL_PRIV_H

#include "tokenizer/vocabulary_priv.h"

enum special_role { BOS, EOS, UNK, SEP, PAD, CLS, MASK, EOT, EOM, ROLES };

/* Members of tokenizer_config.json: texts, flags, the chat template. */
enum { TEXT, ADD = ROLES, TEMPLATE = ADD + ROLES, CONFIG_MEMBERS };

/* A token in tokenizer_config.json: a string, or an object that contains one. An object is never equal to a string. */
struct special_name {
    struct hf_string text;
    bool object;
};

struct special {
    struct vocab *v;
    uint64_t limit;
    bool configured;            /* tokenizer_config.json has members */
    bool has_eot, has_eom;      /* found by the post-processor */
    bool no_pad;                /* config.json has a negative pad_token_id, and the class accepts that */
    struct special_name name[ROLES];
    enum special_role flag_order[ROLES];
    size_t nflags;
    bool flagged[ROLES], flag[ROLES];
    bool found[ROLES];
    struct hf_value config[CONFIG_MEMBERS];
};

static inline bool
is_set(const struct special_name *a)
{
    return a->object || a->text.n != 0;
}

/* Sets the flag that adds the token of a role, for the first time or again. */
void special_flag(struct special *s, enum special_role role, bool yes);

/* Sets roles and flags from the post-processor, or from the list of them. */
bool special_post(struct special *s, const struct hf_value *processor, struct err *err);

#endif
