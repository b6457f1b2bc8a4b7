/* copy_tree.c - copies trees into and out of a sandbox as tar streams. */
/* SPDX-License-Identifier: MIT */

/*
 * The sandbox's own tar packs and unpacks, through its standard input and
 * output. If a provider does not support standard input, the archive goes
 * through a file in the sandbox's /tmp. On this machine libarchive unpacks a
 * tree (copy_tree_down()), or struct sieve filters the stream
 * (copy_archive_out()).
 *
 * The provider passes its output to a callback, while libarchive reads its
 * input by a callback. So struct tar_relay runs libarchive on a second thread
 * and connects the two with a socket. Begin reading at copy_tree_up() and
 * copy_tree_down().
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "archive/archive.h"
#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"
#include "cmd/app.h"
#include "cmd/session/copy.h"
#include "sandbox/quote.h"

enum {
	FLUSH = 64 << 10,      /* bytes buffered before a write */
	SET_FIRST = 1 << 8,    /* first number of slots in a path_set */
	SET_MOST = 1 << 20,    /* maximum number of paths; each has at most four
				  slots */
	NAME_BYTES = PATH_MAX, /* maximum length of a path in the archive,
				  with NUL */
};

/* Set of paths, stored as keyed hashes. The key is random, so that a sandbox
 * cannot choose names that collide. */
struct path_set {
	uint64_t *slots; /* owned; 0 means free */
	size_t n;
	size_t size; /* number of slots, a power of two */
	unsigned char key[crypto_shorthash_KEYBYTES];
};

/*
 * Filters a tar stream from a sandbox on its way to standard output. Entries
 * are written again with names, links, permission bits, times and content, but
 * without owners and setuid bits. Attack: the stream makes the program that
 * unpacks it write files that struct incoming refuses. So these are left out,
 * too: paths that leave the stream's directory or pass through one of its
 * links, hard links to entries that were left out, devices and pipes. Where the
 * stream will be unpacked is unknown, so struct incoming checks names against
 * the working directory. Memory does not grow with the tree, except by at most
 * 32 bytes for each symbolic link and each entry that is left out; their number
 * is limited.
 */
struct sieve {
	struct copy *copy; /* borrowed */
	struct archive_stream *out;
	copy_write *write;
	void *arg;
	archive_pull *pull;
	void *from;
	struct path_set links; /* paths of links in the output; nothing below
				  them is passed on, because a link may lead to
				  a directory elsewhere */
	struct path_set gone;  /* paths of entries that were left out, except
				  those below a .git */
	int64_t bytes;         /* total size of all passed files */
	int64_t skipped;
	struct buf path; /* normalized path of the current entry */
	struct buf original;
};

static uint64_t hash_of(const struct path_set *s, struct str path)
{
	unsigned char out[crypto_shorthash_BYTES];
	uint64_t hash;

	_Static_assert(sizeof(out) == sizeof(hash), "a hash is 64 bits");
	crypto_shorthash(out, (const unsigned char *)path.ptr, path.len,
			 s->key);
	memcpy(&hash, out, sizeof(hash));
	return hash ? hash : 1;
}

/* Returns the slot of hash, or the free slot where it would go. */
static uint64_t *slot_of(const struct path_set *s, uint64_t hash)
{
	size_t i = (size_t)hash & (s->size - 1);

	while (s->slots[i] && s->slots[i] != hash)
		i = (i + 1) & (s->size - 1);
	return &s->slots[i];
}

static bool path_set_has(const struct path_set *s, struct str path)
{
	return s->n && *slot_of(s, hash_of(s, path));
}

static void path_set_grow(struct path_set *s)
{
	struct path_set old = *s;

	if (!s->size)
		randombytes_buf(s->key, sizeof(s->key));
	s->size = old.size ? old.size * 2 : SET_FIRST;
	s->slots = xcalloc(s->size, sizeof(*s->slots));
	for (size_t i = 0; i < old.size; i++)
		if (old.slots[i])
			*slot_of(s, old.slots[i]) = old.slots[i];
	free(old.slots);
}

