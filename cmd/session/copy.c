/* copy.c - copies files and directories into and out of a sandbox. */
/* SPDX-License-Identifier: MIT */

/*
 * Used by dcode sandbox cp, --upload and --download, /upload and /download. The
 * first part finds both ends: what is at the path in the sandbox, standard
 * input or output, and the name of the copy. copy_file.c then copies a file,
 * copy_tree.c a tree. The second part, upload_*(), first asks the sandbox what
 * is at the targets, so that nothing is replaced without --force. Begin reading
 * at copy_up(), copy_down() and upload_stat().
 */
#include "cmd/session/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "archive/archive.h"
#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "sandbox/quote.h"
#include "ui/streams.h"
#include "worktree/treefile.h"

enum { TREE_MODE = 0755 }; /* mode of a directory created for a tar stream */

static int check_stdout(struct copy *c, struct error *err)
{
	struct stat st;

	if (isatty(STDOUT_FILENO)) {
		error_set(err, ERR_USAGE,
			  "sandbox cp: standard output is a terminal");
		return error_hint(err,
				  "Write to a file (> FILE) or into a pipe.");
	}
	if (fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode))
		c->disk = STDOUT_FILENO;
	return 0;
}

/* Fails if standard input is a terminal. A copy reads the bytes of a file from
 * it, or a directory's content as a tar stream. */
static int check_stdin(struct error *err)
{
	if (!isatty(STDIN_FILENO))
		return 0;
	error_set(err, ERR_USAGE, "sandbox cp: standard input is a terminal");
	return error_hint(err,
			  "Pipe something into it, or read a file (< FILE).");
}

/* Writes to standard output. If its reader has closed the pipe, sets
 * c->unread. */
static int write_stdout(struct copy *c, struct str data, struct error *err)
{
	if (output_write(STDOUT_FILENO, data, c->stop) == 0)
		return 0;
	c->unread = errno == EPIPE;
	return errno == ECANCELED ? stop_check(c->stop, err)
				  : error_errno(err, "standard output");
}

static int write_counted_chunk(void *arg, struct str chunk, struct error *err)
{
	struct copy *c = arg;

	if (copy_store(c, (int64_t)chunk.len, err) < 0)
		return -1;
	return write_stdout(c, chunk, err);
}

static int received_to_stdout(void *arg, struct str chunk, struct error *err)
{
	return copy_receive(arg, chunk.len, err) < 0
		       ? -1
		       : write_counted_chunk(arg, chunk, err);
}

static int write_file_to_stdout(struct copy *c, const char *remote,
				struct error *err)
{
	return copy_download(c, remote, received_to_stdout, c, err);
}

static int write_tree_to_stdout(struct copy *c, const char *remote,
				struct error *err)
{
	return copy_archive_out(c, remote, write_counted_chunk, c, err);
}

/* Reads from standard input: archive_pull callback, also used as a command's
 * input. */
static int64_t read_stdin(void *arg, char *room, size_t len, struct error *err)
{
	struct copy *c = arg;

	for (;;) {
		struct pollfd p[2] = {
			{ .fd = STDIN_FILENO, .events = POLLIN },
			{ .fd = stop_fd(c->stop), .events = POLLIN },
		};
		ssize_t n;

		(void)poll(p, 2, stop_poll_ms(c->stop, -1));
		if (stop_check(c->stop, err) < 0)
			return -1;
		if (!p[0].revents)
			continue;
		n = read(STDIN_FILENO, room, len);
		if (n >= 0)
			return n;
		if (errno != EINTR && errno != EAGAIN)
			return error_errno(err, "standard input");
	}
}

static int stream_tree_in(struct copy *c, const char *remote, struct error *err)
{
	return copy_archive_in(c, remote, TREE_MODE, read_stdin, c, err);
}

/* Copies standard input into a temporary file before sending it, because a
 * transfer must state its size first. */
static int stream_file_in(struct copy *c, const char *remote, struct error *err)
{
	int fd = copy_spool(c, read_stdin, c, err);
	int rc;

	if (fd < 0)
		return -1;
	rc = copy_file_up(c, fd, 0, remote, err);
	c->files += rc == 0;
	close(fd);
	return rc;
}

/* Joins directory and name with one slash. Owned. */
static char *join_path(const char *directory, const char *name)
{
	size_t len = strlen(directory);

	while (len > 1 && directory[len - 1] == '/')
		len--;
	return xasprintf("%.*s%s%s", (int)len, directory,
			 len && directory[len - 1] == '/' ? "" : "/", name);
}

