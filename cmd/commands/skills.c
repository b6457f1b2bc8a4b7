/* skills.c - dcode skills: list, info, create, delete. */
/* SPDX-License-Identifier: MIT */
#include "cmd/commands/skills.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cmd/print.h"
#include "cmd/session/agent_choice.h"
#include "cmd/session/run_skills.h"
#include "skills/skills.h"

enum {
	JSON_BYTES = 64 << 20,
};

int skills_cmd_open(struct skills_line *l, struct app *app,
		    const struct args *args, struct error *err)
{
	bool user = args_flag(args, "user");
	bool project = args_flag(args, "project");

	*l = (struct skills_line){ .app = app };
	if (user && project)
		return error_set(err, ERR_USAGE,
				 "--user and --project are mutually exclusive");
	l->scopes = user      ? SKILL_USER
		    : project ? SKILL_PROJECT
			      : SKILL_USER | SKILL_PROJECT;
	if (agent_choose(app, args_value(args, "agent"), NULL, &l->agent, err) <
		    0 ||
	    run_skills_places(app, l->agent, &l->request, &l->allowed, err) < 0)
		return -1;
	skills_read(&l->skills, &l->request);
	return 0;
}

void skills_cmd_close(struct skills_line *l)
{
	skills_release(&l->skills);
	free(l->allowed);
	free(l->agent);
}

static void add_text(struct app *app, struct buf *out, const char *key,
		     const char *text)
{
	buf_addc(out, ',');
	if (text)
		print_add_member(app, out, key, text);
	else
		buf_addf(out, "\"%s\":null", key);
}

void skills_cmd_add_json(struct app *app, const struct skill *s,
			 struct buf *out)
{
	buf_addc(out, '{');
	print_add_member(app, out, "name", s->name);
	add_text(app, out, "description", s->description);
	add_text(app, out, "path", s->dir);
	add_text(app, out, "source",
		 s->scope == SKILL_USER ? "user" : "project");
	add_text(app, out, "license", s->license);
	add_text(app, out, "compatibility", s->compatibility);
	add_text(app, out, "allowed_tools", s->tools);
	buf_addf(out, ",\"hides_user\":%s", s->hides_user ? "true" : "false");
}

static bool is_shown(const struct skills_line *l, const struct skill *s)
{
	return (l->scopes & s->scope) != 0;
}

void skills_cmd_print(const struct app *app, const char *before,
		      const char *text, const char *after)
{
	struct buf line = BUF_INIT(1 << 16);

	print_add_line(app, &line, text);
	printf("%s%s%s", before, line.len ? line.ptr : "", after);
	buf_release(&line);
}

static void print_source(const struct skills_line *l, const char *source)
{
	bool first = true;

	for (size_t i = 0; i < l->skills.n; i++) {
		const struct skill *s = &l->skills.list[i];

		if (strcmp(s->source, source) != 0 || !is_shown(l, s))
			continue;
		if (first)
			skills_cmd_print(l->app,
					 s->scope == SKILL_USER
						 ? "User skills ("
						 : "Project skills (",
					 source, "):\n");
		first = false;
		skills_cmd_print(l->app, "  ", s->name, "");
		skills_cmd_print(l->app, ": ", s->description,
				 s->hides_user ? " (in place of your own)\n"
					       : "\n");
	}
}

/* Each source once, in the order of the first skill that has it. */
static size_t print_list(const struct skills_line *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->skills.n; i++) {
		const char *source = l->skills.list[i].source;
		size_t k = 0;

		if (!is_shown(l, &l->skills.list[i]))
			continue;
		n++;
		while (strcmp(l->skills.list[k].source, source) != 0 ||
		       !is_shown(l, &l->skills.list[k]))
			k++;
		if (k == i)
			print_source(l, source);
	}
	return n;
}

static void print_none(const struct skills_line *l)
{
	enum skill_scope scope =
		l->scopes == SKILL_PROJECT ? SKILL_PROJECT : SKILL_USER;
	char *place = skills_new_place(&l->request, scope);

	skills_cmd_print(l->app,
			 "No skills found. dcode skills create NAME makes "
			 "one in ",
			 place, ".\n");
	free(place);
}

static void print_builtins(void)
{
	puts("Built-in skills (/NAME, -s NAME):");
	for (const struct skill_builtin *b = skill_builtins; b->name; b++)
		printf("  %s: %s\n", b->name, b->description);
}

