/* template_list.c - the sandboxes of ours that a templated service knows. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/template.h"

static const char *text_at(const cJSON *item, const char *pointer)
{
	const cJSON *v = pointer ? template_point(item, pointer) : NULL;

	return v && cJSON_IsString(v) ? v->valuestring : "";
}

/* An id may be a number. Owned. */
static char *id_at(const cJSON *item, const char *pointer)
{
	const cJSON *v = template_point(item, pointer);

	return v && cJSON_IsNumber(v) ? xasprintf("%.0f", v->valuedouble)
				      : xstrdup(text_at(item, pointer));
}

int template_list(struct sandbox_host *host, const char *owner,
		  void (*each)(void *arg, const struct sandbox_info *info),
		  void *arg, const struct stop *stop, struct error *err)
{
	struct template *t = template_of(host);
	const struct template_request *q = &t->p->deeds[DEED_LIST];
	struct template_call c = {
		.deed = DEED_LIST,
		.values = template_values(host, NULL),
		.flags = REST_AGAIN,
	};
	const cJSON *items;
	const cJSON *item;
	cJSON *tree = NULL;
	int rc;

	c.values.is[VALUE_OWNER] = str_of(owner);
	rc = template_ask(t, &c, &tree, stop, err);
	items = template_point(tree, q->items ? q->items : "");
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
				    template_id_ok(id);

			if (ours && (!owner || !q->item_owner ||
				     !strcmp(owner, info.owner)))
				each(arg, &info);
			free(id);
		}
	cJSON_Delete(tree);
	return rc;
}
