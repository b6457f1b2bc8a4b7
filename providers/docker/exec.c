/* exec.c - runs one command in a container, with live output and input. */
/* SPDX-License-Identifier: MIT */
/*
 * A command is an exec of the engine. The first request describes it
 * (describe_exec()). The second starts it and becomes the connection for its
 * input and output (engine.c). The third returns the exit status. In between
 * transfer_bytes() transfers bytes both ways as they arrive. Begin with
 * docker_execute(), at the end.
 *
 * Unlike those of other vendors, commands do not use the supervisor of
 * src/sandbox/supervise, because the engine streams. So output arrives when it
 * is printed. Input of any length can follow a command, for example an uploaded
 * file. A command can read dcode's replies to its output (exec_request.dialog),
 * so that an edit needs one command. The exit status comes from the engine, so
 * no program in the container can forge it.
 *
 * A cancelled command is ended by kill.c.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "providers/docker/docker.h"
#include "providers/docker/engine.h"
#include "sandbox/sandbox.h"
#include "sandbox/setup/setup.h"

enum {
	HEAD = 8, /* bytes of a frame's header */
	/* largest number of a stream, the header's first byte */
	LAST_STREAM = 3,
	BODY_MAX = 16 << 20, /* bytes of the exec's description */
	/* bytes of replies not yet sent (exec_request.dialog) */
	REPLY_MAX = 16 << 20,
	SOURCE = 64 << 10, /* bytes per call of exec_request.source */
	TOKEN = 16,
	/* after this silence in ms, ask the engine whether the command has
	 * ended */
	SILENT_MS = 1000,
	SILENT_MAX_MS = 15000,
	/* ms between these checks while the command prints */
	LOUD_MS = 10000,
	/* at the end, stop reading after this silence (ms) */
	DRAIN_QUIET_MS = 50,
	DRAIN_MS = 1000, /* at the end, stop reading after this time (ms) */
	ENDED_POLL_MS = 500,
	/* bytes of an argument; Linux (MAX_ARG_STRLEN) allows 128 KiB */
	PART_MAX = 120000,
	/* bytes of all arguments; Linux allows a quarter of the stack, 2 MiB */
	ARGS_MAX = 15 << 17,
};

/* Changes to the command's directory and runs it. The exec itself starts in /,
 * so a deleted working directory is an ordinary failure of cd. */
static const char docker_exec[] = {
#include "scripts/sandbox/docker_exec.sh.inc"
	0
};

/* COMMAND of docker_exec.sh for a command that is split into several arguments.
 * $0 and $# are the same as with sh -c. */
static const char join[] = "shift 2;IFS=;eval \"shift $#;unset IFS;$*\"";

/* Like join, for parts with bytes that JSON cannot represent: each part is
 * passed with octal escapes. */
static const char join_escaped[] =
	"shift 2;__dcode=$(printf %b \"$@\";echo x);"
	"eval \"shift $#;unset __dcode;${__dcode%x}\"";

static void add_word(struct buf *body, struct str word)
{
	buf_addc(body, ',');
	json_quote(body, word);
}

/* Appends a long command in parts, split between characters: each part is a
 * JSON string. */
static void add_parts(struct str text, struct buf *words)
{
	while (text.len) {
		struct str part = text;

		if (part.len > PART_MAX) {
			part.len = PART_MAX;
			part.len = str_utf8_prefix(part);
		}
		add_word(words, part);
		text = str_skip(text, part.len);
	}
}

/* Like add_parts(), but escapes each byte that is not UTF-8. Returns the total
 * length of the parts. */
static size_t add_escaped_parts(struct str text, struct buf *words)
{
	struct buf part = BUF_INIT(PART_MAX + 8);
	size_t total = 0;

	while (text.len) {
		struct str one = { text.ptr, text.len < 4 ? text.len : 4 };
		unsigned char c = (unsigned char)text.ptr[0];

		one.len = str_char_offset(one, 1);
		if (!str_is_utf8(one))
			buf_addf(&part, "\\0%03o", c);
		else if (c == '\\')
			buf_adds(&part, "\\\\");
		else
			buf_addstr(&part, one);
		text = str_skip(text, one.len);
		if (part.len < PART_MAX && text.len)
			continue;
		add_word(words, buf_str(&part));
		total += part.len;
		buf_clear(&part);
	}
	buf_release(&part);
	return total;
}

