/* policy.c - what a devbox may reach: the account's network policies.
 */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/kit/vendor.h"
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

static const struct vendor_pages pages = { .items = "network_policies",
					   .query = "starting_after" };

struct policy_search {
	const char *name;
	char *id; /* owned */
};

static bool on_policy(void *arg, const cJSON *item)
{
	struct policy_search *s = arg;
	const char *id = json_string(item, "id", "");

	if (strcmp(json_string(item, "name", ""), s->name) == 0 &&
	    vendor_id_ok(id))
		s->id = xstrdup(id);
	return !s->id;
}

static int find(struct vendor_client *c, const char *name, char **id,
		const struct stop *stop, struct error *err)
{
	struct policy_search s = { .name = name };
	char *path = xasprintf("/v1/network-policies?name=%s&limit=100", name);
	const struct vendor_query q = { &pages, path, on_policy, &s };
	int rc = vendor_pages(c, &q, stop, err);

	free(path);
	*id = s.id;
	return rc;
}

static int make(struct vendor_client *c, const char *name,
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
	rc = vendor_api(c, &ask, &tree, stop, err);
	if (rc == 0 && vendor_id_ok(json_string(tree, "id", "")))
		*id = xstrdup(json_string(tree, "id", ""));
	else if (rc == 0)
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no policy");
	cJSON_Delete(tree);
	buf_release(&text);
	return rc;
}

int runloop_policy(struct vendor_client *c, const struct runloop_rules *rules,
		   char **id, const struct stop *stop, struct error *err)
{
	struct error why = { 0 };
	char name[NAME_ROOM];

	*id = NULL;
	name_policy(rules, name);
	if (find(c, name, id, stop, err) < 0)
		return -1;
	if (*id || make(c, name, rules, id, stop, &why) == 0)
		return 0;
	/* Somebody else may have made it just now. */
	if (find(c, name, id, stop, err) < 0)
		return -1;
	if (*id)
		return 0;
	*err = why;
	return -1;
}
