/* ask_view.c - describes a call for the user, and parses the answers. */
/* SPDX-License-Identifier: MIT */
/*
 * The part of a question that both renderers share: the lines that describe a
 * call, which of its texts may be edited, and the words of a choice. Begin
 * reading at call_view_open().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diff.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/chat/ask.h"
#include "sandbox/sandbox.h"
#include "tool/paths.h"

enum { FILE_ROWS = 11 /* of a written file, with the row of hidden ones */ };

enum { RISK_BYTES = 1 << 12 };

static void add_item(struct call_view *v, const char *label, struct str text)
{
	if (v->n < CALL_VIEW_ITEMS)
		v->items[v->n++] =
			(struct question_item){ .label = label, .text = text };
}

static struct str text_of(struct call_view *v, const struct approval *a,
			  const char *name, const cJSON *item)
{
	char *text;

	if (cJSON_IsString(item) && str_is(str_of(a->tool->path_arg), name))
		return str_of(
			paths_shown(a->acts_in->workdir, item->valuestring));
	if (cJSON_IsString(item))
		return str_of(item->valuestring);
	text = cJSON_PrintUnformatted(item);
	v->owned[v->n_owned++] = text;
	return str_of(text);
}

/* True if the tool uses this member. Of several members with the same name, it
 * uses only the first. */
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

/* Appends what the call does: "run in the sandbox (docker 4f1a)". */
static void add_action(const struct approval *a, struct buf *out)
{
	const char *here = "this machine";
	struct buf id = BUF_INIT(IDS_SHOWN);
	char room[IDS_SHOWN];

	if (a->sandbox)
		sanitize_line(str_of(ids_shown(a->sandbox, room)), &id);
	if (!(a->tool->flags & (TOOL_ASKS | TOOL_FOREIGN)) && a->place.len)
		buf_adds(out, "read outside the working directory");
	else if (!a->machine || !strcmp(a->machine, here))
		buf_addf(out, "run on %s", here);
	else if (!a->sandbox)
		buf_addf(out, "run on %.100s, not isolated", a->machine);
	else
		buf_addf(out, "run in the sandbox (%.40s%s%.40s)", a->machine,
			 id.len ? " " : "", id.len ? id.ptr : "");
	buf_release(&id);
}

/* Sets the title: who wants to do what, and where. */
static void set_title(struct call_view *v, const struct approval *a)
{
	struct buf deed = BUF_INIT(128);
	char of[48] = "";

	if (a->total > 1)
		snprintf(of, sizeof(of), " (%zu of %zu)", a->number, a->total);
	add_action(a, &deed);
	snprintf(v->title, sizeof(v->title), "%s%s%s wants to %s%s%s:\n",
		 a->subagent ? a->subagent : "", a->subagent ? ": " : "",
		 a->tool->spec.name, deed.ptr, of,
		 a->edited ? ", as you changed it" : "");
	buf_release(&deed);
}

/* True for the old and new text of an edit, which the diff already shows. */
static bool is_in_change(const struct call_view *v, const struct approval *a,
			 const char *name)
{
	return v->change.len && (str_is(str_of(a->tool->old_arg), name) ||
				 str_is(str_of(a->tool->new_arg), name));
}

/* True for the text of a whole file. Its beginning and its end are enough for
 * most answers, and `v` shows the rest. */
static bool is_whole_file(const struct approval *a, const char *name)
{
	return !a->tool->old_arg && str_is(str_of(a->tool->new_arg), name);
}

/* Sets the label of the diff, with the numbers of its added and removed lines.
 */
static void label_change(struct call_view *v, bool new_file)
{
	struct str rest = buf_str(&v->change);
	struct str line;
	size_t added = 0;
	size_t removed = 0;

	while (str_split(&rest, '\n', &line)) {
		added += str_starts(line, "+");
		removed += str_starts(line, "-");
	}
	if (new_file)
		snprintf(v->change_label, sizeof(v->change_label),
			 "new file (+%zu)", added);
	else
		snprintf(v->change_label, sizeof(v->change_label),
			 "change (+%zu -%zu)", added, removed);
}

/* A file that does not exist yet is compared with an empty one. Masks secrets
 * only after making the diff: replacing a secret by its mask is also a change
 * that the user must see. */
static void add_change(struct call_view *v, const struct approval *a)
{
	if (!a->change.known)
		return;
	diff_text(buf_str(&a->change.before), buf_str(&a->change.after),
		  &v->change);
	(void)mask_buf(a->mask, &v->change);
	label_change(v, a->file_note);
	if (!v->change.len)
		buf_adds(&v->change,
			 a->file_note ? "an empty file"
				      : "no change: the file already has this "
					"text");
}

