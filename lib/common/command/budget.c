#include "command/budget.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "encode/ggml.h"
#include "encode/losses.h"
#include "command/command_priv.h"
#include "pipeline/survey_first.h"
#include "plan/assign.h"
#include "report/loss_page.h"

/* The measured cost of each candidate on each weight. */
struct costs {
    struct assign_option *options;       /* indexed by tensor of the choice, then by candidate */
    const struct encoder **of;          /* encoder used for each option; a --tensor-type rule may replace the candidate */
    size_t *pick;
};

/* Copies the choice with every eligible weight encoded by one candidate, as assigned, or as the mix that the encoder names. The caller
 * frees copy->list. */
static bool
try_encoder(struct choice *copy, const struct job *job, const struct encoder *const *assigned, const struct encoder *candidate,
    bool mixed, struct err *err)
{
    const struct choice *choice = &job->choice;
    struct reduction r = job->reduction;
    size_t size = (choice->n + 1) * sizeof *choice->list;
    *copy = *choice;
    copy->list = malloc(size);
    if (!copy->list)
        return err_memory(err, size);
    memcpy(copy->list, choice->list, choice->n * sizeof *choice->list);
    r.encoder = candidate;
    r.uniform = !mixed;
    r.trial = true;
    r.assigned = assigned;
    return reduction_apply(&r, copy, job->model.catalog, err);
}

static bool
try_candidate(struct choice *copy, const struct job *job, const struct encoder *const *assigned, const struct encoder *candidate,
    struct err *err)
{
    return try_encoder(copy, job, assigned, candidate, false, err);
}

/* Returns the bytes of a weight in the output, including GGUF's padding. */
static uint64_t
nbytes_of(const struct encoding *e)
{
    uint64_t n = encode_nbytes(e);
    if (e->encoder->held == KEEPS_BLOCKS)
        return num_ceil_div(n, 32) * 32;
    return n;
}

/* Encodes all weights of the copy and records size and error as candidate k. */
static bool
budget_run(struct costs *costs, const struct job *job, struct choice *copy, size_t k, struct err *err)
{
    const struct pipeline *p = &job->p;
    struct pieces *pieces = pieces_new(err);
    struct pipeline own = { .model = p->model, .pieces = pieces, .kernels = p->kernels, .encode = p->encode, .jobs = p->jobs,
        .no_verify = p->no_verify, .nonfinite_ok = p->nonfinite_ok, .one_of_many = true };
    bool ok = pieces && survey_first(p, copy, err);
    for (size_t i = 0; ok && i < copy->n; i++)
        ok = !copy->list[i].encoding || pieces_chosen(pieces, &copy->list[i], err);
    if (ok) {
        own.to = pieces_nbytes(pieces);
        own.losses = losses_new(copy->encoded, err);
    } else {
        own.to = 0;
        own.losses = NULL;
    }
    ok = own.losses && sink_nowhere(&own.sink, err) && pipeline_run(&own, err) && losses_check(own.losses, err);
    for (size_t i = 0; ok && i < copy->n; i++) {
        const struct encoding *e = copy->list[i].encoding;
        if (!e || copy->list[i].part != 0)
            continue;
        size_t at = e->place * job->ncandidates + k;
        costs->options[at] = (struct assign_option){ nbytes_of(e), losses_of(own.losses, e->number).noise };
        costs->of[at] = e->encoder;
    }
    sink_close(own.sink);
    losses_free(own.losses);
    pieces_free(pieces);
    return ok;
}

static bool
budget_measure(struct costs *costs, const struct job *job, struct err *err)
{
    bool ok = true;
    for (size_t i = 0; i < job->choice.n * job->ncandidates; i++)
        costs->options[i].nbytes = ASSIGN_NEVER;
    for (size_t k = 0; ok && k < job->ncandidates; k++) {
        struct choice copy;
        meter_phase(job->model.meter, "measuring", 0);
        ok = try_candidate(&copy, job, NULL, job->candidates[k], err) && budget_run(costs, job, &copy, k, err);
        free(copy.list);
    }
    return ok;
}

/* Counts the bytes that the target limits: the whole file for --target-size, the data for --target-bpw. */
static bool
count(uint64_t *n, struct job *job, struct choice *copy, struct err *err)
{
    struct writer_options layout = job->layout;
    struct keys keys = { 0 };
    if (job->cmd->target_size == 0)
        return choice_nbytes(copy, n, err);
    struct pieces *pieces = pieces_new(err);
    layout.keys = &keys;
    bool ok = pieces && command_keys_make(&keys, job, copy, err) && job->writer->lay_out(pieces, copy, &layout, err);
    if (ok)
        *n = pieces_nbytes(pieces);
    else
        *n = 0;
    pieces_free(pieces);
    keys_clear(&keys);
    return ok;
}

