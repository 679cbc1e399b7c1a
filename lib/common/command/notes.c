#include "command/command_priv.h"

#include <inttypes.h>
#include <stdio.h>

#include "pipeline/audit.h"

/* Warns of tensors with NaN or infinite values: the first few, or all with -v, and then the totals. */
void
command_warn_of_values(const struct cli *cli, const struct pipeline *p, const struct nonfinite_scan *scan)
{
    enum { LINES = 5 };
    struct nonfinite all = { 0 };
    size_t tensors = 0;
    for (size_t i = 0; i < pieces_count(p->pieces); i++) {
        struct nonfinite found = scan_found(scan, i);
        struct tensor t;
        char name[STR_SHOWN];
        if (found.nan + found.infinite == 0 || !piece_output(&t, pieces_at(p->pieces, i)))
            continue;
        if (tensors++ < LINES || cli->verbose != 0)
            cli_warn(cli, p->model->name, ERR_TENSOR "%" PRIu64 " NaN and %" PRIu64 " infinite values",
                str_shown(name, t.name, t.name_len), found.nan, found.infinite);
        all.nan += found.nan;
        all.infinite += found.infinite;
    }
    if (tensors > 1)
        cli_warn(cli, p->model->name, "%" PRIu64 " NaN and %" PRIu64 " infinite values in %zu tensors%s", all.nan, all.infinite,
            tensors, tensors > LINES && cli->verbose == 0 ? "; -v lists them all" : "");
}

void
command_warn_of_range(const struct command *cmd, const struct pipeline *p)
{
    if (p->infinite != 0)
        cli_warn(&cmd->cli, p->model->name, "%" PRIu64 " values overflow %s%s and became infinite", p->infinite, dtype_name(cmd->to),
            cmd->to == DTYPE_F16 ? " (maximum 65504)" : "");
}

void
command_note_scales(const struct cli *cli, const struct pipeline *p, const struct roles *roles)
{
    const char *name = p->model->name;
    struct nonfinite scales = { 0 };
    struct err err;
    err_init(&err);
    if (cli->verbose == 0 || p->to != pieces_nbytes(p->pieces))
        return;
    meter_phase(p->model->meter, "checking the scales", 0);
    if (!audit_scales(&scales, p->model, roles, &err))
        cli_note(cli, name, "cannot check the scales: %s", err.text);
    else if (scales.nan + scales.infinite != 0)
        cli_note(cli, name, "%" PRIu64 " NaN and %" PRIu64 " infinite scales, used as stored", scales.nan,
            scales.infinite);
}

/* Counts the tensors with bytes in the range, either all or those of one kind of piece. */
static size_t
count_tensors(const struct pipeline *p, bool all, enum piece_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < pieces_count(p->pieces); i++) {
        const struct piece *piece = pieces_at(p->pieces, i);
        struct tensor t;
        n += piece->at < p->to && p->from < piece->at + piece->nbytes && piece_output(&t, piece)
            && (all || piece->kind == kind);
    }
    return n;
}

void
command_note_end(const struct command *cmd, const struct pipeline *p, const struct checksum *sum)
{
    uint64_t all = pieces_nbytes(p->pieces), n = p->to - p->from;
    double seconds = meter_read(p->model->meter).age, per_second = seconds > 0 ? (double)n / seconds : 0;
    char of_all[48] = "", encoded[48] = "", size[STR_SIZE], rate[STR_SIZE];
    size_t made = count_tensors(p, false, PIECE_ENCODE), tensors = count_tensors(p, true, 0);
    if (made != 0)
        snprintf(encoded, sizeof encoded, "%zu quantized, ", made);
    if (n != all)
        snprintf(of_all, sizeof of_all, " of %" PRIu64, all);
    cli_note(&cmd->cli, p->model->name, "%zu tensor%s: %s%zu dequantized; %" PRIu64 "%s bytes (%s) %s in %.*f s (%s/s), CRC-32 "
        "%08" PRIx32, tensors, tensors == 1 ? "" : "s", encoded, count_tensors(p, false, PIECE_DECODE), n, of_all, str_size(size, n),
        cmd->instead == COMMAND_TEST ? "tested" : "written", seconds < 1 ? 3 : 1, seconds, str_size(rate, (uint64_t)per_second),
        sum->crc);
}
