/* message.c - a message of the conversation, in vendor-neutral form. */
/* SPDX-License-Identifier: MIT */
/* A message is a list of parts. Wires (wire.h) write messages into requests,
 * and a draft becomes a message when an answer is complete. message_to_json()
 * and message_from_json() convert to and from the form in which threads are
 * stored. message_mask() makes a copy without secrets, for output. */
#include "model/message.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mask/mask.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "model/media.h"

static const char *const roles[] = {
	[ROLE_USER] = "user",
	[ROLE_ASSISTANT] = "assistant",
	[ROLE_TOOL] = "tool",
};

static const char *const kinds[] = {
	[PART_TEXT] = "text",           [PART_THINKING] = "thinking",
	[PART_TOOL_CALL] = "tool_call", [PART_TOOL_RESULT] = "tool_result",
	[PART_MEDIA] = "media",
};

enum {
	N_ROLES = sizeof(roles) / sizeof(roles[0]),
	N_KINDS = sizeof(kinds) / sizeof(kinds[0]),
};

static int name_index(const char *const *names, int n, const char *name)
{
	for (int i = 1; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return 0;
}

static void part_release(struct part *p)
{
	free(p->text);
	free(p->id);
	free(p->name);
	free(p->args);
	free(p->replay);
	free(p->change);
	free(p->bytes);
}

struct part *message_add(struct message *m, enum part_kind kind)
{
	struct part *p;

	/* The capacity is n rounded up to a power of two, so it need not be
	 * stored. */
	if (!(m->n & (m->n - 1)))
		m->parts = xrealloc(m->parts, m->n ? m->n * 2 : 1, sizeof(*p));
	p = &m->parts[m->n++];
	*p = (struct part){ .kind = kind };
	return p;
}

struct part *message_add_media(struct message *m, const char *name,
			       struct buf *bytes)
{
	const char *type = media_type(buf_str(bytes));
	struct buf clean = BUF_INIT(MEDIA_NAME_MAX);
	struct buf text = BUF_INIT(MEDIA_NAME_MAX + 128);
	struct part *p;

	if (!type)
		return NULL;
	sanitize_line(str_of(name), &clean);
	clean.len = str_utf8_prefix(buf_str(&clean));
	if (!clean.len)
		buf_adds(&clean, "file");
	clean.ptr[clean.len] = '\0';
	p = message_add(m, PART_MEDIA);
	p->type = type;
	p->n_bytes = bytes->len;
	p->bytes = buf_detach(bytes);
	p->name = buf_detach(&clean);
	media_describe(p->name, (struct str){ p->bytes, p->n_bytes }, NULL,
		       &text);
	p->text = buf_detach(&text);
	return p;
}

void message_move(struct message *to, struct part *from)
{
	struct part moved = *from;

	*from = (struct part){ .kind = moved.kind };
	*message_add(to, moved.kind) = moved;
}

size_t message_count_media(const struct message *m, size_t i)
{
	size_t n = 0;

	while (i + 1 + n < m->n && m->parts[i + 1 + n].kind == PART_MEDIA)
		n++;
	return n;
}

size_t message_media_bytes(const struct message *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++)
		n += m->parts[i].n_bytes;
	return n;
}

void message_release(struct message *m)
{
	for (size_t i = 0; i < m->n; i++)
		part_release(&m->parts[i]);
	free(m->parts);
	free(m->origin);
	*m = (struct message){ 0 };
}

