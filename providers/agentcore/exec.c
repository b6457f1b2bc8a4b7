/* exec.c - commands in an AgentCore session, and files in and out. */
/* SPDX-License-Identifier: MIT */
/* Three parts: commands, which use the supervisor (run_script); downloads with
 * the tool readFiles; and uploads with writeFiles, many files in one request.
 * The file tools resolve paths against the interpreter's directory, which is
 * not documented, so the first command also prints it. The shell transfers
 * files outside of that directory and files that a tool refused, since the
 * shell reports exactly what is wrong with a path. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/ids.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "providers/agentcore/agentcore.h"
#include "providers/kit/files.h"
#include "sandbox/quote.h"
#include "sandbox/supervise/supervise.h"
#include "sandbox/transfer.h"

enum {
	/* Constants for commands, which run as supervised jobs: */
	COMMAND_MAX = 120000, /* Linux limits one argument to 128 KiB */
	ANSWER_MAX = 4 << 20,
	LONGEST_MS = 30000,
	/* only a request that may wait longer runs as a task */
	BRIEF_MS = 10000,
	EXEC_SLACK_MS = 8000,
	CWD_MAX = 4096,
	PWD_MS = 30000,
	/* Constants for tasks: */
	TASK_ID_MAX = 128,
	TASK_CALL_MS = 30000,
	/* first pause between two polls; each is 1.5 times longer */
	TASK_FIRST_MS = 250,
	TASK_LAST_MS = 2000,
	/* Constants for downloads: */
	READ_FILES = 32, /* most files in one request */
	PATHS_MAX = 256 << 10,
	PATH_BYTES = 16 << 10,
	READ_MS = 300000,
	/* Constants for uploads: */
	PIECE = 4 << 20,  /* bytes of one file in one request */
	BATCH = 8 << 20,  /* bytes of all files in one request */
	WRITE_FILES = 64, /* most files in one request */
	BODY_MAX = 16 << 20,
	LINE_BYTES = 64 << 10,
	WRITE_MS = 300000,
	APPEND_MS = 120000,
};

/* Returns the interpreter's directory, or NULL if it is not known yet. Valid
 * until sb is released. */
static const char *known_cwd(struct sandbox *sb)
{
	struct agentcore_box *b = sb->priv;
	const char *cwd;

	pthread_mutex_lock(&b->lock);
	cwd = b->cwd;
	pthread_mutex_unlock(&b->lock);
	return cwd;
}

/* Sets the directory from the first line of the output of "pwd". False if that
 * line is not a path. */
static bool parse_cwd(struct sandbox *sb, struct str text)
{
	struct agentcore_box *b = sb->priv;
	struct str dir = { text.ptr, str_find(text, '\n') };

	if (!str_starts(dir, "/") || dir.len == text.len || dir.len > CWD_MAX)
		return false;
	pthread_mutex_lock(&b->lock);
	if (!b->cwd)
		b->cwd = xstrndup(dir.ptr, dir.len);
	pthread_mutex_unlock(&b->lock);
	return true;
}

/* Runs "pwd" to get the interpreter's directory, unless it is known. */
static int find_cwd(struct sandbox *sb, const struct stop *stop,
		    struct error *err)
{
	struct buf out = BUF_INIT(CWD_MAX);
	int rc;

	if (known_cwd(sb))
		return 0;
	rc = agentcore_run(sb, STR("pwd"), PWD_MS, &out, stop, err);
	if (rc == 0 && !parse_cwd(sb, buf_str(&out)))
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no directory");
	buf_release(&out);
	return rc;
}

/* a command as a task: one call starts it, others poll it */
struct agentcore_task {
	char id[TASK_ID_MAX + 1];
	char status[32];
	/* receives the output; NULL in the call that starts the task */
	struct buf *out;
};

static int on_task(void *arg, const cJSON *result, struct str raw,
		   struct error *err)
{
	struct agentcore_task *t = arg;
	const cJSON *content = json_get(result, "structuredContent");