/* Appends the last arguments of docker_exec.sh: COMMAND [PART...]. */
static int add_command(struct str command, struct buf *words, struct error *err)
{
	if (!str_is_utf8(command)) {
		add_word(words, str_of(join_escaped));
		if (add_escaped_parts(command, words) <= ARGS_MAX)
			return 0;
		return error_set(
			err, ERR_LIMIT,
			"the command has too many bytes that are not UTF-8");
	}
	if (command.len <= PART_MAX) {
		add_word(words, command);
		return 0;
	}
	add_word(words, str_of(join));
	add_parts(command, words);
	return 0;
}

/* trust_each_variable() callback. */
static void add_variable(void *arg, const char *name, const char *value)
{
	char *entry = xasprintf("%s=%s", name, value);

	add_word(arg, str_of(entry));
	free(entry);
}

/* Writes the body of POST /containers/ID/exec. token becomes DCODE_EXEC in the
 * command's environment and identifies its processes later. */
static int describe_exec(const struct exec_request *req,
			 const struct sandbox *sb, const char *token,
			 bool guarded, struct buf *body, struct error *err)
{
	const struct docker_box *box = sb->priv;
	bool input = req->input.len || req->dialog || req->source;
	struct buf script = BUF_INIT(16384);

	buf_addf(body,
		 "{\"AttachStdin\":%s,\"AttachStdout\":true,"
		 "\"AttachStderr\":true,\"WorkingDir\":\"/\",",
		 input ? "true" : "false");
	if (req->terminal)
		buf_addf(body, "\"Tty\":true,\"ConsoleSize\":[%u,%u],",
			 req->terminal->rows, req->terminal->columns);
	buf_addf(body, "\"Env\":[\"DCODE_EXEC=%s\"", token);
	if (guarded)
		trust_each_variable(&box->secrets, TRUST_INSIDE, add_variable,
				    body);
	for (const char *const *e = req->env; e && *e; e++) {
		if (!str_is_utf8(str_of(*e)))
			return error_set(err, ERR_USAGE,
					 "a variable's value is not UTF-8");
		add_word(body, str_of(*e));
	}
	if (req->merged)
		buf_adds(&script, "exec 2>&1\n");
	/* variables that the setup script has set (setup_env.sh) */
	if (!req->plain)
		buf_adds(&script, "[ ! -O \"" SETUP_ENV_FILE
				  "\" ]||" SETUP_ENV_READ "\n");
	if (req->aside)
		facts_add_script(&script, req->aside);
	buf_adds(&script, docker_exec);
	buf_adds(body, "],\"Cmd\":[\"/bin/sh\",\"-c\"");
	add_word(body, buf_str(&script));
	add_word(body, STR("sh"));
	add_word(body, str_of(req->cwd ? req->cwd : sb->workdir));
	add_word(body, str_of(req->plain ? "sh" : "bash"));
	add_word(body, str_of(input && !req->dialog && !req->terminal ? "drain"
								      : ""));
	buf_release(&script);
	if (add_command(req->command, body, err) < 0)
		return -1;
	buf_adds(body, "]}");
	return buf_check(body, "the command", err);
}

/* Parser of the engine's frames, which it sends if there is no terminal: one
 * byte stream (0 standard input, 1 output, 2 errors, 3 the engine's own error),
 * three zero bytes, four bytes length, big-endian, then that many bytes
 * (docs.docker.com/reference/api/engine, "Attach to a container", 2026-11).
 * Zero-initialise. */
struct frames {
	unsigned char head[8];
	size_t head_len; /* bytes of the header received so far */
	uint32_t left;   /* bytes of the payload still missing */
};

/* Moves bytes of a frame's header from *chunk to f. Returns 1 when the header
 * is complete. */
static int read_frame_head(struct frames *f, struct str *chunk,
			   struct error *err)
{
	size_t take = HEAD - f->head_len;
	const unsigned char *h = f->head;

	if (take > chunk->len)
		take = chunk->len;
	memcpy(f->head + f->head_len, chunk->ptr, take);
	f->head_len += take;
	*chunk = str_skip(*chunk, take);
	if (f->head_len < HEAD)
		return 0;
	if (h[0] > LAST_STREAM || h[1] || h[2] || h[3])
		return error_set(err, ERR_PROTOCOL,
				 "the engine's output stream is garbled");
	f->left = (uint32_t)h[4] << 24 | (uint32_t)h[5] << 16 |
		  (uint32_t)h[6] << 8 | (uint32_t)h[7];
	return 1;
}

