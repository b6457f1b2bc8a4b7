/* check.h - shared by the contract's checks. */
/* SPDX-License-Identifier: MIT */
#ifndef CONTRACT_CHECK_H
#define CONTRACT_CHECK_H

#include "contract/contract.h"

enum { CONTRACT_COMMANDS = 16, CONTRACT_COMMAND_MS = 60000 };

struct contract {
	const struct contract_request *request;
	const struct contract_check *check; /* the current one */
	struct managed_sandbox box;
	struct sandbox *sb;
	char *id;       /* owned; used after the box is closed */
	char label[16]; /* the box's, or "" */
	char *dir;      /* owned: the test directory in the sandbox */
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
};
struct contract_check {
	const char *name;
	unsigned flags;
	enum contract_verdict (*run)(struct contract *c);
	const char *arg; /* argument of the check, or NULL */
};

/* A command and its result. */
struct ran {
	int rc;
	struct error error;
	struct exec_result res;
	struct buf out, err;
	int64_t first_ms; /* time until the first output; -1 none */
	int64_t ms;
	/* triggered by the first output; NULL: none */
	const struct cancel *trigger;
	int64_t began;
};

/* These set the reason and return the verdict. */
enum contract_verdict contract_fail(struct contract *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
enum contract_verdict contract_na(struct contract *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
bool contract_can(const struct contract *c, unsigned flag);
/* Runs a command and returns r->rc. The caller releases r in any case. */
int contract_exec(struct contract *c, const struct exec_request *req,
		  struct ran *r, const struct stop *stop);
void ran_release(struct ran *r);
/* Runs a command and compares the result; out NULL: any. err: expected standard
 * error, or, if the provider merges both streams, the output after out; NULL:
 * any. */
enum contract_verdict contract_expect(struct contract *c, const char *command,
				      int code, const char *out,
				      const char *err);
/* How a second sandbox differs from the first. */
struct contract_another {
	const char *snapshot; /* or NULL */
	enum sandbox_network network;
};
/* Creates it, runs the function with it as c->sb, and deletes it. */
enum contract_verdict contract_with_another(
	struct contract *c, const struct contract_another *other,
	enum contract_verdict (*run)(struct contract *c, void *arg), void *arg);
int64_t contract_speed(int64_t bytes, int64_t began); /* KiB a second */
/* Returns "DIR/NAME", owned. */
char *contract_path(const struct contract *c, const char *name);

enum contract_verdict check_exit(struct contract *c);
enum contract_verdict check_not_executable(struct contract *c);
enum contract_verdict check_missing_program(struct contract *c);
enum contract_verdict check_killed(struct contract *c);
enum contract_verdict check_streams(struct contract *c);
enum contract_verdict check_order(struct contract *c);
enum contract_verdict check_megabyte(struct contract *c);
enum contract_verdict check_flood(struct contract *c);
enum contract_verdict check_bytes(struct contract *c);
enum contract_verdict check_here_document(struct contract *c);
enum contract_verdict check_arguments(struct contract *c);
enum contract_verdict check_stdin(struct contract *c);
enum contract_verdict check_env_cwd(struct contract *c);
enum contract_verdict check_live(struct contract *c);
enum contract_verdict check_timeout(struct contract *c);
enum contract_verdict check_cancel(struct contract *c);
enum contract_verdict check_parallel(struct contract *c);
enum contract_verdict check_file(struct contract *c);
enum contract_verdict check_names(struct contract *c);
enum contract_verdict check_file_errors(struct contract *c);
enum contract_verdict check_tool(struct contract *c);
enum contract_verdict check_id(struct contract *c);
enum contract_verdict check_attach(struct contract *c);
enum contract_verdict check_list(struct contract *c);
enum contract_verdict check_info(struct contract *c);
enum contract_verdict check_lifetime(struct contract *c);
enum contract_verdict check_extend(struct contract *c);
enum contract_verdict check_network(struct contract *c);
enum contract_verdict check_snapshot(struct contract *c);
enum contract_verdict check_stop(struct contract *c);
enum contract_verdict check_remove_again(struct contract *c);
enum contract_verdict check_nothing_left(struct contract *c);

#endif
