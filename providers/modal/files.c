/* files.c - input of processes, and files moved by a tool inside. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/kit/stat_files.h"
#include "providers/modal/modal.h"
#include "sandbox/transfer.h"

/*
 * The tool takes one request in JSON as its argument, the file's bytes on its
 * input or output, and says what is wrong in JSON on its error output
 * (modal-client, _utils/sandbox_fs_utils.py; seen 2026-11). It makes parent
 * directories and follows the size of a file, so that memory stays constant.
 */
static const char tool[] = "/__modal/.bin/modal-sandbox-fs-tools";

enum {
	CHUNK = 64 << 10, /* bytes of input in one message */
	WINDOW = 4 << 20, /* bytes of input kept to be sent again */
	FRAME_MAX = 256 << 10,
	LONG_MS = 24 * 3600 * 1000,
	RESUMES = 9, /* of input, without any progress */
	RESUME_MS = 100,
	REQUEST_MAX = 60000,
	ERRORS_MAX = 64 << 10,
	SMALL = 1 << 20, /* is held in memory, so that it can be sent again */
	TRIES = 4,
	PAUSE_MS = 200,
};

struct input_writer {
	struct modal_exec *x;
	struct file_source *in;
	char *window; /* the last bytes read from in, by offset % WINDOW */
	int64_t at;   /* bytes in messages of this stream, and before */
	struct buf out;
	bool ended;
};

/* A message whose payload is this one, which is taken over. */
static void add_payload(struct input_writer *w, const char *name,
			cJSON *payload)
{
	const ProtobufCMessageDescriptor *type =
		&modal__task_exec_stdin_write_stream_request__descriptor;
	cJSON *object = cJSON_CreateObject();
	ProtobufCMessage *message;

	cJSON_AddItemToObject(object, name, payload);
	message = protobuf_build(type, object);
	protobuf_envelope(message, &w->out);
	protobuf_free(message);
	cJSON_Delete(object);
}

/* Reads the input into the window up to this offset. */
static int fill_window(struct input_writer *w, int64_t end, struct error *err)
{
	while (w->in->sent < end) {
		size_t place = (size_t)(w->in->sent % WINDOW);
		size_t room = (size_t)(end - w->in->sent);

		if (room > WINDOW - place)
			room = WINDOW - place;
		if (file_source_read(w->in, w->window + place, room, err) < 0)
			return -1;
	}
	return 0;
}

/* The next message: bytes at w->at, from the window or read anew. */
static int add_data(struct input_writer *w, struct error *err)
{
	Modal__TaskExecStdinWriteStreamRequest message =
		MODAL__TASK_EXEC_STDIN_WRITE_STREAM_REQUEST__INIT;
	size_t place = (size_t)(w->at % WINDOW);
	size_t n = WINDOW - place < CHUNK ? WINDOW - place : CHUNK;

	if (w->in->file->size - w->at < (int64_t)n)
		n = (size_t)(w->in->file->size - w->at);
	if (fill_window(w, w->at + (int64_t)n, err) < 0)
		return -1;
	message.payload_case =
		MODAL__TASK_EXEC_STDIN_WRITE_STREAM_REQUEST__PAYLOAD_DATA;
	message.data.data = (uint8_t *)w->window + place;
	message.data.len = n;
	w->at += (int64_t)n;
	protobuf_envelope(&message.base, &w->out);
	return 0;
}

static int64_t on_source(void *arg, char *room, size_t len, struct error *err)
{
	struct input_writer *w = arg;

	if (!w->out.len && w->at < w->in->file->size) {
		if (add_data(w, err) < 0)
			return -1;
	} else if (!w->out.len && !w->ended) {
		add_payload(w, "end", cJSON_CreateObject());
		w->ended = true;
	}
	return buf_take(&w->out, room, len);
}

static int write_once(struct input_writer *w, const struct stop *stop,
		      struct error *err)
{
	cJSON *start = modal_process(w->x);
	const struct protobuf_ask ask = { .method = "TaskExecStdinWriteStream",
					  .what = "sending the input",
					  .source = on_source,
					  .source_size = -1,
					  .arg = w,
					  .timeout_ms = LONG_MS };

