/* copy_file.c - name filter and limits of all copies; copies one regular
 * file. */
/* SPDX-License-Identifier: MIT */

/*
 * Everything from a sandbox is untrusted. struct incoming decides which names
 * may be written to the user's disk, because git runs commands from a .git and
 * from the files of a bare repository. copy_receive() and copy_store() keep a
 * sandbox from filling the disk. copy_script() and copy_download() talk to the
 * sandbox; copy_file_up() and copy_file_down() copy one regular file.
 * copy_tree.c and copy.c use these functions.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "archive/archive.h"
#include "base/ids.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/app.h"
#include "cmd/session/copy.h"
#include "ui/streams.h"
#include "worktree/name.h"

static const char is_git[] =
	"git could run commands from it (--bring NAME copies it)";

static const char is_bare[] =
	"it would make its directory a git repository, whose config can run "
	"commands (--bring DIRECTORY copies it)";

static const char leads_to_git[] = "it is a link into .git";

static const char is_behind_link[] =
	"a symlink on this machine would redirect it into .git";

/* Returns the last component of a path, ignoring slashes at its end. */
static struct str last_component(struct str path)
{
	size_t start;

	while (path.len && path.ptr[path.len - 1] == '/')
		path.len--;
	start = path.len;
	while (start && path.ptr[start - 1] != '/')
		start--;
	return str_skip(path, start);
}

static bool is_included(const struct incoming *in, struct str name)
{
	for (size_t i = 0; i < in->n_bring; i++)
		if (str_is(name, in->bring[i]))
			return true;
	return false;
}

int incoming_open(struct incoming *in, const char *directory, struct error *err)
{
	if (tree_dir_open(&in->disk, directory, err) < 0)
		return -1;
	in->opened = true;
	in->directory = xstrdup(directory);
	return 0;
}

int incoming_open_stream(struct incoming *in, const char *source,
			 struct error *err)
{
	struct str name = str_of(source);

	while (str_ends(name, "/."))
		name.len -= 2;
	if (incoming_open(in, ".", err) < 0)
		return -1;
	in->follows = true;
	free(in->directory);
	in->directory = xstrndup(name.ptr, name.len);
	return 0;
}

/* Returns the length of path up to and including the first .git that --bring
 * does not name, or 0. */
static size_t find_git(const struct incoming *in, struct str path)
{
	size_t end = 0;
	size_t more;

	while ((more = name_find_git(str_skip(path, end)))) {
		end += more;
		if (!is_included(in,
				 last_component((struct str){ path.ptr, end })))
			return end;
		end += end < path.len; /* skip the slash */
	}
	return 0;
}

/* True if path would become part of a bare repository that --bring does not
 * name. */
static bool is_in_bare(struct incoming *in, struct str path)
{
	char *plain;
	int len;
	struct str directory;

	/* The inside of a .git that --bring allows looks like a bare
	 * repository. */
	if (name_find_git(path))
		return false;
	bare_repo_add(&in->made, path);
	plain = xstrndup(path.ptr, path.len);
	len = bare_repo_find(&in->made, &in->disk, plain);
	directory = len > 0 ? (struct str){ plain, (size_t)len }
			    : str_of(in->directory);
	if (len >= 0 && is_included(in, last_component(directory)))
		len = -1;
	free(plain);
	return len >= 0;
}

/* True if an existing link at or above path leads into a .git. */
static bool is_link_to_git(struct incoming *in, struct str path)
{
	char *plain = xstrndup(path.ptr, path.len);
	char *real = NULL;
	const char *name;
	char *slash;
	bool led;

	if (tree_dir_parent(&in->disk, plain, &name) < 0 &&
	    (errno == ELOOP || errno == ENOTDIR))
		/* Directories below the link may not exist yet: resolve the
		 * longest path that exists. */
		while (!real && (slash = strrchr(plain, '/'))) {
			*slash = '\0';
			real = realpath(plain, NULL);
		}
	led = real && find_git(in, str_of(real));
	free(real);
	free(plain);
	return led;
}

/* Checks the entry's name, the targets of links, bare repositories, and links
 * that exist on the disk. */
bool incoming_leaves_out(struct incoming *in, const struct archive_item *item,
			 struct str *name, const char **why)
{
	struct str path = item->path;
	size_t end = find_git(in, path);

	*why = end ? is_git : NULL;
	if (!end && ((item->target && find_git(in, str_of(item->target))) ||
		     (item->original && find_git(in, str_of(item->original)))))
		*why = leads_to_git;
	else if (!end && is_in_bare(in, path))
		*why = is_bare;
	else if (!end && in->follows && is_link_to_git(in, path))
		*why = is_behind_link;
	if (!*why)
		return false;
	/* A .git has many entries: report it once. */
	*name = end ? (struct str){ path.ptr, end } : path;
	if (in->told && str_is(*name, in->told)) {
		*why = NULL;
	} else {
		free(in->told);
		in->told = xstrndup(name->ptr, name->len);
	}
	return true;
}

