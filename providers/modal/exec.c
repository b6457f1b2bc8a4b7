/* exec.c - commands as supervised jobs through Modal's router. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/modal/modal.h"
#include "sandbox/supervise/supervise.h"

enum {
	/* All arguments together are at most 64 KiB (the SDKs' limit); what is
	 * longer goes through the input. */
	ARGUMENT_MAX = 60000,
	COMMAND_MAX = 1 << 20,
	ANSWER_MAX = 4 << 20, /* bytes of a job's answer */
};

/* Our script is printable and holds no NUL. */
static const char from_input[] = "eval \"$(cat)\"";

static int on_output(void *arg, struct str chunk, struct error *err)
{
	struct buf *out = arg;

	buf_addstr(out, chunk);
	if (!out->over)
		return 0;
	return error_set(err, ERR_PROTOCOL,
			 "unexpected server response: it is longer than asked "
			 "for");
}

static int64_t from_text(void *arg, char *room, size_t len, struct error *err)
{
	struct str *rest = arg;
	size_t n = rest->len < len ? rest->len : len;

	(void)err;
	memcpy(room, rest->ptr, n);
	*rest = str_skip(*rest, n);
	return (int64_t)n;
}

/* What the supervisor shall do: ask again after all that may pass, which what
 * the router refuses does not. */
static int judge(struct error *err)
{
	if (err->code == ERR_REMOTE &&
	    (!err->grpc_status || retry_is_transient(err)))
		err->code = ERR_NETWORK;
	return -1;
}

/* struct supervisor.call: two calls, start and read to the end; three when
 * the command is long. */
static int call(void *arg, struct str command, int64_t wait_ms, struct buf *out,
		const struct stop *stop, struct error *err)
{
	bool large = command.len > ARGUMENT_MAX;
	const char *argv[] = { "/bin/sh", "-c", from_input, NULL };
	struct str rest = command;
	struct modal_input in = { .read = from_text,
				  .arg = &rest,
				  .size = (int64_t)command.len };
	struct modal_exec x;
	char *text = NULL;
	int rc;

	(void)wait_ms;
	if (!large) {
		text = xstrndup(command.ptr, command.len);
		argv[2] = text;
	}
	rc = modal_start(&x, arg, argv, false, stop, err);
	if (rc == 0 && large)
		rc = modal_write(&x, &in, stop, err);
	if (rc == 0)
		rc = modal_read(&x, 0, on_output, out, stop, err);
	free(text);
	return rc < 0 ? judge(err) : 0;
}

/* The configured variables and then the request's; owned. */
static const char **join_env(const struct modal_box *b, const char *const *more)
{
	const char **list;
	size_t n = 0;

	while (more && more[n])
		n++;
	list = xcalloc(b->n_env + n + 1, sizeof(*list));
	for (size_t i = 0; i < b->n_env; i++)
		list[i] = b->env[i];
	for (size_t i = 0; i < n; i++)
		list[b->n_env + i] = more[i];
	return list;
}

int modal_execute(struct sandbox *sb, const struct exec_request *req,
		  struct exec_result *res, const struct stop *stop,
		  struct error *err)
{
	const struct supervisor s = { .call = call,
				      .arg = sb,
				      .max_command = COMMAND_MAX,
				      .max_answer = ANSWER_MAX };
	const char **env = join_env(modal_box(sb), req->env);
	struct exec_request own = *req;
	int rc;

	own.env = env;
	rc = supervise_execute(sb, &own, res, &s, stop, err);
	free(env);
	return rc;
}
