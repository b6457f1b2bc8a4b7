/* help.c - /help: the commands by group, for any width. */
/* SPDX-License-Identifier: MIT */
#include "base/str.h"
#include "cmd/slash/slash_cmd.h"
#include "cmd/slash/table.h"

enum {
	COLUMN = 29,
	NARROW = 60, /* columns: below, the summary has its own line */
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

void slash_cmd_help(struct run *r, int n, char **words, size_t columns,
		    struct buf *out)
{
	static const char *const titles[N_GROUPS] = {
		[GROUP_TALK] = "Conversation",
		[GROUP_SANDBOX] = "Sandbox and files",
		[GROUP_SETTINGS] = "Settings",
		[GROUP_CHAT] = "Chat",
	};

	(void)n;
	(void)words;
	add_wrapped(out,
		    STR("Type a message and Enter. A line that ends in \\ "
			"goes on. Ctrl-C interrupts."),
		    0, 0, columns);
	if (r->theme)
		add_wrapped(out,
			    STR("Esc stops, Ctrl-R searches what was typed, "
				"Ctrl-X opens an editor, Ctrl-O shows the last "
				"call, Shift-Tab changes who is asked, @ names "
				"a file, !COMMAND runs one, !! without telling "
				"the model."),
			    0, 0, columns);
	for (int group = 0; group < N_GROUPS; group++) {
		buf_addf(out, "%s\n", titles[group]);
		for (size_t i = 0; i < slash_n_commands; i++)
			if ((int)slash_commands[i].group == group)
				add_help(&slash_commands[i], columns, out);
	}
}
