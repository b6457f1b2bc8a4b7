/* side_job.h - a short job on a thread of its own, beside the worker's. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_SIDE_JOB_H
#define CMD_CHAT_SIDE_JOB_H

/*
 * For what the screen needs while the worker is busy: the image in the
 * clipboard, the list of files for completion. The screen's thread starts and
 * ends the job; the job's own thread only calls run().
 */
#include <pthread.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/stop.h"
#include "ui/eventq.h"

struct side_job {
	/* Set by the caller. run() appends its result to out. */
	int (*run)(void *arg, struct buf *out, const struct stop *stop,
		   struct error *err);
	void *arg; /* of both functions; borrowed */
	/* Called by side_job_end() unless the job was cancelled. */
	void (*done)(void *arg, struct side_job *j);
	struct buf out;        /* with its upper limit */
	struct eventq *events; /* borrowed; gets NOTICE_SIDE_JOB at the end */
	struct error err;
	int rc; /* of run() */
	/* private */
	atomic_bool over; /* run() has returned */
	pthread_t thread;
	struct cancel cancel;
};

/* Starts a copy of j. Returns NULL with err if that failed. */
struct side_job *side_job_start(const struct side_job *j, struct error *err);
/* Does nothing if *j is NULL or, unless cancels, has not ended. Otherwise waits
 * for the thread, calls done() or not, and sets *j to NULL. */
void side_job_end(struct side_job **j, bool cancels);

#endif
