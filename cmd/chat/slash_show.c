/* slash_show.c - commands of the chat that say or set something small. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>

#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/chat/appearance.h"
#include "cmd/chat/slash_cmd.h"
#include "cmd/session/conversation.h"
#include "cmd/session/run.h"
#include "cmd/session/transfer.h"
#include "ui/summary.h"

bool slash_cmd_upload(struct run *r, int n, char **words)
{
	run_transfer_words(r, true, n, words);
	return true;
}

bool slash_cmd_download(struct run *r, int n, char **words)
{
	run_transfer_words(r, false, n, words);
	return true;
}

void slash_cmd_theme(struct run *r, int n, char **words, size_t columns,
		     struct buf *out)
{
	struct error err = { 0 };

	(void)columns;
	if (!r->theme)
		buf_adds(out, "This chat has no screen.\n");
	else if (n && appearance_choose(r->app, r->theme, words[0], &err) < 0)
		(void)app_fail(r->app, &err);
	else if (!n && r->theme->chosen == THEME_AUTO)
		buf_addf(out, "The theme is auto: %s.\n",
			 theme_name(r->theme->name));
	else if (!n)
		buf_addf(out, "The theme is %s.\n", theme_name(r->theme->name));
}

void slash_list_modes(struct run *r, struct buf *out)
{
	(void)r;
	for (int i = 0; i < N_RUN_MODES; i++)
		buf_addf(out, "%s\t\n", run_mode_name((enum run_mode)i));
}

void slash_list_themes(struct run *r, struct buf *out)
{
	(void)r;
	buf_adds(out, "auto\tas the terminal's background is\n"
		      "dark\t\nlight\t\nnone\twithout colours\n");
}

void slash_cmd_thinking(struct run *r, int n, char **words, size_t columns,
			struct buf *out)
{
	(void)n;
	(void)words;
	(void)columns;
	if (!r->theme) {
		buf_adds(out, "This chat has no screen.\n");
		return;
	}
	*r->show_thinking = !*r->show_thinking;
	buf_addf(out, "Thinking is shown %s.\n",
		 *r->show_thinking ? "in full" : "by its first words");
}

void slash_cmd_version(struct run *r, int n, char **words, size_t columns,
		       struct buf *out)
{
	(void)r;
	(void)n;
	(void)words;
	(void)columns;
	buf_adds(out, "dcode " DCODE_VERSION "\n");
}

bool slash_cmd_tokens(struct run *r, int n, char **words)
{
	const struct usage *u = &r->agent.usage;

	(void)n;
	(void)words;
	if (!u->input && !u->output && !u->cache_read && !u->cache_write)
		fputs("No token usage yet - send a message to get started\n",
		      stderr);
	else
		fprintf(stderr,
			"%" PRId64 " tokens in, %" PRId64 " of them read from "
			"the cache and %" PRId64 " written to it; %" PRId64
			" out\n",
			u->input + u->cache_read + u->cache_write,
			u->cache_read, u->cache_write, u->output);
	run_tell_assumed(r);
	return true;
}

bool slash_cmd_todos(struct run *r, int n, char **words)
{
	struct buf text = BUF_INIT(1 << 20);
	struct buf clean = BUF_INIT(1 << 20);
	struct error err = { 0 };
	struct todos t = { 0 };

	(void)n;
	(void)words;
	if (conversation_todos(r, &t, &err) < 0) {
		(void)app_fail(r->app, &err);
		return true;
	}
	todo_view_text(&t, &text);
	sanitize_text(buf_str(&text), &clean);
	fputs(t.n ? clean.ptr : "This thread has no to-do list.\n", stderr);
	buf_release(&text);
	buf_release(&clean);
	todos_release(&t);
	return true;
}

bool slash_cmd_quit(struct run *r, int n, char **words)
{
	(void)r;
	(void)n;
	(void)words;
	return false;
}
