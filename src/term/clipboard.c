/* clipboard.c - reads an image from the desktop's clipboard. */
/* SPDX-License-Identifier: MIT */
#include "term/clipboard.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/proc.h"
#include "base/stop.h"
#include "base/str.h"

enum {
	MOST_MS = 2000,      /* for all programs together */
	SAID_MOST = 1 << 12, /* bytes of a program's messages */
	MOST_WORDS = 8,
};

static const char *const types[] = { "image/png", "image/jpeg", "image/webp",
				     "image/gif" };

/* A program that prints the clipboard; the type follows its arguments. */
struct clipboard_program {
	const char *needs; /* the program works only if this variable is set */
	const char *argv[MOST_WORDS - 2];
};

static const struct clipboard_program programs[] = {
	{ "WAYLAND_DISPLAY", { "wl-paste", "--no-newline", "--type", NULL } },
	{ "DISPLAY", { "xclip", "-selection", "clipboard", "-o", "-t", NULL } },
};

/* Asks a program for one type. Returns 1 if it printed anything, 0 if not, -1
 * with err. */
static int read_type(const struct clipboard_program *p, const char *path,
		     const char *type, struct buf *out, const struct stop *stop,
		     struct error *err)
{
	extern char **environ;
	int64_t ms = stop->deadline - clock_ms();
	const char *argv[MOST_WORDS] = { 0 };
	struct proc_run run = { .program = path,
				.argv = (char *const *)argv,
				.env = environ,
				.ms = ms > 0 ? ms : 1,
				.ends_over = true,
				.out = BUF_INIT(out->max),
				.err = BUF_INIT(SAID_MOST) };
	struct proc_run *list[] = { &run };
	/* The program is ended by its own limit; this one is for a hang. */
	const struct stop last = { .cancel = stop->cancel,
				   .deadline = stop->deadline + MOST_MS };
	size_t n = 0;
	int rc;

	while (p->argv[n]) {
		argv[n] = p->argv[n];
		n++;
	}
	argv[n] = type;
	rc = proc_run_all(list, 1, &last, err);
	if (rc == 0 && run.failed.code) {
		*err = run.failed;
		rc = -1;
	} else if (rc == 0 && run.timed_out) {
		rc = error_set(err, ERR_TIMEOUT, "%s did not answer in time",
			       p->argv[0]);
	} else if (rc == 0 && run.out.over) {
		rc = error_set(err, ERR_LIMIT,
			       "the image in the clipboard is too large: the "
			       "limit is %zu kB",
			       out->max / 1000);
	} else if (rc == 0 && !run.status && run.out.len) {
		buf_addstr(out, buf_str(&run.out));
		rc = 1;
	}
	buf_release(&run.out);
	buf_release(&run.err);
	return rc;
}

/* Asks one program for each type. Returns the same values as read_type(). */
static int read_any_type(const struct clipboard_program *p, const char *path,
			 struct buf *out, const struct stop *stop,
			 struct error *err)
{
	const struct stop within = stop_within(stop, MOST_MS);
	int rc = 0;

	for (size_t i = 0; i < sizeof(types) / sizeof(*types) && !rc; i++)
		rc = read_type(p, path, types[i], out, &within, err);
	return rc;
}

int clipboard_read_image(struct buf *out, const struct stop *stop,
			 struct error *err)
{
	bool found = false;

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		const struct clipboard_program *p = &programs[i];
		const char *value = getenv(p->needs);
		char *path;
		int rc;

		if (!value || !*value)
			continue;
		path = proc_find(p->argv[0], getenv("PATH"));
		if (!path)
			continue;
		found = true;
		rc = read_any_type(p, path, out, stop, err);
		free(path);
		if (rc)
			return rc < 0 ? -1 : 0;
	}
	if (found)
		return error_set(err, ERR_NOT_FOUND,
				 "the clipboard has no image");
	(void)error_set(err, ERR_NOT_FOUND,
			"no program reads images from the clipboard here");
	return error_hint(err, "Install wl-clipboard (Wayland) or xclip (X11), "
			       "or paste the path of the image.");
}
