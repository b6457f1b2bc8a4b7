/* thread_transcript.c - writes a thread as lines of JSON, for hooks to read. */
/* SPDX-License-Identifier: MIT */
#include "session/thread_transcript.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "model/message.h"
#include "session/thread.h"

enum { WRITE_AT = 1 << 20 };

struct thread_transcript {
	struct store *store; /* owned */
	const struct mask *mask;
	char *dir;        /* owned */
	char *thread;     /* the thread in the file; owned, or NULL */
	int64_t messages; /* number of messages in the file */
	int64_t sequence; /* sequence number of the next line */
	/* Only while writing: */
	int fd;
	struct buf text;
	bool failed;
};

struct thread_transcript *thread_transcript_new(struct store *store,
						const struct mask *mask,
						const char *dir)
{
	struct thread_transcript *t = xcalloc(1, sizeof(*t));

	*t = (struct thread_transcript){ .store = store,
					 .mask = mask,
					 .dir = xstrdup(dir) };
	return t;
}

void thread_transcript_free(struct thread_transcript *t)
{
	if (!t)
		return;
	store_close(t->store);
	free(t->dir);
	free(t->thread);
	free(t);
}

static void flush_text(struct thread_transcript *t)
{
	struct str rest = buf_str(&t->text);

	while (rest.len && !t->failed) {
		ssize_t n = write(t->fd, rest.ptr, rest.len);

		if (n >= 0)
			rest = str_skip(rest, (size_t)n);
		else if (errno != EINTR)
			t->failed = true;
	}
	buf_clear(&t->text);
}

static void begin_line(struct thread_transcript *t, const char *role,
		       int64_t created)
{
	time_t seconds = (time_t)(created / 1000);
	char when[32];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	buf_addf(&t->text,
		 "{\"schema_version\":1,\"sequence\":%" PRId64
		 ",\"record_id\":\"%s:%" PRId64 "\",\"timestamp\":\"%s\",",
		 t->sequence, role, t->sequence, when);
	json_member(&t->text, "thread_id", str_of(t->thread));
	buf_addf(&t->text, ",\"role\":\"%s\",", role);
	t->sequence++;
}

static void add_result(struct thread_transcript *t, const struct part *p,
		       int64_t created)
{
	begin_line(t, "tool", created);
	json_member(&t->text, "content", str_of(p->text));
	buf_addc(&t->text, ',');
	json_member(&t->text, "name", str_of(p->name));
	buf_addc(&t->text, ',');
	json_member(&t->text, "tool_call_id", str_of(p->id));
	buf_adds(&t->text, "}\n");
}

/* Appends arguments as the model wrote them, which may be over several lines. A
 * record is one line, so a newline becomes \n in a string, else a space. */
static void add_args(struct thread_transcript *t, const char *args)
{
	bool quoted = false;

	for (; *args; args++) {
		if (*args == '\n' || *args == '\r') {
			buf_adds(&t->text, quoted ? "\\n" : " ");
			continue;
		}
		buf_addc(&t->text, *args);
		if (*args == '"')
			quoted = !quoted;
		else if (*args == '\\' && args[1])
			buf_addc(&t->text, *++args);
	}
}

static void add_block(struct thread_transcript *t, const struct part *p)
{
	if (p->kind == PART_TOOL_CALL) {
		buf_adds(&t->text, "{\"type\":\"tool_use\",");
		json_member(&t->text, "id", str_of(p->id));
		buf_addc(&t->text, ',');
		json_member(&t->text, "name", str_of(p->name));
		buf_adds(&t->text, ",\"input\":");
		add_args(t, p->bad_args || !p->args ? "{}" : p->args);
		buf_addc(&t->text, '}');
		return;
	}
	buf_adds(&t->text, "{\"type\":\"text\",");
	json_member(&t->text, "text", str_of(p->text));
	buf_addc(&t->text, '}');
}

/* Appends an answer without its thinking, which hooks do not get. */
static void add_said(struct thread_transcript *t, const struct message *m,
		     int64_t created)
{
	bool calls = false;
	bool first = true;
	char *text;

	for (size_t i = 0; i < m->n; i++)
		calls |= m->parts[i].kind == PART_TOOL_CALL;
	begin_line(t, m->role == ROLE_USER ? "user" : "assistant", created);
	if (!calls) {
		text = message_text(m);
		json_member(&t->text, "content", str_of(text));
		buf_adds(&t->text, "}\n");
		free(text);
		return;
	}
	buf_adds(&t->text, "\"content\":[");
	for (size_t i = 0; i < m->n; i++) {
		if (m->parts[i].kind == PART_THINKING)
			continue;
		buf_adds(&t->text, first ? "" : ",");
		add_block(t, &m->parts[i]);
		first = false;
	}
	buf_adds(&t->text, "]}\n");
}

static bool add_message(void *arg, struct thread_message *m)
{
	struct thread_transcript *t = arg;
	const struct message *said = &m->message;

	t->messages++;
	if (m->damaged)
		return true;
	if (said->role != ROLE_TOOL)
		add_said(t, said, m->created);
	for (size_t i = 0; said->role == ROLE_TOOL && i < said->n; i++)
		if (said->parts[i].kind == PART_TOOL_RESULT)
			add_result(t, &said->parts[i], m->created);
	if (t->text.len > WRITE_AT)
		flush_text(t);
	return !t->failed;
}

static int add_new(struct thread_transcript *t, const char *path,
		   const struct thread *thread, struct error *err)
{
	const struct thread_export of = { .no = thread->no,
					  .skip = t->messages,
					  .mask = t->mask,
					  .each = add_message,
					  .arg = t };
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_APPEND;
	int rc = 0;

	if (!t->messages)
		flags |= O_TRUNC;
	t->fd = open(path, flags, 0600);
	if (t->fd < 0)
		return error_errno(err, "opening %s", path);
	t->text = BUF_INIT(SIZE_MAX / 2);
	t->failed = false;
	if (thread->no)
		rc = thread_export(t->store, &of, err);
	flush_text(t);
	buf_release(&t->text);
	close(t->fd);
	return t->failed ? -1 : rc;
}

/* Starts the file from the first message again if it contains another thread,
 * or if messages of the thread were deleted. */
static void follow_thread(struct thread_transcript *t, const char *id,
			  const struct thread *thread)
{
	if (t->thread && !strcmp(t->thread, id) &&
	    thread->messages >= t->messages)
		return;
	free(t->thread);
	t->thread = xstrdup(id);
	t->messages = t->sequence = 0;
}

char *thread_transcript_write(struct thread_transcript *t, const char *thread)
{
	struct thread found = { 0 };
	struct error err = { 0 };
	char *name = xasprintf("%s.jsonl", thread);
	char *path = path_join(t->dir, name);
	int rc = path_mkdirs(t->dir, 0700, &err);

	/* A thread is not stored before its first prompt. */
	if (rc == 0 && thread_find(t->store, thread, NULL, &found, &err) < 0 &&
	    err.code != ERR_NOT_FOUND)
		rc = -1;
	if (rc == 0) {
		follow_thread(t, thread, &found);
		rc = add_new(t, path, &found, &err);
	}
	if (rc < 0) {
		free(t->thread);
		t->thread = NULL;
		free(path);
		path = NULL;
	}
	thread_release(&found);
	free(name);
	return path;
}
