/* kill.c - ends the processes of one command in a container. */
/* SPDX-License-Identifier: MIT */
#include "providers/docker/kill.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "providers/docker/stream.h"
#include "providers/docker/top.h"

enum {
	KILL_MS = 2000, /* then the container is restarted, */
	RESTART_MS = 30000,
	STAYS_MS = 100, /* and is inspected after this */
	ASK_MS = 5000,  /* for one question to the engine */
	POLL_MS = 5,
	COUNT_PAUSE_MS = 100,
	NAMES_MAX = 400, /* bytes */
};

static const char kill_tree[] = {
#include "scripts/sandbox/kill_tree.sh.inc"
	0
};

struct kill_job {
	struct docker_box *box;
	struct docker_call call;
	struct top_call seen;
	char notice[SANDBOX_NOTICE];
};

static void add_notice(char notice[SANDBOX_NOTICE], const char *text)
{
	size_t len = strlen(notice);

	if (*text)
		snprintf(notice + len, SANDBOX_NOTICE - len, "%s%s",
			 len ? " " : "", text);
}

/*
 * The container's own sh, whatever a command has made of it: so it gets the
 * user and the rights that commands have, never "Privileged" or another user
 * (a replaced /bin/sh would get all capabilities at the next timeout), and
 * what it says is not believed.
 */
static void describe_killer(const char *token, struct buf *body)
{
	buf_adds(body, "{\"AttachStdout\":true,\"AttachStderr\":true,"
		       "\"WorkingDir\":\"/\",\"Cmd\":[\"/bin/sh\",\"-c\",");
	json_quote(body, str_of(kill_tree));
	buf_adds(body, ",\"sh\",");
	json_quote(body, str_of(token));
	buf_adds(body, "]}");
}

/* Runs it until its output ends. When the time is over first, its pid is asked
 * for. */
static void run_killer(struct kill_job *job, const struct stop *stop)
{
	struct engine *e = &job->box->docker->engine;
	struct stop brief = stop_cleanup(ASK_MS);
	struct buf body = BUF_INIT(64 << 10);
	struct exec_link link = { 0 };
	struct exec_state state = { 0 };
	struct error ignored = { 0 };
	char room[512];
	char *id = NULL;
	int64_t n = 1;

	describe_killer(job->call.token, &body);
	if (exec_create(e, job->call.container, buf_str(&body), &id, stop,
			&ignored) == 0 &&
	    exec_start(e, id, &link, stop, &ignored) == 0)
		while (n > 0)
			n = conn_recv(link.conn, room, sizeof(room), stop,
				      &ignored);
	if (n != 0 && link.sent &&
	    exec_inspect(e, id, &state, &brief, &ignored) == 0)
		job->seen.killer = state.pid;
	exec_link_release(&link);
	buf_release(&body);
	free(id);
}

/* For engines without a list of processes: only the call's first one can be
 * asked for. */
static size_t count_exec(struct kill_job *job, const struct stop *stop,
			 struct buf *names)
{
	struct exec_state state = { 0 };
	struct error ignored = { 0 };

	if (exec_inspect(&job->box->docker->engine, job->call.exec, &state,
			 stop, &ignored) < 0 ||
	    !state.running)
		return 0;
	buf_adds(names, "the command itself");
	return 1;
}

/* How many processes of the call live, from the engine's view; their names,
 * and those of what earlier commands left running. */
static size_t count_living(struct kill_job *job, struct buf *names,
			   struct buf *others)
{
	struct engine *e = &job->box->docker->engine;
	struct stop stop = stop_cleanup(ASK_MS);
	struct error why = { 0 };
	cJSON *inspected = NULL;
	struct top top = { 0 };
	const cJSON *state;
	size_t n = 0;

