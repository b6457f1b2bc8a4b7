/* policy.c - what a devbox may reach: the account's network policies.
 */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/runloop/runloop.h"

enum { HASH = 8, NAME_ROOM = 64 };

/* Policies have unique names: the same rules always have the same one. */
static void name_policy(const struct runloop_rules *rules, char name[NAME_ROOM])
{
	unsigned char hash[crypto_generichash_BYTES_MIN];
	char hex[2 * HASH + 1];
	struct buf text = BUF_INIT(1 << 20);

	if (rules->all || !rules->n) {
		snprintf(name, NAME_ROOM, "dcode-%s",
			 rules->all ? "full" : "none");
		return;
	}
	for (size_t i = 0; i < rules->n; i++)
		buf_addf(&text, "%s\n", rules->hosts[i]);
	crypto_generichash(hash, sizeof(hash), (unsigned char *)text.ptr,
			   text.len, NULL, 0);
	sodium_bin2hex(hex, sizeof(hex), hash, HASH);
	snprintf(name, NAME_ROOM, "dcode-%s", hex);
	buf_release(&text);
}

struct search {
	const char *name;
	char *id; /* owned */
};

static bool on_policy(void *arg, const cJSON *item)
{
	struct search *s = arg;
	const char *id = json_string(item, "id", "");

	if (strcmp(json_string(item, "name", ""), s->name) == 0 &&
	    runloop_id_ok(id))
		s->id = xstrdup(id);
	return !s->id;
}

static int find(struct runloop *r, const char *name, char **id,
		const struct stop *stop, struct error *err)
{
	struct search s = { .name = name };
	char *query = xasprintf("name=%s&", name);
	struct runloop_query q = { .path = "/v1/network-policies",
				   .query = query,
				   .items = "network_policies",
				   .limit = 100,
				   .each = on_policy,
				   .arg = &s };
	int rc = runloop_pages(r, &q, stop, err);

	free(query);
	*id = s.id;
	return rc;
}

static int make(struct runloop *r, const char *name,
		const struct runloop_rules *rules, char **id,
		const struct stop *stop, struct error *err)
{
	struct buf text = BUF_INIT(1 << 20);
	struct rest_ask ask = { .method = "POST",
				.path = "/v1/network-policies",
				.what = "making the network policy",
				.flags = REST_AGAIN };
	cJSON *body = cJSON_CreateObject();
	cJSON *tree = NULL;
	int rc;

	cJSON_AddStringToObject(body, "name", name);
	cJSON_AddBoolToObject(body, "allow_all", rules->all);
	if (rules->n)
		cJSON_AddItemToObject(
			body, "allowed_hostnames",
			cJSON_CreateStringArray(rules->hosts, (int)rules->n));
	json_print(&text, body);
	cJSON_Delete(body);
	ask.body = buf_str(&text);
	rc = runloop_api(r, &ask, &tree, NULL, stop, err);
	if (rc == 0 && runloop_id_ok(json_string(tree, "id", "")))
		*id = xstrdup(json_string(tree, "id", ""));
	else if (rc == 0)
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no policy");
	cJSON_Delete(tree);
	buf_release(&text);
	return rc;
}

int runloop_policy(struct runloop *r, const struct runloop_rules *rules,
		   char **id, const struct stop *stop, struct error *err)
{
	struct error why = { 0 };
	char name[NAME_ROOM];

	*id = NULL;
	name_policy(rules, name);
	if (find(r, name, id, stop, err) < 0)
		return -1;
	if (*id || make(r, name, rules, id, stop, &why) == 0)
		return 0;
	/* Somebody else may have made it just now. */
	if (find(r, name, id, stop, err) < 0)
		return -1;
	if (*id)
		return 0;
	*err = why;
	return -1;
}
