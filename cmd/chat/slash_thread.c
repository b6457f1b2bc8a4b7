/* slash_thread.c - /clear, /resume, /threads and /copy. */
/* SPDX-License-Identifier: MIT */
/*
 * Switching to a thread of the same sandbox keeps the run. Switching to a
 * thread of another sandbox needs a new run. Begin reading at
 * slash_cmd_resume().
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sodium.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/chat/ends.h"
#include "cmd/chat/slash_cmd.h"
#include "cmd/print.h"
#include "cmd/session/conversation.h"
#include "cmd/session/hooks.h"
#include "cmd/session/next.h"
#include "cmd/session/thread_info.h"
#include "providers/built_in.h"
#include "session/history.h"

enum { MOST_LISTED = 200, TEXT_MOST = 1 << 12 };

/* Stored threads as a list to choose from. */
struct thread_choice {
	struct run *run;
	struct store *store;
	struct fuzzy_item items[MOST_LISTED];
	char *ids[MOST_LISTED]; /* owned, like all texts of items */
	size_t n;
};

struct other_thread {
	const char *id; /* id of the thread to skip */
	struct thread found;
};

static struct str detach_str(struct buf *text)
{
	size_t len = text->len;

	return (struct str){ buf_detach(text), len };
}

static bool is_open(const struct thread_choice *c, const struct thread *t)
{
	return !strcmp(t->id, session_id(c->run->session));
}

/* Adds a stored thread to the list. Its id, model and directory can be
 * searched, too. */
static bool add_choice(void *arg, struct thread *t)
{
	struct thread_choice *c = arg;
	struct fuzzy_item *item = &c->items[c->n];
	const struct app *app = c->run->app;
	struct buf name = BUF_INIT(TEXT_MOST);
	struct buf other = BUF_INIT(TEXT_MOST);
	struct buf shown = BUF_INIT(TEXT_MOST);
	struct thread_sandbox box;
	char room[2 * THREADS_SHORT];
	char *cwd = threads_short_path(app, t->cwd);

	threads_read_sandbox(c->store, t->label, &box);
	print_add_line(app, &name, t->title[0] ? t->title : "(no title)");
	buf_addf(&shown, "%s%s  ", is_open(c, t) ? "this one, " : "",
		 print_age(t->updated, room));
	buf_adds(&shown, t->pid && !is_open(c, t) ? "in use  " : "");
	print_add_line(app, &shown, t->model);
	buf_addf(&shown, "  %s  ", threads_place(t, &box, room));
	print_add_line(app, &shown, cwd);
	print_add_line(app, &other, t->id);
	buf_addc(&other, ' ');
	print_add_line(app, &other, t->model);
	buf_addc(&other, ' ');
	print_add_line(app, &other, t->cwd);
	c->ids[c->n++] = xstrdup(t->id);
	item->name = detach_str(&name);
	item->alias = detach_str(&other);
	item->summary = detach_str(&shown);
	free(cwd);
	return c->n < MOST_LISTED;
}

static void release_choice(struct thread_choice *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->ids[i]);
		free((char *)c->items[i].name.ptr);
		free((char *)c->items[i].alias.ptr);
		free((char *)c->items[i].summary.ptr);
	}
	free(c);
}

/* Lists the newest threads, or returns NULL with err. */
static struct thread_choice *list_threads(struct run *r, struct error *err)
{
	const struct thread_filter all = { .limit = MOST_LISTED };
	struct thread_choice *c = xcalloc(1, sizeof(*c));

	c->run = r;
	if (app_store(r->app, &c->store, err) == 0 &&
	    thread_each(c->store, &all, add_choice, c, err) == 0)
		return c;
	release_choice(c);
	return NULL;
}

static void add_threads(struct run *r, const char *before, struct buf *out)
{
	struct error ignored = { 0 };
	struct thread_choice *c = list_threads(r, &ignored);

	for (size_t i = 0; c && i < c->n; i++) {
		buf_addf(out, "%s%s\t", before, c->ids[i]);
		buf_addstr(out, c->items[i].name);
		buf_addc(out, '\n');
	}
	if (c)
		release_choice(c);
}

void slash_list_threads(struct run *r, struct buf *out)
{
	add_threads(r, "", out);
}

void slash_list_thread_words(struct run *r, struct buf *out)
{
	slash_list_subcommands(chat_shell_command(r->app, "/threads"), out);
	add_threads(r, "-r ", out);
}