static int path_set_add(struct path_set *s, struct str path, struct error *err)
{
	uint64_t *slot;
	uint64_t hash;

	if (s->n == SET_MOST)
		return error_set(
			err, ERR_LIMIT,
			"the copy has more than %d links or skipped files",
			SET_MOST);
	if (s->n * 2 >= s->size)
		path_set_grow(s);
	hash = hash_of(s, path);
	slot = slot_of(s, hash);
	s->n += !*slot;
	*slot = hash;
	return 0;
}

/* True if the set has a directory above path. */
static bool path_set_above(const struct path_set *s, struct str path)
{
	for (size_t i = 0; s->n && i < path.len; i++)
		if (path.ptr[i] == '/' &&
		    path_set_has(s, (struct str){ path.ptr, i }))
			return true;
	return false;
}

static int flush_output(struct sieve *s, struct error *err)
{
	struct buf *out = archive_stream_out(s->out);
	int rc = out->len ? s->write(s->arg, buf_str(out), err) : 0;

	buf_clear(out);
	return rc;
}

/* Writes out the buffer once it is large, instead of after each header. */
static int flush_if_large(struct sieve *s, struct error *err)
{
	return archive_stream_out(s->out)->len < FLUSH ? 0
						       : flush_output(s, err);
}

/* Returns why an entry is left out, or NULL. */
static const char *find_objection(struct sieve *s,
				  const struct archive_item *item)
{
	const char *why = archive_plain_path(item->path.ptr, &s->path);
	struct str path = buf_str(&s->path);
	struct str original;

	if (why)
		return why;
	if (!item->original && !S_ISREG(item->mode) && !S_ISLNK(item->mode) &&
	    !S_ISDIR(item->mode))
		return "it is neither a file, a link nor a directory";
	if (!path.len && !S_ISDIR(item->mode))
		return "its path is empty";
	if (!item->original && S_ISLNK(item->mode) &&
	    (!item->target || !item->target[0] ||
	     strlen(item->target) >= PATH_MAX))
		return "the link has no valid target";
	/* Attack: an archive has a link "a" to "/" and then a file "a/b". */
	if (path_set_above(&s->links, path) ||
	    (S_ISDIR(item->mode) && path_set_has(&s->links, path)))
		return "a directory of its path is a link";
	if (!item->original)
		return NULL;
	/* a hard link: its target must be in the copy, too */
	if (archive_plain_path(item->original, &s->original) ||
	    !s->original.len)
		return "it is a link to a file outside the copied directory";
	original = buf_str(&s->original);
	if (path_set_above(&s->links, original) ||
	    path_set_has(&s->gone, original))
		return "it is a link to a file that is not copied";
	return NULL;
}

/* Returns 1 if the entry is left out (after a warning), 0 if it passes, -1 with
 * err. */
static int filter_entry(struct sieve *s, const struct archive_item *item,
			struct error *err)
{
	const char *why = find_objection(s, item);
	struct archive_item plain = *item;
	struct str path = buf_str(&s->path);
	struct str name = item->path;

	plain.path = path;
	if (why) {
		while (str_starts(name, "./") && name.len > 2)
			name = str_skip(name, 2);
		copy_tell_left_out(s->copy, name, why);
		s->skipped++;
	} else if (!path.len || !incoming_leaves_out(&s->copy->incoming, &plain,
						     &name, &why)) {
		return 0;
	} else {
		if (why)
			copy_tell_left_out(s->copy, name, why);
		/* need not be remembered: a hard link to an entry below a .git
		 * has .git in its target */
		if (name.len < path.len)
			return 1;
	}
	return path.len && path_set_add(&s->gone, path, err) < 0 ? -1 : 1;
}

/* Returns the name with "./" in front if tar has written it so, because users
 * select entries by the names that tar lists. */
