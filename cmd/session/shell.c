/* shell.c - the user's terminal, connected to a shell in a sandbox. */
/* SPDX-License-Identifier: MIT */
/*
 * The provider calls back: read_keys() has the keys, with ~ after Enter as the
 * escape of ssh(1), and write_output() filters what the sandbox prints
 * (term/guest.h). Begin reading at shell_run().
 */
#include "cmd/session/shell.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/session/sandbox.h"
#include "cmd/session/undo.h"
#include "model/message.h"
#include "sandbox/quote.h"
#include "sandbox/shell.h"
#include "sandbox/tree_changes.h"
#include "term/guest.h"
#include "term/tty.h"

enum {
	OUTPUT_MAX = 1 << 20, /* bytes of one piece after the filter */
	WAIT_MS = 100,        /* between checks while the terminal is full */
	NAME_MAX_BYTES = 32,  /* of TERM */
	CTRL_Z = 0x1A,
	LINES_MAX = 0xFFFF,
	SCRIPT_MS = 10000,
	SCRIPT_MAX = 4096,
	NAMES_MAX = 64 << 10,
	MINUTE_S = 60,
};

struct shell_session {
	struct app *app;
	struct tty tty;
	int events; /* readable when there are keys or a new size */
	struct exec_terminal size;
	struct guest guest;
	bool after_line; /* the last key was Enter, or there was none yet */
	bool tilde;      /* ... and then a ~, which is held back */
	bool left;       /* the user typed ~. */
};

static const char command[] =
	"command -v bash >/dev/null 2>&1 && exec bash -i; exec sh -i";

/* Prints the files that are newer than c_mark, except those that git ignores,
 * and removes it. */
static const char changed_script[] =
	"find . -name .git -prune -o -type f -newer \"$c_mark\" -print "
	"2>/dev/null | head -n 500 | sed 's,^[.]/,,' | { if git rev-parse "
	"--git-dir >/dev/null 2>&1; then git check-ignore -nv --stdin | "
	"sed -n 's/^::\t//p'; else cat; fi; }; rm -f \"$c_mark\"";

static const char help[] = "~?\r\n"
			   "~.   ends the shell and everything it started\r\n"
			   "~^Z  suspends dcode\r\n"
			   "~~   types one ~\r\n";

/* TERM for the sandbox. Few names are known everywhere, and what the filter
 * passes is common to these. */
static const char *terminal_name(void)
{
	static const char *const known[] = { "xterm",  "xterm-256color",
					     "screen", "screen-256color",
					     "tmux",   "tmux-256color",
					     "linux",  "vt100",
					     "vt220",  "dumb" };
	const char *name = getenv("TERM");

	for (size_t i = 0; name && i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(name, known[i]))
			return known[i];
	return "xterm-256color";
}

static void read_size(struct shell_session *v)
{
	size_t columns;
	size_t lines;

	(void)tty_size(&v->tty, &columns, &lines);
	v->size.columns = columns < LINES_MAX ? (unsigned)columns : LINES_MAX;
	v->size.rows = lines < LINES_MAX ? (unsigned)lines : LINES_MAX;
}

/* Handles the key after ~. Returns how many bytes go to the sandbox. */
static size_t run_escape(struct shell_session *v, char key, char *room)
{
	v->tilde = false;
	switch (key) {
	case '.':
		v->left = true;
		return 0;
	case CTRL_Z:
		(void)kill(getpid(), SIGTSTP);
		return 0;
	case '?':
		(void)tty_write(&v->tty, str_of(help));
		v->after_line = true;
		return 0;
	case '~':
		room[0] = '~';
		return 1;
	default:
		room[0] = '~';
		room[1] = key;
		return 2;
	}
}

/* Copies the keys without the escapes. room has twice the space. */
static size_t filter_keys(struct shell_session *v, struct str keys, char *room)
{
	size_t n = 0;

	for (size_t i = 0; i < keys.len && !v->left; i++) {
		char key = keys.ptr[i];
		bool first = v->after_line;

		v->after_line = key == '\r' || key == '\n';
		if (v->tilde)
			n += run_escape(v, key, room + n);
		else if (first && key == '~')
			v->tilde = true;
		else
			room[n++] = key;
	}
	return n;
}

