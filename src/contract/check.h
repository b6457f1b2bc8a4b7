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
	char *id;       /* owned; used after the box is closed */
	char label[16]; /* label of that sandbox, or "" */
	/* owner id under which the provider lists it; or NULL */
	const char *owner;
	char *dir; /* owned: the test directory in the sandbox */
	struct stop stop;
	char reason[512];
	int64_t commands[CONTRACT_COMMANDS]; /* ms of quick commands */
	size_t n_commands;
	struct contract_summary *summary;
};

enum {
	CHECK_SLOW = 1 << 0,  /* skipped if request.quick is set */
	CHECK_BOX = 1 << 1,   /* needs the sandbox */
	CHECK_AFTER = 1 << 2, /* runs after the sandbox has been deleted */
	CHECK_LARGE = 1 << 3, /* only if request.large is set; may take long */
	/* always runs, even if request.only does not match it */
	CHECK_SURE = 1 << 4,
	CHECK_LONG = 1 << 5, /* may take longer than other checks */
	/* skipped with request.sandbox, because it ends the sandbox */
	CHECK_ENDS = 1 << 6,
};
struct contract_check {
	const char *name;
	unsigned flags;
	enum contract_verdict (*run)(struct contract *c);
	const char *arg; /* argument of the check, or NULL */
};

/* The checks of one group, in the order in which they run; { 0 } is the
 * last. */
extern const struct contract_check contract_commands[], contract_files[];

/* A command and its result. */
struct ran {
	/* Set before the command runs. */
	/* triggered when the first output arrives */
	const struct cancel *trigger;
	/* when out contains this, "42\n" is sent as input: a dialog */
	const char *reply_to;
	/* output is refused after this many bytes; 0: never */
	size_t refuse_at;
	/* The result. */
	int rc;
	struct error error;
	struct exec_result res;
	struct buf out, err;
	int64_t began, first_ms; /* time until the first output; -1 none */
	int64_t ms;
	bool replied;
};

/* Both set c->reason and return the verdict. */
enum contract_verdict contract_fail(struct contract *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
enum contract_verdict contract_na(struct contract *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
bool contract_can(const struct contract *c, unsigned flag);
/* Runs a command and returns r->rc. stop NULL: uses c->stop. The caller
 * releases r in any case. */
int contract_exec(struct contract *c, const struct exec_request *req,
		  struct ran *r, const struct stop *stop);
void ran_release(struct ran *r);
/* Runs a command and compares the result; out, err NULL: any. If the provider
 * merges both streams, the text of err may follow that of out in one stream. */
enum contract_verdict contract_expect(struct contract *c, const char *command,
				      int code, const char *out,
				      const char *err);
int64_t contract_speed(int64_t bytes, int64_t began); /* KiB a second */

#endif
