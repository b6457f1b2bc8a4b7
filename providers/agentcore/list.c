/* list.c - which sessions are ours, and what they are. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/agentcore/agentcore.h"

enum { PAGES_MAX = 1000, LABEL = 14, BODY_MAX = 64 << 10 };

/* "dcode-" and 8 characters, then perhaps "-OWNER": the label's length. */
static size_t label_in(const char *name)
{
	if (strncmp(name, "dcode-", 6) != 0 ||
	    strspn(name + 6, "abcdefghijklmnopqrstuvwxyz234567") < 8 ||
	    (name[LABEL] && name[LABEL] != '-'))
		return 0;
	return LABEL;
}

static enum sandbox_state state_of(const char *word)
{
	if (strcmp(word, "READY") == 0)
		return STATE_RUNNING;
	if (strcmp(word, "TERMINATED") == 0)
		return STATE_GONE;
	return STATE_UNKNOWN;
}

static void tell(const cJSON *item, const struct info_sink *sink)
{
	const char *name = json_string(item, "name", "");
	int64_t lifetime = json_int(item, "sessionTimeoutSeconds", 0);
	size_t len = label_in(name);
	char label[LABEL + 1];
	struct sandbox_info info = {
		.id = json_string(item, "sessionId", ""),
		.label = label,
		.owner = len && name[len] ? name + len + 1 : "",
		.state = state_of(json_string(item, "status", "")),
		.image = json_string(item, "codeInterpreterIdentifier", ""),
		.created = rest_time(json_string(item, "createdAt", "")),
	};

	snprintf(label, sizeof(label), "%.*s", (int)len, name);
	if (info.state == STATE_RUNNING && info.created && lifetime > 0 &&
	    lifetime <= AGENTCORE_LIFETIME_MAX_S)
		info.ends = info.created + lifetime;
	if (agentcore_id_ok(info.id))
		info_emit(sink, &info);
}

struct ours {
	const char *owner; /* NULL: any */
	const struct info_sink *sink;
};

static void on_info(void *arg, const struct sandbox_info *info)
{
	const struct ours *o = arg;

	if (info->label[0] && (!o->owner || strcmp(info->owner, o->owner) == 0))
		info_emit(o->sink, info);
}

/* *next: where the page begins, and where the next one does; owned. */
static int one_page(struct sandbox_client *host, char **next, cJSON **page,
		    const struct stop *stop, struct error *err)
{
	struct buf body = BUF_INIT(BODY_MAX);
	struct agentcore_ask ask = {
		.rest = { .method = "POST",
			  .path = "/sessions/list",
			  .what = "listing the sessions",
			  .flags = REST_AGAIN },
	};
	int rc;

	buf_adds(&body, "{\"maxResults\":100,\"status\":\"READY\"");
	if (*next) {
		buf_addc(&body, ',');
		json_member(&body, "nextToken", str_of(*next));
	}
	buf_addc(&body, '}');
	ask.rest.body = buf_str(&body);
	free(*next);
	*next = NULL;
	rc = agentcore_call(agentcore_of(host), &ask, page, stop, err);
	if (rc == 0 && !cJSON_IsArray(json_get(*page, "items")))
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no list");
	if (rc == 0)
		*next = xstrdup(json_string(*page, "nextToken", NULL));
	buf_release(&body);
	return rc;
}

/* There is no filter by name. The owner is in the name, cut like it. */
int agentcore_list(struct sandbox_client *host, const char *owner,
		   const struct info_sink *sink, const struct stop *stop,
		   struct error *err)
{
	struct ours o = { owner, sink };
	char *next = NULL;
	int rc = 0;

	for (int pages = 0; rc == 0 && (pages == 0 || next); pages++) {
		cJSON *page = NULL;
		const cJSON *item;

		rc = one_page(host, &next, &page, stop, err);
		cJSON_ArrayForEach (item, json_get(page, "items"))
			tell(item, &(struct info_sink){ on_info, &o });
		cJSON_Delete(page);
		if (rc == 0 && pages == PAGES_MAX)
			rc = error_set(err, ERR_LIMIT, "the list does not end");
	}
	free(next);
	return rc;
}

int agentcore_info(struct sandbox_client *host, const char *id,
		   const struct info_sink *sink, const struct stop *stop,
		   struct error *err)
{
	cJSON *tree = NULL;
	int rc;

	if (!agentcore_id_ok(id))
		return error_set(err, ERR_USAGE, "'%.100s' is no session id",
				 id);
	rc = agentcore_look(host, id, &tree, stop, err);
	if (rc == 0 && !tree)
		rc = error_set(err, ERR_NOT_FOUND,
			       "the session %s does not exist", id);
	if (rc == 0)
		tell(tree, sink);
	cJSON_Delete(tree);
	return rc;
}
