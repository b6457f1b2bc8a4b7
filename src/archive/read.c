/* read.c - unpacks an untrusted tar stream, or reads its entries. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at unpack_all(); unpack_entry() decides about one entry.
 * Attack: an archive whose entries leave the target directory by "..", an
 * absolute path or a link. So a path is normalised first
 * (archive_plain_path()), a link may only lead to the inside
 * (is_link_inside()), and each directory of a path is opened without following
 * links (open_parent()).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/api.h"
#include "archive/archive.h"
#include "base/ids.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

enum {
	CHUNK = 64 << 10, /* bytes pulled at once */
	TEMPORARY = 24,   /* characters of a temporary name, with NUL */
	ENTRY = 4096,     /* disk bytes of an entry besides its content */
	DEEPEST = 1000,   /* parts of a path */
};

struct unpack {
	struct archive_api api;
	struct archive *a;
	struct archive_entry *entry; /* current entry; owned by libarchive */
	const struct archive_input *from;
	const struct archive_log *log;
	struct archive_counts *counts;
	struct error pull; /* why the stream stopped, if its code is set */
	bool dry;          /* the stream has been read to its end */
	int root;
	struct buf path; /* path of the entry below root, normalised */
	char chunk[CHUNK];
};

static la_ssize_t on_read(struct archive *a, void *arg, const void **data)
{
	struct unpack *u = arg;
	int64_t n =
		u->dry ? 0
		       : u->from->pull(u->from->arg, u->chunk, CHUNK, &u->pull);

	(void)a;
	u->dry = n <= 0;
	*data = u->chunk;
	return (la_ssize_t)n;
}

static int set_read_error(struct unpack *u, struct error *err)
{
	const char *why = u->api.error_string(u->a);

	if (u->pull.code != ERR_NONE) {
		*err = u->pull;
		return -1;
	}
	return error_set(err, ERR_PROTOCOL, "the archive is broken: %s",
			 why ? why : "invalid data");
}

/* Reports the entry as skipped. Returns 0: continue with the next one. */
static int skip_entry(struct unpack *u, const char *why)
{
	struct str name = str_of(u->api.entry_pathname(u->entry));

	while (str_starts(name, "./") && name.len > 2)
		name = str_skip(name, 2);
	u->counts->skipped++;
	u->log->skipped(u->log->arg, name, why);
	return 0;
}

const char *archive_plain_path(const char *name, struct buf *out)
{
	struct str rest = str_of(name);
	struct str part;
	int depth = 0;

	buf_clear(out);
	if (!rest.len)
		return "its name cannot be used here";
	if (rest.ptr[0] == '/')
		return "its path is absolute";
	while (str_split(&rest, '/', &part)) {
		if (!part.len || str_is(part, "."))
			continue;
		if (str_is(part, ".."))
			return "its path has \"..\"";
		if (part.len > NAME_MAX || depth++ == DEEPEST)
			return "its path is too long";
		if (out->len)
			buf_addc(out, '/');
		buf_addstr(out, part);
	}
	return out->over ? "its path is too long" : NULL;
}

/*
 * True if a link stays inside the tree: first up, not above the root, then
 * down. Links on its way obey the same rule. A ".." after a name is refused,
 * because that name may be a link.
 */
static bool is_link_inside(struct str path, struct str target)
{
	bool down = false;
	int up = 0;
	struct str part;

	if (!target.len || target.len >= PATH_MAX || target.ptr[0] == '/')
		return false;
	for (size_t i = 0; i < path.len; i++)
		up += path.ptr[i] == '/';
	while (str_split(&target, '/', &part)) {
		if (!part.len || str_is(part, "."))
			continue;
		if (!str_is(part, ".."))
			down = true;
		else if (down || up-- == 0)
			return false;
	}
	return true;
}

/* Opens a directory, creating it if it is missing. Does not follow a link. */
static int open_directory(int dir, const char *name, mode_t mode)
{
	enum { FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };
	int fd = openat(dir, name, FLAGS);

	if (fd >= 0 || errno != ENOENT)
		return fd;
	if (mkdirat(dir, name, mode | 0700) < 0 && errno != EEXIST)
		return -1;
	return openat(dir, name, FLAGS);
}

/* Opens the parent directory of path and creates missing directories. *name:
 * the last component, within path. -1 with errno. Writes NULs into path. */
static int open_parent(int root, char *path, char **name)
{
	int dir = dup(root);
	char *slash;

	while (dir >= 0 && (slash = strchr(path, '/'))) {
		int next;

		*slash = '\0';
		next = open_directory(dir, path, 0777);
		close(dir);
		dir = next;
		path = slash + 1;
	}
	*name = path;
	return dir;
}

