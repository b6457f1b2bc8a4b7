/* tool_fake.h - a sandbox of canned answers for the tests of the tools. */
/* SPDX-License-Identifier: MIT */
#ifndef UNIT_TOOL_FAKE_H
#define UNIT_TOOL_FAKE_H

/*
 * Defines sandbox_execute() and the files_...() functions, so that the
 * library's own are not linked: include it in one .c file only.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "sandbox/files/files.h"
#include "sandbox/reach.h"
#include "tool/tool.h"

enum { FAKE_NAMES = 4 };

struct fake {                     /* sandbox->priv */
	const struct error *fail; /* of every files_...() */
	struct exec_result res;
	const struct error *exec_fail;
	struct str chunks[8]; /* output; an empty one ends them */
	size_t repeat;        /* times all chunks are sent; 0: once */
	enum exec_stream streams[8];
	const char *names[FAKE_NAMES];
	struct files_match items[FAKE_NAMES];
	bool incomplete;
	int64_t count;
	struct files_page page;
	/* what was asked */
	char path[64];
	struct buf written;
	struct buf command;
	int64_t timeout_ms;
	int64_t cap;
	int64_t offset;
	bool all;
	bool as_binary;
	size_t calls;
};

static struct fake *fake_note(struct sandbox *sb, const char *path)
{
	struct fake *f = sb->priv;

	f->calls++;
	f->path[0] = '\0';
	strncat(f->path, path, sizeof(f->path) - 1);
	return f;
}

static int fake_end(const struct fake *f, struct error *err)
{
	if (!f->fail)
		return 0;
	*err = *f->fail;
	return -1;
}

static void fake_results_dir(const struct exec_request *req, struct error *err)
{
	struct str dir = STR("/tmp/dcode_large_tool_results\n");

	(void)req->output(req->arg, EXEC_STDOUT, dir, NULL, err);
}

const char *sandbox_tree_dir(const struct sandbox *sb)
{
	return sb->workdir;
}

int reach_begin(struct sandbox *sb, const struct reach_command *c,
		unsigned *number, const struct stop *stop, struct error *err)
{
	(void)sb;
	(void)c;
	*number = 1;
	(void)stop;
	(void)err;
	return 0;
}

void reach_report(struct sandbox *sb, char notice[SANDBOX_NOTICE])
{
	(void)sb;
	notice[0] = '\0';
}

int reach_end(struct sandbox *sb, unsigned number, struct error *err)
{
	(void)sb;
	(void)number;
	(void)err;
	return 0;
}

int sandbox_execute(struct sandbox *sb, const struct exec_request *req,
		    struct exec_result *res, const struct stop *stop,
		    struct error *err)
{
	struct fake *f = sb->priv;

	(void)stop;
	if (req->plain) { /* evict.c looks for its directory */
		fake_results_dir(req, err);
		*res = (struct exec_result){ 0 };
		return 0;
	}
	f->calls++;
	buf_clear(&f->command);
	buf_addstr(&f->command, req->command);
	f->timeout_ms = req->timeout_ms;
	for (size_t n = 0; n < (f->repeat ? f->repeat : 1); n++)
		for (size_t i = 0; f->chunks[i].len; i++)
			if (req->output(req->arg,
					f->streams[i] ? f->streams[i]
						      : EXEC_STDOUT,
					f->chunks[i], NULL, err))
				return -1;
	*res = f->res;
	if (!f->exec_fail)
		return 0;
	*err = *f->exec_fail;
	return -1;
}

int files_read(struct sandbox *sb, const struct files_window *window,
	       struct files_page *page, const struct stop *stop,
	       struct error *err)
{
	struct fake *f = fake_note(sb, window->path);

	(void)stop;
	f->offset = window->offset;
	f->cap = window->limit;
	f->as_binary = window->as_binary;
	if (!f->fail) {
		*page = f->page;
		page->text = BUF_INIT(1 << 20);
		buf_addstr(&page->text, buf_str(&f->page.text));
	}
	return fake_end(f, err);
}

int files_write(struct sandbox *sb, const char *path, bool exact,
		struct str content, const struct stop *stop, struct error *err)
{
	struct fake *f = fake_note(sb, path);

	(void)exact;
	(void)stop;
	buf_clear(&f->written);
	buf_addstr(&f->written, content);
	return fake_end(f, err);
}

int files_overwrite(struct sandbox *sb, struct files_writing *writing,
		    const struct stop *stop, struct error *err)
{
	return files_write(sb, writing->path, writing->exact, writing->content,
			   stop, err);
}

int files_edit(struct sandbox *sb, const struct files_replacement *change,
	       int64_t *count, const struct stop *stop, struct error *err)
{
	struct fake *f = fake_note(sb, change->path);

	(void)stop;
	buf_clear(&f->written);
	buf_addstr(&f->written, change->old);
	buf_addc(&f->written, '>');
	buf_addstr(&f->written, change->new);
	f->all = change->all;
	*count = f->count;
	return fake_end(f, err);
}

int files_delete(struct sandbox *sb, const char *path, bool exact,
		 const struct stop *stop, struct error *err)
{
	(void)exact;
	(void)stop;
	return fake_end(fake_note(sb, path), err);
}

static int fake_list(struct fake *f, struct files_names *list,
		     struct error *err)
{
	list->names = xcalloc(FAKE_NAMES, sizeof(char *));
	for (; list->n < FAKE_NAMES && f->names[list->n]; list->n++)
		list->names[list->n] = xstrdup(f->names[list->n]);
	list->incomplete = f->incomplete;
	return fake_end(f, err);
}

int files_ls(struct sandbox *sb, const char *path, struct files_names *list,
	     const struct stop *stop, struct error *err)
{
	(void)stop;
	return fake_list(fake_note(sb, path), list, err);
}

int files_glob(struct sandbox *sb, const struct files_search *search,
	       struct files_names *list, const struct stop *stop,
	       struct error *err)
{
	(void)stop;
	return fake_list(fake_note(sb, search->root), list, err);
}

void files_names_release(struct files_names *list)
{
	while (list->n)
		free(list->names[--list->n]);
	free(list->names);
}

/* As files_grep() has it of a line that was cut at 5,000 bytes on its way. */
static inline void fake_clean(const struct files_search *search,
			      struct files_match *m)
{
	struct str line = { m->text, strlen(m->text) };
	struct buf clean = BUF_INIT(1 << 16);

	search->clean(search->arg, line, line.len < 5000, &clean);
	free(m->text);
	m->text = buf_detach(&clean);
}

int files_grep(struct sandbox *sb, const struct files_search *search,
	       struct files_matches *list, const struct stop *stop,
	       struct error *err)
{
	struct fake *f = fake_note(sb, search->root);

	(void)stop;
	for (size_t i = 0; search->clean && f->items[i].path; i++)
		fake_clean(search, &f->items[i]);
	f->cap = search->cap;
	buf_clear(&f->written);
	buf_adds(&f->written, search->glob ? search->glob : "(none)");
	list->items = f->items;
	while (list->n < FAKE_NAMES && f->items[list->n].path)
		list->n++;
	list->incomplete = f->incomplete;
	return fake_end(f, err);
}

void files_matches_release(struct files_matches *list)
{
	list->n = 0;
}

#endif
