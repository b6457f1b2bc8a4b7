/* record.h - what dcode put into a directory of the user's, for a time.
 */
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

struct record { /* from { .fd = -1 } */
	int fd;
	char *path; /* owned; of the record itself */
	struct placeholder *list;
	size_t n;
};

/* One process at a time changes records and placeholders: the lock, or -1. */
int record_lock(const char *settings_dir, const struct stop *stop,
		struct error *err);
/* Removes what killed processes left; under the lock. */
void record_sweep(const char *settings_dir);
/* The same with a lock of its own, if there is anything. */
void record_sweep_all(const char *settings_dir);

int record_open(struct record *r, const char *settings_dir, const char *label,
		struct error *err);
/* What all other living records name; under the lock. */
void record_living(struct record *living, const char *settings_dir,
		   const struct record *ours);
/* Notes in ours what a living one names, so that it stays for us, too. */
void record_share(struct record *r, const struct record *living,
		  const char *path);
/* Announces a placeholder; record_make() comes after record_sync(). */
void record_plan(struct record *r, const char *path, bool directory);
int record_sync(const struct record *r, struct error *err);
/* Makes all that were planned; text is what the files called commondir hold.
 * What exists, or cannot be made because nobody may write there, is none. */
int record_make(struct record *r, struct error *err);
/* Removes what nobody else relies on, and the record; under the lock. */
void record_end(struct record *r, const char *settings_dir);
void record_release(struct record *r);

#endif
