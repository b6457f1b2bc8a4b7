/* copy_copy.c - copies in and out of a sandbox: from where and to where. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/copy_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "sandbox/quote.h"

enum {
	SCRIPT_MS = 120000,
	LEAST_FILES = 1000, /* that can still be made on the disk */
};

#define LEAST_ROOM ((uint64_t)1 << 30) /* bytes left on the disk, or 5 % */

int copy_check_size(struct copy *c, int64_t before, int64_t bytes,
		    struct error *err)
{
	if (bytes <= c->limit - before)
		return 0;
	error_set(&c->full, ERR_LIMIT,
		  "the copy is larger than %" PRId64 " MiB"
		  " (sandboxes.copy_limit)",
		  c->limit >> 20);
	error_hint(&c->full, "To allow it, set [sandboxes] copy_limit = MIB in "
			     "~/.deepagents/config.toml.");
	*err = c->full;
	return -1;
}

int copy_receive(struct copy *c, size_t bytes, struct error *err)
{
	if (copy_check_size(c, c->received, (int64_t)bytes, err) < 0)
		return -1;
	c->received += (int64_t)bytes;
	return 0;
}

/* What a sandbox sends must not fill the user's disk: others need it. */
int copy_store(struct copy *c, int64_t bytes, struct error *err)
{
	struct statvfs disk;
	uint64_t room;
	uint64_t least;

	if (c->disk < 0 || fstatvfs(c->disk, &disk) < 0)
		return 0;
	room = (uint64_t)disk.f_bavail * disk.f_frsize;
	least = (uint64_t)disk.f_blocks * disk.f_frsize / 20;
	if (least > LEAST_ROOM)
		least = LEAST_ROOM;
	if (room >= least && (uint64_t)bytes <= room - least &&
	    (!disk.f_files || disk.f_favail > disk.f_files / 20 ||
	     disk.f_favail > LEAST_FILES))
		return 0;
	error_set(&c->full, ERR_LIMIT,
		  "no room for the copy: the disk has room for %" PRIu64
		  " MiB and %" PRIu64 " files",
		  room >> 20, (uint64_t)disk.f_favail);
	error_hint(&c->full, "dcode leaves 5 %% of a disk free, at most 1 GiB. "
			     "Free some space, or copy to another disk.");
	*err = c->full;
	return -1;
}

static int collect(void *arg, enum exec_stream stream, struct str chunk,
		   struct buf *reply, struct error *err)
{
	struct buf *out = arg;

	(void)reply;
	if (stream == EXEC_STDOUT && out)
		buf_addstr(out, chunk);
	return out ? buf_check(out, "the list of files", err) : 0;
}

int copy_script(struct copy *c, struct str script, struct buf *out,
		const char *what, struct error *err)
{
	struct exec_request req = {
		.command = script,
		.plain = true,
		.timeout_ms = SCRIPT_MS,
		.output = collect,
		.arg = out,
	};
	struct exec_result res = { 0 };

	if (sandbox_execute(c->sb, &req, &res, c->stop, err) < 0)
		return -1;
	if (res.exit_code != 0)
		return error_set(err, ERR_REMOTE, "%s failed in the sandbox",
				 what);
	return 0;
}

/* Directory and name as one path. Owned. */
static char *join_path(const char *directory, const char *name)
{
	size_t len = strlen(directory);

	while (len > 1 && directory[len - 1] == '/')
		len--;
	return xasprintf("%.*s%s%s", (int)len, directory,
			 len && directory[len - 1] == '/' ? "" : "/", name);
}

int copy_failed(const struct copy *c, const struct transfer *t,
		struct error *err)
{
	if (c->full.code == ERR_NONE)
		return error_set(err, ERR_REMOTE, "%s: %s", t->path,
				 t->error == FILE_OTHER && t->detail[0]
					 ? t->detail
					 : file_error_name(t->error));
	*err = c->full;
	return -1;
}

int copy_download(struct copy *c, const char *remote, copy_write *write,
		  void *arg, struct error *err)
{
	struct transfer t = { .path = remote, .write = write, .arg = arg };

	if (sandbox_download(c->sb, &t, 1, c->stop, err) < 0)
		return -1;
	return t.error == FILE_OK ? 0 : copy_failed(c, &t, err);
}

void copy_set_tar(struct copy *c, char kind)
{
	c->tar = kind == 't' ? "tar" : kind == 'b' ? "busybox tar" : NULL;
}

/* 'd' directory, 'f' anything else that exists, 'n' nothing. Also looks for a
 * tar there. */
static int remote_kind(struct copy *c, const char *path, char *kind,
		       struct error *err)
{
	struct buf script = BUF_INIT(1 << 16);
	struct buf out = BUF_INIT(64);
	int rc;

	buf_adds(&script, "p=");
	quote_word(&script, str_of(path));
	buf_adds(&script, "\nif [ -d \"$p\" ]; then echo d;"
			  " elif [ -e \"$p\" ]; then echo f;"
			  " else echo n; fi\n"
			  "if command -v tar >/dev/null; then echo t;"
			  " elif busybox tar --help >/dev/null 2>&1;"
			  " then echo b; fi\n");
	rc = copy_script(c, buf_str(&script), &out, "looking at the path", err);
	*kind = out.len ? out.ptr[0] : 'n';
	if (rc == 0 && out.len > 2)
		copy_set_tar(c, out.ptr[2]);
	buf_release(&script);
	buf_release(&out);
	return rc;
}

/* The last component, "" for "/", "." and "..". Owned. */
static char *last_name(const char *path)
{
	size_t end = strlen(path);
	size_t start;

	while (end && path[end - 1] == '/')
		end--;
	start = end;
	while (start && path[start - 1] != '/')
		start--;
	if ((end - start == 1 && path[start] == '.') ||
	    (end - start == 2 && !memcmp(path + start, "..", 2)))
		return xstrdup("");
	return xstrndup(path + start, end - start);
}

