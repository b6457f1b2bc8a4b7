/* spool.c - long-lived text in a temporary file instead of in memory. */
/* SPDX-License-Identifier: MIT */
#include "base/spool.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"

enum { FIRST_MAP = 1 << 20 }; /* bytes of address space, not of memory */

static int open_file(void)
{
	const char *dir = getenv("TMPDIR");
	char name[4096];
	int fd;

	dir = dir && dir[0] == '/' ? dir : "/tmp";
	fd = open(dir, O_RDWR | O_TMPFILE | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	if (snprintf(name, sizeof(name), "%s/dcode-XXXXXX", dir) >=
	    (int)sizeof(name))
		return -1;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		(void)unlink(name);
	return fd;
}

/* Maps at least size bytes. The mapping may be longer than the file: nobody
 * reads behind end. */
static bool grow_map(struct spool *s, size_t size)
{
	size_t want = s->mapped ? s->mapped : FIRST_MAP;
	void *map;

	while (want < size)
		want *= 2;
	if (want == s->mapped)
		return true;
	map = s->map ? mremap(s->map, s->mapped, want, MREMAP_MAYMOVE)
		     : mmap(NULL, want, PROT_READ, MAP_SHARED, s->fd, 0);
	if (map == MAP_FAILED)
		return false;
	s->map = map;
	s->mapped = want;
	return true;
}

bool spool_add(struct spool *s, struct str text)
{
	if (!text.len)
		return true;
	if (!s->map) {
		s->fd = open_file();
		if (s->fd < 0)
			return false;
		if (!grow_map(s, text.len)) {
			close(s->fd);
			return false;
		}
	}
	/* Written first: a read of a page without a block in the file would
	 * end the process. */
	if (io_pwrite_all(s->fd, text.ptr, text.len, (off_t)s->end) < 0 ||
	    !grow_map(s, s->end + text.len))
		return false;
	s->end += text.len;
	return true;
}

struct str spool_text(const struct spool *s, size_t at, size_t len)
{
	return len ? (struct str){ s->map + at, len } : (struct str){ 0 };
}

void spool_drop_pages(const struct spool *s)
{
	if (s->map)
		(void)madvise(s->map, s->mapped, MADV_DONTNEED);
}

void spool_release(struct spool *s)
{
	if (s->map) {
		munmap(s->map, s->mapped);
		close(s->fd);
	}
	*s = (struct spool){ 0 };
}
