/* version: of the JSON that the tools print, reports and errors alike: its member "report". */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

/* Goes up when a member is taken away or means something else; a new member does not change it. */
enum { VERSION_REPORT = 1 };

#endif