	buf_clear(names);
	buf_clear(others);
	if (engine_inspect(e, job->call.container, &inspected, &stop, &why) < 0)
		return why.code == ERR_NOT_FOUND
			       ? 0
			       : count_exec(job, &stop, names);
	state = json_get(inspected, "State");
	job->seen.init = json_int(state, "Pid", 0);
	job->seen.age_ms = clock_ms() - job->call.sent_ms;
	if (!json_bool(state, "Running", true)) {
		; /* every process ends with the first */
	} else if (top_read(e, job->call.container, &top, &stop, &why) < 0) {
		n = count_exec(job, &stop, names);
	} else {
		n = top_names(&top, &job->seen, false, names);
		(void)top_names(&top, &job->seen, true, others);
	}
	top_release(&top);
	cJSON_Delete(inspected);
	return n;
}

/* 0 when the container runs again, with another first process. */
static int restart(struct kill_job *job, struct error *err)
{
	struct engine *e = &job->box->docker->engine;
	struct stop stop = stop_cleanup(RESTART_MS);
	cJSON *inspected = NULL;
	int rc;

	pthread_mutex_lock(&job->box->lock);
	job->box->restarts++;
	pthread_mutex_unlock(&job->box->lock);
	rc = engine_post(e, job->call.container, "/restart?t=0",
			 "restarting the container", &stop, err);
	if (rc == 0)
		rc = stop_sleep(&stop, STAYS_MS, err);
	if (rc == 0)
		rc = engine_inspect(e, job->call.container, &inspected, &stop,
				    err);
	if (rc == 0) {
		docker_box_set_init(job->box, inspected);
		if (!json_bool(json_get(inspected, "State"), "Running", false))
			rc = error_set(err, ERR_GONE,
				       "its first process, /bin/sh, ended at "
				       "once");
	}
	cJSON_Delete(inspected);
	return rc;
}

static void end_by_restart(struct kill_job *job, const struct buf *names,
			   const struct buf *others)
{
	struct error err = { 0 };
	char *text;

	if (restart(job, &err) < 0)
		text = xasprintf(
			"Processes of the command outlived it (%s). Restarting "
			"the container to end them failed: %s.",
			names->ptr, err.message);
	else
		text = xasprintf(
			"The container was restarted, because processes of the "
			"command outlived it (%s). Files are kept, except "
			"those of tmpfs mounts.%s%s%s",
			names->ptr,
			others->len ? " These background processes ended with "
				      "it: "
				    : " Background processes ended with it",
			others->len ? others->ptr : "", ".");
	add_notice(job->notice, text);
	free(text);
}

static void report_living(struct kill_job *job, const struct buf *names)
{
	char *text = xasprintf(
		"Processes of the command keep running; the container is not "
		"restarted, because it was attached: %s.",
		names->ptr);

	add_notice(job->notice, text);
	free(text);
}

static void end_call(struct kill_job *job)
{
	struct stop limit = stop_cleanup(KILL_MS);
	struct buf names = BUF_INIT(NAMES_MAX);
	struct buf others = BUF_INIT(NAMES_MAX);
	struct exec_state state = { 0 };
	struct error ignored = { 0 };
	size_t living;

	if (exec_inspect(&job->box->docker->engine, job->call.exec, &state,
			 &limit, &ignored) == 0)
		job->seen.root = state.pid;
	job->seen.init_reaps = job->box->created;
	run_killer(job, &limit);
	do {
		living = count_living(job, &names, &others);
	} while (living && stop_sleep(&limit, COUNT_PAUSE_MS, &ignored) == 0);
	if (!living)
		goto done;
	if (!job->box->created) {
		report_living(job, &names);
		goto done;
	}
	/* Another thread may have restarted it meanwhile. */
	pthread_mutex_lock(&job->box->restarting);
	if (count_living(job, &names, &others))
		end_by_restart(job, &names, &others);
	pthread_mutex_unlock(&job->box->restarting);
done:
	buf_release(&names);
	buf_release(&others);
}

void docker_kill(struct docker_box *box, const struct docker_call *call,
		 char notice[SANDBOX_NOTICE])
{
	struct kill_job job = { .box = box, .call = *call };

	end_call(&job);
	add_notice(notice, job.notice);
}

