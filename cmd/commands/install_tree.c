/* install_tree.c - files that are put in place all at once. */
/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"
#include "cmd/commands/install.h"
#include "cmd/credential.h"

enum { RECORD_MAX = 16 << 20 };

int install_copy(const struct install_log *log, const char *from,
		 const char *to, const struct stop *stop, struct error *err)
{
	char *cp = proc_find("cp", getenv("PATH"));
	char *argv[] = { cp,           (char *)"-a", (char *)"-T", (char *)"--",
			 (char *)from, (char *)to,   NULL };
	int rc;

	if (!cp)
		return error_set(err, ERR_CONFIG, "cp is not installed");
	rc = install_log_run(log, argv, stop, err);
	free(cp);
	return rc;
}

int install_replace(const char *path, const char *fresh, struct error *err)
{
	char *old = xasprintf("%s.old", fresh);
	struct error ignored = { 0 };
	int rc = 0;

	if (access(fresh, F_OK) < 0 && errno == ENOENT)
		rc = rename(path, old);
	else if (renameat2(AT_FDCWD, fresh, AT_FDCWD, path, RENAME_EXCHANGE) ==
		 0)
		rc = rename(fresh, old);
	else if (errno == ENOENT)
		rc = rename(fresh, path);
	else
		rc = -1;
	if (rc < 0)
		rc = error_errno(err, "replacing %s", path);
	(void)path_remove_tree(old, &ignored);
	free(old);
	return rc;
}

void install_sweep(const char *dir)
{
	DIR *entries = opendir(dir);
	struct error ignored = { 0 };
	struct dirent *e;

	while (entries && (e = readdir(entries)))
		if (strncmp(e->d_name, ".install-", 9) == 0) {
			char *path = path_join(dir, e->d_name);

			(void)path_remove_tree(path, &ignored);
			free(path);
		}
	if (entries)
		closedir(entries);
}

int install_lock(const struct settings *set, struct error *err)
{
	char *dir = credential_dir(set);
	char *path = path_join(dir, "install.lock");
	int fd = -1;

	if (path_mkdirs(dir, 0700, err) == 0)
		fd = path_lock(path, NULL, err);
	if (fd < 0 && err->code == ERR_TIMEOUT)
		error_set(err, ERR_CONFIG, "another dcode install is running");
	free(path);
	free(dir);
	return fd;
}

/* "Acme.Provider" and "acme-provider" are one (PEP 503). Owned. */
static char *normalize_name(const char *name, size_t len)
{
	char *out = xcalloc(len + 1, 1);
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		char c = name[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if (strchr("-_.", c))
			c = '-';
		if (c != '-' || !n || out[n - 1] != '-')
			out[n++] = c;
	}
	return out;
}

/* "acme_provider-1.2.dist-info" of the package name. */
static char *find_dist(const char *site, const char *name)
{
	char *wanted = normalize_name(name, strlen(name));
	DIR *entries = opendir(site);
	char *found = NULL;
	struct dirent *e;

	while (entries && !found && (e = readdir(entries))) {
		struct str s = str_of(e->d_name);
		char *given = normalize_name(s.ptr, str_find(s, '-'));

		if (str_ends(s, ".dist-info") && !strcmp(given, wanted))
			found = xstrdup(e->d_name);
		free(given);
	}
	if (entries)
		closedir(entries);
	free(wanted);
	return found;
}

/* Of RECORD's rows "path,hash,size": relative, and not out of the folder. */
static void remove_row(const char *site, struct str row)
{
	struct error ignored = { 0 };
	struct str rest;
	struct str part;
	char *relative;
	char *path;
	bool inside = row.len && row.ptr[0] != '/' && row.ptr[0] != '"';

	row.len = str_find(row, ',');
	rest = row;
	while (inside && str_split(&rest, '/', &part))
		inside = !str_is(part, "..");
	if (!inside)
		return;
	relative = xstrndup(row.ptr, row.len);
	path = path_join(site, relative);
	(void)path_remove_tree(path, &ignored);
	/* Folders that are empty now, __pycache__ too. */
	for (char *slash = strrchr(path, '/');
	     slash && strlen(site) < (size_t)(slash - path);
	     slash = strrchr(path, '/')) {
		char *cache;

		*slash = '\0';
		cache = path_join(path, "__pycache__");
		(void)path_remove_tree(cache, &ignored);
		free(cache);
		if (rmdir(path) < 0)
			break;
	}
	free(path);
	free(relative);
}

int install_remove_dist(const char *site, const char *name, struct error *err)
{
	struct buf text = BUF_INIT(RECORD_MAX);
	char *dist = find_dist(site, name);
	char *dir = dist ? path_join(site, dist) : NULL;
	char *record = dist ? path_join(dir, "RECORD") : NULL;
	struct str rest;
	struct str row;
	int rc = -1;

	if (!dist) {
		error_set(err, ERR_NOT_FOUND, "'%s' is not installed", name);
		goto out;
	}
	if (path_read(record, &text, err) < 0)
		goto out;
	rest = buf_str(&text);
	while (str_split(&rest, '\n', &row))
		remove_row(site, str_trim(row));
	rc = path_remove_tree(dir, err);
out:
	buf_release(&text);
	free(record);
	free(dir);
	free(dist);
	return rc;
}
