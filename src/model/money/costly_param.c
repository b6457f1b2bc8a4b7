/* costly_param.c - parameters by which a request costs more than it shows. */
/* SPDX-License-Identifier: MIT */
#include "model/money/costly_param.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/sanitize.h"
#include "base/str.h"

enum { MOST_DEPTH = 4, SHOWN_VALUE = 40 };

/* What the tiers cost: platform.openai.com/docs/guides/priority-processing and
 * flex-processing, console.groq.com/docs/service-tiers,
 * docs.aws.amazon.com/bedrock/latest/userguide/service-tiers-inference.html,
 * ai.google.dev/gemini-api/docs/priority-inference,
 * platform.claude.com/docs/en/build-with-claude/fast-mode; read 2026-11. */
static const char *const plain_tiers[] = { "auto",     "default",
					   "standard", "standard_only",
					   "flex",     "on_demand",
					   "batch",    NULL };

static const struct {
	const char *name; /* upper case and "_" do not count */
	enum costly_kind kind;
	/* Values, or where there is one the member "type" or "latency" of them,
	 * that cost nothing more; NULL: any does. */
	const char *const *plain;
} rows[] = {
	{ "n", COSTLY_ANSWERS, NULL },
	{ "bestof", COSTLY_ANSWERS, NULL },
	{ "candidatecount", COSTLY_ANSWERS, NULL },
	{ "numreturnsequences", COSTLY_ANSWERS, NULL },
	{ "servicetier", COSTLY_TIER, plain_tiers },
	{ "speed", COSTLY_TIER, plain_tiers },
	{ "performanceconfig", COSTLY_TIER, plain_tiers },
	{ "inferencegeo", COSTLY_TIER,
	  (const char *const[]){ "global", NULL } },
	{ "models", COSTLY_UNSEEN, NULL }, /* OpenRouter: goes on to others */
	{ "plugins", COSTLY_UNSEEN, NULL },
	{ "websearchoptions", COSTLY_UNSEEN, NULL },
	{ "searchparameters", COSTLY_UNSEEN, NULL },
	{ "previousresponseid", COSTLY_UNSEEN, NULL },
	{ "conversation", COSTLY_UNSEEN, NULL },
	{ "prompt", COSTLY_UNSEEN, NULL },
	{ "cachedcontent", COSTLY_UNSEEN, NULL },
	{ "mcpservers", COSTLY_UNSEEN, NULL },
	{ "container", COSTLY_UNSEEN, NULL },
	{ "modalities", COSTLY_UNSEEN, NULL },
	{ "responsemodalities", COSTLY_UNSEEN, NULL },
};

/* Their members stand in the request as if they were params, or are read by the
 * vendor alike. */
static const char *const groups[] = { "extrabody", "modelkwargs",
				      "generationconfig", "inferenceconfig",
				      "additionalmodelrequestfields" };

static bool is_named(const char *key, const char *plain)
{
	for (; *key; key++) {
		char c = *key;

		if (c == '_')
			continue;
		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if (c != *plain++)
			return false;
	}
	return !*plain;
}

static bool is_text_only(const cJSON *list)
{
	const cJSON *item;

	if (!cJSON_IsArray(list))
		return false;
	cJSON_ArrayForEach (item, list)
		if (!cJSON_IsString(item) ||
		    strcasecmp(item->valuestring, "text") != 0)
			return false;
	return true;
}

static bool costs_more(size_t row, const cJSON *value)
{
	const char *word;

	if (cJSON_IsNull(value))
		return false;
	if (rows[row].kind == COSTLY_ANSWERS)
		return !cJSON_IsNumber(value) || value->valuedouble > 1;
	if (strstr(rows[row].name, "modalities"))
		return !is_text_only(value);
	if (!rows[row].plain)
		return true;
	word = cJSON_IsString(value)
		       ? value->valuestring
		       : json_string(value, "type",
				     json_string(value, "latency", ""));
	for (size_t i = 0; rows[row].plain[i]; i++)
		if (strcmp(word, rows[row].plain[i]) == 0)
			return false;
	return true;
}

static void show(const cJSON *item, char *out, size_t size)
{
	char *text = cJSON_PrintUnformatted(item);
	struct buf line = BUF_INIT(256);
	struct str value;

	sanitize_line(str_of(text ? text : ""), &line);
	value = buf_str(&line);
	if (value.len > SHOWN_VALUE) {
		value.len = SHOWN_VALUE;
		value.len = str_utf8_prefix(value);
	}
	snprintf(out, size, "%.40s = %.*s", item->string, (int)value.len,
		 value.len ? value.ptr : "");
	cJSON_free(text);
	buf_release(&line);
}

static bool is_group(const cJSON *item)
{
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (is_named(item->string, groups[i]))
			return cJSON_IsObject(item);
	return false;
}

static bool find(const cJSON *object, int depth, struct costly_param *found)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, object) {
		for (size_t i = 0;
		     item->string && i < sizeof(rows) / sizeof(rows[0]); i++) {
			if (!is_named(item->string, rows[i].name) ||
			    !costs_more(i, item))
				continue;
			found->kind = rows[i].kind;
			show(item, found->shown, sizeof(found->shown));
			return true;
		}
		if (item->string && is_group(item) && depth < MOST_DEPTH &&
		    find(item, depth + 1, found))
			return true;
	}
	return false;
}

bool costly_param_find(const char *params, struct costly_param *found)
{
	cJSON *tree = params ? json_parse(str_of(params)) : NULL;
	bool costly = find(tree, 0, found);

	cJSON_Delete(tree);
	return costly;
}
