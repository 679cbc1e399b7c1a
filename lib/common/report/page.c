#include "report/page.h"

#include <errno.h>

enum { PAGE_BYTES = 32 << 10 };

void
page_init(struct page *page, FILE *file)
{
    *page = (struct page){ .file = file, .screen = { .columns = SIZE_MAX } };
    if (file)
        page->screen = screen_of(fileno(file));
}

static void
hand_on(struct page *page)
{
    errno = 0;
    if (page->sys == 0 && page->text.len != 0
        && fwrite(page->text.p, 1, page->text.len, page->file) != page->text.len)
        page->sys = errno ? errno : EIO;
    page->text.len = 0;
}

void
page_turn(struct page *page)
{
    if (page->text.len >= PAGE_BYTES && page->file)
        hand_on(page);
}

void
page_heading(struct page *page, const char *name, bool first)
{
    str_text(&page->text, first ? "" : "\n");
    page_styled(page, SCREEN_HEADING, name);
    str_text(&page->text, ":\n");
}

void
page_styled(struct page *page, enum screen_style style, const char *text)
{
    screen_begin(&page->text, &page->screen, style);
    str_text(&page->text, text);
    screen_end(&page->text, &page->screen, style);
}

bool
page_finish(struct page *page, struct err *err)
{
    hand_on(page);
    errno = 0;
    if (page->sys == 0 && fflush(page->file) != 0)
        page->sys = errno ? errno : EIO;
    bool failed = page->text.failed;
    uint64_t room = page->text.room;
    str_clear(&page->text);
    if (err->kind != ERR_NONE)
        return false;
    if (page->sys != 0)
        return err_sys(err, ERR_IO, page->sys, "write failed"), err_in_file(err, "(standard output)");
    if (failed)
        return err_memory(err, room);
    return true;
}
