/* elsewhere.c - the user's own editor and pager, which take the terminal. */
/* SPDX-License-Identifier: MIT */
#include "cmd/chat/elsewhere.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"
#include "cmd/chat/leave.h"

enum { MAX_DRAFT = 64 << 20 };

/* The first of these variables of the user's own that says something. */
static const char *choose(const char *first, const char *second,
			  const char *usual)
{
	const char *value = getenv(first);

	if (!value || !value[0])
		value = second ? getenv(second) : NULL;
	return value && value[0] ? value : usual;
}

/* Waits for its end. A signal that ends the chat ends the program first. */
static int wait_for_program(pid_t pid, struct error *err)
{
	struct pollfd p = { .fd = proc_fd(pid, err), .events = POLLIN };
	bool passed = false;
	sigset_t all;
	sigset_t before;
	int status = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	while (p.fd >= 0 && waitpid(pid, &status, WNOHANG) == 0) {
		if (!passed && chat_ends(ERR_NONE)) {
			passed = true;
			(void)kill(pid, app_signal());
		}
		(void)ppoll(&p, 1, NULL, &before);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (p.fd < 0)
		return -1;
	close(p.fd);
	return proc_exit_code(status);
}

/* The words of program with the file behind them, as a shell reads them: "code
 * --wait". Its exit status, or -1. Ctrl-C is the program's meanwhile. */
static int run_program(struct live *l, const char *program, const char *file,
		       struct error *err)
{
	extern char **environ;
	const int fds[] = { STDIN_FILENO, l->printed.real[0],
			    l->printed.real[1] };
	char *script = xasprintf("%s \"$1\"", program);
	char *argv[] = { (char *)"sh", (char *)"-c", script,
			 (char *)"sh", (char *)file, NULL };
	struct proc_spec spec = { .path = "/bin/sh",
				  .argv = argv,
				  .env = environ,
				  .cwd = settings_cwd(l->run->app->settings),
				  .fds = fds,
				  .nfds = 3,
				  .core = true };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction before;
	pid_t pid;
	int rc;

	live_leave_screen(l);
	sigaction(SIGINT, &ignore, &before);
	rc = proc_spawn(&spec, &pid, err);
	if (rc == 0)
		rc = wait_for_program(pid, err);
	sigaction(SIGINT, &before, NULL);
	screen_resume(&l->screen);
	free(script);
	return rc;
}

/* A file of the state directory, which is the user's alone. Owned name. */
static char *write_file(struct live *l, const char *suffix, struct str text,
			struct error *err)
{
	char *state = app_state_path(l->run->app, "", err);
	char *name;
	int fd;
	bool whole = true;

	if (!state || path_mkdirs(state, 0700, err) < 0) {
		free(state);
		return NULL;
	}
	name = xasprintf("%s/dcode.XXXXXX%s", state, suffix);
	free(state);
	fd = mkostemps(name, (int)str_of(suffix).len, O_CLOEXEC);
	for (size_t at = 0; fd >= 0 && whole && at < text.len;) {
		ssize_t n = write(fd, text.ptr + at, text.len - at);

		whole = n >= 0 || errno == EINTR;
		at += n > 0 ? (size_t)n : 0;
	}
	if (fd < 0 || !whole) {
		error_errno(err, "writing %s", name);
		if (fd >= 0)
			(void)unlink(name);
		free(name);
		name = NULL;
	}
	if (fd >= 0)
		close(fd);
	return name;
}

static int read_file(const char *name, struct buf *out, struct error *err)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	char chunk[1 << 14];
	ssize_t n = -1;

	while (fd >= 0 && ((n = read(fd, chunk, sizeof(chunk))) > 0 ||
			   (n < 0 && errno == EINTR)))
		if (n > 0)
			buf_add(out, chunk, (size_t)n);
	if (n < 0)
		error_errno(err, "reading %s", name);
	if (fd >= 0)
		close(fd);
	return n < 0 ? -1 : buf_check(out, "the draft", err);
}

/* An editor ends the last line; the draft did not. */
static struct str without_end(struct str text)
{
	if (str_ends(text, "\n"))
		text.len--;
	return text;
}

void elsewhere_edit(struct live *l)
{
	struct buf draft = BUF_INIT(MAX_DRAFT);
	struct buf edited = BUF_INIT(MAX_DRAFT);
	struct error err = { 0 };
	char *name;
	int status;

	if (l->state == LIVE_OPENING)
		return; /* the settings are still being read */
	editor_text(&l->editor, &draft);
	name = write_file(l, ".md", buf_str(&draft), &err);
	status = name ? run_program(l, choose("VISUAL", "EDITOR", "vi"), name,
				    &err)
		      : -1;
	if (status > 0)
		error_set(&err, ERR_REMOTE,
			  "the editor ended with status %d: the draft is as "
			  "it was",
			  status);
	else if (status == 0 && read_file(name, &edited, &err) == 0)
		editor_set(&l->editor, without_end(buf_str(&edited)));
	if (err.code)
		(void)app_fail(l->run->app, &err);
	if (name)
		(void)unlink(name);
	free(name);
	buf_release(&draft);
	buf_release(&edited);
}

static void page(struct live *l, const struct rows *rows)
{
	struct buf text = BUF_INIT(ROWS_MAX_BYTES);
	struct error err = { 0 };
	char *name;

	for (size_t i = 0; i < rows->n; i++) {
		buf_addstr(&text, rows_view(rows, i).bytes);
		buf_addc(&text, '\n');
	}
	name = write_file(l, ".txt", buf_str(&text), &err);
	if (!name ||
	    run_program(l, choose("PAGER", NULL, "less"), name, &err) < 0)
		(void)app_fail(l->run->app, &err);
	if (name)
		(void)unlink(name);
	free(name);
	buf_release(&text);
}

void elsewhere_show_call(struct live *l)
{
	struct rows rows = { 0 };

	if (l->state != LIVE_OPENING &&
	    transcript_newest(&l->transcript, &rows)) {
		rows_close(&rows);
		if (rows.n > screen_live_rows(&l->screen))
			page(l, &rows);
		else
			live_print_rows(l, &rows);
	}
	rows_release(&rows);
}
