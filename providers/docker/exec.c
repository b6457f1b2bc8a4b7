/* exec.c - one command: three requests, live output, killed whole. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "providers/docker/command.h"
#include "providers/docker/frames.h"
#include "providers/docker/kill.h"
#include "providers/docker/stream.h"

enum {
	BODY_MAX = 16 << 20,  /* bytes of the exec's description */
	REPLY_MAX = 16 << 20, /* bytes that a dialog may leave unsent */
	SOURCE = 64 << 10,    /* bytes asked of a source at once */
	TOKEN = 16,
	SILENT_MS = 1000, /* then the engine is asked whether it ended */
	SILENT_MAX_MS = 15000,
	LOUD_MS = 10000,     /* the same while output comes */
	DRAIN_QUIET_MS = 50, /* after the end: so long without a byte, */
	DRAIN_MS = 1000,     /* or so long at all */
	ENDED_POLL_MS = 500,
};

struct docker_run {
	struct sandbox *sb;
	struct engine *engine;
	const struct exec_request *req;
	char token[TOKEN + 1];
	char *id; /* owned: the exec's */
	struct exec_link link;
	struct docker_frames frames;
	struct str input; /* still to send */
	struct buf reply; /* dialog, or from the source: to send after it */
	bool dry;         /* the source has no more, or there is none */
	bool finished;    /* our side of the connection is closed */
	bool closed;      /* theirs */
	bool ended;       /* exit_code is known */
	int exit_code;
	int64_t sent_ms;   /* when the command was sent */
	unsigned restarts; /* of the container until then */
	/* Between two questions whether it has ended; both grow. */
	struct pause {
		int64_t ms;
		int64_t end; /* by clock_ms() */
	} silent, loud;
};

static int on_frame(void *arg, int stream, struct str chunk, struct error *err)
{
	struct docker_run *r = arg;
	enum exec_stream to = stream == 1 ? EXEC_STDOUT : EXEC_STDERR;

	return r->req->output(r->req->arg, to, chunk,
			      r->req->dialog ? &r->reply : NULL, err);
}

/* Asks the source for more once all that it gave is sent. */
static int read_source(struct docker_run *r, struct error *err)
{
	char *room;
	int64_t n;

	if (r->dry || r->reply.len)
		return 0;
	room = buf_room(&r->reply, SOURCE);
	n = r->req->source(r->req->source_arg, room, SOURCE, err);
	if (n < 0)
		return -1;
	r->dry = n == 0;
	buf_added(&r->reply, (size_t)n);
	return 0;
}

static bool wants_input(const struct docker_run *r)
{
	return r->input.len || r->reply.len || !r->dry;
}

/* Sends what the command takes now: input, then replies, or the end; 1 when
 * something went. A command that closed its input is no failure of ours. */
static int send_input(struct docker_run *r, struct error *err)
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
	if (!wants_input(r) && !r->req->dialog && piped && !r->finished) {
		conn_finish(r->link.conn);
		r->finished = true;
	}
	return n > 0;
}

/* 1 when something came, 0 when not. */
static int receive_output(struct docker_run *r, struct error *err)
{
	char room[65536];
	int64_t n = conn_try_recv(r->link.conn, room, sizeof(room), &r->closed,
				  err);

	if (n <= 0)
		return (int)n;
	if (docker_frames_feed(&r->frames, (struct str){ room, (size_t)n },
			       on_frame, r, err) < 0)
		return -1;
	return buf_check(&r->reply, "what the command was not asked for", err) <
			       0
		       ? -1
		       : 1;
}

/* A background process may hold the stream open after the command's end, so
 * the engine is asked. */
static int check_ended(struct docker_run *r, const struct stop *stop,
		       struct error *err)
{
	struct exec_state state = { 0 };

	if (exec_inspect(r->engine, r->id, &state, stop, err) < 0)
		return -1;
	r->exit_code = state.exit_code;
	r->ended = !state.running;
	return 0;
}

/* Begins a pause, after which the engine is asked. */
static void start_pause(struct pause *p, int64_t ms)
{
	p->ms = ms;
	p->end = clock_ms() + ms;
}

