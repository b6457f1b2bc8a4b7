/* orphans.h - commands on this machine do not outlive a dcode that is killed.
 */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_LOCAL_ORPHANS_H
#define PROVIDERS_LOCAL_ORPHANS_H

#include <pthread.h>
#include <sys/types.h>

/*
 * A small process (scripts/sandbox/none_guard.sh), started with the first
 * command, knows which ones run, and kills them when the kernel closes dcode's
 * end of its pipe before it was told of their end. What a command has left in
 * the background when it ended lives on, as it does after an orderly end.
 */
struct orphans {
	pthread_mutex_t lock;
	int fd;    /* our end; -1: not started, or it cannot be */
	pid_t pid; /* 0: not started yet; -1: it cannot be */
};

void orphans_init(struct orphans *o);
/* Of the command that carries DCODE_EXEC=TOKEN-NUMBER, before it starts. */
void orphans_begin(struct orphans *o, const char *token, const char *number);
void orphans_end(struct orphans *o, const char *number);
/* All have ended: so does the process. */
void orphans_release(struct orphans *o);

#endif