	(void)raw;
	if (!t->id[0])
		snprintf(t->id, sizeof(t->id), "%s",
			 json_string(content, "taskId", ""));
	snprintf(t->status, sizeof(t->status), "%s",
		 json_string(content, "taskStatus", ""));
	return t->out ? agentcore_add_output(result, t->out, err) : 0;
}

/* Starts a task with a command (t->out is NULL), or polls it by its id. */
static int call_task(struct sandbox *sb, struct agentcore_task *t,
		     struct str text, const struct stop *stop,
		     struct error *err)
{
	const struct agentcore_invoke call = {
		.tool = t->out ? "getTask" : "startCommandExecution",
		.key = t->out ? "taskId" : "command",
		.text = text,
		.what = "waiting for the command",
		.timeout_ms = TASK_CALL_MS,
		.result = on_task,
		.arg = t
	};

	t->status[0] = '\0';
	return agentcore_invoke(sb, &call, stop, err);
}

/* Makes all later commands use executeCommand instead of tasks. Returns -1 with
 * ERR_USAGE. */
static int disable_tasks(struct sandbox *sb, struct error *err)
{
	struct agentcore_box *b = sb->priv;

	atomic_store(&b->no_tasks, true);
	return error_set(err, ERR_USAGE, "this provider has no tasks");
}

static bool is_running(const struct agentcore_task *t)
{
	return strcmp(t->status, "submitted") == 0 ||
	       strcmp(t->status, "working") == 0;
}

/* Like agentcore_run(), but starts a task and polls it, so that no request
 * stays open for long. ERR_USAGE if the service rejects tasks. */
static int run_task(struct sandbox *sb, struct str command, struct buf *out,
		    const struct stop *stop, struct error *err)
{
	struct agentcore_task t = { .out = NULL };
	struct error why = { 0 };
	int64_t pause = TASK_FIRST_MS;
	int rc = call_task(sb, &t, command, stop, &why);

	if (rc < 0 ? why.code == ERR_REMOTE : !t.id[0])
		return disable_tasks(sb, err);
	if (rc < 0) {
		*err = why;
		return -1;
	}
	t.out = out;
	do {
		buf_clear(out);
		if (stop_sleep(stop, pause, err) < 0 ||
		    call_task(sb, &t, str_of(t.id), stop, err) < 0)
			return -1;
		pause = pause * 3 / 2 < TASK_LAST_MS ? pause * 3 / 2
						     : TASK_LAST_MS;
	} while (is_running(&t));
	if (strcmp(t.status, "completed") != 0 || !out->len)
		return disable_tasks(sb, err);
	return 0;
}

/* Runs a command. The first executeCommand also prints the interpreter's
 * directory, which the file tools need. The supervisor ignores output around
 * its answer. */
static int run_with_pwd(struct sandbox *sb, struct str command, int64_t wait_ms,
			struct buf *out, const struct stop *stop,
			struct error *err)
{
	struct buf both = BUF_INIT(COMMAND_MAX + 16);
	bool known = known_cwd(sb);
	int rc;

	buf_adds(&both, known ? "" : "pwd\n");
	buf_addstr(&both, command);
	rc = agentcore_run(sb, buf_str(&both), wait_ms + EXEC_SLACK_MS, out,
			   stop, err);
	if (rc == 0 && !known)
		(void)parse_cwd(sb, buf_str(out));
	buf_release(&both);
	return rc;
}

struct execution {
	struct sandbox *sb;
	/* the last request waited until its limit without output */
	bool silent;
};

/* Implements supervisor.call. The first request is executeCommand, so that a
 * short command needs only one round trip. If a request waits until its limit
 * without output, the next one runs as a task, which is polled, so that no
 * request stays open for long. */
static int run_script(void *arg, struct str command, int64_t wait_ms,
		      struct buf *out, const struct stop *stop,
		      struct error *err)
{
	struct execution *x = arg;
	struct agentcore_box *b = x->sb->priv;
	struct error why = { 0 };
	bool silent = x->silent;
	int64_t began = clock_ms();
	int rc;