/* Calls each with every piece of payload as soon as it arrives, in order.
 * stream is 1, 2 or 3. Chunks may be split anywhere. -1 with ERR_PROTOCOL, or
 * when each fails. */
static int feed_frames(struct frames *f, struct str chunk,
		       int (*each)(void *arg, int stream, struct str chunk,
				   struct error *err),
		       void *arg, struct error *err)
{
	while (chunk.len) {
		size_t take;

		if (f->head_len < HEAD && read_frame_head(f, &chunk, err) < 0)
			return -1;
		if (f->head_len < HEAD)
			return 0;
		take = f->left < chunk.len ? f->left : chunk.len;
		if (take && f->head[0] &&
		    each(arg, f->head[0], (struct str){ chunk.ptr, take },
			 err) < 0)
			return -1;
		chunk = str_skip(chunk, take);
		f->left -= (uint32_t)take;
		if (!f->left)
			f->head_len = 0;
	}
	return 0;
}

/* True if the stream may end here: no frame is incomplete. */
static bool is_between_frames(const struct frames *f)
{
	return f->head_len == 0;
}

/* State of one command from start to end. */
struct exec_session {
	struct kill kill;
	struct sandbox *sb;
	struct engine *engine;
	/* borrowed from the caller; a kill may outlive it and must not use
	 * it */
	const struct exec_request *req;
	char token[TOKEN + 1];
	char *id; /* owned: id of the exec */
	struct exec_link link;
	struct frames frames;
	struct str input; /* input that was not sent yet */
	/* dialog's replies or the source's data, sent after input */
	struct buf reply;
	bool dry;      /* exec_request.source is at its end, or there is none */
	bool finished; /* dcode closed its side of the connection */
	bool closed;   /* the engine closed its side */
	bool guarded;  /* see docker_network_renew() */
	bool ended;    /* exit_code is known */
	int exit_code;
	int64_t sent_ms;   /* clock_ms() when the command was sent */
	unsigned restarts; /* docker_box.restarts at that time */
	/* Pauses between two checks whether the command has ended: while it is
	 * silent, and while it prints. Both grow. */
	struct pause {
		int64_t ms;
		int64_t end; /* clock_ms() of the next check */
	} silent, loud;
};

/* Passes output to the caller. The engine's own messages count as error
 * output. */
static int on_frame(void *arg, int stream, struct str chunk, struct error *err)
{
	struct exec_session *r = arg;
	enum exec_stream to = stream == 1 ? EXEC_STDOUT : EXEC_STDERR;

	return r->req->output(r->req->arg, to, chunk,
			      r->req->dialog ? &r->reply : NULL, err);
}

/* The output of a terminal has no frames. */
static int pass_output(struct exec_session *r, struct str chunk,
		       struct error *err)
{
	return r->req->terminal
		       ? on_frame(r, EXEC_STDOUT, chunk, err)
		       : feed_frames(&r->frames, chunk, on_frame, r, err);
}

/* Reads the next piece of exec_request.source when the previous one is sent. */
static int read_source(struct exec_session *r, struct error *err)
{
	char *room;
	int64_t n;

	if (r->dry || r->reply.len)
		return 0;
	room = buf_room(&r->reply, SOURCE);
	n = r->req->source(r->req->source_arg, room, SOURCE, err);
	if (n == EXEC_LATER)
		return 0;
	if (n < 0)
		return -1;
	r->dry = n == 0;
	buf_added(&r->reply, (size_t)n);
	return 0;
}

/* Sends POST /exec/ID/resize if the terminal's size has changed. A failure has
 * no effect. */
static void resize_terminal(struct exec_session *r, const struct stop *stop)
{
	struct exec_terminal *size = r->req->terminal;
	struct engine_ask ask = { .http.method = "POST",
				  .http.path = "/exec/",
				  .id = r->id,
				  .http.what = "changing a terminal's size" };
	struct http_response res = { 0 };
	struct error ignored = { 0 };
	char action[64];

	if (!size || !size->resized)
		return;
	size->resized = false;
	snprintf(action, sizeof(action), "/resize?h=%u&w=%u", size->rows,
		 size->columns);
	ask.action = action;
	(void)engine_call(r->engine, &ask, &res, stop, &ignored);
	http_response_release(&res);
}

/* The descriptor that shows when the source has bytes; -1: do not wait for
 * it. */