/* Asks the sandbox what is at path. *kind is 'd' for a directory, 'f' for
 * anything else that exists, 'n' for nothing. The same command finds out which
 * tar the sandbox has, for c->tar. */
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

/* Returns the last component of path, or "" for "/", "." and "..". Owned. */
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

/* Returns path, resolved against the sandbox's working directory. Owned. */
static char *copy_remote_path(const struct copy *c, const char *path)
{
	const char *workdir = c->sb->workdir ? c->sb->workdir : "/";

	return path[0] == '/' ? xstrdup(path) : join_path(workdir, path);
}

/* Copies standard input into the sandbox. If remote is an existing directory or
 * ends in a slash, unpacks the input there as a tar stream. Otherwise writes it
 * as a file. */
static int copy_stdin_up(struct copy *c, const char *remote, struct error *err)
{
	char *path = copy_remote_path(c, remote);
	char kind = 'n';
	int rc = check_stdin(err);

	if (rc == 0)
		rc = remote_kind(c, path, &kind, err);
	c->target = copy_join(path, false, "");
	if (rc == 0)
		rc = kind == 'd' || ends_in_slash(path)
			     ? stream_tree_in(c, c->target, err)
			     : stream_file_in(c, c->target, err);
	free(path);
	return rc;
}

/* Opens a local file or directory for reading. Returns the descriptor, or
 * -1. */
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

