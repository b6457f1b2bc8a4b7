/* docker_kill.c - our own programs inside, above all the killer. */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "providers/docker_stream.h"

enum { KILL_MS = 2000, POLL_MS = 5 };

static const char kill_tree[] = {
#include "scripts/sandbox/kill_tree.sh.inc"
	0
};

/* Root with all capabilities may look into every process; an engine that
 * refuses that is asked for the container's own user. */
static void describe(const char *const *argv, bool root, struct buf *body)
{
	buf_adds(body, "{\"AttachStdout\":true,\"AttachStderr\":true,");
	if (root)
		buf_adds(body, "\"Privileged\":true,\"User\":\"0\",");
	buf_adds(body, "\"WorkingDir\":\"/\",\"Cmd\":[");
	for (size_t i = 0; argv[i]; i++) {
		if (i)
			buf_addc(body, ',');
		json_quote(body, str_of(argv[i]));
	}
	buf_adds(body, "]}");
}

/* Until the stream ends; without a wish for the status, until it says
 * anything. */
static int listen_to(struct conn *c, bool to_end, const struct stop *stop,
		     struct error *err)
{
	char room[512];
	int64_t n;

	do {
		n = conn_recv(c, room, sizeof(room), stop, err);
	} while (n > 0 && to_end);
	return n < 0 ? -1 : 0;
}

/* Until the engine knows how it ended. */
static int wait_status(struct engine *e, const char *id, int *status,
		       const struct stop *stop, struct error *err)
{
	bool running = true;

	for (;;) {
		if (exec_inspect(e, id, &running, status, stop, err) < 0)
			return -1;
		if (!running)
			return 0;
		if (stop_sleep(stop, POLL_MS, err) < 0)
			return -1;
	}
}

static int run(struct engine *e, const char *container, struct str body,
	       int *status, const struct stop *stop, struct error *err)
{
	struct exec_link link = { 0 };
	char *id = NULL;
	int rc = exec_create(e, container, body, &id, stop, err);

	if (rc == 0)
		rc = exec_start(e, id, &link, stop, err);
	if (rc == 0 && (status || !link.rest.len))
		rc = listen_to(link.conn, status != NULL, stop, err);
	if (rc == 0 && status)
		rc = wait_status(e, id, status, stop, err);
	exec_link_release(&link);
	free(id);
	return rc;
}

int docker_as_root(struct engine *e, const char *container,
		   const char *const *argv, int *status,
		   const struct stop *stop, struct error *err)
{
	struct error why = { 0 };
	int rc = -1;

	for (int root = 1; root >= 0; root--) {
		struct buf body = BUF_INIT(64 << 10);

		why = (struct error){ 0 };
		describe(argv, root, &body);
		rc = run(e, container, buf_str(&body), status, stop, &why);
		buf_release(&body);
		if (rc == 0 || (why.code != ERR_REMOTE && why.code != ERR_AUTH))
			break;
	}
	if (rc < 0)
		*err = why;
	return rc;
}

int docker_kill(struct engine *e, const char *container, const char *token,
		const struct stop *stop, struct error *err)
{
	const char *const argv[] = { "/bin/sh", "-c",  kill_tree,
				     "sh",      token, NULL };

	return docker_as_root(e, container, argv, NULL, stop, err);
}

struct kill_job {
	struct docker *docker; /* outlives the job: see docker_kills_done() */
	char *container;
	char *token;
};

static void *kill_thread(void *arg)
{
	struct kill_job *job = arg;
	struct stop brief = stop_cleanup(KILL_MS);
	struct error ignored = { 0 };

	(void)docker_kill(&job->docker->engine, job->container, job->token,
			  &brief, &ignored);
	atomic_fetch_sub(&job->docker->kills, 1);
	free(job->container);
	free(job->token);
	free(job);
	return NULL;
}

void docker_kill_later(struct docker *d, const char *container,
		       const char *token)
{
	struct kill_job *job = xcalloc(1, sizeof(*job));
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all;
	sigset_t before;

	job->docker = d;
	job->container = xstrdup(container);
	job->token = xstrdup(token);
	atomic_fetch_add(&d->kills, 1);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attr, kill_thread, job) != 0)
		kill_thread(job);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int docker_kills_done(struct docker *d, const struct stop *stop,
		      struct error *err)
{
	while (atomic_load(&d->kills) > 0)
		if (stop_sleep(stop, POLL_MS, err) < 0)
			return -1;
	return 0;
}
