/* paths.c - the file names that a model writes. */
/* SPDX-License-Identifier: MIT */
#include "tool/paths.h"

#include <string.h>

#include "base/str.h"

static bool climbs(const char *path)
{
	struct str rest = str_of(path);
	struct str part;

	while (str_split(&rest, '/', &part))
		if (str_is(part, ".."))
			return true;
	return false;
}

static bool has_drive(const char *path)
{
	char c = path[0];

	return ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) &&
	       path[1] == ':';
}

static void add_parts(struct buf *out, const char *path)
{
	struct str rest = str_of(path);
	struct str part;

	while (str_split(&rest, '/', &part)) {
		if (!part.len || str_is(part, "."))
			continue;
		buf_addc(out, '/');
		buf_addstr(out, part);
	}
}

int paths_resolve(const char *workdir, const char *written, char **path,
		  struct error *err)
{
	struct buf out = BUF_INIT(PATHS_BYTES);

	*path = NULL;
	if (written[0] == '~' || climbs(written))
		return error_set(err, ERR_USAGE,
				 "Error: Path traversal not allowed: %s",
				 written);
	if (has_drive(written))
		return error_set(
			err, ERR_USAGE,
			"Error: Windows absolute paths are not supported: "
			"%.256s. Please use virtual paths starting with / "
			"(e.g., /workspace/file.txt)",
			written);
	if (written[0] != '/')
		add_parts(&out, workdir);
	add_parts(&out, written);
	if (!out.len)
		buf_addc(&out, '/');
	if (out.over) {
		buf_release(&out);
		return error_set(err, ERR_USAGE,
				 "Error: Path longer than %d bytes: %.100s...",
				 PATHS_BYTES, written);
	}
	*path = buf_detach(&out);
	return 0;
}

bool paths_contain(const char *outer, const char *inner)
{
	size_t len = strlen(outer);

	if (len == 1)
		return true;
	return !strncmp(outer, inner, len) &&
	       (inner[len] == '/' || inner[len] == '\0');
}
