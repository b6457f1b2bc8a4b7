/* history_file.c - the text of what was taken out of a history, as a file. */
/* SPDX-License-Identifier: MIT */
#include "agent/history_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/history_text.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "session/thread.h"

enum { WRITE_AT = 1 << 20 };

struct file {
	const struct mask *mask;
	int fd;
	size_t number;
	struct buf text;
	int failed; /* errno */
};

static void flush(struct file *f)
{
	struct buf masked = BUF_INIT(SIZE_MAX / 2);
	struct str rest;

	mask_text(f->mask, buf_str(&f->text), &masked);
	buf_clear(&f->text);
	for (rest = buf_str(&masked); rest.len && !f->failed;) {
		ssize_t n = write(f->fd, rest.ptr, rest.len);

		if (n >= 0)
			rest = str_skip(rest, (size_t)n);
		else if (errno != EINTR)
			f->failed = errno;
	}
	buf_release(&masked);
}

static bool add(void *arg, struct thread_message *m)
{
	struct file *f = arg;

	f->number++;
	if (!m->damaged)
		history_text_add(&m->message, f->number, 0, &f->text);
	if (f->text.len > WRITE_AT)
		flush(f);
	return !f->failed;
}

/* Opened to append; *empty when nothing is there yet. */
static int open_file(const char *path, bool *empty, struct error *err)
{
	int fd = open(path,
		      O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
		      0600);

	if (fd < 0)
		return error_errno(err, "opening %s", path);
	*empty = lseek(fd, 0, SEEK_END) == 0;
	return fd;
}

static int add_all(struct agent *a, const struct conversation *c, int fd,
		   bool empty, struct error *err)
{
	struct file f = { .mask = a->mask,
			  .fd = fd,
			  .number = empty ? 0 : c->after,
			  .text = BUF_INIT(SIZE_MAX / 2) };
	int64_t no;
	struct store *store = session_store(a->session, &no);
	int rc = thread_each_message_from(store, no, (int64_t)f.number, add, &f,
					  err);

	flush(&f);
	buf_release(&f.text);
	errno = f.failed;
	if (rc == 0 && f.failed)
		rc = error_errno(err, "writing");
	return rc;
}

int history_file_add(struct agent *a, const struct conversation *c,
		     struct error *err)
{
	char *name;
	char *path;
	bool empty = true;
	int rc;
	int fd = -1;

	if (!a->history_dir || !a->thread)
		return 0;
	name = xasprintf("%s.md", a->thread);
	path = path_join(a->history_dir, name);
	rc = path_mkdirs(a->history_dir, 0700, err);
	if (rc == 0)
		rc = fd = open_file(path, &empty, err);
	if (fd >= 0)
		rc = add_all(a, c, fd, empty, err);
	if (fd >= 0)
		close(fd);
	free(path);
	free(name);
	return rc < 0 ? -1 : 0;
}
