/* process.c - one process in a Modal sandbox: start, input, output. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/envelope.h"
#include "providers/modal/modal.h"

enum {
	PIPE = 1, /* TaskExecStdoutConfig, TaskExecStderrConfig */
	ARGUMENTS = 8,
	CHUNK = 64 << 10, /* bytes of input in one message */
	WINDOW = 4 << 20, /* bytes of input kept to be sent again */
	FRAME_MAX = 256 << 10,
	LONG_MS = 24 * 3600 * 1000,
	RESUMES = 9, /* of input, without any progress */
	PAUSE_MS = 100,
};

static const char *task_of(struct sandbox *sb, char *room)
{
	struct modal_box *b = modal_box(sb);

	pthread_mutex_lock(&b->lock);
	snprintf(room, MODAL_ID_MAX + 1, "%s", b->task ? b->task : "");
	pthread_mutex_unlock(&b->lock);
	return room;
}

/* The process's id makes a repeated start the same one. */
int modal_start(struct modal_exec *x, struct sandbox *sb,
		const char *const *argv, bool errors, const struct stop *stop,
		struct error *err)
{
	Modal__TaskExecStartRequest request =
		MODAL__TASK_EXEC_START_REQUEST__INIT;
	struct modal_ask ask = { .method = "TaskExecStart",
				 .what = "starting the command",
				 .request = &request.base,
				 .answer = &modal__empty__descriptor };
	ProtobufCMessage *answer = NULL;
	char *args[ARGUMENTS];
	size_t n = 0;
	int rc = modal_access(sb, false, stop, err);

	if (rc < 0)
		return -1;
	x->sb = sb;
	modal_uuid4(x->id);
	request.task_id = (char *)task_of(sb, x->task);
	request.exec_id = x->id;
	while (argv[n] && n < ARGUMENTS) {
		args[n] = (char *)argv[n];
		n++;
	}
	request.command_args = args;
	request.n_command_args = n;
	request.stdout_config = PIPE;
	request.stderr_config = errors ? PIPE : 0;
	rc = modal_route(sb, &ask, &answer, stop, err);
	modal_free(answer);
	return rc;
}

struct reading {
	Modal__TaskExecStdioReadRequest request;
	int (*data)(void *arg, struct str chunk, struct error *err);
	void *arg;
};

/* A repeated request begins where this one has come to. */
static int on_data(void *arg, const ProtobufCMessage *message,
		   struct error *err)
{
	struct reading *r = arg;
	const ProtobufCBinaryData *data =
		&((Modal__TaskExecStdioReadResponse *)message)->data;

	r->request.offset += data->len;
	return r->data(r->arg, (struct str){ (char *)data->data, data->len },
		       err);
}

int modal_read(struct modal_exec *x, int stream,
	       int (*data)(void *arg, struct str chunk, struct error *err),
	       void *arg, const struct stop *stop, struct error *err)
{
	struct reading r = {
		.request = MODAL__TASK_EXEC_STDIO_READ_REQUEST__INIT,
		.data = data,
		.arg = arg,
	};
	struct modal_ask ask = {
		.method = "TaskExecStdioRead",
		.what = "reading the output",
		.request = &r.request.base,
		.answer = &modal__task_exec_stdio_read_response__descriptor,
		.each = on_data,
		.arg = &r,
	};

	r.request.task_id = x->task;
	r.request.exec_id = x->id;
	r.request.file_descriptor = stream;
	return modal_route(x->sb, &ask, NULL, stop, err);
}

struct writing {
	struct modal_exec *x;
	struct modal_input *in;
	char *window; /* the last bytes read from in, by offset % WINDOW */
	int64_t got;  /* bytes read from in */
	int64_t at;   /* bytes in messages of this stream, and before */
	struct buf out;
	bool ended;
};

static void add_message(struct writing *w,
			const Modal__TaskExecStdinWriteStreamRequest *message)
{
	envelope_head(&w->out,
		      protobuf_c_message_get_packed_size(&message->base));
	modal_pack(&message->base, &w->out);
}

static int read_on(struct writing *w, size_t want, struct error *err)
{
	while (want) {
		size_t place = (size_t)(w->got % WINDOW);
		size_t room = WINDOW - place < want ? WINDOW - place : want;
		int64_t n =
			w->in->read(w->in->arg, w->window + place, room, err);

		if (n == 0)
			n = error_set(err, ERR_SYSTEM,
				      "the file became shorter");
		if (n < 0 || (size_t)n > room) {
			w->in->failed = true;
			return -1;
		}
		w->got += n;
		want -= (size_t)n;
	}
	return 0;
}

/* The next message: bytes at w->at, from the window or read anew. */
static int add_data(struct writing *w, struct error *err)
{
	Modal__TaskExecStdinWriteStreamRequest message =
		MODAL__TASK_EXEC_STDIN_WRITE_STREAM_REQUEST__INIT;
	size_t place = (size_t)(w->at % WINDOW);
	size_t n = WINDOW - place < CHUNK ? WINDOW - place : CHUNK;

	if (w->in->size - w->at < (int64_t)n)
		n = (size_t)(w->in->size - w->at);
	if (w->at + (int64_t)n > w->got &&
	    read_on(w, (size_t)(w->at + (int64_t)n - w->got), err) < 0)
		return -1;
	message.payload_case =
		MODAL__TASK_EXEC_STDIN_WRITE_STREAM_REQUEST__PAYLOAD_DATA;
	message.data.data = (uint8_t *)w->window + place;
	message.data.len = n;
	w->at += (int64_t)n;
	add_message(w, &message);
	return 0;
}

