/* snapshot.c - snapshots of a sandbox that goes on afterwards. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/str.h"
#include "providers/e2b/e2b.h"
#include "providers/kit/vendor.h"

enum { NAME_MAX_BYTES = 128, SNAPSHOT_MS = 300000 };

/* "team/name:tag"; without them any team and the tag "default" are meant. */
static bool same_name(const char *listed, const char *name)
{
	struct str a = str_of(listed);
	struct str b = str_of(name);

	if (str_find(b, '/') == b.len && str_find(a, '/') < a.len)
		a = str_skip(a, str_find(a, '/') + 1);
	if (str_ends(a, ":default"))
		a.len -= strlen(":default");
	if (str_ends(b, ":default"))
		b.len -= strlen(":default");
	return str_eq(a, b);
}

static bool has_name(const cJSON *snapshot, const char *name)
{
	const cJSON *item;

	if (same_name(json_string(snapshot, "snapshotID", ""), name))
		return true;
	cJSON_ArrayForEach (item, json_get(snapshot, "names"))
		if (cJSON_IsString(item) && same_name(item->valuestring, name))
			return true;
	return false;
}

struct e2b_search {
	const char *name;
	bool found;
};

static bool on_snapshot(void *arg, const cJSON *item)
{
	struct e2b_search *s = arg;

	s->found = has_name(item, s->name);
	return !s->found;
}

int e2b_find_snapshot(struct sandbox_client *client, const char *name,
		      const struct stop *stop, struct error *err)
{
	struct e2b_search s = { .name = name };
	const struct vendor_query q = { .pages = &e2b_pages,
					.path = "/snapshots?limit=100",
					.each = on_snapshot,
					.arg = &s };

	return vendor_pages(client->priv, &q, stop, err) < 0 ? -1 : s.found;
}

/* The sandbox goes on; the snapshot's name is a template's from then on. */
int e2b_snapshot(struct sandbox *sb, const char *name, bool replace,
		 const struct stop *stop, struct error *err)
{
	struct buf body = BUF_INIT(1024);
	struct rest_ask ask = { .method = "POST",
				.path = "/snapshots",
				.what = "making the snapshot",
				.timeout_ms = SNAPSHOT_MS };
	cJSON *tree = NULL;
	int rc;

	(void)replace; /* the name is given to the new one in any case */
	if (!*name || strlen(name) > NAME_MAX_BYTES)
		return error_set(err, ERR_USAGE, "not a snapshot name");
	buf_addc(&body, '{');
	json_member(&body, "name", str_of(name));
	buf_addc(&body, '}');
	ask.body = buf_str(&body);
	rc = vendor_ask(sb->client->priv, sb->id, &ask, &tree, stop, err);
	if (rc == 0 && !json_string(tree, "snapshotID", NULL))
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no snapshot");
	cJSON_Delete(tree);
	buf_release(&body);
	return rc;
}
