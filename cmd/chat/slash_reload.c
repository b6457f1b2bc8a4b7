/* slash_reload.c - /reload: reads the settings again, and says what changed. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/chat/slash_cmd.h"
#include "cmd/config.h"
#include "cmd/print.h"
#include "cmd/session/conversation.h"
#include "cmd/session/hooks.h"
#include "cmd/session/options.h"
#include "cmd/session/run.h"
#include "cmd/session/run_skills.h"

enum { VALUE_SHOWN = 200 }; /* bytes */

/* From when on a changed setting counts, by the part before its first dot. */
static const char *when_used(const char *key)
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
	return "when dcode is started again";
}

static const struct config_entry *find(const struct config_entries *e,
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
	print_line(app, "%s: %.*s -> %.*s, used %s", key, VALUE_SHOWN, before,
		   VALUE_SHOWN, after, when_used(key));
}

/* The number of settings that differ. */
static size_t print_changes(const struct app *app,
			    const struct config_entries *before,
			    const struct config_entries *after)
{
	size_t n = 0;

	for (size_t i = 0; i < after->n; i++) {
		const char *key = after->list[i].key;
		const char *was = value_of(find(before, key));
		const char *is = value_of(&after->list[i]);

		if (!strcmp(was, is))
			continue;
		print_change(app, key, was, is);
		n++;
	}
	for (size_t i = 0; i < before->n; i++) {
		const char *key = before->list[i].key;

		if (find(after, key) || !before->list[i].set)
			continue;
		print_change(app, key, value_of(&before->list[i]), "(unset)");
		n++;
	}
	return n;
}

/* What the run has taken out of the settings when it was opened. */
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
	/* The model is told of them anew, as of AGENTS.md. */
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
			fputs("Settings, keys, skills, hooks and AGENTS.md are "
			      "reloaded; no setting has changed.\n",
			      stderr);
	}
	config_release(&before);
	config_release(&after);
	return true;
}