static const char *find_spelling(const char *raw, const struct buf *plain,
				 char room[NAME_BYTES + 2])
{
	if (strncmp(raw, "./", 2) && plain->len)
		return plain->ptr;
	memcpy(room, "./", 3);
	if (plain->len)
		memcpy(room + 2, plain->ptr, plain->len + 1);
	return room;
}

/* archive_visitor callback: filters an entry and writes its header. */
static int on_entry(void *arg, const struct archive_item *item,
		    struct error *err)
{
	struct sieve *s = arg;
	char path[NAME_BYTES + 2];
	char original[NAME_BYTES + 2];
	struct archive_header header = {
		.link = item->target,
		.directory = !item->original && S_ISDIR(item->mode),
		.mode = (int)item->mode & 0777,
		.size = item->size,
		.mtime = item->mtime > 0 ? item->mtime : 0,
	};
	bool is_file = !item->original && S_ISREG(item->mode);
	int left = filter_entry(s, item, err);

	if (left)
		return left < 0 ? -1 : 0;
	/* A sparse file may claim to be larger than the data that follows. */
	if (copy_check_size(s->copy, s->bytes, item->size, err) < 0)
		return -1;
	s->bytes += item->size;
	header.path = find_spelling(item->path.ptr, &s->path, path);
	if (item->original)
		header.original =
			find_spelling(item->original, &s->original, original);
	if ((item->target ||
	     (item->original &&
	      path_set_has(&s->links, buf_str(&s->original)))) &&
	    path_set_add(&s->links, buf_str(&s->path), err) < 0)
		return -1;
	if (archive_stream_entry(s->out, &header, err) < 0 ||
	    flush_if_large(s, err) < 0)
		return -1;
	return is_file;
}

static int on_data(void *arg, struct str bytes, struct error *err)
{
	struct sieve *s = arg;

	return archive_stream_data(s->out, bytes, err) < 0
		       ? -1
		       : flush_if_large(s, err);
}

/* Adds the counts to the copy, then frees. s may be NULL. */
static void sieve_close(struct sieve *s)
{
	if (!s)
		return;
	s->copy->skipped += s->skipped;
	incoming_close(&s->copy->incoming);
	archive_stream_close(s->out);
	buf_release(&s->path);
	buf_release(&s->original);
	free(s->links.slots);
	free(s->gone.slots);
	free(s);
}

/* source is the directory in the sandbox; --bring may name its last component.
 * The copy is borrowed. NULL with err. */
static struct sieve *sieve_open(struct copy *c, const char *source,
				copy_write *write, void *arg, struct error *err)
{
	struct sieve *s = xcalloc(1, sizeof(*s));

	s->copy = c;
	s->write = write;
	s->arg = arg;
	s->path = BUF_INIT(NAME_BYTES - 1);
	s->original = BUF_INIT(NAME_BYTES - 1);
	s->out = archive_stream_open(false, err);
	if (s->out && incoming_open_stream(&c->incoming, source, err) == 0)
		return s;
	sieve_close(s);
	return NULL;
}

static int64_t on_pull(void *arg, char *room, size_t len, struct error *err)
{
	struct sieve *s = arg;

	return s->pull(s->from, room, len, err);
}

/* Reads the whole stream. Any thread; write() is called on it. -1 if the stream
 * is broken, or with the error of pull or write. */
static int sieve_run(struct sieve *s, archive_pull *pull, void *arg,
		     struct error *err)
{
	const struct archive_visitor v = { on_pull, on_entry, on_data, s };

	s->pull = pull;
	s->from = arg;
	return archive_visit(&v, err);
}

/* Writes the end-of-archive marker; without it tar reports a truncated
 * archive. */
static int sieve_end(struct sieve *s, struct error *err)
{
	return archive_stream_end(s->out, err) < 0 ? -1 : flush_output(s, err);
}

