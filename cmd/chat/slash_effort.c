/* slash_effort.c - /effort: how much the model of the chat thinks. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/chat/slash_cmd.h"
#include "cmd/session/conversation.h"
#include "cmd/session/run.h"
#include "model/catalog.h"

static const char key[] = "models.effort";

/* What a run holds of a name that was typed: those of the table, for good. */
static const char *keep(const char *level)
{
	static const char *const all[] = {
		"none", "minimal", "low", "medium",
		"high", "xhigh",   "max", "default"
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(all[i], level))
			return all[i];
	return NULL;
}

static unsigned levels_of(const struct run *r)
{
	struct model_facts facts;

	(void)model_facts(r->app->settings, r->choice.provider, r->choice.model,
			  &facts);
	return facts.assumed && !facts.efforts ? ~0U : facts.efforts;
}

void slash_list_efforts(struct run *r, struct buf *out)
{
	struct buf names = BUF_INIT(128);
	struct str rest;
	struct str name;

	effort_names(levels_of(r), &names);
	rest = buf_str(&names);
	while (str_split(&rest, ' ', &name)) {
		while (name.len && name.ptr[name.len - 1] == ',')
			name.len--;
		if (!name.len || str_is(name, "or"))
			continue;
		buf_addstr(out, name);
		buf_adds(out, "\t\n");
	}
	buf_adds(out, "default\twhat the vendor chooses\n");
	buf_release(&names);
}

static void show(const struct run *r)
{
	struct buf names = BUF_INIT(128);
	struct error ignored = { 0 };
	const char *level = NULL;

	(void)settings_string(r->app->settings, NULL, key, &level, &ignored);
	fprintf(stderr, "The effort is %s.\n",
		level && level[0] ? level : "default");
	effort_names(levels_of(r), &names);
	if (names.len)
		fprintf(stderr, "%s supports %s.\n", r->choice.model,
			names.ptr);
	else
		fprintf(stderr, "%s supports no effort levels.\n",
			r->choice.model);
	buf_release(&names);
}

static int change(struct run *r, const char *level, struct error *err)
{
	struct settings *set = r->app->settings;
	const char *now = NULL;
	char *was = settings_string(set, NULL, key, &now, err) == 0 && now
			    ? xstrdup(now)
			    : xstrdup("default");
	struct error ignored = { 0 };
	char *model = run_model_name(r);
	int rc = settings_set_flag(set, key, level, err);

	if (rc == 0)
		rc = conversation_set_model(r, model, r->options.model_params,
					    err);
	if (rc == 0)
		r->options.effort = level;
	else
		(void)settings_set_flag(set, key, was, &ignored);
	free(was);
	free(model);
	return rc;
}

bool slash_cmd_effort(struct run *r, int n, char **words)
{
	const char *level = n ? keep(words[0]) : NULL;
	struct error err = { 0 };

	if (!n) {
		show(r);
		return true;
	}
	if (n > 1)
		error_set(&err, ERR_USAGE, "/effort takes one level");
	else if (!level)
		(void)effort_unknown("/effort", words[0], &err);
	else if (change(r, level, &err) == 0)
		fprintf(stderr, "The effort is %s from the next message on.\n",
			level);
	if (err.code)
		(void)app_fail(r->app, &err);
	return true;
}
