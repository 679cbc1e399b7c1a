#include "report/scan_report.h"

#include <inttypes.h>
#include <string.h>

#include "container/torch/pickle_ops.h"

enum { LINES_MAX = 100 };

void
scan_report_begin(struct scan_report *r, FILE *out)
{
    page_init(&r->page, out);
}

static enum scan_report_outcome
outcome(const struct scan_report *r, const struct err *fault)
{
    if (r->verdicts[VERDICT_DANGEROUS] != 0)
        return SCAN_REPORT_FOUND;
    if (r->verdicts[VERDICT_SUSPICIOUS] != 0 || fault->kind != ERR_NONE)
        return SCAN_REPORT_UNKNOWN;
    return SCAN_REPORT_CLEAN;
}

/* --- JSON ------------------------------------------------------------------------------------------------ */

static void
json_begin(struct scan_report *r)
{
    struct page *j = &r->page;
    ndjson_begin(j);
    ndjson_text(j, "file", r->file);
    ndjson_array(j, "pickles");
}

static void
json_finding(struct page *j, const struct pickle_found *found, const struct pickle_finding *f)
{
    ndjson_object(j, NULL);
    ndjson_bytes(j, "member", found->member, found->member_len);
    ndjson_u64(j, "pickle", found->number);
    ndjson_u64(j, "offset", f->offset);
    ndjson_text(j, "opcode", pickle_op(f->opcode)->name);
    ndjson_bytes(j, "module", f->module, f->module_len);
    ndjson_bytes(j, "name", f->name, f->name_len);
    ndjson_text(j, "verdict", verdict_name(f->verdict));
    ndjson_text(j, "reason", f->why);
    ndjson_bool(j, "called", f->via != 0);
    ndjson_text(j, "via", f->via ? pickle_op(f->via)->name : NULL);
    ndjson_u64(j, "count", f->count);
    ndjson_object_end(j);
}

static void
json_oddities(struct page *j, const struct pickle_scan *scan)
{
    ndjson_array(j, "anomalies");
    for (unsigned i = 0; i < ODDITIES; i++) {
        if (scan->odd[i].count == 0)
            continue;
        ndjson_object(j, NULL);
        ndjson_text(j, "code", pickle_oddity_code(i));
        ndjson_text(j, "text", pickle_oddity_phrase(i));
        ndjson_u64(j, "offset", scan->odd[i].offset);
        ndjson_u64(j, "count", scan->odd[i].count);
        ndjson_object_end(j);
    }
    ndjson_array_end(j);
}

static void
json_pickle(struct page *j, const struct pickle_found *found)
{
    const struct pickle_scan *scan = found->scan;
    ndjson_object(j, NULL);
    ndjson_bytes(j, "member", found->member, found->member_len);
    ndjson_u64(j, "pickle", found->number);
    ndjson_u64(j, "offset", found->at);
    ndjson_known(j, "protocol", scan->protocol >= 0, (uint64_t)scan->protocol);
    ndjson_u64(j, "length", scan->length);
    ndjson_u64(j, "opcodes", scan->opcodes);
    ndjson_u64(j, "depth", scan->depth);
    ndjson_bool(j, "truncated", !scan->stopped);
    for (unsigned v = 0; v < VERDICTS; v++)
        ndjson_u64(j, verdict_name(v), scan->verdicts[v]);
    ndjson_u64(j, "unresolved", scan->unresolved);
    json_oddities(j, scan);
    ndjson_array(j, "findings");
    for (size_t i = 0; i < scan->nfindings; i++) {
        json_finding(j, found, &scan->finding[i]);
        page_turn(j);
    }
    ndjson_array_end(j);
    ndjson_object_end(j);
    page_turn(j);
}

static void
json_end(struct scan_report *r, const struct pickles *pickles, const struct err *fault)
{
    static const char *const words[] = { [SCAN_REPORT_CLEAN] = "clean", [SCAN_REPORT_FOUND] = "found",
        [SCAN_REPORT_UNKNOWN] = "unknown" };
    struct page *j = &r->page;
    ndjson_array_end(j);
    ndjson_text(j, "format", pickles->format);
    ndjson_u64(j, "count", pickles->count);
    ndjson_u64(j, "unlisted", pickles->unlisted);
    ndjson_text(j, "verdict", words[r->outcome]);
    ndjson_bool(j, "allowed", r->outcome == SCAN_REPORT_CLEAN);
    for (unsigned v = VERDICT_SUSPICIOUS; v < VERDICTS; v++)
        ndjson_u64(j, verdict_name(v), r->verdicts[v]);
    ndjson_u64(j, "unresolved", r->unresolved);
    if (fault->kind == ERR_NONE) {
        ndjson_null(j, "fault");
    } else {
        ndjson_object(j, "fault");
        ndjson_text(j, "kind", err_kind_word(fault->kind));
        ndjson_text(j, "text", fault->text);
        ndjson_known(j, "offset", fault->at != ERR_NO_OFFSET, fault->at);
        ndjson_object_end(j);
    }
    ndjson_end(j);
}

/* --- text ------------------------------------------------------------------------------------------------ */

/* Starts a line; returns NULL once there are enough lines of this kind. */
static struct str *
one_line(struct scan_report_lines *lines, const char *label)
{
    if (lines->count++ >= LINES_MAX)
        return NULL;
    str_format(&lines->text, PAGE_LABEL, lines->count == 1 ? label : "");
    return &lines->text;
}