	x->silent = false;
	if (silent && wait_ms > BRIEF_MS && !atomic_load(&b->no_tasks)) {
		rc = run_task(x->sb, command, out, stop, &why);
		if (rc == 0 || why.code != ERR_USAGE) {
			if (rc < 0)
				*err = why;
			x->silent = rc == 0;
			return rc;
		}
	}
	rc = run_with_pwd(x->sb, command, wait_ms, out, stop, err);
	x->silent = rc == 0 && clock_ms() - began >= wait_ms;
	return rc;
}

int agentcore_execute(struct sandbox *sb, const struct exec_request *req,
		      struct exec_result *res, const struct stop *stop,
		      struct error *err)
{
	struct execution x = { .sb = sb };
	const struct supervisor s = { .call = run_script,
				      .arg = &x,
				      .arg_size = sizeof(x),
				      .max_command = COMMAND_MAX,
				      .max_answer = ANSWER_MAX,
				      .longest_ms = LONGEST_MS };

	return supervise_execute(sb, req, res, &s, stop, err);
}

/* True for a path without ".", "..", empty parts and control characters. */
static bool is_plain(struct str path)
{
	struct str part;

	for (size_t i = 0; i < path.len; i++)
		if ((unsigned char)path.ptr[i] < ' ' || path.ptr[i] == 0x7F ||
		    path.ptr[i] == '\\')
			return false;
	if (!path.len || str_ends(path, "/") || !str_is_utf8(path))
		return false;
	while (str_split(&path, '/', &part))
		if (!part.len || str_is(part, ".") || str_is(part, ".."))
			return false;
	return true;
}

/* Returns the path relative to the interpreter's directory (owned by the
 * caller), or NULL if the file tools cannot reach it. */
static char *relative_path(struct sandbox *sb, const char *path)
{
	const char *cwd = known_cwd(sb);
	struct str rest = str_of(path);

	if (!cwd || !str_starts(rest, cwd))
		return NULL;
	rest = str_skip(rest, strlen(cwd));
	if (strcmp(cwd, "/") != 0) {
		if (!str_starts(rest, "/"))
			return NULL;
		rest = str_skip(rest, 1);
	}
	return is_plain(rest) ? xstrndup(rest.ptr, rest.len) : NULL;
}

/* True for errors that would make the shell fail like the file tool did. */
static bool is_fatal(const struct error *e)
{
	return e->code == ERR_CANCELLED || e->code == ERR_GONE ||
	       e->code == ERR_AUTH;
}

struct read_batch { /* files requested together */
	struct wanted_file {
		struct transfer *file;
		char *path; /* relative, owned */
		/* its bytes have all been delivered, or its sink has failed */
		bool done;
	} items[READ_FILES];
	size_t n;
	const char *cwd; /* borrowed */
	bool nul;        /* a text in the current result contains a NUL */
};

/* Appends the path in a URI like "file:///a%20b". decode: decodes the percent
 * escapes. */
static void add_path(struct buf *out, struct str uri, bool decode)
{
	if (str_starts(uri, "file://"))
		uri = str_skip(uri, 7);
	for (size_t i = 0; i < uri.len; i++) {
		unsigned char byte = (unsigned char)uri.ptr[i];
		size_t n = 0;

		if (decode && byte == '%' && i + 2 < uri.len &&
		    sodium_hex2bin(&byte, 1, uri.ptr + i + 1, 2, NULL, &n,
				   NULL) == 0)
			i += 2;
		buf_addc(out, (char)byte);
	}
}

/* True if got, a URI in an answer, names the file that was requested as path.
 * The service answers with "file:///" and either the requested path or the
 * absolute one. */
static bool is_path(struct str got, const struct read_batch *b,
		    const char *path)
{
	struct str rest = got;

	while (str_starts(rest, "./") || str_starts(rest, "/"))
		rest = str_skip(rest, rest.ptr[0] == '/' ? 1 : 2);
	if (str_is(rest, path))
		return true;
	return str_starts(got, b->cwd) &&
	       str_is(str_skip(got, strlen(b->cwd) + 1), path);
}

