/* secret_files.c - files of dcode's own that no reading tool shows. */
/* SPDX-License-Identifier: MIT */
#include "tool/secret_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "tool/paths.h"

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