enum {
	LINE_BYTES = 4096,      /* maximum bytes of one line of tar's errors */
	TOLD_MAX = 200,         /* warnings shown per kind; the rest gets one
				   line */
	SCRIPT_BYTES = 1 << 16, /* maximum bytes of the command */
	CLEANUP_MS = 10000,
};

/* Reads the error messages of the sandbox's tar: one line for each file that
 * failed. */
struct complaints {
	struct buf line;
	int64_t n;
	bool whole; /* tar reported that it continued after errors */
};

struct tar_download {
	copy_write *write;
	void *arg;
	struct complaints said;
	bool by_file; /* the archive goes to a file, so all output is error
			 messages */
};

/* Connects tar's output, which arrives on one thread, to a second thread that
 * unpacks or filters it. A socket between them gives flow control. */
struct tar_relay {
	struct copy *copy;
	pthread_t thread;
	int in;     /* socket end for writing; -1 when closed */
	int out;    /* socket end for the second thread */
	bool ended; /* the second thread stopped before the end of the output */
	/* runs on the second thread */
	int (*use)(struct tar_relay *r, struct error *err);
	int root;            /* directory to unpack into, ... */
	struct sieve *sieve; /* ... or the filter that receives the stream */
	struct archive_counts counts;
	struct error err;
	int rc;
};

/* True for the last line of GNU tar or busybox tar, which says that there were
 * errors. */
static bool is_summary(struct str line)
{
	return str_search(line, STR("xiting with failure")) < line.len ||
	       str_search(line, STR("error exit delayed")) < line.len;
}

static void end_complaint(struct complaints *c)
{
	struct str line = str_trim(buf_str(&c->line));

	if (is_summary(line)) {
		c->whole = true;
	} else if (line.len) {
		if (c->n++ < TOLD_MAX)
			app_warn("in the sandbox: %.*s", (int)line.len,
				 line.ptr);
		else if (c->n == TOLD_MAX + 1)
			app_warn("in the sandbox: further lines are not shown");
	}
	buf_clear(&c->line);
}

/* Collects lines: one per file that the sandbox's tar could not read. */
static void add_complaints(struct complaints *c, struct str chunk)
{
	while (buf_add_line(&c->line, &chunk))
		end_complaint(c);
}

static void on_skipped(void *arg, struct str name, const char *why)
{
	copy_tell_left_out(arg, name, why);
}

/* archive_log.carried callback: forwards to the caller's log. */
static void on_carried(void *arg, struct str name)
{
	const struct copy *c = arg;

	if (c->log && c->log->carried)
		c->log->carried(c->log->arg, name);
}

/* archive_log.refuse callback: forwards to the caller's filter, if any. */
static const char *refuse_name(void *arg, struct str name, mode_t type)
{
	const struct copy *c = arg;

	return c->refuse ? c->refuse(c->refuse_arg, name, type) : NULL;
}

static bool is_left_out(void *arg, const struct archive_item *item)
{
	struct copy *c = arg;
	struct str name;
	const char *why;
	bool left = incoming_leaves_out(&c->incoming, item, &name, &why);

	if (left && why)
		copy_tell_left_out(c, name, why);
	return left;
}

static void add_counts(struct copy *c, const struct archive_counts *n)
{
	c->files += n->files;
	c->directories += n->directories;
	c->links += n->links;
	c->skipped += n->skipped;
}

/* Decides by tar's exit status and messages whether the copy is usable.
 * must_go_on: tar must have continued after its first error, which busybox
 * tar does not do when it unpacks. */
static int check_status(struct copy *c, struct complaints *said,
			const struct exec_result *res, bool must_go_on,
			struct error *err)
{
	end_complaint(said);
	if (res->exit_code == 0)
		return 0;
	if (!said->n || res->exit_code > 2)
		return error_set(err, ERR_REMOTE,
				 "tar ended with status %d in the sandbox",
				 res->exit_code);
	if (must_go_on && !said->whole)
		return error_set(err, ERR_REMOTE,
				 "tar stopped at its first error in the "
				 "sandbox: the rest is not copied");
	c->skipped += said->n;
	return 0;
}

