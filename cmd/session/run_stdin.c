/* run_stdin.c - text that is piped to dcode. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/run_stdin.h"

#include <errno.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "cmd/stdin.h"

enum {
	MAX_CHARS = 10 << 20,
	MAX_BYTES = 4 * MAX_CHARS,
	FIRST_BYTE_MS = 10000, /* a silent pipe next to -n is left alone */
	NOTICE_MS = 3000,
};

/* 1 when it can be read, 0 after ms of silence, -1. */
static int wait_readable(int64_t ms, const struct stop *stop, struct error *err)
{
	struct pollfd p[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
			       { .fd = stop_fd(stop), .events = POLLIN } };
	struct stop nearer = stop_within(stop, ms);
	int n = poll(p, 2, stop_poll_ms(&nearer, -1));

	if (stop_check(stop, err) < 0)
		return -1;
	if (n < 0 && errno != EINTR)
		return error_errno(err, "waiting for standard input");
	return n > 0 && p[0].revents ? 1 : 0;
}

/* 1 when there is something to read (or its end), 0 to leave it alone. */
static int wait_first(bool forever, bool quiet, const struct stop *stop,
		      struct error *err)
{
	int64_t begin = clock_ms();
	bool noticed = false;

	for (;;) {
		int64_t waited = clock_ms() - begin;
		int rc;

		if (waited >= NOTICE_MS && !noticed && !quiet) {
			app_warn("waiting for standard input; close it, or use "
				 "</dev/null");
			noticed = true;
		}
		if (waited >= FIRST_BYTE_MS && !forever) {
			if (!quiet)
				app_warn("standard input stayed silent for 10 "
					 "s and is "
					 "ignored; use --stdin to wait for it");
			return 0;
		}
		rc = wait_readable(1000, stop, err);
		if (rc)
			return rc;
	}
}

static int check(const struct buf *text, struct error *err)
{
	if (text->over || str_chars(buf_str(text)) > MAX_CHARS)
		return error_set(err, ERR_LIMIT,
				 "Piped input exceeds 10 MiB limit. Consider "
				 "writing the content to a file and "
				 "referencing it instead.");
	/* A NUL would end the prompt right there. */
	if (!str_is_utf8(buf_str(text)) ||
	    str_find(buf_str(text), '\0') < text->len)
		return error_set(err, ERR_REMOTE,
				 "Could not read piped input \xE2\x80\x94 "
				 "ensure the input is valid text");
	return 0;
}

int run_read_stdin(char **text, const struct run_options *o,
		   const struct stop *stop, struct error *err)
{
	struct buf all = BUF_INIT(MAX_BYTES);
	bool required = o->read_stdin;
	struct str trimmed;
	struct stat st;
	int rc = -1;

	*text = NULL;
	if (isatty(STDIN_FILENO)) {
		if (required)
			return error_set(err, ERR_REMOTE,
					 "--stdin was passed but stdin is a "
					 "terminal. Pipe input or use -n "
					 "instead.");
		return 0;
	}
	if (fstat(STDIN_FILENO, &st) < 0) {
		if (required)
			return error_errno(err, "--stdin: standard input");
		return 0;
	}
	if (!S_ISREG(st.st_mode)) {
		rc = wait_first(required || !o->task, o->quiet, stop, err);
		if (rc <= 0)
			return rc;
		rc = -1;
	}
	if (stdin_read(&all, stop, err) < 0 || check(&all, err) < 0)
		goto out;
	trimmed = str_trim(buf_str(&all));
	if (trimmed.len) {
		struct buf copy = BUF_INIT(MAX_BYTES);

		buf_addstr(&copy, trimmed);
		*text = buf_detach(&copy);
	}
	rc = 0;
out:
	buf_release(&all);
	return rc;
}