/* Adds the hosts that a yes opens: "crates.io, a.example:22 for everything in
 * the sandbox while the command runs". */
static void add_opens(struct call_view *v, const struct approval *a)
{
	struct buf text = BUF_INIT(a->opens.max + 100);
	struct str rest = buf_str(&a->opens);
	struct str host;

	while (str_split(&rest, '\n', &host))
		if (host.len)
			buf_addf(&text, "%s%.*s", text.len ? ", " : "",
				 (int)host.len, host.ptr);
	buf_adds(&text, " for everything in the sandbox, while the command "
			"runs");
	v->opens = buf_detach(&text);
	add_item(v, "opens", str_of(v->opens));
}

void call_view_open(struct call_view *v, const struct approval *a)
{
	const cJSON *item;

	*v = (struct call_view){ .unused = BUF_INIT(CALL_VIEW_BYTES),
				 .change = BUF_INIT(CALL_VIEW_BYTES),
				 .risks = BUF_INIT(RISK_BYTES) };
	if (a->tool->path_arg)
		v->path = str_of(json_string(a->args, a->tool->path_arg, NULL));
	set_title(v, a);
	add_change(v, a);
	for (const struct tool_arg *arg = a->tool->args; arg->name; arg++) {
		item = json_get(a->args, arg->name);
		if (!item || is_in_change(v, a, arg->name))
			continue;
		add_item(v, arg->name, text_of(v, a, arg->name, item));
		if (is_whole_file(a, arg->name))
			v->items[v->n - 1].most = FILE_ROWS;
	}
	if (v->change.len) {
		add_item(v, v->change_label, buf_str(&v->change));
		v->items[v->n - 1].is_change = true;
		if (a->file_note)
			v->items[v->n - 1].most = FILE_ROWS;
	}
	ask_add_risks(a, &v->risks);
	if (v->risks.len)
		add_item(v, "touches", buf_str(&v->risks));
	if (a->file_note && !v->change.len)
		add_item(v, "the file", str_of(a->file_note));
	if (a->place.len)
		add_item(v, "acts on", buf_str(&a->place));
	if (a->opens.len)
		add_opens(v, a);
	cJSON_ArrayForEach (item, a->args)
		if (!is_read(a, item))
			add_unused(v, item);
	if (v->unused.len)
		add_item(v,
			 a->tool->flags & TOOL_FOREIGN ? "arguments"
						       : "not used by the tool",
			 buf_str(&v->unused));
	v->n_call = v->n;
	if (a->tool->flags & TOOL_RUNS && a->workdir)
		add_item(v, "in", str_of(a->workdir));
}

void call_view_close(struct call_view *v)
{
	for (size_t i = 0; i < v->n_owned; i++)
		cJSON_free(v->owned[i]);
	free(v->opens);
	buf_release(&v->unused);
	buf_release(&v->change);
	buf_release(&v->risks);
}

bool ask_has_more(const struct question *q)
{
	return q->n == 1 && q->list[0]->n_later;
}

const char *ask_editable(const struct question *q, struct str *text)
{
	const struct approval *a = q->list[0];
	const char *name = q->n == 1 ? approval_editable(a) : NULL;

	if (name)
		*text = str_of(json_string(a->args, name, ""));
	return name;
}

int ask_parse_choice(const struct app_question *q, struct str line)
{
	struct buf clean = BUF_INIT(4 * ASK_REPLY_BYTES);
	int answer = ASK_NO_CHOICE;
	struct str word;

	sanitize_line(line, &clean);
	word = str_trim(buf_str(&clean));
	if (!word.len && !clean.over)
		answer = (int)q->usual;
	for (size_t i = 0; answer == ASK_NO_CHOICE && i < q->n; i++) {
		struct str name = str_of(q->answers[i]);

		if (str_is_nocase(word, q->answers[i]))
			answer = (int)i;
		name.len = 1;
		if (word.len == 1 && (word.ptr[0] | 0x20) == name.ptr[0])
			answer = (int)i;
	}
	buf_release(&clean);
	return answer;
}

void ask_add_advice(const struct app_question *q, struct str typed,
		    struct buf *out)
{
	typed = str_trim(typed);
	if (typed.len) {
		buf_addc(out, '\'');
		sanitize_line(typed, out);
		buf_adds(out, "' is not an answer. ");
	}
	if (q->help) {
		buf_adds(out, q->help);
		return;
	}
	buf_adds(out, "Please answer ");
	for (size_t i = 0; i < q->n; i++)
		buf_addf(out, "%s%c",
			 !i             ? ""
			 : i + 1 < q->n ? ", "
					: " or ",
			 q->answers[i][0]);
	buf_adds(out, ".");
}
