/* list.c - which containers are ours, and what they are. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/docker/engine.h"
#include "providers/kit/rest.h"

static enum sandbox_state state_of(const char *word)
{
	static const struct {
		const char *word;
		enum sandbox_state state;
	} words[] = {
		{ "running", STATE_RUNNING },     { "created", STATE_STARTING },
		{ "restarting", STATE_STARTING }, { "exited", STATE_STOPPED },
		{ "paused", STATE_STOPPED },      { "stopped", STATE_STOPPED },
		{ "removing", STATE_GONE },       { "dead", STATE_GONE },
		{ "configured", STATE_STARTING },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(words[i].word, word) == 0)
			return words[i].state;
	return STATE_UNKNOWN;
}

static void fill_labels(struct sandbox_info *info, const cJSON *labels)
{
	int64_t lifetime;

	info->label = json_string(labels, "dcode.label", "");
	info->owner = json_string(labels, "dcode.owner", "");
	if (info->created &&
	    str_to_int(str_of(json_string(labels, "dcode.lifetime", "")),
		       &lifetime) &&
	    lifetime > 0 && lifetime < INT64_MAX / 2)
		info->ends = info->created + lifetime;
}

/* A container that somebody makes from a snapshot inherits the label of the
 * one that was committed, but not its name. */
static bool is_named(const cJSON *item, const char *label)
{
	const cJSON *name;

	cJSON_ArrayForEach (name, json_get(item, "Names")) {
		const char *text =
			cJSON_IsString(name) ? name->valuestring : "";

		if (strcmp(text + (text[0] == '/'), label) == 0)
			return true;
	}
	return false;
}

static char *list_path(const char *owner)
{
	struct buf filter = BUF_INIT(1024);
	struct buf path = BUF_INIT(4096);
	char *label = owner ? xasprintf("dcode.owner=%s", owner) : NULL;

	buf_adds(&filter, "{\"label\":[\"dcode.label\"");
	if (label) {
		buf_addc(&filter, ',');
		json_quote(&filter, str_of(label));
	}
	buf_adds(&filter, "]}");
	buf_adds(&path, "/containers/json?all=true&filters=");
	rest_encode(&path, buf_str(&filter));
	buf_release(&filter);
	free(label);
	return buf_detach(&path);
}

int docker_list(struct sandbox_client *host, const char *owner,
		const struct info_sink *sink, const struct stop *stop,
		struct error *err)
{
	struct docker *d = host->priv;
	char *path = list_path(owner);
	cJSON *answer = NULL;
	const cJSON *item;
	struct engine_ask ask = { .method = "GET",
				  .path = path,
				  .what = "listing containers" };
	int rc = engine_json(&d->engine, &ask, &answer, stop, err);

	cJSON_ArrayForEach (item, answer) {
		struct sandbox_info info = {
			.id = json_string(item, "Id", ""),
			.state = state_of(json_string(item, "State", "")),
			.image = json_string(item, "Image", ""),
			.created = json_int(item, "Created", 0),
		};

		fill_labels(&info, json_get(item, "Labels"));
		if (!engine_name_ok(info.id) || !is_named(item, info.label) ||
		    (owner && strcmp(info.owner, owner) != 0))
			continue;
		info_emit(sink, &info);
	}
	cJSON_Delete(answer);
	free(path);
	return rc;
}

int docker_info(struct sandbox_client *host, const char *id,
		const struct info_sink *sink, const struct stop *stop,
		struct error *err)
{
	struct docker *d = host->priv;
	cJSON *answer = NULL;
	const cJSON *config;
	struct sandbox_info info = { 0 };

	if (engine_inspect(&d->engine, id, &answer, stop, err) < 0)
		return -1;
	config = json_get(answer, "Config");
	info.id = json_string(answer, "Id", "");
	info.image = json_string(config, "Image", "");
	info.state =
		state_of(json_string(json_get(answer, "State"), "Status", ""));
	info.created = json_time(answer, "Created");
	fill_labels(&info, json_get(config, "Labels"));
	info.isolation = docker_runtime_isolation(
		json_string(json_get(answer, "HostConfig"), "Runtime", ""));
	info_emit(sink, &info);
	cJSON_Delete(answer);
	return 0;
}