/* Prints how to return to the previous thread. */
static void print_previous_thread(const char *id, bool stored)
{
	if (stored)
		fprintf(stderr, "Previous thread: /resume %s\n", id);
}

bool slash_cmd_clear(struct run *r, int n, char **words)
{
	char *id = xstrdup(session_id(r->session));
	bool stored = session_is_stored(r->session);
	struct stop stop = app_stop(r->app);
	struct error err = { 0 };

	(void)words;
	if (n)
		error_set(&err, ERR_USAGE, "/clear takes no argument");
	else
		run_hooks_end(r, "clear");
	if (n || conversation_begin(r, &err) < 0 ||
	    run_hooks_start(r, "clear", &stop, &err) < 0) {
		(void)app_fail(r->app, &err);
		run_hooks_follow(r);
	} else {
		fprintf(stderr, "Started new thread: %s\n",
			session_id(r->session));
		print_previous_thread(id, stored);
	}
	free(id);
	return true;
}

/* True if the thread's tools run in the same place as those of r. */
static bool is_same_place(const struct run *r, const struct thread *t)
{
	if (!run_has_sandbox(r))
		return !t->label[0] && (!t->provider[0] || t->imported ||
					sandbox_is_none(t->provider));
	if (r->box.ours)
		return !strcmp(t->label, r->box.label);
	return !t->imported && !strcmp(t->provider, r->client.provider->name) &&
	       !strcmp(t->sandbox, r->box.sandbox.id);
}

/* Continues with *t, of which it takes ownership. */
static int switch_to_thread(struct run *r, struct thread *t, struct error *err)
{
	const char *const words[] = { "--resume", t->id };
	struct stop stop = app_stop(r->app);
	char *was;
	bool stored;
	int rc;

	if (is_same_place(r, t)) {
		was = xstrdup(session_id(r->session));
		stored = session_is_stored(r->session);
		rc = conversation_resume(r, t, err);
		if (rc == 0) {
			print_previous_thread(was, stored);
			run_hooks_end(r, "resume");
			rc = run_hooks_start(r, "resume", &stop, err);
		}
		free(was);
		return rc;
	}
	rc = next_open(r, words, 2, false, err);
	thread_release(t);
	if (rc < 0)
		return -1;
	chat_ask_exit(r);
	print_previous_thread(session_id(r->session),
			      session_is_stored(r->session));
	next_leave(r);
	return 0;
}

static bool copy_other_thread(void *arg, struct thread *t)
{
	struct other_thread *o = arg;

	if (!strcmp(t->id, o->id))
		return true;
	o->found = *t;
	*t = (struct thread){ 0 };
	return false;
}

/* Finds the thread for "latest": the last one of this directory other than the
 * chat's own. */
static int find_latest(struct run *r, struct thread *t, struct error *err)
{
	struct other_thread o = { session_id(r->session), { 0 } };
	const struct thread_filter here = { .cwd = settings_cwd(
						    r->app->settings) };
	struct store *store;

	if (app_store(r->app, &store, err) < 0 ||
	    thread_each(store, &here, copy_other_thread, &o, err) < 0)
		return -1;
	*t = o.found;
	if (t->id)
		return 0;
	error_set(err, ERR_NOT_FOUND, "this directory has no other thread");
	return error_hint(err, "/resume lists the threads of all directories.");
}

static int find_thread(struct run *r, const char *name, struct thread *t,
		       struct error *err)
{
	struct store *store;

	return strcmp(name, "latest")
		       ? threads_find(r->app, name, &store, t, err)
		       : find_latest(r, t, err);
}

/* Continues with the named thread, unless it is the current one. */
static void resume_thread(struct run *r, const char *name)
{
	struct thread t = { 0 };
	struct error err = { 0 };

	if (find_thread(r, name, &t, &err) < 0) {
		(void)app_fail(r->app, &err);
		return;
	}
	if (!strcmp(t.id, session_id(r->session))) {
		fprintf(stderr, "This is thread %s.\n", t.id);
		thread_release(&t);
		return;
	}
	if (switch_to_thread(r, &t, &err) < 0)
		(void)app_fail(r->app, &err);
}

/* Lets the user choose a stored thread and resumes it. */
static void choose_thread(struct run *r)
{
	struct error err = { 0 };
	struct thread_choice *c = list_threads(r, &err);
	struct pick p = { .title = "Threads" };
	int chosen;

	if (!c) {
		(void)app_fail(r->app, &err);
		return;
	}
	p.items = c->items;
	p.n = c->n;
	if (!c->n)
		fputs("No threads are stored yet.\n", stderr);
	chosen = c->n ? r->pick(r->ui.arg, &p) : -1;
	if (chosen >= 0)
		resume_thread(r, c->ids[chosen]);
	release_choice(c);
}