/* Adds a place such as "(archive/data.pkl, byte 13)". */
static void
add_place(struct str *out, const struct pickle_found *found, uint64_t offset)
{
    char shown[STR_SHOWN];
    str_text(out, " (");
    if (found->member)
        str_format(out, "%s, ", str_shown(shown, found->member, found->member_len));
    if (found->number != 0)
        str_format(out, "pickle %" PRIu64 ", ", found->number);
    str_format(out, "byte %" PRIu64 ")\n", offset);
}

static void
text_finding(struct scan_report *r, const struct pickle_found *found, const struct pickle_finding *f)
{
    static const char *const labels[VERDICTS] = { "Allowed", "Suspicious", "Dangerous" };
    char module[STR_SHOWN], name[STR_SHOWN];
    struct str *out = one_line(&r->lines[f->verdict], labels[f->verdict]);
    if (!out || f->verdict == VERDICT_ALLOWED)
        return;
    str_format(out, "%s.%s", f->module ? str_shown(module, f->module, f->module_len) : "?",
        f->name ? str_shown(name, f->name, f->name_len) : "?");
    str_text(out, f->via ? ", called" : "");
    add_place(out, found, f->offset);
}

static void
text_pickle(struct scan_report *r, const struct pickle_found *found)
{
    const struct pickle_scan *scan = found->scan;
    for (size_t i = 0; i < scan->nfindings; i++)
        text_finding(r, found, &scan->finding[i]);
    for (unsigned i = 0; i < ODDITIES; i++) {
        struct str *out = NULL;
        if (scan->odd[i].count)
            out = one_line(&r->odd, "Odd");
        if (out) {
            str_text(out, pickle_oddity_phrase(i));
            add_place(out, found, scan->odd[i].offset);
        }
    }
}

static void
add_lines(struct str *out, const struct scan_report_lines *lines)
{
    if (lines->text.p)
        str_add(out, lines->text.p, lines->text.len);
    if (lines->text.failed)
        out->failed = true;
    if (lines->count > LINES_MAX)
        str_format(out, PAGE_LABEL "and %" PRIu64 " more\n", "", lines->count - LINES_MAX);
}

static void
add_verdict(struct scan_report *r, const struct pickles *pickles, const struct err *fault)
{
    static const enum screen_style styles[] = { [SCAN_REPORT_CLEAN] = SCREEN_GOOD, [SCAN_REPORT_FOUND] = SCREEN_BAD,
        [SCAN_REPORT_UNKNOWN] = SCREEN_WARNING };
    const char *verdict = "clean: only allowed names";
    if (pickles->count == 0)
        verdict = "clean: no pickles";
    if (r->outcome == SCAN_REPORT_FOUND)
        verdict = "DANGEROUS: loading this file in Python can execute arbitrary code";
    else if (fault->kind != ERR_NONE)
        verdict = "unknown: the file could not be read completely";
    else if (r->outcome == SCAN_REPORT_UNKNOWN)
        verdict = "unknown: references names that are not known to be harmless";
    str_format(&r->page.text, PAGE_LABEL, "Verdict");
    page_styled(&r->page, styles[r->outcome], verdict);
    str_text(&r->page.text, "\n");
}

static void
text_end(struct scan_report *r, const struct pickles *pickles, const struct err *fault)
{
    struct str *out = &r->page.text;
    if (r->heading)
        page_heading(&r->page, r->heading, r->first);
    add_verdict(r, pickles, fault);
    if (fault->kind != ERR_NONE)
        str_format(out, PAGE_LABEL "%s\n", "Not read", fault->text);
    add_lines(out, &r->lines[VERDICT_DANGEROUS]);
    add_lines(out, &r->lines[VERDICT_SUSPICIOUS]);
    add_lines(out, &r->odd);
    if (r->verdicts[VERDICT_ALLOWED] != 0)
        str_format(out, PAGE_LABEL "%" PRIu64 " name%s\n", "Allowed", r->verdicts[VERDICT_ALLOWED],
            str_plural(r->verdicts[VERDICT_ALLOWED]));
    str_format(out, PAGE_LABEL "%" PRIu64 " (file format: %s)\n", "Pickles", pickles->count,
        str_or(pickles->format, "unknown"));
}

/* --- */

bool
scan_report_pickle(void *of, const struct pickle_found *found, struct err *err)
{
    struct scan_report *r = of;
    if (!r->begun && !r->human)
        json_begin(r);
    r->begun = true;
    for (unsigned v = 0; v < VERDICTS; v++)
        r->verdicts[v] += found->scan->verdicts[v];
    r->unresolved += found->scan->unresolved;
    if (r->human)
        text_pickle(r, found);
    else
        json_pickle(&r->page, found);
    /* Stops the scan if the report cannot be written; scan_report_end() returns the error. */
    return (r->page.sys == 0 && !r->page.text.failed) || (r->page.text.failed && err_memory(err, r->page.text.room));
}

bool
scan_report_end(struct scan_report *r, const struct pickles *pickles, const struct err *failure, struct err *err)
{
    const struct err *fault = failure;
    if (failure->kind == ERR_NONE)
        fault = &pickles->fault;
    r->outcome = outcome(r, fault);
    if (r->human) {
        text_end(r, pickles, fault);
    } else {
        if (!r->begun)
            json_begin(r);
        json_end(r, pickles, fault);
    }
    for (unsigned v = 0; v < VERDICTS; v++)
        str_clear(&r->lines[v].text);
    str_clear(&r->odd.text);
    return page_finish(&r->page, err);
}