static const char *describe_error(int error)
{
	switch (error) {
	case ELOOP:
	case ENOTDIR:
		return "a link or a file exists where its directory should be";
	case EISDIR:
	case EEXIST:
	case ENOTEMPTY:
		return "a directory with its name exists";
	case EACCES:
	case EPERM:
		return "permission denied";
	default:
		return "it cannot be created here";
	}
}

static bool is_disk_error(int error)
{
	return error == ENOSPC || error == EDQUOT || error == EIO ||
	       error == EROFS;
}

static int skip_or_fail(struct unpack *u, struct error *err)
{
	if (is_disk_error(errno))
		return error_errno(err, "unpacking");
	return skip_entry(u, describe_error(errno));
}

static int write_content(struct unpack *u, int fd, struct error *err)
{
	la_int64_t offset = 0;
	const void *data;
	size_t len;
	int rc;

	for (;;) {
		rc = u->api.read_data_block(u->a, &data, &len, &offset);
		if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN)
			break;
		if (io_pwrite_all(fd, data, len, offset) < 0)
			return error_errno(err, "unpacking %s", u->path.ptr);
	}
	if (rc != ARCHIVE_EOF)
		return set_read_error(u, err);
	if (io_truncate(fd, u->api.entry_size(u->entry)) < 0)
		return error_errno(err, "unpacking %s", u->path.ptr);
	return 0;
}

static void read_times(struct unpack *u, struct timespec times[2])
{
	bool set = u->api.entry_mtime_is_set(u->entry);

	times[0].tv_nsec = UTIME_OMIT;
	times[1].tv_sec = u->api.entry_mtime(u->entry);
	times[1].tv_nsec = set ? 0 : UTIME_OMIT;
}

static void name_temporary(char name[TEMPORARY])
{
	char random[17];

	ids_random(random, 16);
	snprintf(name, TEMPORARY, ".dcode-%s", random);
}

/* Renames the completed file to its final name, replacing what was there. */
static int rename_into_place(struct unpack *u, int dir, const char *temporary,
			     const char *name, struct error *err)
{
	int rc = renameat(dir, temporary, dir, name) < 0 ? skip_or_fail(u, err)
							 : 1;

	/* Rename does nothing if both are the same file, so remove the
	 * temporary name. */
	(void)unlinkat(dir, temporary, 0);
	return rc;
}

/* Writes a file under a temporary name, then renames it. Returns 1 if it was
 * written, 0 if it was skipped. */
static int write_file(struct unpack *u, int dir, const char *name,
		      struct error *err)
{
	mode_t mode = u->api.entry_mode(u->entry) & 0777;
	struct timespec times[2] = { 0 };
	char temporary[TEMPORARY];
	int rc;
	int fd;

	name_temporary(temporary);
	fd = openat(dir, temporary,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0)
		return skip_or_fail(u, err);
	read_times(u, times);
	rc = write_content(u, fd, err);
	(void)futimens(fd, times);
	close(fd);
	if (rc < 0) {
		unlinkat(dir, temporary, 0);
		return -1;
	}
	rc = rename_into_place(u, dir, temporary, name, err);
	u->counts->files += rc > 0;
	return rc;
}

static int create_symlink(struct unpack *u, int dir, const char *name,
			  struct error *err)
{
	const char *target = u->api.entry_symlink(u->entry);
	struct timespec times[2] = { 0 };
	char temporary[TEMPORARY];
	int rc;

	name_temporary(temporary);
	if (symlinkat(target, dir, temporary) < 0)
		return skip_or_fail(u, err);
	read_times(u, times);
	(void)utimensat(dir, temporary, times, AT_SYMLINK_NOFOLLOW);
	rc = rename_into_place(u, dir, temporary, name, err);
	u->counts->links += rc > 0;
	return rc;
}

/* Links only to a regular file below root that is reached without links. A hard
 * link to a symbolic link would put it into another directory, from where its
 * target could lead out of the tree. */
static int create_hard_link(struct unpack *u, int dir, const char *name,
			    struct error *err)
{
	const char *to = u->api.entry_hardlink(u->entry);
	struct buf path = BUF_INIT(PATH_MAX);
	char temporary[TEMPORARY];
	struct stat st;
	char *last;
	int from = -1;
	int rc;

	name_temporary(temporary);
	if (archive_plain_path(to, &path) || !path.len)
		rc = skip_entry(u,
				"it is a link to a file outside of the copy");
	else if ((from = open_parent(u->root, path.ptr, &last)) < 0 ||
		 fstatat(from, last, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		 !S_ISREG(st.st_mode))
		rc = skip_entry(
			u, "it is a link to something that is not a file here");
	else if (linkat(from, last, dir, temporary, 0) < 0)
		rc = skip_or_fail(u, err);
	else
		rc = rename_into_place(u, dir, temporary, name, err);
	u->counts->files += rc > 0;
	if (from >= 0)
		close(from);
	buf_release(&path);
	return rc;
}

static int create_directory(struct unpack *u, int dir, const char *name,
			    struct error *err)
{
	int fd = open_directory(dir, name, u->api.entry_mode(u->entry) & 0777);