static struct wanted_file *find_file(struct read_batch *b, const char *uri)
{
	for (int decode = 0; decode < 2; decode++) {
		struct buf path = BUF_INIT(PATH_BYTES);
		struct wanted_file *found = NULL;

		add_path(&path, str_of(uri), decode);
		for (size_t i = 0; i < b->n && !found; i++)
			if (is_path(buf_str(&path), b, b->items[i].path))
				found = &b->items[i];
		buf_release(&path);
		if (found)
			return found;
	}
	return NULL;
}

static void write_data(struct wanted_file *w, struct str data)
{
	struct error why = { 0 };

	w->done = true;
	if (data.len && w->file->write(w->file->arg, data, &why) < 0)
		transfer_fail(w->file, FILE_OTHER, why.message);
}

/* True if the text contains U+FFFD. The service may have written that instead
 * of bytes that are not UTF-8, so the content cannot be used. */
static bool is_lossy(struct str text)
{
	return str_search(text, STR("\xef\xbf\xbd")) < text.len;
}

/* Passes the bytes of one resource in a result to the file of the batch that it
 * belongs to. */
static void parse_resource(struct read_batch *b, const cJSON *resource)
{
	const char *blob = json_string(resource, "blob", NULL);
	const char *text = json_string(resource, "text", NULL);
	struct wanted_file *w = find_file(b, json_string(resource, "uri", ""));
	size_t most = blob ? strlen(blob) : 0;
	unsigned char *room;
	size_t len = 0;

	if (!w || w->done)
		return;
	if (!blob) {
		if (text && !b->nul && !is_lossy(str_of(text)))
			write_data(w, str_of(text));
		return;
	}
	room = xcalloc(most + 1, 1);
	if (sodium_base642bin(room, most + 1, blob, most, "\r\n", &len, NULL,
			      sodium_base64_VARIANT_ORIGINAL) == 0)
		write_data(w, (struct str){ (const char *)room, len });
	free(room);
}

/* Handles one result event of readFiles. */
static int on_read(void *arg, const cJSON *result, struct str raw,
		   struct error *err)
{
	struct read_batch *b = arg;
	const cJSON *block;

	(void)err;
	/* cJSON ends a string at a NUL: search the raw text for one */
	b->nul = str_search(raw, STR("\\u0000")) < raw.len;
	if (json_bool(result, "isError", false))
		return 0;
	cJSON_ArrayForEach (block, json_get(result, "content")) {
		const cJSON *resource = json_get(block, "resource");

		if (cJSON_IsObject(resource))
			parse_resource(b, resource);
	}
	return 0;
}

static int read_files(struct sandbox *sb, struct read_batch *b,
		      const struct stop *stop, struct error *err)
{
	struct buf paths = BUF_INIT(PATHS_MAX);
	struct agentcore_invoke call = { .tool = "readFiles",
					 .key = "paths",
					 .what = "reading the files",
					 .timeout_ms = READ_MS,
					 .result = on_read,
					 .arg = b };
	int rc;

	for (size_t i = 0; i < b->n; i++) {
		if (i)
			buf_addc(&paths, ',');
		json_quote(&paths, str_of(b->items[i].path));
	}
	call.items = buf_str(&paths);
	rc = buf_check(&paths, "the names", err);
	if (rc == 0)
		rc = agentcore_invoke(sb, &call, stop, err);
	buf_release(&paths);
	return rc;
}

/* Requests the batch's files with readFiles and empties the batch. The shell
 * reads those that did not arrive: it has no size limit and reports what is
 * wrong with a path. */
static int read_batch(struct sandbox *sb, struct read_batch *b,
		      const struct stop *stop, struct error *err)
{
	struct error why = { 0 };
	int rc = b->n ? read_files(sb, b, stop, &why) : 0;

	if (rc < 0 && !is_fatal(&why) && stop_check(stop, &why) == 0)
		rc = 0;
	if (rc < 0)
		*err = why;
	for (size_t i = 0; i < b->n; i++) {
		struct wanted_file *w = &b->items[i];

		if (rc < 0 && !w->done)
			transfer_fail(w->file, FILE_OTHER, err->message);
		else if (!w->done)
			rc = transfer_download(sb, w->file, 1, stop, err);
		free(w->path);
	}
	b->n = 0;
	return rc;
}

