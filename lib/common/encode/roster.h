/* roster: what becomes of each module of a model directory, and the ways in which the loaders are told.
 *
 * A module is P of a weight P.weight. What is exact of names, each with its source:
 *
 *     transformers    modules_to_not_convert, llm_int8_skip_modules: an expression that matches from the beginning up to a dot
 *                     or the end, or an end of the name (quantizers/quantizers_utils.py, should_convert_module). null: heads
 *                     and what is tied to embeddings; a list stands for itself. Only Linear is converted, never Embedding
 *     compressed-     ignore, targets: whole names, "re:" and an expression that matches from the beginning, or classes; names
 *     tensors         come before classes, ignore before both (utils/match.py)
 *     GPTQModel       dynamic: "-:" or "+:" and an expression that matches from the beginning, the first one counts
 *                     (quantization/config.py, dynamic_get)
 *     optimum         modules_in_block_to_quantize: ends of names (gptq/quantizer.py, convert_model) */
#ifndef ENCODE_ROSTER_H
#define ENCODE_ROSTER_H

#include "base/names.h"
#include "encode/encode.h"

/* The modules that one encoder has made. */
struct roster_group {
    const struct encoding *e;       /* one of them */
    struct names names;
};

/* All lists are in the order of names_sort(). Embeddings that are called as embeddings are in none but those of groups. */
struct roster {
    struct roster_group *group;    /* n of them, at least one; the largest first */
    size_t n;
    struct names kept;              /* modules whose weight of two dimensions stays as it is */
    struct names experts;           /* "P.experts" all of which stay */
    bool head;                      /* a head of its own is among all of these; else it may be tied */
    bool head_encoded;
    struct catalog *catalog;        /* for warnings; borrowed */
};

void roster_clear(struct roster *m);

/* The last part of a module's name: of those that are no Linear; of heads, which may be tied to embeddings. */
bool roster_is_embedding(const char *module);
bool roster_is_head(const char *module);

/* Append ["a", "b"]: the names as they are. */
void roster_json(struct str *out, const struct names *names);

/* Append null or the list for transformers. `experts`: its loader looks at "P.experts", which is no Linear, too. */
void roster_not_converted(struct str *out, const struct roster *m, bool experts);

/* Append the list for compressed-tensors and ModelOpt of what is ignored: with the head that may be tied. */
void roster_ignored(struct str *out, const struct roster *m);

/* Append a JSON string of a name; of an expression that matches this name and no other, behind `before`. */
void roster_name(struct str *out, const char *name);
void roster_expression(struct str *out, const char *before, const char *name);

/* Append members `"<before>EXPRESSION": value` of an object, each behind a comma but the first: expressions that match all of
 * these modules and none of the others. Modules that differ in numbers alone share one where that goes. */
void roster_members(struct str *out, bool *first, const struct roster *m, const struct names *names, const char *before,
    const char *value);

/* Append [["end", ...]]: ends of names that all encoded modules have and none that is kept. */
void roster_ends(struct str *out, const struct roster *m);

/* For struct encoder: config_mixes() of encoders whose files say of each weight what it is, and of several names of one;
 * joins_experts() of those that transformers reads in modules of their own alone, as it replaces what is Linear. */
bool roster_mix(const struct encoding *a, const struct encoding *b);
bool roster_join_none(const struct encoding *e);

#endif
