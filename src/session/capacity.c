/* capacity.c - how large the threads may become. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "session/session_impl.h"
#include "session/thread.h"

enum {
	MIB = 1 << 20,
	WARN_PERCENT = 80,
	/* Other processes store, too, and a row takes more than its text. */
	SHARERS = 16,
	PRUNED_PERCENT = 90, /* of the cap, once old threads were deleted */
};

void store_set_capacity(struct store *s, int64_t max_mib, bool prune)
{
	s->capacity = max_mib * MIB;
	s->unread_room = 0;
	s->prunes = prune;
}

/* Bytes in use; what deleted rows have left is room for new ones. */
static int read_size(struct store *s, int64_t *size, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_SIZE, err);
	int rc;

	if (!st)
		return -1;
	rc = sqlite3_step(st);
	*size = sqlite3_column_int64(st, 0);
	return store_finish(s, st, rc, err);
}

static int64_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_size : 0;
}

/* At least as much as read_size() would say, without a statement. */
static int64_t file_size(const struct store *s)
{
	char *wal = xasprintf("%s-wal", s->path);
	int64_t size = size_of(s->path) + size_of(wal);

	free(wal);
	return size;
}

static bool count(void *arg, struct thread *t)
{
	(void)t;
	++*(int64_t *)arg;
	return true;
}

static void count_pruned(void *arg, const struct thread *t)
{
	(void)t;
	++*(int64_t *)arg;
}

/* Deletes the oldest tenth until there is room for more bytes, or nothing more
 * can go. */
static int make_room(struct store *s, int64_t more, int64_t *size,
		     int64_t *deleted, struct error *err)
{
	const struct thread_filter all = { 0 };

	while (*size + more > s->capacity ||
	       *size > s->capacity / 100 * PRUNED_PERCENT) {
		struct thread_prune prune = { 0 };
		int64_t before = *deleted;
		int64_t n = 0;

		if (thread_each(s, &all, count, &n, err) < 0)
			return -1;
		prune.keep = n - 1 - n / 10;
		if (prune.keep < 0 ||
		    thread_prune(s, &prune, count_pruned, deleted, err) < 0)
			return prune.keep < 0 ? 0 : -1;
		if (*deleted == before)
			return 0;
		if (read_size(s, size, err) < 0)
			return -1;
	}
	return 0;
}

/* Rounded up: a small cap is not "0 MiB" long before it is reached. */
static int64_t in_mib(int64_t bytes)
{
	return (bytes + MIB - 1) / MIB;
}

/* said: whether this has been said. line is freed. */
static void warn_once(struct store *s, bool *said, char *line)
{
	if (s->warn && !*said)
		s->warn(line);
	*said = true;
	free(line);
}

int store_check_capacity(struct store *s, size_t more, struct error *err)
{
	int64_t deleted = 0;
	int64_t size;

	if (!s->capacity)
		return 0;
	/* Far below the cap the size is not read for each message, which costs
	 * as much as storing it. */
	if (s->unread_room <= 0)
		s->unread_room =
			(s->capacity / 100 * WARN_PERCENT - file_size(s)) /
			SHARERS;
	if ((int64_t)more <= s->unread_room) {
		s->unread_room -= (int64_t)more;
		return 0;
	}
	if (read_size(s, &size, err) < 0)
		return -1;
	s->unread_room = (s->capacity / 100 * WARN_PERCENT - size) / SHARERS;
	if (size + (int64_t)more > s->capacity && s->prunes) {
		if (make_room(s, (int64_t)more, &size, &deleted, err) < 0)
			return -1;
		if (deleted)
			warn_once(s, &s->warned_of_pruning,
				  xasprintf("the oldest %" PRId64
					    " threads were deleted: [threads]"
					    " max_size_mb = %" PRId64,
					    deleted, s->capacity / MIB));
	}
	if (size + (int64_t)more > s->capacity)
		return error_set(
			err, ERR_LIMIT,
			"the threads take %" PRId64
			" MiB, and [threads] max_size_mb = %" PRId64
			"; `dcode threads prune --older-than 90d` makes room",
			in_mib(size), s->capacity / MIB);
	if (size > s->capacity / 100 * WARN_PERCENT)
		warn_once(
			s, &s->warned_of_size,
			xasprintf("the threads take %" PRId64 " of %" PRId64
				  " MiB ([threads] max_size_mb); `dcode "
				  "threads prune --older-than 90d` makes room",
				  in_mib(size), s->capacity / MIB));
	return 0;
}

void store_compact(struct store *s)
{
	struct error ignored = { 0 };

	if (store_ready(s, &ignored) == 0)
		(void)sqlite3_exec(s->db,
				   "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)",
				   NULL, NULL, NULL);
}
