/* mem.h - allocation that never returns NULL: out of memory ends dcode. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

/* Zeroed. Aborts when memory is out or count * size overflows. Any thread. */
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *ptr, size_t count, size_t size);
char *xstrdup(const char *s); /* NULL gives NULL */
char *xstrndup(const char *s, size_t len);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A NULL-terminated list of texts with its texts; NULL gives NULL. */
const char **mem_copy_list(const char *const *list);
void mem_free_list(const char *const *list);
/* Zeroes the text and frees it; NULL is fine. */
void mem_wipe(char *secret);
/* For a process that lives long: what it frees goes back to the system, also
 * after large blocks, which glibc would otherwise take as a reason to keep up
 * to twice their size. */
void mem_keep_little(void);
/* Called once before abort(), to put the terminal back. NULL clears it. */
void mem_on_exhausted(void (*restore)(void));

#endif
