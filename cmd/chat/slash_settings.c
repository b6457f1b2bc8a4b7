/* slash_settings.c - /mode, /approvals, /mcp, /reload, ... */
/* SPDX-License-Identifier: MIT */
/*
 * Small commands that show or change a setting of this session, and /reload,
 * which reads the settings again. Begin reading at slash_cmd_reload().
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/chat/ends.h"
#include "cmd/chat/slash_cmd.h"
#include "cmd/config.h"
#include "cmd/print.h"
#include "cmd/session/conversation.h"
#include "cmd/session/grants.h"
#include "cmd/session/hooks.h"
#include "cmd/session/mcp_servers.h"
#include "cmd/session/options.h"
#include "cmd/session/policy.h"
#include "cmd/session/run.h"
#include "cmd/session/shell.h"
#include "cmd/session/skills.h"
#include "cmd/session/transfer.h"
#include "cmd/session/undo.h"
#include "ui/summary.h"

bool slash_cmd_upload(struct run *r, int n, char **words)
{
	run_transfer_words(r, true, n, words);
	undo_checkpoint(r, CHECKPOINT_OTHER);
	return true;
}

bool slash_cmd_shell(struct run *r, int n, char **words)
{
	struct error err = { 0 };

	(void)words;
	if (n ? error_set(&err, ERR_USAGE, "/shell takes no arguments")
	      : shell_run_in_chat(r, &err))
		(void)app_fail(r->app, &err);
	if (app_signal() == SIGINT) /* any other signal must end the chat */
		app_signal_clear(r->app);
	return true;
}

bool slash_cmd_download(struct run *r, int n, char **words)
{
	run_transfer_words(r, false, n, words);
	return true;
}

void slash_list_modes(struct run *r, struct buf *out)
{
	(void)r;
	for (int i = 0; i < N_RUN_MODES; i++)
		buf_addf(out, "%s\t\n", mode_name((enum run_mode)i));
}

void slash_cmd_thinking(struct run *r, int n, char **words, size_t columns,
			struct buf *out)
{
	(void)n;
	(void)words;
	(void)columns;
	if (!r->theme) {
		buf_adds(out, "Not available: this chat runs line by line, "
			      "without a screen.\n");
		return;
	}
	*r->show_thinking = !*r->show_thinking;
	buf_adds(out, *r->show_thinking
			      ? "Thinking is shown in full.\n"
			      : "Only the first words of the model's thinking "
				"are shown.\n");
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

enum {
	MAX_SHOWN = 1 << 16,
	MAX_VALUE = 60, /* characters shown of an argument */
};

/* Appends the arguments that the summary in out does not contain. */
static void add_other_arguments(const cJSON *args, struct buf *out)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, args) {
		char *text = cJSON_IsString(item)
				     ? xstrdup(item->valuestring)
				     : cJSON_PrintUnformatted(item);
		struct str shown = str_of(text);

		shown.len = str_find(shown, '\n');
		shown.len = str_char_offset(shown, MAX_VALUE);
		if (!shown.len || str_search(buf_str(out), shown) == out->len)
			buf_addf(out, ", %s: %.*s%s", item->string,
				 (int)shown.len, text,
				 text[shown.len] ? "..." : "");
		free(text);
	}
}

/* Appends where an allowed call acts. */
static void add_place(const cJSON *call, struct buf *out)
{
	const char *machine = json_string(call, "machine", "this machine");
	const char *sandbox = json_string(call, "sandbox", NULL);
	const char *directory = json_string(call, "directory", NULL);

	if (!strcmp(machine, "this machine"))
		buf_adds(out, "on this machine");
	else if (sandbox)
		buf_addf(out, "in the sandbox %s of %s", sandbox, machine);
	else
		buf_addf(out, "in each sandbox of %s", machine);
	if (directory)
		buf_addf(out, ", in %s", directory);
}

/* Appends what an allowed call does. */
static void add_grant(const cJSON *call, struct buf *what)
{
	const cJSON *args = json_get(call, "args");
	char *text = args ? cJSON_PrintUnformatted(args) : NULL;
	struct part part = { .name = (char *)json_string(call, "tool", "?"),
			     .args = text };

	summary_of_call(&part, NULL, what);
	add_other_arguments(args, what);
	cJSON_free(text);
}