	if (fd < 0)
		return skip_or_fail(u, err);
	close(fd);
	u->counts->directories++;
	return 0;
}

/* Writes the current entry into its parent directory, according to its type. */
static int write_entry(struct unpack *u, mode_t type, struct error *err)
{
	char *path = xstrndup(u->path.ptr, u->path.len);
	char *name;
	int dir = open_parent(u->root, path, &name);
	int rc;

	if (dir < 0)
		rc = skip_or_fail(u, err);
	else if (u->api.entry_hardlink(u->entry))
		rc = create_hard_link(u, dir, name, err);
	else if (type == S_IFREG)
		rc = write_file(u, dir, name, err);
	else if (type == S_IFLNK)
		rc = create_symlink(u, dir, name, err);
	else
		rc = create_directory(u, dir, name, err);
	if (rc > 0 && u->log->carried)
		u->log->carried(u->log->arg, buf_str(&u->path));
	if (dir >= 0)
		close(dir);
	free(path);
	return rc;
}

/* Reserves disk space. The declared size counts, because a sparse file may be
 * larger than the bytes in the stream. */
static int reserve_space(struct unpack *u, mode_t type, struct error *err)
{
	int64_t size = type == S_IFREG ? u->api.entry_size(u->entry) : 0;

	if (!u->from->store)
		return 0;
	if (size < 0 || size > INT64_MAX - ENTRY)
		size = INT64_MAX - ENTRY;
	return u->from->store(u->from->arg, size + ENTRY, err);
}

static bool is_left_out(struct unpack *u, mode_t type)
{
	const char *hard = u->api.entry_hardlink(u->entry);
	struct archive_item item = {
		.path = buf_str(&u->path),
		.mode = u->api.entry_mode(u->entry),
		.original = hard,
		.target = !hard && type == S_IFLNK
				  ? u->api.entry_symlink(u->entry)
				  : NULL,
	};

	return u->log->leaves_out && u->log->leaves_out(u->log->arg, &item);
}

/* Unpacks the current entry if it is allowed. Otherwise reports it as skipped,
 * unless leaves_out() is true for it. */
static int unpack_entry(struct unpack *u, struct error *err)
{
	mode_t type = u->api.entry_mode(u->entry) & S_IFMT;
	bool hard = u->api.entry_hardlink(u->entry) != NULL;
	const char *why =
		archive_plain_path(u->api.entry_pathname(u->entry), &u->path);

	if (why)
		return skip_entry(u, why);
	if (!hard && type != S_IFREG && type != S_IFLNK && type != S_IFDIR)
		return skip_entry(
			u, "it is neither a file, a link nor a directory");
	if (!u->path.len) /* "./" */
		return type == S_IFDIR ? 0 : skip_entry(u, "its path is empty");
	if (!hard && type == S_IFLNK &&
	    !is_link_inside(buf_str(&u->path),
			    str_of(u->api.entry_symlink(u->entry))))
		return skip_entry(u, "the link leads out of the copy");
	if (is_left_out(u, type))
		return 0;
	if (reserve_space(u, type, err) < 0)
		return -1;
	return write_entry(u, type, err);
}

static int unpack_all(struct unpack *u, struct error *err)
{
	int rc;

	if (u->api.read_support_format_tar(u->a) < ARCHIVE_WARN ||
	    u->api.read_open(u->a, u, NULL, on_read, NULL) != ARCHIVE_OK)
		return set_read_error(u, err);
	for (;;) {
		rc = u->api.read_next_header(u->a, &u->entry);
		if (rc == ARCHIVE_EOF)
			break;
		if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN)
			return set_read_error(u, err);
		if (unpack_entry(u, err) < 0)
			return -1;
	}
	/* Read the padding too: the process that writes it would get a broken
	 * pipe. */
	while (!u->dry) {
		const void *ignored;

		(void)on_read(u->a, u, &ignored);
	}
	return u->pull.code == ERR_NONE ? 0 : set_read_error(u, err);
}

int archive_extract(const struct archive_input *from, int dir,
		    const struct archive_log *log,
		    struct archive_counts *counts, struct error *err)
{
	struct unpack *u = xcalloc(1, sizeof(*u));
	int rc;

