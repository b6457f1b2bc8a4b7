/* skills_edit.c - dcode skills create and delete. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/commands/skills.h"
#include "cmd/print.h"
#include "cmd/secret.h"

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

static void report(struct app *app, const char *command, const char *name,
		   const char *path, const char *done)
{
	struct buf out = BUF_INIT(LINE_BYTES);

	if (!app->json) {
		skills_cmd_print(app, done, path, "\n");
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

/* A new directory in place: nothing that is there, a link neither, is used. */
static int make(const char *place, const char *name, char **dir,
		struct error *err)
{
	if (skill_check_name(name, err) < 0)
		return -1;
	if (path_mkdirs(place, 0755, err) < 0)
		return -1;
	*dir = path_join(place, name);
	if (mkdir(*dir, 0755) == 0)
		return write_template(name, *dir, err);
	if (errno != EEXIST)
		return error_errno(err, "creating %s", *dir);
	error_set(err, ERR_CONFIG, "the skill %s already exists: %s", name,
		  *dir);
	return error_hint(err, "Edit its SKILL.md, or choose another name.");
}

int skills_cmd_create(struct app *app, const struct args *args)
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
		rc = make(place, args->argv[0], &dir, &err);
	}
	if (rc == 0)
		report(app, "skills create", args->argv[0], dir,
		       "Created the skill in ");
	if (rc == 0 && !app->json)
		puts("Now fill in its SKILL.md, the description first.");
	free(place);
	free(dir);
	skills_cmd_close(&l);
	return rc == 0 ? 0 : app_fail(app, &err);
}

static int confirm(struct app *app, const struct skill *s, struct error *err)
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

/* Its directory was found through a link, and lies somewhere else. */
static bool is_elsewhere(const struct skill *s)
{
	char *place = realpath(s->source, NULL);
	size_t len = place ? strlen(place) : 0;
	bool here = place && !strncmp(s->dir, place, len) &&
		    s->dir[len] == '/' && !strchr(s->dir + len + 1, '/');

	free(place);
	return !here;
}

/* 1: deleted, or would be; 0: the user said no. */
static int delete_skill(struct app *app, const struct skill *s,
			const struct args *args, struct error *err)
{
	int rc = 1;

	if (is_elsewhere(s)) {
		error_set(err, ERR_CONFIG,
			  "%s only has a link to the skill, which is in %s",
			  s->source, s->dir);
		return error_hint(
			err,
			"Delete the link or the skill's directory yourself.");
	}
	if (args_flag(args, "dry-run"))
		return 1;
	if (!args_flag(args, "force"))
		rc = confirm(app, s, err);
	return rc > 0 && path_remove_tree(s->dir, err) < 0 ? -1 : rc;
}

int skills_cmd_delete(struct app *app, const struct args *args)
{
	struct skills_line l;
	const struct skill *s;
	struct error err = { 0 };
	int rc = skills_cmd_open(&l, app, args, &err);

	if (rc == 0)
		rc = skills_cmd_find(&l, args->argv[0], &s, &err);
	if (rc == 0)
		rc = delete_skill(app, s, args, &err);
	if (rc > 0)
		report(app, "skills delete", s->name, s->dir,
		       args_flag(args, "dry-run") ? "Would delete "
						  : "Deleted ");
	else if (rc == 0)
		puts("Nothing was deleted.");
	skills_cmd_close(&l);
	return rc >= 0 ? 0 : app_fail(app, &err);
}