static void print_json(const struct skills_line *l)
{
	struct buf out = BUF_INIT(JSON_BYTES);
	const char *between = "";

	buf_addc(&out, '[');
	for (size_t i = 0; i < l->skills.n; i++) {
		if (!is_shown(l, &l->skills.list[i]))
			continue;
		buf_adds(&out, between);
		skills_cmd_add_json(l->app, &l->skills.list[i], &out);
		buf_addc(&out, '}');
		between = ",";
	}
	buf_addc(&out, ']');
	app_envelope("skills list", &out);
	buf_release(&out);
}

static int list_skills(struct app *app, const struct args *args)
{
	struct skills_line l;
	struct error err = { 0 };
	int rc = skills_cmd_open(&l, app, args, &err);

	if (rc == 0) {
		for (size_t i = 0; i < l.skills.n_problems; i++)
			app_warn_line(l.skills.problems[i]);
		if (app->json)
			print_json(&l);
		else if (!print_list(&l))
			print_none(&l);
		if (!app->json && l.scopes == (SKILL_USER | SKILL_PROJECT))
			print_builtins();
	}
	skills_cmd_close(&l);
	return rc == 0 ? 0 : app_fail(app, &err);
}

int skills_cmd_find(const struct skills_line *l, const char *name,
		    const struct skill **found, struct error *err)
{
	struct buf names = BUF_INIT(160);

	*found = skills_find(&l->skills, str_of(name));
	if (*found && is_shown(l, *found)) {
		buf_release(&names);
		return 0;
	}
	if (skill_builtin_find(str_of(name)))
		return error_set(err, ERR_NOT_FOUND,
				 "%s is built in: it has no files", name);
	error_set(err, ERR_NOT_FOUND, "Skill not found: %.200s", name);
	for (size_t i = 0; i < l->skills.n; i++) {
		const char *other = l->skills.list[i].name;

		if (!is_shown(l, &l->skills.list[i]) ||
		    names.len + strlen(other) + 2 > names.max)
			continue;
		buf_addf(&names, "%s%s", names.len ? ", " : "", other);
	}
	error_hint(err, names.len ? "Available: %s" : "There are no skills%s",
		   names.len ? names.ptr : "");
	error_topic(err, "skills");
	buf_release(&names);
	return -1;
}

static const struct arg_row list_options[] = {
	{ "user", 0, ARG_FLAG, NULL, "Only your own skills" },
	{ "project", 0, ARG_FLAG, NULL, "Only skills of this project" },
	{ "agent", 0, ARG_VALUE, "NAME", "Your own skills for this agent" },
	ARG_JSON,
	{ 0 },
};

static const struct arg_row create_options[] = {
	{ "user", 0, ARG_FLAG, NULL, "In your own skills (default)" },
	{ "project", 0, ARG_FLAG, NULL, "In this project" },
	{ "agent", 0, ARG_VALUE, "NAME", "In your own skills for this agent" },
	ARG_JSON,
	{ 0 },
};

static const struct arg_row delete_options[] = {
	{ "user", 0, ARG_FLAG, NULL, "Only in your own skills" },
	{ "project", 0, ARG_FLAG, NULL, "Only in this project" },
	{ "agent", 0, ARG_VALUE, "NAME", "In your own skills for this agent" },
	{ "force", 'f', ARG_FLAG, NULL, "Do not ask for confirmation" },
	{ "dry-run", 0, ARG_FLAG, NULL,
	  "Show what would be deleted, delete nothing" },
	ARG_JSON,
	{ 0 },
};

static const struct subcommand subs[] = {
	{ .name = "list",
	  .aliases = "ls",
	  .summary = "List the skills that the model knows, by folder",
	  .options = list_options,
	  .flags = SUB_UNRESTRICTED,
	  .run = list_skills },
	{ .name = "info",
	  .args = "NAME",
	  .summary = "Show one skill: description, files and text",
	  .options = list_options,
	  .least = 1,
	  .most = 1,
	  .flags = SUB_UNRESTRICTED,
	  .run = skills_cmd_info },
	{ .name = "create",
	  .args = "NAME",
	  .summary = "Create a SKILL.md to fill in",
	  .options = create_options,
	  .least = 1,
	  .most = 1,
	  .run = skills_cmd_create },
	{ .name = "delete",
	  .aliases = "rm",
	  .args = "NAME",
	  .summary = "Delete a skill with all its files",
	  .options = delete_options,
	  .least = 1,
	  .most = 1,
	  .run = skills_cmd_delete },
	{ 0 },
};

const struct command command_skills = {
	.name = "skills",
	.summary = "Manage skills: instructions for kinds of tasks, which the "
		   "model reads when it needs them",
	.subs = subs,
};