void slash_list_grants(struct run *r, struct buf *out)
{
	for (size_t i = 0; i < r->grants.n; i++) {
		cJSON *call = json_parse(str_of(r->grants.list[i].call));
		struct buf what = BUF_INIT(MAX_SHOWN);

		add_grant(call, &what);
		buf_addf(out, "remove %zu\t", i + 1);
		app_clean(r->app, CLEAN_LATER, buf_str(&what), out);
		buf_addc(out, '\n');
		cJSON_Delete(call);
		buf_release(&what);
	}
}

/* Prints an allowed call: what it does, and in a second line where, and how
 * long it is allowed. */
static void print_grant(const struct run *r, size_t i)
{
	const struct grant *g = &r->grants.list[i];
	cJSON *call = json_parse(str_of(g->call));
	struct buf what = BUF_INIT(MAX_SHOWN);
	struct buf place = BUF_INIT(MAX_SHOWN);
	struct buf line = BUF_INIT(2 * MAX_SHOWN);

	add_grant(call, &what);
	add_place(call, &place);
	buf_addf(&line, "%3zu  ", i + 1);
	print_add_line(r->app, &line, what.ptr);
	buf_adds(&line, "\n     ");
	print_add_line(r->app, &line, place.ptr);
	fprintf(stderr, "%s; %s\n", line.ptr,
		g->stored ? "stored in config.toml" : "until dcode ends");
	cJSON_Delete(call);
	buf_release(&what);
	buf_release(&place);
	buf_release(&line);
}

static void print_mode(const struct run *r)
{
	fprintf(stderr, "The mode is %s.%s\n", mode_name(run_mode_shown(r)),
		r->options.yes ? " -y was given, so it stays that way until "
				 "dcode ends."
			       : "");
}

static void list_grants(struct run *r)
{
	print_mode(r);
	if (!r->grants.n)
		fputs("No calls are pre-approved. (Press a or A at a question "
		      "to add one.)\n",
		      stderr);
	for (size_t i = 0; i < r->grants.n; i++)
		print_grant(r, i);
}

static void remove_grant(struct run *r, const char *word)
{
	struct error err = { 0 };
	int64_t number;

	if (!str_to_int(str_of(word), &number) || number < 1 ||
	    (uint64_t)number > r->grants.n)
		fprintf(stderr, "Unknown number. /approvals lists 1 to %zu.\n",
			r->grants.n);
	else if (grants_remove(&r->grants, (size_t)number - 1, r->app, &err) <
		 0)
		(void)app_fail(r->app, &err);
	else
		fputs("Removed: dcode asks about this call again.\n", stderr);
}

bool approvals_command(struct run *r, int n, char **words)
{
	if (n == 2 && !strcmp(words[0], "remove"))
		remove_grant(r, words[1]);
	else if (n)
		fputs("Usage: /approvals [remove NUMBER]\n", stderr);
	else
		list_grants(r);
	return true;
}

static bool set_mode(struct run *r, enum run_mode mode)
{
	struct error err = { 0 };

	if (run_set_mode(r, mode, &err) < 0)
		(void)app_fail(r->app, &err);
	print_mode(r);
	return true;
}

bool approvals_manual(struct run *r, int n, char **words)
{
	(void)n;
	(void)words;
	return set_mode(r, RUN_MANUAL);
}

bool approvals_auto_edit(struct run *r, int n, char **words)
{
	(void)n;
	(void)words;
	return set_mode(r, RUN_AUTO_EDIT);
}

bool approvals_plan(struct run *r, int n, char **words)
{
	(void)n;
	(void)words;
	return set_mode(r, RUN_PLAN);
}

bool approvals_yolo(struct run *r, int n, char **words)
{
	(void)n;
	(void)words;
	return set_mode(r, RUN_YOLO);
}

bool approvals_mode(struct run *r, int n, char **words)
{
	for (int mode = 0; n == 1 && mode < N_RUN_MODES; mode++)
		if (!strcmp(words[0], mode_name((enum run_mode)mode)))
			return set_mode(r, (enum run_mode)mode);
	if (n)
		fputs("Usage: /mode [manual|auto-edit|plan|yolo]\n", stderr);
	else
		print_mode(r);
	return true;
}

