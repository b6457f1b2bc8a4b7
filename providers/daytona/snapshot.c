/* snapshot.c - a snapshot of a sandbox that goes on afterwards. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/str.h"
#include "providers/daytona/daytona.h"

enum {
	NAME_MAX_BYTES = 128,
	POLL_MS = 1000,
	NOTICE_MS = 30000, /* until the API knows of it */
	WORK_MS = 1800000,
};

static int post(struct sandbox *sb, const char *name, const struct stop *stop,
		struct error *err)
{
	struct buf body = BUF_INIT(4096);
	struct rest_ask ask = { .method = "POST",
				.path = "/snapshot",
				.what = "making the snapshot",
				.timeout_ms = 120000 };
	int rc;

	buf_addc(&body, '{');
	json_member(&body, "name", str_of(name));
	buf_addc(&body, '}');
	ask.body = buf_str(&body);
	rc = vendor_ask(sb->client->priv, sb->id, &ask, NULL, stop, err);
	buf_release(&body);
	return rc;
}

/* 1 when it can be used, 0 to look again; *known once it was there. */
static int poll_snapshot(struct sandbox_client *client, const char *name,
			 bool *known, const struct stop *stop,
			 struct error *err)
{
	struct buf path = BUF_INIT(4096);
	struct rest_ask ask = { .method = "GET",
				.what = "asking for the snapshot",
				.flags = REST_AGAIN | REST_MISSING_OK };
	cJSON *tree = NULL;
	const char *state;
	int rc;

	buf_adds(&path, "/snapshots/");
	rest_encode(&path, str_of(name));
	ask.path = path.ptr;
	rc = vendor_api(client->priv, &ask, &tree, stop, err);
	state = json_string(tree, "state", "");
	*known = *known || rc == 0;
	if (rc > 0)
		rc = 0;
	else if (rc == 0 && strcmp(state, "active") == 0)
		rc = 1;
	else if (rc == 0 && (strcmp(state, "error") == 0 ||
			     strcmp(state, "build_failed") == 0))
		rc = error_set(err, ERR_REMOTE, "the snapshot failed: %.300s",
			       json_string(tree, "errorReason", state));
	cJSON_Delete(tree);
	buf_release(&path);
	return rc;
}

int daytona_find_snapshot(struct sandbox_client *client, const char *name,
			  const struct stop *stop, struct error *err)
{
	struct error failed = { 0 };
	bool known = false;

	/* One whose build failed has the name all the same. */
	if (poll_snapshot(client, name, &known, stop, &failed) < 0 && !known) {
		*err = failed;
		return -1;
	}
	return known;
}

int daytona_snapshot(struct sandbox *sb, const char *name, bool replace,
		     const struct stop *stop, struct error *err)
{
	struct stop within = stop_within(stop, WORK_MS);
	int64_t noticed = clock_ms() + NOTICE_MS;
	bool known = false;
	int rc;

	(void)replace; /* the vendor refuses a name that is taken */
	if (!*name || strlen(name) > NAME_MAX_BYTES)
		return error_set(err, ERR_USAGE, "not a snapshot name");
	if (post(sb, name, stop, err) < 0)
		return -1;
	while ((rc = poll_snapshot(sb->client, name, &known, &within, err)) ==
	       0) {
		if (!known && clock_ms() > noticed)
			return error_set(err, ERR_REMOTE,
					 "the snapshot was not made");
		if (stop_sleep(&within, POLL_MS, err) < 0)
			return -1;
	}
	return rc < 0 ? -1 : 0;
}
