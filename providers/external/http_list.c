/* http_list.c - the sandboxes of ours that a templated service knows. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/external/http_provider.h"

static const char *text_at(const cJSON *item, const char *pointer)
{
	const cJSON *v = pointer ? http_provider_point(item, pointer) : NULL;

	return v && cJSON_IsString(v) ? v->valuestring : "";
}

/* An id may be a number. Owned. */
static char *id_at(const cJSON *item, const char *pointer)
{
	const cJSON *v = http_provider_point(item, pointer);

	return v && cJSON_IsNumber(v) ? xasprintf("%.0f", v->valuedouble)
				      : xstrdup(text_at(item, pointer));
}

int http_provider_list(struct sandbox_client *host, const char *owner,
		       const struct info_sink *sink, const struct stop *stop,
		       struct error *err)
{
	struct http_provider_config *t = http_provider_of(host);
	const struct http_provider_request *q = &t->p->deeds[DEED_LIST];
	struct http_provider_call c = {
		.deed = DEED_LIST,
		.values = http_provider_values(host, NULL),
		.flags = REST_AGAIN,
	};
	const cJSON *items;
	const cJSON *item;
	cJSON *tree = NULL;
	int rc;

	c.values.is[VALUE_OWNER] = str_of(owner);
	rc = http_provider_ask(t, &c, &tree, stop, err);
	items = http_provider_point(tree, q->items ? q->items : "");
	if (rc == 0 && !cJSON_IsArray(items))
		rc = error_set(err, ERR_PROTOCOL,
			       "the answer has no list of sandboxes");
	if (rc == 0)
		cJSON_ArrayForEach (item, items) {
			char *id = id_at(item, q->id);
			struct sandbox_info info = {
				.id = id,
				.label = text_at(item, q->label),
				.owner = text_at(item, q->item_owner),
				.image = "",
				.state = STATE_UNKNOWN,
			};
			bool ours = strncmp(info.label, "dcode-", 6) == 0 &&
				    provider_config_id_ok(id);

			if (ours && (!owner || !q->item_owner ||
				     !strcmp(owner, info.owner)))
				info_emit(sink, &info);
			free(id);
		}
	cJSON_Delete(tree);
	return rc;
}
