/* docker_kill.c - our own programs inside, above all the killer. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "providers/docker_stream.h"

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

static int run_as(struct engine *e, const char *container,
		  const char *const *argv, bool root, int *status,
		  const struct stop *stop, struct error *err)
{
	struct buf body = BUF_INIT(64 << 10);
	struct buf rest = { 0 };
	struct conn *c = NULL;
	bool running = true;
	bool sent = false;
	char *id = NULL;
	int rc;

	describe(argv, root, &body);
	rc = exec_create(e, container, buf_str(&body), &id, stop, err);
	if (rc == 0)
		rc = exec_start(e, id, &c, &rest, &sent, stop, err);
	if (rc == 0 && (status || !rest.len))
		rc = listen_to(c, status != NULL, stop, err);
	while (rc == 0 && status && running) {
		rc = exec_inspect(e, id, &running, status, stop, err);
		if (rc == 0 && running)
			rc = stop_sleep(stop, 5, err);
	}
	conn_close(c);
	free(id);
	buf_release(&rest);
	buf_release(&body);
	return rc;
}

int docker_as_root(struct engine *e, const char *container,
		   const char *const *argv, int *status,
		   const struct stop *stop, struct error *err)
{
	struct error first = { 0 };

	if (run_as(e, container, argv, true, status, stop, &first) == 0)
		return 0;
	if (first.code != ERR_REMOTE && first.code != ERR_AUTH) {
		*err = first;
		return -1;
	}
	return run_as(e, container, argv, false, status, stop, err);
}

int docker_kill(struct engine *e, const char *container, const char *token,
		const struct stop *stop, struct error *err)
{
	const char *const argv[] = { "/bin/sh", "-c",  kill_tree,
				     "sh",      token, NULL };

	return docker_as_root(e, container, argv, NULL, stop, err);
}
