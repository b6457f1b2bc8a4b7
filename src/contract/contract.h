/* contract.h - tests one by one that a provider does what it promises. */
/* SPDX-License-Identifier: MIT */
#ifndef CONTRACT_CONTRACT_H
#define CONTRACT_CONTRACT_H

#include "lifecycle/lifecycle.h"

enum contract_verdict {
	CONTRACT_OK = 1,
	CONTRACT_FAIL,
	CONTRACT_NA, /* not promised or not tested: see reason */
};
struct contract_result { /* borrowed for the call */
	const char *name;
	enum contract_verdict verdict;
	int64_t ms;
	const char *reason; /* or ""; may contain raw output of the sandbox */
};
struct contract_request { /* all borrowed for the call */
	struct sandbox_client *client;
	/* May be NULL if the provider has SANDBOX_UNISOLATED or if sandbox is
	 * set. */
	struct store *store;
	struct mask *mask;
	/* An open sandbox in which the checks run; NULL: create one. An open
	 * one is not deleted, and checks that would stop or delete it are
	 * skipped. label and owner: those with which it was created. */
	struct sandbox *sandbox;
	const char *label, *owner;
	/* A snapshot with this name is created and stays: it cannot be deleted.
	 * NULL: no snapshot check. */
	const char *snapshot;
	bool quick; /* skip checks that take more than a second by design */
	bool large; /* add the largest sizes: 100 MB of output, 1 GiB files */
	/* Of the checks inside the sandbox, run only those whose name contains
	 * this text; NULL: all. */
	const char *only;
	struct lifecycle_ui ui;
	void (*each)(void *arg, const struct contract_result *result);
	void *arg;
};
struct contract_summary {
	size_t passed, failed, absent;
	/* milliseconds; -1: unknown, like the fields below */
	int64_t create_ms;
	int64_t command_ms;   /* median of quick commands */
	int64_t remove_ms;    /* until the deletion was confirmed */
	int64_t upload_kib_s; /* of the largest file */
	int64_t download_kib_s;
};
/*
 * Creates a sandbox with lifecycle_open(), so it is in the ledger, runs every
 * check in it, and deletes it in any case; with request->sandbox only removes
 * the files of the checks from it. -1 only if stop ended it: whatever the
 * provider does wrong, even in create, is a failed check.
 */
int contract_run(const struct contract_request *request,
		 struct contract_summary *summary, const struct stop *stop,
		 struct error *err);

/* True if at least one check has this text in its name, apart from those that
 * always run. */
bool contract_knows(const char *only);

#endif
