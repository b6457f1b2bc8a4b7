/* approvals.c - what is asked about, as the user lists and changes it. */
/* SPDX-License-Identifier: MIT */
#include "cmd/chat/approvals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/session/grants.h"
#include "cmd/session/policy.h"
#include "cmd/session/run.h"

enum { MAX_SHOWN = 1 << 16 };

/* A call that is allowed, on one line. */
static void print_grant(const struct run *r, size_t i)
{
	struct buf masked = BUF_INIT(MAX_SHOWN);
	struct buf line = BUF_INIT(MAX_SHOWN);

	mask_text(r->app->mask, str_of(r->grants.list[i].call), &masked);
	sanitize_line(buf_str(&masked), &line);
	fprintf(stderr, "%3zu %s %s\n", i + 1,
		r->grants.list[i].stored ? "config.toml " : "this session",
		line.len ? line.ptr : "");
	buf_release(&masked);
	buf_release(&line);
}

static void print_mode(const struct run *r)
{
	fprintf(stderr, "The mode is %s.%s\n",
		run_mode_name(run_allows_all(r) ? RUN_YOLO
						: (enum run_mode)r->mode),
		r->options.yes ? " -y was given, so it stays that way until "
				 "dcode ends."
			       : "");
}

static void list_grants(struct run *r)
{
	print_mode(r);
	if (!r->grants.n)
		fputs("No calls are pre-approved. (Press a or A at a question "
		      "to add one.)\n",
		      stderr);
	for (size_t i = 0; i < r->grants.n; i++)
		print_grant(r, i);
}

static void remove_grant(struct run *r, const char *word)
{
	struct error err = { 0 };
	int64_t number;

	if (!str_to_int(str_of(word), &number) || number < 1 ||
	    (uint64_t)number > r->grants.n)
		fprintf(stderr, "Unknown number: /approvals lists %zu.\n",
			r->grants.n);
	else if (grants_remove(&r->grants, (size_t)number - 1, r->app, &err) <
		 0)
		(void)app_fail(r->app, &err);
	else
		fputs("Removed: dcode asks about this call again.\n", stderr);
}

bool approvals_command(struct run *r, int n, char **words)
{
	if (n == 2 && !strcmp(words[0], "remove"))
		remove_grant(r, words[1]);
	else if (n)
		fputs("Usage: /approvals [remove NUMBER]\n", stderr);
	else
		list_grants(r);
	return true;
}

static bool set_mode(struct run *r, enum run_mode mode)
{
	struct error err = { 0 };

	if (run_set_mode(r, mode, &err) < 0)
		(void)app_fail(r->app, &err);
	print_mode(r);
	return true;
}

bool approvals_manual(struct run *r, int n, char **words)
{
	(void)n;
	(void)words;
	return set_mode(r, RUN_MANUAL);
}

bool approvals_auto_edit(struct run *r, int n, char **words)
{
	(void)n;
	(void)words;
	return set_mode(r, RUN_AUTO_EDIT);
}

bool approvals_yolo(struct run *r, int n, char **words)
{
	(void)n;
	(void)words;
	return set_mode(r, RUN_YOLO);
}

bool approvals_mode(struct run *r, int n, char **words)
{
	for (int mode = 0; n == 1 && mode < N_RUN_MODES; mode++)
		if (!strcmp(words[0], run_mode_name((enum run_mode)mode)))
			return set_mode(r, (enum run_mode)mode);
	if (n)
		fputs("Usage: /mode [manual|auto-edit|yolo]\n", stderr);
	else
		print_mode(r);
	return true;
}
