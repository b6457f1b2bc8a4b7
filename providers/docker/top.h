/* top.h - the processes of a container, as its engine sees them. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_DOCKER_TOP_H
#define PROVIDERS_DOCKER_TOP_H

#include "providers/docker/engine.h"

/* One process. Nothing of this was asked of a program in the container; only
 * the command is text that the process may have chosen itself. */
struct top_process {
	int64_t pid, parent; /* in the numbering that the engine uses */
	int64_t host_pid;    /* the same process on the engine's machine */
	int64_t age_ms;      /* to two seconds; -1 unknown */
	bool zombie;
	const char *command; /* borrowed from the answer */
};

struct top {
	cJSON *answer;
	struct top_process *list; /* owned, by pid */
	size_t n;
};

/*
 * GET /containers/ID/top. ERR_PROTOCOL when the list cannot be used (a
 * container that runs has one process at least). Docker hands the question to
 * the ps of its machine, Podman has words of its own for it and runs the
 * container's ps for all others, so Podman's words are tried first
 * (20.10 and 4.3, 2026-11).
 */
int top_read(struct engine *e, const char *container, struct top *top,
	     const struct stop *stop, struct error *err);
void top_release(struct top *top);
/* Pure: from the engine's answer, which top takes over. */
int top_parse(struct top *top, cJSON *answer, struct error *err);

/* The call whose processes are looked for; pids of the engine's machine, 0
 * unknown. */
struct top_call {
	int64_t init;    /* the container's first process */
	int64_t root;    /* the first process of the call's exec */
	int64_t killer;  /* our killer's, when it does not end */
	int64_t age_ms;  /* since the call was sent */
	bool init_reaps; /* every orphan, as soon as it has ended */
};
/*
 * Does list[i] belong to the call? It does when it descends from root or
 * killer, or when it was left behind by its parent and began after root: then
 * it is a child of init. Trees of other commands that run do not belong to it,
 * nor does what earlier commands left running.
 */
bool top_belongs(const struct top *top, size_t i, const struct top_call *call);
/* Appends "12 sleep 60, 14 x and 3 more" for the processes that belong to the
 * call, or (background) for those that earlier commands left behind; returns
 * how many there are. */
size_t top_names(const struct top *top, const struct top_call *call,
		 bool background, struct buf *out);

#endif