static int source_to_await(const struct exec_session *r)
{
	return r->req->source_fd && !r->dry && !r->reply.len ? r->req->source_fd
							     : -1;
}

static bool may_have_input(const struct exec_session *r)
{
	return r->input.len || r->reply.len || !r->dry;
}

/* True if there is, or may be, something to send now. */
static bool has_input_now(const struct exec_session *r)
{
	return may_have_input(r) && source_to_await(r) < 0;
}

/* Sends as much as the connection accepts: input, then replies, then the end of
 * the input. Returns 1 if something was sent. A command that has closed its
 * standard input is not an error. */
static int send_input(struct exec_session *r, struct error *err)
{
	struct error ignored = { 0 };
	bool piped = r->req->input.len || r->req->source;
	int64_t n = 0;

	if (read_source(r, err) < 0)
		return -1;
	if (r->input.len) {
		n = conn_try_send(r->link.conn, r->input, &ignored);
		r->input = n < 0 ? (struct str){ 0 }
				 : str_skip(r->input, (size_t)n);
	} else if (r->reply.len) {
		n = conn_try_send(r->link.conn, buf_str(&r->reply), &ignored);
		r->dry = r->dry || n < 0;
		buf_consume(&r->reply, n < 0 ? r->reply.len : (size_t)n);
	}
	if (!may_have_input(r) && !r->req->dialog && piped && !r->finished) {
		conn_finish(r->link.conn);
		r->finished = true;
	}
	return n > 0;
}

/* Reads available output. Returns 1 if there was some. */
static int receive_output(struct exec_session *r, struct error *err)
{
	char room[65536];
	int64_t n = conn_try_recv(r->link.conn, room, sizeof(room), &r->closed,
				  err);

	if (n <= 0)
		return (int)n;
	if (pass_output(r, (struct str){ room, (size_t)n }, err) < 0)
		return -1;
	return buf_check(&r->reply, "what the command was not asked for", err) <
			       0
		       ? -1
		       : 1;
}

/* Asks the engine whether the command has ended: a background process can keep
 * the stream open after that. */
static int check_ended(struct exec_session *r, const struct stop *stop,
		       struct error *err)
{
	struct exec_state state = { 0 };

	if (exec_inspect(r->engine, r->id, &state, stop, err) < 0)
		return -1;
	r->exit_code = state.exit_code;
	r->ended = !state.running;
	return 0;
}

static void start_pause(struct pause *p, int64_t ms)
{
	p->ms = ms;
	p->end = clock_ms() + ms;
}

/* Calls check_ended() after a second of silence, then at growing intervals, and
 * less often while there is output. */
static int check_if_due(struct exec_session *r, bool moved,
			const struct stop *stop, struct error *err)
{
	int64_t now = clock_ms();
	bool silent = !moved && now >= r->silent.end;
	bool loud = now >= r->loud.end;

	if (moved)
		start_pause(&r->silent, SILENT_MS);
	if (silent)
		start_pause(&r->silent, r->silent.ms * 2 < SILENT_MAX_MS
						? r->silent.ms * 2
						: SILENT_MAX_MS);
	else if (loud)
		start_pause(&r->loud, r->loud.ms * 2);
	return silent || loud ? check_ended(r, stop, err) : 0;
}

/* Transfers bytes until the stream ends or the engine reports the command's
 * end. */
static int transfer_bytes(struct exec_session *r, const struct stop *stop,
			  struct error *err)
{
	while (!r->closed && !r->ended) {
		int fed = send_input(r, err);
		int got = fed < 0 ? -1 : receive_output(r, err);
		int64_t left;

		if (got < 0)
			return -1;
		resize_terminal(r, stop);
		if ((got || fed) && stop_check(stop, err) < 0)
			return -1;
		if (r->closed)
			break;
		if (check_if_due(r, fed || got, stop, err) < 0)
			return -1;
		left = r->silent.end - clock_ms();
		if (!fed && !got && !r->ended &&
		    conn_wait_or(r->link.conn, has_input_now(r),
				 source_to_await(r), left > 0 ? left : 0, stop,
				 err) < 0)
			return -1;
	}
	return 0;
}

/* Reads output that was printed just before the end and has not arrived yet. */
static void drain_output(struct exec_session *r, int64_t quiet_ms,
			 struct error *err)
{
	struct stop stop = stop_cleanup(DRAIN_MS);
	struct error ignored = { 0 };
	int64_t last = clock_ms();

