/* end.c - stops and removes containers. */
/* SPDX-License-Identifier: MIT */
#include "base/json.h"
#include "providers/docker/engine.h"

enum { POLL_MS = 50 };

/* 1 when there is none, 2 while the engine is still at it. */
static int remove_once(struct engine *e, const char *id,
		       const struct stop *stop, struct error *err)
{
	struct http_response res = { 0 };
	struct engine_ask ask = { .method = "DELETE",
				  .path = "/containers/",
				  .id = id,
				  .action = "?force=true&v=true",
				  .what = "removing the container" };
	int rc = engine_call(e, &ask, &res, stop, err);

	if (rc == 0 && (res.status == 404 || res.status == 409))
		rc = res.status == 404 ? 1 : 2;
	else if (rc == 0 && res.status >= 400)
		rc = http_status_error(&res, ask.what, err);
	http_response_release(&res);
	return rc;
}

int docker_remove(struct sandbox_client *host, const char *id,
		  const struct stop *stop, struct error *err)
{
	struct engine *e = &((struct docker *)host->priv)->engine;
	bool was_there = false;
	int rc;

	if (!engine_name_ok(id))
		return error_set(err, ERR_USAGE,
				 "not a container's name or id: '%s'", id);
	while ((rc = remove_once(e, id, stop, err)) == 2) {
		was_there = true;
		if (stop_sleep(stop, POLL_MS, err) < 0)
			return -1;
	}
	return rc == 1 && was_there ? 0 : rc;
}

/* POST /containers/ID/stop: 304 when it does not run. A paused one is resumed
 * first, so that its processes see the signal. */
int docker_stop(struct sandbox_client *host, const char *id, int64_t *keep_s,
		const struct stop *stop, struct error *err)
{
	struct engine *e = &((struct docker *)host->priv)->engine;
	cJSON *inspected = NULL;
	struct error why = { 0 };
	int rc = engine_inspect(e, id, &inspected, stop, &why);

	if (rc == 0 && json_bool(json_get(inspected, "State"), "Paused", false))
		rc = engine_post(e, id, "/unpause", "resuming the container",
				 stop, &why);
	if (rc == 0)
		rc = engine_post(e, id, "/stop?t=2", "stopping the container",
				 stop, &why);
	cJSON_Delete(inspected);
	*keep_s = 0;
	if (rc == 0 || why.http_status == 304)
		return 0;
	if (why.code == ERR_NOT_FOUND)
		return 1;
	*err = why;
	return -1;
}