/* Implements exec_request.source: keys, and the terminal's size. */
static int64_t read_keys(void *arg, char *room, size_t len, struct error *err)
{
	struct shell_session *v = arg;
	struct pollfd set[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
				 { .fd = v->tty.wake, .events = POLLIN } };
	char keys[4096];
	ssize_t n = 0;
	size_t passed;

	if (io_poll(set, 2, 0) < 0)
		return error_errno(err, "reading the terminal");
	if (set[1].revents) {
		tty_woken(&v->tty);
		(void)tty_was_stopped();
		read_size(v);
		v->size.resized = true;
	}
	if (!set[0].revents)
		return EXEC_LATER;
	n = io_read(STDIN_FILENO, keys,
		    len / 2 < sizeof(keys) ? len / 2 : sizeof(keys));
	if (n <= 0)
		return error_set(err, ERR_CANCELLED, "the terminal is gone");
	passed = filter_keys(v, (struct str){ keys, (size_t)n }, room);
	if (v->left)
		return error_set(err, ERR_CANCELLED, "left");
	return passed ? (int64_t)passed : EXEC_LATER;
}

/* Implements exec_request.output. Waits for a slow terminal, and so slows down
 * the sandbox. */
static int write_output(void *arg, enum exec_stream stream, struct str chunk,
			struct buf *reply, struct error *err)
{
	struct shell_session *v = arg;
	struct stop stop = app_stop(v->app);
	struct buf shown = BUF_INIT(OUTPUT_MAX);
	bool was = v->guest.is_alternate;
	int rc;

	(void)stream;
	(void)reply;
	guest_feed(&v->guest, chunk, &shown);
	if (v->guest.is_alternate)
		tty_set_alternate(true);
	rc = tty_write(&v->tty, buf_str(&shown));
	buf_release(&shown);
	while (rc > 0) {
		if (stop_check(&stop, err) < 0)
			return -1;
		rc = tty_drain(&v->tty, WAIT_MS);
	}
	if (was && !v->guest.is_alternate)
		tty_set_alternate(false);
	if (rc < 0)
		return error_set(err, ERR_CANCELLED, "the terminal is gone");
	return 0;
}

static int watch(int events, int fd, struct error *err)
{
	struct epoll_event e = { .events = EPOLLIN };

	return epoll_ctl(events, EPOLL_CTL_ADD, fd, &e) < 0
		       ? error_errno(err, "watching the terminal")
		       : 0;
}

static int check_possible(const struct sandbox *sb, struct error *err)
{
	const struct sandbox_provider *p = sb->client->provider;

	if (p->flags & SANDBOX_UNISOLATED)
		return error_set(err, ERR_USAGE,
				 "tools run on this machine: use a shell of "
				 "your own");
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
		error_set(err, ERR_USAGE, "a shell needs a terminal");
		return error_hint(err, "`dcode sandbox exec` runs a command "
				       "without one.");
	}
	if (shell_is_possible(sb->client))
		return 0;
	error_set(err, ERR_USAGE,
		  "%s shows a command's output only at its end, so it cannot "
		  "give it a terminal",
		  p->name);
	return error_hint(err, "`dcode sandbox exec` runs single commands.");
}

int shell_run(struct app *app, struct sandbox *sb, struct exec_result *res,
	      struct error *err)
{
	char term[NAME_MAX_BYTES];
	const char *const env[] = { term, NULL };
	struct shell_session v = { .app = app,
				   .events = -1,
				   .after_line = true };
	struct exec_request req = { .command = str_of(command),
				    .env = env,
				    .source = read_keys,
				    .source_arg = &v,
				    .terminal = &v.size,
				    .output = write_output,
				    .arg = &v };
	struct stop stop = app_stop(app);
	int rc;

