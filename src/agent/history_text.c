/* history_text.c - messages as text, for a summary, a file or the model. */
/* SPDX-License-Identifier: MIT */
#include "agent/history_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "tool/todos.h"

enum { PART_BYTES = 80 }; /* what a wire writes around a part */

/* note: what is said in the middle after the number of bytes. */
static void shorten(struct str text, size_t most, const char *note,
		    struct buf *out)
{
	struct str head = { text.ptr, most * 2 / 3 };
	size_t tail = text.len - most / 3;

	if (!most || text.len <= most) {
		buf_addstr(out, text);
		return;
	}
	while (head.len && ((unsigned char)text.ptr[head.len] & 0xC0) == 0x80)
		head.len--;
	while (tail < text.len &&
	       ((unsigned char)text.ptr[tail] & 0xC0) == 0x80)
		tail++;
	buf_addstr(out, head);
	buf_addf(out, "\n[... %zu bytes %s ...]\n", tail - head.len, note);
	buf_addstr(out, str_skip(text, tail));
}

void history_text_shorten(struct str text, size_t most, struct buf *out)
{
	shorten(text, most, "are left out; read_history shows the whole", out);
}

void history_text_shorten_summary(struct str text, size_t most, struct buf *out)
{
	shorten(text, most, "of the summary are left out", out);
}

static const char *title_of(const struct message *m)
{
	if (m->role == ROLE_USER)
		return m->summary ? "summary" : "user";
	return m->role == ROLE_ASSISTANT ? "answer" : "results";
}

static void add_part(const struct part *p, size_t most, struct buf *out)
{
	if (p->kind == PART_TOOL_CALL) {
		buf_addf(out, "call of %s: ", p->name ? p->name : "?");
		history_text_shorten(str_of(p->args), most, out);
	} else if (p->kind == PART_TOOL_RESULT) {
		buf_addf(out, "result of %s%s:\n", p->name ? p->name : "?",
			 p->failed ? " (failed)" : "");
		history_text_shorten(str_of(p->text), most, out);
	} else if (p->kind == PART_TEXT || p->kind == PART_MEDIA) {
		buf_adds(out, p->text ? p->text : "");
	} else {
		return;
	}
	buf_addc(out, '\n');
}

void history_text_add(const struct message *m, size_t number, size_t most,
		      struct buf *out)
{
	if (number)
		buf_addf(out, "## %zu %s\n", number, title_of(m));
	else
		buf_addf(out, "## %s\n", title_of(m));
	for (size_t i = 0; i < m->n; i++)
		add_part(&m->parts[i], most, out);
	buf_addc(out, '\n');
}

size_t history_text_size(const struct message *m, const struct model *model)
{
	size_t n = PART_BYTES;

	for (size_t i = 0; i < m->n; i++) {
		const struct part *p = &m->parts[i];

		if (p->kind == PART_MEDIA)
			n += model_media_weight(model, p);
		n += PART_BYTES + str_of(p->text).len + str_of(p->id).len +
		     str_of(p->name).len + str_of(p->args).len +
		     str_of(p->replay).len;
	}
	return n;
}

static bool trim_text(char **text, size_t most)
{
	struct buf out = BUF_INIT(SIZE_MAX / 2);

	if (str_of(*text).len <= most + PART_BYTES)
		return false;
	history_text_shorten(str_of(*text), most, &out);
	free(*text);
	*text = buf_detach(&out);
	return true;
}

static bool trim_args(struct part *p, size_t most)
{
	struct buf out = BUF_INIT(SIZE_MAX / 2);
	cJSON *args;
	cJSON *item;
	bool any = false;

	if (p->replay || p->bad_args || str_is(str_of(p->name), TODOS_TOOL) ||
	    str_of(p->args).len <= most + PART_BYTES)
		return false;
	args = json_parse(str_of(p->args));
	cJSON_ArrayForEach (item, args) {
		char *text;

		if (!cJSON_IsString(item))
			continue;
		text = xstrdup(item->valuestring);
		if (trim_text(&text, most)) {
			(void)cJSON_SetValuestring(item, text);
			any = true;
		}
		free(text);
	}
	if (any) {
		json_print(&out, args);
		free(p->args);
		p->args = buf_detach(&out);
	}
	cJSON_Delete(args);
	return any;
}

bool history_text_trim(struct message *m, size_t most)
{
	bool any = false;

	for (size_t i = 0; i < m->n; i++) {
		struct part *p = &m->parts[i];

		if (p->kind == PART_TOOL_RESULT)
			any |= trim_text(&p->text, most);
		else if (p->kind == PART_TOOL_CALL)
			any |= trim_args(p, most);
	}
	return any;
}