	while (!r->closed && stop_check(&stop, &ignored) == 0) {
		int64_t left = last + quiet_ms - clock_ms();
		int got = receive_output(r, err);

		if (got < 0 || (!got && left <= 0))
			return;
		if (got)
			last = clock_ms();
		else
			(void)conn_wait(r->link.conn, false, left, &stop,
					&ignored);
	}
}

/* Waits for the exit status after the stream has ended. The command has usually
 * ended too, but the engine needs some milliseconds to know it. */
static int wait_end(struct exec_session *r, const struct stop *stop,
		    struct error *err)
{
	int64_t ms = 2;

	if (!is_between_frames(&r->frames) && r->closed) {
		if (!r->ended && check_ended(r, stop, err) < 0)
			return -1; /* the container no longer exists */
		return error_set(err, ERR_NETWORK,
				 "the connection broke before the command's "
				 "output was complete");
	}
	while (!r->ended) {
		if (check_ended(r, stop, err) < 0)
			return -1;
		if (r->ended)
			break;
		if (stop_sleep(stop, ms, err) < 0)
			return -1;
		ms = ms * 2 < ENDED_POLL_MS ? ms * 2 : ENDED_POLL_MS;
	}
	return 0;
}

/* Creates and starts the exec. The first output may arrive with the answer's
 * headers. */
static int start_exec(struct exec_session *r, const struct stop *stop,
		      struct error *err)
{
	struct buf body = BUF_INIT(BODY_MAX);
	int rc = describe_exec(r->req, r->sb, r->token, r->guarded, &body, err);

	if (rc == 0)
		rc = exec_create(r->engine, r->sb->id, buf_str(&body), &r->id,
				 stop, err);
	r->sent_ms = clock_ms();
	if (rc == 0)
		rc = exec_start(r->engine, r->id, r->req->terminal != NULL,
				&r->link, stop, err);
	if (r->req->terminal) /* Podman 4.3 takes no size with the exec */
		r->req->terminal->resized = true;
	if (rc == 0)
		rc = pass_output(r, buf_str(&r->link.rest), err);
	start_pause(&r->silent, SILENT_MS);
	start_pause(&r->loud, LOUD_MS);
	buf_release(&body);
	return rc;
}

/* Implements kill.run. The connection stays open until the kill is done, so
 * that the command's input does not end early. */
static void kill_tree(struct kill *k)
{
	struct exec_session *r = (struct exec_session *)k;
	struct docker_call call = { r->sb->id, r->id, r->token, r->sent_ms };

	docker_kill(r->sb->priv, &call);
}

static void free_session(struct kill *k)
{
	struct exec_session *r = (struct exec_session *)k;

	exec_link_release(&r->link);
	buf_release(&r->reply);
	free(r->id);
	free(r);
}

/* Kills a command if it was sent. Returns -1 if the caller was cancelled while
 * it waited for the kill. */
static int end_command(struct exec_session *r, const struct stop *stop,
		       struct error *err)
{
	return r->link.sent ? sandbox_kill(r->sb, &r->kill, stop, err) : 0;
}

/* Closes the connection of a command whose output nobody reads any more. Such a
 * command may print without end, and while the connection is full, the engine
 * would neither start the killer nor notice the command's end. If the command
 * has input, the connection stays open, so that the input does not end
 * early. */
static void hang_up(struct exec_session *r)
{
	bool sent = r->link.sent;

	if (r->req->input.len || r->req->dialog || r->req->source)
		return;
	exec_link_release(&r->link);
	r->link.sent = sent;
}

/* Kills a command that exceeded its time limit. Its output so far is kept. */
static int kill_timed_out(struct exec_session *r, struct exec_result *res,
			  const struct stop *stop, struct error *err)
{
	struct error failed = { 0 };

	if (end_command(r, stop, err) < 0)
		return -1;
	if (r->link.conn)
		drain_output(r, DRAIN_MS, &failed);
	res->timed_out = true;
	res->exit_code = 124;
	*err = (struct error){ 0 };
	return 0;
}

/* True if a restart of the container ended the command. Exit status 137 is a
 * death by SIGKILL. */
static bool ended_by_restart(const struct exec_session *r, int rc,
			     const struct error *why)
{
	if (rc == 0 ? r->exit_code != 137
		    : why->code == ERR_CANCELLED || why->code == ERR_TIMEOUT ||
			      !r->link.sent)
		return false;
	return docker_box_restarted(r->sb->priv, r->sb->id, r->restarts);
}

