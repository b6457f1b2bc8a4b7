/* stop.c - how a sandbox of Vercel stops, and is deleted. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/vercel/vercel.h"

enum { DAY_S = 86400 };

/* Of the sandbox of this name; owned. */
static char *name_path(const struct vercel *v, const char *id, const char *more)
{
	char *project = vercel_project_query(v, "projectId");
	char *query = xasprintf("%s%s", project, more);
	char *bare = xasprintf("/v2/sandboxes/%s", id);
	char *path = vercel_path(v, bare, query);

	free(project);
	free(query);
	free(bare);
	return path;
}

static int stop_session(struct vendor_client *c, const cJSON *sandbox,
			const struct stop *stop, struct error *err)
{
	const struct vercel *v = (const struct vercel *)c;
	const char *id = json_string(vercel_session(v, sandbox), "id", "");
	struct rest_ask ask = { .method = "POST",
				.what = "stopping the sandbox",
				.flags = REST_MISSING_OK };
	struct error why = { 0 };
	char *bare;
	char *path;
	int rc;

	bare = xasprintf("%s%s/stop", vercel_session_path(v), id);
	path = vercel_path(v, bare, "");
	ask.path = path;
	rc = vendor_api(c, &ask, NULL, stop, &why);
	free(path);
	free(bare);
	/* It ends, or has ended. */
	if (rc >= 0 || why.http_status == 409 || why.http_status == 410 ||
	    why.http_status == 422)
		return 0;
	*err = why;
	return -1;
}

int vercel_halt(struct vendor_client *c, const char *id, const cJSON *sandbox,
		const struct stop *stop, struct error *err)
{
	(void)id;
	return stop_session(c, sandbox, stop, err);
}

/* Only a persistent one leaves a snapshot, to resume from, when it stops; one
 * takes the place of the one before. They last for a day at least. */
int vercel_hold(struct vendor_client *c, const char *id, int64_t *keep_s,
		const struct stop *stop, struct error *err)
{
	const struct vercel *v = (const struct vercel *)c;
	int64_t seconds = *keep_s > DAY_S ? *keep_s : DAY_S;
	char *path = name_path(v, id, "");
	char *body = xasprintf("{\"persistent\":true,\"keepLastSnapshots\":{"
			       "\"count\":1,\"expiration\":%lld,"
			       "\"deleteEvicted\":true}}",
			       (long long)seconds * 1000);
	struct rest_ask ask = { .method = "PATCH",
				.path = path,
				.body = str_of(body),
				.what = "making the sandbox persistent",
				.flags = REST_AGAIN };
	int rc = vendor_api(c, &ask, NULL, stop, err);

	*keep_s = seconds;
	free(body);
	free(path);
	return rc;
}

/* 409, 422: its state is changing. orphans: with the snapshots that it left
 * when it stopped. */
static int delete_name(struct vendor_client *c, const char *id, bool orphans,
		       const struct stop *stop, struct error *err)
{
	const struct vercel *v = (const struct vercel *)c;
	char *path =
		name_path(v, id, orphans ? "&deleteOrphanSnapshots=true" : "");
	struct rest_ask ask = { .method = "DELETE",
				.path = path,
				.what = "deleting the sandbox",
				.flags = REST_MISSING_OK };
	struct error why = { 0 };
	int rc = vendor_api(c, &ask, NULL, stop, &why);

	free(path);
	if (rc >= 0 || why.http_status == 410)
		return 0;
	if (why.http_status == 409 || why.http_status == 422)
		why.code = ERR_BUSY;
	*err = why;
	return -1;
}

/* v1 knows no deletion: what has ended is gone. A session that would leave a
 * snapshot behind is not stopped: it ends with its sandbox. */
int vercel_end(struct vendor_client *c, const char *id, cJSON **answer,
	       const struct stop *stop, struct error *err)
{
	struct error why = { 0 };
	bool persistent;
	int rc = vendor_get(c, id, answer, stop, &why);

	if (rc < 0 && why.http_status == 410)
		return 1;
	if (rc < 0 && why.code == ERR_PROTOCOL && c->vendor == &vercel_v2)
		return delete_name(c, id, false, stop, err); /* no session */
	if (rc < 0)
		*err = why;
	persistent = json_bool(*answer, "persistent", false);
	if (rc == 0 && !persistent &&
	    vendor_state(c->vendor, *answer)->step != STEP_ENDED)
		rc = stop_session(c, *answer, stop, err);
	if (rc == 0 && c->vendor == &vercel_v2)
		rc = delete_name(c, id, persistent, stop, err);
	return rc;
}