/* Returns the target in bytes. */
static uint64_t
target_of(const struct command *cmd, const struct choice *choice)
{
    uint64_t numel = 0;
    if (cmd->target_size != 0)
        return cmd->target_size;
    for (size_t i = 0; i < choice->n; i++) {
        const struct tensor t = chosen_source(&choice->list[i]);
        uint64_t n = 0;
        if (shape_numel(&t.shape, &n))
            numel += n;
    }
    return (uint64_t)(cmd->target_bpw * (double)numel / 8);
}

static void
take_picks(const struct encoder **assigned, const struct costs *costs, const struct job *job)
{
    for (size_t i = 0; i < job->choice.n; i++)
        assigned[i] = costs->pick[i] < job->ncandidates ? costs->of[i * job->ncandidates + costs->pick[i]] : NULL;
}

/* Applies the picks and counts the resulting bytes. */
static bool
try_picks(uint64_t *n, const struct encoder **assigned, const struct costs *costs, struct job *job, struct err *err)
{
    struct choice copy = { 0 };
    take_picks(assigned, costs, job);
    bool ok = try_candidate(&copy, job, assigned, job->reduction.encoder, err) && count(n, job, &copy, err);
    free(copy.list);
    return ok;
}

/* Assigns the smallest encoders first, which shows how many bytes everything else takes, then spends what is left. Headers
 * grow with the offsets in them, so an overrun is subtracted from the budget until the output fits. */
static bool
pick(const struct encoder **assigned, struct costs *costs, struct job *job, struct err *err)
{
    const struct command *cmd = job->cmd;
    const struct choice *choice = &job->choice;
    uint64_t least, n, target = target_of(cmd, choice);
    if (!assign_encoders(costs->pick, costs->options, choice->n, job->ncandidates, 0, &least, err)
        || !try_picks(&n, assigned, costs, job, err))
        return false;
    if (n > target)
        return err_set(err, ERR_USAGE, "--target-%s too small: the smallest possible output of these --candidates is %"
            PRIu64 " bytes, the target is %" PRIu64, cmd->target_size != 0 ? "size" : "bpw", n, target);
    for (uint64_t most = least + (target - n);;) {
        if (!assign_encoders(costs->pick, costs->options, choice->n, job->ncandidates, most, &least, err)
            || !try_picks(&n, assigned, costs, job, err))
            return false;
        if (n <= target)
            return true;
        if (most > least + (n - target))
            most = most - (n - target);
        else
            most = least;
    }
}

/* Sums the cost of candidate k on all weights that are encoded; returns false if it cannot encode one of them. */
static bool
sum_candidate(struct loss_uniform *sum, const struct costs *costs, const struct job *job, size_t k)
{
    const size_t each = job->ncandidates;
    *sum = (struct loss_uniform){ .scheme = job->candidates[k]->name };
    for (size_t i = 0; i < job->choice.n; i++) {
        const struct assign_option *option = &costs->options[i * each];
        bool any = false;
        for (size_t other = 0; other < each; other++)
            any = any || option[other].nbytes != ASSIGN_NEVER;
        if (any && option[k].nbytes == ASSIGN_NEVER)
            return false;
        if (any) {
            sum->nbytes += option[k].nbytes;
            sum->noise += option[k].noise;
        }
    }
    return true;
}

/* Counts the weights for which a candidate was measured. */
static size_t
measured(const struct costs *costs, const struct job *job)
{
    size_t n = 0;
    for (size_t i = 0; i < job->choice.n; i++) {
        bool any = false;
        for (size_t k = 0; k < job->ncandidates; k++)
            any = any || costs->options[i * job->ncandidates + k].nbytes != ASSIGN_NEVER;
        n += any;
    }
    return n;
}

/* Adds the cost of a weight, if a candidate of its type was measured on it. */
static bool
add_cost(struct loss_uniform *sum, const struct costs *costs, const struct job *job, const struct encoding *e)
{
    for (size_t at = e->place * job->ncandidates, k = 0; k < job->ncandidates; k++, at++)
        if (costs->options[at].nbytes != ASSIGN_NEVER && costs->of[at]->type == e->encoder->type) {
            sum->nbytes += costs->options[at].nbytes;
            sum->noise += costs->options[at].noise;
            return true;
        }
    return false;
}