	*counts = (struct archive_counts){ 0 };
	u->from = from;
	u->log = log;
	u->counts = counts;
	u->root = dir;
	u->path = BUF_INIT(PATH_MAX);
	rc = archive_api_load(&u->api, err);
	if (rc == 0) {
		u->a = u->api.read_new();
		rc = u->a ? unpack_all(u, err)
			  : error_set(err, ERR_SYSTEM,
				      "cannot start libarchive");
	}
	if (u->a)
		u->api.read_free(u->a);
	buf_release(&u->path);
	free(u);
	return rc;
}

/* Reads an untrusted tar stream entry by entry. */

struct visit {
	struct archive_api api;
	struct archive *a;
	struct archive_entry *entry; /* current entry; owned by libarchive */
	const struct archive_visitor *v;
	struct error pull; /* why the stream stopped, if its code is set */
	char chunk[CHUNK];
};

static la_ssize_t on_visit_pull(struct archive *a, void *arg, const void **data)
{
	struct visit *t = arg;

	(void)a;
	*data = t->chunk;
	return (la_ssize_t)t->v->pull(t->v->arg, t->chunk, CHUNK, &t->pull);
}

static int set_visit_error(struct visit *t, struct error *err)
{
	const char *why = t->api.error_string(t->a);

	if (t->pull.code != ERR_NONE) {
		*err = t->pull;
		return -1;
	}
	return error_set(err, ERR_PROTOCOL, "the archive is broken: %s",
			 why ? why : "invalid data");
}

/* Passes zeros for a hole of a sparse file. */
static int pass_zeros(struct visit *t, int64_t n, struct error *err)
{
	static const char zeros[4096];

	for (; n > 0; n -= (int64_t)sizeof(zeros)) {
		size_t len =
			n < (int64_t)sizeof(zeros) ? (size_t)n : sizeof(zeros);

		if (t->v->data(t->v->arg, (struct str){ zeros, len }, err) < 0)
			return -1;
	}
	return 0;
}

/* Passes the content of the current entry, with zeros for holes. */
static int pass_data(struct visit *t, int64_t size, struct error *err)
{
	int64_t given = 0;
	la_int64_t offset = 0;
	const void *data;
	size_t len;
	int rc;

	for (;;) {
		rc = t->api.read_data_block(t->a, &data, &len, &offset);
		if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN)
			break;
		if (offset < given || (int64_t)len > size - offset)
			return error_set(err, ERR_PROTOCOL,
					 "the archive is broken: a file is "
					 "longer than its header says");
		if (pass_zeros(t, offset - given, err) < 0 ||
		    t->v->data(t->v->arg, (struct str){ data, len }, err) < 0)
			return -1;
		given = offset + (int64_t)len;
	}
	return rc == ARCHIVE_EOF ? pass_zeros(t, size - given, err)
				 : set_visit_error(t, err);
}

static int visit_entry(struct visit *t, struct error *err)
{
	struct archive_item item = {
		.path = str_of(t->api.entry_pathname(t->entry)),
		.mode = t->api.entry_mode(t->entry),
		.size = t->api.entry_size(t->entry),
		.mtime = t->api.entry_mtime(t->entry),
		.original = t->api.entry_hardlink(t->entry),
	};
	int rc;

	if (!item.original && S_ISLNK(item.mode))
		item.target = t->api.entry_symlink(t->entry);
	if (item.original || !S_ISREG(item.mode) || item.size < 0)
		item.size = 0;
	rc = t->v->entry(t->v->arg, &item, err);
	return rc > 0 ? pass_data(t, item.size, err) : rc;
}

static int visit_all(struct visit *t, struct error *err)
{
	int rc;

	if (t->api.read_support_format_tar(t->a) < ARCHIVE_WARN ||
	    t->api.read_set_format_option(t->a, "tar",
					  "read_concatenated_archives",
					  "1") < ARCHIVE_WARN ||
	    t->api.read_open(t->a, t, NULL, on_visit_pull, NULL) != ARCHIVE_OK)
		return set_visit_error(t, err);
	for (;;) {
		rc = t->api.read_next_header(t->a, &t->entry);
		if (rc == ARCHIVE_EOF)
			return t->pull.code ? set_visit_error(t, err) : 0;
		if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN)
			return set_visit_error(t, err);
		if (visit_entry(t, err) < 0)
			return -1;
	}
}

int archive_visit(const struct archive_visitor *v, struct error *err)
{
	struct visit *t = xcalloc(1, sizeof(*t));
	int rc = archive_api_load(&t->api, err);

	t->v = v;
	if (rc == 0) {
		t->a = t->api.read_new();
		rc = t->a ? visit_all(t, err)
			  : error_set(err, ERR_SYSTEM,
				      "cannot start libarchive");
	}
	if (t->a)
		t->api.read_free(t->a);
	free(t);
	return rc;
}
