/* live_parts.h - types of the parts of struct live (live_state.h). */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_LIVE_PARTS_H
#define CMD_CHAT_LIVE_PARTS_H

/*
 * States and jobs, the queue, captured output, notifications, and a letter that
 * has not answered its question yet. All functions are in live_state.h.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cmd/chat/message.h"
#include "term/tty.h"

enum { LIVE_MAX_PRINTED = 16 << 20 }; /* bytes of output not yet shown */
/* A question opens only after this time without a key. */
enum { LIVE_QUIET_MS = 500 };
/* A key this soon after a question was shown does not answer it. */
enum { LIVE_NOTICED_MS = 250 };
/* After the last edit of the draft, how long single keys still count as typing,
 * not as answers. */
enum { LIVE_DRAFT_MS = 2000 };
/* A letter answers a question only after this time without another key, since
 * it may begin a message. */
enum { LIVE_LETTER_MS = 300 };

enum live_state {
	LIVE_OPENING, /* model, sandbox and setup are being prepared */
	LIVE_IDLE,
	LIVE_WORKING, /* a job is running */
	LIVE_CLOSING,
};

enum job_kind {
	JOB_PROMPT = MESSAGE_PROMPT,
	JOB_SLASH = MESSAGE_SLASH,
	JOB_COMMAND = MESSAGE_COMMAND,
	JOB_HIDDEN_COMMAND = MESSAGE_HIDDEN_COMMAND,
	JOB_GIVEN = MESSAGE_GIVEN,
	JOB_ARGUMENTS, /* lists the arguments of the command in text, for
			  completion */
	JOB_CAP,       /* asks whether the sandbox may cost more than the cap */
};

/* True if the model answers. */
static inline bool job_is_prompt(enum job_kind kind)
{
	return kind == JOB_PROMPT || kind == JOB_GIVEN;
}

/* Redirects standard output and error into a pipe. A line that any code prints
 * becomes rows above the live part instead of breaking it. */
struct printed {
	int real[2]; /* duplicates of the original standard output and error */
	int fd;      /* read end of the pipe, to poll; -1: not open */
	int in;      /* write end */
};

/* A message that is sent while the sandbox is being created ("sent ahead"). */
struct live_ahead {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool listens; /* the worker accepts a message; guarded by the lock */
	bool sent; /* the worker has accepted live.now; guarded by the lock */
	char step[128]; /* progress of the sandbox while the message runs */
};

/* Whether and when to notify a user who is not looking at the terminal. */
enum live_focus {
	LIVE_FOCUS_UNKNOWN, /* the terminal has not reported its focus */
	LIVE_FOCUS_HERE,
	LIVE_FOCUS_ELSEWHERE,
};

enum { LIVE_NAME_CHARS = 40, LIVE_NAME_BYTES = 4 * LIVE_NAME_CHARS + 1 };
struct live_notify {
	enum notify_way way;
	enum live_focus focus;
	int64_t after_ms; /* time without a key until the user counts as away */
	bool titles;      /* [ui] title */
	/* The directory's, which is untrusted: cut and clean. Read once,
	 * because /reload replaces the settings on the worker's thread. */
	char name[LIVE_NAME_BYTES];
	bool shows_progress;        /* the terminal has a progress in its tab */
	char title[TTY_TITLE_MOST]; /* of the window, as last set; "": none */
	enum tty_progress progress; /* as last set */
	int64_t rang; /* value of live.opened for the question that the user was
			 last notified about */
};

/* A message in the queue. */
struct waiting {
	enum job_kind kind;
	char *text;      /* owned */
	bool steers;     /* sent into the running turn: live_jobs.c */
	bool later;      /* the user wants it to wait for the end of the turn */
	unsigned number; /* of the messages of this chat, as they were typed */
};

/* A letter that was pressed at a question and does not count yet. */
struct live_letter {
	char c;         /* '\0': none */
	bool early;     /* pressed in the pause: it is dropped, not an answer */
	int64_t at;     /* clock_ms() when it answers or is dropped */
	int64_t opened; /* live.opened of its question */
};

struct live_steering {
	/* A queued message may steer. Without it the worker asks for none. */
	atomic_bool waits;
	/* The message that was handed over and is not stored yet. The worker's
	 * while a job runs. */
	struct waiting now;
};

#endif
