/* limits.h - limits of a whole local sandbox: control group, disk. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_LOCAL_LIMITS_H
#define PROVIDERS_LOCAL_LIMITS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/stop.h"
#include "providers/local/jail.h"

/* Control groups that hold a sandbox; none where none can be made. */
struct cgroup {       /* from { 0 } */
	char *memory; /* owned; a directory, or NULL: not limited by it */
	char *pids;   /* owned; may be the same directory (cgroup 2) */
};
void cgroup_open(struct cgroup *c, const struct jail_limits *limits);
/* The process and all below it. */
void cgroup_add(const struct cgroup *c, pid_t pid);
/* Once nothing in it runs; waits for that for a moment. */
void cgroup_release(struct cgroup *c);

/* Watches, on a thread, how much a sandbox's directories hold. */
struct disk_watch {
	const char *dirs[3]; /* borrowed, NULL-terminated */
	uint64_t limit;      /* bytes; 0: not watched */
	uint64_t last;       /* measured before, UINT64_MAX: not yet */
	uint64_t base;       /* does not count; set when last was not */
	int control;         /* shut down to kill the command */
	bool hit;
	bool running;
	struct cancel ended; /* the command has ended */
	pthread_t thread;
};
/* Bytes; UINT64_MAX when it takes longer than ms. */
uint64_t disk_measure(const char *dir, const char *other, int64_t ms);
void disk_watch_start(struct disk_watch *d);
/* True when the command was killed for it. */
bool disk_watch_end(struct disk_watch *d);

#endif
