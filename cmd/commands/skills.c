/* skills.c - dcode skills: list, info, create and delete. */
/* SPDX-License-Identifier: MIT */
/*
 * cmd/session/skills.c and src/skills find the skills. Begin reading at the
 * table at the end.
 */
#include "skills/skills.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/command.h"
#include "cmd/print.h"
#include "cmd/secret.h"
#include "cmd/session/agent_choice.h"
#include "cmd/session/skills.h"

struct skills_line { /* the parsed command line, with the skills */
	struct app *app;
	struct skills_request request;
	const char **allowed; /* owned */
	char *agent;          /* owned */
	unsigned scopes;      /* bits of enum skill_scope: only skills of these
				 scopes are used */
	struct skills skills;
};

enum {
	JSON_BYTES = 64 << 20,
};

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

/* Parses --agent, --user and --project and loads the skills. Call
 * skills_cmd_close() even after a failure. */
static int skills_cmd_open(struct skills_line *l, struct app *app,
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

static void skills_cmd_close(struct skills_line *l)
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

/* Appends a skill as a JSON object without the closing brace. */
static void skills_cmd_add_json(struct app *app, const struct skill *s,
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

/* Prints untrusted text, cleaned, between before and after. */
static void skills_cmd_print(const struct app *app, const char *before,
			     const char *text, const char *after)
{
	struct buf line = BUF_INIT(1 << 16);

	buf_adds(&line, before);
	print_add_line(app, &line, text);
	buf_adds(&line, after);
	print_item(buf_str(&line));
	buf_release(&line);
}

static void print_skill(const struct app *app, const struct skill *s)
{
	struct buf line = BUF_INIT(1 << 16);

	buf_adds(&line, "  ");
	print_add_line(app, &line, s->name);
	buf_adds(&line, ": ");
	print_add_line(app, &line, s->description);
	if (s->hides_user)
		buf_adds(&line, " (replaces your own)");
	print_item(buf_str(&line));
	buf_release(&line);
}

/* Prints the skills of one source, with a title before the first. */
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
					 source, "):");
		first = false;
		print_skill(l->app, s);
	}
}

/* Prints the skills by source, in the order in which the sources first
 * appear. */
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
			 place, ".");
	free(place);
}

static void print_builtins(void)
{
	puts("Built-in skills (/NAME, -s NAME):");
	for (const struct skill_builtin *b = skill_builtins; b->name; b++) {
		struct buf line = BUF_INIT(1 << 12);

		buf_addf(&line, "  %s: %s", b->name, b->description);
		print_item(buf_str(&line));
		buf_release(&line);
	}
}

static void print_list_json(const struct skills_line *l)
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
			print_list_json(&l);
		else if (!print_list(&l))
			print_none(&l);
		if (!app->json && l.scopes == (SKILL_USER | SKILL_PROJECT))
			print_builtins();
	}
	skills_cmd_close(&l);
	return rc == 0 ? 0 : app_fail(app, &err);
}

/* Finds a skill by name. ERR_NOT_FOUND: the message lists the existing
 * names. */