static void *kill_thread(void *arg)
{
	struct kill_job *job = arg;
	struct docker_box *box = job->box;

	end_call(job);
	pthread_mutex_lock(&box->lock);
	add_notice(box->notice, job->notice);
	pthread_mutex_unlock(&box->lock);
	free((char *)job->call.container);
	free((char *)job->call.exec);
	free((char *)job->call.token);
	free(job);
	atomic_fetch_sub(&box->kills, 1); /* the box may be freed now */
	return NULL;
}

void docker_kill_later(struct docker_box *box, const struct docker_call *call)
{
	struct kill_job *job = xcalloc(1, sizeof(*job));
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all;
	sigset_t before;

	job->box = box;
	job->call = (struct docker_call){ xstrdup(call->container),
					  xstrdup(call->exec),
					  xstrdup(call->token), call->sent_ms };
	atomic_fetch_add(&box->kills, 1);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attr, kill_thread, job) != 0)
		kill_thread(job);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int docker_kills_done(struct docker_box *box, const struct stop *stop,
		      struct error *err)
{
	while (atomic_load(&box->kills) > 0)
		if (stop_sleep(stop, POLL_MS, err) < 0)
			return -1;
	return 0;
}

struct docker_box *docker_box_new(struct docker *docker, bool created)
{
	struct docker_box *box = xcalloc(1, sizeof(*box));

	box->docker = docker;
	box->created = created;
	pthread_mutex_init(&box->lock, NULL);
	pthread_mutex_init(&box->restarting, NULL);
	return box;
}

void docker_box_free(struct docker_box *box)
{
	struct stop never = stop_on(NULL);
	struct error ignored = { 0 };

	if (!box)
		return;
	(void)docker_kills_done(box, &never, &ignored);
	pthread_mutex_destroy(&box->lock);
	pthread_mutex_destroy(&box->restarting);
	free(box);
}

void docker_box_set_init(struct docker_box *box, const cJSON *inspected)
{
	pthread_mutex_lock(&box->lock);
	box->init = json_int(json_get(inspected, "State"), "Pid", 0);
	pthread_mutex_unlock(&box->lock);
}

void docker_box_take_notice(struct docker_box *box, char notice[SANDBOX_NOTICE])
{
	pthread_mutex_lock(&box->lock);
	add_notice(notice, box->notice);
	box->notice[0] = '\0';
	pthread_mutex_unlock(&box->lock);
}

unsigned docker_box_restarts(struct docker_box *box)
{
	unsigned restarts;

	pthread_mutex_lock(&box->lock);
	restarts = box->restarts;
	pthread_mutex_unlock(&box->lock);
	return restarts;
}

/* Its pid once it runs; 0 when it does not within ms. */
static int64_t running_init(struct docker *d, const char *container, int64_t ms)
{
	struct stop stop = stop_cleanup(ms);
	struct error ignored = { 0 };
	int64_t init = 0;

	do {
		cJSON *inspected = NULL;
		const cJSON *state;

		if (engine_inspect(&d->engine, container, &inspected, &stop,
				   &ignored) < 0)
			return 0;
		state = json_get(inspected, "State");
		if (json_bool(state, "Running", false))
			init = json_int(state, "Pid", 0);
		cJSON_Delete(inspected);
	} while (!init && stop_sleep(&stop, COUNT_PAUSE_MS, &ignored) == 0);
	return init;
}

bool docker_box_restarted(struct docker_box *box, const char *container,
			  unsigned restarts)
{
	int64_t init;
	bool changed;

	if (docker_box_restarts(box) != restarts)
		return true;
	init = running_init(box->docker, container, KILL_MS);
	pthread_mutex_lock(&box->lock);
	changed = init && box->init && box->init != init;
	if (init)
		box->init = init;
	pthread_mutex_unlock(&box->lock);
	return changed;
}
