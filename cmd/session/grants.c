/* grants.c - calls that the user has approved in advance. */
/* SPDX-License-Identifier: MIT */

/*
 * Implements "allow always" and "allow for this conversation". A grant is the
 * whole call and the place where it acts, as JSON, so that only an identical
 * call matches. "Allow always" stores the grant in approvals.allow of
 * config.toml, without the sandbox's id.
 */
#include "cmd/session/grants.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/config_file.h"
#include "config/list_edit.h"

enum { MAX_CONFIG = 64 << 20 };

static const char key[] = "approvals.allow";

/* Adds the member if text is not NULL. */
static void add_text(cJSON *object, const char *name, const char *text)
{
	if (text)
		cJSON_AddStringToObject(object, name, text);
}

/* Returns the call and the place where it acts as JSON. sandbox is the id, or
 * NULL for every sandbox of this provider. id is the call's, or NULL for every
 * identical call. Free with cJSON_free(). */
static char *describe_call(const struct approval *a, const char *sandbox,
			   const char *id)
{
	cJSON *call = cJSON_CreateObject();
	char *text;

	add_text(call, "tool", a->tool->spec.name);
	cJSON_AddItemToObject(call, "args", cJSON_Duplicate(a->args, true));
	add_text(call, "machine", a->machine);
	add_text(call, "sandbox", sandbox);
	add_text(call, "directory", a->workdir);
	add_text(call, "mounted", a->mounted);
	add_text(call, "path", a->real_path);
	add_text(call, "id", id);
	text = cJSON_PrintUnformatted(call);
	cJSON_Delete(call);
	return text;
}

static bool is_listed(const struct grants *g, const char *call)
{
	for (size_t i = 0; i < g->n; i++)
		if (!strcmp(g->list[i].call, call))
			return true;
	return false;
}

bool grants_have(const struct grants *g, const struct approval *a)
{
	char *here = describe_call(a, a->sandbox, NULL);
	char *anywhere = describe_call(a, NULL, NULL);
	bool found = is_listed(g, here) || is_listed(g, anywhere);

	cJSON_free(here);
	cJSON_free(anywhere);
	return found;
}

static void remove_grant(struct grants *g, size_t i)
{
	struct grant *grant = &g->list[i];

	free(grant->call);
	memmove(grant, grant + 1, (--g->n - i) * sizeof(*grant));
}

/* Removes the grant for this one call. Returns false if there was none. */
bool grants_take(struct grants *g, const struct approval *a, const char *id)
{
	char *call = g->n ? describe_call(a, a->sandbox, id) : NULL;
	bool found = false;

	for (size_t i = 0; !found && i < g->n; i++) {
		found = !strcmp(g->list[i].call, call);
		if (found)
			remove_grant(g, i);
	}
	cJSON_free(call);
	return found;
}

static void add_grant(struct grants *g, const char *call, bool stored)
{
	if (is_listed(g, call))
		return;
	g->list = xrealloc(g->list, g->n + 1, sizeof(*g->list));
	g->list[g->n++] = (struct grant){ xstrdup(call), stored };
}

void grants_add(struct grants *g, const struct approval *a, const char *id)
{
	char *call = describe_call(a, a->sandbox, id);

	add_grant(g, call, false);
	cJSON_free(call);
}

void grants_inherit(struct grants *g, const struct grants *from)
{
	for (size_t i = 0; i < from->n; i++)
		if (!from->list[i].stored)
			add_grant(g, from->list[i].call, false);
}

void grants_clear(struct grants *g)
{
	for (size_t i = 0; i < g->n; i++)
		free(g->list[i].call);
	free(g->list);
	*g = (struct grants){ 0 };
}

/* Errors are only warnings: a broken grant must not keep dcode from
 * starting. */
void grants_load(struct grants *g, const struct settings *set)
{
	const char *const *list = NULL;
	struct error err = { 0 };
	size_t n = 0;

	if (settings_list(set, NULL, key, &list, &n, &err) < 0)
		app_warn("%s", err.message);
	for (size_t i = 0; i < n; i++)
		add_grant(g, list[i], true);
}

char *grants_file(const struct settings *set)
{
	return path_join(settings_dir(set), "config.toml");
}

struct grant_edit {
	const char *call;
	bool adds;
};

/* config_edit callback: adds the call to [approvals] allow, or removes it if
 * adds is false. */
static int edit_text(void *arg, const char *name, struct str text,
		     struct buf *out, struct error *err)
{
	const struct list_edit edit = { name, "approvals", "allow" };
	const struct grant_edit *g = arg;

	return g->adds ? list_edit_add(&edit, text, str_of(g->call), out, err)
		       : list_edit_remove(&edit, text, str_of(g->call), out,
					  err);
}

static int edit_config(struct app *app, const char *call, bool adds,
		       struct error *err)
{
	struct grant_edit edit = { call, adds };

	return config_file_edit(app, edit_text, &edit, err);
}

static int refuse_policy(const struct app *app, struct error *err)
{
	if (!settings_policy(app->settings, key))
		return 0;
	return error_set(err, ERR_POLICY,
			 "%s is set by %s, so config.toml does not change it",
			 key, SETTINGS_POLICY_FILE);
}

/* Adds the grant to config.toml, then to the list. */
int grants_store(struct grants *g, const struct approval *a, struct app *app,
		 struct error *err)
{
	char *call = describe_call(a, NULL, NULL);
	int rc;

	rc = refuse_policy(app, err);
	if (rc == 0 && mask_holds(app->mask, str_of(call)))
		rc = error_set(
			err, ERR_USAGE,
			"the call contains a secret, so it is not written "
			"to config.toml");
	else if (rc == 0)
		rc = edit_config(app, call, true, err);
	if (rc == 0)
		add_grant(g, call, true);
	for (size_t i = 0; rc == 0 && i < g->n; i++)
		if (!strcmp(g->list[i].call, call))
			g->list[i].stored = true;
	cJSON_free(call);
	return rc;
}

int grants_remove(struct grants *g, size_t i, struct app *app,
		  struct error *err)
{
	struct grant *grant = &g->list[i];

	if (grant->stored && refuse_policy(app, err) < 0)
		return -1;
	if (grant->stored && edit_config(app, grant->call, false, err) < 0 &&
	    err->code != ERR_NOT_FOUND)
		return -1;
	*err = (struct error){ 0 };
	remove_grant(g, i);
	return 0;
}
