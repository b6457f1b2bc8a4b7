/* ask.c - decides whether a call may run, or asks the chat's user. */
/* SPDX-License-Identifier: MIT */
/*
 * Both kinds of chat ask through struct asker. ask_approval() judges a call by
 * the run's rules and grants, reads what the call would change in a file, and
 * asks the user if nothing has decided. ask_screen.c draws the question and
 * reads keys, ask_lines.c prints it and reads lines. Begin reading at
 * ask_approval().
 */
#include "cmd/chat/ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/session/grants.h"
#include "cmd/session/hooks.h"
#include "cmd/session/policy.h"
#include "cmd/session/run.h"
#include "sandbox/files/files.h"
#include "sandbox/files/text.h"
#include "tool/args.h"
#include "tool/paths.h"
#include "tool/result.h"

enum { READ_MS = 30000 };

static struct str text_arg(const struct approval *a, const char *name)
{
	return str_of(json_string(a->args, name, ""));
}

/* Appends the file's text as the edit would leave it. -1: the edit fails. */
static int preview_edit(const struct approval *a, struct str before,
			struct buf *after)
{
	struct edit_change change = { .middle = BUF_INIT(after->max) };
	struct error ignored = { 0 };
	int rc = edit_match(before, text_arg(a, a->tool->old_arg),
			    text_arg(a, a->tool->new_arg),
			    json_bool(a->args, "replace_all", false), &change,
			    &ignored);

	if (rc == 0) {
		buf_add(after, before.ptr, change.head);
		buf_addstr(after, buf_str(&change.middle));
		buf_addstr(after, str_skip(before, before.len - change.tail));
	}
	buf_release(&change.middle);
	return rc < 0 || after->over ? -1 : 0;
}

/* Computes what a call would change in its file, or notes why no diff is shown.
 */
static void preview_change(struct approval *a, struct str file)
{
	struct buf after = BUF_INIT(TOOL_CHANGE_BYTES);
	struct buf text = BUF_INIT(TOOL_CHANGE_BYTES);
	struct encoding encoding;
	struct error ignored = { 0 };
	struct str before = file;

	if (!encoding_detect(file, false, &encoding, &ignored) &&
	    !encoding_decode(&encoding, file, &text, &ignored))
		before = buf_str(&text);

	if (!str_is_utf8(before) || str_find(before, '\0') < before.len) {
		a->file_note = "not a text file, so no diff is shown";
	} else if (!a->tool->old_arg) {
		tool_change_set(&a->change, before,
				text_arg(a, a->tool->new_arg));
	} else if (preview_edit(a, before, &after) == 0) {
		tool_change_set(&a->change, before, buf_str(&after));
	} else {
		a->file_note = "does not contain this text exactly once, so "
			       "the edit will fail";
	}
	if (!a->change.known && !a->file_note)
		a->file_note = "too large, so no diff is shown";
	buf_release(&after);
	buf_release(&text);
}

/* Notes that the file is too large or does not exist yet. A call that writes
 * the whole of a new file is compared with an empty text. */
static void explain_failure(struct approval *a, const struct error *err)
{
	if (err->code == ERR_LIMIT)
		a->file_note = "too large, so no diff is shown";
	if (err->exact != CASE_FILE_NOT_FOUND)
		return;
	a->file_note = "does not exist yet";
	if (!a->tool->old_arg)
		tool_change_set(&a->change, STR(""),
				text_arg(a, a->tool->new_arg));
}

/* Reads the file that the call would edit. Sets a->change, a->file_note, both,
 * or neither. Fails only if stop ended it. */