static char *copy_text(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

struct message message_copy(const struct message *m)
{
	struct message copy = { .role = m->role,
				.origin = copy_text(m->origin),
				.refused = m->refused,
				.cut = m->cut,
				.summary = m->summary,
				.steering = m->steering };

	for (size_t i = 0; i < m->n; i++) {
		const struct part *from = &m->parts[i];
		struct part *p = message_add(&copy, from->kind);

		*p = *from;
		p->text = copy_text(from->text);
		p->id = copy_text(from->id);
		p->name = copy_text(from->name);
		p->args = copy_text(from->args);
		p->replay = copy_text(from->replay);
		p->change = copy_text(from->change);
		p->bytes = NULL;
		if (from->bytes) {
			p->bytes = xcalloc(1, from->n_bytes + 1);
			memcpy(p->bytes, from->bytes, from->n_bytes);
		}
	}
	return copy;
}

char *message_text(const struct message *m)
{
	struct buf out = BUF_INIT(SIZE_MAX / 2);

	for (size_t i = 0; i < m->n; i++)
		if (m->parts[i].kind == PART_TEXT && m->parts[i].text)
			buf_adds(&out, m->parts[i].text);
	return buf_detach(&out);
}

const char *message_bridge(const struct message *m)
{
	return m && m->steering ? "(the user sends a message)"
				: "(interrupted)";
}

char *message_with_commands(const struct message *m)
{
	static const char *const notes[] = { MESSAGE_NOTE_PLAN "\n",
					     MESSAGE_NOTE_PLAN_OVER "\n",
					     MESSAGE_NOTE_MOVED "\n" };
	char *all = message_text(m);
	struct str typed = str_of(all);
	char *own;

	for (size_t i = 0; i < sizeof(notes) / sizeof(*notes); i++)
		if (str_starts(typed, notes[i]))
			typed = str_skip(typed, strlen(notes[i]));
	own = xstrndup(typed.len ? typed.ptr : "", typed.len);
	free(all);
	return own;
}

/* Takes the text up to a mark from the front, and drops the mark. */
static bool take_until(struct str *text, struct str mark, struct str *taken)
{
	size_t at = str_search(*text, mark);

	if (at == text->len)
		return false;
	*taken = (struct str){ text->ptr, at };
	*text = str_skip(*text, at + mark.len);
	return true;
}

bool message_take_command(struct str *text, struct str *command,
			  struct str *result)
{
	struct str rest = str_skip(*text, strlen(MESSAGE_OWN_COMMAND));

	if (!str_starts(*text, MESSAGE_OWN_COMMAND) ||
	    !take_until(&rest, STR(MESSAGE_OWN_RESULT), command) ||
	    !take_until(&rest, STR(MESSAGE_OWN_END), result))
		return false;
	*text = rest;
	return true;
}

char *message_typed(const struct message *m)
{
	char *all = message_with_commands(m);
	struct str typed = str_of(all);
	struct str ignored[2];
	char *own;

	while (message_take_command(&typed, &ignored[0], &ignored[1]))
		;
	typed.len = str_search(typed, STR(MESSAGE_FILES));
	own = xstrndup(typed.len ? typed.ptr : "", typed.len);
	free(all);
	return own;
}

static void add_member(struct buf *out, const char *key, const char *value)
{
	if (!value)
		return;
	buf_addc(out, ',');
	json_member(out, key, str_of(value));
}

static void media_to_json(const struct part *p, struct buf *out)
{
	json_member(out, "name", str_of(p->name));
	buf_adds(out, ",\"data\":\"");
	json_base64(out, (struct str){ p->bytes, p->n_bytes });
	buf_adds(out, "\"}");
}

static void part_to_json(const struct part *p, struct buf *out)
{
	buf_addc(out, '{');
	json_member(out, "kind", str_of(kinds[p->kind]));
	if (p->kind == PART_MEDIA) {
		buf_addc(out, ',');
		media_to_json(p, out);
		return;
	}
	add_member(out, "text", p->text);
	add_member(out, "id", p->id);
	add_member(out, "name", p->name);
	add_member(out, "args", p->args);
	add_member(out, "replay", p->replay);
	add_member(out, "change", p->change);
	if (p->bad_args)
		buf_adds(out, ",\"bad_args\":true");
	if (p->failed)
		buf_adds(out, ",\"failed\":true");
	buf_addc(out, '}');
}

void message_to_json(const struct message *m, struct buf *out)
{
	buf_addc(out, '{');
	json_member(out, "role", str_of(roles[m->role]));
	add_member(out, "origin", m->origin);
	if (m->refused)
		buf_adds(out, ",\"refused\":true");
	if (m->cut)
		buf_adds(out, ",\"cut\":true");
	if (m->summary)
		buf_adds(out, ",\"summary\":true");
	if (m->steering)
		buf_adds(out, ",\"steering\":true");
	buf_adds(out, ",\"parts\":[");
	for (size_t i = 0; i < m->n; i++) {
		if (i)
			buf_addc(out, ',');
		part_to_json(&m->parts[i], out);
	}
	buf_adds(out, "]}");
}

static int media_from_json(struct message *m, const cJSON *item)
{
	struct buf bytes = BUF_INIT(MEDIA_MAX_BYTES);
	struct str data = str_of(json_string(item, "data", ""));
	const struct part *p = NULL;

	if (json_decode_base64(&bytes, data) && !bytes.over)
		p = message_add_media(m, json_string(item, "name", ""), &bytes);
	buf_release(&bytes);
	return p ? 0 : -1;
}

static int part_from_json(struct message *m, const cJSON *item)
{
	int kind = name_index(kinds, N_KINDS, json_string(item, "kind", ""));
	struct part *p;

	if (!kind)
		return -1;
	if (kind == PART_MEDIA)
		return media_from_json(m, item);
	p = message_add(m, (enum part_kind)kind);
	p->text = xstrdup(json_string(item, "text", NULL));
	p->id = xstrdup(json_string(item, "id", NULL));
	p->name = xstrdup(json_string(item, "name", NULL));
	p->args = xstrdup(json_string(item, "args", NULL));
	p->replay = xstrdup(json_string(item, "replay", NULL));
	p->change = xstrdup(json_string(item, "change", NULL));
	p->bad_args = json_bool(item, "bad_args", false);
	p->failed = json_bool(item, "failed", false);
	return 0;
}

int message_from_json(struct message *m, struct str json, struct error *err)
{
	cJSON *tree = json_parse(json);
	const cJSON *parts = json_get(tree, "parts");
	const cJSON *item;
	int role = name_index(roles, N_ROLES, json_string(tree, "role", ""));
	int rc = role && cJSON_IsArray(parts) ? 0 : -1;

	*m = (struct message){
		.role = (enum role)role,
		.origin = xstrdup(json_string(tree, "origin", NULL)),
		.refused = json_bool(tree, "refused", false),
		.cut = json_bool(tree, "cut", false),
		.summary = json_bool(tree, "summary", false),
		.steering = json_bool(tree, "steering", false),
	};
	if (rc == 0)
		cJSON_ArrayForEach (item, parts)
			if (rc == 0)
				rc = part_from_json(m, item);
	cJSON_Delete(tree);
	if (rc == 0)
		return 0;
	message_release(m);
	return error_set(err, ERR_PROTOCOL, "stored message is damaged");
}

static char *masked_text(const struct mask *mask, const char *text)
{
	struct buf out = BUF_INIT(SIZE_MAX / 4);

	if (!text)
		return NULL;
	mask_text(mask, str_of(text), &out);
	return buf_detach(&out);
}

char *message_masked_args(const struct mask *mask, const struct part *call)
{
	struct buf out = BUF_INIT(SIZE_MAX / 4);

	if (!call->args || !call->args[0] || call->bad_args)
		return masked_text(mask, call->args);
	mask_json(mask, str_of(call->args), &out);
	return buf_detach(&out);
}

/* Copies a file and masks its name. Its bytes are not masked: that would break
 * the file. */
static void mask_media(const struct mask *mask, const struct part *from,
		       struct message *out)
{
	char *name = masked_text(mask, from->name);
	struct buf bytes = BUF_INIT(SIZE_MAX / 4);

	buf_add(&bytes, from->bytes, from->n_bytes);
	(void)message_add_media(out, name, &bytes);
	buf_release(&bytes);
	free(name);
}

bool message_admit(const struct mask *mask, struct message *m)
{
	bool found = false;

	for (size_t i = 0; i < m->n; i++) {
		struct part *p = &m->parts[i];

		found |= mask_string(p->exempt ? mask_values(mask) : mask,
				     &p->text);
		found |= mask_string(mask, p->kind == PART_MEDIA ? &p->name
								 : &p->change);
	}
	return found;
}

void message_mask(const struct mask *mask, const struct message *m,
		  struct message *out)
{
	*out = (struct message){ .role = m->role,
				 .refused = m->refused,
				 .cut = m->cut,
				 .summary = m->summary,
				 .steering = m->steering };
	for (size_t i = 0; i < m->n; i++) {
		const struct part *from = &m->parts[i];
		struct part *to;

		if (from->kind == PART_MEDIA) {
			mask_media(mask, from, out);
			continue;
		}
		to = message_add(out, from->kind);
		to->text = masked_text(mask, from->text);
		to->id = masked_text(mask, from->id);
		to->name = masked_text(mask, from->name);
		to->args = message_masked_args(mask, from);
		to->change = masked_text(mask, from->change);
		to->bad_args = from->bad_args;
		to->failed = from->failed;
	}
}
