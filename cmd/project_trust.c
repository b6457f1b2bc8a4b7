/* project_trust.c - asks before a repository's hooks, servers or subagents are
 * used. */
/* SPDX-License-Identifier: MIT */
#include "cmd/project_trust.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/str.h"
#include "cmd/secret.h"
#include "ui/question.h"

enum { USUAL_COLUMNS = 80, SHOWN_MAX = 1 << 20, MOST_ITEMS = 6 };

static const char again[] =
	"dcode asks again when the entry or one of these files changes. It "
	"does not notice\nchanges to other files that these load or start, or "
	"to files that match a\npattern (*).\n";

static const char unnamed[] =
	"One of its commands does not name a project file, so dcode does not "
	"ask again\nwhen project files change.\n";

static size_t terminal_columns(void)
{
	struct winsize size = { 0 };

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_col)
		return USUAL_COLUMNS;
	return size.ws_col;
}

static const char *describe_purpose(const struct trust_entry *e)
{
	if (e->kind == TRUST_SUBAGENT)
		return "wants to choose the model or sandbox of a subagent. "
		       "This may cost money, and\nyour work is sent there";
	if (!e->n_words)
		return "wants dcode to connect to a server. The server sees "
		       "everything that dcode\nsends to it";
	return "wants to run a program on this machine, with your rights and "
	       "outside of any\nsandbox";
}

static void add_variables(const struct trust_entry *e, struct buf *out)
{
	for (size_t i = 0; i < e->n_variables; i++)
		buf_addf(out, "%s%s", i ? ", " : "", e->variables[i]);
}

/* Shows the whole entry, with hidden characters made visible. Returns false if
 * it is too long to show. Attack: a repository hides its command behind a
 * megabyte of blank text. */
static bool show_entry(const struct trust_entry *e, const char *files)
{
	struct question_item items[MOST_ITEMS];
	struct question_screen room = { 0, terminal_columns() };
	struct buf variables = BUF_INIT(SHOWN_MAX);
	struct buf text = BUF_INIT(SHOWN_MAX);
	bool whole;
	size_t n = 0;

	add_variables(e, &variables);
	items[n++] = (struct question_item){ .label = trust_kind_name(e->kind),
					     .text = str_of(e->name) };
	items[n++] = (struct question_item){ .label = "of",
					     .text = str_of(e->file) };
	items[n++] = (struct question_item){ .label = "entry",
					     .text = str_trim(e->text) };
	if (e->n_words)
		items[n++] = (struct question_item){
			.label = "starts in",
			.text = str_of(e->dir ? e->dir : e->root)
		};
	if (variables.len)
		items[n++] =
			(struct question_item){ .label = "receives your",
						.text = buf_str(&variables) };
	if (files[0])
		items[n++] = (struct question_item){
			.label = "files", .text = str_trim(str_of(files))
		};
	question_render(items, n, room, &text);
	whole = !text.over && !variables.over;
	fprintf(stderr, "\nThis project %s:\n%s%s%s", describe_purpose(e),
		!whole     ? "  the entry is too long to show, so it is not "
			     "allowed\n"
		: text.len ? text.ptr
			   : "",
		whole && e->n_words ? again : "",
		whole && e->n_words && (e->unnamed || !files[0]) ? unnamed
								 : "");
	buf_release(&variables);
	buf_release(&text);
	return whole;
}

static int on_ask(void *arg, const struct trust_entry *e, const char *files,
		  struct error *err)
{
	struct app *app = arg;
	int rc = 0;

	if (show_entry(e, files))
		rc = secret_confirm(app, "Allow it from now on? [y/N] ", err);
	return rc;
}

static bool on_can_ask(void *arg)
{
	return secret_terminal(arg);
}

int project_trust_open(struct app *app, struct trust **t, struct error *err)
{
	struct trust_ui ui = { on_ask, on_can_ask, app_warn_line, app };
	char *store;

	if (!app->trust) {
		store = app_state_path(app, "trusted.json", err);
		if (!store)
			return -1;
		app->trust = trust_new(store, app->trusted, &ui);
		free(store);
	}
	*t = app->trust;
	return 0;
}