static int check_if_due(struct docker_run *r, bool moved,
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

/* Until the stream ends, or the engine says that the command has. */
static int pump(struct docker_run *r, const struct stop *stop,
		struct error *err)
{
	while (!r->closed && !r->ended) {
		int fed = send_input(r, err);
		int got = fed < 0 ? -1 : receive_output(r, err);
		int64_t left;

		if (got < 0)
			return -1;
		if ((got || fed) && stop_check(stop, err) < 0)
			return -1;
		if (r->closed)
			break;
		if (check_if_due(r, fed || got, stop, err) < 0)
			return -1;
		left = r->silent.end - clock_ms();
		if (!fed && !got && !r->ended &&
		    conn_wait(r->link.conn, wants_input(r), left > 0 ? left : 0,
			      stop, err) < 0)
			return -1;
	}
	return 0;
}

/* What was printed just before the end is still on its way. */
static void drain(struct docker_run *r, int64_t quiet_ms, struct error *err)
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

/* The stream has ended: the command nearly always has, too. */
static int wait_end(struct docker_run *r, const struct stop *stop,
		    struct error *err)
{
	int64_t ms = 2;

	if (!docker_frames_whole(&r->frames) && r->closed) {
		if (!r->ended && check_ended(r, stop, err) < 0)
			return -1; /* the container has gone */
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

static int start(struct docker_run *r, const struct stop *stop,
		 struct error *err)
{
	struct buf body = BUF_INIT(BODY_MAX);
	int rc = docker_command(r->req, r->sb->workdir, r->token, &body, err);

	if (rc == 0)
		rc = exec_create(r->engine, r->sb->id, buf_str(&body), &r->id,
				 stop, err);
	r->sent_ms = clock_ms();
	if (rc == 0)
		rc = exec_start(r->engine, r->id, &r->link, stop, err);
	if (rc == 0)
		rc = docker_frames_feed(&r->frames, buf_str(&r->link.rest),
					on_frame, r, err);
	start_pause(&r->silent, SILENT_MS);
	start_pause(&r->loud, LOUD_MS);
	buf_release(&body);
	return rc;
}

static void kill_tree(struct docker_run *r, bool later,
		      char notice[SANDBOX_NOTICE])
{
	struct docker_call call = { r->sb->id, r->id, r->token, r->sent_ms };

	if (!r->link.sent)
		return;
	if (later)
		docker_kill_later(r->sb->priv, &call);
	else
		docker_kill(r->sb->priv, &call, notice);
}

/* Kills it and keeps what it printed. */
static int time_out(struct docker_run *r, struct exec_result *res,
		    struct error *err)
{
	struct error failed = { 0 };

	kill_tree(r, false, res->notice);
	if (r->link.conn)
		drain(r, DRAIN_MS, &failed);
	res->timed_out = true;
	res->exit_code = 124;
	*err = (struct error){ 0 };
	return 0;
}

/* True when a restart of the container ended it (137: by SIGKILL). */
static bool ended_by_restart(const struct docker_run *r, int rc,
			     const struct error *why)
{
	if (rc == 0 ? r->exit_code != 137
		    : why->code == ERR_CANCELLED || why->code == ERR_TIMEOUT ||
			      !r->link.sent)
		return false;
	return docker_box_restarted(r->sb->priv, r->sb->id, r->restarts);
}

static int report_restart(const struct docker_run *r, struct exec_result *res,
			  struct error *err)
{
	static const char text[] =
		"the container was restarted, which ended this command";

	if (r->req->plain) /* a helper of ours: its reader expects an error */
		return error_set(err, ERR_REMOTE, "%s", text);
	snprintf(res->notice, sizeof(res->notice),
		 "The container was restarted to end what another command left "
		 "running. That ended this command, too.");
	res->exit_code = 137;
	*err = (struct error){ 0 };
	return 0;
}

static int run_command(struct docker_run *r, const struct stop *stop,
		       struct error *err)
{
	int rc = start(r, stop, err);

	if (rc == 0)
		rc = pump(r, stop, err);
	if (rc == 0 && !r->closed)
		drain(r, DRAIN_QUIET_MS, err);
	if (rc == 0)
		rc = wait_end(r, stop, err);
	return rc;
}

/* Fills the result of a command that has ended or was given up. late: its own
 * time is up. */
static int finish_result(struct docker_run *r, int rc, bool late,
			 struct exec_result *res, struct error *why)
{
	bool cancelled = why->code == ERR_CANCELLED;

	if (rc < 0 && late)
		return time_out(r, res, why);
	if (ended_by_restart(r, rc, why))
		return report_restart(r, res, why);
	if (rc == 0)
		res->exit_code = r->exit_code;
	else
		kill_tree(r, cancelled, res->notice);
	return rc;
}

int docker_execute(struct sandbox *sb, const struct exec_request *req,
		   struct exec_result *res, const struct stop *stop,
		   struct error *err)
{
	struct docker_box *box = sb->priv;
	struct docker_run r = {
		.sb = sb,
		.engine = &((struct docker *)sb->host->priv)->engine,
		.req = req,
		.input = req->input,
		.dry = !req->source,
		.reply = BUF_INIT(REPLY_MAX),
	};
	struct stop within = req->timeout_ms > 0
				     ? stop_within(stop, req->timeout_ms)
				     : *stop;
	bool own_time = within.deadline < stop->deadline;
	struct error why = { 0 };
	int rc;

	if (docker_kills_done(box, stop, err) < 0)
		return -1;
	r.restarts = docker_box_restarts(box);
	ids_random(r.token, TOKEN);
	rc = run_command(&r, &within, &why);
	rc = finish_result(&r, rc, why.code == ERR_TIMEOUT && own_time, res,
			   &why);
	if (rc < 0)
		*err = why;
	if (!req->plain)
		docker_box_take_notice(box, res->notice);
	exec_link_release(&r.link);
	buf_release(&r.reply);
	free(r.id);
	return rc;
}