int agentcore_download(struct sandbox *sb, struct transfer *files, size_t n,
		       const struct stop *stop, struct error *err)
{
	struct read_batch b = { .n = 0 };
	int rc = find_cwd(sb, stop, err);
	size_t i = 0;

	b.cwd = known_cwd(sb);
	for (; rc == 0 && i < n; i++) {
		char *path =
			files[i].path ? relative_path(sb, files[i].path) : NULL;

		transfer_fail(&files[i], FILE_OK, "");
		if (!path) {
			rc = transfer_download(sb, &files[i], 1, stop, err);
			continue;
		}
		b.items[b.n++] = (struct wanted_file){ &files[i], path, false };
		if (b.n == READ_FILES)
			rc = read_batch(sb, &b, stop, err);
	}
	if (rc == 0)
		return read_batch(sb, &b, stop, err);
	for (size_t k = 0; k < b.n; k++) {
		transfer_fail(b.items[k].file, FILE_OTHER, err->message);
		free(b.items[k].path);
	}
	for (; i < n; i++)
		transfer_fail(&files[i], FILE_OTHER, err->message);
	return -1;
}

/* Appends {"path":...,"blob":...}, the form of a file for writeFiles. */
static void add_file(struct buf *out, const char *path, struct str data)
{
	buf_addc(out, '{');
	json_member(out, "path", str_of(path));
	buf_adds(out, ",\"blob\":\"");
	json_base64(out, data);
	buf_adds(out, "\"}");
}

static int on_written(void *arg, const cJSON *result, struct str raw,
		      struct error *err)
{
	bool *failed = arg;

	(void)raw;
	(void)err;
	*failed = *failed || json_bool(result, "isError", false);
	return 0;
}

/* Sends one writeFiles request. Sets *failed if the tool reports that a file
 * was not written. Which one that was is not documented. */
static int write_files(struct sandbox *sb, const struct buf *files,
		       bool *failed, const struct stop *stop, struct error *err)
{
	const struct agentcore_invoke call = { .tool = "writeFiles",
					       .key = "content",
					       .items = buf_str(files),
					       .what = "writing the files",
					       .timeout_ms = WRITE_MS,
					       .result = on_written,
					       .arg = failed };

	if (buf_check(files, "the files", err) < 0)
		return -1;
	return agentcore_invoke(sb, &call, stop, err);
}

struct write_batch { /* files for one request, held in memory */
	struct {
		struct file_source source;
		char *path; /* relative, owned */
	} items[WRITE_FILES];
	size_t n;
	size_t bytes;
};

/* Uploads a file from memory with the shell, which reports what is wrong with a
 * path. The file remains in memory, so this can be repeated. */
static int write_by_shell(struct sandbox *sb, struct file_source *s,
			  const struct stop *stop, struct error *err)
{
	struct transfer copy = *s->file;
	int rc;

	copy.read = file_source_read;
	copy.arg = s;
	s->sent = 0;
	rc = transfer_upload(sb, &copy, 1, stop, err);
	s->file->error = copy.error;
	memcpy(s->file->detail, copy.detail, sizeof(copy.detail));
	return rc;
}

/* Writes the files of the batch and empties it. */
static int write_batch(struct sandbox *sb, struct write_batch *b,
		       const struct stop *stop, struct error *err)
{
	struct buf content = BUF_INIT(BODY_MAX);
	struct error why = { 0 };
	bool failed = false;
	int rc = 0;

	for (size_t i = 0; i < b->n; i++) {
		if (i)
			buf_addc(&content, ',');
		add_file(&content, b->items[i].path,
			 buf_str(&b->items[i].source.held));
	}
	if (b->n)
		rc = write_files(sb, &content, &failed, stop, &why);
	/* Do not repeat the request: the shell writes the files instead. */
	if (rc < 0 && !is_fatal(&why) && stop_check(stop, err) == 0)
		failed = true;
	else if (rc < 0)
		*err = why;
	if (failed)
		rc = 0;
	for (size_t i = 0; i < b->n; i++) {
		struct file_source *s = &b->items[i].source;

		if (failed && rc == 0)
			rc = write_by_shell(sb, s, stop, err);
		else if (rc < 0)
			transfer_fail(s->file, FILE_OTHER, err->message);
		free(b->items[i].path);
		file_source_release(s);
	}
	b->n = 0;
	b->bytes = 0;
	buf_release(&content);
	return rc;
}