static void add_end(struct writing *w)
{
	Modal__Empty end = MODAL__EMPTY__INIT;
	Modal__TaskExecStdinWriteStreamRequest message =
		MODAL__TASK_EXEC_STDIN_WRITE_STREAM_REQUEST__INIT;

	message.payload_case =
		MODAL__TASK_EXEC_STDIN_WRITE_STREAM_REQUEST__PAYLOAD_END;
	message.end = &end;
	add_message(w, &message);
	w->ended = true;
}

static int64_t on_source(void *arg, char *room, size_t len, struct error *err)
{
	struct writing *w = arg;
	size_t n;

	if (!w->out.len && w->at < w->in->size) {
		if (add_data(w, err) < 0)
			return -1;
	} else if (!w->out.len && !w->ended) {
		add_end(w);
	}
	n = w->out.len < len ? w->out.len : len;
	if (n)
		memcpy(room, w->out.ptr, n);
	buf_consume(&w->out, n);
	return (int64_t)n;
}

static int write_once(struct writing *w, enum grpc_code *code,
		      const struct stop *stop, struct error *err)
{
	Modal__TaskExecStdinWriteStreamStart start =
		MODAL__TASK_EXEC_STDIN_WRITE_STREAM_START__INIT;
	Modal__TaskExecStdinWriteStreamRequest message =
		MODAL__TASK_EXEC_STDIN_WRITE_STREAM_REQUEST__INIT;
	struct modal_ask ask = { .method = "TaskExecStdinWriteStream",
				 .what = "sending the input",
				 .answer = &modal__empty__descriptor,
				 .source = on_source,
				 .source_size = -1,
				 .arg = w,
				 .timeout_ms = LONG_MS,
				 .code = code };
	ProtobufCMessage *answer = NULL;
	int rc;

	start.task_id = w->x->task;
	start.exec_id = w->x->id;
	start.offset = (uint64_t)w->at;
	message.payload_case =
		MODAL__TASK_EXEC_STDIN_WRITE_STREAM_REQUEST__PAYLOAD_START;
	message.start = &start;
	w->out.max = FRAME_MAX;
	buf_clear(&w->out);
	w->ended = false;
	add_message(w, &message);
	rc = modal_route(w->x->sb, &ask, &answer, stop, err);
	modal_free(answer);
	return rc;
}

/* How much has arrived: 1 when that is all, 0 to go on there. */
static int resume(struct writing *w, const struct stop *stop, struct error *err)
{
	Modal__TaskExecRequest request = MODAL__TASK_EXEC_REQUEST__INIT;
	struct modal_ask ask = {
		.method = "TaskExecStdinStatus",
		.what = "sending the input",
		.request = &request.base,
		.answer = &modal__task_exec_stdin_status_response__descriptor,
	};
	ProtobufCMessage *answer = NULL;
	const Modal__TaskExecStdinStatusResponse *status;
	int64_t at;
	bool closed;

	request.task_id = w->x->task;
	request.exec_id = w->x->id;
	if (modal_route(w->x->sb, &ask, &answer, stop, err) < 0)
		return -1;
	status = (Modal__TaskExecStdinStatusResponse *)answer;
	at = (int64_t)status->num_bytes_written;
	closed = status->closed;
	modal_free(answer);
	if (at < 0 || at > w->got || at < w->got - WINDOW)
		return error_set(err, ERR_NETWORK,
				 "sending the input was cut, and cannot "
				 "be taken up");
	w->at = at;
	if (closed && at < w->in->size)
		return error_set(err, ERR_REMOTE, "the input was closed early");
	return closed;
}

int modal_write(struct modal_exec *x, struct modal_input *in,
		const struct stop *stop, struct error *err)
{
	struct writing w = { .x = x, .in = in };
	int64_t before = 0;
	int rc;

	w.window = xcalloc(1, WINDOW);
	for (int i = 0;; i++) {
		struct error why = { 0 };
		enum grpc_code code = GRPC_NONE;

		rc = write_once(&w, &code, stop, &why);
		if (rc == 0)
			break;
		if (code == GRPC_FAILED_PRECONDITION)
			why.code = ERR_REMOTE;
		if (in->failed || i == RESUMES ||
		    (!modal_passing(code, &why) &&
		     code != GRPC_UNAUTHENTICATED) ||
		    stop_sleep(stop, (int64_t)i * PAUSE_MS, &why) < 0) {
			*err = why;
			break;
		}
		rc = resume(&w, stop, err);
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

int modal_wait(struct modal_exec *x, int *status, const struct stop *stop,
	       struct error *err)
{
	Modal__TaskExecRequest request = MODAL__TASK_EXEC_REQUEST__INIT;
	struct modal_ask ask = {
		.method = "TaskExecWait",
		.what = "waiting for the command",
		.request = &request.base,
		.answer = &modal__task_exec_wait_response__descriptor,
	};
	ProtobufCMessage *answer = NULL;
	const Modal__TaskExecWaitResponse *end;

	request.task_id = x->task;
	request.exec_id = x->id;
	if (modal_route(x->sb, &ask, &answer, stop, err) < 0)
		return -1;
	end = (Modal__TaskExecWaitResponse *)answer;
	*status = -1;
	if (end->exit_status_case ==
	    MODAL__TASK_EXEC_WAIT_RESPONSE__EXIT_STATUS_CODE)
		*status = end->code;
	else if (end->exit_status_case ==
		 MODAL__TASK_EXEC_WAIT_RESPONSE__EXIT_STATUS_SIGNAL)
		*status = 128 + end->signal;
	modal_free(answer);
	return 0;
}
