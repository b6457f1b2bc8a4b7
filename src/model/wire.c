/* wire.c - code shared by the wires of all vendors. */
/* SPDX-License-Identifier: MIT */
/* A wire writes requests and reads answers in one vendor's protocol. Each file
 * in wires/ is one; this file has what several of them share. Begin reading at
 * wire_push(): every message passes through it on its way into a request. It
 * removes data of other vendors and files that the model does not accept, then
 * calls the wire's push(). */
#include "model/wire.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/catalog.h"
#include "model/message.h"

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

/* Adds the line that replaces a file. For a tool result's file the line is
 * appended to the result, otherwise it is a text part. */
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

/* Copies a part. own false: leaves out the replay data, which only its own
 * vendor understands. */
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
	buf_adds(out, "{\"role\":\"");
	buf_adds(out, name);
	buf_adds(out, "\",\"");
	buf_adds(out, list);
	buf_adds(out, "\":[");
	h->last = role;
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
	/* The arguments are not JSON. Put them into a JSON string, so that the
	 * model sees what it wrote. */
	buf_addc(out, '{');
	json_member(out, "invalid_arguments", str_of(call->args));
	buf_addc(out, '}');
}

int64_t wire_tokens(const cJSON *usage, const char *key, int64_t fallback)
{
	int64_t n = json_int(usage, key, fallback);

	return n < 0 ? 0 : n < INT32_MAX ? n : INT32_MAX;
}

enum {
	NAME_MAX_LEN = 64,
	ID_MAX_LEN = 64,
	/* length of the part before "_" and 16 digits */
	ID_FRONT = ID_MAX_LEN - 17,
};

static char plain_char(char c)
{
	if (isascii(c) && isalnum((unsigned char)c))
		return c;
	return c == '-' ? '-' : '_';
}

static void write_plain(struct buf *out, const char *text, size_t max,
			const char *empty)
{
	size_t len = text ? strlen(text) : 0;

	buf_addc(out, '"');
	if (!len)
		buf_adds(out, empty);
	for (size_t i = 0; i < len && i < max; i++)
		buf_addc(out, plain_char(text[i]));
	buf_addc(out, '"');
}

void wire_name(struct buf *out, const char *name)
{
	write_plain(out, name, NAME_MAX_LEN, "unknown");
}

void wire_id(struct buf *out, const char *id)
{
	write_plain(out, id, SIZE_MAX, "call");
}

uint64_t wire_hash_id(const char *id)
{
	uint64_t hash = 0xCBF29CE484222325u;

	for (; *id; id++)
		hash = (hash ^ (unsigned char)plain_char(*id)) * 0x100000001B3u;
	return hash;
}

void wire_short_id(struct buf *out, const char *id)
{
	if (!id || strlen(id) <= ID_MAX_LEN) {
		wire_id(out, id);
		return;
	}
	write_plain(out, id, ID_FRONT, "");
	out->len--; /* remove the closing quote */
	buf_addf(out, "_%016" PRIx64 "\"", wire_hash_id(id));
}

bool wire_is_blank(const char *text)
{
	return !str_trim(str_of(text)).len;
}

static bool is_sendable(const struct part *p, const struct wire_blocks *f)
{
	if (p->kind == PART_TEXT)
		return !wire_is_blank(p->text);
	/* send thinking only to the vendor that it came from */
	if (p->kind == PART_THINKING)
		return p->replay && str_starts(str_of(p->replay), f->thinking);
	return true;
}

static void write_part(struct buf *out, const struct message *m, size_t i,
		       const struct wire_blocks *f)
{
	const struct part *p = &m->parts[i];

	switch (p->kind) {
	case PART_TEXT:
		f->put_text(out, p->text);
		break;
	case PART_MEDIA:
		f->put_media(out, p);
		break;
	case PART_THINKING:
		buf_adds(out, p->replay);
		break;
	case PART_TOOL_CALL:
		f->put_call(out, p);
		break;
	case PART_TOOL_RESULT:
		f->put_result(out, p, message_count_media(m, i));
		break;
	}
}

/* Starts a block: in the last message if that has this role, otherwise in a new
 * message. */
static void open_block(struct history *h, enum role role)
{
	wire_open_block(h, role, role == ROLE_USER ? "user" : "assistant",
			"content");
}

/* Returns the number of parts to send. Parts that the vendor refuses at the end
 * of a message are not counted. */
static size_t find_end(const struct message *m, const struct wire_blocks *f)
{
	size_t n = m->n;

	while (n && (!is_sendable(&m->parts[n - 1], f) ||
		     m->parts[n - 1].kind == PART_THINKING))
		n--;
	return n;
}

void wire_push_blocks(struct history *h, const struct message *m,
		      const struct wire_blocks *f)
{
	enum role role = m->role == ROLE_ASSISTANT ? m->role : ROLE_USER;
	size_t n = find_end(m, f);
	size_t sent = 0;

	for (size_t i = 0; i < n; i++) {
		if (!is_sendable(&m->parts[i], f) ||
		    (m->role == ROLE_TOOL && m->parts[i].kind == PART_MEDIA))
			continue;
		open_block(h, role);
		write_part(&h->bytes, m, i, f);
		sent++;
	}
	if (sent || role != ROLE_USER)
		return;
	open_block(h, role);
	f->put_empty(&h->bytes);
}

void wire_put_cache_key(const struct wire_head *in, struct buf *out)
{
	const char *given = in->brief->cache_key;
	char key[17];

	if (!str_starts(str_of(in->choice->base_url),
			"https://api.openai.com/") ||
	    json_get(in->params, "prompt_cache_key"))
		return;
	ids_random(key, sizeof(key) - 1);
	json_member(out, "prompt_cache_key", str_of(given ? given : key));
	buf_addc(out, ',');
}