enum { OUTPUT_MAX = 16 << 20 };

/* Shows one MCP server, or all of them. */
static void show_servers(struct run *r, const char *name)
{
	struct buf out = BUF_INIT(OUTPUT_MAX);

	for (size_t i = 0; r->mcp && i < mcp_count(r->mcp); i++) {
		struct mcp_server *s = mcp_server(r->mcp, i);

		if (!name || !strcmp(name, mcp_server_entry(s)->name))
			mcp_show(r->app, s, name != NULL, &out);
	}
	if (out.len)
		fputs(out.ptr, stderr);
	else if (name)
		fputs("Unknown MCP server. /mcp lists them.\n", stderr);
	else
		fputs("No MCP servers. `dcode mcp config` lists the files that "
		      "can name them.\n",
		      stderr);
	buf_release(&out);
}

/* Reconnects a server. If its tools have changed, the next message sends the
 * new ones. */
static void reconnect_server(struct run *r, struct mcp_server *s)
{
	const char *name = mcp_server_entry(s)->name;
	struct stop stop = app_stop(r->app);
	struct error ignored = { 0 };

	if (!mcp_server_reconnect(s)) {
		show_servers(r, name);
		return;
	}
	if (mcp_server_wait(s, &stop, &ignored) == 0)
		show_servers(r, name);
}

/* Reconnects the named MCP server, or all that have failed. */
static void reconnect_servers(struct run *r, const char *name)
{
	bool found = false;

	for (size_t i = 0; r->mcp && i < mcp_count(r->mcp); i++) {
		struct mcp_server *s = mcp_server(r->mcp, i);
		struct mcp_status st;

		mcp_server_status(s, &st);
		if (name ? strcmp(name, mcp_server_entry(s)->name) != 0
			 : st.state != MCP_FAILED)
			continue;
		found = true;
		reconnect_server(r, s);
	}
	if (!found && name)
		show_servers(r, name);
	else if (!found)
		fputs("No MCP server has failed. /mcp reconnect NAME restarts "
		      "one.\n",
		      stderr);
}

/* Reconnects the server that was logged in to; words may also contain options.
 */
static void reconnect_named(struct run *r, int n, char **words)
{
	for (int i = 1; i < n; i++)
		for (size_t k = 0; r->mcp && k < mcp_count(r->mcp); k++) {
			struct mcp_server *s = mcp_server(r->mcp, k);

			if (strcmp(words[i], mcp_server_entry(s)->name) != 0)
				continue;
			reconnect_server(r, s);
			return;
		}
}

/* Joins words with spaces, because a name may contain spaces without being
 * quoted. Returns NULL if there are no words. The caller owns the result. */
static char *join_words(int n, char **words)
{
	char *name = NULL;

	for (int i = 0; i < n; i++) {
		char *before = name;

		name = xasprintf("%s%s%s", before ? before : "",
				 before ? " " : "", words[i]);
		free(before);
	}
	return name;
}

bool slash_cmd_mcp(struct run *r, int n, char **words)
{
	char *name = NULL;

	if (!n) {
		show_servers(r, NULL);
	} else if (!strcmp(words[0], "reconnect")) {
		name = join_words(n - 1, words + 1);
		reconnect_servers(r, name);
	} else if (!strcmp(words[0], "login") || !strcmp(words[0], "logout")) {
		if (command_run_words(r->app,
				      chat_shell_command(r->app, "/mcp"), n,
				      words) == 0 &&
		    n > 1 && !strcmp(words[0], "login"))
			reconnect_named(r, n, words);
	} else {
		name = join_words(n, words);
		show_servers(r, name);
	}
	free(name);
	return true;
}

void slash_list_mcp(struct run *r, struct buf *out)
{
	buf_adds(out, "reconnect\t[NAME]\nlogin\tNAME\nlogout\tNAME\n");
	for (size_t i = 0; r->mcp && i < mcp_count(r->mcp); i++)
		buf_addf(out, "%s\t\n",
			 mcp_server_entry(mcp_server(r->mcp, i))->name);
}

