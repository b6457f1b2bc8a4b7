/* check.h - what the checks of the contract share: a command, a verdict. */
/* SPDX-License-Identifier: MIT */
#ifndef CONTRACT_CHECK_H
#define CONTRACT_CHECK_H

#include "contract/contract.h"

enum { CONTRACT_COMMANDS = 16 };

struct contract {
	const struct contract_request *request;
	const struct contract_check *check; /* the current one */
	struct managed_sandbox box;
	struct sandbox *sb;
	char *id;          /* owned; used after the box is closed */
	char label[16];    /* the box's, or "" */
	const char *owner; /* under which the provider lists it; or NULL */
	char *dir;         /* owned: the test directory in the sandbox */
	struct stop stop;
	char reason[512];
	int64_t commands[CONTRACT_COMMANDS]; /* ms of quick commands */
	size_t n_commands;
	struct contract_summary *summary;
};

enum {
	CHECK_SLOW = 1 << 0,  /* skipped with quick */
	CHECK_BOX = 1 << 1,   /* needs the sandbox */
	CHECK_AFTER = 1 << 2, /* runs after the sandbox has been deleted */
	CHECK_LARGE = 1 << 3, /* only with large; may take long */
	CHECK_SURE = 1 << 4,  /* always runs, whatever only says */
	CHECK_LONG = 1 << 5,  /* may take longer than other checks */
	CHECK_ENDS = 1 << 6,  /* not for a sandbox that stays: it ends it */
};
struct contract_check {
	const char *name;
	unsigned flags;
	enum contract_verdict (*run)(struct contract *c);
	const char *arg; /* argument of the check, or NULL */
};

/* The checks of a room, in the order in which they run, up to { 0 }. */
extern const struct contract_check contract_commands[], contract_files[];

/* A command and its result. */
struct ran {
	/* Set before the command runs. */
	const struct cancel *trigger; /* triggered by the first output */
	const char *reply_to;         /* answered with "42\n": a dialog */
	size_t refuse_at; /* bytes of output that are refused; 0: none */
	/* The result. */
	int rc;
	struct error error;
	struct exec_result res;
	struct buf out, err;
	int64_t began, first_ms; /* time until the first output; -1 none */
	int64_t ms;
	bool replied;
};

/* These set the reason and return the verdict. */
enum contract_verdict contract_fail(struct contract *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
enum contract_verdict contract_na(struct contract *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
bool contract_can(const struct contract *c, unsigned flag);
/* Runs a command and returns r->rc. stop: NULL for that of the check. The
 * caller releases r in any case. */
int contract_exec(struct contract *c, const struct exec_request *req,
		  struct ran *r, const struct stop *stop);
void ran_release(struct ran *r);
/* Runs a command and compares the result; out, err NULL: any. If the provider
 * merges both streams, what belongs into err may follow out. */
enum contract_verdict contract_expect(struct contract *c, const char *command,
				      int code, const char *out,
				      const char *err);
int64_t contract_speed(int64_t bytes, int64_t began); /* KiB a second */

#endif
