/* threads_new_file.c - a file that appears once it is whole. */
/* SPDX-License-Identifier: MIT */
#include "cmd/commands/threads_new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "ui/streams.h"

static int refuse_existing(const char *path, struct error *err)
{
	error_set(err, ERR_USAGE, "%s exists", path);
	return error_hint(err, "--force replaces it.");
}

static int check_target(const char *path, bool replace, struct error *err)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return 0; /* creating says what is wrong */
	if (!S_ISREG(st.st_mode)) {
		error_set(err, ERR_USAGE, "%s is not a regular file", path);
		return error_hint(err, "Use - for standard output.");
	}
	return replace ? 0 : refuse_existing(path, err);
}

int new_file_open(struct new_file *f, const char *path, bool replace,
		  const struct stop *stop, struct error *err)
{
	*f = (struct new_file){ .fd = STDOUT_FILENO,
				.replace = replace,
				.stop = *stop };
	if (!strcmp(path, "-"))
		return 0;
	if (check_target(path, replace, err) < 0)
		return -1;
	f->temporary = xasprintf("%s.XXXXXX", path);
	f->fd = mkostemp(f->temporary, O_CLOEXEC); /* mode 0600 */
	if (f->fd < 0) {
		error_errno(err, "creating %s", path);
		free(f->temporary);
		return -1;
	}
	f->path = xstrdup(path);
	return 0;
}

int new_file_write(struct new_file *f, struct str data, struct error *err)
{
	if (stop_check(&f->stop, err) < 0)
		return -1;
	if (output_write(f->fd, data, &f->stop) == 0)
		return 0;
	if (errno == ECANCELED)
		return stop_check(&f->stop, err);
	return error_errno(err, "writing %s",
			   f->path ? f->path : "standard output");
}

static int name_file(struct new_file *f, struct error *err)
{
	if (io_fsync(f->fd) < 0)
		return error_errno(err, "writing %s", f->path);
	if (f->replace)
		return rename(f->temporary, f->path) < 0
			       ? error_errno(err, "writing %s", f->path)
			       : 0;
	/* Unlike rename(2) it replaces nothing that came meanwhile. */
	if (link(f->temporary, f->path) < 0)
		return errno == EEXIST
			       ? refuse_existing(f->path, err)
			       : error_errno(err, "writing %s", f->path);
	unlink(f->temporary);
	return 0;
}

int new_file_close(struct new_file *f, bool whole, struct error *err)
{
	int rc = 0;

	if (f->path) {
		rc = whole ? name_file(f, err) : 0;
		if (rc < 0 || !whole)
			unlink(f->temporary);
		close(f->fd);
	}
	free(f->path);
	free(f->temporary);
	*f = (struct new_file){ .fd = -1 };
	return rc;
}
