/* exec.c - commands in a Modal sandbox, and files moved by a tool inside. */
/* SPDX-License-Identifier: MIT */
/*
 * A command is a script of the supervisor, which runs as a process that Modal's
 * router starts: run_script() starts it and reads its output until it ends.
 * Files are transferred by Modal's own program in the sandbox, whose input or
 * output is the file's bytes: start_tool() and wait_tool(). Begin with
 * modal_execute() and upload_one().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/kit/rest.h"
#include "providers/modal/modal.h"
#include "sandbox/supervise/supervise.h"
#include "sandbox/transfer.h"

/*
 * Modal's program for files. Its argument is a request in JSON, its input or
 * output is the file's bytes, and it reports failures in JSON on its error
 * output (modal-client, _utils/sandbox_fs_utils.py; seen 2026-11). It creates
 * parent directories and streams the file, so that memory stays constant.
 */
static const char tool[] = "/__modal/.bin/modal-sandbox-fs-tools";

enum {
	/*
	 * bytes of all arguments together; the SDKs' limit is 64 KiB. A longer
	 * command is sent as the process's input.
	 */
	ARGUMENT_MAX = 60000,
	COMMAND_MAX = 1 << 20,
	ANSWER_MAX = 4 << 20, /* bytes of a job's answer */
	REQUEST_MAX = 60000,  /* bytes of a request to the tool */
	ERRORS_MAX = 64 << 10,
	/* bytes; smaller files are held in memory and can be sent again */
	SMALL = 1 << 20,
	TRIES = 4, /* for each file */
	PAUSE_MS = 200,
};

static int on_output(void *arg, struct str chunk, struct error *err)
{
	struct buf *out = arg;

	buf_addstr(out, chunk);
	if (!out->over)
		return 0;
	return error_set(err, ERR_PROTOCOL,
			 "unexpected server response: longer than requested");
}

/*
 * Implements supervisor.call with two calls of the router: one starts the
 * process, one reads its output until the end. A long command needs a third for
 * its input. The supervisor's script is printable and contains no NUL.
 */
static int run_script(void *arg, struct str command, int64_t wait_ms,
		      struct buf *out, const struct stop *stop,
		      struct error *err)
{
	bool large = command.len > ARGUMENT_MAX;
	char *text = xstrndup(command.ptr, command.len);
	const char *argv[] = { "/bin/sh", "-c",
			       large ? "eval \"$(cat)\"" : text, NULL };
	struct transfer file = { .size = (int64_t)command.len };
	struct file_source in = { .file = &file,
				  .is_held = true,
				  .held = { .ptr = text } };
	struct modal_exec x;
	int rc = modal_start(&x, arg, argv, false, stop, err);

	(void)wait_ms;
	if (rc == 0 && large)
		rc = modal_write(&x, &in, stop, err);
	if (rc == 0)
		rc = modal_read(&x, 0, on_output, out, stop, err);
	free(text);
	/* ERR_NETWORK makes the supervisor retry the request. */
	if (rc < 0 && err->code == ERR_REMOTE &&
	    (!err->grpc_status || retry_is_transient(err)))
		err->code = ERR_NETWORK;
	return rc;
}

int modal_execute(struct sandbox *sb, const struct exec_request *req,
		  struct exec_result *res, const struct stop *stop,
		  struct error *err)
{
	const struct supervisor s = { .call = run_script,
				      .arg = sb,
				      .max_command = COMMAND_MAX,
				      .max_answer = ANSWER_MAX };
	const struct modal_box *b = modal_box(sb);
	const char **env = env_list_join(b->env, b->n_env, req->env);
	struct exec_request own = *req;
	int rc;

	own.env = env;
	rc = supervise_execute(sb, &own, res, &s, stop, err);
	free(env);
	return rc;
}

/* Starts the tool. verb is the name of its operation: ReadFile or WriteFile. */
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
	/* the tool's report comes first, so output beyond max may be dropped */
	buf_addstr(arg, chunk);
	return 0;
}

/* Sets f's error from the tool's error output. */
static void parse_refusal(struct transfer *f, const struct buf *errors,
			  int status)
{
	/* A parent is a file: then the file does not exist for a read, and the
	 * path is invalid for a write. */
	const enum file_error no_parent =
		f->read ? FILE_INVALID_PATH : FILE_NOT_FOUND;
	const struct {
		const char *kind;
		enum file_error error;
	} kinds[] = {
		{ "NotFound", FILE_NOT_FOUND },
		{ "IsDirectory", FILE_IS_DIRECTORY },
		{ "PermissionDenied", FILE_PERMISSION_DENIED },
		{ "NotDirectory", no_parent },
		{ "PathAlreadyExists", no_parent },
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

/* Waits for the tool's end. Returns 0 on success, and also if the tool failed
 * and f now has the error. */
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

/*
 * Sends the file once. If the tool closes its input before the end, its report
 * says why.
 */
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

/* Pauses before the next try. Returns -1 if another try cannot succeed. */
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
	if (!str_is_utf8(str_of(f->path))) /* a protobuf string must be UTF-8 */
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

/*
 * Downloads a file. A retry starts a new process, which sends the file from its
 * beginning, so the bytes that have arrived are skipped.
 */
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