static int on_complaint(void *arg, enum exec_stream stream, struct str chunk,
			struct buf *reply, struct error *err)
{
	(void)stream; /* tar prints only errors here */
	(void)reply;
	(void)err;
	add_complaints(arg, chunk);
	return 0;
}

/* True if commands can get standard input. Otherwise an archive is copied
 * through a file in the sandbox. */
static bool has_stdin(const struct copy *c)
{
	return c->sb->client->provider->flags & SANDBOX_STDIN;
}

static int check_tar(const struct copy *c, struct error *err)
{
	if (c->tar)
		return 0;
	error_set(err, ERR_REMOTE, "the sandbox has no tar");
	return error_hint(err, "Install it there, or copy one file at a time.");
}

/* Adds commands that unpack the archive into remote. They set the directory's
 * mode at the end, and only if they have created it. busybox tar needs
 * EXTRACT_UNSAFE_SYMLINKS for links that are absolute or contain "..". */
static void upload_script(struct copy *c, const char *remote, mode_t mode,
			  struct buf *script)
{
	buf_adds(script, "p=");
	quote_word(script, str_of(remote));
	buf_addf(script,
		 "\nm=; [ -d \"$p\" ] || m=%o\n"
		 "for a in mkdir chmod; do command -v \"$a\" >/dev/null ||"
		 " eval \"$a() { busybox $a \\\"\\$@\\\"; }\"; done\n"
		 "mkdir -p -- \"$p\" && cd -- \"$p\" || exit 125\n"
		 "EXTRACT_UNSAFE_SYMLINKS=1 %s -xpof - || exit\n"
		 "[ -z \"$m\" ] || chmod \"$m\" .\n",
		 (unsigned)(mode & 0777), c->tar);
}

/* Adds commands that open a file of the sandbox as standard input and delete
 * it. */
static void add_input(struct buf *script, const char *file)
{
	buf_adds(script, "exec <");
	quote_word(script, str_of(file));
	buf_adds(script, " || exit 125\nrm -f -- ");
	quote_word(script, str_of(file));
	buf_adds(script, "\n");
}

/* Runs the unpack command with the archive from pull as its input. */
static int run_upload(struct copy *c, struct buf *script, archive_pull *pull,
		      void *arg, struct error *err)
{
	struct complaints said = { .line = BUF_INIT(LINE_BYTES) };
	struct exec_request req = {
		.command = buf_str(script),
		.plain = true,
		.output = on_complaint,
		.arg = &said,
		.source = pull,
		.source_arg = arg,
	};
	struct exec_result res = { 0 };
	int rc = sandbox_execute(c->sb, &req, &res, c->stop, err);

	c->directories++;
	if (rc == 0)
		rc = check_status(c, &said, &res, true, err);
	buf_release(&said.line);
	return rc;
}

static char *new_file(void)
{
	char random[17];

	ids_random(random, 16);
	return xasprintf("/tmp/.dcode-cp-%s", random);
}

/* Deletes a temporary file in the sandbox, also after the copy was
 * cancelled. */
static void remove_file(struct copy *c, const char *file)
{
	struct buf script = BUF_INIT(SCRIPT_BYTES);
	struct stop within = { .deadline = clock_ms() + CLEANUP_MS };
	const struct stop *stop = c->stop;
	struct error ignored = { 0 };

	buf_adds(&script, "rm -f -- ");
	quote_word(&script, str_of(file));
	c->stop = &within;
	(void)copy_script(c, buf_str(&script), NULL, "cleaning up", &ignored);
	c->stop = stop;
	buf_release(&script);
}

