/* skills_info.c - dcode skills info. */
/* SPDX-License-Identifier: MIT */
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
#include "cmd/commands/skills.h"
#include "cmd/print.h"

enum {
	MOST_SHOWN = 200,
	MOST_DEEP = 16, /* directories within one another */
	LIST_BYTES = 1 << 20,
	TEXT_BYTES = SKILL_FILE_MAX + (64 << 10),
};

struct skill_files {
	struct buf text; /* a path each, ended by NUL */
	size_t n;
};

static void list_files(struct skill_files *f, const char *dir,
		       const char *below, int deep);

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

/* Names only, through no link. */
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
		skills_cmd_print(app, before, text, "\n");
}

static void print_instructions(const struct app *app, struct str text)
{
	struct buf masked = BUF_INIT(4 * TEXT_BYTES);
	struct buf clean = BUF_INIT(4 * TEXT_BYTES);

	mask_text(app->mask, text, &masked);
	sanitize_text(buf_str(&masked), &clean);
	fwrite(clean.ptr, 1, clean.len, stdout);
	if (clean.len && clean.ptr[clean.len - 1] != '\n')
		putchar('\n');
	buf_release(&masked);
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

		mask_text(app->mask, str_of(p), &name);
		buf_adds(&out, at ? "," : "");
		json_quote(&out, buf_str(&name));
		buf_release(&name);
		at += strlen(p) + 1;
	}
	buf_adds(&out, "],");
	mask_text(app->mask, text, &masked);
	json_member(&out, "content", buf_str(&masked));
	buf_addc(&out, '}');
	app_envelope("skills info", &out);
	buf_release(&masked);
	buf_release(&out);
}

int skills_cmd_info(struct app *app, const struct args *args)
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
