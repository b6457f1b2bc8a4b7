/* process_list.c - what a child says of its sandboxes. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/str.h"
#include "providers/external/process.h"

enum { LISTED_MAX = 100000 };

static enum sandbox_state state_of(const char *word)
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

static int one(const cJSON *item, const char *owner,
	       const struct info_sink *sink, struct error *err)
{
	struct sandbox_info info = {
		.id = json_string(item, "id", ""),
		.label = json_string(item, "label", ""),
		.owner = json_string(item, "owner", ""),
		.state = state_of(json_string(item, "state", "")),
		.image = json_string(item, "image", ""),
		.created = json_int(item, "created", 0),
		.ends = json_int(item, "ends", 0),
	};

	if (!info.id[0] || strlen(info.id) > CHILD_ID_MAX)
		return error_set(err, ERR_PROTOCOL,
				 "the provider's answer makes no sense: a "
				 "sandbox without an id");
	/* What is not ours must not be taken for it, whoever lists it. */
	if (!owner || !strcmp(owner, info.owner))
		info_emit(sink, &info);
	return 0;
}

int provider_process_list(struct sandbox_client *host, const char *owner,
			  const struct info_sink *sink, const struct stop *stop,
			  struct error *err)
{
	struct provider_process *c = provider_process_of(host);
	struct buf params = BUF_INIT(4096);
	struct jsonrpc_ask ask = { .method = "list",
				   .what = "listing the sandboxes",
				   .timeout_ms = c->p->limits.call };
	const cJSON *item;
	const cJSON *list;
	cJSON *result = NULL;
	int n = 0;
	int rc;

	buf_addc(&params, '{');
	if (owner)
		json_member(&params, "owner", str_of(owner));
	buf_addc(&params, '}');
	ask.params = buf_str(&params);
	rc = provider_process_call(c, &ask, &result, stop, err);
	list = json_get(result, "sandboxes");
	if (rc == 0 && !cJSON_IsArray(list))
		rc = error_set(err, ERR_PROTOCOL,
			       "%s: the provider's answer makes no sense: "
			       "sandboxes is no array",
			       ask.what);
	cJSON_ArrayForEach (item, list)
		if (rc == 0 && n++ < LISTED_MAX)
			rc = one(item, owner, sink, err);
	cJSON_Delete(result);
	buf_release(&params);
	return rc;
}

int provider_process_info(struct sandbox_client *host, const char *id,
			  const struct info_sink *sink, const struct stop *stop,
			  struct error *err)
{
	struct provider_process *c = provider_process_of(host);
	struct buf params = BUF_INIT(4096);
	struct jsonrpc_ask ask = { .method = "info",
				   .what = "asking for the sandbox",
				   .timeout_ms = c->p->limits.call };
	cJSON *result = NULL;
	int rc;

	provider_process_params(&params, id);
	buf_addc(&params, '}');
	ask.params = buf_str(&params);
	rc = provider_process_call(c, &ask, &result, stop, err);
	if (rc == 0)
		rc = one(result, NULL, sink, err);
	cJSON_Delete(result);
	buf_release(&params);
	return rc;
}