bool slash_cmd_resume(struct run *r, int n, char **words)
{
	struct error err = { 0 };

	if (n > 1) {
		error_set(&err, ERR_USAGE,
			  "/resume accepts at most one thread");
		error_hint(&err,
			   "Type /resume ID (the start of an id is enough) or "
			   "/resume latest. /resume alone lists the threads.");
		(void)app_fail(r->app, &err);
	} else if (n) {
		resume_thread(r, words[0]);
	} else {
		choose_thread(r);
	}
	return true;
}

static bool is_resume(const char *word)
{
	return !strcmp(word, "-r") || !strcmp(word, "--resume");
}

bool slash_cmd_threads(struct run *r, int n, char **words)
{
	struct error err = { 0 };

	if (!n) {
		choose_thread(r);
	} else if (is_resume(words[0]) && n <= 2) {
		resume_thread(r, n == 2 ? words[1] : "latest");
	} else if (is_resume(words[0])) {
		error_set(&err, ERR_USAGE,
			  "/threads -r [ID] accepts at most one thread ID");
		(void)app_fail(r->app, &err);
	} else {
		app_borrow_terminal(r->app);
		(void)command_run_words(r->app,
					chat_shell_command(r->app, "/threads"),
					n, words);
		app_return_terminal(r->app);
	}
	return true;
}

enum {
	ANSWER_MOST = 64 << 20,
	PROGRAM_MOST = 16 << 20, /* bytes passed to a clipboard program */
	/* The base64 must fit into 100,000 characters, which terminals accept
	   (xterm and tmux accept more). */
	TERMINAL_MOST = 74994,
	WAIT_MS = 5000,
};

/* A program that sets the desktop's clipboard. */
struct clip_program {
	const char *needs; /* the program works only if this variable is set; or
			      NULL */
	const char *argv[4];
};

static const struct clip_program programs[] = {
	{ "WAYLAND_DISPLAY", { "wl-copy", NULL } },
	{ "DISPLAY", { "xclip", "-selection", "clipboard", NULL } },
	{ NULL, { "pbcopy", NULL } },
};

/* Returns the text of an answer; the caller owns it. NULL if the message is not
 * the model's or has no text, only tool calls. */
static char *answer_of(const struct message *m)
{
	char *text = m->role == ROLE_ASSISTANT ? message_text(m) : NULL;

	if (text && str_trim(str_of(text)).len)
		return text;
	free(text);
	return NULL;
}

/* Returns the newest answer stored in the thread, or NULL. The caller owns the
 * result. */
static char *read_stored(struct run *r)
{
	struct conversation c = { 0 };
	struct error ignored = { 0 };
	struct thread t = { 0 };
	struct store *store;
	char *text = NULL;

	if (!session_is_stored(r->session) ||
	    app_store(r->app, &store, &ignored) < 0 ||
	    thread_find(store, session_id(r->session), NULL, &t, &ignored) < 0)
		return NULL;
	if (history_load(&c, store, t.no, &ignored) == 0)
		for (size_t i = c.n; i > 0 && !text; i--)
			text = answer_of(&c.list[i - 1]);
	history_release(&c);
	thread_release(&t);
	return text;
}

/* Reads the last answer as it is shown: without control characters and secrets.
 */
static void read_answer(struct run *r, struct buf *out)
{
	char *stored = r->agent.answer.len ? NULL : read_stored(r);

	app_clean(r->app, CLEAN_TEXT,
		  str_trim(stored ? str_of(stored) : buf_str(&r->agent.answer)),
		  out);
	free(stored);
}

/* Writes the whole text. Returns false on failure or timeout. */
static bool write_text(int fd, struct str text)
{
	int64_t end = clock_ms() + WAIT_MS;

	while (text.len) {
		struct pollfd p = { .fd = fd, .events = POLLOUT };
		ssize_t n;

		if (clock_ms() > end || io_poll(&p, 1, WAIT_MS) <= 0)
			return false;
		n = write(fd, text.ptr, text.len);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return false;
		if (n > 0)
			text = str_skip(text, (size_t)n);
	}
	return true;
}

/* Waits for the program and returns its status. Kills it and returns -1 on a
 * timeout. */