enum { VALUE_SHOWN = 200 }; /* bytes */

/* Returns when a changed setting takes effect, by the first part of its key. */
static const char *describe_effect_time(const char *key)
{
	static const struct {
		const char *table, *when;
	} rows[] = {
		{ "models", "now" },
		{ "credentials", "now" },
		{ "retries", "now" },
		{ "shell", "now" },
		{ "sandboxes", "with the next sandbox" },
		{ "workspace", "with the next sandbox" },
	};
	size_t len = strcspn(key, ".");

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (strlen(rows[i].table) == len &&
		    !strncmp(rows[i].table, key, len))
			return rows[i].when;
	return "when dcode is restarted";
}

static const struct config_entry *find_entry(const struct config_entries *e,
					     const char *key)
{
	for (size_t i = 0; i < e->n; i++)
		if (!strcmp(e->list[i].key, key))
			return &e->list[i];
	return NULL;
}

static const char *value_of(const struct config_entry *entry)
{
	const char *text = entry ? entry->error : NULL;

	if (entry && !text)
		text = entry->text;
	return text && text[0] ? text : "(unset)";
}

static void print_change(const struct app *app, const char *key,
			 const char *before, const char *after)
{
	print_line(app, "%s: %.*s -> %.*s, takes effect %s", key, VALUE_SHOWN,
		   before, VALUE_SHOWN, after, describe_effect_time(key));
}

/* Prints the settings that differ and returns their number. */
static size_t print_changes(const struct app *app,
			    const struct config_entries *before,
			    const struct config_entries *after)
{
	size_t n = 0;

	for (size_t i = 0; i < after->n; i++) {
		const char *key = after->list[i].key;
		const char *was = value_of(find_entry(before, key));
		const char *is = value_of(&after->list[i]);

		if (!strcmp(was, is))
			continue;
		print_change(app, key, was, is);
		n++;
	}
	for (size_t i = 0; i < before->n; i++) {
		const char *key = before->list[i].key;

		if (find_entry(after, key) || !before->list[i].set)
			continue;
		print_change(app, key, value_of(&before->list[i]), "(unset)");
		n++;
	}
	return n;
}

/* Updates the settings that the run copied when it was opened. */
static void use_settings(struct run *r)
{
	struct settings *set = r->app->settings;
	struct run_options *o = &r->options;
	char *model = run_model_name(r);
	struct error err = { 0 };
	int rc = 0;

	if (o->max_retries)
		rc = settings_set_flag(set, "retries.max_retries",
				       o->max_retries, &err);
	if (rc == 0 && o->effort)
		rc = settings_set_flag(set, "models.effort", o->effort, &err);
	if (rc == 0 && !args_value(r->args, "shell-allow-list")) {
		allow_list_release(&o->allow);
		o->allow = (struct allow_list){ 0 };
		rc = run_allow_resolve(o, set, &err);
	}
	/* Open the skills again: the next message tells the model about them,
	 * as about AGENTS.md. */
	run_skills_close(r);
	if (rc == 0)
		rc = run_skills_open(r, &err);
	if (rc == 0)
		rc = conversation_set_model(r, model, o->model_params, &err);
	if (rc == 0)
		rc = run_hooks_reload(r, &err);
	if (rc < 0) {
		(void)app_fail(r->app, &err);
		fprintf(stderr, "The model's settings are unchanged.\n");
	}
	free(model);
}

bool slash_cmd_reload(struct run *r, int n, char **words)
{
	struct config_entries before = { 0 };
	struct config_entries after = { 0 };
	struct error err = { 0 };

	(void)n;
	(void)words;
	config_collect(&before, r->app->settings, r->app->groups);
	if (app_settings_reload(r->app, &err) < 0) {
		(void)app_fail(r->app, &err);
	} else {
		config_collect(&after, r->app->settings, r->app->groups);
		use_settings(r);
		if (!print_changes(r->app, &before, &after))
			fputs("Reloaded settings, keys, skills, hooks and "
			      "AGENTS.md. No setting has changed.\n",
			      stderr);
	}
	config_release(&before);
	config_release(&after);
	return true;
}