/* Without standard input, first uploads the archive as a file. */
int copy_archive_in(struct copy *c, const char *remote, mode_t mode,
		    archive_pull *pull, void *arg, struct error *err)
{
	struct buf script = BUF_INIT(SCRIPT_BYTES);
	char *file = NULL;
	int fd = -1;
	int rc = check_tar(c, err);

	if (rc == 0 && !has_stdin(c)) {
		file = new_file();
		fd = copy_spool(c, pull, arg, err);
		rc = fd < 0 ? -1 : copy_file_up(c, fd, 0600, file, err);
		add_input(&script, file);
		pull = NULL;
	}
	if (rc == 0) {
		upload_script(c, remote, mode, &script);
		rc = run_upload(c, &script, pull, arg, err);
	}
	if (rc < 0 && fd >= 0)
		remove_file(c, file);
	if (fd >= 0)
		close(fd);
	free(file);
	buf_release(&script);
	return rc;
}

/* Packs the directory while sending it. */
int copy_tree_up(struct copy *c, int dir, const char *remote, struct error *err)
{
	struct archive_log to_user = { on_skipped, on_carried, refuse_name, c,
				       NULL };
	struct archive_writer *w = NULL;
	struct archive_counts n;
	struct stat st;
	int rc = fstat(dir, &st) < 0 ? error_errno(err, "the directory") : 0;

	if (rc == 0)
		rc = archive_writer_open(&w, dup(dir), &to_user, err);
	if (rc < 0)
		return -1;
	rc = copy_archive_in(c, remote, st.st_mode, archive_writer_pull, w,
			     err);
	n = archive_writer_counts(w);
	add_counts(c, &n);
	archive_writer_close(w);
	return rc;
}

static void download_script(struct copy *c, const char *remote,
			    const char *file, struct buf *script)
{
	buf_adds(script, "umask 077\ncd -- ");
	quote_word(script, str_of(remote));
	buf_addf(script, " || exit 125\nexec %s -cf ", c->tar);
	quote_word(script, str_of(file));
	buf_adds(script, " .\n");
}

static int on_download(void *arg, enum exec_stream stream, struct str chunk,
		       struct buf *reply, struct error *err)
{
	struct tar_download *d = arg;

	(void)reply;
	if (stream == EXEC_STDOUT && !d->by_file)
		return d->write(d->arg, chunk, err);
	add_complaints(&d->said, chunk);
	return 0;
}

/* Runs tar in the sandbox and passes the archive to write(). */
static int run_remote_tar(struct copy *c, const char *remote, copy_write *write,
			  void *arg, struct error *err)
{
	struct tar_download d = { .write = write,
				  .arg = arg,
				  .said = { .line = BUF_INIT(LINE_BYTES) },
				  .by_file = !has_stdin(c) };
	struct buf script = BUF_INIT(SCRIPT_BYTES);
	char *file = d.by_file ? new_file() : xstrdup("-");
	struct exec_request req = {
		.plain = true,
		.output = on_download,
		.arg = &d,
	};
	struct exec_result res = { 0 };
	int rc = check_tar(c, err);

	if (rc == 0) {
		download_script(c, remote, file, &script);
		req.command = buf_str(&script);
		rc = sandbox_execute(c->sb, &req, &res, c->stop, err);
	}
	if (rc == 0)
		rc = check_status(c, &d.said, &res, false, err);
	if (rc == 0 && d.by_file)
		rc = copy_download(c, file, write, arg, err);
	if (d.by_file && c->tar)
		remove_file(c, file);
	free(file);
	buf_release(&script);
	buf_release(&d.said.line);
	return rc;
}

