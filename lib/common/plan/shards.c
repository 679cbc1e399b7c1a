#include "plan/shards.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/num.h"

static bool
tensor_nbytes(uint64_t *nbytes, const struct chosen *chosen, uint64_t align, struct err *err)
{
    struct chosen one = *chosen;
    const struct choice alone = { .list = &one, .n = 1 };
    return choice_nbytes(&alone, nbytes, err) && num_align(nbytes, *nbytes, align);
}

static struct shard *
shards_add(struct shards *s, size_t *room, size_t first, struct err *err)
{
    struct shard *list = array_grow(s->list, s->n, room, sizeof *list, err);
    if (!list)
        return NULL;
    s->list = list;
    if (s->n == SHARDS_MAX) {
        err_set(err, ERR_LIMIT, "the model would have more than %d files: use a larger --shard-size",
            SHARDS_MAX);
        return NULL;
    }
    list[s->n] = (struct shard){ .first = first };
    return &list[s->n++];
}

bool
shards_cut(struct shards *s, const struct choice *choice, uint64_t most, uint64_t align, struct err *err)
{
    size_t room = 0;
    *s = (struct shards){ 0 };
    struct shard *shard = shards_add(s, &room, 0, err);
    for (size_t i = 0; shard && i < choice->n; i++) {
        uint64_t nbytes, sum;
        if (!tensor_nbytes(&nbytes, &choice->list[i], align, err))
            return false;
        if (shard->n != 0 && (!num_add(&sum, shard->nbytes, nbytes) || sum > most)
            && !(shard = shards_add(s, &room, i, err)))
            return false;
        shard->n++;
        shard->nbytes += nbytes;
        s->nbytes += nbytes;
    }
    return shard != NULL;
}

void
shards_clear(struct shards *s)
{
    free(s->list);
    *s = (struct shards){ 0 };
}