/* Sums the cost of a mix of llama-quantize; returns false if it has a type that was not measured. */
static bool
sum_mix(struct loss_uniform *sum, const struct costs *costs, const struct job *job, const struct mix *mix)
{
    const struct encoder *encoder = encode_find(mix->name, KEEPS_BLOCKS);
    struct choice copy = { 0 };
    struct err ignored;                 /* a mix that the model cannot have */
    size_t n = 0;
    bool any = false;
    for (size_t k = 0; k < job->ncandidates; k++)
        any = any || job->candidates[k]->type == mix->type;
    err_init(&ignored);
    *sum = (struct loss_uniform){ .scheme = mix->name, .mixed = true };
    bool ok = any && encoder && try_encoder(&copy, job, NULL, encoder, true, &ignored) && copy.mix == mix;
    for (size_t i = 0; ok && i < copy.n; i++)
        if (copy.list[i].encoding && copy.list[i].part == 0)
            ok = ++n != 0 && add_cost(sum, costs, job, copy.list[i].encoding);
    free(copy.list);
    return ok && n == measured(costs, job);
}

/* Returns true if a scheme is in the list under another name: a mix of one type. */
static bool
is_again(const struct loss_uniform *list, size_t n, const struct loss_uniform *one)
{
    bool again = false;
    for (size_t i = 0; i < n; i++)
        again = again || (list[i].nbytes == one->nbytes && list[i].noise == one->noise);
    return again;
}

static int
compare_sizes(const void *pa, const void *pb)
{
    const struct loss_uniform *a = pa, *b = pb;
    return (a->nbytes > b->nbytes) - (a->nbytes < b->nbytes);
}

/* Keeps what the report compares with the mix: the candidates alone, and the mixes that are made of them, by size. */
static bool
keep_uniform(struct job *job, const struct costs *costs, struct err *err)
{
    const struct mix *const mixes = job->candidates[0]->held == KEEPS_BLOCKS && job->cmd->report ? mix_list : NULL;
    size_t room = job->ncandidates + 1;
    for (const struct mix *m = mixes; m && m->name; m++)
        room++;
    free(job->uniform);
    job->nuniform = 0;
    job->uniform = calloc(room, sizeof *job->uniform);
    for (size_t k = 0; job->uniform && k < job->ncandidates; k++)
        job->nuniform += sum_candidate(&job->uniform[job->nuniform], costs, job, k);
    for (const struct mix *m = mixes; job->uniform && m && m->name; m++)
        job->nuniform += sum_mix(&job->uniform[job->nuniform], costs, job, m)
            && !is_again(job->uniform, job->nuniform, &job->uniform[job->nuniform]);
    if (job->nuniform != 0)
        qsort(job->uniform, job->nuniform, sizeof *job->uniform, compare_sizes);
    return job->uniform || err_memory(err, sizeof *job->uniform);
}

bool
budget_assign(const struct encoder ***out, struct job *job, struct err *err)
{
    const struct choice *choice = &job->choice;
    size_t n = choice->n * job->ncandidates + 1;
    struct costs costs = { calloc(n, sizeof *costs.options), calloc(n, sizeof *costs.of), calloc(n, sizeof *costs.pick) };
    const struct encoder **assigned = calloc(choice->n + 1, sizeof *assigned);
    bool ok = (costs.options && costs.of && costs.pick && assigned) || err_memory(err, n * sizeof *costs.options);
    ok = ok && model_spool(&job->model, err) && budget_measure(&costs, job, err) && pick(assigned, &costs, job, err) && keep_uniform(job, &costs, err);
    free(costs.options);
    free(costs.of);
    free(costs.pick);
    if (ok)
        *out = assigned;
    else
        *out = NULL;
    if (!ok)
        free(assigned);
    return ok;
}

void
budget_print_expression(FILE *out, const char *name, size_t n)
{
    fputc('^', out);
    for (size_t i = 0; i < n; i++) {
        if (strchr(".[]{}()*+?^$|\\", name[i]))
            fputc('\\', out);
        if (name[i] == '\'')
            fputs("'\\''", out);
        else
            fputc(name[i] == '\n' ? '.' : name[i], out);
    }
    fputc('$', out);
}

bool
budget_print(FILE *out, const struct job *job, const struct choice *choice, struct err *err)
{
    fprintf(out, "--scheme %s\n", job->candidates[0]->name);
    for (size_t i = 0; i < choice->n; i++) {
        const struct chosen *c = &choice->list[i];
        struct tensor t;
        if (c->encoding)
            t = c->encoding->weight;
        else
            t = chosen_tensor(c);
        if (c->part != 0 || !(c->encoding || c->same))
            continue;
        fputs("--tensor-type '", out);
        budget_print_expression(out, t.name, t.name_len);
        fprintf(out, "=%s'\n", (c->encoding ? c->encoding->encoder : encode_ggml_of(t.dtype))->name);
    }
    return !ferror(out) || err_set(err, ERR_IO, "cannot write to standard output");
}