static int64_t relay_pull(void *arg, char *room, size_t len, struct error *err)
{
	struct tar_relay *r = arg;
	ssize_t n;

	do
		n = recv(r->out, room, len, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return error_errno(err, "reading the stream");
	return copy_receive(r->copy, (size_t)n, err) < 0 ? -1 : n;
}

static int relay_store(void *arg, int64_t bytes, struct error *err)
{
	struct tar_relay *r = arg;

	return copy_store(r->copy, bytes, err);
}

static int unpack_stream(struct tar_relay *r, struct error *err)
{
	struct archive_input from = { relay_pull, relay_store, r };
	struct archive_log to_user = { on_skipped, on_carried, NULL, r->copy,
				       is_left_out };

	return archive_extract(&from, r->root, &to_user, &r->counts, err);
}

static int sieve_stream(struct tar_relay *r, struct error *err)
{
	return sieve_run(r->sieve, relay_pull, r, err);
}

/* Second thread: runs libarchive or the filter on the socket. */
static void *relay_thread(void *arg)
{
	struct tar_relay *r = arg;

	r->rc = r->use(r, &r->err);
	shutdown(r->out, SHUT_RDWR);
	return NULL;
}

/* Writes the provider's download to the socket. */
static int relay_write(void *arg, struct str data, struct error *err)
{
	struct tar_relay *r = arg;
	const struct stop *stop = r->copy->stop;

	while (data.len) {
		struct pollfd set[2] = {
			{ .fd = r->in, .events = POLLOUT },
			{ .fd = stop_fd(stop), .events = POLLIN },
		};
		ssize_t n;

		if (poll(set, 2, stop_poll_ms(stop, -1)) < 0 && errno != EINTR)
			return error_errno(err, "forwarding the stream");
		if (stop_check(stop, err) < 0)
			return -1;
		n = send(r->in, data.ptr, data.len,
			 MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN && errno != EINTR) {
			r->ended = true; /* the second thread's error is
					    reported instead */
			return error_errno(err, "forwarding the stream");
		}
		data = str_skip(data, n > 0 ? (size_t)n : 0);
	}
	return 0;
}

/* Creates the socket pair and the second thread. */
static int relay_start(struct tar_relay *r, struct error *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return error_errno(err, "forwarding the stream");
	r->in = pair[0];
	r->out = pair[1];
	if (thread_start(&r->thread, relay_thread, r, err) == 0)
		return 0;
	close(r->in);
	close(r->out);
	return -1;
}

/* Runs both sides and reports the error that happened first. */
static int run_relay(struct tar_relay *r, const char *remote, struct error *err)
{
	struct error why = { 0 };
	int rc = relay_start(r, err);

	if (rc < 0)
		return -1;
	rc = run_remote_tar(r->copy, remote, relay_write, r, &why);
	shutdown(r->in, SHUT_WR);
	pthread_join(r->thread, NULL);
	close(r->in);
	close(r->out);
	add_counts(r->copy, &r->counts);
	if (r->rc < 0 && (rc == 0 || r->ended))
		*err = r->err;
	else if (rc < 0)
		*err = why;
	return rc < 0 ? rc : r->rc;
}

/* Unpacks below an open directory, so that paths cannot escape it. */
int copy_tree_down(struct copy *c, const char *remote, const char *local,
		   struct error *err)
{
	struct tar_relay r = { .copy = c, .use = unpack_stream };
	int rc;

	if (mkdir(local, 0777) < 0 && (errno != EEXIST || c->no_replace))
		return error_errno(err, "creating %s", local);
	r.root = open(local, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r.root < 0)
		return error_errno(err, "%s", local);
	c->directories++;
	c->disk = r.root;
	rc = archive_check(err);
	if (rc == 0)
		rc = incoming_open(&c->incoming, local, err);
	if (rc == 0)
		rc = run_relay(&r, remote, err);
	incoming_close(&c->incoming);
	close(r.root);
	return rc;
}

int copy_archive_out(struct copy *c, const char *remote, copy_write *write,
		     void *arg, struct error *err)
{
	struct tar_relay r = { .copy = c, .use = sieve_stream };
	int rc = -1;

	r.sieve = sieve_open(c, remote, write, arg, err);
	if (r.sieve)
		rc = run_relay(&r, remote, err);
	if (rc == 0)
		rc = sieve_end(r.sieve, err);
	sieve_close(r.sieve);
	return rc;
}
