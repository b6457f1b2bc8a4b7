/* agents.c - dcode agents: list, reset. */
/* SPDX-License-Identifier: MIT */
/*
 * An agent is a directory ~/.deepagents/NAME with AGENTS.md, skills and
 * subagents. Begin reading at list_agents() and reset_agent();
 * cmd/session/agent_choice.c chooses the agent of a run.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/command.h"
#include "cmd/secret.h"
#include "cmd/session/agent_choice.h"

enum {
	JSON_BYTES = 1 << 20,
	MEMORY_BYTES = 1 << 20, /* of an AGENTS.md to copy */
	LINE_BYTES = 1 << 13,
};

static bool has_memory(const char *dir)
{
	char *file = path_join(dir, "AGENTS.md");
	struct stat st;
	bool has = stat(file, &st) == 0 && S_ISREG(st.st_mode);

	free(file);
	return has;
}

/* Prints one agent. The name needs no cleaning, because agent_check_name() has
 * checked it. */
static void print_agent(const struct app *app, const char *name,
			const char *chosen, struct buf *json)
{
	char *dir = agent_dir(app->settings, name);
	bool is_default = !strcmp(name, chosen);

	if (!app->json) {
		printf("  - %s%s\n      %s\n", name,
		       is_default ? " (default)" : "", dir);
	} else {
		buf_adds(json, json->len > 1 ? ",{" : "{");
		json_member(json, "name", str_of(name));
		buf_addc(json, ',');
		json_member_bytes(json, "path", str_of(dir));
		buf_addf(json, ",\"has_agents_md\":true,\"is_default\":%s}",
			 is_default ? "true" : "false");
	}
	free(dir);
}

/* Prints every agent that has an AGENTS.md and returns their number. */
static size_t print_agents(const struct app *app, const char *chosen,
			   struct buf *json)
{
	struct dirent **entries = NULL;
	size_t found = 0;
	int n = scandir(settings_dir(app->settings), &entries, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;
		char *dir = agent_dir(app->settings, name);

		if (agent_exists(app->settings, name) && has_memory(dir)) {
			if (!found++ && !app->json)
				puts("Available Agents:");
			print_agent(app, name, chosen, json);
		}
		free(dir);
		free(entries[i]);
	}
	free(entries);
	return found;
}

static int list_agents(struct app *app, const struct args *args)
{
	struct buf json = BUF_INIT(JSON_BYTES);
	struct error err = { 0 };
	char *chosen = NULL;
	size_t found;

	(void)args;
	if (agent_choose(app, NULL, NULL, &chosen, &err) < 0)
		return app_fail(app, &err);
	buf_addc(&json, '[');
	found = print_agents(app, chosen, &json);
	buf_addc(&json, ']');
	if (app->json)
		app_envelope("list", &json); /* the command's name in JSON is
						that of the Python program */
	else if (!found)
		puts("No agents found.");
	buf_release(&json);
	free(chosen);
	return 0;
}

/* Reads the text for the new AGENTS.md: the template or, with source, a copy of
 * that agent's file. */
static int read_source(const struct app *app, const char *source,
		       struct buf *text, struct error *err)
{
	char *dir;
	char *file;
	int rc = -1;

	if (!source) {
		buf_adds(text, agent_template);
		return 0;
	}
	if (agent_check_name(source, err) < 0)
		return error_wrap(err, "argument --target");
	dir = agent_dir(app->settings, source);
	file = path_join(dir, "AGENTS.md");
	if (!agent_exists(app->settings, source) || !has_memory(dir))
		error_set(err, ERR_NOT_FOUND,
			  "Source agent '%s' not found or has no AGENTS.md",
			  source);
	else
		rc = path_read(file, text, err);
	free(file);
	free(dir);
	return rc;
}

/* Deletes the directory and creates it again with a new AGENTS.md. */
static int recreate_directory(const char *dir, struct str text,
			      struct error *err)
{
	char *file = path_join(dir, "AGENTS.md");
	int rc = path_remove_tree(dir, err);

	if (rc == 0)
		rc = path_mkdirs(dir, 0700, err);
	if (rc == 0)
		rc = path_write(file, text, 0600, err);
	free(file);
	return rc;
}

/* Asks whether the agent's directory may be deleted, with its skills and
 * subagents. Returns 1 for yes, 0 for no, -1 with err. */
static int confirm_reset(struct app *app, const char *name, const char *dir,
			 struct error *err)
{
	struct buf line = BUF_INIT(LINE_BYTES);
	int rc;

