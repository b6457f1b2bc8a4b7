/* helper.h - one of scripts/sandbox/, run in the sandbox in one round trip. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_HELPER_H
#define SANDBOX_HELPER_H

#include "sandbox/sandbox.h"

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
	/* The content that the script's content() gives: sent as standard
	 * input, else in the command's text; or, with source, an absolute path
	 * in the sandbox. */
	struct str content;
	const char *source;
	/* Or, with SANDBOX_STDIN only, content is pulled: as exec_request's
	 * source, with arg. */
	int64_t (*pull)(void *arg, char *room, size_t len, struct error *err);
	bool no_base64; /* the sandbox cannot decode it */
	bool exact;     /* args[0] is real: follow no link */
	bool ahead;     /* as of exec_request */
	bool dialog;    /* reply is called between the two frames */
	int64_t timeout_ms;
	/* Decoded body bytes; NULL collects them in out. */
	int (*body)(void *arg, struct str bytes, struct error *err);
	/* The first frame is there, its status is in status: what it appends
	 * to reply is the script's standard input. */
	int (*reply)(void *arg, struct buf *reply, struct error *err);
	void *arg;
	struct buf out;             /* set max before; the caller releases */
	char status[HELPER_STATUS]; /* out: of the last frame */
	bool timed_out;             /* out: only a part of the body came */
};

/* 0 when the script answered, or was cut by timeout_ms (see timed_out); its
 * own verdict is in status. -1: the transport, or a callback. */
int helper_run(struct sandbox *sb, struct helper *h, const struct stop *stop,
	       struct error *err);
/* True when content can travel within one command (or as standard input). */
bool helper_fits(const struct sandbox *sb, struct str content, bool base64);
/* Bytes of a command that are left for its content. */
size_t helper_room(const struct sandbox *sb);
/* Takes the next word off *rest, a number: -1 when there is none. */
int64_t helper_number(const char **rest);
/* -1 with the code of a status that is not "ok". */
int helper_failed(const char *status, struct error *err);
struct str helper_decimal(int64_t n, char room[24]);

#endif
