/* user_index.c - replaces the index of the user's repository, as git does. */
/* SPDX-License-Identifier: MIT */
#include "tree/user_index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "tree/treefile.h"

enum { LOCK_MAX = 200 };

static void lock_text(const char *token, char text[LOCK_MAX])
{
	snprintf(text, LOCK_MAX, "locked by dcode apply %s\n", token);
}

static int write_lock(const char *path, const char *text, struct error *err)
{
	int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		     0600);
	int rc = 0;

	if (fd < 0 || io_write_all(fd, text, strlen(text)) < 0)
		rc = error_errno(err, "writing %s", path);
	if (fd >= 0)
		close(fd);
	return rc;
}

int user_index_lock(const char *index, const char *token, struct error *err)
{
	char text[LOCK_MAX];
	char *lock = xasprintf("%s.lock", index);
	char *temporary = xasprintf("%s.dcode-%s", index, token);
	int rc;

	lock_text(token, text);
	rc = write_lock(temporary, text, err);
	/* A link appears with all that it holds, or not at all. */
	if (rc == 0 && link(temporary, lock) < 0) {
		bool busy = errno == EEXIST;

		rc = error_errno(err, "creating %s", lock);
		if (busy)
			error_set(err, ERR_BUSY,
				  "another git is using the index: %s exists",
				  lock);
		error_hint(err, "Try again when it has finished, or remove the "
				"file if no git is running.");
	}
	unlink(temporary);
	free(lock);
	free(temporary);
	return rc;
}

void user_index_unlock(const char *index, const char *token)
{
	char ours[LOCK_MAX];
	char *lock = xasprintf("%s.lock", index);
	char *temporary = xasprintf("%s.dcode-%s", index, token);
	char *copy = xasprintf("%s.dcode", index);
	struct buf text = BUF_INIT(LOCK_MAX);
	struct error ignored = { 0 };

	lock_text(token, ours);
	unlink(temporary);
	if (path_read_regular(lock, &text, &ignored) == 0 &&
	    str_is(buf_str(&text), ours)) {
		unlink(copy);
		unlink(lock);
	}
	buf_release(&text);
	free(lock);
	free(temporary);
	free(copy);
}

/* The bytes reach the disk under another name before they get theirs. */
int user_index_copy(const char *from, const char *to, struct error *err)
{
	unsigned char hash[TREEFILE_HASH];
	char *temporary = xasprintf("%s.dcode", to);
	int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int out = -1;
	int rc = 0;

	if (in < 0 && errno == ENOENT) {
		if (unlink(to) < 0 && errno != ENOENT)
			rc = error_errno(err, "removing %s", to);
		goto done;
	}
	(void)unlink(temporary);
	if (in >= 0)
		out = open(temporary,
			   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			   0644);
	if (in < 0 || out < 0 || treefile_copy(in, out, hash) < 0 ||
	    io_fsync(out) < 0 || rename(temporary, to) < 0)
		rc = error_errno(err, "writing %s", to);
done:
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	free(temporary);
	return rc;
}

static bool hash_file(const char *path, unsigned char hash[TREEFILE_HASH])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	bool there = fd >= 0 && treefile_copy(fd, -1, hash) == 0;

	if (fd >= 0)
		close(fd);
	return there;
}

bool user_index_same(const char *a, const char *b)
{
	unsigned char first[TREEFILE_HASH];
	unsigned char second[TREEFILE_HASH];
	bool there = hash_file(a, first);

	if (hash_file(b, second) != there)
		return false;
	return !there || !memcmp(first, second, TREEFILE_HASH);
}