static int preview_read(struct run *r, struct approval *a,
			const struct stop *stop, struct error *err)
{
	struct stop soon = stop_within(stop, READ_MS);
	struct buf before = BUF_INIT(TOOL_CHANGE_BYTES);
	struct error why = { 0 };
	char *path = NULL;
	const char *real;

	a->file_note = NULL;
	tool_change_release(&a->change);
	if (!a->tool->new_arg || !a->tool->path_arg)
		return 0;
	if (!a->real_path)
		(void)paths_resolve(
			a->acts_in->workdir,
			json_string(a->args, a->tool->path_arg, "."), &path,
			&why);
	real = a->real_path ? a->real_path : path;
	if (real && secret_files_hold(&r->secrets, real))
		a->file_note = "contains keys, so no diff is shown";
	else if (real && files_load(a->acts_in, real, a->real_path != NULL,
				    &before, &soon, &why) == 0)
		preview_change(a, buf_str(&before));
	else if (real)
		explain_failure(a, &why);
	buf_release(&before);
	free(path);
	return stop_check(stop, err);
}

enum { MAX_WORDS = 1 << 16 /* bytes of a reason or a path */ };

/* The calls of one model answer that one question asks about. */
struct together {
	struct approval *later; /* owned, n_later */
	cJSON **args;           /* owned: the arguments of each call */
	struct approval **list; /* the calls that need an answer */
	size_t n;
};

static bool is_granted(struct asker *k, const struct approval *a)
{
	if (grants_take(&k->batch, a, a->call->id))
		return true;
	/* no other answer than one to this call opens a host */
	return !a->opens.len &&
	       (run_allows_all(k->run) || grants_have(&k->run->grants, a));
}

/* Judges a call. *asks becomes true if the user must be asked; what the call
 * changes in its file is known then. Returns -1 when stop ended it. */
static int decide_call(struct asker *k, struct approval *a, bool *asks,
		       const struct stop *stop, struct error *err)
{
	enum run_verdict verdict;

	*asks = false;
	approval_clear(a);
	if (run_decide(k->run, a, &verdict, stop, err) < 0)
		return -1;
	if (verdict != RUN_ASK)
		return 0;
	if (grants_take(&k->refused, a, a->call->id)) {
		buf_addstr(&a->reason, buf_str(&k->why));
		a->declined = true;
		return 0;
	}
	a->allowed = !a->hook_asks && is_granted(k, a);
	*asks = !a->allowed;
	return *asks ? preview_read(k->run, a, stop, err) : 0;
}

/* Collects a and the later calls that the user must be asked about. */
static int collect_calls(struct asker *k, struct approval *a,
			 struct together *t, const struct stop *stop,
			 struct error *err)
{
	struct buf ignored = BUF_INIT(RESULT_RAW_BYTES);
	int rc = 0;

	t->list[t->n++] = a;
	for (size_t i = 0; rc == 0 && i < a->n_later; i++) {
		struct approval *b = &t->later[i];
		bool asks = false;

		*b = (struct approval){ .call = a->later[i],
					.tool = tool_find(a->later[i]->name),
					.number = a->number + 1 + i,
					.total = a->total,
					.subagent = a->subagent,
					.acts_in = a->acts_in,
					.reason = BUF_INIT(MAX_WORDS),
					.place = BUF_INIT(MAX_WORDS) };
		buf_clear(&ignored);
		if (b->tool)
			t->args[i] = args_read(b->tool, b->call, &ignored);
		b->args = t->args[i];
		if (b->args)
			rc = decide_call(k, b, &asks, stop, err);
		if (asks)
			t->list[t->n++] = b;
	}
	buf_release(&ignored);
	return rc;
}

/* Stores what the user said, for the later calls of the same model answer. */
static void store_batch_answer(struct asker *k, const struct together *t,
			       enum dialog_answer said)
{
	struct grants *g = said == DIALOG_YES      ? &k->batch
			   : said == DIALOG_REASON ? &k->refused
						   : NULL;

	for (size_t i = 1; g && i < t->n; i++)
		grants_add(g, t->list[i], t->list[i]->call->id);
	if (said != DIALOG_REASON)
		return;
	buf_clear(&k->why);
	k->why.max = MAX_WORDS;
	buf_addstr(&k->why, buf_str(&t->list[0]->reason));
}

/* Asks one question for a and all later calls. A yes covers only the calls that
 * the question shows. */
