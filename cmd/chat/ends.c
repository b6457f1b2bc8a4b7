/* ends.c - how both kinds of chat begin and end. */
/* SPDX-License-Identifier: MIT */
/*
 * chat_open() opens the run behind a chat. At the end chat_ask_exit() offers a
 * choice for a sandbox with changes, or returns to the chat, and chat_close()
 * closes the run and prints what it has used. After a signal chat_ask_exit()
 * asks nothing. run_close()
 * in cmd/session/open.c deletes the sandbox, or leaves it if it is to be kept.
 */
#include "cmd/chat/ends.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/ids.h"
#include "cmd/chat/slash_cmd.h"
#include "cmd/print.h"
#include "cmd/session/hooks.h"
#include "cmd/session/money.h"
#include "cmd/session/open.h"
#include "cmd/session/save.h"

const struct command *chat_shell_command(const struct app *app,
					 const char *name)
{
	const struct slash_command *s = app->slash;

	while (s->name && strcmp(s->name, name) != 0)
		s++;
	return s->command;
}

void chat_enter(struct run *r)
{
	r->here = (struct app_chat){ session_id(r->session), r->box.label,
				     &r->box.sandbox, r->options.include,
				     r->options.n_include };
	r->app->chat = &r->here;
}

int chat_open(struct run *r, bool again, const struct stop *stop,
	      struct error *err)
{
	if (lifecycle_await_ending(&r->box, stop, err) < 0)
		return -1;
	if (again)
		run_undo(r);
	if (run_hooks_open(r, err) < 0 || run_open(r, stop, err) < 0 ||
	    run_hooks_start(r, run_hooks_cause(r), stop, err) < 0)
		return -1;
	chat_enter(r);
	return 0;
}

/* Facts that chat_close() prints after the run has been closed. */
struct parting {
	char id[64]; /* thread's id; "" if the thread is not stored */
	struct usage usage;
	int64_t seconds;
	char left[64]; /* id of a sandbox that is not deleted because dcode did
			  not create it; else "" */
	char name[64]; /* name of a remaining sandbox, for dcode apply */
	bool unreturned; /* a remaining sandbox has changes that are not in the
			    user's tree */
	size_t files;    /* number of changed files; 0: unknown */
};

bool chat_ends(enum err code)
{
	return code == ERR_GONE || app_signal() == SIGTERM ||
	       app_signal() == SIGHUP || app_signal() == SIGQUIT;
}

/* Prints that the sandbox has changes. Names it, because the screen may already
 * show another one. */
static void print_work(const struct run *r, size_t files)
{
	struct buf line = BUF_INIT(1 << 12);

	print_add_line(r->app, &line, r->client.provider->name);
	buf_addc(&line, ' ');
	print_add_line(r->app, &line,
		       r->box.label[0] ? r->box.label : r->box.sandbox.id);
	if (files)
		buf_addf(&line,
			 " has %zu changed file%s not in your working tree.",
			 files, files == 1 ? " that is" : "s that are");
	else
		buf_adds(&line,
			 " has changes that are not saved anywhere else.");
	fprintf(stderr, "\n%s\n", line.ptr);
	buf_release(&line);
}

/* Runs /apply. Returns false if some change was not applied. */
static bool apply_changes(struct run *r)
{
	char *words[] = { NULL };

	return command_run_at_terminal(r->app,
				       chat_shell_command(r->app, "/apply"), 0,
				       words) == 0;
}

/* True if Ctrl-C has ended a question. Other signals end the chat. */
static bool is_interrupted(const struct run *r)
{
	const struct stop stop = app_stop(r->app);
	struct error ignored = { 0 };

	return stop_check(&stop, &ignored) < 0 && !chat_ends(ERR_NONE);
}

/* Asks what to do with the sandbox, and asks again if changes could not be
 * applied. At the end of input the sandbox is deleted and its work is saved as
 * a patch. Ctrl-C never deletes it. Returns false if the user returns to the
 * chat, which only a chat that ends offers. */
static bool prompt_exit(struct run *r, bool may_apply, bool ends)
{
	enum { APPLY, DELETE, STOP, KEEP, BACK };
	static const char *const all[] = { "apply", "delete", "stop", "keep",
					   "back" };
	const char *answers[] = { NULL, NULL, NULL, NULL, NULL };
	bool can_stop = sandbox_can_stop(&r->client);
	char help[256];
	char choices[64];
	struct app_question q = { .answers = answers,
				  .choices = choices,
				  .help = help,
				  .escapes = ends };
	const struct app_asker *asker = r->app->asker;
	struct error ignored = { 0 };
	int answer;

	if (may_apply)
		answers[q.n++] = all[APPLY];
	q.usual = q.n;
	answers[q.n++] = all[DELETE];
	if (can_stop)
		answers[q.n++] = all[STOP];
	q.safe = q.n;
	answers[q.n++] = all[KEEP];
	if (ends) {
		q.safe = q.n;
		answers[q.n++] = all[BACK];
	}
	if (may_apply)
		q.text = can_stop ? "Apply its changes and delete it? Or "
				    "delete, stop or keep it?"
				  : "Apply its changes and delete it? Or "
				    "delete or keep it?";
	else
		q.text = can_stop ? "Delete it, stop it, or keep it?"
				  : "Delete it, or keep it?";
	/* Only a screen reads Esc. */
	snprintf(choices, sizeof(choices), "%sD%s/k%s", may_apply ? "a/" : "",
		 can_stop ? "/s" : "",
		 !ends      ? ""
		 : r->theme ? "/Esc"
			    : "/b");
	snprintf(help, sizeof(help), "%s%s%sk keeps it%s.",
		 may_apply ? "a applies its changes and deletes it; " : "",
		 may_apply && save_is_on(r->app)
			 ? "d or Enter saves them as a patch and deletes it; "
			 : "d or Enter deletes it with its changes; ",
		 can_stop ? "s stops it, its files stay; " : "",
		 !ends      ? ""
		 : r->theme ? "; Esc goes back to the chat"
			    : "; b goes back to the chat");
	fprintf(stderr, "%s\n", help);
	/* If the changes cannot be applied, deleting the sandbox would lose
	 * them: let the user choose again. */
	do {
		answer = asker->choose(asker->arg, &q, &ignored);
	} while (answer >= 0 && answers[answer] == all[APPLY] &&
		 !apply_changes(r));
	if (answer < 0 ? is_interrupted(r) : answers[answer] == all[BACK]) {
		if (ends)
			return false;
		r->box.request.on_exit = LIFECYCLE_KEEP;
	}
	if (answer >= 0 && answers[answer] == all[KEEP])
		r->box.request.on_exit = LIFECYCLE_KEEP;
	else if (answer >= 0 && answers[answer] == all[STOP])
		r->box.request.on_exit = LIFECYCLE_STOP;
	return true;
}

