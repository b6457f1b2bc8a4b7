/* thread_file.c - exports a thread to a file and imports it. */
/* SPDX-License-Identifier: MIT */
/*
 * The first functions write a thread as a file. The reader parses such a file
 * as it arrives and does not trust it: sizes, depth and numbers are limited,
 * and parts that only one vendor can read are dropped. The import at the end
 * stores the thread under a new id, in one transaction that blocks other
 * writers.
 */
#include "session/thread_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/json.h"
#include "base/mask/mask.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/stop.h"
#include "base/str.h"
#include "model/message.h"
#include "session/session.h"
#include "session/sql.h"
#include "session/thread.h"

static bool is_given(const char *text)
{
	return text && text[0];
}

void thread_file_begin(const struct thread_file *head, struct buf *out)
{
	buf_addf(out,
		 "{\"format\":\"dcode-thread\",\"version\":%d,\n"
		 "\"thread\":{",
		 THREAD_FILE_VERSION);
	json_member(out, "id", str_of(head->id));
	buf_addc(out, ',');
	json_member(out, "title", str_of(head->title));
	buf_addf(out, ",\"created\":%" PRId64 "},\n", head->created);
	if (is_given(head->provider) && is_given(head->sandbox)) {
		buf_adds(out, "\"sandbox\":{");
		json_member(out, "provider", str_of(head->provider));
		buf_addc(out, ',');
		json_member(out, "id", str_of(head->sandbox));
		buf_adds(out, "},\n");
	}
	if (is_given(head->patch)) {
		buf_adds(out, "\"patch\":{");
		json_member(out, "name", str_of(head->patch));
		buf_adds(out, "},\n");
	}
	if (head->compactions && head->compactions->n) {
		buf_adds(out, "\"compactions\":");
		compaction_marks_json(head->compactions, out);
		buf_adds(out, ",\n");
	}
	buf_adds(out, "\"messages\":[");
}

void thread_file_message(const struct message *m, int64_t created, bool first,
			 struct buf *out)
{
	struct buf json = BUF_INIT(SIZE_MAX / 4);

	message_to_json(m, &json);
	buf_addf(out, "%s\n{\"created\":%" PRId64 ",", first ? "" : ",",
		 created);
	buf_addstr(out, str_skip(buf_str(&json), 1));
	buf_release(&json);
}

void thread_file_patch(struct str chunk, bool first, struct buf *out)
{
	buf_adds(out, first ? "\n],\n\"patch_base64\":[\n\"" : ",\n\"");
	json_base64(out, chunk);
	buf_addc(out, '"');
}

void thread_file_end(struct buf *out)
{
	buf_adds(out, "\n]}\n");
}

enum {
	FILE_MAX = 1 << 30,     /* bytes */
	MESSAGE_MAX = 32 << 20, /* bytes of one message, as JSON */
	OTHER_MAX = 128 << 10,  /* bytes of any other value */
	MESSAGES_MAX = 200000,
	PATCH_MAX = 256 << 20, /* bytes */
	NAME_LEN_MAX = 128,    /* bytes: name of a tool, provider or sandbox */
	CALL_ID_MAX = 512,     /* bytes */
	DAY_MS = 86400000,
};

enum { FORMAT, VERSION, THREAD, SANDBOX, PATCH, MESSAGES, CHUNKS };

static const struct json_split_key keys[] = {
	[FORMAT] = { "format", .max = OTHER_MAX },
	[VERSION] = { "version", .max = OTHER_MAX },
	[THREAD] = { "thread", .max = OTHER_MAX },
	[SANDBOX] = { "sandbox", .max = OTHER_MAX },
	[PATCH] = { "patch", .max = OTHER_MAX },
	[MESSAGES] = { "messages", true, MESSAGE_MAX },
	[CHUNKS] = { "patch_base64", true, OTHER_MAX },
	{ 0 },
};

struct thread_reader {
	struct thread_reader_sink sink;
	struct json_split *json;
	int64_t bytes, messages, patch_bytes;
	int64_t line; /* line of the file in which the current value begins */
	bool format_seen, version_seen, patch_seen;
	char *id, *title, *provider, *sandbox, *patch; /* owned, or NULL */
	int64_t created;
};

