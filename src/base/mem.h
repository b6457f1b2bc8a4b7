/* mem.h - allocation that never returns NULL: dcode aborts when out of
 * memory. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdarg.h>
#include <stddef.h>

/* Returns zeroed memory. Aborts if memory is exhausted or count * size
 * overflows. Any thread. */
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *ptr, size_t count, size_t size);
char *xstrdup(const char *s); /* NULL for NULL */
char *xstrndup(const char *s, size_t len);
char *xvasprintf(const char *fmt, va_list ap)
	__attribute__((format(printf, 1, 0)));
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Copies a NULL-terminated list and its strings. NULL for NULL. */
const char **mem_copy_list(const char *const *list);
void mem_free_list(const char *const *list);
/* Zeroes the text and frees it. NULL is allowed. */
void mem_wipe(char *secret);
/* Makes glibc return freed memory to the system; for processes that run long.
 * By default, after a large block was freed, glibc raises its thresholds and
 * retains up to twice that block's size. */
void mem_keep_little(void);
/* Sets a function that is called once before abort() when memory is exhausted,
 * to restore the terminal. NULL removes it. */
void mem_on_exhausted(void (*restore)(void));

#endif