static int skills_cmd_find(const struct skills_line *l, const char *name,
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

enum {
	MOST_SHOWN = 200,
	MOST_DEEP = 16, /* maximum depth of nested directories */
	LIST_BYTES = 1 << 20,
	TEXT_BYTES = SKILL_FILE_MAX + (64 << 10),
};

struct skill_files {
	struct buf text; /* paths, each terminated by NUL */
	size_t n;
};

static void list_files(struct skill_files *f, const char *dir,
		       const char *below, int deep);

/* Adds a file to the list, or descends into a directory. */
static void list_entry(struct skill_files *f, const char *dir,
		       const char *below, const char *entry, int deep)
{
	char *name = below[0] ? path_join(below, entry) : xstrdup(entry);
	char *whole = path_join(dir, name);
	struct stat st;

	if (lstat(whole, &st) == 0 && S_ISDIR(st.st_mode)) {
		if (deep)
			list_files(f, dir, name, deep - 1);
	} else if (f->n < MOST_SHOWN && strcmp(name, "SKILL.md") != 0) {
		buf_add(&f->text, name, strlen(name) + 1);
		f->n++;
	}
	free(whole);
	free(name);
}

/* Lists the files in dir. Does not follow links. */
static void list_files(struct skill_files *f, const char *dir,
		       const char *below, int deep)
{
	char *path = below[0] ? path_join(dir, below) : xstrdup(dir);
	struct dirent **entries = NULL;
	int n = scandir(path, &entries, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		const char *entry = entries[i]->d_name;

		if (strcmp(entry, ".") != 0 && strcmp(entry, "..") != 0 &&
		    strcmp(entry, ".git") != 0)
			list_entry(f, dir, below, entry, deep);
		free(entries[i]);
	}
	free(entries);
	free(path);
}

static void print_member(const struct app *app, const char *before,
			 const char *text)
{
	if (text)
		skills_cmd_print(app, before, text, "");
}

static void print_instructions(const struct app *app, struct str text)
{
	struct buf clean = BUF_INIT(4 * TEXT_BYTES);

	app_clean(app, CLEAN_TEXT, text, &clean);
	fwrite(clean.ptr, 1, clean.len, stdout);
	if (clean.len && clean.ptr[clean.len - 1] != '\n')
		putchar('\n');
	buf_release(&clean);
}

static void print_info(struct app *app, const struct skill *s,
		       const struct skill_files *files, struct str text)
{
	print_member(app, "Name:          ", s->name);
	print_member(app, "Description:   ", s->description);
	print_member(app, "Source:        ",
		     s->scope == SKILL_USER ? "user" : "project");
	print_member(app, "Path:          ", s->dir);
	print_member(app, "License:       ", s->license);
	print_member(app, "Compatibility: ", s->compatibility);
	print_member(app, "Allowed tools: ", s->tools);
	if (s->hides_user)
		puts("It replaces your own skill of the same name.");
	for (const char *p = files->text.ptr;
	     files->n && p < files->text.ptr + files->text.len;
	     p += strlen(p) + 1)
		print_member(app,
			     p == files->text.ptr ? "Files:         "
						  : "               ",
			     p);
	if (files->n == MOST_SHOWN)
		puts("               ... and more");
	puts("\nSKILL.md:\n");
	print_instructions(app, text);
}

static void print_json(struct app *app, const struct skill *s,
		       const struct skill_files *files, struct str text)
{
	struct buf out = BUF_INIT(16 * TEXT_BYTES);
	struct buf masked = BUF_INIT(4 * TEXT_BYTES);
	size_t at = 0;

	skills_cmd_add_json(app, s, &out);
	buf_adds(&out, ",\"files\":[");
	while (at < files->text.len) {
		struct buf name = BUF_INIT(1 << 16);
		const char *p = files->text.ptr + at;

		app_clean(app, CLEAN_LATER, str_of(p), &name);
		buf_adds(&out, at ? "," : "");
		json_quote(&out, buf_str(&name));
		buf_release(&name);
		at += strlen(p) + 1;
	}
	buf_adds(&out, "],");
	app_clean(app, CLEAN_LATER, text, &masked);
	json_member(&out, "content", buf_str(&masked));
	buf_addc(&out, '}');
	app_envelope("skills info", &out);
	buf_release(&masked);
	buf_release(&out);
}

/* The following functions implement the subcommands and return the exit
 * status. */
static int skills_cmd_info(struct app *app, const struct args *args)
{
	struct skill_files files = { .text = BUF_INIT(LIST_BYTES) };
	struct buf text = BUF_INIT(TEXT_BYTES);
	struct skills_line l;
	const struct skill *s;
	struct error err = { 0 };
	size_t body = 0;
	int rc = skills_cmd_open(&l, app, args, &err);

	if (rc == 0)
		rc = skills_cmd_find(&l, args->argv[0], &s, &err);
	if (rc == 0)
		rc = skill_read_text(s, &text, &body, &err);
	if (rc == 0) {
		struct str shown = str_skip(buf_str(&text), body);

		list_files(&files, s->dir, "", MOST_DEEP);
		if (app->json)
			print_json(app, s, &files, shown);
		else
			print_info(app, s, &files, shown);
	}
	buf_release(&files.text);
	buf_release(&text);
	skills_cmd_close(&l);
	return rc == 0 ? 0 : app_fail(app, &err);
}

enum { LINE_BYTES = 1 << 16 };

static const char template_head[] =
	"---\n"
	"name: %s\n"
	"description: What this skill does, and when it is to be used.\n"
	"---\n"
	"\n"
	"# %s\n"
	"\n";

static const char template_body[] =
	"The description above is all that the model sees until it opens this "
	"file, so it\n"
	"has to name the tasks that the skill is for.\n"
	"\n"
	"## Steps\n"
	"\n"
	"1. Write here what is to be done, in order.\n"
	"2. Name files of this directory by their relative paths, such as\n"
	"   `scripts/check.sh`: they come into a sandbox with the skill.\n";

static void report_skill(struct app *app, const char *command, const char *name,
			 const char *path, const char *done)
{
	struct buf out = BUF_INIT(LINE_BYTES);

	if (!app->json) {
		skills_cmd_print(app, done, path, "");
		return;
	}
	buf_addc(&out, '{');
	print_add_member(app, &out, "name", name);
	buf_addc(&out, ',');
	print_add_member(app, &out, "path", path);
	buf_addc(&out, '}');
	app_envelope(command, &out);
	buf_release(&out);
}

static int write_template(const char *name, const char *dir, struct error *err)
{
	char *file = path_join(dir, "SKILL.md");
	struct buf text = BUF_INIT(LINE_BYTES);
	int rc;

	buf_addf(&text, template_head, name, name);
	buf_adds(&text, template_body);
	rc = path_write(file, buf_str(&text), 0644, err);
	buf_release(&text);
	free(file);
	return rc;
}

/* Creates a new skill. Fails if there already is a file, directory or link of
 * this name. */
static int create_skill(const char *place, const char *name, char **dir,
			struct error *err)
{
	if (skill_check_name(name, err) < 0)
		return -1;
	if (path_mkdirs(place, 0755, err) < 0)
		return -1;
	*dir = path_join(place, name);
	if (mkdir(*dir, 0755) == 0) {
		if (write_template(name, *dir, err) == 0)
			return 0;
		(void)rmdir(*dir); /* so that a second try works */
		return -1;
	}
	if (errno != EEXIST)
		return error_errno(err, "creating %s", *dir);
	error_set(err, ERR_CONFIG, "the skill %s already exists: %s", name,
		  *dir);
	return error_hint(err, "Edit its SKILL.md, or choose another name.");
}

static int skills_cmd_create(struct app *app, const struct args *args)
{
	struct skills_line l;
	struct error err = { 0 };
	char *place = NULL;
	char *dir = NULL;
	int rc = skills_cmd_open(&l, app, args, &err);

	if (rc == 0) {
		place = skills_new_place(&l.request, l.scopes == SKILL_PROJECT
							     ? SKILL_PROJECT
							     : SKILL_USER);
		rc = create_skill(place, args->argv[0], &dir, &err);
	}
	if (rc == 0)
		report_skill(app, "skills create", args->argv[0], dir,
			     "Created the skill in ");
	if (rc == 0 && !app->json)
		puts("Now fill in its SKILL.md, the description first.");
	free(place);
	free(dir);
	skills_cmd_close(&l);
	return rc == 0 ? 0 : app_fail(app, &err);
}

static int confirm_delete(struct app *app, const struct skill *s,
			  struct error *err)
{
	struct buf line = BUF_INIT(LINE_BYTES);
	int rc;

	if (!secret_terminal(app)) {
		error_set(err, ERR_USAGE,
			  "cannot ask whether to delete %s: no terminal",
			  s->dir);
		return error_hint(err,
				  "Add --force to delete it without asking.");
	}
	buf_adds(&line, "Delete ");
	sanitize_line(str_of(s->dir), &line);
	buf_adds(&line, " with all its files? [y/N] ");
	rc = secret_confirm(app, line.ptr, err);
	buf_release(&line);
	return rc;
}

/* True if the skill was found through a link that leads out of the skills'
 * directory. */
static bool is_outside_source(const struct skill *s)
{
	char *place = realpath(s->source, NULL);
	size_t len = place ? strlen(place) : 0;
	bool here = place && !strncmp(s->dir, place, len) &&
		    s->dir[len] == '/' && !strchr(s->dir + len + 1, '/');

	free(place);
	return !here;
}

/* Deletes a skill. Returns 1 if it was deleted (or with --dry-run), 0 if the
 * user said no, -1 with err. */
static int delete_skill(struct app *app, const struct skill *s,
			const struct args *args, struct error *err)
{
	int rc = 1;

	if (is_outside_source(s)) {
		error_set(err, ERR_CONFIG, "%s only links to the skill in %s",
			  s->source, s->dir);
		return error_hint(
			err,
			"Delete the link or the skill's directory yourself.");
	}
	if (args_flag(args, "dry-run"))
		return 1;
	if (!args_flag(args, "force"))
		rc = confirm_delete(app, s, err);
	return rc > 0 && path_remove_tree(s->dir, err) < 0 ? -1 : rc;
}

static int skills_cmd_delete(struct app *app, const struct args *args)
{
	struct skills_line l;
	const struct skill *s = NULL;
	struct error err = { 0 };
	int rc = skills_cmd_open(&l, app, args, &err);

	if (rc == 0)
		rc = skills_cmd_find(&l, args->argv[0], &s, &err);
	if (rc == 0)
		rc = delete_skill(app, s, args, &err);
	if (rc > 0)
		report_skill(app, "skills delete", s->name, s->dir,
			     args_flag(args, "dry-run") ? "Would delete "
							: "Deleted ");
	else if (rc == 0)
		puts("Nothing was deleted.");
	skills_cmd_close(&l);
	return rc >= 0 ? 0 : app_fail(app, &err);
}

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
