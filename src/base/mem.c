/* mem.c - allocation that never returns NULL: dcode aborts when out of
 * memory. */
/* SPDX-License-Identifier: MIT */
#include "base/mem.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

enum { KEPT_BYTES = 64 << 10, SMALL = 1024 };

static void (*on_exhausted)(void);

void mem_on_exhausted(void (*restore)(void))
{
	on_exhausted = restore;
}

static _Noreturn void abort_out_of_memory(void)
{
	static const char text[] = "dcode: out of memory\n";

	if (on_exhausted)
		on_exhausted();
	(void)!io_write(STDERR_FILENO, text, sizeof(text) - 1);
	abort();
}

void *xrealloc(void *ptr, size_t count, size_t size)
{
	size_t bytes = count * size;

	if (size && count > SIZE_MAX / size)
		abort_out_of_memory();
	ptr = realloc(ptr, bytes ? bytes : 1);
	if (!ptr)
		abort_out_of_memory();
	return ptr;
}

/* Up to SMALL bytes come from malloc(): before 2.41, glibc's calloc() does not
 * look into the list of small free blocks that each thread has. */
void *xcalloc(size_t count, size_t size)
{
	size_t bytes = count && size ? count * size : 1;
	void *ptr;

	if (bytes <= SMALL && (!size || count <= SIZE_MAX / size))
		return memset(xrealloc(NULL, bytes, 1), 0, bytes);
	ptr = calloc(count, size);
	if (!ptr)
		abort_out_of_memory();
	return ptr;
}

char *xstrndup(const char *s, size_t len)
{
	char *copy = xrealloc(NULL, len + 1, 1);

	if (len)
		memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}

char *xstrdup(const char *s)
{
	return s ? xstrndup(s, strlen(s)) : NULL;
}

char *xvasprintf(const char *fmt, va_list ap)
{
	char *text = NULL;

	if (vasprintf(&text, fmt, ap) < 0)
		abort_out_of_memory();
	return text;
}

char *xasprintf(const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	return text;
}

const char **mem_copy_list(const char *const *list)
{
	const char **copy;
	size_t n = 0;

	if (!list)
		return NULL;
	while (list[n])
		n++;
	copy = xcalloc(n + 1, sizeof(*copy));
	for (size_t i = 0; i < n; i++)
		copy[i] = xstrdup(list[i]);
	return copy;
}

void mem_free_list(const char *const *list)
{
	for (size_t i = 0; list && list[i]; i++)
		free((char *)list[i]);
	free((void *)list);
}

void mem_wipe(char *secret)
{
	if (secret)
		explicit_bzero(secret, strlen(secret));
	free(secret);
}

void mem_keep_little(void)
{
	(void)mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
	(void)mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
}
