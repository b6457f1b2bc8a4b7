/* paths.c - resolves paths given by the model, and protects secret files. */
/* SPDX-License-Identifier: MIT */
/*
 * This is not a security boundary: a model with a shell can access any file.
 * Invalid paths are refused because a model can correct them.
 * secret_files_hold() hides stored keys from the tools that read files.
 */
#include "tool/paths.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

static bool has_dotdot(const char *path)
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

/* Appends the components of path; leaves out empty ones and ".". */
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
	if (written[0] == '~' || has_dotdot(written))
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

const char *paths_shown(const char *workdir, const char *path)
{
	const char *rest;

	if (!workdir || workdir[0] != '/' || !workdir[1] || path[0] != '/' ||
	    !paths_contain(workdir, path))
		return path;
	rest = path + strlen(workdir);
	if (!rest[0])
		return ".";
	rest++;
	return !rest[0] || rest[0] == '/' || rest[0] == '~' || has_dotdot(rest)
		       ? path
		       : rest;
}

void secret_files_open(struct secret_files *s, const char *config_dir)
{
	char *state = path_join(config_dir, ".state");

	s->dir = realpath(config_dir, NULL);
	s->state = realpath(state, NULL);
	free(state);
}

void secret_files_release(struct secret_files *s)
{
	free(s->dir);
	free(s->state);
	*s = (struct secret_files){ 0 };
}

bool secret_files_name(const struct secret_files *s, const char *real)
{
	struct str rest;
	struct str name;

	if (s && s->state && paths_contain(s->state, real))
		return true;
	if (!s || !s->dir || !paths_contain(s->dir, real))
		return false;
	rest = str_of(real + strlen(s->dir));
	while (str_split(&rest, '/', &name))
		if (str_is_nocase((struct str){ name.ptr,
						name.len < 4 ? name.len : 4 },
				  ".env"))
			return true;
	return false;
}

static bool same_file(const struct stat *a, const char *path)
{
	struct stat b;

	return stat(path, &b) == 0 && a->st_dev == b.st_dev &&
	       a->st_ino == b.st_ino;
}

static bool is_env_file(const struct secret_files *s, const char *real)
{
	char *env = path_join(s->dir, ".env");
	struct stat st;
	bool is = stat(env, &st) == 0 && same_file(&st, real);

	free(env);
	return is;
}

bool secret_files_hold(const struct secret_files *s, const char *real)
{
	struct stat state;
	char *at;
	bool held = false;

	if (secret_files_name(s, real))
		return true;
	if (!s || !s->dir)
		return false;
	held = is_env_file(s, real);
	at = xstrdup(real);
	if (s->state && stat(s->state, &state) == 0)
		while (!held && at[0]) {
			held = same_file(&state, at);
			*strrchr(at, '/') = '\0';
		}
	free(at);
	return held;
}