static int report_restart(const struct exec_session *r, struct exec_result *res,
			  struct error *err)
{
	static const char text[] =
		"the container was restarted, which ended this command";

	if (r->req->plain) /* dcode's own helper: the caller expects an error */
		return error_set(err, ERR_REMOTE, "%s", text);
	snprintf(res->notice, sizeof(res->notice),
		 "The container was restarted to end what another command left "
		 "running. That ended this command, too.");
	res->exit_code = 137;
	*err = (struct error){ 0 };
	return 0;
}

static int run_command(struct exec_session *r, const struct stop *stop,
		       struct error *err)
{
	int rc = start_exec(r, stop, err);

	if (rc == 0)
		rc = transfer_bytes(r, stop, err);
	if (rc == 0 && !r->closed)
		drain_output(r, DRAIN_QUIET_MS, err);
	if (rc == 0)
		rc = wait_end(r, stop, err);
	return rc;
}

/* Fills in the result of a command that has ended, or kills the command. late:
 * its time limit has passed. */
static int finish_result(struct exec_session *r, int rc, bool late,
			 struct exec_result *res, const struct stop *stop,
			 struct error *why)
{
	if (rc < 0 && late)
		return kill_timed_out(r, res, stop, why);
	if (ended_by_restart(r, rc, why))
		return report_restart(r, res, why);
	if (rc == 0) {
		res->exit_code = r->exit_code;
	} else {
		hang_up(r);
		(void)end_command(r, stop, why);
	}
	return rc;
}

/* The command runs all the same: it can need no network, and repair what is in
 * the way. */
static void tell_failure(struct exec_result *res, const struct error *why)
{
	snprintf(res->notice, sizeof(res->notice),
		 "network: dcode could not connect this container, which has "
		 "no network until the next command tries again: %s",
		 why->message);
}

/* Another dcode connected the container when the command began. If that one has
 * ended, connects it and says so: the command may have lost its network. */
static void take_over(struct sandbox *sb, struct exec_result *res,
		      const struct stop *stop)
{
	struct error why = { 0 };
	bool guarded = false;
	int rc = docker_network_renew(sb, &guarded, stop, &why);

	if (res->notice[0])
		return;
	if (rc < 0 && why.code != ERR_CANCELLED)
		tell_failure(res, &why);
	else if (guarded)
		snprintf(res->notice, sizeof(res->notice),
			 "network: another dcode connected this container, and "
			 "ended before the command did. From now on this one "
			 "connects it: if the network was missing, repeat the "
			 "command");
}

int docker_execute(struct sandbox *sb, const struct exec_request *req,
		   struct exec_result *res, const struct stop *stop,
		   struct error *err)
{
	struct docker_box *box = sb->priv;
	struct exec_session *r = xcalloc(1, sizeof(*r));
	struct stop within = req->timeout_ms > 0
				     ? stop_within(stop, req->timeout_ms)
				     : *stop;
	bool own_time = within.deadline < stop->deadline;
	struct error why = { 0 };
	bool guarded;
	struct error lost = { 0 }; /* why there is no network */
	int rc = docker_network_renew(sb, &guarded, &within, &lost);
	bool is_lost = rc < 0;

	if (is_lost && stop_check(&within, err) < 0) {
		free(r);
		return -1;
	}
	*r = (struct exec_session){
		.kill = { .run = kill_tree, .release = free_session },
		.sb = sb,
		.engine = &((struct docker *)sb->client->priv)->engine,
		.req = req,
		.input = req->input,
		.dry = !req->source,
		.guarded = guarded,
		.reply = BUF_INIT(REPLY_MAX),
	};
	r->restarts = docker_box_restarts(box);
	ids_random(r->token, TOKEN);
	rc = run_command(r, &within, &why);
	rc = finish_result(r, rc, why.code == ERR_TIMEOUT && own_time, res,
			   stop, &why);
	if (rc < 0)
		*err = why;
	/* nobody sees what is said below dcode's own commands */
	if (!req->plain && is_lost)
		tell_failure(res, &lost);
	if (!req->plain && (rc == 0 || why.code != ERR_CANCELLED))
		docker_box_take_notice(box, res->notice);
	if (!req->plain && rc == 0 && !guarded)
		take_over(sb, res, stop);
	kill_drop(&r->kill);
	return rc;
}