/* Copies a local file or directory to exactly this absolute path. */
static int copy_up_to(struct copy *c, const char *local, const char *target,
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

/* Like cp: if remote is an existing directory, the copy goes into it under the
 * source's name. A relative remote path is resolved against the sandbox's
 * working directory. */
int copy_up(struct copy *c, const char *local, const char *remote,
	    struct error *err)
{
	char *path;
	char kind = 'n';
	int rc;

	if (!strcmp(local, "-"))
		return copy_stdin_up(c, remote, err);
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

/* Downloads what remote_kind() found at remote; kind as in that function.
 * Refuses to write to a local path that struct incoming does not allow. */
static int download_found(struct copy *c, char kind, const char *remote,
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

/* remote is absolute. Copies a file or a directory, depending on what the
 * sandbox has there. */
static int find_and_download(struct copy *c, const char *remote,
			     const char *local, struct error *err)
{
	bool pipe = !strcmp(local, "-");
	char kind = 'n';
	char *source;
	int rc;

	if (pipe && check_stdout(c, err) < 0)
		return -1;
	if (remote_kind(c, remote, &kind, err) < 0)
		return -1;
	if (kind == 'n')
		return error_set(err, ERR_NOT_FOUND,
				 "not found in the sandbox: %s", remote);
	source = copy_join(remote, false, "");
	if (!pipe)
		rc = download_found(c, kind, source, local, err);
	else if (kind == 'd')
		rc = write_tree_to_stdout(c, source, err);
	else
		rc = write_file_to_stdout(c, source, err);
	free(source);
	return rc;
}

int copy_down(struct copy *c, const char *remote, const char *local,
	      struct error *err)
{
	char *path = copy_remote_path(c, remote);
	int rc = find_and_download(c, path, local, err);

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

enum {
	SCRIPT_BYTES = 16 << 20,
	ANSWER_BYTES = 64 << 20,
	LIST_BYTES = 64 << 20,
	INLINE_BYTES = 32 << 10, /* bytes of a list of names in the command
				    line; a longer list is sent as a file */
	NAMES_MAX = 1000000,
	HEX = 2 * TREEFILE_HASH,
};

static const unsigned char upload_stat_sh[] = {
#include "scripts/sandbox/upload_stat.sh.inc"
};

struct upload_entry {
	char *name; /* owned; path relative to the directory that is uploaded */
	char kind;  /* type of the file at its place in the sandbox, as in
		       upload_stat.sh; 'n' for none */
	char hash[HEX + 1];
};

static const char differs[] = "the sandbox already has a different file at "
			      "this path (--force replaces it)";

static const char no_file[] = "the path in the sandbox is not a file";

static const char no_directory[] = "the path in the sandbox is not a directory";

struct name_list {
	struct upload_target *upload;
	struct buf *text; /* names, as upload_stat.sh reads them */
	bool too_many;
};

static void add_stat_script(struct buf *script)
{
	quote_script(script, (struct str){ (const char *)upload_stat_sh,
					   sizeof(upload_stat_sh) });
}

static void add_target(struct copy *c, const struct upload_target *u,
		       struct buf *script)
{
	char *path = copy_remote_path(c, u->remote);
	char *outer = copy_join(path, str_ends(str_of(path), "/"), u->local);
	char *inner = copy_join(path, true, u->local);

	/* A path that ends in a slash names a directory, even if it does not
	 * exist. */
	buf_adds(script, "target ");
	quote_word(script, str_of(outer));
	buf_addc(script, ' ');
	quote_word(script, str_of(inner));
	buf_adds(script, u->tree || u->force ? " ''\n" : " 1\n");
	free(path);
	free(outer);
	free(inner);
}

static bool is_hash(struct str hash)
{
	return hash.len == HEX;
}

static bool has_same_bytes(const char *local, struct str hash)
{
	unsigned char bytes[TREEFILE_HASH];
	char hex[HEX + 1];
	int fd = open(local, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool same = fd >= 0 && treefile_copy(fd, -1, bytes) == 0;

	if (fd >= 0)
		close(fd);
	sodium_bin2hex(hex, sizeof(hex), bytes, sizeof(bytes));
	return same && str_is(hash, hex);
}

/* Parses one line of upload_stat.sh, "d f HASH": 'd' if the remote path is a
 * directory, otherwise 'n'; the type of the target, which is inside that
 * directory if there is one; and the target's hash. */
static int read_target(struct copy *c, struct upload_target *u, struct str line,
		       struct error *err)
{
	char *path;

	if (line.len < 4)
		return error_set(
			err, ERR_PROTOCOL,
			"the sandbox did not report the file type of %s",
			u->remote[0] ? u->remote : ".");
	path = copy_remote_path(c, u->remote);
	u->target = copy_join(path,
			      line.ptr[0] == 'd' || str_ends(str_of(path), "/"),
			      u->local);
	free(path);
	u->kind = line.ptr[2];
	u->tar = c->tar;
	line = str_trim(str_skip(line, 4));
	u->same = is_hash(line) && has_same_bytes(u->local, line);
	return 0;
}

/* Asks for all targets with one command. */
static int stat_targets(struct copy *c, struct upload_target *list, size_t n,
			struct error *err)
{
	struct buf script = BUF_INIT(SCRIPT_BYTES);
	struct buf out = BUF_INIT(ANSWER_BYTES);
	struct str rest;
	struct str line;
	int rc;

	add_stat_script(&script);
	buf_adds(&script, "tar_kind\n");
	for (size_t i = 0; i < n; i++)
		add_target(c, &list[i], &script);
	rc = buf_check(&script, "the list of uploads", err);
	if (rc == 0)
		rc = copy_script(c, buf_str(&script), &out,
				 "looking at the paths", err);
	rest = buf_str(&out);
	if (rc == 0 && str_split(&rest, '\n', &line))
		copy_set_tar(c, line.len ? line.ptr[0] : 'n');
	for (size_t i = 0; i < n && rc == 0; i++) {
		line = (struct str){ 0 };
		(void)str_split(&rest, '\n', &line);
		rc = read_target(c, &list[i], line, err);
	}
	buf_release(&script);
	buf_release(&out);
	return rc;
}

/* Normalizes a path: "a//b/./c/" becomes "/a/b/c". Owned. */
static char *clean_path(const char *path)
{
	struct buf out = BUF_INIT(1 << 16);
	struct str rest = str_of(path);
	struct str part;

	while (str_split(&rest, '/', &part))
		if (part.len && !str_is(part, ".")) {
			buf_addc(&out, '/');
			buf_addstr(&out, part);
		}
	buf_addc(&out, '\0');
	return buf_detach(&out);
}

/* True if the upload to top would also write to path. */
static bool overwrites_path(const struct upload_target *outer, const char *top,
			    const char *path)
{
	size_t len = strlen(top);
	struct stat st;
	char *local;
	bool there;

	if (strncmp(top, path, len) != 0 || (path[len] && path[len] != '/'))
		return false;
	if (!path[len])
		return true;
	local = xasprintf("%s%s", outer->local, path + len);
	there = outer->tree && lstat(local, &st) == 0 && !S_ISDIR(st.st_mode);
	free(local);
	return there;
}

static int check_two(const struct upload_target *a,
		     const struct upload_target *b, struct error *err)
{
	char *first = clean_path(a->target);
	char *second = clean_path(b->target);
	bool clash = overwrites_path(a, first, second) ||
		     overwrites_path(b, second, first);

	if (clash)
		error_set(err, ERR_USAGE,
			  "%s and %s both go to %s: nothing was sent", a->local,
			  b->local,
			  strlen(first) > strlen(second) ? first : second);
	free(first);
	free(second);
	return clash ? error_hint(err,
				  "Choose another destination for one of them.")
		     : 0;
}

/* archive_log.refuse callback: records the name of each entry of a local tree.
 * Refuses all entries except directories, so that no file's content is read. */
static const char *record_name(void *arg, struct str name, mode_t type)
{
	struct name_list *l = arg;
	struct upload_target *u = l->upload;
	size_t at = l->text->len;

	if (u->n == NAMES_MAX)
		l->too_many = true;
	if (l->too_many)
		return "";
	if (!(u->n & (u->n - 1)))
		u->entries = xrealloc(u->entries, u->n ? 2 * u->n : 1,
				      sizeof(*u->entries));
	u->entries[u->n++] =
		(struct upload_entry){ .name = xstrndup(name.ptr, name.len),
				       .kind = 'n' };
	buf_addstr(l->text, name);
	for (; at < l->text->len; at++)
		if (l->text->ptr[at] == '\n')
			l->text->ptr[at] = '\1';
	buf_addc(l->text, '\n');
	return S_ISDIR(type) ? NULL : "";
}

static void ignore_skipped(void *arg, struct str name, const char *why)
{
	(void)arg;
	(void)name;
	(void)why;
}

/* Lists the names of a local directory's entries as they will be sent. */
static int list_names(struct upload_target *u, struct buf *text,
		      struct error *err)
{
	struct name_list names = { u, text, false };
	struct archive_log log = { .skipped = ignore_skipped,
				   .refuse = record_name,
				   .arg = &names };
	int fd = open(u->local, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct archive_writer *w = NULL;
	char *room = xcalloc(1, SCRIPT_BYTES >> 8);
	int64_t n;

	buf_addstr(text, str_of(u->target));
	for (size_t i = 0; i < text->len; i++)
		if (text->ptr[i] == '\n' && i >= text->len - strlen(u->target))
			text->ptr[i] = '\1';
	buf_addc(text, '\n');
	if (fd < 0)
		n = error_errno(err, "%s", u->local);
	else
		n = archive_writer_open(&w, fd, &log, err) < 0 ? -1 : 1;
	while (n > 0)
		n = archive_writer_pull(w, room, SCRIPT_BYTES >> 8, err);
	archive_writer_close(w);
	free(room);
	if (n == 0 && names.too_many)
		n = error_set(err, ERR_LIMIT, "%s: more than %d files",
			      u->local, NAMES_MAX);
	return n < 0 ? -1 : 0;
}

/* Sends a list that is too long for a command line as a temporary file. */
static int send_list(struct copy *c, struct str list, struct buf *script,
		     struct error *err)
{
	FILE *spool = tmpfile();
	char random[17];
	char *file;
	int rc = 0;

	ids_random(random, 16);
	file = xasprintf("/tmp/.dcode-cp-%s", random);
	if (!spool || fwrite(list.ptr, 1, list.len, spool) != list.len ||
	    fflush(spool) != 0)
		rc = error_errno(err, "a temporary file");
	if (rc == 0)
		rc = copy_file_up(c, fileno(spool), 0600, file, err);
	if (spool)
		(void)fclose(spool);
	buf_addf(script, "exec <%s || exit 125\nrm -f -- %s\nentries\n", file,
		 file);
	free(file);
	return rc;
}

/* True if the upload adds a local directory's files to an existing remote
 * directory. */
static bool is_merge(const struct upload_target *u)
{
	return u->tree && u->kind == 'd';
}

/* Parses lines "LINE KIND HASH". LINE is the line number of a name in the list
 * that was sent, from 1. */
static void read_entries(struct upload_target *list, size_t n, struct str out)
{
	struct str line;
	struct str word;

	while (str_split(&out, '\n', &line)) {
		int64_t number;
		struct upload_target *u = list;

		if (!str_split(&line, ' ', &word) ||
		    !str_to_int(word, &number) || number < 1 || line.len < 1)
			continue;
		for (number--; u < list + n; u++) {
			if (!is_merge(u))
				continue;
			if (number <= (int64_t)u->n)
				break;
			number -= (int64_t)u->n + 1;
		}
		if (u == list + n || number < 1)
			continue;
		u->entries[number - 1].kind = line.ptr[0];
		word = str_trim(str_skip(line, 1));
		if (is_hash(word))
			memcpy(u->entries[number - 1].hash, word.ptr, HEX);
	}
}

static int compare_entries(const void *a, const void *b)
{
	return strcmp(((const struct upload_entry *)a)->name,
		      ((const struct upload_entry *)b)->name);
}

/* For each directory that is merged into an existing one, asks the sandbox what
 * is at the places of its entries. */
static int stat_trees(struct copy *c, struct upload_target *list, size_t n,
		      struct error *err)
{
	struct buf names = BUF_INIT(LIST_BYTES);
	struct buf script = BUF_INIT(SCRIPT_BYTES);
	struct buf out = BUF_INIT(ANSWER_BYTES);
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i++)
		if (is_merge(&list[i]))
			rc = list_names(&list[i], &names, err);
	if (rc == 0)
		rc = buf_check(&names, "the list of files", err);
	add_stat_script(&script);
	if (rc == 0 && names.len > INLINE_BYTES) {
		rc = send_list(c, buf_str(&names), &script, err);
	} else {
		quote_assign(&script, "l", buf_str(&names));
		buf_adds(&script, "printf %s \"$l\" | entries\n");
	}
	if (rc == 0 && names.len)
		rc = copy_script(c, buf_str(&script), &out,
				 "looking at the files", err);
	if (rc == 0)
		read_entries(list, n, buf_str(&out));
	for (size_t i = 0; i < n; i++)
		if (list[i].n)
			qsort(list[i].entries, list[i].n,
			      sizeof(struct upload_entry), compare_entries);
	buf_release(&names);
	buf_release(&script);
	buf_release(&out);
	return rc;
}

int upload_stat(struct copy *c, struct upload_target *list, size_t n,
		struct error *err)
{
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i++) {
		struct stat st;

		rc = copy_check_local(list[i].local, err);
		list[i].tree =
			stat(list[i].local, &st) == 0 && S_ISDIR(st.st_mode);
	}
	if (rc == 0)
		rc = stat_targets(c, list, n, err);
	for (size_t i = 1; i < n && rc == 0; i++)
		for (size_t k = 0; k < i && rc == 0; k++)
			rc = check_two(&list[k], &list[i], err);
	return rc == 0 ? stat_trees(c, list, n, err) : -1;
}

static bool is_same(const struct upload_target *u, const struct upload_entry *e)
{
	struct error ignored = { 0 };
	char hex[HEX + 1];
	struct treefile t;

	if (!e->hash[0] || treefile_stat(u->top, e->name, &t, &ignored) < 0)
		return false;
	sodium_bin2hex(hex, sizeof(hex), t.hash, sizeof(t.hash));
	return !strcmp(hex, e->hash);
}

/* copy.refuse callback: decides whether an entry of a tree may be sent. */
static const char *refuse_entry(void *arg, struct str name, mode_t type)
{
	struct upload_target *u = arg;
	struct upload_entry key = { .name = xstrndup(name.ptr, name.len) };
	const struct upload_entry *e =
		u->n ? bsearch(&key, u->entries, u->n, sizeof(key),
			       compare_entries)
		     : NULL;
	const char *why = NULL;

	free(key.name);
	if (!e || e->kind == 'n' || (S_ISDIR(type) && e->kind == 'd'))
		return NULL;
	if (S_ISDIR(type))
		why = no_directory;
	else if (e->kind == 'd' || e->kind == 'o')
		why = no_file;
	else if (!u->force && !is_same(u, e))
		why = differs;
	u->refused += why != NULL;
	return why;
}

/* Returns why nothing of this upload may be sent, or NULL. */
static const char *refuse_target(const struct upload_target *u)
{
	if (u->kind == 'n')
		return NULL;
	if (u->tree)
		return u->kind == 'd' ? NULL : no_directory;
	if (u->kind != 'f')
		return no_file;
	return u->force || u->same ? NULL : differs;
}

int upload_run(struct copy *c, struct upload_target *u, struct error *err)
{
	const char *why = refuse_target(u);
	int rc;

	c->target = xstrdup(u->target);
	if (why)
		return error_set(err, ERR_USAGE, "%s: %s", u->target, why);
	u->top = open(u->local, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (u->top < 0)
		return error_errno(err, "%s", u->local);
	c->refuse = refuse_entry;
	c->refuse_arg = u;
	c->tar = u->tar;
	rc = copy_up_to(c, u->local, u->target, err);
	close(u->top);
	return rc;
}

void upload_release(struct upload_target *u)
{
	for (size_t i = 0; i < u->n; i++)
		free(u->entries[i].name);
	free(u->entries);
	free(u->target);
	*u = (struct upload_target){ 0 };
}