static bool ends_in_slash(const char *path)
{
	size_t len = strlen(path);

	return len && path[len - 1] == '/';
}

char *copy_join(const char *target, bool is_directory, const char *source)
{
	char *name = last_name(source);
	char *path = is_directory && name[0] ? join_path(target, name)
					     : xstrdup(target);
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
	free(name);
	return path;
}

char *copy_remote_path(const struct copy *c, const char *path)
{
	const char *workdir = c->sb->workdir ? c->sb->workdir : "/";

	return path[0] == '/' ? xstrdup(path) : join_path(workdir, path);
}

/* A tar stream is unpacked into a directory that is there, or that a slash at
 * the end asks for; else the bytes become a file. */
static int up_stdin(struct copy *c, const char *remote, struct error *err)
{
	char *path = copy_remote_path(c, remote);
	char kind = 'n';
	int rc = copy_check_stdin(err);

	if (rc == 0)
		rc = remote_kind(c, path, &kind, err);
	c->target = copy_join(path, false, "");
	if (rc == 0)
		rc = kind == 'd' || ends_in_slash(path)
			     ? copy_tree_in(c, c->target, err)
			     : copy_file_in(c, c->target, err);
	free(path);
	return rc;
}

/* A file or directory that can be read: its descriptor, or -1. */
static int open_local(const char *local, struct stat *st, struct error *err)
{
	int fd = open(local, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || fstat(fd, st) < 0)
		(void)error_errno(err, "%s", local);
	else if (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode))
		return fd;
	else
		error_set(err, ERR_USAGE,
			  "%s is neither a file nor a directory", local);
	if (fd >= 0)
		close(fd);
	return -1;
}

int copy_check_local(const char *local, struct error *err)
{
	struct stat st;
	int fd = open_local(local, &st, err);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? -1 : 0;
}

int copy_up_to(struct copy *c, const char *local, const char *target,
	       struct error *err)
{
	struct stat st;
	int fd = open_local(local, &st, err);
	int rc;

	if (fd < 0)
		return -1;
	rc = S_ISDIR(st.st_mode)
		     ? copy_tree_up(c, fd, target, err)
		     : copy_file_up(c, fd, (int)st.st_mode & 0777, target, err);
	c->files += rc == 0 && S_ISREG(st.st_mode);
	close(fd);
	return rc;
}

/* As cp does it: into an existing directory under its own name. Relative remote
 * paths are of the working directory there. */
int copy_up(struct copy *c, const char *local, const char *remote,
	    struct error *err)
{
	char *path;
	char kind = 'n';
	int rc;

	if (!strcmp(local, "-"))
		return up_stdin(c, remote, err);
	path = copy_remote_path(c, remote);
	rc = copy_check_local(local, err);

	if (rc == 0)
		rc = remote_kind(c, path, &kind, err);
	c->target = copy_join(path, kind == 'd' || ends_in_slash(path), local);
	if (rc == 0)
		rc = copy_up_to(c, local, c->target, err);
	free(path);
	return rc;
}

char *copy_local_target(const char *local, const char *remote)
{
	struct stat st;
	bool directory = stat(local, &st) == 0 && S_ISDIR(st.st_mode);

	return copy_join(local, directory || ends_in_slash(local), remote);
}

int copy_check_free(const char *target, struct error *err)
{
	struct stat st;

	if (lstat(target, &st) < 0)
		return 0;
	error_set(err, ERR_USAGE, "%s already exists", target);
	return error_hint(
		err,
		"Choose another destination, or use --force to replace files.");
}

static int down_to(struct copy *c, char kind, const char *remote,
		   const char *local, struct error *err)
{
	int rc;

	c->target = copy_local_target(local, remote);
	if (incoming_check(&c->incoming, c->target, err) < 0)
		return -1;
	if (c->no_replace && copy_check_free(c->target, err) < 0)
		return -1;
	rc = kind == 'd' ? copy_tree_down(c, remote, c->target, err)
			 : copy_file_down(c, remote, c->target, err);
	c->files += rc == 0 && kind != 'd';
	return rc;
}

static int down(struct copy *c, const char *remote, const char *local,
		struct error *err)
{
	bool pipe = !strcmp(local, "-");
	char kind = 'n';
	char *source;
	int rc;

	if (pipe && copy_check_stdout(c, err) < 0)
		return -1;
	if (remote_kind(c, remote, &kind, err) < 0)
		return -1;
	if (kind == 'n')
		return error_set(err, ERR_NOT_FOUND,
				 "not found in the sandbox: %s", remote);
	source = copy_join(remote, false, "");
	if (!pipe)
		rc = down_to(c, kind, source, local, err);
	else if (kind == 'd')
		rc = copy_tree_out(c, source, err);
	else
		rc = copy_file_out(c, source, err);
	free(source);
	return rc;
}

int copy_down(struct copy *c, const char *remote, const char *local,
	      struct error *err)
{
	char *path = copy_remote_path(c, remote);
	int rc = down(c, path, local, err);

	free(path);
	return rc;
}

int copy_read_limit(struct copy *c, struct app *app, struct error *err)
{
	struct settings *set;
	int64_t mib = 0;

	if (app_settings(app, &set, err) < 0 ||
	    settings_int(set, NULL, "sandboxes.copy_limit", &mib, err) < 0)
		return -1;
	if (mib < 1 || mib > INT64_MAX >> 20)
		return error_set(err, ERR_CONFIG,
				 "sandboxes.copy_limit must be at least 1 "
				 "(MiB), not %" PRId64,
				 mib);
	c->limit = mib << 20;
	return 0;
}
