/* agent_choice.c - chooses and creates agents, each with memory and skills. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/agent_choice.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/config_file.h"
#include "config/list_edit.h"

enum { NAME_MOST = 64 };

/* HTML comments are for the user: they are removed before the model gets the
 * file. */
const char agent_template[] =
	"<!-- What this agent should know in every run: preferences, "
	"conventions,\n"
	"     corrections. Never keys or passwords. -->\n";

static bool is_reserved(const char *name)
{
	static const char *const names[] = {
		"bin",       "plugins",   "conversation_history",
		"providers", "sandboxes", "snapshots",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static bool is_name(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("-_ ", name[i]))
			return false;
	return len && len <= NAME_MOST && name[0] != ' ' && name[0] != '-' &&
	       name[len - 1] != ' ';
}

int agent_check_name(const char *name, struct error *err)
{
	if (!is_name(name)) {
		error_set(err, ERR_USAGE, "not a valid agent name: '%.80s'",
			  name);
		return error_hint(err,
				  "Use letters, digits, - and _, at most %d "
				  "characters.",
				  NAME_MOST);
	}
	if (is_reserved(name))
		return error_set(err, ERR_USAGE,
				 "not a valid agent name: '%s' (dcode uses "
				 "~/.deepagents/%s for other files)",
				 name, name);
	return 0;
}

char *agent_dir(const struct settings *set, const char *name)
{
	return path_join(settings_dir(set), name);
}

bool agent_exists(const struct settings *set, const char *name)
{
	struct error ignored = { 0 };
	char *dir = agent_dir(set, name);
	struct stat st;
	bool there = agent_check_name(name, &ignored) == 0 &&
		     lstat(dir, &st) == 0 && S_ISDIR(st.st_mode);

	free(dir);
	return there;
}

static int read_setting(const struct settings *set, const char *key,
			const char **name, struct error *err)
{
	const char *value = NULL;

	if (settings_string(set, NULL, key, &value, err) < 0)
		return -1;
	if (value && agent_exists(set, value))
		*name = value;
	else if (value && value[0] && strcmp(value, AGENT_DEFAULT) != 0)
		app_warn("%s = \"%s\" is ignored: unknown agent. `dcode agents "
			 "list` shows all",
			 key, value);
	return 0;
}

/* [agents] in config.toml is used only if no thread is resumed. If the thread's
 * agent no longer exists, AGENT_DEFAULT is used. */
int agent_choose(struct app *app, const char *flag, const char *thread,
		 char **name, struct error *err)
{
	const char *found = NULL;
	struct settings *set;

	if (app_settings(app, &set, err) < 0)
		return -1;
	if (flag) {
		if (agent_check_name(flag, err) < 0)
			return error_wrap(err, "argument -a/--agent");
		found = flag;
	} else if (thread) {
		found = thread[0] && agent_exists(set, thread) ? thread : NULL;
	} else if (read_setting(set, "agents.default", &found, err) < 0 ||
		   (!found &&
		    read_setting(set, "agents.recent", &found, err) < 0)) {
		return -1;
	}
	*name = xstrdup(found ? found : AGENT_DEFAULT);
	return 0;
}

/* AGENT_DEFAULT works without a directory. */
int agent_make(struct app *app, const char *name, struct error *err)
{
	char *dir;
	char *file;
	int rc;

	if (!strcmp(name, AGENT_DEFAULT) || agent_exists(app->settings, name))
		return 0;
	dir = agent_dir(app->settings, name);
	file = path_join(dir, "AGENTS.md");
	rc = path_mkdirs(dir, 0700, err);
	if (rc == 0)
		rc = path_write(file, str_of(agent_template), 0600, err);
	if (rc == 0 && !app->quiet)
		fprintf(stderr,
			"Created the agent %s. Write what it should know in "
			"every run into %s\n",
			name, file);
	free(file);
	free(dir);
	return rc;
}

/* config_edit callback: sets agents.recent to arg. */
static int edit_recent(void *arg, const char *file, struct str text,
		       struct buf *out, struct error *err)
{
	const struct list_edit e = { file, "agents", "recent" };

	return list_edit_string(&e, text, arg, out, err);
}

void agent_remember(struct app *app, const char *name)
{
	const struct settings *set = app->settings;
	const char *recent = NULL;
	struct error err = { 0 };

	if (settings_source(set, NULL, "agents.default") != SOURCE_NONE ||
	    settings_string(set, NULL, "agents.recent", &recent, &err) < 0 ||
	    !strcmp(recent ? recent : AGENT_DEFAULT, name))
		return;
	if (config_file_edit(app, edit_recent, (void *)name, &err) < 0)
		app_warn("cannot remember the agent for the next start: %s",
			 err.message);
}
