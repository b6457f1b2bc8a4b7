/* glob_fuzz.c - any pattern ends, and find's filter never loses a match. */
/* SPDX-License-Identifier: MIT */
#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "sandbox/files/glob_match.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct glob_filter *f, struct str path, bool hit)
{
	struct buf full = BUF_INIT(8192);
	const char *slash = memrchr(path.ptr, '/', path.len);
	size_t skip = slash ? (size_t)(slash - path.ptr) + 1 : 0;

	if (strcmp(f->test, "-path") == 0) {
		buf_adds(&full, ".//./");
		skip = 0;
	}
	buf_addstr(&full, str_skip(path, skip));
	if (hit && fnmatch(f->like.ptr ? f->like.ptr : "", full.ptr, 0) != 0)
		abort();
	buf_release(&full);
}

/* The first line is the pattern, the second a path. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = { (const char *)data, size };
	struct error err = { 0 };
	struct glob_filter filter;
	struct str pattern;
	struct glob *g;

	if (memchr(data, 0, size) || !str_split(&rest, '\n', &pattern) ||
	    !rest.len || rest.len > 4096 || rest.ptr[0] == '/' ||
	    str_ends(rest, "/") || str_search(rest, STR("//")) < rest.len)
		return 0;
	if (glob_new(&g, pattern, data[0] & 1 ? GLOB_HIDDEN : 0, &err))
		return 0;
	glob_filter(pattern, &filter);
	check(&filter, rest, glob_match(g, rest));
	buf_release(&filter.like);
	glob_free(g);
	return 0;
}