	cJSON_AddNumberToObject(start, "offset", (double)w->at);
	w->out.max = FRAME_MAX;
	buf_clear(&w->out);
	w->ended = false;
	add_payload(w, "start", start);
	return modal_route(w->x->sb, &ask, NULL, stop, err);
}

/* How much has arrived: 1 when that is all, 0 to go on there. */
static int find_offset(struct input_writer *w, const struct stop *stop,
		       struct error *err)
{
	const struct protobuf_ask ask = { "TaskExecStdinStatus",
					  "sending the input",
					  .request = modal_process(w->x) };
	ProtobufCMessage *answer = NULL;
	const Modal__TaskExecStdinStatusResponse *status;
	int64_t at;
	bool closed;

	if (modal_route(w->x->sb, &ask, &answer, stop, err) < 0)
		return -1;
	status = (Modal__TaskExecStdinStatusResponse *)answer;
	at = (int64_t)status->num_bytes_written;
	closed = status->closed;
	protobuf_free(answer);
	if (at < 0 || at > w->in->sent || at < w->in->sent - WINDOW)
		return error_set(err, ERR_NETWORK,
				 "sending the input was interrupted and cannot "
				 "be resumed");
	w->at = at;
	if (closed && at < w->in->file->size)
		return error_set(err, ERR_REMOTE,
				 "the input was closed too early");
	return closed;
}

int modal_write(struct modal_exec *x, struct file_source *in,
		const struct stop *stop, struct error *err)
{
	struct input_writer w = { .x = x, .in = in };
	int64_t before = 0;
	int rc;

	w.window = xcalloc(1, WINDOW);
	for (int i = 0;; i++) {
		struct error why = { 0 };

		rc = write_once(&w, stop, &why);
		if (rc == 0)
			break;
		if (why.grpc_status == GRPC_FAILED_PRECONDITION)
			why.code = ERR_REMOTE;
		if (in->failed || i == RESUMES ||
		    (!modal_is_passing(&why) &&
		     why.grpc_status != GRPC_UNAUTHENTICATED) ||
		    stop_sleep(stop, (int64_t)i * RESUME_MS, &why) < 0) {
			*err = why;
			break;
		}
		rc = find_offset(&w, stop, err);
		if (rc != 0)
			break;
		if (w.at > before)
			i = 0;
		before = w.at;
	}
	buf_release(&w.out);
	free(w.window);
	return rc < 0 ? -1 : 0;
}

static int start_tool(struct modal_exec *x, struct sandbox *sb,
		      const char *verb, struct transfer *f,
		      const struct stop *stop, struct error *err)
{
	struct buf request = BUF_INIT(REQUEST_MAX);
	const char *argv[] = { tool, NULL, NULL };
	int rc;

	buf_addf(&request, "{\"%s\": {\"path\": ", verb);
	json_quote(&request, str_of(f->path));
	buf_adds(&request, "}}");
	argv[1] = request.ptr;
	rc = buf_check(&request, "the path", err);
	if (rc == 0)
		rc = modal_start(x, sb, argv, true, stop, err);
	buf_release(&request);
	return rc;
}

static int on_errors(void *arg, struct str chunk, struct error *err)
{
	(void)err;
	buf_addstr(arg, chunk); /* what does not fit is of no interest */
	return 0;
}

/* What the tool says about this file. */
static void parse_refusal(struct transfer *f, const struct buf *errors,
			  int status)
{
	static const struct {
		const char *kind;
		enum file_error error;
	} kinds[] = {
		{ "NotFound", FILE_NOT_FOUND },
		{ "IsDirectory", FILE_IS_DIRECTORY },
		{ "PermissionDenied", FILE_PERMISSION_DENIED },
		{ "NotDirectory", FILE_NOT_FOUND },
	};
	cJSON *tree = json_parse(str_trim(buf_str(errors)));
	const char *kind = json_string(tree, "error_kind", "");
	const char *why = json_string(tree, "message", errors->ptr);
	char detail[sizeof(f->detail)];

	if (errors->len)
		snprintf(detail, sizeof(detail), "%s: %s",
			 kind[0] ? kind : "failed", why);
	else
		snprintf(detail, sizeof(detail), "exit status %d", status);
	transfer_fail(f, FILE_OTHER, detail);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(kinds[i].kind, kind) == 0)
			transfer_fail(f, kinds[i].error, "");
	cJSON_Delete(tree);
}