/* True if the directory, a real path, is in a bare repository that is there
 * and that --bring does not name. */
static bool is_below_bare(const struct incoming *in, const char *directory)
{
	size_t len = bare_repo_above(directory);

	return len &&
	       !is_included(in, last_component((struct str){ directory, len }));
}

static int refuse_path(const char *target, const char *why, struct error *err)
{
	return error_set(err, ERR_POLICY, "%s is not written: %s", target, why);
}

/* Checks the path as given and with all links in it resolved. */
int incoming_check(struct incoming *in, const char *target, struct error *err)
{
	struct str path = str_of(target);
	struct str name = last_component(path);
	size_t above = (size_t)(name.ptr - path.ptr);
	char *parent = above ? xstrndup(path.ptr, above) : xstrdup(".");
	char *real = realpath(parent, NULL);
	int rc = 0;

	if (find_git(in, path) || (real && find_git(in, str_of(real))))
		rc = refuse_path(target, is_git, err);
	else if (real && is_below_bare(in, real))
		rc = refuse_path(target, is_bare, err);
	else if (real && name.len && incoming_open(in, real, err) < 0)
		rc = -1;
	else if (real && name.len && is_in_bare(in, name))
		rc = refuse_path(target, is_bare, err);
	incoming_close(in);
	free(parent);
	free(real);
	return rc;
}

void incoming_close(struct incoming *in)
{
	if (in->opened)
		tree_dir_close(&in->disk);
	bare_repo_release(&in->made);
	free(in->directory);
	free(in->told);
	*in = (struct incoming){ .bring = in->bring, .n_bring = in->n_bring };
}

enum {
	SCRIPT_MS = 120000,
	LEAST_FILES = 1000, /* inodes that must stay free, unless 5 % is less */
	LEFT_OUT_MOST = 200, /* maximum number of warnings about names; all
				others share one line */
	CHUNK = 64 << 10,
};

/* Bytes that must stay free, unless 5 % is less. */
#define LEAST_ROOM ((uint64_t)1 << 30)

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

/* Fails if the disk would become too full: a sandbox must not keep other
 * programs of the user from writing. */
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

