/* helper.h - runs a script of scripts/sandbox/ in one round trip. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_HELPER_H
#define SANDBOX_HELPER_H

#include "sandbox/sandbox.h"

/*
 * Begin reading at helper_run(). It sends one command that consists of the
 * arguments, prelude.sh and the script (compose_command() in helper.c). The
 * script answers in frames (sandbox/frame.h), because the shell's start-up
 * files may print, too. The scripts do as little as possible: C code, mostly in
 * sandbox/files/, decides what the bytes mean.
 */

enum helper_script {
	HELPER_READ,
	HELPER_LS,
	HELPER_DELETE,
	HELPER_WRITE,
	HELPER_EDIT,
	HELPER_GLOB,
	HELPER_GREP,
	HELPER_UPLOAD,
	HELPER_DOWNLOAD,
	HELPER_RESOLVE,
	HELPER_SCAN,   /* workspace_scan.sh */
	HELPER_SEND,   /* workspace_send.sh */
	HELPER_COMMIT, /* workspace_commit.sh */
	HELPER_SYNC,   /* workspace_sync.sh */
	HELPER_SKILLS, /* skills_send.sh */
};

enum { HELPER_ARGS = 9 /* $1 to $9 of a shell */, HELPER_STATUS = 256 };

struct helper {
	enum helper_script script;
	struct str args[HELPER_ARGS]; /* any bytes but NUL */
	size_t n_args;
	/* The bytes that the script's content() returns. They are sent as
	 * standard input or, without SANDBOX_STDIN, as part of the command's
	 * text. Alternatively source: an absolute path in the sandbox from
	 * where to read them. */
	struct str content;
	const char *source;
	/* Alternative to content, with SANDBOX_STDIN: called like
	 * exec_request.source, with arg, to get the bytes. */
	int64_t (*pull)(void *arg, char *room, size_t len, struct error *err);
	bool no_base64; /* the sandbox has no base64 program */
	bool exact;     /* args[0] is a real path: follow no symbolic link */
	/* the script writes two frames; reply is called after the first */
	bool dialog;
	int64_t timeout_ms;
	/* Receives decoded body bytes. NULL: they are collected in out. */
	int (*body)(void *arg, struct str bytes, struct error *err);
	/* Called after the first frame, whose status is in status. Bytes that
	 * it appends to reply are the script's standard input. */
	int (*reply)(void *arg, struct buf *reply, struct error *err);
	void *arg;
	struct buf out;             /* set max before; the caller releases */
	char status[HELPER_STATUS]; /* out: status line of the last frame */
	bool timed_out;             /* out: the body is incomplete */
};

/* Returns 0 when the script answered or was cut off by timeout_ms (see
 * timed_out); the script's own result is in status. -1 for an error of the
 * transport or a callback. */
int helper_run(struct sandbox *sb, struct helper *h, const struct stop *stop,
	       struct error *err);
/* True if content fits in one command, or can be sent as standard input. */
bool helper_fits(const struct sandbox *sb, struct str content, bool base64);
/* Returns how many bytes of a command are left for the content. */
size_t helper_room(const struct sandbox *sb);
/* Parses the next word of *rest as a number and skips it. -1 if it is not a
 * number. */
int64_t helper_number(const char **rest);
/* Sets err from a status other than "ok" and returns -1. */
int helper_failed(const char *status, struct error *err);
struct str helper_decimal(int64_t n, char room[24]);

#endif