/* Waits for its end: 0 when all is well or f has the reason. */
static int wait_tool(struct modal_exec *x, struct transfer *f,
		     const struct stop *stop, struct error *err)
{
	struct buf errors = BUF_INIT(ERRORS_MAX);
	int status = 0;
	int rc = modal_wait(x, &status, stop, err);

	if (rc == 0 && status != 0) {
		rc = modal_read(x, 1, on_errors, &errors, stop, err);
		if (rc == 0)
			parse_refusal(f, &errors, status);
	}
	buf_release(&errors);
	return rc;
}

/* A tool that closes its input early has something to say. */
static int send_once(struct sandbox *sb, struct file_source *s,
		     const struct stop *stop, struct error *err)
{
	struct error why = { 0 };
	struct modal_exec x = { .sb = sb };

	if (start_tool(&x, sb, "WriteFile", s->file, stop, err) < 0)
		return -1;
	s->sent = 0;
	if (modal_write(&x, s, stop, &why) == 0)
		return wait_tool(&x, s->file, stop, err);
	if (!s->failed && why.code == ERR_REMOTE &&
	    wait_tool(&x, s->file, stop, err) == 0 && s->file->error != FILE_OK)
		return 0;
	*err = why;
	return -1;
}

/* Pauses before the next try; -1 when it would be of no use. */
static int pause_before_retry(int attempt, const struct error *why,
			      const struct stop *stop, struct error *err)
{
	bool passing = why->grpc_status ? retry_is_transient(why)
					: why->code == ERR_NETWORK ||
						  why->code == ERR_REMOTE ||
						  why->code == ERR_PROTOCOL;

	*err = *why;
	if (attempt == TRIES || !passing)
		return -1;
	return stop_sleep(stop, attempt * PAUSE_MS, err);
}

static int upload_one(const void *arg, struct sandbox *sb, struct transfer *f,
		      const struct stop *stop, struct error *err)
{
	struct file_source s;
	int rc;

	(void)arg;
	if (!str_is_utf8(str_of(f->path))) /* a message cannot have it */
		return transfer_upload(sb, f, 1, stop, err);
	rc = file_source_open(&s, f, SMALL, err);
	for (int i = 1; rc == 0; i++) {
		struct error why = { 0 };

		if (send_once(sb, &s, stop, &why) == 0)
			break;
		rc = pause_before_retry(s.is_held ? i : TRIES, &why, stop, err);
	}
	if (rc < 0 && s.failed) {
		transfer_fail(f, FILE_OTHER, s.why.message);
		rc = 0;
	}
	file_source_release(&s);
	return rc;
}

int modal_upload(struct sandbox *sb, struct transfer *files, size_t n,
		 const struct stop *stop, struct error *err)
{
	const struct transfer_mover m = { upload_one, NULL };

	if (transfer_each(sb, files, n, &m, stop, err) < 0)
		return -1;
	return stat_files(sb, STAT_SET_MODES, files, n, stop, err);
}

/* A second process gives all of the file again. */
static int download_one(const void *arg, struct sandbox *sb, struct transfer *f,
			const struct stop *stop, struct error *err)
{
	struct transfer_sink d = { .file = f };
	int rc = 0;

	(void)arg;
	if (!str_is_utf8(str_of(f->path)))
		return transfer_download(sb, f, 1, stop, err);
	for (int i = 1; rc == 0; i++) {
		struct error why = { 0 };
		struct modal_exec x = { .sb = sb };

		d.skip = d.got;
		if (start_tool(&x, sb, "ReadFile", f, stop, &why) == 0 &&
		    modal_read(&x, 0, transfer_sink_write, &d, stop, &why) ==
			    0 &&
		    wait_tool(&x, f, stop, &why) == 0)
			break;
		rc = pause_before_retry(d.failed ? TRIES : i, &why, stop, err);
	}
	if (rc < 0 && d.failed) {
		transfer_fail(f, FILE_OTHER, err->message);
		return 0;
	}
	return rc;
}

int modal_download(struct sandbox *sb, struct transfer *files, size_t n,
		   const struct stop *stop, struct error *err)
{
	const struct transfer_mover m = { download_one, NULL };

	return transfer_each(sb, files, n, &m, stop, err);
}