	if (!secret_terminal(app)) {
		error_set(err, ERR_USAGE,
			  "cannot ask before deleting the files of the agent "
			  "%s: no terminal",
			  name);
		return error_hint(err,
				  "Add --yes to delete them without asking.");
	}
	buf_adds(&line, "Delete ");
	sanitize_line(str_of(dir), &line);
	buf_adds(&line, " with its AGENTS.md, skills and subagents? [y/N] ");
	rc = secret_confirm(app, line.ptr, err);
	buf_release(&line);
	return rc;
}

/* Asks, then resets the agent. Returns 1 when done (or with --dry-run), 0 if
 * the user said no, -1 with err. */
static int reset_checked(struct app *app, const struct args *args,
			 const char *dir, struct str text, struct error *err)
{
	struct stat st;
	bool there = lstat(dir, &st) == 0;
	int rc = 1;

	if (there && !S_ISDIR(st.st_mode))
		return error_set(err, ERR_CONFIG, "not a directory: %s", dir);
	if (args_flag(args, "dry-run"))
		return 1;
	if (there && !args_flag(args, "yes"))
		rc = confirm_reset(app, args_value(args, "agent"), dir, err);
	return rc > 0 && recreate_directory(dir, text, err) < 0 ? -1 : rc;
}

/* Prints what was done. dry: prints what would be done. */
static void report_reset(const struct app *app, const char *name,
			 const char *dir, bool was_there, bool dry)
{
	struct buf json = BUF_INIT(JSON_BYTES);

	if (app->json) {
		buf_addc(&json, '{');
		json_member(&json, "name", str_of(name));
		buf_addc(&json, ',');
		json_member_bytes(&json, "path", str_of(dir));
		buf_addf(&json, ",\"reset\":%s}", dry ? "false" : "true");
		app_envelope("agents reset", &json);
	} else if (dry) {
		printf("Would %s %s\nNo changes made.\n",
		       was_there ? "remove and recreate" : "create", dir);
	} else {
		printf("%s %s\n",
		       was_there ? "Removed and recreated" : "Created", dir);
	}
	buf_release(&json);
}

/* Deletes the agent's directory and creates it again with a new AGENTS.md. */
static int reset_agent(struct app *app, const struct args *args)
{
	const char *name = args_value(args, "agent");
	struct buf text = BUF_INIT(MEMORY_BYTES);
	struct error err = { 0 };
	struct settings *set;
	struct stat st;
	bool there;
	char *dir;
	int rc;

	if (!name)
		return command_misuse(&command_agents, "reset",
				      "agents reset needs --agent NAME");
	if (app_settings(app, &set, &err) < 0 ||
	    agent_check_name(name, &err) < 0)
		return app_fail(app, &err);
	dir = agent_dir(set, name);
	there = lstat(dir, &st) == 0;
	rc = read_source(app, args_value(args, "target"), &text, &err);
	if (rc == 0)
		rc = reset_checked(app, args, dir, buf_str(&text), &err);
	if (rc > 0)
		report_reset(app, name, dir, there, args_flag(args, "dry-run"));
	else if (rc == 0)
		puts("Nothing was deleted.");
	buf_release(&text);
	free(dir);
	return rc >= 0 ? 0 : app_fail(app, &err);
}

static const struct arg_row list_options[] = { ARG_JSON, { 0 } };

static const struct arg_row reset_options[] = {
	{ "agent", 0, ARG_VALUE, "NAME", "The agent to reset" },
	{ "target", 0, ARG_VALUE, "SOURCE", "Copy AGENTS.md from this agent" },
	{ "dry-run", 0, ARG_FLAG, NULL,
	  "Show what would be done, change nothing" },
	{ "yes", 0, ARG_FLAG, NULL, "Do not ask for confirmation" },
	ARG_JSON,
	{ 0 },
};

static const struct subcommand subs[] = {
	{ .name = "list",
	  .aliases = "ls",
	  .summary = "List the agents",
	  .options = list_options,
	  .flags = SUB_UNRESTRICTED,
	  .run = list_agents },
	{ .name = "reset",
	  .summary = "Delete an agent's files, including its skills, and "
		     "create a new AGENTS.md",
	  .options = reset_options,
	  .run = reset_agent },
	{ 0 },
};

const struct command command_agents = {
	.name = "agents",
	.summary = "List and reset agents; each has its own AGENTS.md and "
		   "skills (-a NAME)",
	.subs = subs,
};