	*res = (struct exec_result){ .exit_code = -1 };
	if (check_possible(sb, err) < 0 ||
	    tty_open_guest(&v.tty, STDIN_FILENO, STDERR_FILENO, err) < 0)
		return -1;
	(void)snprintf(term, sizeof(term), "TERM=%s", terminal_name());
	guest_init(&v.guest);
	read_size(&v);
	v.events = req.source_fd = epoll_create1(EPOLL_CLOEXEC);
	rc = watch(v.events, STDIN_FILENO, err);
	if (rc == 0)
		rc = watch(v.events, v.tty.wake, err);
	if (rc == 0)
		rc = shell_execute(sb, &req, res, &stop, err);
	if (rc < 0)
		(void)tty_write(&v.tty, STR("\r\n"));
	tty_close(&v.tty);
	if (v.events >= 0)
		close(v.events);
	if (!v.left)
		return rc;
	*err = (struct error){ 0 };
	res->exit_code = SHELL_LEFT;
	return 0;
}

/* Runs one of dcode's scripts in the working directory. A failure only means
 * that the changed files stay unknown. */
static void run_script(struct run *r, struct str script, struct buf *out)
{
	struct exec_request req = { .command = script,
				    .plain = true,
				    .timeout_ms = SCRIPT_MS,
				    .output = exec_collect_output,
				    .arg = out };
	struct stop stop = app_stop(r->app);
	struct exec_result res;
	struct error ignored = { 0 };

	if (sandbox_execute(&r->box.sandbox, &req, &res, &stop, &ignored) < 0 ||
	    res.exit_code)
		buf_clear(out);
}

/* Appends "; changed: a.c, b.c". mark: the file whose age separates old files
 * from new ones; the sandbox chose its name. */
static void add_changed(struct run *r, struct str mark, struct buf *note)
{
	struct buf script = BUF_INIT(SCRIPT_MAX);
	struct buf names = BUF_INIT(NAMES_MAX);
	struct changed_files list = { .out = note };
	struct str rest;
	struct str name;

	quote_assign(&script, "c_mark", mark);
	buf_adds(&script, changed_script);
	run_script(r, buf_str(&script), &names);
	rest = buf_str(&names);
	if (rest.len)
		buf_adds(note, "; changed: ");
	while (str_split(&rest, '\n', &name))
		if (name.len)
			changed_files_add(&list, name);
	changed_files_end(&list);
	buf_release(&script);
	buf_release(&names);
}

/* False if the shell was refused: see shell_run(). */
static bool is_opened(int rc, const struct error *err)
{
	return rc == 0 || err->code != ERR_USAGE;
}

int shell_run_in_chat(struct run *r, struct error *err)
{
	struct buf mark = BUF_INIT(SCRIPT_MAX);
	struct buf changed = BUF_INIT(NAMES_MAX);
	struct buf note = BUF_INIT(NAMES_MAX);
	struct exec_result res;
	int64_t seconds;
	int64_t began;
	int rc;

	if (!run_has_sandbox(r))
		return error_set(err, ERR_USAGE,
				 "tools run on this machine: use a shell of "
				 "your own");
	if (run_await(r, err) < 0)
		return -1;
	run_script(r, STR("mktemp"), &mark);
	began = clock_ms();
	app_borrow_terminal(r->app);
	rc = shell_run(r->app, &r->box.sandbox, &res, err);
	app_return_terminal(r->app);
	seconds = (clock_ms() - began) / 1000;
	if (mark.len && is_opened(rc, err))
		add_changed(r, str_trim(buf_str(&mark)), &changed);
	buf_adds(&note, MESSAGE_NOTE_SHELL);
	if (seconds < MINUTE_S)
		buf_addf(&note, "for %d s", (int)seconds);
	else
		buf_addf(&note, "for %d min", (int)(seconds / MINUTE_S));
	sanitize_line(buf_str(&changed), &note);
	buf_adds(&note, "]\n");
	free(r->shell_note);
	r->shell_note = is_opened(rc, err) ? buf_detach(&note) : NULL;
	buf_release(&note);
	if (rc == 0)
		fprintf(stderr,
			"The shell ended with status %d. Your next message "
			"tells the model.\n",
			res.exit_code);
	if (rc == 0 && res.notice[0])
		app_warn("%s", res.notice);
	undo_checkpoint(r, CHECKPOINT_OTHER);
	buf_release(&mark);
	buf_release(&changed);
	return rc;
}