static int __attribute__((format(printf, 3, 4)))
fail(const struct thread_reader *r, struct error *err, const char *fmt, ...)
{
	char why[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	return error_set(err, ERR_USAGE, "line %" PRId64 ": %s", r->line, why);
}

static int read_format(struct thread_reader *r, const cJSON *tree,
		       struct error *err)
{
	r->format_seen = cJSON_IsString(tree) &&
			 !strcmp(tree->valuestring, "dcode-thread");
	if (r->format_seen)
		return 0;
	return fail(r, err, "\"format\" is not \"dcode-thread\"");
}

static int read_version(struct thread_reader *r, const cJSON *tree,
			struct error *err)
{
	r->version_seen = cJSON_IsNumber(tree) &&
			  tree->valuedouble == THREAD_FILE_VERSION;
	if (r->version_seen)
		return 0;
	fail(r, err, "unknown format version");
	return error_hint(
		err,
		"This dcode reads version %d; a newer dcode may read more.",
		THREAD_FILE_VERSION);
}

static void set_text(char **to, const cJSON *object, const char *key)
{
	free(*to);
	*to = xstrdup(json_string(object, key, NULL));
}

static int64_t sanitize_time(int64_t ms)
{
	return ms > 0 && ms < clock_unix_ms() + DAY_MS ? ms : 0;
}

/* True for a valid name of a provider or sandbox: it becomes part of
 * requests. */
static bool is_name(const char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (!len || len > NAME_LEN_MAX || strchr("-.", text[0]))
		return false;
	return strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvw"
			    "xyz0123456789._:-") == len;
}

static int read_sandbox(struct thread_reader *r, const cJSON *tree,
			struct error *err)
{
	set_text(&r->provider, tree, "provider");
	set_text(&r->sandbox, tree, "id");
	if (is_name(r->provider) && is_name(r->sandbox))
		return 0;
	return fail(r, err, "\"sandbox\" is not a provider's name and an id");
}

/* why: completes "message N ...". */
static int fail_message(const struct thread_reader *r, struct error *err,
			const char *why)
{
	return fail(r, err, "message %" PRId64 " %s", r->messages + 1, why);
}

static bool fits_role(enum role role, enum part_kind kind)
{
	switch (kind) {
	case PART_TEXT:
		return role != ROLE_TOOL;
	case PART_THINKING:
	case PART_TOOL_CALL:
		return role == ROLE_ASSISTANT;
	case PART_TOOL_RESULT:
		return role == ROLE_TOOL;
	case PART_MEDIA:
		return role != ROLE_ASSISTANT;
	}
	return false;
}

static int check_part(const struct thread_reader *r, enum role role,
		      const struct part *p, struct error *err)
{
	size_t id = str_of(p->id).len;
	size_t name = str_of(p->name).len;

	if (!fits_role(role, p->kind))
		return fail_message(r, err,
				    "has a part that its role does not allow");
	if (p->kind != PART_TOOL_CALL && p->kind != PART_TOOL_RESULT)
		return 0;
	if (!id || id > CALL_ID_MAX)
		return fail_message(
			r, err,
			"has a tool call whose id is missing or too long");
	if ((p->kind == PART_TOOL_CALL && !name) || name > NAME_LEN_MAX)
		return fail_message(
			r, err,
			"has a tool call whose name is missing or too long");
	return 0;
}

static char *copy_text(const char *text)
{
	return xstrdup(text ? text : "");
}

/* Takes the fields that a part of this kind has. Everything else is dropped,
 * above all data that only a vendor can read: it may be tied to an account, and
 * nobody can check its content. */
