/* remove.c - the end of a sandbox: stopped, deleted, nothing billed. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/vercel/vercel.h"

enum { BUSY_MS = 300 }; /* between tries while a state changes */

/* Of what is gone already, 404 is fine. */
static int send(struct vercel *v, const char *method, const char *bare,
		const char *query, const struct stop *stop, struct error *err)
{
	char *path = vercel_path(v, bare, query);
	struct rest_ask ask = { .method = method,
				.path = path,
				.what = "deleting the sandbox",
				.flags = REST_MISSING_OK };
	int rc = vercel_api(v, &ask, NULL, NULL, stop, err);

	free(path);
	return rc;
}

struct state {
	enum vercel_status status; /* VERCEL_ENDED: or there is none */
	bool keeps;                /* its end leaves a snapshot */
	char *session;             /* owned */
};

/* 1 when there is no such sandbox. */
static int ask_state(struct vercel *v, const char *id, struct state *s,
		     const struct stop *stop, struct error *err)
{
	cJSON *tree = NULL;
	struct error why = { 0 };
	const cJSON *part;
	int rc = vercel_get(v, id, false, &tree, stop, &why);

	*s = (struct state){ .status = VERCEL_ENDED };
	if (rc < 0 && (why.code == ERR_NOT_FOUND || why.http_status == 410)) {
		rc = 1;
	} else if (rc < 0) {
		*err = why;
	} else {
		part = json_get(tree, v->v1 ? "sandbox" : "session");
		s->status = vercel_status(json_string(part, "status", ""));
		s->session = xstrdup(json_string(part, "id", ""));
		s->keeps = json_bool(json_get(tree, "sandbox"), "persistent",
				     false);
	}
	cJSON_Delete(tree);
	return rc;
}

/* Stops the session, which costs money, but not one that would leave a
 * snapshot behind: that ends with its sandbox. */
static int stop_session(struct vercel *v, const char *session,
			const struct stop *stop, struct error *err)
{
	char *bare = xasprintf("/%s/%s/stop",
			       v->v1 ? "v1/sandboxes" : "v2/sandboxes/sessions",
			       session);
	int rc = send(v, "POST", bare, NULL, stop, err);

	free(bare);
	if (rc < 0 && (err->http_status == 410 || err->http_status == 422 ||
		       err->http_status == 409))
		rc = 0;
	return rc;
}

/* 409, 422: its state is changing. */
static int delete_named(struct vercel *v, const char *id,
			const struct stop *stop, struct error *err)
{
	char *bare = xasprintf("/v2/sandboxes/%s", id);
	char *query = vercel_project(v, "projectId");
	struct error why = { 0 };
	int rc = send(v, "DELETE", bare, query, stop, &why);

	if (why.http_status == 409 || why.http_status == 422)
		why.code = ERR_BUSY;
	if (rc < 0 && why.http_status == 410)
		rc = 0;
	if (rc < 0)
		*err = why;
	free(query);
	free(bare);
	return rc;
}

/* v1 knows no deletion: what has ended is gone. */
static int wait_ended(struct vercel *v, const char *id, const struct stop *stop,
		      struct error *err)
{
	for (;;) {
		struct state s;
		int rc = ask_state(v, id, &s, stop, err);

		free(s.session);
		if (rc < 0 || s.status == VERCEL_ENDED)
			return rc < 0 ? -1 : 0;
		if (stop_sleep(stop, BUSY_MS, err) < 0)
			return -1;
	}
}

int vercel_remove(struct sandbox_client *host, const char *id,
		  const struct stop *stop, struct error *err)
{
	struct vercel *v = vercel_of(host);
	struct state s;
	int rc;

	if (!vercel_id_ok(id))
		return error_set(err, ERR_USAGE, "'%.100s' is no sandbox id",
				 id);
	rc = ask_state(v, id, &s, stop, err);
	if (rc != 0)
		return rc;
	if (s.status != VERCEL_ENDED && !s.keeps && vercel_id_ok(s.session))
		rc = stop_session(v, s.session, stop, err);
	if (rc == 0 && v->v1)
		rc = wait_ended(v, id, stop, err);
	else if (rc == 0)
		rc = delete_named(v, id, stop, err);
	free(s.session);
	return rc;
}