static int wait_for_end(pid_t pid)
{
	struct error ignored = { 0 };
	struct pollfd p = { .fd = proc_fd(pid, &ignored), .events = POLLIN };
	int status = -1;

	if (p.fd < 0 || io_poll(&p, 1, WAIT_MS) <= 0)
		(void)kill(pid, SIGKILL);
	if (p.fd >= 0)
		close(p.fd);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return proc_exit_code(status);
}

/* Runs a clipboard program with text as its input. Returns 0 if it exited with
 * status 0. */
static int run_program(const char *path, const struct clip_program *program,
		       struct str text)
{
	extern char **environ;
	struct error ignored = { 0 };
	int ends[2];
	int fds[3] = { -1, -1, -1 };
	struct proc_spec spec = { .path = path,
				  .argv = (char *const *)program->argv,
				  .env = environ,
				  .fds = fds,
				  .nfds = 3,
				  .session = true };
	pid_t pid;
	bool fed;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	fds[0] = ends[0];
	if (proc_spawn(&spec, &pid, &ignored) < 0) {
		close(ends[0]);
		close(ends[1]);
		return -1;
	}
	close(ends[0]);
	(void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
	fed = write_text(ends[1], text);
	close(ends[1]);
	return wait_for_end(pid) == 0 && fed ? 0 : -1;
}

/* Copies text with the first clipboard program that accepts it. Returns the
 * program's name, or NULL. */
static const char *copy_by_program(struct str text)
{
	const char *taken = NULL;

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		const struct clip_program *p = &programs[i];
		const char *can = p->needs ? getenv(p->needs) : "";
		char *path;

		if (!can || (p->needs && !can[0]))
			continue;
		path = proc_find(p->argv[0], getenv("PATH"));
		if (path && run_program(path, p, text) == 0)
			taken = p->argv[0];
		free(path);
		if (taken)
			break;
	}
	return taken;
}

/* Copies with the escape sequence OSC 52: the terminal fills the clipboard,
 * also over ssh. */
static int copy_by_terminal(struct run *r, struct str text, struct error *err)
{
	size_t size = sodium_base64_ENCODED_LEN(text.len,
						sodium_base64_VARIANT_ORIGINAL);
	char *coded = xcalloc(size, 1);
	int rc = -1;

	sodium_bin2base64(coded, size, (const unsigned char *)text.ptr,
			  text.len, sodium_base64_VARIANT_ORIGINAL);
	app_borrow_terminal(r->app);
	if (!isatty(STDERR_FILENO))
		error_set(err, ERR_USAGE, "cannot copy: no terminal");
	else if (fprintf(stderr, "\033]52;c;%s\a", coded) < 0)
		error_errno(err, "writing to the terminal");
	else
		rc = 0;
	app_return_terminal(r->app);
	free(coded);
	return rc;
}

/* Copies text with a clipboard program, else with the terminal. */
static int copy_to_clipboard(struct run *r, struct str text, struct error *err)
{
	const char *taken =
		text.len <= PROGRAM_MOST ? copy_by_program(text) : NULL;

	if (taken) {
		fprintf(stderr, "Copied latest response to clipboard (%s).\n",
			taken);
		return 0;
	}
	if (text.len > TERMINAL_MOST) {
		error_set(err, ERR_LIMIT,
			  "the latest response is too large for the terminal's "
			  "clipboard: %zu bytes (limit %d)",
			  text.len, TERMINAL_MOST);
		return error_hint(err, "Install wl-copy (Wayland) or xclip "
				       "(X11), or use dcode threads show.");
	}
	if (copy_by_terminal(r, text, err) < 0)
		return -1;
	fputs("Copied latest response to clipboard, if the terminal allows it "
	      "(OSC 52).\n",
	      stderr);
	if (getenv("TMUX"))
		fputs("In tmux this needs: set -g set-clipboard on\n", stderr);
	else if (getenv("STY"))
		fputs("GNU screen does not support this.\n", stderr);
	return 0;
}

bool slash_cmd_copy(struct run *r, int n, char **words)
{
	struct buf text = BUF_INIT(ANSWER_MOST);
	struct error err = { 0 };

	(void)n;
	(void)words;
	read_answer(r, &text);
	if (!text.len)
		fputs("No message to copy yet.\n", stderr);
	else if (copy_to_clipboard(r, buf_str(&text), &err) < 0)
		(void)app_fail(r->app, &err);
	buf_release(&text);
	return true;
}
