/* version: the version of the JSON output of the tools, reports and errors alike: its member "report". */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

/* Incremented when a member is removed or changes its meaning; new members do not change it. */
enum { VERSION_REPORT = 1 };

#endif
