/* record.h - the placeholders that dcode made in directories of the user's. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_LOCAL_RECORD_H
#define PROVIDERS_LOCAL_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/stop.h"

/*
 * A name that must not be created in a bound directory is occupied by a
 * placeholder: an empty directory or a file. Each running sandbox has a record
 * ~/.deepagents/sandboxes/.placeholders/LABEL.RANDOM of those that it relies
 * on, written to the disk before they are made. The process that owns a record
 * holds a lock on it; a record without one is of a process that was killed,
 * and the next dcode removes what it names. A placeholder that another living
 * record names stays.
 */
struct placeholder {
	char *path; /* owned, absolute */
	bool directory;
	uint64_t dev, ino; /* 0: was about to be made */
};

struct placeholders {
	struct placeholder *list;
	size_t n;
};

struct record { /* from { .fd = -1, .lock = -1 } */
	int fd;
	int lock;   /* while it is being made */
	char *dir;  /* owned; .placeholders */
	char *path; /* owned; of the record itself */
	struct placeholders own;
	struct placeholders living; /* of all other processes that run */
};

/* Removes what killed processes left. */
void record_sweep_all(const char *settings_dir);
/* Sweeps, and begins a record. One process at a time changes records and
 * placeholders: the lock is held until record_make(). */
int record_open(struct record *r, const char *settings_dir, const char *label,
		const struct stop *stop, struct error *err);
/* Notes in ours what a living one names, so that it stays for us, too. */
void record_share(struct record *r, const char *path);
/* Announces a placeholder. */
void record_plan(struct record *r, const char *path, bool directory);
/* Writes the plan to the disk and makes all of it; files called commondir hold
 * a text. What exists, or cannot be made because nobody may write there, is
 * none. */
int record_make(struct record *r, struct error *err);
/* Removes what nobody else relies on, and the record; frees. */
void record_release(struct record *r);

#endif
