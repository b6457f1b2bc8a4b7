/* read.h - the finished jobs whose output has been read. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_SUPERVISE_READ_H
#define SANDBOX_SUPERVISE_READ_H

#include <stdbool.h>

enum {
	SUPERVISE_JOB = 16,   /* characters of a job's name */
	SUPERVISE_PREFIX = 8, /* of these, which a sandbox's jobs share */
	SUPERVISE_READ_MAX = 32,
	SUPERVISE_READ_IDS = SUPERVISE_READ_MAX * (SUPERVISE_JOB + 1) + 1,
};

/* The jobs of a sandbox that have been read to their end, for that. May be
 * NULL: then it is up to the sandbox. All for several threads at once. */
struct supervise_read *supervise_read_new(void);
void supervise_read_free(struct supervise_read *r);
/* A new job's name: all of this sandbox's begin alike. id: SUPERVISE_JOB + 1
 * bytes. */
void supervise_read_name(struct supervise_read *r, char *id);
/* What they begin with; false: there was none. prefix: SUPERVISE_PREFIX + 1. */
bool supervise_read_prefix(struct supervise_read *r, char *prefix);
void supervise_read_add(struct supervise_read *r, const char *id);
/* Into SUPERVISE_READ_IDS bytes, with a space after each. */
void supervise_read_list(struct supervise_read *r, char *ids);
void supervise_read_forgot(struct supervise_read *r, const char *ids);

#endif
