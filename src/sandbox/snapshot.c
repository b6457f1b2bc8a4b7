/* snapshot.c - makes, finds and deletes snapshots of sandboxes. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/snapshot.h"

#include <stdlib.h>
#include <string.h>

bool snapshot_can_make(const struct sandbox_client *client)
{
	const struct sandbox_provider *p = client->provider;

	return p->flags & ~client->lacks & SANDBOX_SNAPSHOT && p->ops->snapshot;
}

/* Fails if the snapshot name is taken: many engines and vendors would silently
 * move the name to the new snapshot. */
static int check_name_free(struct sandbox_client *client, const char *name,
			   const struct stop *stop, struct error *err)
{
	const struct sandbox_ops *ops = client->provider->ops;
	char *id = NULL;
	int rc = ops->find_snapshot
			 ? ops->find_snapshot(client, name, &id, stop, err)
			 : 0;

	free(id);
	if (rc <= 0)
		return rc;
	error_set(err, ERR_USAGE, "a snapshot '%s' already exists", name);
	return error_hint(err,
			  "Choose another name, or replace it with --force.");
}

int snapshot_make(struct sandbox *sb, const char *name, bool replace,
		  const struct stop *stop, struct error *err)
{
	const struct sandbox_ops *ops = sb->client->provider->ops;
	int rc = replace ? 0 : check_name_free(sb->client, name, stop, err);

	if (rc == 0)
		rc = ops->snapshot(sb, name, replace, stop, err);
	return rc ? sandbox_blame(sb->client, err) : 0;
}

bool snapshot_can_remove(const struct sandbox_client *client)
{
	const struct sandbox_ops *ops = client->provider->ops;

	return snapshot_can_make(client) && ops->find_snapshot &&
	       ops->remove_snapshot;
}

int snapshot_find(struct sandbox_client *client, const char *name, char **id,
		  const struct stop *stop, struct error *err)
{
	int rc;

	*id = NULL;
	rc = client->provider->ops->find_snapshot(client, name, id, stop, err);
	if (rc > 0 && !*id)
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no id of the "
			       "snapshot");
	return rc < 0 ? sandbox_blame(client, err) : rc;
}

int snapshot_remove(struct sandbox_client *client, const char *name,
		    const char *id, const struct stop *stop, struct error *err)
{
	char *found = NULL;
	int rc = snapshot_find(client, name, &found, stop, err);

	if (rc > 0 && (!id || !strcmp(id, found)))
		rc = client->provider->ops->remove_snapshot(client, name, found,
							    stop, err);
	else if (rc >= 0)
		rc = 1;
	free(found);
	return rc < 0 ? sandbox_blame(client, err) : rc;
}