static void copy_part(struct message *to, struct part *from)
{
	struct part *p;
	bool call = from->kind == PART_TOOL_CALL;
	bool result = from->kind == PART_TOOL_RESULT;

	/* It was checked when its bytes were decoded. */
	if (from->kind == PART_MEDIA) {
		message_move(to, from);
		return;
	}
	p = message_add(to, from->kind);
	if (!call)
		p->text = copy_text(from->text);
	if (call || result) {
		p->id = copy_text(from->id);
		p->name = copy_text(from->name);
	}
	p->failed = result && from->failed;
	if (!call)
		return;
	p->args = xstrdup(from->args ? from->args : "{}");
	p->bad_args = !json_split_is_object(str_of(p->args));
}

/* Checks a message, keeps only the fields that a file may have, and passes it
 * to the sink. */
static int read_message(struct thread_reader *r, struct str text,
			const cJSON *tree, struct error *err)
{
	struct message raw;
	struct message clean = { 0 };
	struct error ignored = { 0 };
	int rc = 0;

	if (r->messages >= MESSAGES_MAX)
		return fail_message(r, err,
				    "is beyond the allowed number of messages");
	if (message_from_json(&raw, text, &ignored) < 0)
		return fail_message(
			r, err,
			"has an unknown role or an unknown kind of part");
	clean = (struct message){ .role = raw.role, .refused = raw.refused };
	for (size_t i = 0; i < raw.n && rc == 0; i++) {
		rc = check_part(r, raw.role, &raw.parts[i], err);
		copy_part(&clean, &raw.parts[i]);
	}
	message_release(&raw);
	if (rc == 0 && (clean.n || clean.refused) && r->sink.message)
		rc = r->sink.message(
			r->sink.arg, &clean,
			sanitize_time(json_int(tree, "created", 0)), err);
	message_release(&clean);
	r->messages++;
	return rc;
}

static int read_chunk(struct thread_reader *r, const cJSON *tree,
		      struct error *err)
{
	struct buf bytes = BUF_INIT(OTHER_MAX);
	int rc = 0;

	if (!cJSON_IsString(tree) ||
	    !json_decode_base64(&bytes, str_of(tree->valuestring)))
		rc = fail(r, err, "the patch is not base64");
	r->patch_bytes += (int64_t)bytes.len;
	r->patch_seen = true;
	if (rc == 0 && r->patch_bytes > PATCH_MAX)
		rc = fail(r, err, "the patch is larger than %d MiB",
			  PATCH_MAX >> 20);
	if (rc == 0 && r->sink.patch)
		rc = r->sink.patch(r->sink.arg, buf_str(&bytes), err);
	buf_release(&bytes);
	return rc;
}

/* Called for each value of the file as soon as it is complete. */
static int read_value(void *arg, const struct json_split_key *key,
		      struct str text, const cJSON *tree, int64_t line,
		      struct error *err)
{
	struct thread_reader *r = arg;

	r->line = line;
	switch (key - keys) {
	case FORMAT:
		return read_format(r, tree, err);
	case VERSION:
		return read_version(r, tree, err);
	case THREAD:
		set_text(&r->id, tree, "id");
		set_text(&r->title, tree, "title");
		r->created = sanitize_time(json_int(tree, "created", 0));
		return 0;
	case SANDBOX:
		return read_sandbox(r, tree, err);
	case PATCH:
		set_text(&r->patch, tree, "name");
		return 0;
	case MESSAGES:
		return read_message(r, text, tree, err);
	default:
		return read_chunk(r, tree, err);
	}
}

struct thread_reader *thread_reader_new(const struct thread_reader_sink *sink)
{
	struct thread_reader *r = xcalloc(1, sizeof(*r));
	const struct json_split_sink values = { read_value, r };

	r->sink = *sink;
	r->json = json_split_new(keys, &values);
	return r;
}

void thread_reader_free(struct thread_reader *r)
{
	if (!r)
		return;
	json_split_free(r->json);
	free(r->id);
	free(r->title);
	free(r->provider);
	free(r->sandbox);
	free(r->patch);
	free(r);
}

int thread_reader_feed(struct thread_reader *r, struct str bytes,
		       struct error *err)
{
	r->bytes += (int64_t)bytes.len;
	if (r->bytes > FILE_MAX)
		return error_set(err, ERR_LIMIT,
				 "the file is larger than %d MiB",
				 FILE_MAX >> 20);
	return json_split_feed(r->json, bytes, err);
}