/* exec_request.output callback. If out is NULL, drops the output. */
static int collect_output(void *arg, enum exec_stream stream, struct str chunk,
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
		.output = collect_output,
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

/* Sets err to why this transfer failed. Returns -1. */
static int copy_failed(const struct copy *c, const struct transfer *t,
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

void copy_tell_left_out(struct copy *c, struct str name, const char *why)
{
	if (c->told < LEFT_OUT_MOST)
		app_warn("not copied: %.*s: %s", (int)name.len, name.ptr, why);
	else if (c->told == LEFT_OUT_MOST)
		app_warn("more files are not copied; they are not listed");
	c->told += c->told <= LEFT_OUT_MOST;
	if (c->log && c->log->skipped)
		c->log->skipped(c->log->arg, name, why);
}

static const char *temporary_dir(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && dir[0] == '/' ? dir : "/tmp";
}

/* Sets c->disk to the file, so that copy_store() checks the disk that it is
 * on. */
static int write_spool(struct copy *c, int fd, archive_pull *pull, void *arg,
		       struct error *err)
{
	char *chunk = xcalloc(1, CHUNK);
	int64_t n;
	int rc = 0;

	c->disk = fd;
	while (rc == 0 && (n = pull(arg, chunk, CHUNK, err)) != 0) {
		if (n < 0 || copy_store(c, n, err) < 0)
			rc = -1;
		else if (io_write_all(fd, chunk, (size_t)n) < 0)
			rc = error_errno(err, "storing the copy in %s",
					 temporary_dir());
	}
	free(chunk);
	return rc;
}

int copy_spool(struct copy *c, archive_pull *pull, void *arg, struct error *err)
{
	char *path = xasprintf("%s/dcode-cp-XXXXXX", temporary_dir());
	int fd = mkostemp(path, O_CLOEXEC);

	if (fd >= 0)
		(void)unlink(path);
	free(path);
	if (fd < 0)
		return error_errno(err, "storing the copy in %s",
				   temporary_dir());
	if (write_spool(c, fd, pull, arg, err) == 0)
		return fd;
	close(fd);
	return -1;
}

struct local_source { /* a file being sent */
	int fd;
	int64_t left;
	const char *remote;
};

enum { TEMPORARY = 24 }; /* bytes of a temporary name, including NUL */

struct file_sink { /* a file being received */
	struct copy *copy;
	int dir; /* descriptor of the directory that it is written to */
	const char *name;
	char temporary[TEMPORARY];
	int fd; /* descriptor of the temporary file; -1 until the first byte */
};

/* archive_pull callback: returns bytes of the file up to the announced size.
 * Fails if the file has become shorter. */
static int64_t read_source(void *arg, char *room, size_t len, struct error *err)
{
	struct local_source *s = arg;
	ssize_t n;

	if (s->left <= 0)
		return 0;
	if ((int64_t)len > s->left)
		len = (size_t)s->left;
	do
		n = read(s->fd, room, len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return error_errno(err, "reading the local file for %s",
				   s->remote);
	if (n == 0)
		return error_set(err, ERR_SYSTEM,
				 "the local file for %s became shorter while "
				 "it was read",
				 s->remote);
	s->left -= n;
	return n;
}

static int rewind_source(void *arg, struct error *err)
{
	struct local_source *s = arg;
	struct stat st;

	if (lseek(s->fd, 0, SEEK_SET) < 0 || fstat(s->fd, &st) < 0)
		return error_errno(err, "reading the local file for %s again",
				   s->remote);
	s->left = st.st_size;
	return 0;
}

int copy_file_up(struct copy *c, int fd, int mode, const char *remote,
		 struct error *err)
{
	struct local_source s = { .fd = fd, .remote = remote };
	struct transfer t = {
		.path = remote,
		.mode = mode,
		.read = read_source,
		.rewind = rewind_source,
		.arg = &s,
	};

	if (rewind_source(&s, err) < 0)
		return -1;
	t.size = s.left;
	if (sandbox_upload(c->sb, &t, 1, c->stop, err) < 0)
		return -1;
	return t.error == FILE_OK ? 0 : copy_failed(c, &t, err);
}

static int sink_open(struct file_sink *s, struct error *err)
{
	char random[17];

	if (s->fd >= 0)
		return 0;
	ids_random(random, 16);
	snprintf(s->temporary, sizeof(s->temporary), ".dcode-%s", random);
	s->fd = openat(s->dir, s->temporary,
		       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		       0600);
	return s->fd < 0 ? error_errno(err, "creating %s", s->name) : 0;
}

/* copy_write callback: creates the temporary file on the first write. */
static int write_sink(void *arg, struct str chunk, struct error *err)
{
	struct file_sink *s = arg;

	if (copy_receive(s->copy, chunk.len, err) < 0 ||
	    copy_store(s->copy, (int64_t)chunk.len, err) < 0 ||
	    sink_open(s, err) < 0)
		return -1;
	while (chunk.len) {
		ssize_t n = write(s->fd, chunk.ptr, chunk.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(err, "writing %s", s->name);
		chunk = str_skip(chunk, (size_t)n);
	}
	return 0;
}

static int rename_temporary(const struct file_sink *s)
{
	if (!s->copy->no_replace)
		return renameat(s->dir, s->temporary, s->dir, s->name);
	if (renameat2(s->dir, s->temporary, s->dir, s->name,
		      RENAME_NOREPLACE) == 0)
		return 0;
	/* Fallback for file systems without RENAME_NOREPLACE, such as NFS. */
	if (errno != EINVAL ||
	    linkat(s->dir, s->temporary, s->dir, s->name, 0) < 0)
		return -1;
	return unlinkat(s->dir, s->temporary, 0);
}

/* Closes the file. If whole, renames it to its final name; otherwise deletes
 * it. */
static int sink_close(struct file_sink *s, bool whole, struct error *err)
{
	/* an empty file was never opened */
	int rc = whole ? sink_open(s, err) : 0;
	mode_t mask = umask(0);

	umask(mask);
	if (s->fd < 0)
		return rc;
	if (rc == 0 && whole &&
	    (fchmod(s->fd, 0666 & ~mask) < 0 || rename_temporary(s) < 0))
		rc = error_errno(err, "creating %s", s->name);
	close(s->fd);
	if (rc < 0 || !whole)
		unlinkat(s->dir, s->temporary, 0);
	return rc;
}

/* An existing file is replaced only once the download is complete. */
int copy_file_down(struct copy *c, const char *remote, const char *local,
		   struct error *err)
{
	const char *slash = strrchr(local, '/');
	char *directory = slash ? xstrndup(local, (size_t)(slash - local) + 1)
				: xstrdup(".");
	struct file_sink s = { .copy = c,
			       .name = slash ? slash + 1 : local,
			       .fd = -1 };
	struct error ignored = { 0 };
	int rc;

	s.dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = s.dir < 0 ? error_errno(err, "%s", directory) : 0;
	free(directory);
	if (rc < 0)
		return -1;
	c->disk = s.dir;
	rc = copy_download(c, remote, write_sink, &s, err);
	if (sink_close(&s, rc == 0, rc == 0 ? err : &ignored) < 0)
		rc = -1;
	close(s.dir);
	return rc;
}
