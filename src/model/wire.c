/* wire.c - what the vendors' protocols have in common. */
/* SPDX-License-Identifier: MIT */
#include "model/wire.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/percent.h"
#include "base/str.h"
#include "model/catalog.h"
#include "model/media.h"

#define POINTER(name) &wire_##name,

const struct wire *const wires[] = { WIRES(POINTER) NULL };

const struct wire *wire_find(const char *name)
{
	for (size_t i = 0; wires[i]; i++)
		if (strcmp(wires[i]->name, name) == 0)
			return wires[i];
	return NULL;
}

static bool is_taken(const struct wire *w, const struct history *h,
		     const struct part *p)
{
	unsigned kind;

	if (p->kind != PART_MEDIA)
		return true;
	kind = media_is_pdf(p->type) ? MODEL_TAKES_PDF : MODEL_TAKES_IMAGES;
	return !h->hides && !(h->lacks & kind) &&
	       !(w->refuses && strcmp(p->type, w->refuses) == 0);
}

static bool all_taken(const struct wire *w, const struct history *h,
		      const struct message *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (!is_taken(w, h, &m->parts[i]))
			return false;
	return true;
}

/* The line that stands for the file: of its own, or at the end of the result
 * that it came with. */
static void add_note(struct message *to, enum role role,
		     const struct part *media)
{
	struct part *last = to->n ? &to->parts[to->n - 1] : NULL;
	struct buf text = BUF_INIT(SIZE_MAX / 2);

	while (last && last > to->parts && last->kind == PART_MEDIA)
		last--;
	if (role != ROLE_TOOL || !last)
		last = message_add(to, PART_TEXT);
	if (last->text) {
		buf_adds(&text, last->text);
		buf_addc(&text, '\n');
	}
	media_describe(media->name,
		       (struct str){ media->bytes, media->n_bytes },
		       "not shown to this model", &text);
	free(last->text);
	last->text = buf_detach(&text);
}

static void copy_part(struct message *to, const struct part *from, bool own)
{
	struct part *p = message_add(to, from->kind);

	p->text = xstrdup(from->text);
	p->id = xstrdup(from->id);
	p->name = xstrdup(from->name);
	p->args = xstrdup(from->args);
	p->replay = own ? xstrdup(from->replay) : NULL;
	p->bad_args = from->bad_args;
	p->failed = from->failed;
	p->type = from->type;
	p->n_bytes = from->n_bytes;
	if (from->bytes)
		p->bytes = memcpy(xcalloc(from->n_bytes + 1, 1), from->bytes,
				  from->n_bytes);
}

void wire_push(const struct wire *w, struct history *h, const char *origin,
	       const struct message *m)
{
	bool own = !m->origin || strcmp(m->origin, origin) == 0;
	struct message plain = { .role = m->role };

	if (!own)
		h->thoughts |= h->wants_thoughts;
	if (own && all_taken(w, h, m)) {
		w->push(h, m);
		return;
	}
	for (size_t i = 0; i < m->n; i++) {
		if (is_taken(w, h, &m->parts[i]))
			copy_part(&plain, &m->parts[i], own);
		else
			add_note(&plain, m->role, &m->parts[i]);
	}
	w->push(h, &plain);
	message_release(&plain);
}

void wire_base64(struct buf *out, const struct part *media)
{
	buf_addc(out, '"');
	json_base64(out, (struct str){ media->bytes, media->n_bytes });
	buf_addc(out, '"');
}

void wire_data_url(struct buf *out, const struct part *media)
{
	buf_addf(out, "\"data:%s;base64,", media->type);
	json_base64(out, (struct str){ media->bytes, media->n_bytes });
	buf_addc(out, '"');
}

void wire_tool(struct buf *out, const struct tool_spec *tool,
	       const char *before)
{
	json_member(out, "name", str_of(tool->name));
	buf_addc(out, ',');
	json_member(out, "description", str_of(tool->description));
	buf_adds(out, before);
	buf_adds(out, tool->schema);
}

void wire_open_block(struct history *h, enum role role, const char *name,
		     const char *list)
{
	struct buf *out = &h->bytes;

	if (h->last == role) {
		buf_addc(out, ',');
		return;
	}
	if (h->last)
		buf_adds(out, "]},");
	buf_addf(out, "{\"role\":\"%s\",\"%s\":[", name, list);
	h->last = role;
}

void wire_names(struct buf *out)
{
	for (size_t i = 0; wires[i]; i++)
		buf_addf(out, "%s\"%s\"", i ? " or " : "", wires[i]->name);
}

cJSON *wire_parse(struct str data, struct error *err)
{
	cJSON *tree = json_parse_repaired(data);

	if (cJSON_IsObject(tree))
		return tree;
	cJSON_Delete(tree);
	(void)error_set(err, ERR_PROTOCOL,
			"the model's stream contains an event that is not a "
			"JSON object");
	return NULL;
}

void wire_params(const cJSON *params, struct buf *out)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, params) {
		json_quote(out, str_of(item->string));
		buf_addc(out, ':');
		json_print(out, item);
		buf_addc(out, ',');
	}
}

void wire_escape(struct buf *out, const char *text, const char *keep)
{
	percent_encode(out, str_of(text), keep);
}

void wire_args(struct buf *out, const struct part *call)
{
	if (call->args && !call->bad_args) {
		buf_adds(out, call->args);
		return;
	}
	/* Shown to the model as it wrote them, but as valid JSON. */
	buf_addc(out, '{');
	json_member(out, "invalid_arguments", str_of(call->args));
	buf_addc(out, '}');
}
