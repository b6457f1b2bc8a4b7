/* list.c - which local sandboxes there are, and what they are. */
/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "providers/local/local.h"

int local_not_found(const char *id, struct error *err)
{
	return error_set(err, ERR_NOT_FOUND, "unknown sandbox %s", id);
}

/* Reports a sandbox, unless owner asks for those of another. */
static void describe(struct sandbox_client *client, const char *id,
		     const char *owner, const struct info_sink *sink)
{
	char *dir = local_dir(client, id);
	struct error ignored = { 0 };
	struct local_meta m = { 0 };
	struct sandbox_info info = { .id = id, .label = id, .image = "" };

	/* Without sandbox.json (dcode was killed before it was written, or
	 * after it was deleted) it belongs to whoever may write here. */
	if (local_meta_read(dir, &m, &ignored) < 0)
		snprintf(m.owner, sizeof(m.owner), "%s", owner ? owner : "");
	info.owner = m.owner;
	info.state = local_running(dir) ? STATE_RUNNING : STATE_STOPPED;
	info.created = m.created;
	info.ends = m.ends;
	if (!owner || !strcmp(owner, m.owner))
		info_emit(sink, &info);
	local_meta_release(&m);
	free(dir);
}

int local_list(struct sandbox_client *client, const char *owner,
	       const struct info_sink *sink, const struct stop *stop,
	       struct error *err)
{
	char *path = local_dir(client, NULL);
	DIR *dir = opendir(path);
	struct dirent *e;
	int rc = 0;

	if (!dir && errno != ENOENT)
		rc = error_errno(err, "reading %s", path);
	while (dir && rc == 0 && (e = readdir(dir))) {
		rc = stop_check(stop, err);
		if (rc == 0 && local_id_ok(e->d_name))
			describe(client, e->d_name, owner, sink);
	}
	if (dir)
		closedir(dir);
	free(path);
	return rc;
}

int local_info(struct sandbox_client *client, const char *id,
	       const struct info_sink *sink, const struct stop *stop,
	       struct error *err)
{
	char *dir;
	struct stat st;
	int rc;

	(void)stop;
	if (!local_id_ok(id))
		return local_not_found(id, err);
	dir = local_dir(client, id);
	rc = stat(dir, &st) < 0 ? local_not_found(id, err) : 0;
	free(dir);
	if (rc == 0)
		describe(client, id, NULL, sink);
	return rc;
}
