/* slash_help.c - /help: the commands by group, for any width; pages of the
 * manual. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/str.h"
#include "cmd/chat/slash.h"
#include "cmd/chat/slash_cmd.h"
#include "cmd/chat/slash_table.h"
#include "cmd/manual.h"

enum {
	COLUMN = 29,
	LIST_MOST = 1 << 12, /* bytes */
	NARROW = 60,         /* columns: below, the summary has its own line */
};

/* From column at on, wrapped with this indent. */
static void add_wrapped(struct buf *out, struct str text, size_t at,
			size_t indent, size_t columns)
{
	struct str word;

	if (at && at >= indent) {
		buf_addc(out, '\n');
		at = 0;
	}
	for (; at < indent; at++)
		buf_addc(out, ' ');
	while (str_split(&text, ' ', &word)) {
		if (at > indent && at + 1 + word.len > columns) {
			buf_addc(out, '\n');
			for (at = 0; at < indent; at++)
				buf_addc(out, ' ');
		} else if (at > indent) {
			buf_addc(out, ' ');
			at++;
		}
		buf_addstr(out, word);
		at += word.len;
	}
	buf_addc(out, '\n');
}

static void add_help(const struct slash_command *s, size_t columns,
		     struct buf *out)
{
	size_t indent = columns < NARROW ? 6 : COLUMN;
	size_t begin = out->len;

	buf_addf(out, "  %s%s%s%s%s", s->name, s->aliases ? " " : "",
		 s->aliases ? s->aliases : "", s->args ? " " : "",
		 s->args ? s->args : "");
	add_wrapped(out, str_of(s->summary), out->len - begin, indent, columns);
}

void slash_add_usage(const char *name, size_t columns, struct buf *out)
{
	name += name[0] == '/';
	for (size_t i = 0; i < slash_n_commands; i++)
		if (!strcmp(slash_commands[i].name + 1, name))
			add_help(&slash_commands[i], columns, out);
}

/* As text. A chat with a screen shows pages by itself. */
static void add_topic(const char *topic, size_t columns, struct buf *out)
{
	const struct manual_page *page = manual_find(topic);
	struct buf list = BUF_INIT(LIST_MOST);
	struct rows rows = { 0 };
	struct error err = { 0 };
	size_t before = out->len;
	struct theme theme;

	slash_add_usage(topic, columns, out);
	if (page) {
		theme_init(&theme);
		manual_render(page,
			      &(struct manual_look){ &theme, columns, "/help" },
			      &rows);
		rows_close(&rows);
		buf_adds(out, out->len > before ? "\n" : "");
	} else if (out->len == before) {
		manual_unknown(topic, &err);
		manual_add_topics(&list);
		buf_addf(out, "%s\n", err.message);
		add_wrapped(out, buf_str(&list), 0, 0, columns);
	}
	for (size_t i = 0; i < rows.n; i++) {
		buf_addstr(out, rows_view(&rows, i).bytes);
		buf_addc(out, '\n');
	}
	rows_release(&rows);
	buf_release(&list);
}

void slash_list_topics(struct run *r, struct buf *out)
{
	(void)r;
	for (const struct manual_page *p = manual_pages; p->name; p++) {
		struct str summary = manual_summary(p);

		buf_addf(out, "%s\t%.*s\n", p->name, (int)summary.len,
			 summary.ptr);
	}
}

void slash_cmd_help(struct run *r, int n, char **words, size_t columns,
		    struct buf *out)
{
	static const char *const titles[N_GROUPS] = {
		[GROUP_TALK] = "Conversation",
		[GROUP_SANDBOX] = "Sandbox and files",
		[GROUP_SETTINGS] = "Settings",
		[GROUP_CHAT] = "Chat",
	};
	struct buf list = BUF_INIT(LIST_MOST);

	if (n) {
		add_topic(words[0], columns, out);
		return;
	}
	add_wrapped(out,
		    STR("Type a message and Enter. A line that ends in \\ "
			"continues. Ctrl-C interrupts."),
		    0, 0, columns);
	if (r->theme)
		add_wrapped(
			out,
			STR("Esc stops, Ctrl-R searches earlier messages, "
			    "Ctrl-X opens an editor, Ctrl-O shows the last "
			    "call, Shift-Tab changes the mode, @ names a file, "
			    "!COMMAND runs one, !! does not tell the model."),
			0, 0, columns);
	for (int group = 0; group < N_GROUPS; group++) {
		buf_addf(out, "%s\n", titles[group]);
		for (size_t i = 0; i < slash_n_commands; i++)
			if ((int)slash_commands[i].group == group)
				add_help(&slash_commands[i], columns, out);
	}
	manual_add_topics(&list);
	buf_adds(out, "Manual (/help TOPIC)\n");
	add_wrapped(out, buf_str(&list), 0, 2, columns);
	buf_release(&list);
}
