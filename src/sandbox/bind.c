/* bind.c - which directories a sandbox may get as they are. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/bind.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* True when a is b or a directory above it. */
static bool contains(const char *a, const char *b)
{
	size_t len = strlen(a);

	if (len == 1)
		return true; /* "/" */
	return !strncmp(a, b, len) && (b[len] == '/' || b[len] == '\0');
}

/* Directories that are no project, and through which a sandbox would reach the
 * host:
 * the kernel's and the devices' trees, the system's files, and directories
 * that everybody shares, where other programs keep their sockets. */
static bool is_systems(const char *real)
{
	static const char *const trees[] = { "/proc", "/sys", "/dev", "/boot",
					     "/etc" };
	static const char *const places[] = { "/run", "/run/user",
					      "/usr", "/usr/bin",
					      "/var", "/var/lib" };
	struct stat st;

	if (contains("/dev/shm", real) && strcmp(real, "/dev/shm") != 0)
		return false;
	for (size_t i = 0; i < sizeof(trees) / sizeof(*trees); i++)
		if (contains(trees[i], real))
			return true;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (!strcmp(places[i], real))
			return true;
	return stat(real, &st) == 0 && (st.st_mode & S_ISVTX);
}

int bind_check(const struct settings *set, const char *dir, char **real,
	       struct error *err)
{
	char *own = realpath(settings_dir(set), NULL);
	char *home =
		settings_home(set) ? realpath(settings_home(set), NULL) : NULL;
	int rc = 0;

	*real = realpath(dir, NULL);
	if (!*real)
		rc = error_errno(err, "binding %s", dir);
	else if (contains(*real, "/") || (home && contains(*real, home)))
		rc = error_set(err, ERR_CONFIG, "refusing to bind %s: it is %s",
			       *real,
			       home && !strcmp(*real, home)
				       ? "your home directory"
				       : "above your home directory");
	else if (is_systems(*real))
		rc = error_set(err, ERR_CONFIG,
			       "refusing to bind %s: it belongs to the system "
			       "or is shared by all users",
			       *real);
	else if (own && (contains(own, *real) || contains(*real, own)))
		rc = error_set(
			err, ERR_CONFIG,
			"refusing to bind %s: it contains dcode's own files",
			*real);
	if (rc < 0)
		error_hint(err, "Start dcode in a project's directory, or use "
				"--workspace repo, which sends a copy.");
	free(own);
	free(home);
	return rc;
}
