/* process_list.c - list and info of a child's sandboxes. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/str.h"
#include "providers/external/process.h"

static enum sandbox_state parse_state(const char *word)
{
	static const struct {
		const char *word;
		enum sandbox_state state;
	} words[] = {
		{ "starting", STATE_STARTING },
		{ "running", STATE_RUNNING },
		{ "stopped", STATE_STOPPED },
		{ "gone", STATE_GONE },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(words[i].word, word))
			return words[i].state;
	return STATE_UNKNOWN;
}

/* Reports one sandbox, unless it is another owner's. */
static int report(const cJSON *item, const char *owner,
		  const struct info_sink *sink, struct error *err)
{
	struct sandbox_info info = {
		.id = json_string(item, "id", ""),
		.label = json_string(item, "label", ""),
		.owner = json_string(item, "owner", ""),
		.state = parse_state(json_string(item, "state", "")),
		.image = json_string(item, "image", ""),
		.created = json_int(item, "created", 0),
		.ends = json_int(item, "ends", 0),
	};

	if (!info.id[0] || strlen(info.id) > PROVIDER_ID_MAX)
		return jsonrpc_bad_answer(&process_peer,
					  "a sandbox without an id", err);
	if (!owner || !strcmp(owner, info.owner))
		info_emit(sink, &info);
	return 0;
}

int process_list(struct sandbox_client *client, const char *owner,
		 const struct info_sink *sink, const struct stop *stop,
		 struct error *err)
{
	struct buf params = process_params("owner", owner);
	struct jsonrpc_ask ask = { .method = "list",
				   .what = "listing the sandboxes" };
	const cJSON *item;
	const cJSON *list;
	cJSON *result = NULL;
	int rc = process_request(process_of(client), &ask, &params, &result,
				 stop, err);

	list = json_get(result, "sandboxes");
	if (rc == 0 && !cJSON_IsArray(list))
		rc = process_bad_answer(&ask, "sandboxes is not an array", err);
	cJSON_ArrayForEach (item, list)
		if (rc == 0)
			rc = report(item, owner, sink, err);
	cJSON_Delete(result);
	return rc;
}

int process_list_ids(struct sandbox_client *client,
		     const struct info_sink *sink, const struct stop *stop,
		     struct error *err)
{
	return process_list(client, NULL, sink, stop, err);
}

int process_info(struct sandbox_client *client, const char *id,
		 const struct info_sink *sink, const struct stop *stop,
		 struct error *err)
{
	struct buf params = process_params("sandbox", id);
	struct jsonrpc_ask ask = { .method = "info",
				   .what = "asking for the sandbox" };
	cJSON *result = NULL;
	int rc = process_request(process_of(client), &ask, &params, &result,
				 stop, err);

	if (rc == 0)
		rc = report(result, NULL, sink, err);
	cJSON_Delete(result);
	return rc;
}