/* Adds a file to the batch and writes the batch when it is full. Takes
 * ownership of path. */
static int add_to_batch(struct sandbox *sb, struct write_batch *b,
			struct transfer *f, char *path, const struct stop *stop,
			struct error *err)
{
	struct file_source *s;
	struct error why = { 0 };

	if ((b->n == WRITE_FILES || b->bytes + (size_t)f->size > BATCH) &&
	    write_batch(sb, b, stop, err) < 0) {
		transfer_fail(f, FILE_OTHER, err->message);
		free(path);
		return -1;
	}
	s = &b->items[b->n].source;
	if (file_source_open(s, f, f->size, &why) < 0) {
		transfer_fail(f, FILE_OTHER, why.message);
		file_source_release(s);
		free(path);
		return 0;
	}
	b->items[b->n].path = path;
	b->bytes += (size_t)f->size;
	b->n++;
	return 0;
}

/* Upload of a file that is too large for one request. Each piece is uploaded to
 * a file below the interpreter's directory, then appended to a temporary file
 * next to the target. When all pieces are in it, the temporary file replaces
 * the target. */
struct large_file {
	struct transfer *file;
	/* temporary file of one piece, below the interpreter's directory */
	char part[64];
	/* absolute: @0 the target, @1 the temporary file, @2 the piece's
	 * file */
	const char *paths[3];
};

/* Appends text and replaces @N by the quoted path N. */
static void add_text(struct buf *line, const struct large_file *l,
		     const char *text)
{
	for (; *text; text++)
		if (*text == '@')
			quote_word(line, str_of(l->paths[*++text - '0']));
		else
			buf_addc(line, *text);
}

/* Runs the command line and frees it. ERR_REMOTE if its exit status is not
 * 0. */
static int run_line(struct sandbox *sb, struct buf *line,
		    const struct stop *stop, struct error *err)
{
	struct exec_request req = { .command = buf_str(line),
				    .cwd = "/",
				    .plain = true,
				    .timeout_ms = APPEND_MS };
	struct exec_result res;
	int rc = agentcore_execute(sb, &req, &res, stop, err);

	if (rc == 0 && res.exit_code != 0)
		rc = error_set(err, ERR_REMOTE, "the uploaded part is missing");
	buf_release(line);
	return rc;
}

/* Uploads one piece and appends it to the temporary file. */
static int send_piece(struct sandbox *sb, struct large_file *l, struct str data,
		      const struct stop *stop, struct error *err)
{
	struct buf content = BUF_INIT(BODY_MAX);
	struct buf line = BUF_INIT(LINE_BYTES);
	bool failed = false;
	int rc;

	add_file(&content, l->part, data);
	rc = write_files(sb, &content, &failed, stop, err);
	buf_release(&content);
	if (rc == 0 && failed)
		rc = error_set(err, ERR_REMOTE,
			       "the uploaded part was refused");
	if (rc < 0)
		return -1;
	add_text(&line, l, "[ $(wc -c <@2) -eq ");
	buf_addf(&line, "%zu", data.len);
	add_text(&line, l, " ] && cat -- @2 >>@1 && rm -f -- @2");
	return run_line(sb, &line, stop, err);
}

/* Replaces the target by the complete temporary file. An existing target is
 * overwritten in place, so that it keeps its mode. */
