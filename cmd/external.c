/* external.c - runs the user's editor or pager in the terminal. */
/* SPDX-License-Identifier: MIT */
#include "cmd/external.h"

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

static const char *choose_editor(void)
{
	const char *value = getenv("VISUAL");

	if (!value || !value[0])
		value = getenv("EDITOR");
	return value && value[0] ? value : "vi";
}

/* True after a signal that ends dcode. */
static bool must_end(void)
{
	int number = app_signal();

	return number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

/* Waits until the program exits. A signal that ends dcode is passed on to the
 * program first. */
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
		if (!passed && must_end()) {
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

int external_run(const struct external *x, const char *program,
		 const char *file, struct error *err)
{
	const int fds[] = { STDIN_FILENO, x->out, x->err };
	char *script = xasprintf("%s \"$1\"", program);
	char *argv[] = { (char *)"sh", (char *)"-c", script,
			 (char *)"sh", (char *)file, NULL };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction before;
	pid_t pid;
	int rc;

	sigaction(SIGINT, &ignore, &before);
	x->app->lent++;
	rc = proc_spawn_user(argv, fds, &pid, err);
	if (rc == 0)
		rc = wait_for_program(pid, err);
	x->app->lent--;
	sigaction(SIGINT, &before, NULL);
	free(script);
	return rc;
}

char *external_file(struct app *app, const char *suffix, struct str text,
		    struct error *err)
{
	char *state = app_state_path(app, "", err);
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

int external_edit(const struct external *x, const char *suffix, struct str text,
		  struct buf *edited, struct error *err)
{
	char *name = external_file(x->app, suffix, text, err);
	int status = -1;

	if (name)
		status = external_run(x, choose_editor(), name, err);
	if (status > 0)
		error_set(err, ERR_REMOTE,
			  "the editor exited with status %d; the text is "
			  "unchanged",
			  status);
	else if (status == 0)
		status = read_file(name, edited, err);
	buf_drop_nul(edited, 0);
	if (name)
		(void)unlink(name);
	free(name);
	return status ? -1 : 0;
}

bool external_edit_text(const struct external *x, struct buf *text)
{
	struct buf edited = BUF_INIT(EXTERNAL_MOST);
	struct error err = { 0 };
	struct str after;
	bool changed = false;

	if (external_edit(x, "", buf_str(text), &edited, &err) < 0) {
		(void)app_fail(x->app, &err);
	} else {
		after = buf_str(&edited);
		if (!str_ends(buf_str(text), "\n") && str_ends(after, "\n"))
			after.len--;
		changed = !str_eq(after, buf_str(text));
	}
	if (changed) {
		buf_clear(text);
		buf_addstr(text, after);
	}
	buf_release(&edited);
	return changed;
}
