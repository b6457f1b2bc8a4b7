/* snapshot.c - a container's files as an image under a tag of ours. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/docker/engine.h"
#include "providers/kit/rest.h"

enum { SNAPSHOT_NAME_MAX = 128 }; /* of a tag */

static struct engine *engine_of(const struct sandbox_client *host)
{
	return &((struct docker *)host->priv)->engine;
}

static int check_snapshot_name(const char *name, struct error *err)
{
	if (engine_name_ok(name) && strlen(name) <= SNAPSHOT_NAME_MAX)
		return 0;
	return error_set(err, ERR_USAGE,
			 "a snapshot's name may have letters, digits, '_', '.' "
			 "and '-', at most %d",
			 SNAPSHOT_NAME_MAX);
}

int docker_find_snapshot(struct sandbox_client *host, const char *name,
			 const struct stop *stop, struct error *err)
{
	struct http_response res = { 0 };
	struct engine_ask ask = { .method = "GET",
				  .path = "/images/dcode-snapshot:",
				  .id = name,
				  .action = "/json",
				  .what = "looking for the snapshot" };
	int rc = check_snapshot_name(name, err);

	if (rc == 0)
		rc = engine_call(engine_of(host), &ask, &res, stop, err);
	if (rc == 0 && res.status >= 400 && res.status != 404)
		rc = http_status_error(&res, ask.what, err);
	else if (rc == 0)
		rc = res.status != 404;
	http_response_release(&res);
	return rc;
}

static int commit(struct sandbox *sb, const char *name, bool pause,
		  const struct stop *stop, struct error *err)
{
	struct engine *e = engine_of(sb->host);
	struct engine_ask ask = { .method = "POST",
				  .body = STR("{}"),
				  .what = "committing the container" };
	struct buf path = BUF_INIT(1024);
	int rc;

	buf_addf(&path, "/commit?container=%s&repo=dcode-snapshot&tag=%s",
		 sb->id, name);
	buf_addf(&path, "&pause=%s&changes=", pause ? "true" : "false");
	rest_encode(&path, STR("LABEL dcode.snapshot="));
	rest_encode(&path, str_of(name));
	ask.path = path.ptr;
	rc = engine_json(e, &ask, NULL, stop, err);
	buf_release(&path);
	return rc;
}

/* Paused, so that files are of one moment; where the engine has no control
 * group to pause with (rootless Podman without systemd), as they are. */
int docker_snapshot(struct sandbox *sb, const char *name, bool replace,
		    const struct stop *stop, struct error *err)
{
	struct error why = { 0 };

	(void)replace; /* a tag always goes to the new image */
	if (check_snapshot_name(name, err) < 0)
		return -1;
	if (commit(sb, name, true, stop, &why) == 0)
		return 0;
	if (why.code == ERR_REMOTE && commit(sb, name, false, stop, err) == 0)
		return 0;
	*err = why;
	return -1;
}