static int replace_target(struct sandbox *sb, struct large_file *l,
			  const struct stop *stop, struct error *err)
{
	struct buf line = BUF_INIT(LINE_BYTES);

	add_text(&line, l,
		 "if [ -e @0 ];then cat @1 >@0 && rm -f @1;else mv -f @1 "
		 "@0;fi");
	if (l->file->mode) {
		buf_addf(&line, " && chmod %o ", l->file->mode & 07777);
		add_text(&line, l, "@0");
	}
	return run_line(sb, &line, stop, err);
}

static void delete_parts(struct sandbox *sb, struct large_file *l)
{
	struct stop stop = stop_cleanup(5000);
	struct buf line = BUF_INIT(LINE_BYTES);
	struct error ignored = { 0 };

	add_text(&line, l, "rm -f -- @1 @2");
	(void)run_line(sb, &line, &stop, &ignored);
}

static int send_pieces(struct sandbox *sb, struct large_file *l,
		       const struct stop *stop, struct error *err)
{
	struct buf data = BUF_INIT(PIECE);
	int64_t left = l->file->size;
	int rc = 0;

	while (rc == 0 && left > 0) {
		int64_t want = left < PIECE ? left : PIECE;

		buf_clear(&data);
		rc = transfer_read_all(l->file, &data, (size_t)want, err);
		if (rc == 0)
			rc = send_piece(sb, l, buf_str(&data), stop, err);
		left -= want;
	}
	buf_release(&data);
	return rc ? rc : replace_target(sb, l, stop, err);
}

static int upload_large(struct sandbox *sb, struct transfer *f,
			const struct stop *stop, struct error *err)
{
	struct large_file l = { .file = f };
	struct error why = { 0 };
	char id[17];
	char *part;
	char *whole;
	int rc = stat_files(sb, STAT_FOR_UPLOAD, f, 1, stop, err);

	if (rc < 0 || f->error != FILE_OK)
		return rc;
	ids_random(id, 16);
	snprintf(l.part, sizeof(l.part), ".dcode-part-%s", id);
	part = xasprintf("%s/%s", known_cwd(sb), l.part);
	whole = xasprintf("%.*s/.dcode-part-%s.whole",
			  (int)(strrchr(f->path, '/') - f->path), f->path, id);
	l.paths[0] = f->path;
	l.paths[1] = whole;
	l.paths[2] = part;
	rc = send_pieces(sb, &l, stop, &why);
	if (rc < 0) {
		transfer_fail(f, FILE_OTHER, why.message);
		if (why.code != ERR_GONE)
			delete_parts(sb, &l);
		*err = why;
		rc = transfer_fatal(&why) ? -1 : 0;
	}
	free(part);
	free(whole);
	return rc;
}

/* Uploads one file: in a batch, in pieces, or by the shell, depending on its
 * size and path. */
static int upload_one(struct sandbox *sb, struct write_batch *b,
		      struct transfer *f, const struct stop *stop,
		      struct error *err)
{
	char *path;

	if (f->size > PIECE || f->api_only)
		return upload_large(sb, f, stop, err);
	path = relative_path(sb, f->path);
	if (path)
		return add_to_batch(sb, b, f, path, stop, err);
	return transfer_upload(sb, f, 1, stop, err);
}

int agentcore_upload(struct sandbox *sb, struct transfer *files, size_t n,
		     const struct stop *stop, struct error *err)
{
	struct write_batch *b = xcalloc(1, sizeof(*b));
	struct error why = { 0 };
	int rc = find_cwd(sb, stop, err);

	for (size_t i = 0; i < n; i++)
		if (transfer_path_ok(&files[i]) && rc < 0)
			transfer_fail(&files[i], FILE_OTHER, err->message);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		if (files[i].error != FILE_OK)
			continue;
		rc = upload_one(sb, b, &files[i], stop, err);
		for (size_t k = i + 1; rc < 0 && k < n; k++)
			if (files[k].error == FILE_OK)
				transfer_fail(&files[k], FILE_OTHER,
					      err->message);
	}
	if (write_batch(sb, b, stop, &why) < 0 && rc == 0) {
		*err = why;
		rc = -1;
	}
	free(b);
	return rc < 0 ? -1
		      : stat_files(sb, STAT_SET_MODES, files, n, stop, err);
}
