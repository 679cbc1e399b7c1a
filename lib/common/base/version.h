/* version: of the JSON output of the tools, reports and errors alike: its member "report". Incremented when a member is
 * removed or changes its meaning; new members do not change it. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

/* Goes up when a member is taken away or means something else; a new member does not change it. */
enum { VERSION_REPORT = 1 };

#endif