bool chat_ask_exit(struct run *r, bool ends)
{
	size_t files;

	/* Another thread deletes a sandbox that is ending. */
	if (r->box.ending || r->options.exit_given || !r->box.ours ||
	    app_signal() || r->box.request.on_exit != LIFECYCLE_DELETE ||
	    !r->app->asker || !(r->client.provider->flags & SANDBOX_ATTACH) ||
	    !isatty(STDIN_FILENO) || !run_has_unreturned_work(r, &files))
		return true;
	print_work(r, files);
	return prompt_exit(r, files > 0, ends);
}

/* Notes in p a sandbox that is not deleted. For a deleted one, the work was
 * already saved or reported as lost. */
static void read_sandbox(struct run *r, struct parting *p)
{
	char id[IDS_SHOWN];

	if (r->box.ending || !r->box.sandbox.id || !run_has_sandbox(r) ||
	    (r->box.ours && r->box.request.on_exit == LIFECYCLE_DELETE))
		return;
	ids_shown(r->box.sandbox.id, id);
	snprintf(p->name, sizeof(p->name), "%s",
		 r->box.label[0] ? r->box.label : id);
	if (!r->box.ours)
		snprintf(p->left, sizeof(p->left), "%s", id);
	/* Other signals leave no time to look for changes. */
	if (!app_signal() || app_signal() == SIGINT)
		p->unreturned = run_has_unreturned_work(r, &p->files);
}

/* Names a sandbox that remains because dcode did not create it, and prints how
 * to get unapplied changes. */
static void print_sandbox(const struct run *r, const struct parting *p)
{
	if (r->lost)
		return;
	if (p->left[0])
		print_line(
			r->app,
			"Sandbox %s is not deleted: dcode did not create it.",
			p->left);
	if (p->unreturned && p->files) {
		print_line(r->app,
			   "%zu changed file%s in the sandbox %s not applied. "
			   "To apply %s:",
			   p->files, p->files == 1 ? "" : "s",
			   p->files == 1 ? "is" : "are",
			   p->files == 1 ? "it" : "them");
		print_line(r->app, "  dcode apply %s", p->name);
	} else if (p->unreturned) {
		print_line(r->app,
			   "The changes in the sandbox are not applied.");
	}
}

static void print_cost(const struct run *r)
{
	struct buf line = BUF_INIT(1 << 12);

	run_money_line(r, &line);
	if (line.len)
		fprintf(stderr, "%s\n", line.ptr);
	buf_release(&line);
}

/* Prints the tokens and the time that the run used. */
static void print_usage(const struct parting *p)
{
	const struct usage *u = &p->usage;
	int64_t in = u->input + u->cache_read + u->cache_write;

	if (in || u->output)
		fprintf(stderr,
			"Tokens: %" PRId64 " in (%" PRId64 " of them cached), "
			"%" PRId64 " out. ",
			in, u->cache_read, u->output);
	if (p->seconds >= 3600)
		fprintf(stderr, "Time: %" PRId64 " h %" PRId64 " min\n",
			p->seconds / 3600, p->seconds / 60 % 60);
	else if (p->seconds >= 60)
		fprintf(stderr, "Time: %" PRId64 " min %" PRId64 " s\n",
			p->seconds / 60, p->seconds % 60);
	else
		fprintf(stderr, "Time: %" PRId64 " s\n", p->seconds);
}

void chat_close(struct run *r)
{
	struct parting p = { .seconds = (clock_ms() - r->began) / 1000,
			     .usage = r->agent.usage };
	bool opened = r->agent.model;

	if (r->session && session_stays(r->session))
		snprintf(p.id, sizeof(p.id), "%s", session_id(r->session));
	if (opened)
		read_sandbox(r, &p);
	r->app->chat = NULL;
	run_hooks_end(r, "prompt_input_exit");
	next_finish(r);
	run_close(r);
	if (opened) {
		print_sandbox(r, &p);
		print_usage(&p);
		print_cost(r);
	}
	if (p.id[0])
		fprintf(stderr, "Resume this thread with:\n  dcode -r %s\n",
			p.id);
}