static int prompt_batch(struct asker *k, struct approval *a,
			enum dialog_answer *said, const struct stop *stop,
			struct error *err)
{
	struct together t = {
		.later = xcalloc(a->n_later, sizeof(*t.later)),
		.args = xcalloc(a->n_later, sizeof(cJSON *)),
		.list = xcalloc(a->n_later + 1, sizeof(struct approval *)),
	};
	int rc = collect_calls(k, a, &t, stop, err);
	struct question q = { .list = t.list, .n = t.n };

	*said = DIALOG_ONE;
	if (rc == 0 && t.n > 1)
		*said = k->ask(k->arg, &q, stop);
	store_batch_answer(k, &t, *said);
	for (size_t i = 0; i < a->n_later; i++) {
		approval_release(&t.later[i]);
		cJSON_Delete(t.args[i]);
	}
	free(t.later);
	free(t.args);
	free(t.list);
	return rc;
}

static void edit_call(struct asker *k, struct approval *a, struct str text)
{
	struct error err = { 0 };

	if (approval_edit(a, text, &err) < 0)
		(void)app_fail(k->run->app, &err);
}

/* Stores the grant in the user's config.toml. If that fails, the grant lasts
 * until the chat ends. */
static void store_grant(struct run *r, const struct approval *a)
{
	struct error err = { 0 };
	char *file = grants_file(r->app->settings);

	if (grants_store(&r->grants, a, r->app, &err) == 0) {
		fprintf(stderr,
			"Stored in approvals.allow of %s: dcode no longer asks "
			"about this call%s%s.\nTo undo that: /approvals remove "
			"%zu\n",
			file, a->sandbox ? ", in each sandbox of " : "",
			a->sandbox ? a->machine : "", r->grants.n);
	} else {
		(void)app_fail(r->app, &err);
		fputs("This call is allowed until dcode ends.\n", stderr);
		grants_add(&r->grants, a, NULL);
	}
	free(file);
}

/* Asks one question about a. Returns 1 if a must be judged and asked about
 * again. */
static int prompt_once(struct asker *k, struct approval *a,
		       const struct stop *stop, struct error *err)
{
	struct question q = { .list = &a,
			      .n = 1,
			      .edited = BUF_INIT(RESULT_RAW_BYTES) };
	enum dialog_answer said;
	int rc = 0;

	run_hooks_notify(k->run, a->tool->spec.name);
	said = k->ask(k->arg, &q, stop);
	if (said == DIALOG_TOGETHER)
		rc = prompt_batch(k, a, &said, stop, err);
	if (rc == 0 && said == DIALOG_EDITED)
		edit_call(k, a, buf_str(&q.edited));
	buf_release(&q.edited);
	if (rc < 0 || said == DIALOG_OPEN)
		return rc < 0 ? -1 : stop_check(stop, err);
	if (said == DIALOG_EDITED || said == DIALOG_ONE)
		return 1;
	if (said == DIALOG_NO)
		approval_decline(a, (struct str){ 0 });
	if (said == DIALOG_ALWAYS)
		grants_add(&k->run->grants, a, NULL);
	if (said == DIALOG_CONFIG)
		store_grant(k->run, a);
	a->allowed = said == DIALOG_YES || said == DIALOG_ALWAYS ||
		     said == DIALOG_CONFIG;
	return 0;
}

int ask_approval(struct asker *k, struct approval *a, const struct stop *stop,
		 struct error *err)
{
	bool asks;
	int rc;

	if (a->number <= k->last) { /* a new model answer */
		grants_clear(&k->batch);
		grants_clear(&k->refused);
	}
	k->last = a->number;
	do {
		rc = decide_call(k, a, &asks, stop, err);
		if (rc == 0 && asks)
			rc = prompt_once(k, a, stop, err);
	} while (rc > 0);
	/* Plan mode may have begun while the question was open. */
	if (rc == 0 && a->allowed &&
	    plan_mode_refuses(k->run, a->tool, &a->reason))
		a->allowed = false;
	return rc;
}

void asker_release(struct asker *k)
{
	grants_clear(&k->batch);
	grants_clear(&k->refused);
	buf_release(&k->why);
}
