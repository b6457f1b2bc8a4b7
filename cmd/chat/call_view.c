/* call_view.c - a call that waits for approval, as the user is shown it. */
/* SPDX-License-Identifier: MIT */
#include "cmd/chat/call_view.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"

static void add_item(struct call_view *v, const char *label, struct str text)
{
	if (v->n < CALL_VIEW_ITEMS)
		v->items[v->n++] =
			(struct question_item){ .label = label, .text = text };
}

static struct str text_of(struct call_view *v, const cJSON *item)
{
	char *text;

	if (cJSON_IsString(item))
		return str_of(item->valuestring);
	text = cJSON_PrintUnformatted(item);
	v->owned[v->n_owned++] = text;
	return str_of(text);
}

/* The tool reads the first member of a name. */
static bool is_read(const struct approval *a, const cJSON *item)
{
	for (const struct tool_arg *arg = a->tool->args; arg->name; arg++)
		if (json_get(a->args, arg->name) == item)
			return true;
	return false;
}

static void add_unused(struct call_view *v, const cJSON *item)
{
	char *text = cJSON_IsString(item) ? xstrdup(item->valuestring)
					  : cJSON_PrintUnformatted(item);

	if (v->unused.len)
		buf_addc(&v->unused, '\n');
	buf_addf(&v->unused, "%s: %s", item->string, text);
	free(text);
}

void call_view_open(struct call_view *v, const struct approval *a)
{
	const cJSON *item;
	char of[48] = "";

	*v = (struct call_view){ .unused = BUF_INIT(CALL_VIEW_BYTES) };
	if (a->total > 1)
		snprintf(of, sizeof(of), " (%zu of %zu)", a->number, a->total);
	snprintf(v->title, sizeof(v->title), "%s wants to %s%s:\n",
		 a->tool->spec.name,
		 a->tool->flags & TOOL_ASKS
			 ? "run on this machine"
			 : "read outside the working directory",
		 of);
	for (const struct tool_arg *arg = a->tool->args; arg->name; arg++) {
		item = json_get(a->args, arg->name);
		if (item)
			add_item(v, arg->name, text_of(v, item));
	}
	if (a->place.len)
		add_item(v, "acts on", buf_str(&a->place));
	cJSON_ArrayForEach (item, a->args)
		if (!is_read(a, item))
			add_unused(v, item);
	if (v->unused.len)
		add_item(v, "not used by the tool", buf_str(&v->unused));
}

void call_view_close(struct call_view *v)
{
	for (size_t i = 0; i < v->n_owned; i++)
		cJSON_free(v->owned[i]);
	buf_release(&v->unused);
}