int thread_reader_end(struct thread_reader *r, struct thread_file *head,
		      struct error *err)
{
	const char *missing = !r->format_seen    ? "format"
			      : !r->version_seen ? "version"
			      : !r->messages     ? "messages"
						 : NULL;

	if (json_split_end(r->json, err) < 0)
		return -1;
	if (missing)
		return error_set(err, ERR_USAGE, "\"%s\" is missing or empty",
				 missing);
	*head = (struct thread_file){
		.id = r->id,
		.title = r->title,
		.provider = r->provider,
		.sandbox = r->sandbox,
		.patch = r->patch_seen ? (r->patch ? r->patch : "") : NULL,
		.created = r->created,
	};
	return 0;
}

enum { BODY_MAX = 64 << 20 }; /* bytes of one stored message */

/* Returns the id if it is 36 characters of hex digits and dashes, else "". */
static const char *clean_origin(const char *id)
{
	if (!id || strlen(id) != 36 ||
	    strspn(id, "0123456789abcdef-") != strlen(id))
		return "";
	return id;
}

/* Returns a date that is not in the future: otherwise the thread would stay the
 * latest until then. */
static int64_t limit_date(const struct thread_import *in, int64_t created)
{
	return created > 0 && created < in->now ? created : in->now;
}

static int add_thread(struct thread_import *in, const struct thread_file *head,
		      const char *cwd, struct error *err)
{
	sqlite3_stmt *st = store_sql(in->store, SQL_THREAD_IMPORT, err);
	char *title;
	int rc;

	if (!st)
		return -1;
	title = thread_title(head->title ? head->title : "");
	store_bind(st, 1, in->id);
	sqlite3_bind_int64(st, 2, limit_date(in, head->created));
	sqlite3_bind_int64(st, 3, in->now);
	store_bind(st, 4, head->sandbox);
	store_bind(st, 5, cwd);
	store_bind(st, 6, head->provider);
	store_bind(st, 7, title);
	store_bind(st, 8, clean_origin(head->id));
	rc = store_run(in->store, st, err);
	free(title);
	in->no = sqlite3_last_insert_rowid(in->store->db);
	return rc;
}

int thread_import_begin(struct thread_import *in, struct store *s,
			const struct thread_file *head, const char *cwd,
			size_t bytes, struct error *err)
{
	*in = (struct thread_import){ .store = s, .now = clock_unix_ms() };
	ids_uuid7(in->id);
	/* Call this before the transaction begins: making room uses its own. */
	if (store_check_capacity(s, bytes, err) < 0 ||
	    store_run_plain(s, SQL_BEGIN, err) < 0)
		return -1;
	if (add_thread(in, head, cwd, err) == 0)
		return 0;
	store_rollback(s);
	return -1;
}

int thread_import_add(struct thread_import *in, const struct message *m,
		      int64_t created, struct error *err)
{
	sqlite3_stmt *st = store_sql(in->store, SQL_MESSAGE_ADD, err);
	struct buf body = BUF_INIT(BODY_MAX);
	int rc;

	if (!st)
		return -1;
	message_to_json(m, &body);
	rc = buf_check(&body, "a message", err);
	if (rc == 0) {
		sqlite3_bind_int64(st, 1, in->no);
		sqlite3_bind_int64(st, 2, limit_date(in, created));
		for (int usage = 3; usage <= 6; usage++)
			sqlite3_bind_int64(st, usage, 0);
		sqlite3_bind_text64(st, 7, body.ptr, body.len, SQLITE_STATIC,
				    SQLITE_UTF8);
		rc = store_run(in->store, st, err);
	}
	buf_release(&body);
	return rc;
}

int thread_import_end(struct thread_import *in, bool whole, struct error *err)
{
	if (whole && store_run_plain(in->store, SQL_COMMIT, err) == 0)
		return 0;
	store_rollback(in->store);
	return whole ? -1 : 0;
}

/* Writes a thread as lines of JSON, for hooks to read. */

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
